"""From moments, ways, scrolls and typing to actions: what explains what, in which order, and how sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from video2gui.geometry import Box, Point
from video2gui.schema import (
    Click,
    Direction,
    DoubleClick,
    Drag,
    Evidence,
    LongPress,
    RightClick,
    Scroll,
    Signal,
    TypeText,
)
from video2gui.screen.buttons import button_row
from video2gui.screen.changes import CellMovie, around
from video2gui.screen.cuts import find_cuts, find_fades, find_motion
from video2gui.screen.drags import Way, find_ways
from video2gui.screen.effects import Rest, Spot, Spots, find_rests, find_spots
from video2gui.screen.keystrokes import Typing, find_typing
from video2gui.screen.narration import SpokenAction
from video2gui.screen.observed import ObservedAction
from video2gui.screen.pictures import Pictures
from video2gui.screen.presses import Moment, find_moments
from video2gui.screen.scrolls import Scrolling, find_scrolls
from video2gui.screen.touches import Touch, find_answers, find_touches, held_for, moves_page
from video2gui.screen.trees import Floats, read_forest
from video2gui.screen.watch import Watched
from video2gui.screen.zooms import find_camera
from video2gui.timebase import NS_PER_S

_Press = Click | RightClick | DoubleClick

_MODELS = Path(__file__).parent / "models"

_LEAST_PRESS = 0.5
_LEAST_DRAG = 0.45
#: A pointer that moves by this share of a sideways scroll while it lasts drags.
_TRAVEL = 0.25
#: Two drags on end are one with a pause when the whole is as likely as this.
_LEAST_WHOLE = 0.25
#: Which button is asked of moments this sure, from the first moment so sure on.
_LEAST_JUDGED, _LEAST_ONSET = 0.2, 0.3
_LEAST_DOUBLE = 0.62
#: Two presses are further apart than this; what follows sooner is the same press at work.
_APART_NS = int(0.35 * NS_PER_S)
#: A press goes on answering so long after its first answer: its ring fades, a window opens.
_ANSWER_NS = NS_PER_S // 2
#: In the same rest a second press so soon must be as sure as this.
_AFTERGLOW_NS, _SURE_AGAIN = int(0.8 * NS_PER_S), 0.8
#: A spoken click comes between so long before its first word and so long after its last.
_HEARD_NS = (int(0.3 * NS_PER_S), 3 * NS_PER_S)
_SPOKEN_KINDS = {"click": 1, "right_click": 2, "double_click": 3}
#: What was dragged is let go so long after the pointer came to rest at the latest.
_LET_GO_NS = int(1.2 * NS_PER_S)
#: From the press, or the key, to its first trace in the picture.
LEAD_NS = int(0.05 * NS_PER_S)
_CLICK_NS = int(0.1 * NS_PER_S)
#: A tap that only its answer shows is this sure; the finger is on what answered if that is narrower than this share.
_ANSWERED, _CONTROL_WIDTH = 0.5, 0.4
#: The button goes down before a drag's first step and up after its last.
_DRAG_EDGE_NS = int(0.12 * NS_PER_S)
_SETTLED_NS = int(0.3 * NS_PER_S)
_LONGEST_EFFECT_NS = 5 * NS_PER_S
_STILL_NS = 2 * NS_PER_S


@dataclass(frozen=True, slots=True)
class Scene:
    """All that the detectors need, found once."""

    watched: Watched
    spots: Spots
    rests: list[Rest]
    cuts: list[int]
    motion: list[tuple[int, int]]

    @staticmethod
    def of(watched: Watched, overlays_px: Sequence[tuple[float, float, float, float]] = ()) -> Scene:
        """`overlays_px` are places where what changes is no program's answer (keys shown by a recorder)."""
        movie, track, still = watched.movie, watched.track, watched.still
        spots = [
            [s for s in here if not any(_inside(movie.layout.to_px(s.rect), box) for box in overlays_px)]
            for here in find_spots(movie, track, still)
        ]
        cuts, fades = find_cuts(movie, still), find_fades(movie, still)
        camera = find_camera(movie, cuts, still)
        rests = find_rests(movie, track, camera)
        motion = [*find_motion(movie, watched.shifts, still), *camera.moves, *fades]
        cuts = sorted({*cuts, *(first for first, _ in fades)})
        return Scene(watched, spots, rests, cuts, motion)

    @property
    def movie(self) -> CellMovie:
        return self.watched.movie

    def settled(self, frame: int) -> int:
        """The first instant from `frame` on after which nothing changes for a while."""
        times = self.movie.times_ns
        last = frame
        for k in range(frame + 1, len(times)):
            if times[k] - times[last] > _SETTLED_NS or times[k] - times[frame] > _LONGEST_EFFECT_NS:
                break
            if any(not s.caret and s.cells > 6 for s in self.spots[k]):
                last = k
        return times[last]


