"""Fingers on a touch screen, by the indicator that recordings show under them.

An indicator is a round, translucent mark of one size that comes, may move, and goes. It is looked for in what changes,
at the resolution of cells: a round change that stands alone is a mark that came (or, read backwards, one that went),
and is followed from there. What a program itself draws round (switches, avatars, ripples) is told by its size, which
varies, and because it stays.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from video2gui.errors import load_extra
from video2gui.screen.changes import CellMovie, Rect, components
from video2gui.screen.effects import Spot, Spots
from video2gui.screen.shift import Shift
from video2gui.screen.watch import Track
from video2gui.timebase import NS_PER_S

Floats = npt.NDArray[np.float32]

#: A mark is so many cells wide; a finger's is about 3 % of a phone's length.
_LEAST_WIDE, _MOST_WIDE = 4, 26
#: In a frame with more change than this (cells; times the mark's own) nothing stands alone.
_MOST_CHANGE = 0.12
_MOST_OTHERS, _OTHERS_CELLS = 12.0, 100
#: A recording in which a pointer is seen in more of the frames is not of a touch screen.
_MOST_POINTER = 0.08
#: A mark has come when it is all there, at most so long after its first trace.
_COMING_NS = int(0.13 * NS_PER_S)
_LONGEST_NS = 5 * NS_PER_S
#: The first or last frame of the video may cut a touch short, but a longer one is part of the picture.
_LONGEST_OPEN_NS = NS_PER_S
#: How like a round mark (correlation) a place must be: to be one, and to be still one.
_LEAST_LIKE, _STILL_LIKE = 0.55, 0.8
#: What is drawn within this part of a mark's radius, and differs by this many levels, shows through it: paler by this
#: and with this correlation.
_INSIDE, _DRAWN, _PALER, _SHOWS = 0.7, 8.0, 0.88, 0.75
#: A mark stands out by so many levels in so many of the directions; of one that does that is not much like a mark, or
#: that only pales what is drawn there, one is less sure.
_PLAIN, _ALL_ROUND, _LESS_SURE = 4.0, 0.75, 0.8
#: A mark that fades to less than this of its strength is going.
_STILL_STRONG = 0.5
#: How much liker with the mark than without.
_LIKER = 0.15
#: Of the change that a mark made, less than this is left when it is gone.
_RESTORED = 0.4
#: Marks of one recording are of one size, within this share of it and so many cells.
_SAME_SHARE, _SAME_CELLS = 0.1, 0.5
#: Most marks are as like one as this, unless so many moved or left the picture as it was; on a wide screen so many do.
_ALIKE, _SURE, _MANY = 0.75, 2, 3
#: A mark goes at most so far in a second and between two frames (cells); it moves when it goes so far (of its radius).
_FASTEST, _REACH, _MOVED = 900.0, 70.0, 1.0
#: A program takes a finger for a long press after so long, and answers with this many times the mark's area. (A row
#: that lights up under it does so before.)
_HELD_NS, _ANSWER_AREA = (int(0.35 * NS_PER_S), int(1.2 * NS_PER_S)), 8.0
#: After resting so long a finger does not set out so fast (radii between two frames).
_RESTED_NS, _SET_OUT = int(0.4 * NS_PER_S), 2.5
#: What a tap made go (the knob of a switch) stays where it went for longer than a finger.
_KNOB_NS = int(0.3 * NS_PER_S)
#: A page takes up so much of the frame along the finger's way.
_PAGE = 0.4
#: A control lights up out of a stillness so long, alone, by so many cells and levels, up to this share of the frame;
#: the page turns within this time. What stands in the bars at the top and the bottom (share of the height) is the
#: system's own.
_STILL_NS = int(0.15 * NS_PER_S)
_ANSWER_CELLS, _ANSWER_LEVELS, _ANSWER_SHARE = 12, 24, 0.1
_TURN_NS, _PAGE_SHARE, _STATUS_BAR = int(0.35 * NS_PER_S), 0.15, 0.08
#: What follows a touch so soon in its place is its ripple.
_RIPPLE_NS = int(0.4 * NS_PER_S)
#: A finger may be out of sight for so long while the picture changes in so many of the frames.
_LONGEST_GAP_NS, _ASTIR = int(1.2 * NS_PER_S), 0.6
#: A light that blinks so many times in one place at so even a beat is none.
_BLINKS, _EVEN = 4, 0.12


@dataclass(frozen=True, slots=True)
class Touch:
    """One finger: the frames in which it was seen, from when it came down to when it was lifted, and where (pixels);
    the mark's radius (pixels), and how like a round mark it was (0..1). `opened` and `closed` say that its coming and
    its going left the picture as it is without it, so that they are sure.
    """

    frames: tuple[int, ...]
    x_px: tuple[float, ...]
    y_px: tuple[float, ...]
    radius_px: float
    likeness: float
    opened: bool
    closed: bool

    @property
    def first(self) -> int:
        return self.frames[0]

    @property
    def last(self) -> int:
        return self.frames[-1]

    @property
    def whole(self) -> bool:
        return self.opened and self.closed

    @property
    def start_px(self) -> tuple[float, float]:
        return self.x_px[0], self.y_px[0]

    @property
    def end_px(self) -> tuple[float, float]:
        return self.x_px[-1], self.y_px[-1]

    @property
    def moved(self) -> bool:
        """Whether the finger went further than a resting one sways."""
        far = max(np.hypot(x - self.x_px[0], y - self.y_px[0]) for x, y in zip(self.x_px, self.y_px, strict=True))
        return bool(far > _MOVED * self.radius_px)


@dataclass(frozen=True, slots=True)
class _Seed:
    """A round change with `frame`: its rectangle of cells."""

    frame: int
    rect: Rect


@dataclass(frozen=True, slots=True)
class _Mark:
    """What one mark looks like: radius in cells, the colour direction it changes, its profile seen from above."""

    radius: float
    colour: Floats
    template: Floats


def find_touches(movie: CellMovie, track: Track, scrolls: Mapping[int, Sequence[Shift]]) -> list[Touch]:
    """All touches in order; none where a pointer is seen. In the frames of `scrolls` the content moves."""
    if not len(movie.times_ns) or float(np.mean(track.visible)) > _MOST_POINTER:
        return []
    seeds = _seeds(movie)
    found: list[Touch] = []
    for seed in seeds:
        if any(_covers(touch, seed, movie) for touch in found):
            continue
        touch = _followed(seed, movie, scrolls, forward=True) or _followed(seed, movie, scrolls, forward=False)
        if touch is not None and not any(_same(touch, other) for other in found):
            found.append(touch)
    found = _joined(sorted(found, key=lambda t: t.first), movie)
    return _of_one_size([t for t in found if not _blinks(t, found, movie)], movie)


def _near(one: tuple[float, float], two: tuple[float, float], touch: Touch) -> bool:
    return float(np.hypot(one[0] - two[0], one[1] - two[1])) <= 0.3 * touch.radius_px


def held_for(touch: Touch, movie: CellMovie) -> bool:
    """Whether a resting finger was held until the program answered that, not its release: a long press."""
    times, (w, h) = movie.times_ns, movie.layout.cell_wh
    sizes = {k: len(movie.deltas[k].index) for k in range(touch.first + 1, touch.last + 1)}
    if not sizes:
        return False
    answer = max(sizes, key=lambda k: sizes[k])
    large = _ANSWER_AREA * np.pi * touch.radius_px**2 / (w * h)
    return sizes[answer] > large and _HELD_NS[0] <= times[answer] - times[touch.first] <= _HELD_NS[1]


def moves_page(touch: Touch, movie: CellMovie) -> bool:
    """Whether what goes with a moving finger is the page rather than a part of it: it changes far and wide.

    What a finger is held on first, it carries.
    """
    start, times = touch.start_px, movie.times_ns
    still = [k for k, x, y in zip(touch.frames, touch.x_px, touch.y_px, strict=True) if _near(start, (x, y), touch)]
    if times[still[-1]] - times[touch.first] >= _HELD_NS[0]:
        return False
    gw, gh = movie.layout.grid_wh
    w, h = movie.layout.cell_wh
    least = 2 * np.pi * touch.radius_px**2 / (w * h)
    upright = abs(touch.end_px[1] - touch.start_px[1]) >= abs(touch.end_px[0] - touch.start_px[0])
    lengths = []
    for k in range(touch.first + 1, touch.last + 1):
        index = movie.deltas[k].index
        if len(index) > least:
            first, last = np.percentile(index // gw if upright else index % gw, (4, 96))
            lengths.append((last - first) / (gh if upright else gw))
    return bool(lengths) and float(np.median(lengths)) >= _PAGE


def find_answers(movie: CellMovie, track: Track, spots: Spots, scrolls: Container[int]) -> list[Spot]:
    """What lights up under a finger on a phone that shows no mark: one small change out of stillness, just before most
    of the page becomes another one. `scrolls` are frames in which the content moves.
    """
    (w, h), (gw, gh), times = movie.layout.size_wh, movie.layout.grid_wh, movie.times_ns
    if h <= w or track.visible.any():
        return []
    plain = [
        [s for s in here if not s.caret and s.cells >= _ANSWER_CELLS and s.peak >= _ANSWER_LEVELS] for here in spots
    ]
    stirred = [k for k, here in enumerate(plain) if here]
    turned = [k for k in stirred if len(movie.deltas[k].index) > _PAGE_SHARE * gw * gh and k not in scrolls]
    out = []
    for last, k in zip([0, *stirred], stirred, strict=False):
        spot = plain[k][0]
        if (
            len(plain[k]) == 1
            and len(movie.deltas[k].index) <= min(2 * spot.cells, _ANSWER_SHARE * gw * gh)
            and _STATUS_BAR * gh < spot.rect[1]
            and spot.rect[3] < (1 - _STATUS_BAR) * gh
            and times[k] - times[last] >= _STILL_NS
            and any(0 < times[t] - times[k] <= _TURN_NS for t in turned)
        ):
            out.append(spot)
    return out


# ------------------------------------------------------------------------------------------------- round changes


def _seeds(movie: CellMovie) -> list[_Seed]:
    gw, gh = movie.layout.grid_wh
    out = []
    for frame in range(1, len(movie.deltas)):
        count = len(movie.deltas[frame].index)
        if not 4 <= count <= _MOST_CHANGE * gw * gh:
            continue
        round_ones = [
            (rect, cells)
            for rect, cells in components(movie.changed(frame), gap=1)
            if _is_round_rect(rect, cells) and count - cells <= max(_OTHERS_CELLS, _MOST_OTHERS * cells)
        ]
        if len(round_ones) <= 3:
            out += [_Seed(frame, rect) for rect, _ in round_ones]
    return out


def _is_round_rect(rect: Rect, cells: int) -> bool:
    wide, high = rect[2] - rect[0], rect[3] - rect[1]
    return (
        min(wide, high) >= _LEAST_WIDE
        and max(wide, high) <= _MOST_WIDE
        and abs(wide - high) <= max(1, 0.3 * max(wide, high))
        and cells >= 0.3 * wide * high
    )


def _window(rect: Rect, margin: int, shape: tuple[int, ...]) -> tuple[slice, slice]:
    gh, gw = shape[:2]
    rows = slice(max(rect[1] - margin, 0), min(rect[3] + margin, gh))
    return rows, slice(max(rect[0] - margin, 0), min(rect[2] + margin, gw))


# ------------------------------------------------------------------------------------------------- one mark


def _followed(seed: _Seed, movie: CellMovie, scrolls: Mapping[int, Sequence[Shift]], *, forward: bool) -> Touch | None:
    """The touch that began with `seed`, or, read backwards, ended with it; None where it was no mark."""
    times, step = movie.times_ns, 1 if forward else -1
    without = seed.frame - 1 if forward else seed.frame
    first = without + step
    before = movie.picture(without).astype(np.float32)
    shown = _all_there(seed, before, first, step, movie)
    if shown is None:
        return None
    (x, y), mark, at = shown
    like = _like(movie.picture(at), x, y, mark)
    sure = _came(before, movie.picture(at), x, y, mark)
    if not sure:
        return None
    frames, places, likes = [at], [(x, y)], [like]
    full = _left_of(before, movie.picture(at), x, y, mark)
    restored, k = False, at
    while 0 <= (k := k + step) < len(times):
        if abs(times[k] - times[first]) > _LONGEST_NS:
            return None  # it stays: the program drew it
        step_frame = k if forward else k + 1  # the frame whose change lies between this picture and the last
        if not _changed_at(movie, step_frame, x, y, mark):
            frames.append(k)
            places.append((x, y))
            likes.append(likes[-1])
            continue
        picture = movie.picture(k)
        restored = (x, y) == places[0] and _left_of(before, picture, x, y, mark) < _RESTORED * full
        place = None
        if not restored:
            # where a whole page comes, a resting finger stays, or is gone
            resting = (x, y) == places[0]
            turned = resting and _turned(movie, step_frame, scrolls)
            least = max(_STILL_LIKE * likes[-1], _LEAST_LIKE)
            near = _found_near(picture, x, y, mark, reach=1.0 if turned else 3.0, least=least)
            if near and _like(picture, *near, mark) >= least:
                weak = _strength(picture, *near, mark) < _STILL_STRONG * _strength(movie.picture(k - step), x, y, mark)
                place = None if weak and not _changed_around(movie, step_frame, x, y, mark) else near
            if place is None and not turned:
                place = _gone_to(movie, k, step, (x, y), mark, max(_LEAST_LIKE, 0.75 * like))
                way = (place[0] - x, place[1] - y) if place else (0.0, 0.0)
                if _turns_back(way, places, mark):
                    place = None
                if place is not None and resting:
                    late = abs(times[k] - times[frames[0]]) > _RESTED_NS and np.hypot(*way) > _SET_OUT * mark.radius
                    if late or not _goes_along(way, scrolls.get(step_frame, ()), step, movie):
                        place = None
        if place is None:
            break
        restored = False
        x, y = place
        frames.append(k)
        places.append(place)
        likes.append(_like(picture, x, y, mark))
    if not 0 <= k < len(times) and abs(times[at] - times[frames[-1]]) > _LONGEST_OPEN_NS:
        return None
    count = _before_knob(frames, places, mark, restored, movie)
    frames, places, likes = frames[:count], places[:count], likes[:count]
    if at != first:
        frames.insert(0, first)
        places.insert(0, places[0])
    if not forward:
        frames.reverse()
        places.reverse()
    w, h = movie.layout.cell_wh
    return Touch(
        tuple(frames),
        tuple((p[0] + 0.5) * w for p in places),
        tuple((p[1] + 0.5) * h for p in places),
        mark.radius * (w + h) / 2,
        max(sure, float(np.median(likes))),
        opened=forward or restored,
        closed=restored or not forward,
    )


def _all_there(
    seed: _Seed, before: Floats, first: int, step: int, movie: CellMovie
) -> tuple[tuple[float, float], _Mark, int] | None:
    """The mark's middle (cells), its looks, and the frame in which the most of it is there and nothing else is."""
    times = movie.times_ns
    rows, columns = _window(seed.rect, 6, before.shape)
    inner = (seed.rect[0] - columns.start, seed.rect[1] - rows.start)
    best: tuple[float, Floats, int, Rect] | None = None
    k = first
    while 0 <= k < len(times) and abs(times[k] - times[first]) <= _COMING_NS:
        change = movie.picture(k)[rows, columns].astype(np.float32) - before[rows, columns]
        level = np.abs(change).max(axis=2)
        rect = _alone(level >= _least_level(level), inner, seed.rect, movie.layout.grid_wh, (columns.start, rows.start))
        if rect is None:
            break
        total = float(level.sum())
        if best is None or total > 1.15 * best[0]:
            best = (total, change, k, rect)
        k += step
    if best is None:
        return None
    _, change, at, rect = best
    part = change[rect[1] : rect[3], rect[0] : rect[2]]
    level = np.abs(part).max(axis=2)
    if not _is_round(level):
        return None
    ys, xs = np.mgrid[0 : level.shape[0], 0 : level.shape[1]]
    weight = np.minimum(level, 0.7 * float(level.max()))
    middle_x, middle_y = float((weight * xs).sum() / weight.sum()), float((weight * ys).sum() / weight.sum())
    # a thin ring over something uneven leans: then the middle of what it covers is surer
    box_x, box_y = (level.shape[1] - 1) / 2, (level.shape[0] - 1) / 2
    x = rect[0] + (middle_x + box_x) / 2
    y = rect[1] + (middle_y + box_y) / 2
    mark = _mark(change, x, y, (level.shape[0] + level.shape[1]) / 4)
    return None if mark is None else ((x + columns.start, y + rows.start), mark, at)


