"""Typing seen as small changes that advance along a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from video2gui.screen.changes import CellMovie, Rect, around
from video2gui.screen.effects import Spot, Spots
from video2gui.screen.watch import Track
from video2gui.timebase import NS_PER_S

#: A letter's change is no wider and no higher than this (units); several letters may fall into one frame.
_WIDEST = 70.0
_LOWEST, _HIGHEST = 7.0, 40.0
_LEAST_PEAK = 24
#: Between two keys of one word or sentence passes no more than this.
_PAUSE_NS = int(1.3 * NS_PER_S)
#: The next letter begins no further than this to either side of where the last one ended (units).
_AHEAD, _BACK = 34.0, 30.0
_FEWEST_KEYS = 3
#: The first change is the caret's, not a letter's, when the next comes later than this.
_FIRST_PAUSE_NS = int(0.75 * NS_PER_S)
#: Keys a second.
_SLOWEST, _FASTEST = 0.8, 16.0
#: Into a line that ends at the right: so many keys at least, at this rate (buttons pressed with the pointer are
#: slower), with this confidence.
_FEWEST_PUSHED, _SLOWEST_PUSHED, _PUSHED = 4, 1.6, 0.7
_RESULT_NS = int(0.45 * NS_PER_S)
#: The first key may come before the first letter seen by twice the usual gap, and by so much.
_SOON_NS, _OPENING_NS = int(0.3 * NS_PER_S), int(0.6 * NS_PER_S)
#: Hands that type leave the mouse alone (units).
_AT_REST = 24.0
#: What changes this near (units) to a moving pointer is its own doing.
_REACH = 48.0


@dataclass(frozen=True, slots=True)
class Typing:
    """A run of key strokes: the frames of its letters, where the text stands (cells), how sure (0..1)."""

    frames: tuple[int, ...]
    rect: Rect
    confidence: float
    #: the frame of a larger change just before the first letter's, where what stood there made way: it may be the
    #: first key's, or only the focus that came
    opening: int | None = None

    @property
    def first(self) -> int:
        return self.frames[0]

    @property
    def since(self) -> int:
        """The first frame that may show a key's work."""
        return self.frames[0] if self.opening is None else self.opening

    @property
    def last(self) -> int:
        return self.frames[-1]


def find_typing(movie: CellMovie, track: Track, spots: Spots) -> list[Typing]:
    """All runs of typing, in order; of runs at the same time (a formula line mirrors its cell) the longest."""
    runs: list[list[Spot]] = []
    for k, frame_spots in enumerate(spots):
        letters = [s for s in frame_spots if _is_letter(s, movie) and not _under_pointer(s, k, movie, track)]
        if len(letters) > 8:
            continue
        for letter in letters:
            run = next((r for r in reversed(runs[-40:]) if _continues(r, letter, movie)), None)
            if run is None:
                runs.append([letter])
            elif run[-1].frame != k:
                run.append(letter)
    found = [t for run in runs for t in (*_typings(run, movie, track), *_pushed_left(run, movie, track))]
    return [_opened(typing, movie, track, spots) for typing in _one_at_a_time(found)]


def _pushed_left(run: list[Spot], movie: CellMovie, track: Track) -> Iterator[Typing]:
    """Typing into a line that ends at the right, as calculators have: each letter pushes the others left."""
    right = max((s.rect[2] for s in run), key=[s.rect[2] for s in run].count)
    part = [s for s in run if abs(s.rect[2] - right) <= 1]
    times = [movie.times_ns[s.frame] for s in part]
    while len(part) > 1 and times[len(part) - 1] - times[len(part) - 2] > _RESULT_NS:
        part = part[:-1]  # a result took its place
    if len(part) < _FEWEST_PUSHED or not track.known(part[0].frame) or _swept(part, track, movie):
        return
    wider = sum(b.width > max(a.width for a in part[: n + 1]) for n, b in enumerate(part[1:]))
    seconds = (times[len(part) - 1] - times[0]) / NS_PER_S
    if wider < 2 or not _SLOWEST_PUSHED <= (len(part) - 1) / max(seconds, 1e-3) <= _FASTEST:
        return
    yield Typing(tuple(s.frame for s in part), around(s.rect for s in part), _PUSHED)


def _opened(typing: Typing, movie: CellMovie, track: Track, spots: Spots) -> Typing:
    """The typing with the change just before its first letter, if there is one in the same place."""
    times, (left, top, _, bottom) = movie.times_ns, typing.rect
    gaps = np.diff([times[k] for k in typing.frames])
    least_ns = times[typing.first] - min(max(2 * int(np.median(gaps)) if len(gaps) else 0, _SOON_NS), _OPENING_NS)
    ahead = round(_AHEAD * movie.layout.unit_px / movie.layout.cell_wh[0])
    for k in range(typing.first - 1, -1, -1):
        if times[k] < least_ns:
            break
        for s in spots[k]:
            overlap = min(s.rect[3], bottom) - max(s.rect[1], top)
            if (
                not s.caret
                and s.peak >= _LEAST_PEAK
                and overlap >= 0.5 * min(s.height, bottom - top)
                and s.height <= 2.5 * (bottom - top)
                and s.rect[0] <= left + ahead // 2
                and left - ahead <= s.rect[2]
                and not _under_pointer(s, k, movie, track)
            ):
                widened = max(left - ahead, min(s.rect[0], left))
                return replace(typing, rect=(widened, *typing.rect[1:]), opening=k)
    return typing


