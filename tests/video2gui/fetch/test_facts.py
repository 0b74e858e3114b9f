"""What a site says: only what has the type it should have, and never over what the row says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from video2gui import codec
from video2gui.fetch.facts import Facts, add_facts, facts_of
from video2gui.schema import Chapter, VideoMeta
from video2gui.timebase import NS_PER_S

INFO = {
    "title": " Save a file ",
    "description": "How.",
    "tags": ["a", "", 3, "b"],
    "uploader": "Someone",
    "categories": ["Education", "Howto"],
    "language": "en",
    "license": "CC BY",
    "duration": 12.5,
    "live_status": "not_live",
    "availability": "public",
    "age_limit": 0,
    "chapters": [
        {"title": "One", "start_time": 0, "end_time": 5},
        {"title": "<Untitled Chapter 2>", "start_time": 5, "end_time": 6},
        {"title": "Back", "start_time": 9, "end_time": 6},
        "no chapter",
    ],
}


def test_facts_of_an_info_dict() -> None:
    assert facts_of(INFO) == Facts(
        title="Save a file",
        description="How.",
        tags=("a", "b"),
        channel="Someone",
        category="Education",
        language="en",
        licence="CC BY",
        duration_ns=12_500_000_000,
        live_status="not_live",
        availability="public",
        age_limit=0,
        chapters=(Chapter("One", 0, 5 * NS_PER_S),),
    )


def test_a_title_that_yt_dlp_made_from_a_file_name_is_no_fact() -> None:
    assert facts_of({"title": "clip", "direct": True}).title is None
    assert facts_of({"title": "video"}).title is None


def test_no_is_no_age() -> None:
    assert facts_of({"age_limit": False}).age_limit is None
    assert facts_of({"age_limit": 18}).age_limit == 18


def test_the_row_goes_first() -> None:
    row = VideoMeta("a", "a", "u", "f:1", title="Mine", tags=())
    told = add_facts(row, facts_of(INFO))
    assert told == replace(row, **{name: getattr(told, name) for name in ("description", "channel", "category",
        "language", "licence", "duration_ns", "live_status", "availability", "age_limit", "chapters")})  # fmt: skip
    assert (told.title, told.tags, told.channel) == ("Mine", (), "Someone")


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["title", "start_time"]), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*INFO, "direct", "channel"]), JUNK))
def test_junk_is_no_fact_and_the_facts_can_always_be_written(info: dict[str, Any]) -> None:
    facts = facts_of(info)
    assert codec.loads(Facts, codec.dumps(facts).encode()) == facts


@pytest.mark.parametrize("duration", [float("nan"), float("inf"), -1, True, "12", 1e300])
def test_a_duration_that_cannot_be_is_none(duration: object) -> None:
    assert facts_of({"duration": duration}).duration_ns is None
