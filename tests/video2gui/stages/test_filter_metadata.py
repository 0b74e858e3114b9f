"""The rules drop what could not be had; what a row does not say never drops it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from video2gui.config import FilterSettings
from video2gui.errors import RowError
from video2gui.schema import VideoMeta
from video2gui.stages.filter_metadata import filter_metadata
from video2gui.stages.parse_row import parse_row
from video2gui.textmodel import score_rows
from video2gui.timebase import NS_PER_S

ROW = VideoMeta("a", "a", "https://www.youtube.com/watch?v=a", "f:1", title="How to merge cells in LibreOffice Calc")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"availability": "private"}, "unavailable"),
        ({"availability": "removed"}, "unavailable"),
        ({"title": "[Private video]"}, "unavailable"),
        ({"live_status": "is_live"}, "live"),
        ({"live_status": "is_upcoming"}, "live"),
        ({"age_limit": 18}, "age_gated"),
        ({"duration_ns": 4 * NS_PER_S}, "too_short"),
        ({"duration_ns": 721 * NS_PER_S}, "too_long"),
    ],
)
def test_what_cannot_be_had_is_dropped(change: dict[str, object], reason: str) -> None:
    verdict = filter_metadata(replace(ROW, **change), FilterSettings())
    assert (verdict.keep, verdict.reason, verdict.stage) == (False, reason, "filter_metadata")


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"availability": "unlisted"},
        {"live_status": "was_live"},
        {"age_limit": 0},
        {"duration_ns": 5 * NS_PER_S},
        {"duration_ns": 720 * NS_PER_S},
        {"language": "pt"},
    ],
)
def test_the_rest_is_kept(change: dict[str, object]) -> None:
    assert filter_metadata(replace(ROW, **change), FilterSettings()).keep


@pytest.mark.parametrize(
    ("language", "keep"), [("pt", True), ("pt-PT", True), ("EN-us", True), ("fr", False), (None, True)]
)
def test_languages_asked_for(language: str | None, keep: bool) -> None:
    settings = FilterSettings(languages=("pt-BR", "en"))
    assert filter_metadata(replace(ROW, language=language), settings).keep is keep


@pytest.mark.parametrize("removed", ["a", "https://www.youtube.com/watch?v=a", "Lessons"])
def test_removals_are_honoured(removed: str) -> None:
    settings = FilterSettings(removed=("zzz", removed))
    assert filter_metadata(replace(ROW, channel="Lessons"), settings).reason == "removed"


@pytest.mark.parametrize(
    "title",
    [
        "How to use the program, step by step tutorial, part 3",
        "How to rename many files at once in the file manager - step by step tutorial",
        "Excel: insertar una tabla dinámica paso a paso",
        "Photoshopで背景を透明にする方法【初心者向け】",
        "شرح برنامج الفوتوشوب للمبتدئين الدرس الثاني",
        "如何在Word中添加页码 教程",
    ],
)
@pytest.mark.parametrize(
    "filed",
    [
        {},
        {"category": "Education", "duration_ns": 300 * NS_PER_S},
        {"category": "Howto & Style", "duration_ns": 45 * NS_PER_S},
        {"category": "People & Blogs", "description": "Subscribe for more! Follow me: https://example.org"},
    ],
    ids=["bare", "education", "howto", "blog"],
)
def test_lessons_in_software_are_kept_however_much_the_row_says(title: str, filed: dict[str, object]) -> None:
    verdict = filter_metadata(replace(ROW, title=title, **filed), FilterSettings())
    assert verdict.keep, verdict.score


@pytest.mark.parametrize(
    "title",
    [
        "Neon Harbour - Night Drive (Official Music Video)",
        "Resumen del partido y todos los goles",
        "【実況】最終ボスに挑む #27",
        "Laptop review: battery, keyboard and display",
        "وصفة الكيك بالشوكولاتة",
    ],
)
def test_the_rest_of_the_world_is_not(title: str) -> None:
    verdict = filter_metadata(replace(ROW, title=title), FilterSettings())
    assert (verdict.keep, verdict.reason) == (False, "not_a_tutorial"), verdict.score


def test_a_row_that_says_nothing_is_no_lesson() -> None:
    assert filter_metadata(replace(ROW, title=None), FilterSettings()).reason == "no_text"


def test_the_score_does_not_depend_on_the_company_a_row_keeps() -> None:
    rows = [ROW, replace(ROW, title="Resumen del partido"), replace(ROW, title=None, description="使用教程")]
    together = score_rows(rows)
    assert [float(score_rows([row])[0]) for row in rows] == [float(score) for score in together]


def test_the_length_of_a_video_is_no_hint() -> None:
    lengths = (None, 20 * NS_PER_S, 300 * NS_PER_S, 700 * NS_PER_S)
    assert len(set(score_rows([replace(ROW, duration_ns=length) for length in lengths]))) == 1


def test_rows_of_the_examples() -> None:
    """The recordings are kept; what no rule drops of the rest is no lesson in software."""
    judged = {}
    lines = (Path(__file__).parents[3] / "examples" / "rows.jsonl").read_bytes().splitlines()
    for number, line in enumerate(lines, 1):
        try:
            meta = parse_row(line, f"rows.jsonl:{number}")
        except RowError:
            continue
        judged[meta.video_id] = filter_metadata(meta, FilterSettings())
    kept = {video for video, verdict in judged.items() if verdict.keep}
    assert kept == {video for video in judged if video.startswith("ex-")}
    others = {video: verdict.reason for video, verdict in judged.items() if not video.startswith(("ex-", "tut"))}
    assert len(others) >= 20
    assert set(others.values()) == {"not_a_tutorial"}, others
