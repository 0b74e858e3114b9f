"""The text of a key overlay, taken apart: which keys were pressed, which characters typed.

``Ctrl + S``, ``⇧⌘↑``, ``Control+C``, ``Ctrl+Shift+T ×2``, ``<Tab>``, ``hello⏎``: a chord is modifiers and one key; a
key alone counts when its name is written as a key's is (``Return``, ``⏎``, ``F5``), everything else was typed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from video2gui.schema import MODIFIERS, Hotkey, Press
from video2gui.screen.key_names import SIGNS, key_action, named_key


@dataclass(frozen=True, slots=True)
class Pressed:
    """A key or hotkey, `times` in a row as a counter says."""

    action: Press | Hotkey
    times: int = 1


@dataclass(frozen=True, slots=True)
class Held:
    """Modifiers alone: the beginning of a chord, or a modifier pressed by itself."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Typed:
    """Plain characters."""

    text: str


Element = Pressed | Held | Typed

_MODIFIER = re.compile(
    r"(c[ti]r[l1i|]|control|ctl|strg|alt(?:\s?gr)?|shift|umschalt|maj|super|windows|win|cmd|command|option|opt|"
    r"meta|fn)"
    r"(?=\s*[+＋\-–⌘⌥⌃⇧]|\s+\S|\s*$|[↑↓←→⏎⌫⌦⇥⎋␣])",
    re.IGNORECASE,
)
_JOIN = re.compile(r"\s*[+＋]\s*|\s*[-–](?=\S)|\s+|(?=\S)")
_TWO_WORDS = re.compile(
    r"(?:page|pg)[\s_](?:up|down|dn)|caps[\s_]lock|print[\s_]screen|back[\s_]space|"
    r"(?:up|down|left|right)[\s_]arrow|arrow[\s_](?:up|down|left|right)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]\w*|[Ff]\d{1,2}")
_TIMES = re.compile(r"\s*(?:[×✕xX*]\s?(\d{1,3})|\((\d{1,3})\))(?=\s|$)")
_SIGNS = "".join(SIGNS)
_BRACKETED = re.compile(r"[<\[]([A-Za-z_ ]{2,12}|[Ff]\d{1,2})[>\]]")


def overlay_elements(text: str) -> list[Element]:
    """What an overlay's text says, in order."""
    out: list[Element] = []
    plain = ""
    text = text.strip()
    at = 0
    while at < len(text):
        found = _chord(text, at) or _key(text, at, plain)
        if found is None:
            plain += text[at]
            at += 1
            continue
        if plain.strip():
            out.append(Typed(_spaced(plain)))
        plain = ""
        element, at = found
        out.append(element)
    if plain.strip():
        out.append(Typed(_spaced(plain)))
    return out


def _spaced(plain: str) -> str:
    """Spaces for the sign of one, which readers of text take for a low line where no plain space tells them apart."""
    plain = plain.strip()
    return (plain if " " in plain else plain.replace("_", " ")).replace("␣", " ")


def _chord(text: str, at: int) -> tuple[Element, int] | None:
    """Modifiers and one key from `at` on, or modifiers alone at the text's end."""
    keys: list[str] = []
    begin = at
    while (modifier := _modifier(text, at)) is not None:
        keys.append(modifier[0])
        at = modifier[1]
        joint = _JOIN.match(text, at)
        if joint is None:
            return Held(tuple(keys)), len(text)
        at = joint.end()
    if not keys or (begin and text[begin - 1].isalnum()):
        return None
    name = _name_at(text, at)
    if name is None:
        return (Held(tuple(keys)), at) if at >= len(text) else None
    action = key_action([*keys, name[0]])
    if action is None:
        return None
    if isinstance(action, Hotkey) and set(keys) == {"shift"} and len(name[0]) == 1:
        return Typed(name[0].upper()), name[1]  # a capital letter
    return _counted(text, action, name[1])


def _modifier(text: str, at: int) -> tuple[str, int] | None:
    if at < len(text) and SIGNS.get(text[at]) in MODIFIERS:
        return SIGNS[text[at]], at + 1
    if text[at : at + 1] == "^" and re.fullmatch(r"\S", text[at + 1 :].strip()):
        return "ctrl", at + 1
    match = _MODIFIER.match(text, at)
    if match is None or (at and text[at - 1].isalnum()):
        return None
    word = match.group().lower().replace(" ", "_")
    name = "ctrl" if re.fullmatch(r"c[ti]r[l1i|]", word) else named_key(word)
    return (name, match.end()) if name in MODIFIERS else None


def _name_at(text: str, at: int) -> tuple[str, int] | None:
    """The key behind modifiers: a sign, a name, or a single character that stands alone."""
    if at < len(text) and text[at] in SIGNS:
        return SIGNS[text[at]], at + 1
    for pattern in (_TWO_WORDS, _WORD):
        match = pattern.match(text, at)
        if match is not None and (key := named_key(match.group())) is not None and key not in MODIFIERS:
            return key, match.end()
    if at < len(text) and not text[at].isspace() and (at + 1 == len(text) or not text[at + 1].isalnum()):
        key = named_key(text[at])
        return (key, at + 1) if key is not None else None
    return None


def _key(text: str, at: int, plain: str) -> tuple[Element, int] | None:
    """A key without modifiers, where it is written as one."""
    if text[at] in SIGNS and text[at] != "␣":
        return _counted(text, Press(SIGNS[text[at]]), at + 1)
    if (bracketed := _BRACKETED.match(text, at)) is not None:
        key = named_key(bracketed.group(1))
        return _counted(text, Press(key), bracketed.end()) if key is not None and len(key) > 1 else None
    if plain.strip() or (at and text[at - 1].isalnum()):
        return None  # in a sentence it is a word
    for pattern in (_TWO_WORDS, _WORD):
        match = pattern.match(text, at)
        if match is None or not match.group()[0].isupper() or len(match.group()) < 2:
            continue
        key = named_key(match.group())
        rest = text[match.end() :]
        ends = not rest or rest[0] in _SIGNS or re.match(r"\s+(?![a-z:])", rest) is not None
        if key is not None and len(key) > 1 and ends and key not in MODIFIERS:
            return _counted(text, Press(key), match.end())
    return None


def _counted(text: str, action: Press | Hotkey, end: int) -> tuple[Element, int]:
    times = _TIMES.match(text, end)
    if times is None:
        return Pressed(action), end
    return Pressed(action, max(1, int(times.group(1) or times.group(2)))), times.end()