def _under_pointer(spot: Spot, frame: int, movie: CellMovie, track: Track) -> bool:
    """Whether the change may be the moving pointer's doing."""
    first = max(frame - 3, 0)
    xs, ys = track.x_px[first : frame + 2], track.y_px[first : frame + 2]
    unit = movie.layout.unit_px
    if not np.isfinite(xs).all() or max(np.ptp(xs), np.ptp(ys)) <= 6 * unit:
        return False
    left, top, right, bottom = movie.layout.to_px(spot.rect)
    reach = _REACH * unit
    return bool(((xs > left - reach) & (xs < right + reach) & (ys > top - reach) & (ys < bottom + reach)).any())


def _is_letter(spot: Spot, movie: CellMovie) -> bool:
    w, h = (c / movie.layout.unit_px for c in movie.layout.cell_wh)
    return (
        not spot.caret
        and spot.width * w <= _WIDEST
        and _LOWEST <= spot.height * h <= _HIGHEST
        and spot.peak >= _LEAST_PEAK
        and spot.cells >= 2
    )


def _continues(run: list[Spot], letter: Spot, movie: CellMovie) -> bool:
    last, unit_w = run[-1], movie.layout.cell_wh[0] / movie.layout.unit_px
    if movie.times_ns[letter.frame] - movie.times_ns[last.frame] > _PAUSE_NS:
        return False
    overlap = min(last.rect[3], letter.rect[3]) - max(last.rect[1], letter.rect[1])
    if overlap < 0.5 * min(last.height, letter.height):
        return False
    return (
        last.rect[0] * unit_w - _BACK <= letter.rect[0] * unit_w <= last.rect[2] * unit_w + _AHEAD
        and letter.rect[2] * unit_w >= last.rect[0] * unit_w - 4
    )


def _typings(run: list[Spot], movie: CellMovie, track: Track) -> Iterator[Typing]:
    """The parts of a run in which the line grows to the right; blinking and colouring in place is left out."""
    if len(run) < _FEWEST_KEYS:
        return
    chain = _longest_advance(run, movie)
    if len(chain) < _FEWEST_KEYS:
        return
    yield from _typings(run[: chain[0]], movie, track)
    if typing := _typing([run[i] for i in chain], movie, track):
        yield typing
    yield from _typings(run[chain[-1] + 1 :], movie, track)


def _longest_advance(run: list[Spot], movie: CellMovie) -> list[int]:
    """The longest chain of spots (by number) each of which reaches further to the right than the one before."""
    best, came_from = [1] * len(run), [-1] * len(run)
    for i, spot in enumerate(run):
        for j in range(i - 1, -1, -1):
            if movie.times_ns[spot.frame] - movie.times_ns[run[j].frame] > _PAUSE_NS:
                break
            if spot.rect[2] > run[j].rect[2] and spot.rect[0] >= run[j].rect[0] and best[j] + 1 > best[i]:
                best[i], came_from[i] = best[j] + 1, j
    at = max(range(len(run)), key=lambda i: best[i])
    chain = []
    while at >= 0:
        chain.append(at)
        at = came_from[at]
    return chain[::-1]


def _typing(part: list[Spot], movie: CellMovie, track: Track) -> Typing | None:
    times = [movie.times_ns[s.frame] for s in part]
    if len(part) >= 3 and times[1] - times[0] > _FIRST_PAUSE_NS:
        part, times = part[1:], times[1:]
    if len(part) < _FEWEST_KEYS:
        return None
    seconds = (times[-1] - times[0]) / NS_PER_S
    rate = (len(part) - 1) / max(seconds, 1e-3)
    if not _SLOWEST <= rate <= _FASTEST or _swept(part, track, movie):
        return None
    grown = part[-1].rect[2] - part[0].rect[2]
    if part[-1].rect[0] - part[0].rect[0] < 0.4 * grown:  # it swells instead of moving on: a ring, a button
        return None
    steps = [b.rect[2] - a.rect[2] for a, b in pairwise(part)]
    even = 1 - min(1.0, float(np.std(steps)) / max(float(np.mean(steps)), 1.0))
    confidence = min(0.95, 0.4 + 0.06 * min(len(part), 7) + 0.15 * even)
    return Typing(tuple(s.frame for s in part), around(s.rect for s in part), confidence)


def _swept(part: list[Spot], track: Track, movie: CellMovie) -> bool:
    """Whether the pointer was on its way meanwhile: coordinates in a status line, a stroke, a hover."""
    x, y = (of[part[0].frame : part[-1].frame + 1] for of in (track.x_px, track.y_px))
    x, y = x[np.isfinite(x)], y[np.isfinite(y)]
    return len(x) > 0 and float(np.ptp(x) + np.ptp(y)) > _AT_REST * movie.layout.unit_px


def _one_at_a_time(found: list[Typing]) -> list[Typing]:
    kept: list[Typing] = []
    for run in sorted(found, key=lambda t: (-len(t.frames), t.first)):
        if all(run.first > other.last or run.last < other.first for other in kept):
            kept.append(run)
    return sorted(kept, key=lambda t: t.first)
