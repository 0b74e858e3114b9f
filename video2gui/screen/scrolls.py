"""Scrolling: content that moves one way over several frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from video2gui.screen.changes import CellMovie, Grid, Rect
from video2gui.screen.shift import Shift
from video2gui.timebase import NS_PER_S

_PAUSE_NS = int(0.45 * NS_PER_S)
#: One single jump may be anything; sideways, or of nearly the whole frame, two may be an edit of the video.
_WHOLE = 0.9
#: Of two shifts of one frame the lesser is considered when its gain is within this of the better one's; where they
#: go opposite ways one must have at least the latter gain.
_NEARLY, _PLAIN = 0.07, 0.85
_LEAST_SHARE = 0.03


@dataclass(frozen=True, slots=True)
class Scrolling:
    """Content in `rect_px` moved by (dx, dy) pixels in all, between the frames `first` and `last`."""

    first: int
    last: int
    dx_px: float
    dy_px: float
    rect_px: Rect
    steps: int
    confidence: float


def find_scrolls(
    movie: CellMovie,
    shifts: dict[int, tuple[Shift, ...]],
    still: Grid | None = None,
    begins: Sequence[int] = (),
) -> list[Scrolling]:
    """All scrolls, in order. One way of scrolling ends where the content turns round or rests for half a second, and
    before the frames in `begins`, in which a finger came down.

    What moves outside the `still` cells (all, when None) is none. Where lines repeat, a shift one way looks like one
    the other way. The right one fits frame after frame.
    """
    groups: list[list[tuple[int, Shift]]] = []
    open_groups: dict[tuple[bool, ...], list[tuple[int, Shift]]] = {}
    for frame in sorted(shifts):
        best: dict[tuple[bool, ...], Shift] = {}
        top = max(shift.gain for shift in shifts[frame])
        for shift in shifts[frame]:
            if shift.gain < top - _NEARLY:
                continue
            if still is not None and not _lies_in(shift.rect_px, still, movie):
                continue
            other = best.get(_sign(shift))
            if other is None or shift.gain * _area(shift.rect_px) > other.gain * _area(other.rect_px):
                best[_sign(shift)] = shift
        if len(best) > 1 and top < _PLAIN:
            continue  # a highlight that hops from line to line fits either way, and neither well
        for sign, shift in best.items():
            group = open_groups.get(sign)
            if group is not None and _continues(group, frame, shift, movie, begins):
                group.append((frame, shift))
            else:
                open_groups[sign] = [(frame, shift)]
                groups.append(open_groups[sign])
    found = [s for s in (_scrolling(group, movie) for group in groups) if s is not None]
    kept: list[Scrolling] = []
    for scrolling in sorted(found, key=lambda s: -s.steps * s.confidence):
        if all(scrolling.last < other.first or other.last < scrolling.first for other in kept):
            kept.append(scrolling)
    return sorted(kept, key=lambda s: s.first)


def _lies_in(rect_px: Rect, still: Grid, movie: CellMovie) -> bool:
    left, top = movie.layout.to_cell(rect_px[0], rect_px[1])
    right, bottom = movie.layout.to_cell(rect_px[2], rect_px[3])
    return bool(still[top : bottom + 1, left : right + 1].mean() > 0.5)


def _continues(
    group: list[tuple[int, Shift]], frame: int, shift: Shift, movie: CellMovie, begins: Sequence[int]
) -> bool:
    last_frame, last = group[-1]
    return (
        movie.times_ns[frame] - movie.times_ns[last_frame] <= _PAUSE_NS
        and not any(last_frame < begin <= frame for begin in begins)
        and _sign(last) == _sign(shift)
        and _overlap(_across(last), _across(shift)) > 0.3
        and (shift.dy_px != 0 or _same_place(last.rect_px, shift.rect_px))
    )


def _scrolling(group: list[tuple[int, Shift]], movie: CellMovie) -> Scrolling | None:
    w, h = movie.layout.size_wh
    rect = max((s.rect_px for _, s in group), key=_area)
    share = _area(rect) / (w * h)
    gain = sum(s.gain for _, s in group) / len(group)
    dx, dy = sum(s.dx_px for _, s in group), sum(s.dy_px for _, s in group)
    if share < _LEAST_SHARE or abs(dx) + abs(dy) < 8 * movie.layout.unit_px:
        return None
    if len(group) < (3 if dx or share > _WHOLE else 2):
        return None
    if dx and share > _WHOLE:
        return None  # windows have edges that stay: this is a camera, or the editor, panning
    steps = len(group)
    confidence = min(0.97, gain * (0.75 if steps == 2 else 0.95))
    return Scrolling(group[0][0], group[-1][0], dx, dy, rect, steps, confidence)


def _same_place(a: Rect, b: Rect) -> bool:
    """Whether two places are about the same. Sideways it must be: columns that come and go look much like a shift."""
    return _overlap(a, b) * min(_area(a), _area(b)) > 0.5 * max(_area(a), _area(b))


def _across(shift: Shift) -> Rect:
    """The place, as long as the frame in the direction of the movement: parts of one page move together."""
    left, top, right, bottom = shift.rect_px
    return (left, 0, right, 1) if shift.dy_px else (0, top, 1, bottom)


def _sign(shift: Shift) -> tuple[bool, bool, bool, bool]:
    return shift.dx_px > 0, shift.dx_px < 0, shift.dy_px > 0, shift.dy_px < 0


def _area(rect: Rect) -> float:
    return float((rect[2] - rect[0]) * (rect[3] - rect[1]))


def _overlap(a: Rect, b: Rect) -> float:
    w = min(a[2], b[2]) - max(a[0], b[0])
    h = min(a[3], b[3]) - max(a[1], b[1])
    return max(w, 0) * max(h, 0) / max(min(_area(a), _area(b)), 1.0)
