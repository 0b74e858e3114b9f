"""Numbers that tell a drag from a plain move: one row for each way of the pointer from one rest to another.

A drag may pause: the way may lead over a few short rests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from video2gui.screen.changes import CellMovie, Grid, components, difference
from video2gui.screen.effects import Rest, Spot, Spots, pointer_rect
from video2gui.screen.watch import Track
from video2gui.timebase import NS_PER_S

Row = npt.NDArray[np.float32]

_TOUCH = 22.0  # units: changes this near to the pointer's picture go with it
_LEAST_WAY = 12.0  # a shorter way is a click with an unsteady hand
_LONGEST_NS = 8 * NS_PER_S
_EDGE_NS = int(0.3 * NS_PER_S)
#: A drag pauses at most so often and so long.
_MOST_STOPS, _LONGEST_STOP_NS = 3, int(0.8 * NS_PER_S)
#: What goes with the pointer is looked for in so many frames of a way, within so many cells of it.
_SAMPLES, _REACH = 6, 24
_CHANGED = 10

NAMES = (
    "seconds", "way", "speed", "rest_before", "rest_after", "crooked",
    "touching", "touching_cells", "behind", "changing", "wide_spots",
    "start_cells", "end_cells", "after_cells", "after_far",
    "fill", "outside", "kept", "kept_on_way", "kept_per_way", "start_shape", "shapes", "seen", "down", "across",
    "grows", "spot_at_start",
    "stops", "stopped", "longest_stop", "start_answer", "end_answer", "end_answer_cells",
    "carried", "carried_mean", "rel_x", "rel_y", "fixed_x", "fixed_y", "loose_x", "loose_y", "under_grows",
    "start_text", "start_hand", "way_text", "way_hand", "way_cross", "way_resize", "settled_kept", "settled_on_way",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Way:
    """The pointer's way from the rest `start` to the rest `end`, and the row of numbers for it."""

    start: Rest
    end: Rest
    row: Row


def find_ways(movie: CellMovie, track: Track, spots: Spots, rests: Sequence[Rest]) -> list[Way]:
    """All ways long enough to be drags, by their start."""
    unit, times = movie.layout.unit_px, movie.times_ns
    out = []
    for i, a in enumerate(rests):
        stops: list[Rest] = []
        for b in rests[i + 1 : i + 2 + _MOST_STOPS]:
            way = float(np.hypot(b.x_px - a.x_px, b.y_px - a.y_px)) / unit
            if times[b.first] - times[a.last] > _LONGEST_NS:
                break
            if way >= _LEAST_WAY and b.first - a.last >= 2:
                out.append(Way(a, b, _row(a, b, stops, way, movie, track, spots)))
            if times[b.last] - times[b.first] > _LONGEST_STOP_NS:
                break
            stops.append(b)
    return out


def _row(a: Rest, b: Rest, stops: Sequence[Rest], way: float, movie: CellMovie, track: Track, spots: Spots) -> Row:
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
    fill, outside, kept, on_way = _kept(a, b, movie, 0)
    later_kept = _kept(a, b, movie, _EDGE_NS)
    rested = [(times[r.last] - times[r.first]) / NS_PER_S for r in stops]
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
        len(stops), sum(rested), max(rested, default=0.0),
        *_answers(a, b, movie, spots),
        *_carried(a, frames, movie, track),
        float(track.shape[a.last] == "text"), float(track.shape[a.last] == "hand"),
        *(sum(track.shape[k] in shapes for k in frames) / count for shapes in _SHAPES),
        later_kept[2], later_kept[3],
    )  # fmt: skip
    return np.nan_to_num(np.array(row, np.float32))


_SHAPES = (("text",), ("hand",), ("cross",), ("resize", "move"))


