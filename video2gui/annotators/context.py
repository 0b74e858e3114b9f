"""Which platform, application and website a recording shows: read on the screen, else named by its words."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources

from video2gui.ocr.base import TextLine
from video2gui.schema import Basis, Platform

#: Title bar, tabs and address bar lie in this share of the frame's height.
TOP = 0.14

_TITLE_BAR = 0.06
_MIN_CONFIDENCE = 0.6

# short words that are also ordinary words: never taken from a sentence, only from the end of a window's title
_ORDINARY = frozenset(
    (
        "Pages", "Numbers", "Access", "Word", "Paint", "Sketch", "Unity", "Zoom", "Slack", "Notion", "Brave", "Opera",
        "Kate", "Dolphin", "Safari", "Outlook", "Eclipse", "Finder", "Illustrator", "Automator", "Keynote",
    )
)  # fmt: skip

_DASH = re.compile(r"\s+[-–—|]\s+|\s*[–—]\s*")
_DOMAIN = re.compile(
    r"(?:https?://|www\.)?((?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+"
    r"(?:com|org|net|edu|gov|io|dev|app|ai|co|me|tv|info|de|fr|es|it|nl|pl|ru|jp|cn|in|br|uk|eu|ch|se|no|ca|au)"
    r"|localhost)(?=[:/?#\s]|$)",
    re.IGNORECASE,
)  # fmt: skip
_PLATFORM_WORDS: tuple[tuple[re.Pattern[str], Platform], ...] = (
    (re.compile(r"\bwindows\s*(?:7|8|8\.1|10|11|xp|vista)\b|\bon windows\b", re.IGNORECASE), "windows"),
    (
        re.compile(r"\bmac\s?os(?:\s?x)?\b|\b(?:on|for)\s+(?:a\s+|your\s+)?mac\b|\bmacbook\b|\bimac\b", re.IGNORECASE),
        "mac",
    ),
    (re.compile(r"\bubuntu\b|\blinux\b|\bdebian\b|\bfedora\b|\bgnome\b|\bxfce\b|\bkde\b", re.IGNORECASE), "linux"),
    (re.compile(r"\bandroid\b(?!\s+studio)", re.IGNORECASE), "android"),
    (re.compile(r"\biphone\b|\bipad\b|\bios\s*\d*\b", re.IGNORECASE), "ios"),
)


@dataclass(frozen=True, slots=True)
class Context:
    """None where nothing said it; the basis tells reading on the screen from inference."""

    platform: Platform | None = None
    platform_basis: Basis | None = None
    app: str | None = None
    app_basis: Basis | None = None
    website: str | None = None
    website_basis: Basis | None = None


def context(lines: Sequence[TextLine], titles: Iterable[str]) -> Context:
    """From the text lines of a frame of the task (boxes as fractions of it) and the video's own words."""
    words = [title for title in titles if title]
    top = [line for line in lines if line.box.y2 <= TOP and line.confidence >= _MIN_CONFIDENCE]
    app, app_basis = _app(top, words)
    website, website_basis = _website(top, words)
    platform = _only_platform(app) or next((p for text in words for p in _platforms(text)), None)
    return Context(platform, "inferred" if platform else None, app, app_basis, website, website_basis)


def _app(top: Sequence[TextLine], words: Sequence[str]) -> tuple[str | None, Basis | None]:
    for line in sorted(top, key=lambda line: line.box.y1):
        parts = _DASH.split(line.text)
        known = _known(parts[-1]) if len(parts) > 1 or line.box.y1 <= _TITLE_BAR else None
        if known is not None:
            return known, "seen"
    for text in words:
        if (named := _named_in(text)) is not None:
            return named, "inferred"
    return None, None


def _website(top: Sequence[TextLine], words: Sequence[str]) -> tuple[str | None, Basis | None]:
    for line in top:
        # an address stands alone in its bar: a domain inside a sentence is not one
        text = line.text.strip().lstrip("®©OoQ→< ").strip()
        match = _DOMAIN.match(text)
        if match is not None and len(text.split()) <= 2:
            return match[1].lower(), "seen"
    for text in words:
        if (match := _DOMAIN.search(text)) is not None and match[1].lower() != "localhost":
            return match[1].lower(), "inferred"
    return None, None


def _platforms(text: str) -> list[Platform]:
    found = [name for pattern, name in _PLATFORM_WORDS if pattern.search(text)]
    return found if len(found) == 1 else []  # "on Windows and Mac" names neither


@functools.cache
def _apps() -> dict[str, Platform | None]:
    text = resources.files("video2gui.annotators").joinpath("apps.json").read_text("utf-8")
    data: dict[str, Platform | None] = json.loads(text)
    return data


@functools.cache
def _by_squeezed() -> dict[str, str]:
    return {_squeeze(name): name for name in _apps()}


def _squeeze(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum() or c == "+")


def _known(text: str) -> str | None:
    """The application that a text is the name of, whatever its spaces and case (OCR loses both)."""
    return _by_squeezed().get(_squeeze(text))


@functools.cache
def _name_pattern() -> re.Pattern[str]:
    names = sorted((name for name in _apps() if name not in _ORDINARY), key=len, reverse=True)
    return re.compile(r"(?<!\w)(?:" + "|".join(re.escape(name) for name in names) + r")(?!\w)", re.IGNORECASE)


def _named_in(text: str) -> str | None:
    match = _name_pattern().search(text)
    return _known(match[0]) if match else None


def _only_platform(app: str | None) -> Platform | None:
    return _apps().get(app) if app is not None else None
