"""Words for an instruction: cleaned titles, goals out of narration, and a plain description of what was done."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from video2gui.captions.words import Transcript, Word
from video2gui.schema import (
    Click,
    DoubleClick,
    Drag,
    Finish,
    Hotkey,
    LongPress,
    MiddleClick,
    MoveTo,
    OpenApp,
    Press,
    RightClick,
    Step,
    TripleClick,
    TypeText,
    Wait,
)
from video2gui.timebase import NS_PER_MS

#: An instruction longer than this is cut at a word: one sentence is wanted.
MAX_CHARS = 200

_PAUSE_NS = 700 * NS_PER_MS  # in captions without punctuation, a silence this long ends a sentence
_SENTENCE_WORDS = 40


# ---------------------------------------------------------------------------------------------- titles

_SEPARATORS = re.compile(r"\s+[|•·»]\s*|\s*[|•·»]\s+|\s+[-–—~]{1,2}\s+|\s*[|]\s*")
_BRACKETS = re.compile(r"[\[(【（][^\])】）]*[\])】）]")
_LEAD = re.compile(
    r"^(?:(?:[\w+#.]+\s+){0,3}tutorials?(?:\s*#?\d+)?|quick tips?|tips?|guide|lesson\s*\d+"
    r"|episode\s*\d+|ep\.?\s*\d+|part\s*\d+|step\s*\d+|\d{1,3})\s*[:.–—-]\s+",
    re.IGNORECASE,
)
_HOW_TO = re.compile(r"^(?:learn\s+)?how\s+(?:to|do\s+(?:you|i)|can\s+(?:you|i)|you\s+can|i)\s+", re.IGNORECASE)
_NOISE = re.compile(
    r"^(?:youtube|tutorial|full tutorial|quick tutorial|step by step|easy|new|updated?|\d{4}|beginners?|for beginners"
    r"|shorts|part\s*\d+|ep(?:isode)?\.?\s*\d+|official|hd|4k|guide)$",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"\s+(?:#\w+\s*)+$|\s*[-–—,:]?\s*(?:step[ -]by[ -]step)?\s*(?:tutorial|guide)?\s*(?:for beginners)?\s*[!.]*$", re.I
)
_GENERIC = re.compile(
    r"^(?:intro(?:duction)?|outro|overview|welcome|conclusion|summary|recap|wrap[ -]?up|the end|end|ending"
    r"|final thoughts|sponsor(?:ed)?(?: message)?|subscribe|bonus|demo|start|next|thanks(?: for watching)?"
    r"|untitled chapter.*|<untitled chapter.*|chapter\s*\d+|part\s*\d+|step\s*\d+)[!.:]*$",
    re.IGNORECASE,
)


def plain(text: str) -> str:
    """Without emoji, control characters and hash tags; one space between words. Any language stays as it is."""
    kept = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in text if not _is_ornament(c))
    return " ".join(re.sub(r"(?:^|\s)#\w+", " ", kept).split())


def _is_ornament(char: str) -> bool:
    # Cf: joiners and direction marks around emoji; Cs: a lone half of a pair
    return char in "™®️⃣" or unicodedata.category(char) in ("So", "Sk", "Cf", "Cs", "Co", "Cn")


def clean_title(title: str | None, channel: str | None = None) -> str | None:
    """What a title says of the task, or None where it says nothing.

    >>> clean_title("🔥 Excel Tutorial: How to Add Totals [EASY] | ExcelWithAnna", "Excel With Anna")
    'Add Totals'
    """
    if title is None:
        return None
    text = plain(_BRACKETS.sub(" ", plain(title)))
    parts = [part.strip() for part in _SEPARATORS.split(text) if part.strip()]
    names = _squeezed(channel) if channel else ""
    parts = [part for part in parts if not _NOISE.match(part) and not (names and _squeezed(part) == names)]
    if not parts:
        return None
    # several parts: the one that says how to do something, else the first (the second is the series or the site)
    text = next((part for part in parts if _HOW_TO.match(_LEAD.sub("", part))), parts[0])
    for pattern in (_LEAD, _HOW_TO):
        text = pattern.sub("", text)
    text = _TAIL.sub("", text).strip(" -–—:|!.?,")
    return _sentence_case(shorten(text)) if any(c.isalnum() for c in text) else None


def is_generic(title: str) -> bool:
    """A chapter title that names no task: "Intro", "Part 2", "Thanks for watching"."""
    return bool(_GENERIC.match(plain(title)))


def _squeezed(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def shorten(text: str, limit: int = MAX_CHARS) -> str:
    """At most `limit` characters, cut between words."""
    if len(text) <= limit:
        return text
    head = text[:limit]
    return (head.rsplit(" ", 1)[0] if " " in head else head).rstrip(" ,;:-")


# ------------------------------------------------------------------------------------------- narration


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words spoken in one go, with the interval they took."""

    text: str
    start_ns: int
    end_ns: int


def sentences(transcript: Transcript) -> tuple[Sentence, ...]:
    """The transcript cut at full stops, and at silences where a caption track has no punctuation."""
    out: list[Sentence] = []
    held: list[Word] = []
    for word in transcript.words():
        if held and (word.start_ns - held[-1].end_ns >= _PAUSE_NS or len(held) >= _SENTENCE_WORDS):
            out.append(_joined(held))
            held = []
        held.append(word)
        if word.text.rstrip("\"')”’").endswith((".", "!", "?", "。", "！", "？")):
            out.append(_joined(held))
            held = []
    if held:
        out.append(_joined(held))
    return tuple(out)


