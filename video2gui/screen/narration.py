"""Spoken hints: "press Control S", "right-click the folder", "type hello" in a transcript, with their times.

Patterns are those of the transcript's language (English where it names none). What is told as a possibility ("you
could press") gets less confidence than an instruction; what is denied ("don't click") is left out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from video2gui.captions.words import Cue, Transcript
from video2gui.schema import MODIFIERS, Direction, Hotkey, Press
from video2gui.screen.key_names import SIGNS, key_action, key_words, named_key
from video2gui.screen.spoken_patterns import LANGUAGES, Patterns
from video2gui.timebase import NS_PER_MS

SpokenKind = Literal["press", "click", "double_click", "right_click", "type", "scroll", "drag"]

#: From the first word of a hint to the action: the medians of 56 narrated actions (docs/decisions/narration.md).
LEAD_NS: dict[SpokenKind, int] = {
    "press": 430 * NS_PER_MS, "type": 600 * NS_PER_MS, "click": 1100 * NS_PER_MS, "drag": 1100 * NS_PER_MS,
    "double_click": 1450 * NS_PER_MS, "right_click": 1450 * NS_PER_MS, "scroll": 1450 * NS_PER_MS,
}  # fmt: skip

_INSTRUCTION, _NEUTRAL, _MENTION, _POSSIBLE = 0.8, 0.6, 0.45, 0.3
_LONGEST = 2000  # characters of one stretch of speech: bounds every search
_PAUSE_NS = 1500 * NS_PER_MS


@dataclass(frozen=True, slots=True)
class SpokenAction:
    """An action that is talked of. `start_ns` and `end_ns` are those of its words, not of the action.

    `press` is the key or hotkey of kind "press" (`times` how often); `text` what is said to be typed, word by word;
    `target` and `to` what is clicked or dragged and where to, None where the words point ("here"); `direction` a
    scroll's. `said` are the words.
    """

    kind: SpokenKind
    start_ns: int
    end_ns: int
    confidence: float
    said: str
    press: Press | Hotkey | None = None
    times: int = 1
    text: str | None = None
    target: str | None = None
    to: str | None = None
    direction: Direction | None = None

    @property
    def likely_ns(self) -> int:
        """When the action most likely begins, from the words alone."""
        return self.start_ns + LEAD_NS[self.kind]


def spoken_actions(transcript: Transcript) -> list[SpokenAction]:
    """All actions that are talked of, in order of their words."""
    language = (transcript.language or "en").replace("_", "-").split("-")[0].lower()
    patterns = LANGUAGES.get(language)
    if patterns is None:
        return []
    found = [action for speech in _sentences(transcript) for action in _in_sentence(speech, patterns)]
    return sorted(found, key=lambda action: (action.start_ns, action.end_ns))


# ------------------------------------------------------------------------------------------- sentences


@dataclass(frozen=True, slots=True)
class _Speech:
    """A stretch of running text; word `i` begins at character `starts[i]` and is spoken in `times_ns[i]`."""

    text: str
    starts: tuple[int, ...]
    times_ns: tuple[tuple[int, int], ...]

    def interval_ns(self, start: int, end: int) -> tuple[int, int]:
        first = max(0, bisect_right(self.starts, start) - 1)
        last = max(first, bisect_right(self.starts, max(start, end - 1)) - 1)
        return self.times_ns[first][0], self.times_ns[last][1]


def _sentences(transcript: Transcript) -> Iterator[_Speech]:
    """The words of successive cues, up to a full stop at a cue's or word's end, or a pause."""
    words: list[tuple[str, int, int]] = []
    length = 0
    for cue, following in pairwise([*transcript.cues, None]):
        for word in cue.words if isinstance(cue, Cue) else ():
            words.append((word.text, word.start_ns, word.end_ns))
            length += len(word.text) + 1
            if word.text.endswith((".", "!", "?", "。", "！", "？")) or length > _LONGEST:
                yield _speech(words)
                words, length = [], 0
        if words and (following is None or following.start_ns - words[-1][2] > _PAUSE_NS):
            yield _speech(words)
            words, length = [], 0


def _speech(words: list[tuple[str, int, int]]) -> _Speech:
    starts, at = [], 0
    for text, _, _ in words:
        starts.append(at)
        at += len(text) + 1
    return _Speech(" ".join(text for text, _, _ in words), tuple(starts), tuple((a, b) for _, a, b in words))


def _in_sentence(speech: _Speech, patterns: Patterns) -> list[SpokenAction]:
    found: list[SpokenAction] = []
    taken: list[tuple[int, int]] = []
    for start, end, action in _candidates(speech, patterns):
        if all(end <= other_start or start >= other_end for other_start, other_end in taken):
            taken.append((start, end))
            found.append(action)
    return found


def _candidates(speech: _Speech, patterns: Patterns) -> Iterator[tuple[int, int, SpokenAction]]:
    """Possible actions and their characters, the surest readings first."""
    yield from _quoted_or_typed(speech, patterns)
    yield from _presses(speech, patterns)
    kinds: tuple[tuple[SpokenKind, tuple[re.Pattern[str], ...]], ...] = (
        ("drag", patterns.drag),
        ("double_click", patterns.double_click),
        ("right_click", patterns.right_click),
        ("click", patterns.click),
    )
    for kind, expressions in kinds:
        for match in _matches(expressions, speech.text):
            confidence = _confidence(speech.text, match.start(), patterns)
            if confidence is None:
                continue
            groups = match.groupdict()
            target, length = _named(groups.get("target"), patterns)
            to, to_length = _named(groups.get("to"), patterns)
            end = match.end("to") if to is not None else match.end()
            if groups.get("to") is not None:
                end = match.start("to") + to_length
            elif groups.get("target") is not None and match.end("target") == match.end():
                end = match.start("target") + length
            yield match.start(), end, _action(kind, speech, (match.start(), end), confidence, target=target, to=to)
    for match in _matches(patterns.scroll, speech.text):
        confidence = _confidence(speech.text, match.start(), patterns)
        groups = match.groupdict()
        direction: Direction | None = "down" if groups.get("down") else "up" if groups.get("up") else None
        if confidence is not None:
            yield match.start(), match.end(), _action("scroll", speech, match.span(), confidence, direction=direction)


def _matches(expressions: tuple[re.Pattern[str], ...], text: str) -> Iterator[re.Match[str]]:
    """All matches, also those that begin inside of the tail of another."""
    for expression in expressions:
        at = 0
        while (match := expression.search(text, at)) is not None:
            yield match
            at = match.start() + 1


def _action(
    kind: SpokenKind,
    speech: _Speech,
    span: tuple[int, int],
    confidence: float,
    *,
    press: Press | Hotkey | None = None,
    times: int = 1,
    text: str | None = None,
    target: str | None = None,
    to: str | None = None,
    direction: Direction | None = None,
) -> SpokenAction:
    start_ns, end_ns = speech.interval_ns(*span)
    said = speech.text[span[0] : span[1]].strip()
    return SpokenAction(kind, start_ns, end_ns, confidence, said, press, times, text, target, to, direction)


def _confidence(text: str, start: int, patterns: Patterns) -> float | None:
    """How sure the words before `start` make it that the action is done; None where they deny it."""
    lead = text[max(0, start - 60) : start]
    if patterns.denied.search(lead):
        return None
    if patterns.possible.search(lead):
        return _POSSIBLE
    connected = re.search(r"(?:[,;:、，]|\b\w{1,5})\s*$", lead)  # "and", "then", "I'll", "please": such words are short
    return _INSTRUCTION if not lead.strip() or connected else _NEUTRAL


def _named(words: str | None, patterns: Patterns) -> tuple[str | None, int]:
    """The name of a target at the start of `words`, and how many characters it takes; None where words only point."""
    if words is None:
        return None, 0
    stop = patterns.stop.search(words)
    end = stop.start() if stop else len(words)
    name = (
        patterns.article.sub("", words[:end].strip(), count=1) if patterns.article.match(words[:end]) else words[:end]
    )
    name = name.strip().strip("\"“”„«»'‘’「」『』.,;:!?").strip()
    name = " ".join(name.split()[:_MOST_WORDS])
    return (None if name.casefold() in patterns.vague or not name else name), end


_MOST_WORDS = 7

# -------------------------------------------------------------------------------------------------- type

_QUOTED = re.compile(r"[\"“„«'‘‚](?P<quoted>.{1,60}?)[\"”“»'’]")
_GENERIC = re.compile(
    r"(?:your|the|an?|my|our|some|this|that|any|it|here|something|whatever|what|his|her|in|into)\b", re.I
)
_NEXT_ACTION = re.compile(
    r"[,.;]?\s+(?:and|then|und|dann|y|et|puis|e|и)\s+(?:then\s+)?(?:press|hit|click|select|choose|drück|klick|pulsa|"
    r"presiona|haz|appuy|cliqu|press|clique|aperte|нажм|кликн)", re.I
)  # fmt: skip


def _quoted_or_typed(speech: _Speech, patterns: Patterns) -> Iterator[tuple[int, int, SpokenAction]]:
    for match in _matches(patterns.type, speech.text):
        confidence = _confidence(speech.text, match.start(), patterns)
        if confidence is None:
            continue
        words, at = match.group("text"), match.start("text")
        if (quoted := _QUOTED.match(words)) is not None:
            span = (match.start(), at + quoted.end())
            yield *span, _action("type", speech, span, confidence, text=quoted.group("quoted"))
            continue
        following = _NEXT_ACTION.search(words)
        words = words[: following.start()] if following else words
        span = (match.start(), at + len(words))
        words = words.strip()
        words = words[:-1] if words.endswith((".", "。")) else words
        if not words:
            continue
        if _GENERIC.match(words):
            target, _ = _named(words, patterns)
            yield *span, _action("type", speech, span, min(confidence, _NEUTRAL), target=target)
        else:
            yield *span, _action("type", speech, span, confidence, text=words)


# ------------------------------------------------------------------------------------------------- press

#: As recognisers write a letter that is spoken alone; believed behind a modifier only.
_SPELT = {
    "see": "c", "sea": "c", "ess": "s", "tea": "t", "tee": "t", "pee": "p", "oh": "o", "why": "y", "you": "u",
    "zed": "z", "zee": "z", "ex": "x", "vee": "v", "we": "v", "be": "b", "bee": "b", "are": "r", "eff": "f",
    "jay": "j", "kay": "k", "el": "l", "em": "m", "en": "n", "queue": "q", "cue": "q", "dee": "d", "gee": "g",
    "eye": "i", "ay": "a", "hey": "a", "double you": "w", "plus": "+", "minus": "-", "one": "1", "two": "2",
    "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "zero": "0",
}  # fmt: skip
#: Names that are everyday words too: keys only where nothing follows that makes them part of a phrase.
_EVERYDAY = frozenset({"up", "down", "left", "right", "home", "end", "space", "delete", "insert", "option", "menu"})
_NOT_SPOKEN = frozenset({"next", "prior", "win", "super", "menu", "del", "ins", "opt", "meta", "druck", "fin", "fim"})

_LETTER = "A-Za-z0-9À-ÿА-яЁё'’"
_NAMES = sorted(key_words() - _NOT_SPOKEN, key=len, reverse=True)
_KEY = re.compile(
    rf"(?<![{_LETTER}])(?:"
    + "|".join(re.escape(name).replace("_", r"[\s-]+") for name in _NAMES if re.match(rf"[{_LETTER}]", name))
    + rf"|f[\s-]?(?:1[0-2]|[1-9])|[a-z0-9])(?![{_LETTER}])|"
    + "|".join(re.escape(name) for name in _NAMES if not re.match(rf"[{_LETTER}]", name))
    + f"|[{''.join(SIGNS)}]",
    re.IGNORECASE,
)
_SPELT_KEY = re.compile(rf"(?:{'|'.join(sorted(_SPELT, key=len, reverse=True))})(?![{_LETTER}])|[+=,./;\[\]\\-]", re.I)
_BETWEEN = re.compile(
    r"\s*(?:(?:[\s-]*(?:key|taste|キー|键|鍵))?\s*(?:[+＋,-]|(?:plus|and|und|y|et|e|и|más|mais|плюс)\b|加|和|と)\s*"
    r"(?:the\s+|die\s+|la\s+)?|\s+)?",
    re.IGNORECASE,
)
_KEY_WORD = re.compile(r"[\s-]*(?:keys?|arrow(?:\s+keys?)?|tasten?|キー|键|鍵)(?![a-z])", re.IGNORECASE)
_PHRASE_END = re.compile(
    r"\s*(?:$|[.,;:!?。，、！？)]|(?:and|then|to|for|on\s+(?:your|the)\s+keyboard|again|once|twice|or|when|which|und|dann|um|y|para|et|pour|puis|e|"
    r"и|чтобы|затем|twice|two|three|を|来|来|然后|保存|就)(?![a-z]))",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r"\s*(?:(twice|two\s+times|zweimal|dos\s+veces|deux\s+fois|дважды|两次|2回)|(three\s+times|三次))", re.I
)
_BUTTON = re.compile(r"\s+(?:button|icon|link|menu|tab\b|option)", re.IGNORECASE)


def _presses(speech: _Speech, patterns: Patterns) -> Iterator[tuple[int, int, SpokenAction]]:
    """Names of keys that are pressed, and hotkeys that are only named."""
    at = 0
    while (first := _KEY.search(speech.text, at)) is not None:
        at = first.end()
        keys, end, spelt = _key_phrase(speech.text, first)
        press = key_action(keys)
        if press is None:
            continue
        verb = patterns.before.search(speech.text[: first.start()])
        after = patterns.after.match(speech.text, end) if patterns.after else None
        confidence = _press_confidence(speech.text, first.start(), end, press, verb, after, patterns)
        if confidence is None:
            continue
        start = verb.start() if verb else first.start()
        end = after.end() if after else end
        times = _TIMES.match(speech.text, end)
        count = 1 if times is None else 2 if times.group(1) else 3
        sure = confidence * (0.8 if spelt else 1.0)
        yield start, end, _action("press", speech, (start, end), sure, press=press, times=count)
        at = end


def _key_phrase(text: str, first: re.Match[str]) -> tuple[list[str], int, bool]:
    """The keys named from `first` on, where they end, and whether a letter was written as it sounds."""
    keys = [key] if (key := _canonical(first.group())) is not None else []
    end, spelt = first.end(), False
    while keys and keys[-1] in MODIFIERS and len(keys) < 5:
        gap = _BETWEEN.match(text, end)
        begin = gap.end() if gap else end
        following = _KEY.match(text, begin)
        if following is not None and (key := _canonical(following.group())) is not None:
            keys.append(key)
            end = following.end()
            continue
        begin = end + len(text[end:]) - len(text[end:].lstrip())
        sound = _SPELT_KEY.match(text, gap.end() if gap else end) or _SPELT_KEY.match(text, begin)
        if sound is not None and (sound.group().isalpha() or " " in sound.group() or "+" in text[end : sound.start()]):
            keys.append(_SPELT.get(sound.group().lower(), sound.group()))
            spelt = sound.group().lower() in _SPELT
            end = sound.end()
        break
    if (word := _KEY_WORD.match(text, end)) is not None:
        end = word.end()
    return keys, end, spelt


def _canonical(name: str) -> str | None:
    return named_key(re.sub(r"^(f)[\s-](\d+)$", r"\1\2", re.sub(r"[\s-]+", " ", name.strip().lower())))


def _press_confidence(
    text: str,
    start: int,
    end: int,
    press: Press | Hotkey,
    verb: re.Match[str] | None,
    after: re.Match[str] | None,
    patterns: Patterns,
) -> float | None:
    told = verb is not None or after is not None
    confidence = _confidence(text, verb.start() if verb else start, patterns)
    if confidence is None or _BUTTON.match(text, end):
        return None
    finished = after is not None or _PHRASE_END.match(text, end) is not None or text[:end].lower().endswith("key")
    if isinstance(press, Hotkey):
        if told:
            return confidence if finished else min(confidence, _NEUTRAL)
        return min(confidence, _MENTION) if finished and set(press.keys) & {"ctrl", "cmd"} else None
    if not told:
        return None
    if len(press.key) == 1 or press.key in _EVERYDAY:
        return confidence if finished and press.key != "a" else None
    return confidence