def _least_level(level: Floats) -> float:
    """From how many levels on a cell counts as changed, where most that changed did so by more."""
    changed = level[level >= 6]
    return max(6.0, 0.4 * float(np.median(changed))) if changed.size else 6.0


def _alone(
    grid: npt.NDArray[np.bool_], inner: tuple[int, int], size: Rect, grid_wh: tuple[int, int], corner: tuple[int, int]
) -> Rect | None:
    """The one round group of changed cells at `inner`, of about the rectangle's size; None where it has grown.

    `grid` is the part at `corner` of a frame of `grid_wh` cells.
    """
    middle = (inner[0] + (size[2] - size[0]) / 2, inner[1] + (size[3] - size[1]) / 2)
    for rect, cells in components(grid, gap=1):
        if rect[0] <= middle[0] <= rect[2] and rect[1] <= middle[1] <= rect[3]:
            whole = (
                (rect[0] > 0 or corner[0] == 0)
                and (rect[1] > 0 or corner[1] == 0)
                and (rect[2] < grid.shape[1] or corner[0] + grid.shape[1] == grid_wh[0])
                and (rect[3] < grid.shape[0] or corner[1] + grid.shape[0] == grid_wh[1])
            )
            return rect if whole and _is_round_rect(rect, cells) else None
    return None


