"""What the picture shows decides: drawn recordings are kept; film, games, slides and stills of noise are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from video2gui.config import ContentSettings, Settings
from video2gui.mine import open_recording
from video2gui.ocr import open_ocr
from video2gui.schema import Verdict
from video2gui.stages.filter_content import filter_content
from video2gui.testing import draw_screencast, write_video
from video2gui.timebase import NS_PER_MS

RATE_MS = 100


def verdict(path: Path, captions: Path | None = None, **settings: float) -> Verdict:
    recording = open_recording(path, Settings(), captions, None)
    return filter_content(recording, ContentSettings(**settings), open_ocr())  # type: ignore[arg-type]


def write(path: Path, images: list[np.ndarray]) -> Path:
    write_video(path, images, [i * RATE_MS * NS_PER_MS for i in range(len(images))])
    return path


def slide(title: str) -> np.ndarray:
    picture = Image.new("RGB", (640, 360), (250, 250, 247))
    draw = ImageDraw.Draw(picture)
    draw.text((40, 60), title, font=ImageFont.load_default(36), fill=(20, 20, 60))
    draw.text((60, 160), "one thing, and another", font=ImageFont.load_default(28), fill=(20, 20, 60))
    return np.asarray(picture)


def test_a_screen_being_operated_is_kept(tmp_path: Path) -> None:
    draw_screencast(tmp_path / "clip.mp4")
    found = verdict(tmp_path / "clip.mp4")
    assert (found.keep, found.reason) == (True, "kept")
    assert found.score is not None
    assert found.score >= 3.5


def test_instructions_in_the_captions_raise_the_score(tmp_path: Path) -> None:
    draw_screencast(tmp_path / "clip.mp4")
    vtt = "WEBVTT\n\n00:01.000 --> 00:02.000\nClick on the name field.\n\n00:03.000 --> 00:04.000\nPress control S.\n"
    (tmp_path / "clip.vtt").write_text(vtt)
    silent, told = verdict(tmp_path / "clip.mp4"), verdict(tmp_path / "clip.mp4", tmp_path / "clip.vtt")
    assert silent.score is not None
    assert told.score is not None
    assert told.score > silent.score


def test_a_higher_threshold_asks_for_narration(tmp_path: Path) -> None:
    draw_screencast(tmp_path / "clip.mp4")
    found = verdict(tmp_path / "clip.mp4", min_score=4.2)
    assert (found.keep, found.reason) == (False, "no_instruction")


def test_film_is_not_a_screen(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    world = rng.normal(120, 50, (400, 1200, 3)).cumsum(axis=1) / 9 % 255  # texture that never repeats a colour
    images = [world[20:380, 8 * i : 8 * i + 640].astype(np.uint8) for i in range(60)]
    assert verdict(write(tmp_path / "film.mp4", images)).reason == "film"


def test_a_game_is_not_a_lesson(tmp_path: Path) -> None:
    images = []
    for i in range(60):
        picture = Image.new("RGB", (320, 240), (90, 180, 250))
        draw = ImageDraw.Draw(picture)
        for k in range(14):
            x = (k * 90 - i * 12) % 420 - 60
            draw.rectangle((x, 20 + 16 * k, x + 50, 32 + 16 * k), fill=(200, 40 + 12 * k, 20))
        images.append(np.asarray(picture))
    assert verdict(write(tmp_path / "game.gif", images)).reason == "gameplay"


def test_slides_without_an_operation_are_not_kept(tmp_path: Path) -> None:
    images = [slide(title) for title in ("Why we did it", "What is next", "Thank you") for _ in range(20)]
    assert verdict(write(tmp_path / "talk.mp4", images)).reason == "slides"


@pytest.mark.parametrize("count", [1, 2])
def test_the_shortest_recordings_are_judged_too(tmp_path: Path, count: int) -> None:
    path = write(tmp_path / "short.mp4", [slide("One")] * count)
    assert verdict(path).reason == "slides"
