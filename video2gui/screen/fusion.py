"""Keys that an overlay showed, words that were spoken, and what the picture shows, made one list of actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from video2gui.geometry import Box
from video2gui.schema import Evidence, Hotkey, Press, Signal, TypeText
from video2gui.screen.events import Scene
from video2gui.screen.keys_overlay import KeyAction
from video2gui.screen.narration import SpokenAction
from video2gui.screen.observed import ObservedAction
from video2gui.timebase import NS_PER_MS, NS_PER_S

#: An overlay and the picture tell of the same typing when their beginnings are no further apart, or they overlap.
_SAME_NS = 700 * NS_PER_MS
#: A spoken key and one on the overlay are the same within this.
_SAME_KEY_NS = 2 * NS_PER_S
#: From the first word to what it announces: no earlier, no later.
_BEFORE_NS, _AFTER_NS = 300 * NS_PER_MS, 4 * NS_PER_S
#: What a spoken key does shows this close to when it was likely pressed.
_EFFECT_NS = (450 * NS_PER_MS, 900 * NS_PER_MS)
_TRACE_NS = 50 * NS_PER_MS
_LIKE = 0.6
_LEAST_SPOKEN = 0.55
_KEY_NS = 60 * NS_PER_MS


def with_keys(
    actions: Sequence[ObservedAction], shown: Sequence[KeyAction], spoken: Sequence[SpokenAction], scene: Scene
) -> list[ObservedAction]:
    """All actions, in order: those of the picture confirmed or corrected, and those only overlay or voice tell of."""
    merged = _with_shown(list(actions), shown, scene)
    merged = _with_spoken_text(merged, spoken)
    keys = [_spoken_key(word, scene) for word in spoken if word.press is not None and word.confidence >= _LEAST_SPOKEN]
    merged += [key for key in keys if not _known(key, merged)]
    return sorted(merged, key=lambda a: (a.start_ns, a.end_ns))


# ----------------------------------------------------------------------------------------------- overlay


def _with_shown(actions: list[ObservedAction], shown: Sequence[KeyAction], scene: Scene) -> list[ObservedAction]:
    for key in shown:
        place = Box.from_px(*key.box_px, scene.movie.layout.size_wh)
        actions = [a for a in actions if not (isinstance(a.action, TypeText) and _lies_in(a, place))]
    for key in shown:
        signal = Signal("key_overlay", key.confidence, f"the overlay shows {key.raw_text[:60]!r}")
        same = next((i for i, a in enumerate(actions) if _same_typing(a, key)), None)
        if same is not None and isinstance(key.action, TypeText):
            actions[same] = _confirmed(actions[same], key.action.text, signal)
        else:
            actions.append(_from_overlay(key, signal, scene))
    return actions


def _lies_in(action: ObservedAction, place: Box) -> bool:
    box = action.effect
    return (
        box is not None
        and place.y1 - 0.02 <= box.centre.y <= place.y2 + 0.02
        and place.x1 - 0.05 <= box.centre.x <= place.x2 + 0.05
    )


def _same_typing(action: ObservedAction, key: KeyAction) -> bool:
    return (
        isinstance(action.action, TypeText)
        and isinstance(key.action, TypeText)
        and (
            abs(action.start_ns - key.start_ns) <= _SAME_NS
            or (action.start_ns <= key.end_ns and key.start_ns <= action.end_ns)
        )
    )


def _confirmed(action: ObservedAction, text: str | None, signal: Signal) -> ObservedAction:
    """Typing that two witnesses saw. The overlay's text counts: it shows the keys, not what a program made of them."""
    assert isinstance(action.action, TypeText)
    evidence = action.evidence
    joint = 1 - (1 - evidence.confidence) * (1 - signal.confidence)
    return replace(
        action,
        action=TypeText(text or action.action.text),
        evidence=replace(evidence, signals=(*evidence.signals, signal), confidence=min(0.99, joint)),
    )


def _from_overlay(key: KeyAction, signal: Signal, scene: Scene) -> ObservedAction:
    times = scene.movie.times_ns
    frame = scene.movie.frame_at(key.start_ns)
    return ObservedAction(
        key.start_ns,
        max(key.end_ns, key.start_ns + 1),
        key.action,
        Evidence((signal,), key.confidence, "seen"),
        before_ns=times[max(frame - 1, 0)],
        after_ns=scene.settled(frame),
    )


# --------------------------------------------------------------------------------------------- narration


def _spoken_key(word: SpokenAction, scene: Scene) -> ObservedAction:
    """A key that is told of: at the change next to when it was likely pressed, else at that instant."""
    assert word.press is not None
    signals = [Signal("narration", word.confidence, f"said: {word.said[:80]!r}")]
    times = scene.movie.times_ns
    frame = _effect_near(word.likely_ns, scene)
    if frame is not None:
        start, confidence = max(0, times[frame] - _TRACE_NS), word.confidence
        signals.append(Signal("pixels", 0.5, "the picture changed then"))
    else:
        start, confidence = min(max(0, word.likely_ns), times[-1]), 0.8 * word.confidence
        frame = scene.movie.frame_at(start)
    return ObservedAction(
        start,
        start + _KEY_NS,
        word.press,
        Evidence(tuple(signals), confidence, "inferred"),
        before_ns=times[max(frame - 1, 0)],
        after_ns=scene.settled(frame),
    )


def _effect_near(likely_ns: int, scene: Scene) -> int | None:
    times = scene.movie.times_ns
    near = [
        k
        for k in range(scene.movie.frame_at(max(0, likely_ns - _EFFECT_NS[0])), len(times))
        if times[k] <= likely_ns + _EFFECT_NS[1] and any(not s.caret and s.cells > 3 for s in scene.spots[k])
    ]
    return min(near, key=lambda k: abs(times[k] - _TRACE_NS - likely_ns), default=None)


def _known(key: ObservedAction, actions: Sequence[ObservedAction]) -> bool:
    return any(
        isinstance(a.action, Press | Hotkey)
        and a.action == key.action
        and abs(a.start_ns - key.start_ns) < _SAME_KEY_NS
        for a in actions
    )


def _with_spoken_text(actions: list[ObservedAction], spoken: Sequence[SpokenAction]) -> list[ObservedAction]:
    """Typed text corrected by what was said, where the two are alike or the picture could not be read."""
    out = list(actions)
    for word in spoken:
        if word.kind != "type" or not word.text or word.confidence < _LEAST_SPOKEN:
            continue
        near = [i for i, a in enumerate(out) if isinstance(a.action, TypeText) and announced(word, a.start_ns)]
        signal = Signal("narration", word.confidence, f"said: {word.said[:80]!r}")
        if near:
            at = min(near, key=lambda i: abs(out[i].start_ns - word.likely_ns))
            out[at] = _with_words(out[at], word.text, signal)
    return out


def _with_words(action: ObservedAction, said: str, signal: Signal) -> ObservedAction:
    assert isinstance(action.action, TypeText)
    read = action.action.text
    alike = SequenceMatcher(None, (read or "").lower(), said.lower()).ratio()
    evidence = replace(action.evidence, signals=(*action.evidence.signals, signal))
    if read is None:
        return replace(action, action=TypeText(said), evidence=evidence)
    if alike < _LIKE:
        return action
    confidence = min(0.99, evidence.confidence + 0.3 * (1 - evidence.confidence))
    return replace(action, evidence=replace(evidence, confidence=confidence))


def announced(word: SpokenAction, start_ns: int) -> bool:
    """Whether an action that starts then may be the one that was talked of."""
    return word.start_ns - _BEFORE_NS <= start_ns <= word.end_ns + _AFTER_NS
