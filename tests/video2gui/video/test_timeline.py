"""What is on screen when, against the plainest possible reading of the same words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from video2gui.video.frame import Frame, Image, luma_of
from video2gui.video.memory_reader import MemoryReader

IMAGE: Image = np.zeros((2, 2, 3), np.uint8)

starts = st.lists(st.integers(1, 60), max_size=12).map(lambda steps: [0, *np.cumsum(steps).tolist()])


def reader(times: list[int]) -> MemoryReader:
    return MemoryReader([Frame(t, IMAGE) for t in times])


def at(times: list[int], time: int) -> int:
    return max([t for t in times if t <= time], default=0)


@given(starts, st.lists(st.integers(-20, 400)).map(sorted))
def test_frames_at(times: list[int], asked: list[int]) -> None:
    assert [frame.pts_ns for frame in reader(times).frames_at(asked)] == [at(times, t) for t in asked]


@given(starts, st.integers(-20, 400), st.none() | st.integers(-20, 400), st.integers(1, 90))
def test_pictures_in_a_window(times: list[int], start: int, end: int | None, every: int) -> None:
    found = [picture.pts_ns for picture in reader(times).pictures(start, end, every)]
    begin = max(start, 0)
    stop = max(times[-1], begin) + 1 if end is None else end
    on_screen = {at(times, t) for t in range(begin, stop)}
    kept = {at(times, t) for t in range(begin, stop, every)} | {max(on_screen, default=0)}
    assert found == sorted(kept & on_screen)


@given(starts, st.integers(1, 90))
def test_what_stays_long_enough_is_never_missed(times: list[int], every: int) -> None:
    found = {picture.pts_ns for picture in reader(times).pictures(every_ns=every)}
    assert found >= {a for a, b in zip(times, times[1:], strict=False) if b - a >= every}  # noqa: RUF007
    assert times[-1] in found


def test_frames_in_memory_must_make_a_film() -> None:
    for times in ([], [5], [0, 7, 7], [0, 9, 8]):
        with pytest.raises(ValueError, match="increase from 0"):
            reader(times)
    with pytest.raises(ValueError, match="sizes"):
        MemoryReader([Frame(0, IMAGE), Frame(1, np.zeros((3, 2, 3), np.uint8))])


def test_brightness_of_rgb() -> None:
    image = np.array([[[0, 0, 0], [255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255]]], np.uint8)
    assert luma_of(image).tolist() == [[0, 255, 76, 150, 29]]
