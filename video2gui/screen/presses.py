"""Numbers that tell a press of a mouse button from a hover, a tooltip, typing or a program's own doing.

One row of numbers for each moment at which something changed while the pointer rested; `models/press.json` turns a
row into the probability of a press. Which press it was is for `buttons` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from video2gui.screen.changes import CellMovie
from video2gui.screen.effects import Rest, Spot, Spots
from video2gui.screen.pictures import Pictures
from video2gui.screen.watch import Track
from video2gui.timebase import NS_PER_S

Row = npt.NDArray[np.float32]
#: A rectangle in units (pixels at 1280 wide), the pointer at the origin.
Place = tuple[float, float, float, float]

_AT = 26.0  # units: as near as this to the pointer is "at" it
_NEAR = 110.0
_BEFORE_NS = int(0.3 * NS_PER_S)
_AFTER_NS = int(0.15 * NS_PER_S)
_SECOND_NS = int(0.4 * NS_PER_S)
_LATER_NS = int(0.5 * NS_PER_S)
_TYPING_NS = int(1.2 * NS_PER_S)
#: Changes at the pointer this far apart are two answers; a second one is looked for so long.
_BURST_NS, _SEARCH_NS = int(0.07 * NS_PER_S), NS_PER_S

NAMES = (
    "since_arrival", "until_leaving", "travel", "rest_length",
    "at_cells", "near_cells", "far_cells", "at_peak", "far_peak", "places",
    "at_before", "near_before", "far_before", "at_after", "near_after", "far_after", "at_peak_after",
    "since_change", "since_at_change", "changes_in_rest",
    "home_wide", "home_high", "home_fill", "home_left", "home_top", "home_right", "home_bottom", "corner",
    "big_corner", "big_wide", "big_high", "big_gap", "undone", "undone_wide",
    "popup_corner", "popup_wide", "popup_high", "popup_fill", "at_late", "near_late", "far_late",
    "net_wide", "net_high", "net_fill", "net_all",
    "typing", "shape_changed", "shape_text", "shape_hand", "visible", "pointer_sure", "busy", "frame_gap",
    "next_at", "next_at_cells", "previous_at_cells", "at_bursts", "at_in_rest", "since_moved", "until_moved",
    "ring_sectors", "ring_cells", "ring_back", "undone_on_leaving", "still_there",
    "net_left", "net_top", "net_right", "net_bottom", "net_even", "net_light",
    "menu_x", "menu_y", "menu_wide", "menu_high", "menu_fill", "menu_even", "menu_share", "menu_stays", "menu_at_edge",
    "menu_left", "menu_top", "rough",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Moment:
    """Something changed with `frame` while the pointer rested (or had just left): the row of numbers for it."""

    frame: int
    rest: Rest
    row: Row


def find_moments(movie: CellMovie, track: Track, spots: Spots, rests: Sequence[Rest]) -> list[Moment]:
    """All moments that may be presses, in order."""
    times = np.asarray(movie.times_ns, np.int64)
    pictures = Pictures(movie)
    moved = _moved(track, movie.layout.unit_px)
    out = []
    for rest in rests:
        last = min(rest.last + 2, len(times) - 1)
        changes = 0
        answers = _answers(rest, movie, spots, times)
        for k in range(max(rest.first, 1), last + 1):
            here = [s for s in spots[k] if not s.caret]
            if not here:
                continue
            row = _row(k, here, rest, movie, track, spots, times, changes, pictures)
            row += (*_sequence(k, answers, times, moved), *pictures.ring(k, rest), *pictures.left(k, rest))
            row += (*pictures.standing(k, rest), *pictures.menu(k, rest), pictures.rough(k, rest))
            out.append(Moment(k, rest, np.array(row, np.float32)))
            changes += 1
    out.sort(key=lambda m: m.frame)
    return out


def _row(
    k: int,
    here: list[Spot],
    rest: Rest,
    movie: CellMovie,
    track: Track,
    spots: Spots,
    times: npt.NDArray[np.int64],
    changes: int,
    pictures: Pictures,
) -> tuple[float, ...]:
    unit_w, unit_h = (c / movie.layout.unit_px for c in movie.layout.cell_wh)
    x, y = rest.x_px / movie.layout.unit_px, rest.y_px / movie.layout.unit_px

    def place(s: Spot) -> Place:
        """The spot's rectangle in units, the pointer at the origin."""
        return s.rect[0] * unit_w - x, s.rect[1] * unit_h - y, s.rect[2] * unit_w - x, s.rect[3] * unit_h - y

    def sums(frames: range) -> tuple[float, float, float, int, int]:
        at = near = far = 0.0
        at_peak = far_peak = 0
        for j in frames:
            for s in spots[j]:
                if s.caret:
                    continue
                box = place(s)
                share_at, share_near = _share(box, _AT), _share(box, _NEAR)
                at += s.cells * share_at
                near += s.cells * (share_near - share_at)
                far += s.cells * (1 - share_near)
                if share_at:
                    at_peak = max(at_peak, s.peak)
                else:
                    far_peak = max(far_peak, s.peak)
        return at, near, far, at_peak, far_peak

    before = range(max(int(np.searchsorted(times, times[k] - _BEFORE_NS)), 0), k)
    after = range(k + 1, min(int(np.searchsorted(times, times[k] + _AFTER_NS, "right")), len(times)))
    at, near, far, at_peak, far_peak = sums(range(k, k + 1))
    at_b, near_b, far_b, _, _ = sums(before)
    at_a, near_a, far_a, at_peak_a, _ = sums(after)
    late = range(after.stop, min(int(np.searchsorted(times, times[k] + _SECOND_NS, "right")), len(times)))
    at_l, near_l, far_l, _, _ = sums(late)
    popup = _popup([(place(s), s) for j in range(k, after.stop) for s in spots[j] if not s.caret], unit_w * unit_h)
    home = _home([(place(s), s) for s in here])
    big_box, _ = max(((place(s), s) for s in here), key=lambda p: p[1].cells)
    since, since_at = _since(k, spots, times, place)
    return (
        (times[k] - times[rest.first]) / NS_PER_S,
        (times[rest.last] - times[k]) / NS_PER_S,
        rest.travel,
        (times[rest.last] - times[rest.first]) / NS_PER_S,
        at, near, far, at_peak, far_peak, len(here),
        at_b, near_b, far_b, at_a, near_a, far_a, at_peak_a,
        since, since_at, changes,
        *home,
        _corner(big_box), big_box[2] - big_box[0], big_box[3] - big_box[1], _gap(big_box),
        pictures.share(k, rest, 30), pictures.share(k, rest, 60),
        *popup, at_l, near_l, far_l,
        *pictures.net(k, rest),
        _typing(k, spots, times, unit_w, unit_h),
        float(track.shape[k] != track.shape[max(k - 2, 0)]),
        float(track.shape[k] == "text"), float(track.shape[k] == "hand"),
        float(track.visible[k]), float(track.confidence[k]),
        sum(len(spots[j]) for j in before) / max(len(before), 1),
        (times[k] - times[k - 1]) / NS_PER_S,
    )  # fmt: skip