def _is_round(level: Floats) -> bool:
    """Whether the corners of the square stay as they were while the rest changed all round."""
    high, wide = level.shape
    ys, xs = np.mgrid[0:high, 0:wide]
    away = np.hypot((xs - (wide - 1) / 2) / (wide / 2), (ys - (high - 1) / 2) / (high / 2))
    changed = level >= _least_level(level)
    corners, body = away > 1.15, (away > 0.5) & (away < 1.05)
    if corners.any() and changed[corners].mean() > 0.5:
        return False
    angle = np.floor((np.arctan2(ys - (high - 1) / 2, xs - (wide - 1) / 2) + np.pi) / (2 * np.pi) * 7.999)
    sectors = [changed[body & (angle == a)] for a in range(8)]
    return all(part.mean() > 0.25 for part in sectors if len(part))


def _mark(change: Floats, x: float, y: float, radius: float) -> _Mark | None:
    """Looks of the mark whose `change` of the picture has its middle at (x, y)."""
    ys, xs = np.mgrid[0 : change.shape[0], 0 : change.shape[1]]
    away = np.hypot(xs - x, ys - y)
    inside = change[away <= radius]
    _, _, axes = np.linalg.svd(inside, full_matrices=False)
    colour = axes[0].astype(np.float32)
    along = change @ colour
    reach = int(np.ceil(1.45 * radius + 0.5))
    rings = np.array([_mean(along[np.abs(away - r) <= 0.6]) for r in range(int(1.5 * reach) + 2)])
    yy, xx = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    out = np.interp(np.hypot(xx, yy), np.arange(len(rings)), rings).astype(np.float32)
    out[np.hypot(xx, yy) > radius + 0.8] = 0
    return None if float(out.std()) < 0.5 else _Mark(radius, colour, out)


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else 0.0


