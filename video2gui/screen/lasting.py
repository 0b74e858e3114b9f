"""Places that move all the time whatever the user does: a webcam picture, a moving backdrop, a film that plays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from video2gui.errors import load_extra
from video2gui.screen.changes import Delta, Grid, Layout
from video2gui.timebase import NS_PER_S

#: The recording is looked at in windows of this length; in fewer of them than this nothing is lasting.
_WINDOW_NS, _FEWEST_WINDOWS = NS_PER_S // 2, 16
#: A cell that changes in this share of the windows moves all the time; one next to it that does so in the lesser
#: share belongs to it.
_SEED, _GROWN = 0.7, 0.12
#: A lasting place covers at least this share of the frame and is filled by cells that move all the time to this share.
_LEAST_AREA, _LEAST_FILL = 0.004, 0.25
#: Holes and edges up to so many cells belong to the place.
_JOIN_CELLS = 5


class Activity:
    """In how many windows of time each cell changed; fed with deltas in order."""

    def __init__(self, layout: Layout, begin_ns: int) -> None:
        self._grid_wh = layout.grid_wh
        gw, gh = layout.grid_wh
        self._active = np.zeros(gw * gh, np.int32)
        self._now = np.zeros(gw * gh, bool)
        self._begun_ns = begin_ns
        self.windows = 0

    def add(self, time_ns: int, delta: Delta) -> bool:
        """Take in what changed at `time_ns`; whether a window ended before it."""
        ended = time_ns - self._begun_ns >= _WINDOW_NS
        while time_ns - self._begun_ns >= _WINDOW_NS:
            self._active += self._now
            self._now[:] = False
            self.windows, self._begun_ns = self.windows + 1, self._begun_ns + _WINDOW_NS
        self._now[delta.index] = True
        return ended

    def still(self) -> Grid | None:
        """Bool (rows, columns): the cells where what changes may be the user's doing; None when all are.

        The others lie in places of some size that moved in most of the windows so far.
        """
        if self.windows < _FEWEST_WINDOWS:
            return None
        gw, gh = self._grid_wh
        share = (self._active / self.windows).reshape(gh, gw)
        if np.count_nonzero(share >= _SEED) < _LEAST_FILL * _LEAST_AREA * gw * gh:
            return None
        return _still(share)


def _still(share: npt.NDArray[np.float64]) -> Grid | None:
    """The cells outside the places that are filled by cells which move in most of the windows."""
    cv2 = load_extra("cv2", "see")
    gh, gw = share.shape
    seeds = (share >= _SEED).astype(np.uint8)
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * _JOIN_CELLS + 1,) * 2)
    joined = cv2.morphologyEx(seeds, cv2.MORPH_CLOSE, kernel)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    cells = np.bincount(labels[seeds != 0], minlength=count)
    kept = [
        k for k in range(1, count) if stats[k, 4] >= _LEAST_AREA * gw * gh and cells[k] >= _LEAST_FILL * stats[k, 4]
    ]
    place = np.isin(labels, kept).astype(np.uint8)
    if not place.any():
        return None
    near = cv2.dilate(place, kernel, iterations=2)
    grown = ((share >= _GROWN) & (near != 0)).astype(np.uint8) | place
    grown = cv2.morphologyEx(grown, cv2.MORPH_CLOSE, kernel)
    still: Grid = cv2.dilate(grown, np.ones((3, 3), np.uint8)) == 0
    return still
