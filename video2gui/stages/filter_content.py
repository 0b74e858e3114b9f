"""The fine tier: does the picture show a screen being operated, well enough to learn from?

Three scores from 1 to 5 after the rubric of Video2GUI (appendix, content scoring): topic relevance, instruction
clarity, recording quality. All three must reach the threshold. Here they are set by what can be measured on a CPU:
bursts of frames from the first minute, one frame read by OCR, and what the captions say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from video2gui import video
from video2gui.annotators.base import Recording
from video2gui.captions.words import Transcript
from video2gui.config import ContentSettings
from video2gui.errors import load_extra
from video2gui.ocr.base import Ocr, TextLine
from video2gui.schema import Verdict
from video2gui.screen.narration import spoken_actions
from video2gui.timebase import NS_PER_MS, NS_PER_S
from video2gui.video.frame import Image

STAGE = "filter_content"

_BURSTS = 10
_BURST_STEP_NS = 150 * NS_PER_MS
_OCR_SIDE_PX = 960
_UNKNOWN_LENGTH_NS = 10 * NS_PER_S  # a container that does not say: its beginning is looked at

#: What a terminal shows and a window seldom does: a prompt, or a shell's name in the title.
_PROMPT = re.compile(
    r"(?:^|\s|[\])~])[$%#❯➜](?:\s|$)|\b(?:bash|zsh|fish|powershell|cmd\.exe|terminal)\b|^[A-Z]:\\[^>]*>", re.I
)


@dataclass(frozen=True, slots=True)
class Features:
    """What was measured. Shares are of pixels or of 64-a-row cells, medians over the bursts.

    `exact`: neighbours of the same colour; `texture`: neighbours that differ a little; `saturation`: 0 to 255.
    `moving`: cells that change within 150 ms; `busy` and `stormy`: share of such pairs in which anything, or more
    than a tenth of the picture, changes. `noise`: mean change of a pixel. `text_height`: of a line, by the frame.
    """

    size_wh: tuple[int, int]
    exact: float
    texture: float
    saturation: float
    straight: float
    moving: float
    busy: float
    stormy: float
    noise: float
    faces: float
    lines: int
    characters: int
    text_height: float
    text_confidence: float
    prompts: int
    at_left: float


def filter_content(recording: Recording, settings: ContentSettings, ocr: Ocr) -> Verdict:
    """Keep a recording whose three scores all reach `settings.min_score`; else the reason is what it shows.

    Raises:
        VideoError: the file cannot be decoded; BackendError: the text reader failed.
    """
    bursts = _bursts(recording, settings.clip_ns)
    features = measure(bursts, ocr)
    reason = what_it_shows(features)
    topic = 5.0 if reason is None else _TOPIC.get(reason, 5.0)
    quality = _quality(features) if reason is None else _QUALITY.get(reason, 1.0)
    clarity = _clarity(recording.transcript, settings.clip_ns)
    score = min(topic, clarity, quality)
    keep = reason is None and score >= settings.min_score
    if reason is None and not keep:
        reason = "poor_quality" if quality < settings.min_score else "no_instruction"
    detail = f"topic {topic:.1f}, clarity {clarity:.1f}, quality {quality:.1f}"
    return Verdict(keep, reason or "kept", STAGE, score, detail)


#: Topic and quality of what is no screen being operated (the rubric's lower rows).
_TOPIC = {"film": 1.0, "talking_head": 1.0, "gameplay": 2.0, "slides": 1.0, "terminal_only": 3.0}
_QUALITY = {"too_small": 2.0, "unreadable": 3.0, "terminal_only": 5.0, "gameplay": 5.0}


def what_it_shows(f: Features) -> str | None:
    """Why this is not a screen being operated, as a fixed word; None where it is one."""
    is_storm = f.stormy >= 0.7 and f.moving >= 0.05
    has_text = f.characters >= 40
    if f.stormy >= 0.9 or (is_storm and (f.exact < 0.62 or not has_text)):
        return _moving_picture(f)
    if not has_text and f.busy >= 0.85:
        return _moving_picture(f)
    if f.exact < 0.3 and f.noise > 1.5 and f.texture > 0.2:
        return _moving_picture(f)  # filmed, with a tripod
    if f.busy <= 0.2 and f.text_height >= 0.04 and f.straight < 0.012:
        return "slides"
    if f.prompts and f.at_left >= 0.75 and f.lines >= 3 and f.straight < 0.03:
        return "terminal_only"
    if min(f.size_wh) < 200:
        return "too_small"
    if f.lines >= 3 and f.text_confidence < 0.6:
        return "unreadable"
    return None


def _moving_picture(f: Features) -> str:
    if f.faces >= 0.5:
        return "talking_head"
    return "gameplay" if f.exact >= 0.62 and f.saturation >= 30 else "film"


def _quality(f: Features) -> float:
    """By the size of the picture and how surely its text is read."""
    side = min(f.size_wh)
    score = 5.0 if side >= 600 else 4.5 if side >= 400 else 4.0
    return score - (1.0 if f.lines >= 3 and f.text_confidence < 0.8 else 0.0)


def _clarity(transcript: Transcript | None, clip_ns: int) -> float:
    """5 where the speaker says what is done, 4 where something is said. A silent recording that shows every step
    is given the default threshold: it is left to `settings.min_score` whether that is enough."""
    cues = [] if transcript is None else [cue for cue in transcript.cues if cue.start_ns < clip_ns]
    if transcript is None or not cues:
        return 3.5
    told = [action for action in spoken_actions(transcript) if action.start_ns < clip_ns]
    return 5.0 if len(told) >= 2 else 4.0


# ---------------------------------------------------------------------------------------------- measuring


def _bursts(recording: Recording, clip_ns: int) -> list[list[Image]]:
    """Three frames 150 ms apart, at ten places of the clip."""
    length = min(clip_ns, recording.info.duration_ns or _UNKNOWN_LENGTH_NS)
    count = max(2, min(_BURSTS, length // (3 * _BURST_STEP_NS)))
    share = max(3, length // count)
    step = min(_BURST_STEP_NS, share // 3)
    times = [share * i + share // 3 + k * step for i in range(count) for k in range(3)]
    with video.open_video(recording.path) as reader:
        images = [frame.image for frame in reader.frames_at(times)]
    return [images[i : i + 3] for i in range(0, len(images), 3)]


def measure(bursts: Sequence[Sequence[Image]], ocr: Ocr) -> Features:
    """The features of bursts of three frames each, uint8 (H, W, 3) RGB, all of one size."""
    still = np.median([_still(burst[0]) for burst in bursts], axis=0)
    pairs = [(burst[k], burst[k + 1]) for burst in bursts for k in (0, 1)]
    moved = np.array([_moved_cells(a, b) for a, b in pairs])
    noise = [float(np.abs(a.astype(np.int16) - b).mean()) for a, b in pairs[::2]]
    middle = bursts[len(bursts) // 2][0]
    lines = ocr.read(_smaller(middle))
    return Features(
        size_wh=(middle.shape[1], middle.shape[0]),
        exact=float(still[0]),
        texture=float(still[1]),
        saturation=float(still[2]),
        straight=float(still[3]),
        moving=float(np.median(moved)),
        busy=float((moved > 0).mean()),
        stormy=float((moved > 0.1).mean()),
        noise=float(np.median(noise)),
        faces=_share_with_faces([burst[0] for burst in bursts[::2]]),
        lines=len(lines),
        characters=sum(len(line.text) for line in lines),
        text_height=_height(lines),
        text_confidence=float(np.mean([line.confidence for line in lines])) if lines else 0.0,
        prompts=sum(_PROMPT.search(line.text) is not None for line in lines),
        at_left=_at_left(lines),
    )


def _still(image: Image) -> tuple[float, float, float, float]:
    """Shares of equal and of slightly different neighbours, mean saturation, share on long straight edges."""
    grey = image.max(axis=2).astype(np.int16)
    across, down = np.abs(np.diff(grey, axis=1))[:-1], np.abs(np.diff(grey, axis=0))[:, :-1]
    most = np.maximum(across, down)
    height, width = grey.shape
    rows = _runs(down > 16, max(24, width // 30))
    columns = _runs((across > 16).T, max(24, height // 30)).T
    colour = image.max(axis=2).astype(np.int16) - image.min(axis=2)
    return (
        float((most == 0).mean()),
        float(((most > 3) & (most <= 16)).mean()),
        float(colour.mean()),
        float((rows | columns).mean()),
    )


def _runs(mask: npt.NDArray[np.bool_], length: int) -> npt.NDArray[np.bool_]:
    """Where `mask` is true along a row for at least `length` in a run."""
    if mask.shape[1] < length:
        return np.zeros_like(mask)
    total = np.cumsum(np.pad(mask, ((0, 0), (1, 0))), axis=1, dtype=np.int32)
    full = (total[:, length:] - total[:, :-length]) == length
    ends = np.zeros((mask.shape[0], mask.shape[1] + 1), np.int32)
    ends[:, : full.shape[1]] += full
    ends[:, length : length + full.shape[1]] -= full
    return np.cumsum(ends, axis=1)[:, :-1] > 0


def _moved_cells(a: Image, b: Image) -> float:
    """Share of cells (64 a row) in which more than 3 % of the pixels changed by more than 20 levels."""
    changed = np.abs(a.astype(np.int16) - b).max(axis=2) > 20
    height, width = changed.shape
    cell = max(4, width // 64)
    if height < cell or width < cell:
        return float(changed.any())
    part = changed[: height // cell * cell, : width // cell * cell]
    cells = part.reshape(height // cell, cell, width // cell, cell).mean(axis=(1, 3))
    return float((cells > 0.03).mean())


def _smaller(image: Image) -> Image:
    """The frame with its longer side at most `_OCR_SIDE_PX`: enough to judge text, and three times as fast."""
    scale = _OCR_SIDE_PX / max(image.shape[:2])
    if scale >= 1:
        return image
    cv2 = load_extra("cv2", "see")
    smaller: Image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return smaller


def _share_with_faces(images: Sequence[Image]) -> float:
    """Share of frames with a face at least a sixth of the picture high (the frontal cascade shipped with OpenCV)."""
    cv2 = load_extra("cv2", "see")
    cascade = cv2.CascadeClassifier(cv2.data.haarcascades + "haarcascade_frontalface_default.xml")
    found = 0
    for image in images:
        scale = min(1.0, 320 / max(image.shape[:2]))
        grey = cv2.resize(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), None, fx=scale, fy=scale)
        least = max(20, grey.shape[0] // 6)
        found += len(cascade.detectMultiScale(grey, 1.1, 5, minSize=(least, least))) > 0
    return found / len(images)


def _height(lines: Sequence[TextLine]) -> float:
    return float(np.median([line.box.y2 - line.box.y1 for line in lines])) if lines else 0.0


def _at_left(lines: Sequence[TextLine]) -> float:
    """Share of the lines that begin in the left fifth of the picture."""
    return float(np.mean([line.box.x1 < 0.2 for line in lines])) if lines else 0.0
