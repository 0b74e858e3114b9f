"""Recordings drawn in code show what their truth says."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from video2gui.geometry import Box
from video2gui.testing import Screencast, draw_screencast, write_video
from video2gui.video import open_video
from video2gui.video.frame import Image

MS = 1_000_000


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Screencast]:
    path = tmp_path_factory.mktemp("drawn") / "screen.mp4"
    return path, draw_screencast(path, seed=3)


def crop(image: Image, box: Box) -> Image:
    left, top, right, bottom = (round(v) for v in box.to_px((image.shape[1], image.shape[0])))
    return image[top:bottom, left:right].astype(np.int16)


def test_the_recording_has_the_times_of_its_truth(drawn: tuple[Path, Screencast]) -> None:
    path, truth = drawn
    with open_video(path) as video:
        assert video.info.size_wh == truth.size_wh
        assert [frame.pts_ns for frame in video.pictures()] == list(truth.times_ns)
    steps = {b - a for a, b in pairwise(truth.times_ns)}
    assert len(steps) > 10 and max(steps) > 300 * MS  # irregular, with rests
    assert truth.end_ns > truth.times_ns[-1]
    assert [time for time, _ in truth.pointer] == list(truth.times_ns)


def test_each_action_changes_its_place(drawn: tuple[Path, Screencast]) -> None:
    path, truth = drawn
    assert [action.kind for action in truth.actions] == ["click", "type", "click", "scroll", "click"]
    with open_video(path) as video:
        for action in truth.actions:
            assert action.box.contains(action.point)
            before, after = video.frames_at([action.start_ns - 200 * MS, action.end_ns + 300 * MS])
            change = np.abs(crop(after.image, action.box) - crop(before.image, action.box)).max()
            if action.target != "Save":  # a button looks as before once it is released
                assert change > 60, action
    for a, b in pairwise(truth.actions):
        assert a.start_ns < a.end_ns < b.start_ns


def test_the_pointer_is_drawn_where_the_truth_says(drawn: tuple[Path, Screencast]) -> None:
    path, truth = drawn
    with open_video(path) as video:
        for frame, (_, point) in zip(video.frames(), truth.pointer, strict=True):
            x, y = (round(v) for v in point.to_px(truth.size_wh))
            inside = frame.image[y + 5 : y + 12, x + 1 : x + 3].astype(int)
            assert inside.mean() < 110, frame.pts_ns  # the arrow's black body, right below its hot spot


def test_the_same_seed_draws_the_same(drawn: tuple[Path, Screencast], tmp_path: Path) -> None:
    assert draw_screencast(tmp_path / "again.mp4", seed=3) == drawn[1]
    assert draw_screencast(tmp_path / "other.mp4", seed=4).actions != drawn[1].actions
    with pytest.raises(ValueError, match="640x400"):
        draw_screencast(tmp_path / "small.mp4", size_wh=(320, 200))


def test_times_that_a_container_cannot_hold_are_refused(tmp_path: Path) -> None:
    images = [np.zeros((32, 32, 3), np.uint8)] * 2
    for name, times in (("a.mp4", [0, 1500]), ("a.webm", [0, 1_500_000]), ("a.gif", [0, 25 * MS])):
        with pytest.raises(ValueError, match="steps of"):
            write_video(tmp_path / name, images, times)
    with pytest.raises(ValueError, match="20 ms"):
        write_video(tmp_path / "a.gif", images, [0, 10 * MS])
    with pytest.raises(ValueError, match="increase"):
        write_video(tmp_path / "a.mp4", images, [5 * MS, 5 * MS])
    with pytest.raises(ValueError, match="transparent"):
        write_video(tmp_path / "a.mp4", [np.zeros((32, 32, 4), np.uint8)], [0])