def _joined(words: Sequence[Word]) -> Sentence:
    return Sentence(" ".join(word.text for word in words), words[0].start_ns, words[-1].end_ns)


_GOAL = re.compile(
    r"(?:\bhow\s+to|\bhow\s+(?:you|i|we)\s+can"
    r"|\b(?:we|you|i)(?:\s+are|\s+am|'re|'m)\s+(?:going\s+to|gonna)"
    r"|\b(?:we|i)(?:\s+will|'ll)|\b(?:we|i|you)\s+want\s+to|\bin\s+(?:this|today's)\s+(?:video|tutorial|lesson),?"
    r"|\b(?:now|next|then|so|okay|ok),?\s+let(?:'s|\s+us)|\blet(?:'s|\s+us)\s+(?!see|look|get|start|go|take|talk|say|me))"
    r"\s+(?P<goal>\S.*)$",
    re.IGNORECASE,
)
_NOT_A_TASK = re.compile(
    r"^(?:talk|speak|see|look|take\s+a\s+look|start|begin|go\s+(?:over|ahead|through)|get\s+(?:started|into)|cover|discuss"
    r"|be\b|have\b|show\b|do\s+(?:that|this|it)|learn\s+about|explain|assume|say|mention|wait|know|need|use\s+(?:it|this)\b"
    r"|i\b|we\b|you\b|it\b|this\b|that\b|there\b|he\b|she\b|they\b|is\b|are\b|was\b)",
    re.IGNORECASE,
)
_STARTS_TASK = re.compile(
    r"^(?:(?:ok(?:ay)?|alright|all right|so|now|great|perfect|and)[,.]?\s+)*"
    r"(?:next(?:\s+(?:thing|step|up))?\b|step\s+(?:\d+|two|three|four|five)\b|(?:the\s+)?(?:second|third|fourth|last)\s+"
    r"(?:thing|step|task|method|way)\b|moving\s+on\b|(?:now\s+)?let(?:'s|\s+us)\s+(?:move\s+on|now|next)\b"
    r"|now\s+(?:we'll|we\s+will|i'll|i\s+will|we're\s+going\s+to|i'm\s+going\s+to|let(?:'s|\s+us))\b)",
    re.IGNORECASE,
)
_ENDS_TASK = re.compile(
    r"\b(?:that'?s\s+(?:it|all)|(?:and\s+)?we'?re\s+(?:all\s+)?done|all\s+done|(?:it'?s|that'?s|it\s+is)\s+done"
    r"|there\s+(?:you|we)\s+(?:go|have\s+it)|(?:and\s+)?(?:that'?s|this\s+is)\s+how\s+(?:you|to|we)|thanks?(?:\s+you)?\s+for\s+watching)\b",
    re.IGNORECASE,
)


def goal(sentence: str) -> str | None:
    """The task that a spoken sentence announces, as an instruction, or None.

    >>> goal("In this video we're going to create a new playlist.")
    'Create a new playlist'
    """
    text, found = plain(sentence), None
    for _ in range(4):  # "in this video I will show you how to ...": the innermost announcement is the task
        match = _GOAL.search(text)
        if match is None:
            break
        text = found = match["goal"]
    if found is None or _NOT_A_TASK.match(found) or len(found.split()) < 2:
        return None
    return _sentence_case(shorten(found.rstrip(" .!?,;:")))


def starts_task(sentence: str) -> bool:
    """The speaker turns to something else: "Next, ...", "Step two", "Now we'll ..."."""
    return bool(_STARTS_TASK.match(plain(sentence)))


def ends_task(sentence: str) -> bool:
    """The speaker says that it is done: "And that's it.", "That's how you ..."."""
    return bool(_ENDS_TASK.search(plain(sentence)))


# ---------------------------------------------------------------------------------------- description

_VERBS: dict[type, str] = {
    Click: "click", DoubleClick: "double-click", TripleClick: "triple-click", RightClick: "right-click",
    MiddleClick: "middle-click", MoveTo: "point at", Drag: "drag", LongPress: "long-press",
}  # fmt: skip
_LISTED = 6


def describe(steps: Sequence[Step]) -> str:
    """What was done, in one sentence: steps with a name, or where none has one, their bare kinds."""
    done = [step for step in steps if not isinstance(step.action, (Finish, Wait))]
    phrases = [phrase for step in done if (phrase := _phrase(step)) is not None]
    if not phrases:
        phrases = [key for key, _ in itertools.groupby(step.action.kind.replace("_", "-") for step in done)] or ["wait"]
    if len(phrases) > _LISTED:
        phrases = [*phrases[: _LISTED - 2], "go on", phrases[-1]]
    body = phrases[0] if len(phrases) == 1 else ", ".join(phrases[:-1]) + " and " + phrases[-1]
    return _sentence_case(shorten(body))


def names_something(steps: Sequence[Step]) -> bool:
    """A step names a control, a text or a key: its description tells more than kinds of actions."""
    return any(_phrase(step) is not None for step in steps)


def _phrase(step: Step) -> str | None:
    match step.action:
        case TypeText(text=text) if text is not None:
            return f'type "{plain(text)}"'
        case Press(key=key):
            return f"press {key}"
        case Hotkey(keys=keys):
            return "press " + "+".join(keys)
        case OpenApp(app=app):
            return f"open {app}"
        case action if type(action) in _VERBS and step.target is not None:
            return f'{_VERBS[type(action)]} "{step.target}"'
    return None
