"""Edits: hard cuts, and stretches in which the whole picture moves (zooms, pans, cross-fades, film)."""

from __future__ import annotations

from video2gui.screen.changes import CellMovie
from video2gui.screen.shift import Shift
from video2gui.timebase import NS_PER_S

#: A frame in which this share of the cells changed at once is a cut; a page or a slide rarely reaches it.
_CUT_SHARE = 0.7
#: So many frames in a row with this share changed are a zoom, a fade or a film.
_MOTION_SHARE, _MOTION_FRAMES = 0.25, 4
_GAP_NS = int(0.15 * NS_PER_S)


def changed_shares(movie: CellMovie) -> list[float]:
    """For each frame, the share of the cells that changed with it; 0 for the first."""
    total = movie.layout.grid_wh[0] * movie.layout.grid_wh[1]
    return [0.0, *(len(delta.index) / total for delta in movie.deltas[1:])]


def find_cuts(movie: CellMovie) -> list[int]:
    """Frames that begin a new scene."""
    shares = changed_shares(movie)
    calm = [*shares, 0.0]
    return [
        k
        for k in range(1, len(shares))
        if shares[k] >= _CUT_SHARE and calm[k - 1] < _MOTION_SHARE and calm[k + 1] < _MOTION_SHARE
    ]


def find_motion(movie: CellMovie, shifts: dict[int, tuple[Shift, ...]]) -> list[tuple[int, int]]:
    """Stretches of frames (first, last) in which the whole picture keeps moving and it is no scroll."""
    runs: list[list[int]] = []
    for k, share in enumerate(changed_shares(movie)):
        if share < _MOTION_SHARE or any(s.gain > 0.8 for s in shifts.get(k, ())):
            continue
        if runs and movie.times_ns[k] - movie.times_ns[runs[-1][-1]] <= _GAP_NS:
            runs[-1].append(k)
        else:
            runs.append([k])
    return [(run[0], run[-1]) for run in runs if len(run) >= _MOTION_FRAMES]
