"""Edits: hard cuts, fades, and stretches in which the whole picture moves (zooms, pans, film)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from video2gui.screen.changes import CellMovie, Grid
from video2gui.screen.shift import Shift
from video2gui.timebase import NS_PER_S

#: A frame in which this share of the cells changed at once is a cut; a page or a slide rarely reaches it.
_CUT_SHARE = 0.7
#: So many frames in a row with this share changed are a zoom or a film.
_MOTION_SHARE, _MOTION_FRAMES = 0.25, 4
_GAP_NS = int(0.15 * NS_PER_S)
#: A fade changes this share of the cells with a frame, and the larger share from its first picture to its last.
_FADE_SHARE, _FADED_SHARE = 0.02, 0.25
#: How long fades take; what windows and dialogs do by themselves is over sooner.
_SHORTEST_FADE_NS, _LONGEST_FADE_NS = int(0.35 * NS_PER_S), 3 * NS_PER_S
#: The picture in between is mixed from both but for this share of their difference.
_UNMIXED = 0.3
#: Cells that differ by as many levels tell the mixture.
_FADED_LEVELS = 10


def changed_shares(movie: CellMovie, still: Grid | None = None) -> list[float]:
    """For each frame, the share of the `still` cells (all, when None) that changed with it; 0 for the first."""
    if still is None:
        total = movie.layout.grid_wh[0] * movie.layout.grid_wh[1]
        return [0.0, *(len(delta.index) / total for delta in movie.deltas[1:])]
    flat = still.reshape(-1)
    total = max(int(flat.sum()), 1)
    return [0.0, *(int(flat[delta.index].sum()) / total for delta in movie.deltas[1:])]


def find_cuts(movie: CellMovie, still: Grid | None = None) -> list[int]:
    """Frames that begin a new scene."""
    shares = changed_shares(movie, still)
    calm = [*shares, 0.0]
    return [
        k
        for k in range(1, len(shares))
        if shares[k] >= _CUT_SHARE and calm[k - 1] < _MOTION_SHARE and calm[k + 1] < _MOTION_SHARE
    ]


def find_motion(
    movie: CellMovie, shifts: dict[int, tuple[Shift, ...]], still: Grid | None = None
) -> list[tuple[int, int]]:
    """Stretches of frames (first, last) in which the whole picture keeps moving and it is no scroll."""
    runs: list[list[int]] = []
    for k, share in enumerate(changed_shares(movie, still)):
        if share < _MOTION_SHARE or any(s.gain > 0.8 for s in shifts.get(k, ())):
            continue
        if runs and movie.times_ns[k] - movie.times_ns[runs[-1][-1]] <= _GAP_NS:
            runs[-1].append(k)
        else:
            runs.append([k])
    return [(run[0], run[-1]) for run in runs if len(run) >= _MOTION_FRAMES]


def find_fades(movie: CellMovie, still: Grid | None = None) -> list[tuple[int, int]]:
    """Stretches of frames (first, last) in which one picture is mixed into another, or into black and back."""
    runs: list[list[int]] = []
    for k, share in enumerate(changed_shares(movie, still)):
        if share < _FADE_SHARE:
            continue
        if runs and movie.times_ns[k] - movie.times_ns[runs[-1][1]] <= _GAP_NS:
            runs[-1][1] = k
        else:
            runs.append([k, k])
    return [fade for first, last in runs for fade in _fades(movie, first, last, still)]


def _fades(movie: CellMovie, first: int, last: int, still: Grid | None) -> list[tuple[int, int]]:
    """The fades a run of changing frames is made of: one, or one out and one in."""
    took_ns = movie.times_ns[last] - movie.times_ns[first]
    if last - first + 1 < _MOTION_FRAMES or not _SHORTEST_FADE_NS <= took_ns <= 2 * _LONGEST_FADE_NS:
        return []
    if took_ns <= _LONGEST_FADE_NS and _is_mixture(movie, first, last, still):
        return [(first, last)]
    darkest = min(range(first, last + 1), key=lambda k: float(movie.picture(k).mean()))
    halves = [(first, darkest), (darkest + 1, last)]
    fades = [
        (a, b)
        for a, b in halves
        if b - a + 1 >= _MOTION_FRAMES // 2
        and movie.times_ns[b] - movie.times_ns[a] >= _SHORTEST_FADE_NS // 2
        and _is_mixture(movie, a, b, still)
    ]
    return fades if len(fades) == 2 else []


def _is_mixture(movie: CellMovie, first: int, last: int, still: Grid | None) -> bool:
    """Whether the frames from `first` on lead evenly from the picture before them to that of `last`."""
    a, b = _levels(movie, first - 1, still), _levels(movie, last, still)
    way = b - a
    told = np.abs(way).max(axis=1) >= _FADED_LEVELS
    if told.mean() < _FADED_SHARE:
        return False
    a, way = a[told], way[told]
    square, length = float((way * way).sum()), float(np.abs(way).sum())
    before = 0.0
    middle = 0
    for k in range(first, last):
        off = _levels(movie, k, still)[told] - a
        mixed = float((off * way).sum()) / square
        if mixed < before - 0.05 or float(np.abs(off - mixed * way).sum()) > _UNMIXED * length:
            return False
        before = mixed
        middle += 0.1 < mixed < 0.9
    return middle >= 2


def _levels(movie: CellMovie, frame: int, still: Grid | None) -> npt.NDArray[np.float32]:
    """float32 (cells, 3): the colours after `frame` of every fourth cell each way."""
    picture = movie.picture(frame)[::4, ::4]
    return (picture.reshape(-1, 3) if still is None else picture[still[::4, ::4]]).astype(np.float32)