def _like(picture: npt.NDArray[np.generic], x: float, y: float, mark: _Mark) -> float:
    """How like the mark the place is: the correlation with its profile, 0..1, whichever is the lighter."""
    reach = mark.template.shape[0] // 2
    best = 0.0
    for cx, cy in {(round(x), round(y)), (int(x), int(y)), (int(x + 0.99), int(y + 0.99))}:
        patch = picture[max(cy - reach, 0) : cy + reach + 1, max(cx - reach, 0) : cx + reach + 1]
        template = mark.template[max(reach - cy, 0) :, max(reach - cx, 0) :][: patch.shape[0], : patch.shape[1]]
        if patch.size:
            one = patch.astype(np.float32) @ mark.colour
            one, two = one - one.mean(), template - template.mean()
            best = max(best, abs(float((one * two).sum())) / max(float(np.sqrt((one**2).sum() * (two**2).sum())), 20.0))
    return best


def _strength(picture: npt.NDArray[np.generic], x: float, y: float, mark: _Mark) -> float:
    """How much lighter or darker than its surroundings the mark is, against how it was first seen (then 1)."""
    reach, cx, cy = mark.template.shape[0] // 2, round(x), round(y)
    patch = picture[max(cy - reach, 0) : cy + reach + 1, max(cx - reach, 0) : cx + reach + 1]
    template = mark.template[max(reach - cy, 0) :, max(reach - cx, 0) :][: patch.shape[0], : patch.shape[1]]
    two = template - template.mean()
    return abs(float((patch.astype(np.float32) @ mark.colour * two).sum())) / max(float((two**2).sum()), 1.0)