def _answers(a: Rest, b: Rest, movie: CellMovie, spots: Spots) -> tuple[float, float, float]:
    """Seconds from the last answer at the start to leaving, from the arrival to the first one at the end; its cells."""
    times, reach = movie.times_ns, _TOUCH * movie.layout.unit_px

    def at(k: int, rest: Rest) -> int:
        place = (rest.x_px, rest.y_px)
        return sum(s.cells for s in spots[k] if not s.caret and _gap_px(s, place, movie) < reach)

    start = [times[a.last] - times[k] for k in range(a.first, min(a.last + 2, len(times))) if at(k, a)]
    end = [(times[k] - times[b.first], cells) for k in range(b.first, b.last + 1) if (cells := at(k, b))]
    return (
        min(start[-1] / NS_PER_S, 2.0) if start else 2.0,
        min(end[0][0] / NS_PER_S, 2.0) if end else 2.0,
        float(end[0][1]) if end else 0.0,
    )


def _carried(a: Rest, frames: Sequence[int], movie: CellMovie, track: Track) -> tuple[float, ...]:
    """What goes with the pointer: cells changed against the picture before the way, in the same place beside it.

    Cells that are changed there in nearly all of a few frames, and on average; of the changed part under the pointer,
    how much its sides vary seen from the pointer (across, down), the steadier and the looser side seen from the
    frame (across, down), and whether it grows with the way.
    """
    if len(frames) < 3:
        return (0.0,) * 9
    before = movie.picture(max(a.last - 1, 0))
    chosen = [frames[round(i * (len(frames) - 1) / (_SAMPLES - 1))] for i in range(_SAMPLES)]
    beside, sides, places = [], [], []
    high, wide = before.shape[:2]
    for k in sorted(set(chosen)):
        grid: Grid = difference(movie.picture(k), before) >= _CHANGED
        x, y = movie.layout.to_cell(float(track.x_px[k]), float(track.y_px[k]))
        left, top, right, bottom = pointer_rect(movie.layout, track, k)
        whole = grid.copy()
        grid[top:bottom, left:right] = False
        part = np.zeros((2 * _REACH + 1, 2 * _REACH + 1), bool)
        y1, y2, x1, x2 = max(y - _REACH, 0), min(y + _REACH + 1, high), max(x - _REACH, 0), min(x + _REACH + 1, wide)
        part[y1 - y + _REACH : y2 - y + _REACH, x1 - x + _REACH : x2 - x + _REACH] = grid[y1:y2, x1:x2]
        beside.append(part)
        whole[top:bottom, left:right] = True
        for rect, _ in components(whole, gap=1):
            if rect[0] <= x < rect[2] and rect[1] <= y < rect[3]:
                sides.append(rect)
                places.append((x, y, x, y))
    shares = np.mean(beside, axis=0)
    fixed, seen = np.array(sides, float), np.array(sides, float) - np.array(places, float)
    if len(sides) < 2:
        return float((shares >= 0.8).sum()), float(shares.sum()), *(0.0,) * 7
    loose, rel = fixed.std(axis=0), seen.std(axis=0)
    area = (fixed[:, 2] - fixed[:, 0]) * (fixed[:, 3] - fixed[:, 1])
    grows = float(np.corrcoef(area, range(len(area)))[0, 1]) if area.std() > 0 else 0.0
    return (
        float((shares >= 0.8).sum()), float(shares.sum()),
        float(rel[[0, 2]].mean()), float(rel[[1, 3]].mean()),
        float(loose[[0, 2]].min()), float(loose[[1, 3]].min()), float(loose[[0, 2]].max()), float(loose[[1, 3]].max()),
        grows,
    )  # fmt: skip


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


def _kept(a: Rest, b: Rest, movie: CellMovie, after_ns: int) -> tuple[float, float, float, float]:
    """What stands changed `after_ns` behind the way: share of the rectangle a..b, cells outside, inside, on the way."""
    layout = movie.layout
    before = movie.picture(max(a.last - 1, 0))
    last = max(b.first + 1, movie.frame_at(movie.times_ns[b.first] + after_ns))
    after = movie.picture(min(last, len(movie.times_ns) - 1))
    changed = difference(after, before) >= 8
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
