"""The camera of an edited recording: where the editor zooms into the picture, pans, and zooms out again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from video2gui.errors import load_extra
from video2gui.screen.changes import CellMovie, Grid
from video2gui.timebase import NS_PER_S

#: A frame may be part of a movement when so many of the cells changed, over so much of the width and of the height.
_LEAST_SHARE, _LEAST_SPREAD = 0.01, 0.6
#: A movement has no longer gaps than this, so many frames at least, and takes so long: else it is a program's
#: own or film.
_GAP_NS, _FEWEST_FRAMES = int(0.15 * NS_PER_S), 4
_SHORTEST_NS, _LONGEST_NS = int(0.3 * NS_PER_S), 4 * NS_PER_S
#: So many corners are followed from frame to frame; fewer than the least, and nothing can be said.
_MOST_CORNERS, _FEWEST_CORNERS = 160, 12
#: So large a share of the corners must move as one, to within so many cells.
_TOGETHER, _EXACT_CELLS = 0.6, 1.0
#: Or the movement must leave no more than this share of the difference.
_BETTER = 0.5
#: The picture never turns (sine of the angle). So many frames within a movement may not be measured.
_MOST_TURN, _MOST_LOST = 0.01, 2
#: From this factor on it is a zoom. Below `_UNZOOMED` the view is as good as whole.
_LEAST_ZOOM, _UNZOOMED = 1.04, 1.03
#: A pan of the zoomed view goes at least so far (cells) both ways; straight up or down it would be a scroll.
_LEAST_PAN_CELLS = 3.0

Floats = npt.NDArray[np.float64]
Grey = npt.NDArray[np.uint8]
#: (scale, x, y): what stood at p is shown at scale * p + (x, y).
_View = tuple[float, float, float]
_WHOLE: _View = (1.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Camera:
    """By frame number: a place p (pixels) of the whole picture is shown at `scale` * p + (`x_px`, `y_px`).

    `moves` are the stretches of frames (first, last) in which the camera moves.
    """

    scale: Floats
    x_px: Floats
    y_px: Floats
    moves: tuple[tuple[int, int], ...]

    def page(self, frame: int, x_px: float, y_px: float) -> tuple[float, float]:
        """Where in the whole picture the place lies that `frame` shows at (`x_px`, `y_px`)."""
        return (x_px - self.x_px[frame]) / self.scale[frame], (y_px - self.y_px[frame]) / self.scale[frame]


def find_camera(movie: CellMovie, cuts: Iterable[int], still: Grid | None = None) -> Camera:
    """The camera's way, measured on the cells where most of the picture changes; on the `still` ones, when given.

    Behind a cut the view counts as whole.
    """
    count = len(movie.times_ns)
    scale, x, y = np.ones(count), np.zeros(count), np.zeros(count)
    moves: list[tuple[int, int]] = []
    view: _View = _WHOLE
    at = 0
    jumps = sorted(cuts)
    for first, last in _candidates(movie, still):
        for start, steps in _measured(movie, first, last, jumps):
            if any(at <= cut < start for cut in jumps):
                scale[at:start], x[at:start], y[at:start] = _WHOLE
                view = _WHOLE
            way = list(accumulate(steps, _then, initial=view))
            if not _is_camera(way[0], way[-1]):
                continue
            scale[at:start], x[at:start], y[at:start] = view
            if way[-1][0] < _UNZOOMED:  # back at the whole picture: what was measured amiss on the way here ends
                back = list(accumulate(steps, _then, initial=_WHOLE))[-1]
                way = list(accumulate(steps, _then, initial=_inverse(back)))
                way[-1] = _WHOLE
            view = way[-1]
            at = start + len(steps)
            scale[start:at], x[start:at], y[start:at] = np.array(way[1:]).T
            moves.append((start, at - 1))
    scale[at:], x[at:], y[at:] = view
    w, h = movie.layout.cell_wh
    return Camera(scale, x * w, y * h, tuple(moves))


def _candidates(movie: CellMovie, still: Grid | None) -> Iterator[tuple[int, int]]:
    """Stretches of frames in which the change is spread over the whole picture."""
    gw, gh = movie.layout.grid_wh
    least = _LEAST_SHARE * gw * gh
    runs: list[list[int]] = []
    for k, delta in enumerate(movie.deltas[1:], 1):
        index = delta.index if still is None else delta.index[still.reshape(-1)[delta.index]]
        if len(index) < least or index[-1] - index[0] < _LEAST_SPREAD * gh * gw:
            continue
        columns = index % gw
        if columns.max() - columns.min() < _LEAST_SPREAD * gw:
            continue
        if runs and movie.times_ns[k] - movie.times_ns[runs[-1][1]] <= _GAP_NS:
            runs[-1][1] = k
        else:
            runs.append([k, k])
    for first, last in runs:
        if last - first + 1 >= _FEWEST_FRAMES and movie.times_ns[last] - movie.times_ns[first] <= _LONGEST_NS:
            yield first, last


def _measured(movie: CellMovie, first: int, last: int, cuts: list[int]) -> Iterator[tuple[int, list[_View]]]:
    """Where the picture moves as one within a stretch, between its cuts: (first frame, steps frame by frame)."""
    ends = [first, *(cut + 1 for cut in cuts if first <= cut <= last), last + 1]
    for begin, end in pairwise(ends):
        steps: list[_View | None] = []
        before = _grey(movie, begin - 1)
        for frame in range(begin, end):
            after = _grey(movie, frame)
            step = _step(before, after)
            steps.append(step)
            # the next frame may fit the last good one again
            before = before if step is None and any(steps[-_MOST_LOST:]) else after
        good = [k for k, step in enumerate(steps) if step is not None]
        if len(good) < max(_FEWEST_FRAMES, len(steps) / 2):
            continue
        if movie.times_ns[begin + good[-1]] - movie.times_ns[begin + good[0] - 1] >= _SHORTEST_NS:
            yield begin + good[0], [step or _WHOLE for step in steps[good[0] : good[-1] + 1]]


def _grey(movie: CellMovie, frame: int) -> Grey:
    cv2 = load_extra("cv2", "see")
    grey: Grey = cv2.cvtColor(movie.picture(frame), cv2.COLOR_RGB2GRAY)
    return grey


def _step(before: Grey, after: Grey) -> _View | None:
    """How the picture moved as one from frame to frame, in cells; None where it did not."""
    cv2 = load_extra("cv2", "see")
    corners: Any = cv2.goodFeaturesToTrack(before, _MOST_CORNERS, 0.02, 5)
    if corners is None or len(corners) < _FEWEST_CORNERS:
        return None
    found, seen, _ = cv2.calcOpticalFlowPyrLK(before, after, corners, None, winSize=(15, 15), maxLevel=3)
    a, b = corners[seen == 1], found[seen == 1]
    if len(a) < _FEWEST_CORNERS:
        return None
    matrix, fits = cv2.estimateAffinePartial2D(a, b, method=cv2.RANSAC, ransacReprojThreshold=_EXACT_CELLS)
    if matrix is None or abs(float(matrix[1, 0])) > _MOST_TURN:
        return None
    together = b[fits.reshape(-1) == 1]
    high, wide = before.shape
    due = corners.reshape(-1, 2) @ matrix[:, :2].T + matrix[:, 2]
    due = due[((due >= 0) & (due < (wide, high))).all(axis=1)]  # the others have left the view
    if len(due) < _FEWEST_CORNERS or len(together) < _FEWEST_CORNERS:
        return None
    if (np.ptp(together, axis=0) < _LEAST_SPREAD * np.ptp(due, axis=0)).any():
        return None
    if len(together) < _TOGETHER * len(due) and _left_over(before, after, matrix) > _BETTER:
        return None
    return float(matrix[0, 0]), float(matrix[0, 2]), float(matrix[1, 2])


def _left_over(before: Grey, after: Grey, matrix: npt.NDArray[np.float64]) -> float:
    """The share of the difference between two pictures that is left once the first is moved by `matrix`."""
    cv2 = load_extra("cv2", "see")
    size = before.shape[::-1]
    inside = cv2.warpAffine(np.full_like(before, 255), matrix, size, flags=cv2.INTER_NEAREST)
    moved = cv2.absdiff(cv2.warpAffine(before, matrix, size), after)
    return float(cv2.mean(moved, inside)[0] / max(cv2.mean(cv2.absdiff(before, after), inside)[0], 1e-3))


def _then(view: _View, step: _View) -> _View:
    return view[0] * step[0], step[0] * view[1] + step[1], step[0] * view[2] + step[2]


def _inverse(view: _View) -> _View:
    return 1 / view[0], -view[1] / view[0], -view[2] / view[0]


def _is_camera(before: _View, after: _View) -> bool:
    """Whether a movement of the whole picture is the editor's: he zooms, or moves about while zoomed in."""
    scale = after[0] / before[0]
    if max(scale, 1 / scale) >= _LEAST_ZOOM:
        return True
    return before[0] >= _LEAST_ZOOM and min(abs(after[1] - before[1]), abs(after[2] - before[2])) >= _LEAST_PAN_CELLS
