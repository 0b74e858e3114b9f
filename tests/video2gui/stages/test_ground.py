"""Targets are named and boxed where they can be seen, on pictures drawn here; nothing is named that cannot be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from video2gui.config import Settings
from video2gui.geometry import Point
from video2gui.mine import open_recording
from video2gui.ocr import open_ocr
from video2gui.schema import Click, Evidence, Grounding, MadeBy, Screenshot, Signal, Source, Step, Trajectory, Words
from video2gui.stages.ground import ground
from video2gui.testing import write_video
from video2gui.timebase import NS_PER_MS

SIZE = (1280, 720)
BUTTON, BOX, FIELD = (200, 200, 360, 240), (200, 300, 214, 314), (200, 400, 600, 440)


def screen(pointer: tuple[int, int] | None = None) -> np.ndarray:
    picture = Image.new("RGB", SIZE, (245, 245, 245))
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(18)
    draw.rectangle(BUTTON, fill=(30, 90, 200))
    draw.text((222, 209), "Send order", font=font, fill="white")
    draw.rectangle(BOX, fill="white", outline=(90, 90, 90), width=2)
    draw.text((222, 297), "Gift wrap", font=font, fill=(20, 20, 20))
    draw.rectangle(FIELD, fill="white", outline=(90, 90, 90), width=2)
    draw.line((208, 408, 208, 432), fill=(20, 20, 20), width=2)  # a text cursor
    if pointer is not None:
        x, y = pointer
        draw.polygon([(x, y), (x, y + 17), (x + 5, y + 13), (x + 12, y + 12)], fill="black", outline="white")
    return np.asarray(picture)


def placed(tmp_path: Path, x: int, y: int, *, source: str = "title") -> Trajectory:
    """A click at a place of the screen; half a second before, the pointer was elsewhere."""
    path = tmp_path / "clip.mp4"
    write_video(path, [screen((900, 600))] * 5 + [screen((x, y))] * 10, [i * 100 * NS_PER_MS for i in range(15)])
    seen = Evidence((Signal("pixels", 0.9),), 0.9, "seen", "seen")

    def click(at_ms: int, px: int, py: int) -> Step:
        at = at_ms * NS_PER_MS
        point = Grounding(Point.from_px(px, py, SIZE), frame_ns=at)
        return Step(at, at, Click(), seen, point, before=Screenshot(at), after=Screenshot(at))

    trajectory = Trajectory(
        "clip-000",
        Source("clip", "clip.mp4", *SIZE, "ab" * 32),
        Words("Click", source),  # type: ignore[arg-type]
        0,
        1_500 * NS_PER_MS,
        (click(250, 900, 600), click(850, x, y)),
        MadeBy("observed/1", "d"),
    )
    recording = open_recording(path, Settings(), None, None)
    return ground(recording, trajectory, open_ocr(), Settings().annotate)


def test_a_button_is_named_by_its_text_under_the_pointer(tmp_path: Path) -> None:
    step = placed(tmp_path, 270, 218).steps[1]
    assert (step.target, step.evidence.target) == ("Send order", "seen")
    assert step.grounding is not None
    assert step.grounding.box is not None
    assert np.allclose(step.grounding.box.to_px(SIZE), BUTTON, atol=4)


def test_a_check_box_is_named_by_its_label_which_is_inferred(tmp_path: Path) -> None:
    step = placed(tmp_path, 206, 306).steps[1]
    assert (step.target, step.evidence.target) == ("Gift wrap", "inferred")


@pytest.mark.parametrize(("x", "y"), [(420, 420), (700, 120)])
def test_an_empty_field_and_an_empty_place_have_no_name(tmp_path: Path, x: int, y: int) -> None:
    step = placed(tmp_path, x, y).steps[1]
    assert (step.target, step.evidence.target) == (None, None)


def test_a_description_is_written_when_the_names_are_known(tmp_path: Path) -> None:
    assert "Send order" in placed(tmp_path, 270, 218, source="observed").instruction.text
    assert placed(tmp_path, 270, 218).instruction.text == "Click"


def test_screenshots_get_the_instants_of_their_frames(tmp_path: Path) -> None:
    (_, step) = placed(tmp_path, 270, 218).steps
    assert step.before is not None
    assert step.grounding is not None
    assert step.before.frame_ns == step.grounding.frame_ns == 800 * NS_PER_MS
