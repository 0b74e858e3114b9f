"""Numbers that tell a drag from a plain move: one row for each way of the pointer from one rest to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from video2gui.screen.changes import CellMovie
from video2gui.screen.effects import Rest, Spot, Spots
from video2gui.screen.watch import Track
from video2gui.timebase import NS_PER_S

Row = npt.NDArray[np.float32]

_TOUCH = 22.0  # units: changes this near to the pointer's picture go with it
_LEAST_WAY = 12.0  # a shorter way is a click with an unsteady hand
_LONGEST_NS = 8 * NS_PER_S
_EDGE_NS = int(0.3 * NS_PER_S)

NAMES = (
    "seconds", "way", "speed", "rest_before", "rest_after", "crooked",
    "touching", "touching_cells", "behind", "changing", "wide_spots",
    "start_cells", "end_cells", "after_cells", "after_far",
    "fill", "outside", "kept", "kept_on_way", "kept_per_way", "start_shape", "shapes", "seen", "down", "across",
    "grows", "spot_at_start",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Way:
    """The pointer's way from the rest `start` to the rest `end`, and the row of numbers for it."""

    start: Rest
    end: Rest
    row: Row


def find_ways(movie: CellMovie, track: Track, spots: Spots, rests: Sequence[Rest]) -> list[Way]:
    """All ways long enough to be drags, in order."""
    unit, times = movie.layout.unit_px, movie.times_ns
    out = []
    for a, b in pairwise(rests):
        way = float(np.hypot(b.x_px - a.x_px, b.y_px - a.y_px)) / unit
        if way < _LEAST_WAY or times[b.first] - times[a.last] > _LONGEST_NS or b.first - a.last < 2:
            continue
        out.append(Way(a, b, _row(a, b, way, movie, track, spots)))
    return out


