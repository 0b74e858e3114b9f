"""The pointer through time: of all the ways it may have gone, the likeliest.

In every frame the network finds places that may be a pointer, and most of them are not: icons, letters, carets. What
tells the pointer is its story. It is in one place at a time, what leaves a place is gone from there, it goes on as it
went, and it may hide. So each place in sight carries the likeliest way that ends there (a Viterbi search whose states
are the places in sight, a few hidden ones and "not known yet"), and the best way at the end decides for all frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from video2gui.geometry import Point
from video2gui.screen.observed import PointerSample
from video2gui.screen.pointer import LEAST_SIDE_PX, MARGIN_PX, BoxPx, Candidate, PointerFinder, meet
from video2gui.timebase import NS_PER_S
from video2gui.video.frame import Image

_CUT_SHARE = 0.5  # of the frame changed: a new scene
_CALM_SHARE = 0.1  # up to here a move is believed; in a film something always moves
_SURE = 0.5  # score of a place in a new scene
_LIKELY = 0.3  # of one worth following
_CLEAR = 0.65  # a move between two such places is a pointer's
_COMMON = frozenset({"arrow", "text", "hand"})
_SAME_PX = 5.0  # found again within this: it has not moved
_STILL_PX = 1.5  # closer than this is the network's own noise
_PROOF = 4.0  # points for moves after which a way is believed to be a pointer's, see `_points`
_PROOF_NS = 5 * NS_PER_S  # all of them within this time
_PLACES, _HIDING = 8, 4  # places in sight and hidden ones that are kept
_TOUCHED = 4  # places looked at again in one frame because something changed there
_BIG_BOX_PX = 160
_SMALL_PX = 14  # a picture smaller than this is looked at enlarged
#: How many pixels the network may look at per second of video beyond what is near the pointer.
_BUDGET_PX_PER_S = 2_000_000

# Costs of what may happen, in natural logarithms of odds; what the network says of a place counts against them.
_APPEARS = 2.0
_VANISHES = 1.5
_HIDES_A_SECOND, _HIDES_NS = 0.2, 4 * NS_PER_S
_LEAVES_A_TWIN = 4.0  # what is still where it was has not gone elsewhere
_MOVES, _FARTHER = 0.3, 1.6  # the latter times the logarithm of the distance in units of
_REACH_PX, _SPEED_PX_PER_S = 40.0, 600.0
_RETURNS, _RETURNS_ELSEWHERE, _NEAR_PX = 1.3, 3.0, 60.0
_RARE = 0.3
_WEIGHT, _GROUND = 1.0, 1.5  # a place found just where it is looked for is more than its score
_MOST_ODDS, _LEAST_ODDS = 3.5, -1.0
_LIKE_A_CARET = 1.5
_TAKES_A_PLACE = 2.0  # where something else was seen


@dataclass(slots=True, eq=False)
class _Way:
    """The likeliest way to where the pointer is from `frame` on: in sight, hidden, or not known (no `at`)."""

    frame: int
    score: float
    at: Candidate | None = None
    in_sight: bool = False
    back: _Way | None = None
    #: for a pointer's move, gone here and there again
    points: float = 0.0
    #: the most that was seen of this place
    held: float = 0.0
    #: it came from nowhere: a new scene, or far from where it hid
    anew: bool = False

    def expected(self) -> list[Candidate]:
        """Where it was, and where it is if it goes on as it went last."""
        if self.at is None:
            return []
        last = self.back
        if last is None or last.at is None or not last.in_sight or self.frame != last.frame + 1:
            return [self.at]
        x, y = 2 * self.at.x_px - last.at.x_px, 2 * self.at.y_px - last.at.y_px
        return [self.at, replace(self.at, x_px=x, y_px=y)]


@dataclass(frozen=True, slots=True)
class _Event:
    """What was found in a frame, and where it was looked."""

    frame: int
    looked: list[BoxPx]
    found: list[Candidate]
    changed: Sequence[BoxPx]
    elapsed_s: float
    cut: bool
    calm: bool


class PointerTracker:
    """Follows the pointer through the frames of one video, given in order."""

    def __init__(self, finder: PointerFinder | None = None) -> None:
        self._finder = finder or PointerFinder()
        self._times_ns: list[int] = []
        self._events: list[_Event] = []
        self._ways = [_Way(-1, 0.0)]
        self._budget_px = 0.0
        self._size_wh = (0, 0)

    def update(self, pts_ns: int, image: Image, changed_boxes_px: Sequence[BoxPx]) -> None:
        """Take in a frame; the boxes are what changed since the frame before (all of it for the first)."""
        size_wh = (image.shape[1], image.shape[0])
        first = size_wh != self._size_wh
        self._size_wh = size_wh
        area = size_wh[0] * size_wh[1]
        elapsed_s = max(0, pts_ns - self._times_ns[-1]) / NS_PER_S if self._times_ns else 0.0
        whole = area * _usual_zoom(size_wh) ** 2
        self._budget_px = whole if first else min(self._budget_px + _BUDGET_PX_PER_S * elapsed_s, 2.0 * whole)
        self._times_ns.append(pts_ns)
        if not first and not changed_boxes_px:
            return
        share = sum((b[2] - b[0]) * (b[3] - b[1]) for b in changed_boxes_px) / area
        cut = first or share > _CUT_SHARE
        looked, found = self._search(image) if cut else self._look(image, changed_boxes_px)
        event = _Event(len(self._times_ns) - 1, looked, found, changed_boxes_px, elapsed_s, cut, share < _CALM_SHARE)
        self._events.append(event)
        self._take(event)

    def _take(self, event: _Event) -> None:
        again, fresh = self._seen(event.looked, event.found, event.changed, cut=event.cut)
        self._go(again, fresh, event.elapsed_s, cut=event.cut, calm=event.calm)

    def without(self, boxes_px: Sequence[tuple[float, float, float, float]]) -> PointerTracker:
        """This tracker, had nothing been found in the boxes: signs that a recorder shows look much like pointers."""
        other = PointerTracker(self._finder)
        other._size_wh = self._size_wh
        events = {event.frame: event for event in self._events}
        for frame, time_ns in enumerate(self._times_ns):
            other._times_ns.append(time_ns)
            if frame in events:
                event = events[frame]
                other._take(replace(event, found=[c for c in event.found if not _inside(c, boxes_px)]))
        return other

    def track(self) -> tuple[list[PointerSample], list[tuple[float, float, float, float] | None]]:
        """For each frame so far the pointer, and the box its picture covers where it is seen.

        Samples say None until a way begins of which moves as only a pointer makes them are a part.
        """
        begins = {way.frame: way for way in _known(self._best, self._times_ns)}
        way: _Way | None = None
        samples: list[PointerSample] = []
        boxes: list[tuple[float, float, float, float] | None] = []
        for frame, time_ns in enumerate(self._times_ns):
            way = begins.get(frame, way)
            samples.append(self._sample(time_ns, way))
            boxes.append(way.at.box_px if way and way.at and way.in_sight else None)
        return samples, boxes

    def _sample(self, time_ns: int, way: _Way | None) -> PointerSample:
        if way is None or way.at is None:
            return PointerSample(time_ns, None, visible=False, shape=None, confidence=0.0)
        point = Point.from_px(way.at.x_px, way.at.y_px, self._size_wh)
        return PointerSample(time_ns, point, way.in_sight, way.at.shape, way.at.score if way.in_sight else 0.0)

    @property
    def _best(self) -> _Way:
        return max(self._ways, key=lambda way: way.score)

    # -- where to look

    def _search(self, image: Image) -> tuple[list[BoxPx], list[Candidate]]:
        """A new scene: the pointer is near where it was, or may be anywhere."""
        at = self._best.at
        if at is not None:
            near = [_around(at, 64)]
            found = self._finder.find(image, near, _SURE, self._zoom())
            if found := [c for c in found if c.distance_px(at) < self._scale(48)]:
                return near, found
        zoom = _usual_zoom(self._size_wh)
        if not self._afford(image.shape[0] * image.shape[1] * zoom**2):
            return [], []
        return [(0, 0, *self._size_wh)], self._finder.find_anywhere(image, _SURE, zoom)

    def _look(self, image: Image, changed: Sequence[BoxPx]) -> tuple[list[BoxPx], list[Candidate]]:
        zoom = self._zoom()
        boxes = self._affordable(changed, zoom)
        best = self._best
        ways = sorted((w for w in self._ways if w.in_sight), key=lambda w: -w.score)
        touched = [w for w in ways if w.at is not None and _touched(w.at, changed)][:_TOUCHED]
        boxes += [_around(w.at, 24) for w in touched if w.at and (w is best or self._afford(LEAST_SIDE_PX**2))]
        found = self._finder.find(image, boxes, zoom=zoom) if boxes else []
        return boxes, [c for c in found if c.score >= _LIKELY]

    def _affordable(self, changed: Sequence[BoxPx], zoom: float) -> list[BoxPx]:
        """Changed boxes to look at: those a pointer's picture may make first, then nearest first, while they last."""
        chosen: list[BoxPx] = []
        for box in sorted(changed, key=self._rank):
            width, height = (zoom * (box[k + 2] - box[k]) + 2 * MARGIN_PX for k in (0, 1))
            if self._afford(width * height):
                chosen.append(box)
        return chosen

    def _rank(self, box: BoxPx) -> tuple[bool, float]:
        big = max(box[2] - box[0], box[3] - box[1]) > self._scale(_BIG_BOX_PX)
        at = self._best.at
        if at is None:
            return big, 0.0
        dx = max(box[0] - at.x_px, 0.0, at.x_px - box[2])
        dy = max(box[1] - at.y_px, 0.0, at.y_px - box[3])
        return big, float(np.hypot(dx, dy))

    def _zoom(self) -> float:
        """Small pointers are looked at enlarged."""
        usual, at = _usual_zoom(self._size_wh), self._best.at
        if at is None:
            return usual
        left, top, right, bottom = at.box_px
        return max(usual, 2.0) if max(right - left, bottom - top) < _SMALL_PX else usual

    def _afford(self, area_px: float) -> bool:
        if area_px > self._budget_px:
            return False
        self._budget_px -= area_px
        return True

    def _scale(self, px: float) -> float:
        return px * max(self._size_wh) / 1280

    # -- what is in sight

    def _seen(
        self, looked: Sequence[BoxPx], found: list[Candidate], changed: Sequence[BoxPx], *, cut: bool
    ) -> tuple[dict[_Way, Candidate | None], list[Candidate]]:
        """The ways whose place is still in sight, each with how it looks now (None: unchanged), and new places.

        Where something changed and nothing is found any more, it is gone.
        """
        again: dict[_Way, Candidate | None] = {}
        for way in sorted((way for way in self._ways if way.in_sight), key=lambda way: -way.score):
            assert way.at is not None
            near = [c for c in found if c.distance_px(way.at) <= _SAME_PX]
            if near:
                match = min(near, key=way.at.distance_px)
                found = [c for c in found if c.distance_px(match) > _SAME_PX]  # one thing is one pointer
                if match.distance_px(way.at) <= _STILL_PX:
                    match = replace(match, x_px=way.at.x_px, y_px=way.at.y_px)
                again[way] = match
            elif not cut and not (_touched(way.at, changed) and _inside(way.at, looked)):
                again[way] = None
        # what neither changed nor is followed is scenery
        fresh = [c for c in found if cut or _touched(c, changed)]
        return again, sorted(fresh, key=lambda c: -c.score)[:_PLACES]

    def _go(
        self, again: dict[_Way, Candidate | None], fresh: list[Candidate], elapsed_s: float, *, cut: bool, calm: bool
    ) -> None:
        """Find the likeliest way to each place in sight, to hidden ones, and to none."""
        frame = len(self._times_ns) - 1
        ways = [way if at is None else _again(way, at, frame) for way, at in again.items()]
        ends = [*((way, way.at) for way in ways), *((None, at) for at in fresh)]
        ways = []
        for end, at in ends:
            assert at is not None
            taken = _TAKES_A_PLACE if end is not None else 0.0
            came = [
                self._arrive(way, at, elapsed_s, taken, stays=way in again, cut=cut, calm=calm)
                for way in self._ways
                if end is None or (end.frame == frame and way is not end.back)
            ]
            ways.append(max([*([end] if end else []), *came], key=lambda way: way.score))
        hidden = [
            replace(way, score=way.score - _HIDES_A_SECOND * elapsed_s * self._hid_just_now(way))
            for way in self._ways
            if way.at is not None and not way.in_sight
        ]
        hidden += [
            _Way(frame, way.score - _VANISHES, way.at, False, way, held=way.held)
            for way in self._ways
            if way.in_sight and way not in again
        ]
        unknown = [way for way in self._ways if way.at is None]
        ways.sort(key=lambda way: -way.score)
        self._ways = ways[:_PLACES] + _apart(hidden, self._scale(20)) + unknown

    def _hid_just_now(self, way: _Way) -> bool:
        """Hiding for long is no less likely than hiding: an icon that stays in sight would win by patience."""
        return self._times_ns[-1] - self._times_ns[way.frame] < _HIDES_NS

    def _arrive(
        self, way: _Way, at: Candidate, elapsed_s: float, cost: float, *, stays: bool, cut: bool, calm: bool
    ) -> _Way:
        """The way on to another place; `stays`: what the way ends at is still there."""
        frame, odds = len(self._times_ns) - 1, _odds(at)
        if way.at is None:
            return _Way(frame, way.score + odds - cost - _APPEARS, at, True, way, held=odds, anew=True)
        apart = min(at.distance_px(e) for e in way.expected())
        cost += _LIKE_A_CARET if _along_a_line(way.at, at) else 0.0
        if not way.in_sight:
            if apart <= _SAME_PX:
                return _again(way, at, frame, -_VANISHES)  # it was not seen for a moment, no more
            near = apart < self._scale(_NEAR_PX)
            cost += _RETURNS if near or cut else _RETURNS_ELSEWHERE
            return _Way(frame, way.score + odds - cost, at, True, way, held=odds, anew=not near)
        reach = self._scale(_REACH_PX + _SPEED_PX_PER_S * elapsed_s)
        cost += _MOVES if cut else _MOVES + _FARTHER * float(np.log1p(apart / reach))
        cost += _LEAVES_A_TWIN if stays else 0.0
        points = _points(way.at, at) if calm else 0.0
        return _Way(frame, way.score + odds - cost, at, True, way, points, odds, anew=cut)


