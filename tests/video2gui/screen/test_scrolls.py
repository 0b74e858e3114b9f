"""Content that moves is measured, also on sparse, repeating and half-empty pages; bare paper fits nothing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from video2gui.screen.scrolls import Scrolling, find_scrolls
from video2gui.screen.shift import measure_shift
from video2gui.screen.watch import watch
from video2gui.timebase import NS_PER_MS
from video2gui.video.frame import Frame, Image
from video2gui.video.memory_reader import MemoryReader

SIZE_WH = (1280, 720)
Page = npt.NDArray[np.uint8]


def text_page(lines: int, *, pitch: int, width: int, seed: int = 0) -> Page:
    """uint8 (height, 1280): grey lines of random words on white, `pitch` pixels apart."""
    rng = np.random.default_rng(seed)
    page = np.full((lines * pitch, SIZE_WH[0]), 255, np.uint8)
    for k in range(lines):
        x = 60
        while x < 60 + width:
            length = int(rng.integers(8, 40))
            page[k * pitch + 4 : k * pitch + 14, x : x + length] = rng.integers(20, 90)
            x += length + int(rng.integers(6, 14))
    return page


def view(page: Page, top: int) -> Image:
    """The page below a fixed tool bar."""
    picture = np.full((SIZE_WH[1], SIZE_WH[0], 3), 230, np.uint8)
    picture[100:] = page[top : top + SIZE_WH[1] - 100, :, None]
    return picture


def scrolled(page: Page, tops: list[int]) -> list[Scrolling]:
    frames = [Frame(k * 66 * NS_PER_MS, view(page, top)) for k, top in enumerate(tops)]
    watched = watch(MemoryReader(frames).pictures(), SIZE_WH)
    assert watched is not None
    return find_scrolls(watched.movie, watched.shifts)


@pytest.mark.parametrize(
    ("pitch", "width", "step"),
    [(24, 900, 53), (24, 120, 53), (40, 300, 120), (90, 500, 17)],
    ids=["full", "a narrow column", "wheel notches", "smooth"],
)
def test_a_scroll_is_measured_in_pixels(pitch: int, width: int, step: int) -> None:
    page = text_page(80, pitch=pitch, width=width)
    tops = [0, 0, *(step * k for k in range(1, 6)), *[5 * step] * 6]
    (found,) = scrolled(page, tops)
    assert (found.first, found.last, found.dx_px, found.dy_px) == (2, 6, 0.0, -5.0 * step)


def test_turning_round_begins_another_scroll() -> None:
    page = text_page(80, pitch=24, width=900)
    found = scrolled(page, [0, 0, 60, 120, 180, 180, 120, 60, 60])
    assert [(s.first, s.dy_px) for s in found] == [(2, -180.0), (6, 120.0)]


def test_a_list_that_repeats_moves_by_the_shorter_way() -> None:
    page = np.tile(text_page(12, pitch=18, width=900), (10, 1))
    before, after = view(page, 0), view(page, 40)
    up = [s for s in measure_shift(before, after, (40, 100, 1000, 720), 1.0) if s.dy_px < 0]
    assert [s.dy_px for s in up] == [-40]


def test_a_page_of_like_paragraphs_scrolls_one_way() -> None:
    page = np.tile(text_page(1, pitch=60, width=900), (40, 1))
    page[:, 60:100] = text_page(200, pitch=12, width=40, seed=2)[: len(page), 60:100]  # numbers differ
    found = scrolled(page, [0, 0, *(25 * k for k in range(1, 9)), *[200] * 4])
    assert [(s.first, s.last, s.dy_px) for s in found] == [(2, 9, -200.0)]


def test_bare_paper_fits_nothing() -> None:
    page = np.full((1400, SIZE_WH[0]), 255, np.uint8)
    page[700:760, 100:800] = text_page(3, pitch=20, width=600)[:, 100:800]
    gone = view(page, 0)
    there = view(page, 400)
    assert measure_shift(gone, there, (40, 100, 1000, 720), 1.0) == []


def test_typing_and_a_window_that_opens_are_no_scrolls() -> None:
    page = text_page(80, pitch=24, width=900)
    opened = page.copy()
    opened[200:500, 300:900] = text_page(20, pitch=15, width=500, seed=1)[:, 300:900]
    frames = [view(page, 0)] * 3 + [view(opened, 0)] * 3 + [view(page, 0)] * 3
    watched = watch(
        MemoryReader([Frame(k * 66 * NS_PER_MS, image) for k, image in enumerate(frames)]).pictures(), SIZE_WH
    )
    assert watched is not None and find_scrolls(watched.movie, watched.shifts) == []