def _came(before: Floats, after: npt.NDArray[np.uint8], x: float, y: float, mark: _Mark) -> float:
    """How sure it is (0..1) that the mark is what came, rather than what went: there is one after, it stands out all
    round, or it paled what is drawn there. 0 where it is not.
    """
    like, like_before = _like(after, x, y, mark), _like(before, x, y, mark)
    if like >= _LEAST_LIKE and like - like_before >= _LIKER:
        return like
    out, out_before = _stands_out(after, x, y, mark), _stands_out(before, x, y, mark)
    level = float(np.median(out))
    same = float(np.mean(out * np.sign(level) > 0.4 * abs(level)))
    if abs(level) >= _PLAIN and abs(float(np.median(out_before))) < 0.4 * abs(level) and same >= _ALL_ROUND:
        return _LESS_SURE * same
    return _LESS_SURE * (like_before - like < 3 * _LIKER and _veiled(before, after, x, y, mark))


def _stands_out(picture: npt.NDArray[np.generic], x: float, y: float, mark: _Mark) -> Floats:
    """float (up to 8,): how far the mark's plainest ring differs from what is just outside it, by the sector."""
    reach = mark.template.shape[0] // 2
    rows, columns = _window((round(x), round(y), round(x) + 1, round(y) + 1), reach, picture.shape)
    ys, xs = np.mgrid[rows, columns]
    along = picture[rows, columns].astype(np.float32) @ mark.colour
    strong = np.abs(mark.template) >= 0.6 * np.abs(mark.template).max()
    strong = strong[rows.start - round(y) + reach :, columns.start - round(x) + reach :][
        : along.shape[0], : along.shape[1]
    ]
    away, sector = np.hypot(xs - x, ys - y), ((np.arctan2(ys - y, xs - x) / np.pi + 1) * 3.999).astype(int)
    outside = (away >= mark.radius + 1) & (away <= mark.radius + 2.6)
    parts = [
        (along[strong & (sector == n)].mean() - along[outside & (sector == n)].mean())
        for n in range(8)
        if (strong & (sector == n)).any() and (outside & (sector == n)).any()
    ]
    return np.array(parts or [0.0], np.float32)


