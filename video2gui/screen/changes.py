"""Which parts of the picture change, and when: a small colour movie made of cells, written down as differences.

A cell is about 1/320 of the frame's longer side (4 px at 1280x720). A cell has changed when its mean colour differs
from the one it was last written with, so that slow fades count once they are plain to see, and the flicker that
codecs leave on a still picture (detail without a change of the mean) never does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from video2gui.errors import load_extra

Grid = npt.NDArray[np.bool_]
Cells = npt.NDArray[np.uint8]

#: (left, top, right, bottom), half-open; in pixels or in cells as the name of the variable says.
Rect = tuple[int, int, int, int]

_LONG_SIDE_CELLS = 320
#: A cell has changed when its mean colour moved by this many of 255 levels in one channel.
_LEVELS = 6
_STILL_EVERY = 128


@dataclass(frozen=True, slots=True)
class Layout:
    """How the frame of `size_wh` pixels is divided into `grid_wh` cells. `unit_px` is one pixel at 1280 wide."""

    size_wh: tuple[int, int]
    grid_wh: tuple[int, int]

    @staticmethod
    def of(size_wh: tuple[int, int]) -> Layout:
        cell = max(1.0, max(size_wh) / _LONG_SIDE_CELLS)
        return Layout(size_wh, (max(1, round(size_wh[0] / cell)), max(1, round(size_wh[1] / cell))))

    @property
    def unit_px(self) -> float:
        return max(self.size_wh) / 1280

    @property
    def cell_wh(self) -> tuple[float, float]:
        """Width and height of a cell in pixels."""
        return self.size_wh[0] / self.grid_wh[0], self.size_wh[1] / self.grid_wh[1]

    def to_px(self, rect: Rect) -> tuple[float, float, float, float]:
        """A rectangle of cells in pixels."""
        w, h = self.cell_wh
        return rect[0] * w, rect[1] * h, rect[2] * w, rect[3] * h

    def to_cell(self, x_px: float, y_px: float) -> tuple[int, int]:
        """The cell (column, row) a pixel lies in, clamped to the grid."""
        w, h = self.cell_wh
        return (
            min(max(int(x_px / w), 0), self.grid_wh[0] - 1),
            min(max(int(y_px / h), 0), self.grid_wh[1] - 1),
        )


@dataclass(frozen=True, slots=True)
class Delta:
    """The cells that changed with one frame: flat indices and their new mean colours."""

    index: npt.NDArray[np.uint32]
    colour: Cells


class ChangeDetector:
    """Fed with pictures in order; keeps the mean colour each cell was last written with."""

    def __init__(self, size_wh: tuple[int, int]) -> None:
        self.layout = Layout.of(size_wh)
        self._cv2 = load_extra("cv2", "see")
        self._written: Cells | None = None

    def update(self, cells: Cells) -> Delta:
        """Which of the `cells`, uint8 (rows, columns, 3), changed against what they were last written with.

        All of them for the first picture.
        """
        if self._written is None:
            self._written = cells.copy()
            return Delta(np.arange(cells.shape[0] * cells.shape[1], dtype=np.uint32), cells.reshape(-1, 3).copy())
        difference = self._cv2.absdiff(cells, self._written)
        quiet = self._cv2.inRange(difference, (0, 0, 0), (_LEVELS - 1,) * 3)
        if quiet.all():
            return _NOTHING
        index = np.flatnonzero(quiet == 0).astype(np.uint32)
        colour = cells.reshape(-1, 3)[index]
        self._written.reshape(-1, 3)[index] = colour
        return Delta(index, colour)


_NOTHING = Delta(np.zeros(0, np.uint32), np.zeros((0, 3), np.uint8))


class CellMovie:
    """All deltas of a video by frame number; the picture after any frame is rebuilt on demand."""

    def __init__(self, layout: Layout) -> None:
        gw, gh = layout.grid_wh
        self.layout = layout
        self.times_ns: list[int] = []
        self.deltas: list[Delta] = []
        self._stills: list[Cells] = []  # the picture after every `_STILL_EVERY`th frame
        self._latest = np.zeros((gh, gw, 3), np.uint8)
        self._at, self._picture = -1, self._latest.copy()

    def append(self, time_ns: int, delta: Delta) -> None:
        self._latest.reshape(-1, 3)[delta.index] = delta.colour
        if len(self.deltas) % _STILL_EVERY == 0:
            self._stills.append(self._latest.copy())
        self.times_ns.append(time_ns)
        self.deltas.append(delta)

    def changed(self, frame: int) -> Grid:
        """Bool (rows, columns): the cells that changed with `frame`."""
        gw, gh = self.layout.grid_wh
        grid = np.zeros(gw * gh, bool)
        grid[self.deltas[frame].index] = True
        return grid.reshape(gh, gw)

    def changed_between(self, first: int, last: int) -> Grid:
        """Cells that changed with any frame of first..last (both included)."""
        gw, gh = self.layout.grid_wh
        grid = np.zeros(gw * gh, bool)
        for frame in range(max(first, 0), min(last, len(self.deltas) - 1) + 1):
            grid[self.deltas[frame].index] = True
        return grid.reshape(gh, gw)

    def picture(self, frame: int) -> Cells:
        """Mean colours uint8 (rows, columns, 3) after `frame`; a copy."""
        still = frame // _STILL_EVERY
        if not still * _STILL_EVERY <= self._at <= frame:
            self._picture, self._at = self._stills[still].copy(), still * _STILL_EVERY
        flat = self._picture.reshape(-1, 3)
        for delta in self.deltas[self._at + 1 : frame + 1]:
            flat[delta.index] = delta.colour
        self._at = frame
        return self._picture.copy()

    def frame_at(self, time_ns: int) -> int:
        """The number of the frame on screen at `time_ns`."""
        return max(0, bisect_right(self.times_ns, time_ns) - 1)


def difference(one: Cells, two: Cells) -> npt.NDArray[np.uint8]:
    """How far each cell's colour moved between two pictures: the largest of its channels, uint8 (rows, columns)."""
    cv2 = load_extra("cv2", "see")
    red, green, blue = cv2.split(cv2.absdiff(one, two))
    levels: npt.NDArray[np.uint8] = cv2.max(cv2.max(red, green), blue)
    return levels


def around(rects: Iterable[Rect]) -> Rect:
    """The smallest rectangle that holds all of them, of which there is one at least."""
    lefts, tops, rights, bottoms = zip(*rects, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def components(grid: Grid, gap: int = 1) -> Iterator[tuple[Rect, int]]:
    """Groups of true cells no more than `gap` cells apart: (rectangle in cells, number of cells)."""
    cv2 = load_extra("cv2", "see")
    rows, columns = np.flatnonzero(grid.any(axis=1)), np.flatnonzero(grid.any(axis=0))
    if not len(rows):
        return
    left, top = int(columns[0]), int(rows[0])
    part = grid[top : rows[-1] + 1, left : columns[-1] + 1].view(np.uint8)
    joined = cv2.copyMakeBorder(part, gap, gap, gap, gap, cv2.BORDER_CONSTANT, value=0)
    if gap:
        joined = cv2.dilate(joined, np.ones((2 * gap + 1, 2 * gap + 1), np.uint8))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    inner = labels[gap : gap + part.shape[0], gap : gap + part.shape[1]]
    cells = np.bincount(inner[part != 0], minlength=count)
    for label in range(1, count):
        x, y, wide, high = (int(v) for v in stats[label, :4])  # all of it is wider by the gap on every side
        yield (left + x, top + y, left + x + wide - 2 * gap, top + y + high - 2 * gap), int(cells[label])