def _share(box: Place, reach: float) -> float:
    """The share of a rectangle that lies within `reach` of the origin."""
    w = max(0.0, min(box[2], reach) - max(box[0], -reach))
    h = max(0.0, min(box[3], reach) - max(box[1], -reach))
    return w * h / max((box[2] - box[0]) * (box[3] - box[1]), 1e-6)


def _gap(box: Place) -> float:
    """How far the origin lies outside the rectangle."""
    return float(np.hypot(max(box[0], -box[2], 0.0), max(box[1], -box[3], 0.0)))


def _corner(box: Place) -> float:
    """How far the nearest corner lies from the origin."""
    return float(min(np.hypot(a, b) for a in (box[0], box[2]) for b in (box[1], box[3])))


def _home(places: list[tuple[Place, Spot]]) -> tuple[float, ...]:
    """The spot under the pointer: width, height, fill, the pointer's distance to its sides, to its nearest corner."""
    under = [(box, s) for box, s in places if _gap(box) < 8]
    if not under:
        return (0.0,) * 7 + (999.0,)
    box, spot = max(under, key=lambda p: p[1].cells)
    area = max((box[2] - box[0]) * (box[3] - box[1]), 1.0)
    return (
        box[2] - box[0], box[3] - box[1], spot.cells * 16 / area, -box[0], -box[1], box[2], box[3], _corner(box)
    )  # fmt: skip