def _veiled(before: Floats, after: npt.NDArray[np.uint8], x: float, y: float, mark: _Mark) -> bool:
    """Whether what is drawn within the mark shows through it, paler after than before."""
    reach = int(np.ceil(mark.radius))
    rows, columns = _window((round(x), round(y), round(x) + 1, round(y) + 1), reach, before.shape)
    ys, xs = np.mgrid[rows, columns]
    inside = np.hypot(xs - x, ys - y) <= _INSIDE * mark.radius
    one, two = (p[rows, columns][inside].astype(np.float32) for p in (before, after))
    one, two = one - one.mean(axis=0), two - two.mean(axis=0)
    drawn, drawn_after = float(one.std()), float(two.std())
    shows = float((one * two).mean()) >= _SHOWS * drawn * drawn_after
    return drawn >= _DRAWN and shows and drawn_after < _PALER * drawn


def _left_of(before: Floats, picture: npt.NDArray[np.uint8], x: float, y: float, mark: _Mark) -> float:
    """How much the place differs from the picture without the mark: mean levels over its disc."""
    reach = max(1, int(0.9 * mark.radius))
    rows, columns = (
        slice(max(round(y) - reach, 0), round(y) + reach + 1),
        slice(max(round(x) - reach, 0), round(x) + reach + 1),
    )
    return float(np.abs(picture[rows, columns].astype(np.float32) - before[rows, columns]).max(axis=2).mean())


