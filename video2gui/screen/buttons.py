"""Numbers that tell which press it was: left, right, or double.

One row for each press, from its first answer on: what comes when at the pointer and elsewhere (a second press shows as
a second answer), what stands changed in the end (a selected word, an opened item), and whether that has a corner or a
side at the pointer as a context menu has. `models/button.json` turns a row into probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from video2gui.screen.changes import CellMovie
from video2gui.screen.effects import Rest, Spots
from video2gui.screen.pictures import Pictures
from video2gui.screen.watch import Track
from video2gui.timebase import NS_PER_MS, NS_PER_S

_AT, _NEAR = 26.0, 110.0  # units: as near to the pointer as this is "at" it, is "near" it
_STEPS_MS = (0, 50, 90, 130, 170, 210, 260, 330, 420, 600)
_FIRST_NS, _MENU_NS, _BOTH_NS = 120 * NS_PER_MS, 300 * NS_PER_MS, 420 * NS_PER_MS
_BURST_NS, _LATER_NS = 70 * NS_PER_MS, 2 * NS_PER_S
#: A menu is looked for in bands beside the pointer, beyond what a ring drawn around it covers.
_BAND = (36.0, 104.0)
_FAR, _GAP = 480.0, 28.0

NAMES = (
    *(f"at_{ms}" for ms in _STEPS_MS[:-1]), *(f"else_{ms}" for ms in _STEPS_MS[:-1]),
    "second", "second_cells", "bursts", "later_answers",
    *(f"{when}_{what}" for when in ("first", "both", "between")
      for what in ("wide", "high", "fill", "left", "top", "right", "bottom")),
    "between_at", "between_near", "between_far",
    *(f"{band}_{what}" for band in ("below", "above", "right", "left") for what in ("from", "to", "fill")),
    "corner", "corner_wide", "corner_high", "side",
    "shape_text", "shape_hand", "shape_arrow", "shape_after", "since_arrival", "until_leaving", "travel",
    "next_x", "next_y", "ring_first", "ring_both",
)  # fmt: skip

Row = npt.NDArray[np.float32]


def button_row(
    onset: int, rest: Rest, following: Rest | None, movie: CellMovie, track: Track, spots: Spots, pictures: Pictures
) -> Row:
    """float32 (names,) for the press whose first answer comes with frame `onset`; `following` is the next rest."""
    times, unit = movie.times_ns, movie.layout.unit_px
    start = times[onset]
    at, other = [0.0] * (len(_STEPS_MS) - 1), [0.0] * (len(_STEPS_MS) - 1)
    answers: list[tuple[int, float]] = []
    k = onset
    while k < len(times) and times[k] - start < _LATER_NS:
        here = elsewhere = 0.0
        for s in spots[k]:
            if s.caret:
                continue
            left, top, right, bottom = movie.layout.to_px(s.rect)
            gap = max(left - rest.x_px, rest.x_px - right, top - rest.y_px, rest.y_px - bottom, 0.0) / unit
            here, elsewhere = (here + s.cells, elsewhere) if gap < _AT else (here, elsewhere + s.cells)
        if here:
            answers.append((times[k], here))
        step = int(np.searchsorted(_STEPS_MS, (times[k] - start) / NS_PER_MS, "right")) - 1
        if step < len(at):
            at[step], other[step] = at[step] + here, other[step] + elsewhere
        k += 1
    bursts, last = 1, start
    second, second_cells = 1.0, 0.0
    for time, changed in answers:
        if time - start <= _BOTH_NS and time - last >= _BURST_NS:
            bursts += 1
            if bursts == 2:
                second, second_cells = (time - start) / NS_PER_S, changed
        last = time
    before, first, menu, both = (
        max(onset - 1, 0), movie.frame_at(start + _FIRST_NS), movie.frame_at(start + _MENU_NS),
        movie.frame_at(start + _BOTH_NS),
    )  # fmt: skip
    between = pictures.changed(first, both)
    cells = _cells_from(between, movie, rest)
    bands = _bands(pictures.changed(before, menu), movie, rest)
    row = (
        *np.log1p(at), *np.log1p(other), second, second_cells, bursts,
        sum(time - start > _BOTH_NS for time, _ in answers),
        *pictures.under(before, first, rest), *pictures.under(before, both, rest), *pictures.under(first, both, rest),
        *np.log1p(cells),
        *(value for band in bands for value in band), *_corner(bands),
        track.shape[onset] == "text", track.shape[onset] == "hand", track.shape[onset] == "arrow",
        track.shape[onset] != track.shape[both],
        (start - times[rest.first]) / NS_PER_S, (times[rest.last] - start) / NS_PER_S, rest.travel,
        (following.x_px - rest.x_px) / unit if following else 0.0,
        (following.y_px - rest.y_px) / unit if following else 0.0,
        pictures.sectors(before, first, rest), pictures.sectors(first, both, rest),
    )  # fmt: skip
    return np.array(row, np.float32)


def _cells_from(grid: npt.NDArray[np.bool_], movie: CellMovie, rest: Rest) -> tuple[float, float, float]:
    """How many changed cells lie at the pointer, near it, and far off."""
    ys, xs = np.nonzero(grid)
    dx, dy = _apart(xs, 0, movie, rest), _apart(ys, 1, movie, rest)
    off = np.maximum(np.abs(dx), np.abs(dy))
    return float((off < _AT).sum()), float(((off >= _AT) & (off < _NEAR)).sum()), float((off >= _NEAR).sum())


def _apart(cells: npt.NDArray[np.intp], axis: int, movie: CellMovie, rest: Rest) -> npt.NDArray[np.float64]:
    """Units from the pointer to the middles of cells along an axis."""
    centre = (rest.x_px, rest.y_px)[axis]
    return np.asarray(((cells + 0.5) * movie.layout.cell_wh[axis] - centre) / movie.layout.unit_px, np.float64)


def _bands(grid: npt.NDArray[np.bool_], movie: CellMovie, rest: Rest) -> list[tuple[float, float, float]]:
    """Of the bands below, above, right, left of the pointer: from where to where along it something changed, fill."""
    ys, xs = np.nonzero(grid)
    dx, dy = _apart(xs, 0, movie, rest), _apart(ys, 1, movie, rest)
    return [
        _extent(along[(off >= _BAND[0]) & (off < _BAND[1])])
        for along, off in ((dx, dy), (dx, -dy), (dy, dx), (dy, -dx))
    ]


def _extent(along: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """The run of changed cells, with no gap wider than `_GAP`, that begins nearest to the pointer."""
    along = np.unique(along[np.abs(along) < _FAR].round(1))
    if len(along) < 4:
        return _FAR, _FAR, 0.0
    runs = np.split(along, np.flatnonzero(np.diff(along) > _GAP) + 1)
    run = min(runs, key=lambda r: (len(r) < 4, max(r[0], -r[-1], 0.0)))
    return float(run[0]), float(run[-1]), float(len(run) * 4.0 / max(run[-1] - run[0] + 4.0, 1.0))


def _corner(bands: Sequence[tuple[float, float, float]]) -> tuple[float, float, float, float]:
    """How far the pointer is off the corner of what fills two bands; its width and height; how far off a side."""
    below, above, right, left = bands
    best = (_FAR, 0.0, 0.0)
    for upright, down in ((below, True), (above, False)):
        for level, rightward in ((right, True), (left, False)):
            if upright[2] == 0.0 or level[2] == 0.0:
                continue
            off_x = abs(upright[0]) if rightward else abs(upright[1])
            off_y = abs(level[0]) if down else abs(level[1])
            best = min(best, (off_x + off_y, upright[1] - upright[0], level[1] - level[0]))
    sides = [
        abs(a[i]) + abs(b[i]) for a, b in ((below, above), (right, left)) for i in (0, 1) if a[2] > 0.0 and b[2] > 0.0
    ]
    return (*best, min(sides, default=2 * _FAR))