def _popup(places: list[tuple[Place, Spot]], cell: float) -> tuple[float, ...]:
    """Of the large things that appear: the one with a corner nearest to the pointer; distance, width, height, fill."""
    large = [(b, s) for b, s in places if b[2] - b[0] >= 56 and b[3] - b[1] >= 40]
    if not large:
        return 999.0, 0.0, 0.0, 0.0
    box, spot = min(large, key=lambda p: _corner(p[0]))
    w, h = box[2] - box[0], box[3] - box[1]
    return _corner(box), w, h, spot.cells * cell / (w * h)


def _since(k: int, spots: Spots, times: npt.NDArray[np.int64], place: Callable[[Spot], Place]) -> tuple[float, float]:
    since = since_at = 3.0
    for j in range(k - 1, -1, -1):
        age = (times[k] - times[j]) / NS_PER_S
        if age > 3.0:
            break
        for s in spots[j]:
            if s.caret:
                continue
            since = min(since, age)
            if _gap(place(s)) < _AT:
                return since, age
    return since, since_at


def _typing(k: int, spots: Spots, times: npt.NDArray[np.int64], unit_w: float, unit_h: float) -> float:
    """How many small changes on one line stand around this moment: letters being typed."""
    lines: dict[int, int] = {}
    for j in range(max(int(np.searchsorted(times, times[k] - _TYPING_NS)), 0), len(times)):
        if times[j] > times[k] + _TYPING_NS:
            break
        for s in spots[j]:
            if s.width * unit_w <= 36 and 8 <= s.height * unit_h <= 48 and s.peak > 30:
                line = round((s.rect[1] + s.rect[3]) / 2 / 4)
                lines[line] = lines.get(line, 0) + 1
    return float(max(lines.values(), default=0))


def _moved(track: Track, unit: float) -> npt.NDArray[np.bool_]:
    """For each frame, whether the pointer went more than a pixel or two with it."""
    steps = np.abs(np.diff(track.x_px, prepend=np.nan)) + np.abs(np.diff(track.y_px, prepend=np.nan))
    return np.asarray(steps > 2.0 * unit)


def _answers(rest: Rest, movie: CellMovie, spots: Spots, times: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Frames in and just after a rest that change something at the pointer, with the number of cells."""
    reach = _AT * movie.layout.unit_px
    out = []
    stop = int(np.searchsorted(times, times[rest.last] + _SEARCH_NS, "right"))
    for k in range(rest.first, stop):
        cells = 0
        for s in spots[k]:
            if s.caret:
                continue
            left, top, right, bottom = movie.layout.to_px(s.rect)
            gap_x = max(left - rest.x_px, rest.x_px - right, 0.0)
            gap_y = max(top - rest.y_px, rest.y_px - bottom, 0.0)
            if gap_x < reach and gap_y < reach:
                cells += s.cells
        if cells:
            out.append((k, cells))
    return out


def _sequence(
    k: int, answers: list[tuple[int, int]], times: npt.NDArray[np.int64], moved: npt.NDArray[np.bool_]
) -> tuple[float, ...]:
    """The answers before and after this one in the same rest, and how long the pointer has stood and will stand."""
    following = [(f, c) for f, c in answers if _BURST_NS <= times[f] - times[k] <= _SEARCH_NS]
    before = [c for f, c in answers if f < k]
    bursts, last = 1, int(times[k])
    for f, _ in answers:
        if times[k] < times[f] <= times[k] + _LATER_NS:
            bursts += int(times[f]) - last >= _BURST_NS
            last = int(times[f])
    steps = np.flatnonzero(moved[: k + 1])
    ahead = np.flatnonzero(moved[k + 1 :])
    return (
        (times[following[0][0]] - times[k]) / NS_PER_S if following else 2.0,
        float(following[0][1]) if following else 0.0,
        float(before[-1]) if before else 0.0,
        float(bursts),
        float(len(before)),
        min((times[k] - times[steps[-1]]) / NS_PER_S if len(steps) else 9.0, 9.0),
        min((times[k + 1 + ahead[0]] - times[k]) / NS_PER_S if len(ahead) else 9.0, 9.0),
    )