def _changed_at(movie: CellMovie, frame: int, x: float, y: float, mark: _Mark) -> bool:
    """Whether anything within the mark changed with `frame`."""
    index = movie.deltas[min(frame, len(movie.deltas) - 1)].index
    gw = movie.layout.grid_wh[0]
    return bool(np.any((np.abs(index % gw - x) <= mark.radius + 1) & (np.abs(index // gw - y) <= mark.radius + 1)))


def _changed_around(movie: CellMovie, frame: int, x: float, y: float, mark: _Mark) -> bool:
    """Whether anything just outside the mark changed with `frame`: the ground on which it lies."""
    index = movie.deltas[frame].index.astype(np.int64)
    gw = movie.layout.grid_wh[0]
    away = np.hypot(index % gw - x, index // gw - y)
    # a ring two cells wide has about 15 cells for each of its radius
    return int(((away > mark.radius + 1.5) & (away <= mark.radius + 3.5)).sum()) > 4 * mark.radius


def _turned(movie: CellMovie, frame: int, scrolls: Mapping[int, Sequence[Shift]]) -> bool:
    """Whether with `frame` most of the page became another one."""
    gw, gh = movie.layout.grid_wh
    return len(movie.deltas[frame].index) > _MOST_CHANGE * gw * gh and frame not in scrolls


def _turns_back(way: tuple[float, float], places: Sequence[tuple[float, float]], mark: _Mark) -> bool:
    """Whether a mark in full motion would go back the way it came."""
    if len(places) < 2:
        return False
    last = places[-1][0] - places[-2][0], places[-1][1] - places[-2][1]
    fast = min(np.hypot(*way), np.hypot(*last)) > mark.radius
    return bool(fast and way[0] * last[0] + way[1] * last[1] < 0)


def _goes_along(way: tuple[float, float], shifts: Sequence[Shift], step: int, movie: CellMovie) -> bool:
    """Whether a finger that went by `way` (cells) took the content with it, where there is any that moved."""
    w, h = movie.layout.cell_wh
    return not shifts or any(
        np.hypot(way[0] - step * s.dx_px / w, way[1] - step * s.dy_px / h) <= max(3.0, 0.3 * np.hypot(*way))
        for s in shifts
    )


def _before_knob(
    frames: Sequence[int], places: Sequence[tuple[float, float]], mark: _Mark, restored: bool, movie: CellMovie
) -> int:
    """How many of the places are the finger's, if it led on to a round thing near by that came with it and stayed."""
    away = [float(np.hypot(x - places[0][0], y - places[0][1])) for x, y in places]
    rest = 0
    for n in range(1, len(places)):
        if places[n] != places[n - 1]:
            rest = n
        stays = abs(movie.times_ns[frames[n]] - movie.times_ns[frames[rest]]) >= _KNOB_NS
        leaves = n + 1 < len(places) and places[n + 1] != places[n]
        if stays and mark.radius < away[n] <= 4 * mark.radius and (leaves or (n + 1 == len(places) and not restored)):
            return next(i for i, far in enumerate(away) if far > 0.3 * mark.radius)
    return len(places)


def _gone_to(
    movie: CellMovie, frame: int, step: int, place: tuple[float, float], mark: _Mark, least: float
) -> tuple[float, float] | None:
    """Where the mark is in `frame`, that one step before was at `place`: where none was then."""
    seconds = abs(movie.times_ns[frame] - movie.times_ns[frame - step]) / NS_PER_S
    picture = movie.picture(frame)
    found = _found_near(picture, *place, mark, min(_FASTEST * seconds, _REACH), least)
    if found is None or _like(movie.picture(frame - step), *found, mark) >= 0.85 * _like(picture, *found, mark):
        return None
    return found


def _found_near(
    picture: npt.NDArray[np.uint8], x: float, y: float, mark: _Mark, reach: float, least: float = 0.0
) -> tuple[float, float] | None:
    """The place (cells) within `reach` that is likest the mark, nearer ones before; None below `least`."""
    cv2 = load_extra("cv2", "see")
    size = mark.template.shape[0] // 2
    left, top = max(int(x - reach) - size, 0), max(int(y - reach) - size, 0)
    part = picture[top : int(y + reach) + size + 1, left : int(x + reach) + size + 1].astype(np.float32) @ mark.colour
    if min(part.shape) <= 2 * size + 1:
        return None
    likeness = np.abs(np.nan_to_num(cv2.matchTemplate(part, mark.template, cv2.TM_CCOEFF_NORMED)))
    likeness[likeness > 1.01] = 0  # a flat place has no correlation
    ys, xs = np.mgrid[0 : likeness.shape[0], 0 : likeness.shape[1]]
    away = np.hypot(xs + left + size - x, ys + top + size - y)
    score = likeness - 0.15 * away / _REACH
    row, column = np.unravel_index(int(score.argmax()), score.shape)
    if likeness[row, column] < least:
        return None
    return float(column + left + size + _finer(likeness[row], column)), float(
        row + top + size + _finer(likeness[:, column], row)
    )


def _finer(line: Floats, at: np.intp) -> float:
    """The top of the parabola through the three values around `at`, -0.5..0.5."""
    if not 0 < at < len(line) - 1:
        return 0.0
    a, b, c = (float(v) for v in line[at - 1 : at + 2])
    bend = a - 2 * b + c
    return float(np.clip(0.5 * (a - c) / bend, -0.5, 0.5)) if bend < -1e-6 else 0.0


# ------------------------------------------------------------------------------------------------- which are touches


def _covers(touch: Touch, seed: _Seed, movie: CellMovie) -> bool:
    """Whether `seed` is part of a touch found already: its moves, its going, a ripple from where it was."""
    w, h = movie.layout.cell_wh
    x, y = (seed.rect[0] + seed.rect[2]) / 2 * w, (seed.rect[1] + seed.rect[3]) / 2 * h
    late = movie.times_ns[seed.frame] - movie.times_ns[touch.last]
    if not touch.first <= seed.frame or late > (_RIPPLE_NS if touch.closed else 0):
        return False
    return any(np.hypot(x - a, y - b) <= 2 * touch.radius_px for a, b in zip(touch.x_px, touch.y_px, strict=True))


def _joined(found: Sequence[Touch], movie: CellMovie) -> list[Touch]:
    """Touches in order; two of which one has no end and the next no beginning, with all astir between, are one."""
    out: list[Touch] = []
    for touch in found:
        if out and _goes_on(out[-1], touch, movie):
            last = out.pop()
            touch = Touch(
                last.frames + touch.frames,
                last.x_px + touch.x_px,
                last.y_px + touch.y_px,
                last.radius_px,
                (last.likeness + touch.likeness) / 2,
                opened=last.opened,
                closed=touch.closed,
            )
        out.append(touch)
    return out


def _goes_on(one: Touch, two: Touch, movie: CellMovie) -> bool:
    if one.closed or two.opened or two.first <= one.last or not _alike(one.radius_px, two.radius_px, movie):
        return False
    if movie.times_ns[two.first] - movie.times_ns[one.last] > _LONGEST_GAP_NS:
        return False
    (x0, y0), (x1, y1) = one.end_px, two.start_px
    (w, h), least = movie.layout.cell_wh, one.radius_px**2
    astir = [len(movie.deltas[k].index) * w * h > least for k in range(one.last + 1, two.first + 1)]
    soon = movie.times_ns[two.first] - movie.times_ns[one.last] <= _RIPPLE_NS
    near = (6 if soon else 2) * one.radius_px
    return bool(np.hypot(x1 - x0, y1 - y0) <= near or np.mean(astir) >= _ASTIR)


def _same(touch: Touch, other: Touch) -> bool:
    """Whether two touches are one: at one time, in one place."""
    if touch.first > other.last + 1 or other.first > touch.last + 1:
        return False
    near = 2 * max(touch.radius_px, other.radius_px)
    return any(
        np.hypot(a - c, b - d) <= near
        for a, b in zip(touch.x_px, touch.y_px, strict=True)
        for c, d in zip(other.x_px, other.y_px, strict=True)
    )


def _blinks(touch: Touch, found: Sequence[Touch], movie: CellMovie) -> bool:
    """Whether it is a light of the program, that comes and goes in one place at an even beat."""
    (x, y), near = touch.start_px, touch.radius_px / 2
    starts = [movie.times_ns[t.first] for t in found if np.hypot(t.x_px[0] - x, t.y_px[0] - y) <= near]
    gaps = np.diff(starts)
    return len(starts) >= _BLINKS and float(np.std(gaps)) <= _EVEN * float(np.mean(gaps))


def _of_one_size(found: list[Touch], movie: CellMovie) -> list[Touch]:
    """Those of the size that the most have that came and went; all others are the program's own."""
    if not found:
        return []
    weight = [2.0 * t.whole + t.likeness + t.moved for t in found]
    best = max(
        (t.radius_px for t in found),
        key=lambda r: sum(v for t, v in zip(found, weight, strict=True) if _alike(t.radius_px, r, movie)),
    )
    chosen = [t for t in found if _alike(t.radius_px, best, movie)]
    sure = [t for t in chosen if t.whole or t.moved]
    if len(sure) < _SURE and float(np.median([t.likeness for t in chosen])) < _ALIKE:
        return []
    like = [t for t in chosen if t.likeness >= _ALIKE]
    places = {(round(t.x_px[0] / (4 * best)), round(t.y_px[0] / (4 * best))) for t in chosen}
    w, h = movie.layout.size_wh
    if h > w:  # held upright, it is a phone
        return chosen if sure or (len(like) >= 2 and len(places) >= 2) else []
    return chosen if len(sure) >= _MANY and len(places) >= _MANY else []


def _alike(one_px: float, other_px: float, movie: CellMovie) -> bool:
    return abs(one_px - other_px) <= _SAME_SHARE * one_px + _SAME_CELLS * movie.layout.cell_wh[0] + 1e-6
