"""The coarse tier: what a row's own words say, before anything is downloaded.

Rules come first, cheapest and surest: they drop what could not be fetched or is not asked for. What a row does
not say passes: an unknown duration is no reason to drop. Then the text model judges title, description and tags.
"""

from __future__ import annotations

from collections.abc import Sequence

from video2gui.config import FilterSettings
from video2gui.schema import Verdict, VideoMeta
from video2gui.textmodel import score_rows

STAGE = "filter_metadata"

_NOT_RECORDED = frozenset({"is_live", "is_upcoming", "post_live"})
_CLOSED = frozenset({"private", "premium_only", "subscriber_only", "needs_auth", "removed"})
_GONE_TITLES = frozenset({"[private video]", "[deleted video]", "private video", "deleted video"})
_ADULT = 18


def filter_metadata(meta: VideoMeta, settings: FilterSettings) -> Verdict:
    """Keep a row or not: the rules, then the text. The score is the probability that software is taught."""
    return filter_rows([meta], settings)[0]


def filter_rows(rows: Sequence[VideoMeta], settings: FilterSettings) -> list[Verdict]:
    """`filter_metadata` of each row; those that no rule drops go through the text model together."""
    reasons = [broken_rule(row, settings) or (None if row.title or row.description else "no_text") for row in rows]
    scores = iter(score_rows([row for row, reason in zip(rows, reasons, strict=True) if reason is None]))
    return [
        Verdict(keep=False, reason=reason, stage=STAGE) if reason else _by_text(float(next(scores)), settings)
        for reason in reasons
    ]


def _by_text(probability: float, settings: FilterSettings) -> Verdict:
    score = round(probability, 4)
    keep = score >= settings.min_score
    return Verdict(keep=keep, reason="kept" if keep else "not_a_tutorial", stage=STAGE, score=score)


def broken_rule(meta: VideoMeta, settings: FilterSettings) -> str | None:
    """The first rule the row breaks, as a reason, or None."""
    if settings.removed and not {meta.video_id, meta.source_id, meta.url, meta.channel}.isdisjoint(settings.removed):
        return "removed"
    if meta.availability in _CLOSED or (meta.title is not None and meta.title.lower() in _GONE_TITLES):
        return "unavailable"
    if meta.live_status in _NOT_RECORDED:
        return "live"
    if meta.age_limit is not None and meta.age_limit >= _ADULT:
        return "age_gated"
    if meta.duration_ns is not None and meta.duration_ns < settings.min_duration_ns:
        return "too_short"
    if meta.duration_ns is not None and meta.duration_ns > settings.max_duration_ns:
        return "too_long"
    if settings.languages and meta.language is not None and not _speaks(meta.language, settings.languages):
        return "wrong_language"
    return None


def _speaks(language: str, wanted: tuple[str, ...]) -> bool:
    """``pt-BR`` is ``pt``; ``pt`` is not ``pt-BR``, and is taken for it all the same: it may be."""
    return any(language.lower().split("-")[0] == other.lower().split("-")[0] for other in wanted)
