"""What a site says about a video, taken along to fill what the row left open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from video2gui.schema import Chapter, VideoMeta
from video2gui.timebase import MAX_NS, ns_from_s

_MAX_TEXT, _MAX_DESCRIPTION, _MAX_LIST = 500, 20_000, 500


@dataclass(frozen=True, slots=True)
class Facts:
    """The fields of `VideoMeta` that a site can tell. None: it does not say."""

    title: str | None = None
    description: str | None = None
    tags: tuple[str, ...] | None = None
    channel: str | None = None
    category: str | None = None
    language: str | None = None
    licence: str | None = None
    duration_ns: int | None = None
    live_status: str | None = None
    availability: str | None = None
    age_limit: int | None = None
    chapters: tuple[Chapter, ...] | None = None


def facts_of(info: Mapping[str, Any]) -> Facts:
    """The facts of a yt-dlp info dict; what has another type than it should is no fact."""
    return Facts(
        title=_title(info),
        description=_text(info.get("description"), _MAX_DESCRIPTION),
        tags=_texts(info.get("tags")),
        channel=_text(info.get("channel")) or _text(info.get("uploader")),
        category=next(iter(_texts(info.get("categories")) or ()), None),
        language=_text(info.get("language")),
        licence=_text(info.get("license")),
        duration_ns=_ns(info.get("duration")) or None,
        live_status=_text(info.get("live_status")),
        availability=_text(info.get("availability")),
        age_limit=_age(info.get("age_limit")),
        chapters=_chapters(info.get("chapters")),
    )


def _age(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 120 else None


def add_facts(meta: VideoMeta, facts: Facts) -> VideoMeta:
    """Fill the fields that are None; what the row says stays."""
    told = {field.name: getattr(facts, field.name) for field in fields(Facts)}
    return replace(
        meta, **{name: value for name, value in told.items() if value is not None and getattr(meta, name) is None}
    )


def _title(info: Mapping[str, Any]) -> str | None:
    """The title that the page has; yt-dlp makes one of a file's name, and numbers the players of a page."""
    title = _text(info.get("title"))
    if title is None or title == "video" or info.get("direct"):
        return None
    return title.removesuffix(" (1)") if info.get("extractor") == "html5" else title


def _text(value: object, longest: int = _MAX_TEXT) -> str | None:
    if not isinstance(value, str):
        return None
    # a lone surrogate cannot be written as UTF-8
    return value.encode("utf-8", "replace").decode()[:longest].strip() or None


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, (list, tuple)):
        return None
    return tuple(text for part in value[:_MAX_LIST] if (text := _text(part)) is not None) or None


def _ns(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        ns = ns_from_s(value)
    except ValueError:
        return None
    return ns if 0 <= ns <= MAX_NS else None


def _chapters(value: object) -> tuple[Chapter, ...] | None:
    if not isinstance(value, (list, tuple)):
        return None
    chapters = []
    for part in value[:_MAX_LIST]:
        if not isinstance(part, Mapping):
            continue
        title, start_ns, end_ns = _text(part.get("title")), _ns(part.get("start_time")), _ns(part.get("end_time"))
        if title is not None and title.startswith("<Untitled Chapter"):
            continue  # yt-dlp's own stop-gap
        if title is not None and start_ns is not None and end_ns is not None and start_ns < end_ns:
            chapters.append(Chapter(title, start_ns, end_ns))
    return tuple(chapters) or None
