"""Places that move all the time whatever the user does: a webcam picture, a moving backdrop, a film that plays."""

from __future__ import annotations

import numpy as np

from video2gui.errors import load_extra
from video2gui.screen.changes import CellMovie, Grid
from video2gui.timebase import NS_PER_S

#: The recording is looked at in windows of this length; in fewer of them than this nothing is lasting.
_WINDOW_NS, _FEWEST_WINDOWS = NS_PER_S // 2, 12
#: A cell that changes in this share of the windows moves all the time; one next to it that does so in the lesser
#: share belongs to it.
_SEED, _GROWN = 0.5, 0.12
#: A lasting place covers at least this share of the frame and is filled by cells that move all the time to this share.
_LEAST_AREA, _LEAST_FILL = 0.004, 0.25
#: Holes and edges up to so many cells belong to the place.
_JOIN_CELLS = 5


def still_cells(movie: CellMovie) -> Grid | None:
    """Bool (rows, columns): the cells where what changes may be the user's doing; None when all are.

    The others lie in places of some size that move through most of the recording.
    """
    cv2 = load_extra("cv2", "see")
    gw, gh = movie.layout.grid_wh
    active, windows = _active(movie)
    if windows < _FEWEST_WINDOWS:
        return None
    share = (active / windows).reshape(gh, gw)
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


def _active(movie: CellMovie) -> tuple[np.ndarray, int]:
    """For each cell the number of windows in which it changed, and the number of windows."""
    gw, gh = movie.layout.grid_wh
    total = np.zeros(gw * gh, np.int32)
    here = np.zeros(gw * gh, bool)
    windows, begun_ns = 0, movie.times_ns[0]
    for time_ns, delta in zip(movie.times_ns[1:], movie.deltas[1:], strict=True):
        while time_ns - begun_ns >= _WINDOW_NS:
            total += here
            here[:] = False
            windows, begun_ns = windows + 1, begun_ns + _WINDOW_NS
        here[delta.index] = True
    return total, windows
