"""Names the target of each step, draws the box of its control, and settles which frames show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from video2gui import video
from video2gui.annotators.base import Recording
from video2gui.annotators.words import describe
from video2gui.config import AnnotateSettings
from video2gui.geometry import Box
from video2gui.ocr.base import Ocr
from video2gui.schema import Basis, MoveTo, Screenshot, Scroll, Step, Trajectory, Words
from video2gui.screen.controls import BoxPx, TextBox, control_at, same_screen, words_at
from video2gui.video.frame import Frame, Image

#: The crop that is read around a point, in pixels of a frame 1280 wide: controls are wider than they are high.
_READ_REACH = (260, 60)
_MAX_NAME_CHARS = 80
_LEAST_SURE = 0.7  # of a line of text: a name is read or not given
_CARETS = frozenset("Il|")  # what a text cursor in an empty field is read as
_LABEL_GAP = 1.5  # a label stands this near to the right of its box, in heights of its line


def ground(recording: Recording, trajectory: Trajectory, ocr: Ocr, settings: AnnotateSettings) -> Trajectory:
    """The trajectory with targets and boxes where they can be seen, and its frames' own instants.

    Raises:
        VideoError: the file cannot be decoded; BackendError: the text reader failed.
    """
    steps = list(trajectory.steps)
    own: dict[int, int] = {}
    earlier: Frame | None = None
    for asked_ns, frame in _frames(recording, steps, settings):
        own[asked_ns] = frame.pts_ns
        for index, step in enumerate(steps):
            if _has_target(step) and step.before is not None and step.before.frame_ns == asked_ns:
                steps[index] = _placed(step, frame.image, None if earlier is None else earlier.image, ocr)
        if earlier is None or earlier.pts_ns != frame.pts_ns:
            earlier = frame
    settled = tuple(_with_own_instants(step, own) for step in steps)
    return replace(trajectory, steps=settled, instruction=_instruction(trajectory.instruction, settled))


def _instruction(words: Words, steps: Sequence[Step]) -> Words:
    """Nobody said what is done: now that the steps have names, they say it better."""
    return Words(describe(steps), "observed") if words.source == "observed" else words


def _frames(recording: Recording, steps: Sequence[Step], settings: AnnotateSettings) -> Iterator[tuple[int, Frame]]:
    """The frame on screen at each instant that a step shows, in order."""
    times = sorted({shot.frame_ns for step in steps for shot in (step.before, step.after) if shot is not None})
    if not times:
        return
    with video.open_video(recording.path, settings.reader) as reader:
        yield from zip(times, reader.frames_at(times), strict=True)


def _has_target(step: Step) -> bool:
    return step.grounding is not None and not isinstance(step.action, (Scroll, MoveTo))


def _with_own_instants(step: Step, own: dict[int, int]) -> Step:
    def settled(shot: Screenshot | None) -> Screenshot | None:
        return None if shot is None else Screenshot(own[shot.frame_ns])

    grounding = step.grounding
    if grounding is not None and step.before is not None:
        grounding = replace(grounding, frame_ns=own[step.before.frame_ns])
    return replace(step, grounding=grounding, before=settled(step.before), after=settled(step.after))


def _placed(step: Step, image: Image, earlier: Image | None, ocr: Ocr) -> Step:
    """The step with the control under its point: box and name, each only where it can be seen."""
    assert step.grounding is not None
    height, width = image.shape[:2]
    point_px = step.grounding.point.to_px((width, height))
    clear = earlier if earlier is not None and same_screen(image, earlier, point_px) else None
    readable = image if clear is None else clear  # the pointer covers letters
    lines = _lines_around(readable, point_px, ocr)
    control = control_at(image, clear, point_px, lines)
    if control is None:
        return step
    box_px = control.box_px
    if control.kind == "text":
        box_px = words_at(readable, box_px, point_px)
        name, basis = _read(readable, box_px, ocr), "seen"
    else:
        name, basis = _name(readable, box_px, lines, ocr)
    box = Box.from_px(*box_px, (width, height))
    grounding = replace(step.grounding, box=box) if box.contains(step.grounding.point) else step.grounding
    target: Basis | None = None if name is None else "inferred" if basis == "inferred" else "seen"
    return replace(step, grounding=grounding, target=name, evidence=replace(step.evidence, target=target))


def _lines_around(image: Image, point_px: tuple[float, float], ocr: Ocr) -> list[TextBox]:
    """What stands around the point, in pixels of the frame."""
    width = image.shape[1]
    across, down = (round(reach * width / 1280) for reach in _READ_REACH)
    left, top = max(0, int(point_px[0]) - across), max(0, int(point_px[1]) - down)
    crop = image[top : int(point_px[1]) + down, left : int(point_px[0]) + across]
    if crop.size == 0:
        return []
    out = []
    for line in ocr.read(crop):
        if line.confidence < _LEAST_SURE:
            continue
        x1, y1, x2, y2 = line.box.to_px((crop.shape[1], crop.shape[0]))
        out.append(TextBox(line.text, (round(left + x1), round(top + y1), round(left + x2), round(top + y2))))
    return out


def _read(image: Image, box: BoxPx, ocr: Ocr) -> str | None:
    line = ocr.read_line(image[box[1] : box[3], box[0] : box[2]])
    return _clean(line.text) if line is not None and line.confidence >= _LEAST_SURE else None


def _name(image: Image, box: BoxPx, lines: Sequence[TextBox], ocr: Ocr) -> tuple[str | None, str]:
    """The text in a control; else the label close to its right (a check box has none inside), which is inferred."""
    inside = [line for line in lines if _is_inside(line.box_px, box)]
    if inside:
        return _clean(" ".join(line.text for line in inside)), "seen"
    for line in sorted(lines, key=lambda line: line.box_px[0]):
        left, top, right, bottom = line.box_px
        height = bottom - top
        # a reader often takes the box into the line: what counts is where its words go on to the right of it
        starts_near = box[0] - height <= left <= box[2] + _LABEL_GAP * height
        if starts_near and right > box[2] + height and box[1] <= (top + bottom) / 2 < box[3]:
            start = max(left, box[2] + 1)
            label = words_at(image, (start, top, right, bottom), (start + height / 2, (top + bottom) / 2))
            return _read(image, label, ocr), "inferred"
    return None, "seen"


def _is_inside(line: BoxPx, box: BoxPx) -> bool:
    x, y = (line[0] + line[2]) / 2, (line[1] + line[3]) / 2
    return box[0] <= x < box[2] and box[1] <= y < box[3]


def _clean(text: str) -> str | None:
    text = " ".join(text.split())
    if text in _CARETS:
        return None
    return text[:_MAX_NAME_CHARS] or None