def _row(a: Rest, b: Rest, way: float, movie: CellMovie, track: Track, spots: Spots) -> Row:
    times, layout = movie.times_ns, movie.layout
    unit = layout.unit_px
    frames = [k for k in range(a.last + 1, b.first + 1) if track.known(k)]
    seconds = (times[b.first] - times[a.last]) / NS_PER_S
    path = [(float(track.x_px[k]), float(track.y_px[k])) for k in frames]
    length = sum(float(np.hypot(p[0] - q[0], p[1] - q[1])) for p, q in pairwise(path)) / unit
    touching, cells, behind, changing, wide, widths = 0, 0.0, 0, 0, 0, []
    for k, here in zip(frames, path, strict=True):
        near = [s for s in spots[k] if not s.caret and _gap_px(s, here, movie) < _TOUCH * unit]
        between = [s for s in spots[k] if not s.caret and _between(s, a, here, movie)]
        touching += bool(near)
        behind += bool(between)
        changing += bool(spots[k])
        cells += sum(s.cells for s in near)
        wide += any(s.width * layout.cell_wh[0] > 0.35 * layout.size_wh[0] for s in near)
        if between:
            widths.append(max(s.cells for s in between))
    count = max(len(frames), 1)
    early = [
        s
        for k in _within(movie, a.last - 12, times[a.last] - _EDGE_NS, times[a.last] + _EDGE_NS // 2)
        for s in spots[k]
    ]
    late = [s for k in _within(movie, b.first, times[b.first], times[b.first] + _EDGE_NS) for s in spots[k]]
    start, end = (a.x_px, a.y_px), (b.x_px, b.y_px)
    fill, outside, kept, on_way = _kept(a, b, movie)
    at_start = [s for s in early if _gap_px(s, start, movie) < _TOUCH * unit]
    row = (
        seconds, way, way / max(seconds, 0.03),
        (times[a.last] - times[a.first]) / NS_PER_S, (times[b.last] - times[b.first]) / NS_PER_S,
        length / max(way, 1.0),
        touching / count, cells / count, behind / count, changing / count, wide / count,
        sum(s.cells for s in at_start),
        sum(s.cells for k in frames[-4:] for s in spots[k] if _gap_px(s, end, movie) < 2 * _TOUCH * unit),
        sum(s.cells for s in late if _gap_px(s, end, movie) < 2 * _TOUCH * unit),
        sum(s.cells for s in late if _gap_px(s, end, movie) >= 2 * _TOUCH * unit),
        fill, outside, kept, on_way, on_way / max(way, 1.0),
        float(track.shape[a.last] != track.shape[min(a.last + 4, len(times) - 1)]),
        len({track.shape[k] for k in frames}),
        float(np.mean([track.visible[k] for k in frames])) if frames else 0.0,
        abs(b.y_px - a.y_px) / unit, abs(b.x_px - a.x_px) / unit,
        float(np.corrcoef(widths, range(len(widths)))[0, 1]) if len(set(widths)) > 2 else 0.0,
        max((s.peak for s in at_start), default=0),
    )  # fmt: skip
    return np.nan_to_num(np.array(row, np.float32))


def _within(movie: CellMovie, first: int, start_ns: int, end_ns: int) -> range:
    low = max(0, first)
    while low < len(movie.times_ns) and movie.times_ns[low] < start_ns:
        low += 1
    high = low
    while high < len(movie.times_ns) and movie.times_ns[high] <= end_ns:
        high += 1
    return range(low, high)


def _gap_px(spot: Spot, point: tuple[float, float], movie: CellMovie) -> float:
    left, top, right, bottom = movie.layout.to_px(spot.rect)
    return float(np.hypot(max(left - point[0], point[0] - right, 0.0), max(top - point[1], point[1] - bottom, 0.0)))


def _between(spot: Spot, a: Rest, here: tuple[float, float], movie: CellMovie) -> bool:
    """Whether the spot lies in the rectangle from the start to the pointer, or on its edge."""
    left, top, right, bottom = movie.layout.to_px(spot.rect)
    slack = 16 * movie.layout.unit_px
    return bool(
        left >= min(a.x_px, here[0]) - slack
        and right <= max(a.x_px, here[0]) + slack
        and top >= min(a.y_px, here[1]) - 1.5 * slack
        and bottom <= max(a.y_px, here[1]) + 1.5 * slack
    )


def _kept(a: Rest, b: Rest, movie: CellMovie) -> tuple[float, float, float, float]:
    """What stays changed behind the way: share of the rectangle a..b, cells outside, cells inside, share of the way."""
    layout = movie.layout
    before = movie.picture(max(a.last - 1, 0)).astype(np.int16)
    after = movie.picture(min(b.first + 1, len(movie.times_ns) - 1)).astype(np.int16)
    changed = np.abs(after - before).max(axis=2) >= 8
    x1, y1 = layout.to_cell(min(a.x_px, b.x_px), min(a.y_px, b.y_px))
    x2, y2 = layout.to_cell(max(a.x_px, b.x_px), max(a.y_px, b.y_px))
    inside = changed[max(0, y1 - 3) : y2 + 4, max(0, x1 - 3) : x2 + 4]
    steps = max(2, int(max(abs(x2 - x1), abs(y2 - y1))))
    on_way = 0
    ax, ay = layout.to_cell(a.x_px, a.y_px)
    bx, by = layout.to_cell(b.x_px, b.y_px)
    # the pointer's own picture stands at both ends: leave them out
    for i in range(steps + 1):
        t = i / steps
        x, y = round(ax + (bx - ax) * t), round(ay + (by - ay) * t)
        if min(t, 1 - t) * steps < 5:
            continue
        on_way += bool(changed[max(0, y - 3) : y + 4, max(0, x - 3) : x + 4].any())
    fill = float(inside.mean()) if inside.size else 0.0
    return fill, float(changed.sum() - inside.sum()), float(inside.sum()), float(on_way) / max(steps - 9, 1)