def _inside(box: tuple[float, float, float, float], place: tuple[float, float, float, float]) -> bool:
    """Whether the middle of `box` lies in `place` or right next to it."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    margin = (place[3] - place[1]) / 2
    return place[0] - margin <= x <= place[2] + margin and place[1] - margin / 2 <= y <= place[3] + margin / 2


def find_actions(
    scene: Scene, spoken: Sequence[SpokenAction] = ()
) -> tuple[list[ObservedAction], list[tuple[Typing, ObservedAction]]]:
    """Pointer and scroll actions, and typing (whose text is still to be read) with its runs."""
    movie, track = scene.movie, scene.watched.track
    touches = find_touches(movie, track, scene.watched.shifts)
    swipes = [t for t in touches if t.moved and moves_page(t, movie)]
    carries = [t for t in touches if t.moved and t not in swipes]
    scrolls = [
        s
        for s in find_scrolls(movie, scene.watched.shifts, scene.watched.still, [t.first for t in swipes])
        if not _in_motion(s.first, scene)
        and not (s.dx_px and _travels(s, scene))
        and not any(t.first <= s.last and s.first <= t.last for t in carries)
    ]
    typing = [
        t
        for t in find_typing(movie, track, scene.spots)
        if not _in_motion(t.first, scene) and not _near_cut(t.first, scene)
    ]
    ways = _drags(scene, scrolls)
    presses = _presses(scene, ways, scrolls, typing, spoken)
    actions = [
        *(_drag(way, p, scene) for way, p in ways),
        *(_press(moment, p, kind, scene) for moment, p, kind in presses),
        *_touched(touches, scrolls, typing, scene),
    ]
    typed = [(t, _type(t, scene)) for t in typing]
    return sorted(actions, key=lambda a: a.start_ns), typed


def _travels(scroll: Scrolling, scene: Scene) -> bool:
    """Whether the pointer moves along sideways: then an edge is being dragged, or the page is."""
    x = scene.watched.track.x_px[scroll.first : scroll.last + 1]
    x = x[np.isfinite(x)]
    return len(x) > 0 and float(np.ptp(x)) > _TRAVEL * abs(scroll.dx_px)


def _in_motion(frame: int, scene: Scene) -> bool:
    return any(first - 2 <= frame <= last + 2 for first, last in scene.motion)


def _near_cut(frame: int, scene: Scene) -> bool:
    return any(abs(frame - cut) <= 2 for cut in scene.cuts)


# ---------------------------------------------------------------------------------------------- choosing


def _drags(scene: Scene, scrolls: Sequence[Scrolling]) -> list[tuple[Way, float]]:
    ways = find_ways(scene.movie, scene.watched.track, scene.spots, scene.rests)
    forest = read_forest(_MODELS / "drag.json")
    sure = forest.probabilities([w.row for w in ways])[:, 1]
    chosen: list[tuple[Way, float]] = []
    for i in np.argsort(-sure, kind="stable"):
        way = ways[i]
        if sure[i] < _LEAST_DRAG:
            break
        if (
            not any(s.first <= way.end.first and s.last >= way.start.last for s in scrolls)
            and not any(first <= way.end.first and way.start.last <= last for first, last in scene.motion)
            and not any(way.start.last < cut <= way.end.first for cut in scene.cuts)
            and not any(way.start.last < other.end.first and other.start.last < way.end.first for other, _ in chosen)
        ):
            chosen.append((way, float(sure[i])))
    chosen.sort(key=lambda found: found[0].start.last)
    return _joined(chosen, {(w.start, w.end): (w, float(p)) for w, p in zip(ways, sure, strict=True)})


def _joined(
    drags: list[tuple[Way, float]], known: dict[tuple[Rest, Rest], tuple[Way, float]]
) -> list[tuple[Way, float]]:
    """Drags in order; one that goes on from where the last one paused, and may be one with it, is."""
    out: list[tuple[Way, float]] = []
    for way, sure in drags:
        whole = known.get((out[-1][0].start, way.end)) if out and out[-1][0].end == way.start else None
        if whole is not None and whole[1] >= _LEAST_WHOLE:
            out[-1] = whole
        else:
            out.append((way, sure))
    return out


def _presses(
    scene: Scene,
    drags: Sequence[tuple[Way, float]],
    scrolls: Sequence[Scrolling],
    typing: Sequence[Typing],
    spoken: Sequence[SpokenAction],
) -> list[tuple[Moment, float, type[_Press]]]:
    """Moments that are presses: the surest first, none within `_APART_NS` of another, none that is explained."""
    moments = find_moments(scene.movie, scene.watched.track, scene.spots, scene.rests)
    if not moments:
        return []
    times = scene.movie.times_ns
    table = _heard(_judged(moments, scene), moments, times, spoken)
    sure = 1 - table[:, 0]
    chosen: list[tuple[int, int]] = []
    for i in np.argsort(-sure, kind="stable"):
        if sure[i] < _LEAST_PRESS:
            break
        moment = moments[i]
        if any(_same_press(moment, moments[j], moments[first], sure[i], times) for j, first in chosen):
            continue
        if _explained(moment, scene, drags, scrolls, typing):
            continue
        chosen.append((int(i), _onset(int(i), moments, sure, times, sure[i] / 2)))
    return [(moments[first], float(sure[i]), _which(table[i])) for i, first in sorted(chosen)]


def _which(row: Floats) -> type[_Press]:
    """The likeliest press; a double click must be likely, for it is rare."""
    shares = row[1:] / max(row[1:].sum(), 1e-6)
    if shares[2] >= _LEAST_DOUBLE:
        return DoubleClick
    return RightClick if shares[1] > shares[0] else Click


def _judged(moments: list[Moment], scene: Scene) -> Floats:
    """For each moment the probabilities of no press, a left one, a right one, a double click."""
    times = scene.movie.times_ns
    sure = read_forest(_MODELS / "press.json").probabilities([m.row for m in moments])[:, 1]
    table = np.stack([1 - sure, sure, np.zeros_like(sure), np.zeros_like(sure)], axis=1)
    likely = [i for i, p in enumerate(sure) if p >= _LEAST_JUDGED]
    onsets = [_onset(i, moments, sure, times, _LEAST_ONSET) for i in likely]
    following = dict(pairwise(scene.rests))
    pictures = Pictures(scene.movie)
    rows = {
        i: button_row(
            moments[i].frame, moments[i].rest, following.get(moments[i].rest),
            scene.movie, scene.watched.track, scene.spots, pictures,
        )
        for i in sorted(set(onsets))
    }  # fmt: skip
    which = read_forest(_MODELS / "button.json").probabilities([rows[i] for i in onsets])
    table[likely, 1:] = sure[likely, None] * which[:, 1:]
    return table


def _onset(i: int, moments: list[Moment], sure: Floats, times: list[int], least: float) -> int:
    """The first moment of the press that moment `i` belongs to: of a double click, `i` may be the second half."""
    onset = i
    for j in range(i - 1, -1, -1):
        if times[moments[i].frame] - times[moments[j].frame] > _APART_NS:
            break
        if moments[j].rest == moments[i].rest and sure[j] >= least:
            onset = j
    return onset


def _heard(table: Floats, moments: list[Moment], times: list[int], spoken: Sequence[SpokenAction]) -> Floats:
    """The probabilities once it is known what was announced: a spoken click makes the likeliest moment likelier."""
    table = table.copy()
    for word in spoken:
        if word.kind not in _SPOKEN_KINDS:
            continue
        due = [
            i
            for i, m in enumerate(moments)
            if word.start_ns - _HEARD_NS[0] <= times[m.frame] <= word.end_ns + _HEARD_NS[1]
        ]
        if not due:
            continue
        best = max(due, key=lambda i: 1 - table[i, 0])
        kind = _SPOKEN_KINDS[word.kind]
        for i in due:
            if abs(times[moments[i].frame] - times[moments[best].frame]) > _APART_NS // 2:
                continue
            odds = (1 - table[i, 0]) / max(table[i, 0], 1e-3) * (1 + 6 * word.confidence)
            press = odds / (1 + odds)
            share = table[i, 1:] / max(table[i, 1:].sum(), 1e-6)
            share = 0.4 * share + 0.6 * np.eye(3)[kind - 1]
            table[i] = [1 - press, *(press * share)]
    return table


def _same_press(moment: Moment, chosen: Moment, first: Moment, sure: float, times: list[int]) -> bool:
    """Whether a moment is the work of a press already chosen: near it in time, or an afterglow in the same rest."""
    later = times[moment.frame] - times[chosen.frame]
    if abs(later) < _APART_NS:
        return True
    if moment.rest != chosen.rest:
        return False
    since = times[moment.frame] - times[first.frame]
    return -_APART_NS < since < _ANSWER_NS or (abs(later) < _AFTERGLOW_NS and sure < _SURE_AGAIN)


def _explained(
    moment: Moment,
    scene: Scene,
    drags: Sequence[tuple[Way, float]],
    scrolls: Sequence[Scrolling],
    typing: Sequence[Typing],
) -> bool:
    """Whether something else made this change: a drag, a scroll, typing, an edit of the video."""
    frame, times = moment.frame, scene.movie.times_ns
    now = times[frame]
    edge = int(0.5 * NS_PER_S)
    return (
        any(times[w.start.last] - edge <= now <= times[w.end.first] + edge for w, _ in drags)
        # where a drag came to rest, the first answer is the release: things are let go after a moment's look
        or any(moment.rest == w.end and now <= times[w.end.first] + _LET_GO_NS for w, _ in drags)
        or any(times[s.first] - edge // 2 <= now <= times[s.last] + edge // 3 for s in scrolls)
        or any(t.first < frame <= t.last for t in typing)
        or _near_cut(frame, scene)
        or any(first <= frame <= last for first, last in scene.motion)
    )


# ---------------------------------------------------------------------------------------------- building


def _press(moment: Moment, sure: float, kind: type[_Press], scene: Scene) -> ObservedAction:
    times = scene.movie.times_ns
    start = max(times[moment.rest.first], times[moment.frame] - LEAD_NS)
    signals = (
        Signal("pixels", sure, "the picture answered where the pointer rests"),
        Signal("pointer", float(scene.watched.track.confidence[moment.frame]), "the pointer rests"),
    )
    return ObservedAction(
        start,
        start + _CLICK_NS,
        kind(),
        Evidence(signals, sure, "seen", place="seen"),
        before_ns=times[max(moment.frame - 1, 0)],
        after_ns=scene.settled(moment.frame),
        point=_point(moment.rest, scene),
        effect=_effect(moment.frame, scene),
    )


def _drag(way: Way, sure: float, scene: Scene) -> ObservedAction:
    times = scene.movie.times_ns
    start = max(times[way.start.first], times[way.start.last] - _DRAG_EDGE_NS)
    end = min(times[way.end.last], times[way.end.first] + _DRAG_EDGE_NS)
    signals = (
        Signal("pixels", sure, "the picture changed along the pointer's way"),
        Signal("pointer", float(scene.watched.track.confidence[way.end.first]), "the pointer moved from rest to rest"),
    )
    return ObservedAction(
        start,
        max(end, start + 1),
        Drag(),
        Evidence(signals, sure, "seen", place="seen"),
        before_ns=times[max(way.start.last - 4, 0)],
        after_ns=scene.settled(way.end.first),
        point=_point(way.start, scene),
        end_point=_point(way.end, scene),
        effect=_effect(way.end.first, scene),
    )


def _touched(
    touches: Sequence[Touch], scrolls: Sequence[Scrolling], typing: Sequence[Typing], scene: Scene
) -> list[ObservedAction]:
    """Scrolls, with the fingers that made them, and what the other fingers did."""
    out, left = [], list(touches)
    for found in scrolls:
        fingers = [t for t in left if _scrolls(t, found, scene)]
        left = [t for t in left if t not in fingers]
        out.append(_scroll(found, scene, fingers[0] if fingers else None))
    # what is tapped while a line grows are the keys of the keyboard on the screen
    left = [t for t in left if t.moved or not any(r.first - 1 <= t.first <= r.last for r in typing)]
    out += [_touch(t, scene) for t in left]
    if touches:
        return out
    answers = find_answers(scene.movie, scene.watched.track, scene.spots, scene.watched.shifts)
    return out + [_answered(s, scene) for s in answers if not any(r.first <= s.frame <= r.last for r in typing)]


def _answered(spot: Spot, scene: Scene) -> ObservedAction:
    """A tap whose finger is not shown: on the control that answered, unless that is as wide as a row."""
    times, layout = scene.movie.times_ns, scene.movie.layout
    start = max(0, times[spot.frame] - LEAD_NS)
    box = layout.to_px(spot.rect)
    point = None
    if spot.width <= _CONTROL_WIDTH * layout.grid_wh[0]:
        point = Point.from_px((box[0] + box[2]) / 2, (box[1] + box[3]) / 2, layout.size_wh)
    signal = Signal("pixels", _ANSWERED, "a control lights up, then the page turns")
    return ObservedAction(
        start,
        start + _CLICK_NS,
        Click(),
        Evidence((signal,), _ANSWERED, "inferred", place="inferred" if point else None),
        before_ns=times[spot.frame - 1],
        after_ns=scene.settled(spot.frame),
        point=point,
        effect=Box.from_px(*box, layout.size_wh),
    )


def _scrolls(touch: Touch, found: Scrolling, scene: Scene) -> bool:
    """Whether the content goes with the finger, or begins to where the finger is lost."""
    times = scene.movie.times_ns
    (x0, y0), (x1, y1) = touch.start_px, touch.end_px
    if not touch.moved:
        late = min(times[touch.last] + _SETTLED_NS // 2, times[touch.first] + _SETTLED_NS + LEAD_NS)
        return times[touch.first] <= times[found.first] <= late
    along = (x1 - x0) * found.dx_px + (y1 - y0) * found.dy_px > 0
    return along and times[touch.first] - _SETTLED_NS <= times[found.first] <= times[touch.last] + _SETTLED_NS


def _touch(touch: Touch, scene: Scene) -> ObservedAction:
    times, size = scene.movie.times_ns, scene.movie.layout.size_wh
    action: Scroll | Drag | LongPress | Click = Click()
    if touch.moved:
        action = Scroll(_drawn(touch)) if moves_page(touch, scene.movie) else Drag()
    elif held_for(touch, scene.movie):
        action = LongPress()
    signal = Signal("click_overlay", touch.likeness, "a finger's mark comes and goes")
    return ObservedAction(
        times[touch.first],
        max(times[touch.last], times[touch.first] + 1),
        action,
        Evidence((signal,), touch.likeness, "seen", place="seen"),
        before_ns=times[max(touch.first - 1, 0)],
        after_ns=scene.settled(touch.last),
        point=Point.from_px(*touch.start_px, size),
        end_point=Point.from_px(*touch.end_px, size) if isinstance(action, Drag) else None,
        effect=_effect(touch.last, scene),
    )


def _drawn(touch: Touch) -> Direction:
    """Which way the view goes when a finger draws the page along: against the finger."""
    dx, dy = touch.end_px[0] - touch.start_px[0], touch.end_px[1] - touch.start_px[1]
    if abs(dy) >= abs(dx):
        return "down" if dy < 0 else "up"
    return "right" if dx < 0 else "left"


def _scroll(found: Scrolling, scene: Scene, finger: Touch | None = None) -> ObservedAction:
    times, (w, h) = scene.movie.times_ns, scene.movie.layout.size_wh
    direction: Direction
    if found.dy_px:
        direction, distance = ("down" if found.dy_px < 0 else "up"), abs(found.dy_px) / h
    else:
        direction, distance = ("right" if found.dx_px < 0 else "left"), abs(found.dx_px) / w
    start = max(0, times[found.first] - LEAD_NS)
    point = _scroll_point(found, scene)
    signals = [Signal("pixels", found.confidence, f"the content moved in {found.steps} steps")]
    if finger is not None:
        start, point = times[finger.first], Point.from_px(*finger.start_px, scene.movie.layout.size_wh)
        signals.append(Signal("click_overlay", finger.likeness, "a finger moves along"))
    elif point is not None:
        signals.append(Signal("pointer", found.confidence, "the pointer stands in what moved"))
    return ObservedAction(
        start,
        max(times[found.last], start),
        Scroll(direction, distance),
        Evidence(tuple(signals), found.confidence, "seen", place="seen" if point else None),
        before_ns=times[max(found.first - 1, 0)],
        after_ns=scene.settled(found.last),
        point=point,
        effect=Box.from_px(*found.rect_px, scene.movie.layout.size_wh),
    )


def _scroll_point(found: Scrolling, scene: Scene) -> Point | None:
    track, frame = scene.watched.track, found.first
    if not track.known(frame):
        return None
    x, y = float(track.x_px[frame]), float(track.y_px[frame])
    left, top, right, bottom = found.rect_px
    return Point.from_px(x, y, scene.movie.layout.size_wh) if left <= x <= right and top <= y <= bottom else None


def _type(typing: Typing, scene: Scene) -> ObservedAction:
    times = scene.movie.times_ns
    start = max(0, times[typing.first] - LEAD_NS)
    signal = Signal("pixels", typing.confidence, f"{len(typing.frames)} small changes advance along a line")
    return ObservedAction(
        start,
        times[typing.last],
        TypeText(None),
        Evidence((signal,), typing.confidence, "seen"),
        before_ns=times[max(typing.since - 1, 0)],
        after_ns=_typed_by(typing, scene),
        effect=Box.from_px(*scene.movie.layout.to_px(typing.rect), scene.movie.layout.size_wh),
    )


def _typed_by(typing: Typing, scene: Scene) -> int:
    """An instant at which the last letter stands and nothing larger has changed yet."""
    times = scene.movie.times_ns
    frame = typing.last
    while frame + 1 < len(times) and times[frame + 1] - times[typing.last] <= _SETTLED_NS:
        if any(not s.caret and s.cells > 40 for s in scene.spots[frame + 1]):
            break
        frame += 1
    return times[frame]


def with_text(action: ObservedAction, text: str | None, confidence: float) -> ObservedAction:
    """The typing action with what was read of it."""
    if text is None or not text:
        return action
    evidence = action.evidence
    signals = (*evidence.signals, Signal("text", confidence, "read from the line before and after"))
    joint = min(0.99, evidence.confidence + 0.3 * confidence * (1 - evidence.confidence))
    return replace(action, action=TypeText(text), evidence=replace(evidence, signals=signals, confidence=joint))


def _point(rest: Rest, scene: Scene) -> Point:
    return Point.from_px(rest.x_px, rest.y_px, scene.movie.layout.size_wh)


def _effect(frame: int, scene: Scene) -> Box | None:
    """What changed with `frame` and the two after it, as one box."""
    found = [s.rect for k in range(frame, min(frame + 3, len(scene.spots))) for s in scene.spots[k] if not s.caret]
    if not found:
        return None
    return Box.from_px(*scene.movie.layout.to_px(around(found)), scene.movie.layout.size_wh)


def find_still(scene: Scene, end_ns: int) -> list[tuple[int, int]]:
    """Stretches of two seconds and more in which neither the picture nor the pointer moved."""
    times, track = scene.movie.times_ns, scene.watched.track
    moved = [0]
    for k in range(1, len(times)):
        dx = abs(track.x_px[k] - track.x_px[k - 1]) + abs(track.y_px[k] - track.y_px[k - 1])
        if any(not s.caret for s in scene.spots[k]) or dx > 4 * scene.movie.layout.unit_px:
            moved.append(times[k])
    return [(a, b) for a, b in pairwise([*moved, end_ns]) if b - a >= _STILL_NS]
