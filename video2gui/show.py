"""A trajectory for people: readable text, and its screenshots with the action drawn."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from PIL import Image, ImageDraw

from video2gui.schema import Hotkey, OpenApp, Press, Sample, Scroll, Step, Trajectory, TypeText
from video2gui.timebase import clock

_RED = (229, 57, 53)
_BLUE = (30, 136, 229)


def lines(trajectory: Trajectory, only: int | None = None) -> Iterator[str]:
    """The trajectory as lines of text; `only` leaves all steps but that one out."""
    source = trajectory.source
    where = " / ".join(part for part in (trajectory.platform, trajectory.app, trajectory.website) if part)
    span = f"{clock(trajectory.start_ns)} to {clock(trajectory.end_ns)}"
    yield f"{trajectory.trajectory_id}  {trajectory.instruction.text}  ({trajectory.instruction.source})"
    yield f"  {span}, {source.width_px}x{source.height_px}" + (f", {where}" if where else "")
    for index, step in enumerate(trajectory.steps):
        if only is None or index == only:
            if step.gap_before:
                yield "       ... something between was not seen"
            yield _line(index, step, (source.width_px, source.height_px))


def _line(index: int, step: Step, size_wh: tuple[int, int]) -> str:
    what = step.action.kind + _detail(step)
    place = ""
    if step.grounding is not None:
        x, y = step.grounding.point.to_px(size_wh)
        place = f" at ({x:.0f}, {y:.0f})"
        if step.grounding.end_point is not None:
            x, y = step.grounding.end_point.to_px(size_wh)
            place += f" to ({x:.0f}, {y:.0f})"
    target = f" on {step.target!r}" if step.target else ""
    witnesses = "+".join(dict.fromkeys(signal.source for signal in step.evidence.signals))
    return (
        f"  {index:3d}  {clock(step.start_ns):>10}  {what}{place}{target}"
        f"   [{step.evidence.action}, {step.evidence.confidence:.2f}: {witnesses}]"
    )


def _detail(step: Step) -> str:
    match step.action:
        case TypeText(text):
            return " (not readable)" if text is None else f" {text!r}"
        case Press(key):
            return f" {key}"
        case Hotkey(keys):
            return " " + "+".join(keys)
        case Scroll(direction):
            return f" {direction}"
        case OpenApp(app):
            return f" {app!r}"
        case _:
            return ""


def draw_screenshots(sample: Sample, trajectory: Trajectory, folder: Path, only: int | None = None) -> list[Path]:
    """Write each step's screenshots below `folder` as PNG, the place drawn on the one before. Gives their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for index, step in enumerate(trajectory.steps):
        for shot, marked in ((step.before, True), (step.after, False)):
            if shot is None or shot.file is None or (only is not None and index != only):
                continue
            image = Image.open(io.BytesIO(sample.files[shot.file])).convert("RGB")
            if marked:
                _mark(image, step)
            target = folder / f"{sample.key}.{Path(shot.file).with_suffix('.png').name}"
            image.save(target)
            written.append(target)
    return written


def _mark(image: Image.Image, step: Step) -> None:
    if step.grounding is None:
        return
    draw = ImageDraw.Draw(image)
    if step.grounding.box is not None:
        draw.rectangle(step.grounding.box.to_px(image.size), outline=_BLUE, width=2)
    radius = max(8, image.width // 100)
    x, y = step.grounding.point.to_px(image.size)
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), outline=_RED, width=3)
    if step.grounding.end_point is not None:
        end = step.grounding.end_point.to_px(image.size)
        draw.line((x, y, *end), fill=_RED, width=3)
        draw.ellipse((end[0] - 5, end[1] - 5, end[0] + 5, end[1] + 5), fill=_RED)