def _again(way: _Way, at: Candidate, frame: int, cost: float = 0.0) -> _Way:
    """The way that stays: only what is seen better than before counts, so that nothing gains by flickering."""
    odds = _odds(at)
    return _Way(frame, way.score + max(0.0, odds - way.held) - cost, at, True, way, held=max(odds, way.held))


def _apart(hidden: list[_Way], least_px: float) -> list[_Way]:
    """The likeliest hidden places, each once."""
    kept: list[_Way] = []
    for way in sorted(hidden, key=lambda way: -way.score):
        if len(kept) < _HIDING and all(way.at and k.at and way.at.distance_px(k.at) >= least_px for k in kept):
            kept.append(way)
    return kept


def _known(end: _Way, times_ns: Sequence[int]) -> list[_Way]:
    """The steps of the way that ends so, from where it is known to be a pointer's; none where it never is."""
    steps: list[_Way] = []
    way: _Way | None = end
    while way is not None and way.at is not None:
        steps.append(way)
        way = way.back
    steps.reverse()
    moves = [n for n, step in enumerate(steps) if step.points]
    for first, number in enumerate(moves):
        since = times_ns[steps[number].frame]
        within = [n for n in moves[first:] if times_ns[steps[n].frame] - since < _PROOF_NS]
        if sum(steps[n].points for n in within) >= _PROOF:
            start = max((n for n in range(number + 1) if steps[n].anew), default=0)
            return steps[start:]
    return []


