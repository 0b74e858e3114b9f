"""What a moment changed in the picture around the resting pointer, and what of it stays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from video2gui.screen.changes import CellMovie, Cells, Grid, Rect, components, difference
from video2gui.screen.effects import Rest
from video2gui.timebase import NS_PER_S

Levels = npt.NDArray[np.uint8]

_RING = 44.0  # units: the widest ring or disc that recorders draw around a press
_AFTER_NS = int(0.15 * NS_PER_S)
_SHORT_NS = int(0.25 * NS_PER_S)
_SECOND_NS = int(0.4 * NS_PER_S)
_LATER_NS = int(0.5 * NS_PER_S)
_LAST_NS = int(0.8 * NS_PER_S)
_CHANGED, _BACK = 10, 8  # levels of 255: a cell that changed, one that is as it was


class Pictures:
    """What a moment changed in the picture, and what of it stays."""

    def __init__(self, movie: CellMovie) -> None:
        self._movie = movie
        self._kept: dict[int, Cells] = {}
        self._nets: dict[tuple[int, int], Levels] = {}

    def _picture(self, frame: int) -> Cells:
        if frame not in self._kept:
            if len(self._kept) > 40:
                self._kept.pop(next(iter(self._kept)))
            self._kept[frame] = self._movie.picture(frame)
        return self._kept[frame]

    def _after(self, k: int, after_ns: int) -> int:
        return self._movie.frame_at(self._movie.times_ns[k] + after_ns)

    def _change(self, one: int, two: int) -> Levels:
        """How far each cell's colour moved between two frames, uint8 (rows, columns)."""
        if (one, two) not in self._nets:
            if len(self._nets) > 40:
                self._nets.pop(next(iter(self._nets)))
            self._nets[one, two] = difference(self._picture(one), self._picture(two))
        return self._nets[one, two]

    def _around(self, rest: Rest, reach: float) -> tuple[slice, slice]:
        layout = self._movie.layout
        reach *= layout.unit_px
        left, top = layout.to_cell(rest.x_px - reach, rest.y_px - reach)
        right, bottom = layout.to_cell(rest.x_px + reach, rest.y_px + reach)
        return slice(top, bottom + 1), slice(left, right + 1)

    def share(self, k: int, rest: Rest, reach: float) -> float:
        """The share of the cells around the pointer that changed and came back; -1 where none changed."""
        part = self._around(rest, reach)
        changed = self._change(k - 1, self._after(k, _AFTER_NS))[part] >= _CHANGED
        if changed.sum() < 2:
            return -1.0
        back = self._change(k - 1, self._after(k, _LATER_NS))[part] < _BACK
        return float((changed & back).sum() / changed.sum())

    def net(self, k: int, rest: Rest) -> tuple[float, float, float, float]:
        """What stands changed under the pointer 0.4 s later: width, height, fill of its rectangle; all that changed."""
        grid = self._change(k - 1, self._after(k, _SECOND_NS)) >= _CHANGED
        total = float(grid.mean())
        found = self._under(grid, rest)
        if found is None:
            return 0.0, 0.0, 0.0, total
        rect, cells = found
        w, h = rect[2] - rect[0], rect[3] - rect[1]
        return w * 4.0, h * 4.0, cells / (w * h), total

    def _under(self, grid: Grid, rest: Rest) -> tuple[Rect, int] | None:
        x, y = self._movie.layout.to_cell(rest.x_px, rest.y_px)
        for rect, cells in components(grid, gap=1):
            if rect[0] - 2 <= x <= rect[2] + 1 and rect[1] - 2 <= y <= rect[3] + 1 and cells >= 3:
                return rect, cells
        return None

    def ring(self, k: int, rest: Rest) -> tuple[float, float, float]:
        """Whether something round comes and goes at the pointer: sectors of eight it fills, its cells, share undone."""
        part = self._around(rest, _RING)
        now = self._change(k - 1, self._after(k, _AFTER_NS))[part] >= _CHANGED
        cells = int(now.sum())
        if cells < 2:
            return 0.0, 0.0, -1.0
        back = self._change(k - 1, self._after(k, _LAST_NS))[part] < _BACK
        return float(self._sectors(now, part, rest)), float(cells), float((now & back).sum() / cells)

    def left(self, k: int, rest: Rest) -> tuple[float, float]:
        """Of what changed around the pointer: the share undone once it has left; the share that stands 0.8 s later."""
        part = self._around(rest, 70.0)
        changed = self._change(k - 1, self._after(k, _AFTER_NS))[part] >= _CHANGED
        if changed.sum() < 2:
            return -1.0, -1.0
        gone = self._movie.frame_at(max(self._movie.times_ns[rest.last], self._movie.times_ns[k]) + _SHORT_NS)
        back = self._change(k - 1, gone)[part] < _BACK
        stays = self._change(k - 1, self._after(k, _LAST_NS))[part] >= _CHANGED
        return float((changed & back).sum() / changed.sum()), float((changed & stays).sum() / changed.sum())

    def standing(self, k: int, rest: Rest) -> tuple[float, ...]:
        """What stands changed under the pointer 0.25 s later: its sides seen from the pointer, how even and light."""
        later = self._after(k, _SHORT_NS)
        found = self._under(self._change(k - 1, later) >= _CHANGED, rest)
        if found is None:
            return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        rect, _ = found
        old, new = (self._picture(f)[rect[1] : rect[3], rect[0] : rect[2]].astype(np.int16) for f in (k - 1, later))
        return *self._sides(rect, rest), _even(new), float(new.mean() - old.mean())

    def menu(self, k: int, rest: Rest) -> tuple[float, ...]:
        """The largest thing that stands changed 0.25 s later and has a side near the pointer, as a menu has.

        Distance of its nearer side left or right, of the nearer one above or below, width, height, fill, how even
        it is, its share of all that changed, the share of it that stands 0.8 s later, whether it touches the edge of
        the frame, the distance of its left and of its top.
        """
        later = self._after(k, _SHORT_NS)
        grid = self._change(k - 1, later) >= _CHANGED
        best, least = None, 1e9
        for rect, cells in components(grid, gap=1):
            w, h = rect[2] - rect[0], rect[3] - rect[1]
            if w < 12 or h < 8 or cells < 0.15 * w * h:
                continue
            left, top, right, bottom = self._sides(rect, rest)
            off = np.hypot(min(abs(left), abs(right)), max(0.0, min(abs(top), abs(bottom)) - 4.0) / 3)
            off += max(left, -right, top, -bottom, 0.0)
            if off < least:
                best, least = (rect, cells), float(off)
        if best is None:
            return (999.0, 999.0, *(0.0,) * 9)
        rect, cells = best
        left, top, right, bottom = self._sides(rect, rest)
        part = slice(rect[1], rect[3]), slice(rect[0], rect[2])
        changed = grid[part]
        stays = changed & (self._change(k - 1, self._after(k, _LAST_NS))[part] >= _CHANGED)
        high, wide = grid.shape
        at_edge = rect[0] <= 1 or rect[1] <= 1 or rect[2] >= wide - 1 or rect[3] >= high - 1
        return (
            min(abs(left), abs(right)), min(abs(top), abs(bottom)), right - left, bottom - top,
            cells / changed.size, _even(self._picture(later)[part].astype(np.int16)), cells / max(int(grid.sum()), 1),
            float(stays.sum() / max(int(changed.sum()), 1)), float(at_edge), left, top,
        )  # fmt: skip

    def changed(self, one: int, two: int) -> Grid:
        """Bool (rows, columns): the cells in which two frames differ."""
        return self._change(one, two) >= _CHANGED

    def under(self, one: int, two: int, rest: Rest) -> tuple[float, ...]:
        """Of the changed place under the pointer between two frames: width, height, fill, left, top, right, bottom."""
        found = self._under(self.changed(one, two), rest)
        if found is None:
            return (0.0,) * 7
        rect, cells = found
        left, top, right, bottom = self._sides(rect, rest)
        return right - left, bottom - top, cells / ((rect[2] - rect[0]) * (rect[3] - rect[1])), left, top, right, bottom

    def sectors(self, one: int, two: int, rest: Rest) -> float:
        """How many of eight sectors around the pointer hold changed cells between two frames."""
        part = self._around(rest, _RING)
        return float(self._sectors(self.changed(one, two)[part], part, rest))

    def _sectors(self, changed: Grid, part: tuple[slice, slice], rest: Rest) -> int:
        ys, xs = np.nonzero(changed)
        unit_w, unit_h = (c / self._movie.layout.unit_px for c in self._movie.layout.cell_wh)
        dx = (xs + part[1].start + 0.5) * unit_w - rest.x_px / self._movie.layout.unit_px
        dy = (ys + part[0].start + 0.5) * unit_h - rest.y_px / self._movie.layout.unit_px
        out = np.hypot(dx, dy) >= 10.0
        return len(np.unique(((np.arctan2(dy, dx)[out] + np.pi) / (np.pi / 4)).astype(int) % 8))

    def rough(self, k: int, rest: Rest) -> float:
        """How much stands at the pointer before the moment: the spread of the colours there."""
        return float(self._picture(k - 1)[self._around(rest, 16.0)].std(axis=(0, 1)).mean())

    def _sides(self, rect: Rect, rest: Rest) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of a rectangle in units, the pointer at the origin."""
        unit = self._movie.layout.unit_px
        left, top, right, bottom = self._movie.layout.to_px(rect)
        return (
            (left - rest.x_px) / unit,
            (top - rest.y_px) / unit,
            (right - rest.x_px) / unit,
            (bottom - rest.y_px) / unit,
        )


def _even(part: npt.NDArray[np.int16]) -> float:
    """The share of cells within a few levels of the middle colour."""
    off = np.abs(part - np.median(part.reshape(-1, 3), axis=0))
    return float((np.maximum(np.maximum(off[..., 0], off[..., 1]), off[..., 2]) <= _CHANGED).mean())