def _odds(c: Candidate) -> float:
    """What the network's word for a place is worth."""
    score = min(max(c.score, 1e-3), 1 - 1e-3)
    odds = _GROUND + _WEIGHT * float(np.log(score / (1 - score)))
    return min(max(odds, _LEAST_ODDS), _MOST_ODDS) - (0.0 if c.shape in _COMMON else _RARE)


def _points(before: Candidate, after: Candidate) -> float:
    """How far going from here to there speaks for a pointer: 0 for no move, or a caret's along its line."""
    dx, dy = abs(after.x_px - before.x_px), abs(after.y_px - before.y_px)
    least = min(before.score, after.score)
    if max(dx, dy) <= _SAME_PX or least < _SURE or _along_a_line(before, after):
        return 0.0
    if before.shape not in _COMMON or after.shape not in _COMMON:
        return 0.5
    return 2.0 if least >= _CLEAR else 1.0


def _along_a_line(before: Candidate, after: Candidate) -> bool:
    return before.shape == after.shape == "text" and abs(before.y_px - after.y_px) <= 2.0


def _touched(place: Candidate, changed: Iterable[BoxPx]) -> bool:
    return any(meet(place.box_px, box, margin=4) for box in changed)


def _inside(place: Candidate, boxes: Iterable[Sequence[float]]) -> bool:
    x, y = place.x_px, place.y_px
    return any(meet((x, y, x, y), box, margin=4) for box in boxes)


def _around(place: Candidate, reach_px: int) -> BoxPx:
    x, y = int(place.x_px), int(place.y_px)
    return x - reach_px, y - reach_px, x + reach_px, y + reach_px


def _usual_zoom(size_wh: tuple[int, int]) -> float:
    """Recordings scaled down have small pointers, those of dense screens have large ones."""
    side = max(size_wh)
    return 1.5 if side < 1000 else 0.5 if side > 2200 else 1.0
