"""Every dialect reads to the same value; whatever the bytes are, the only failure is a `RowError`."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from video2gui.errors import RowError
from video2gui.schema import SAFE_KEY, Captions, Chapter, VideoMeta
from video2gui.stages.parse_row import MAX_ID_CHARS, MAX_LINE_BYTES, parse_object, parse_row, safe_id
from video2gui.timebase import NS_PER_S


def parse(**fields: object) -> VideoMeta:
    return parse_row(json.dumps(fields), "rows.jsonl:1")


def message(line: bytes | str) -> str:
    with pytest.raises(RowError) as caught:
        parse_row(line, "rows.jsonl:7")
    assert caught.value.address == "rows.jsonl:7"
    assert str(caught.value).startswith("rows.jsonl:7: ")
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix("rows.jsonl:7: ")


def test_full_info_json() -> None:
    meta = parse(
        id="dQw4w9WgXcQ",
        title="Filters in LibreOffice Calc",
        description="How to filter rows.",
        tags=["calc", "filter"],
        channel="Office lessons",
        uploader="someone",
        categories=["Education"],
        language="en",
        license="Creative Commons Attribution license (reuse allowed)",
        duration=83,
        live_status="not_live",
        availability="public",
        age_limit=0,
        webpage_url="https://www.youtube.com/watch?v=dQw4w9WgXcQ",
        url="https://media.example/videoplayback?x=1",
        subtitles={
            "en": [{"ext": "json3", "url": "https://c/1"}, {"ext": "vtt", "url": "https://c/2"}],
            "live_chat": [{"ext": "json", "url": "https://c/3"}],
        },
        automatic_captions={
            "en-orig": [{"ext": "vtt", "url": "https://c/4"}],
            "de": [{"ext": "vtt", "url": "https://c/5?tlang=de"}],
        },
        chapters=[
            {"title": "Open", "start_time": 0, "end_time": 20.5},
            {"title": "Filter", "start_time": 20.5},
        ],
        formats=[{"anything": None}],
    )
    assert meta == VideoMeta(
        video_id="dQw4w9WgXcQ",
        source_id="dQw4w9WgXcQ",
        url="https://www.youtube.com/watch?v=dQw4w9WgXcQ",
        row="rows.jsonl:1",
        title="Filters in LibreOffice Calc",
        description="How to filter rows.",
        tags=("calc", "filter"),
        channel="Office lessons",
        category="Education",
        language="en",
        licence="Creative Commons Attribution license (reuse allowed)",
        duration_ns=83 * NS_PER_S,
        live_status="not_live",
        availability="public",
        age_limit=0,
        captions=(Captions("https://c/2", "en", False), Captions("https://c/4", "en", True)),
        chapters=(
            Chapter("Open", 0, 20_500_000_000),
            Chapter("Filter", 20_500_000_000, 83 * NS_PER_S),
        ),
    )


def test_flat_info_json() -> None:
    meta = parse(_type="url", ie_key="Youtube", id="dQw4w9WgXcQ", url="dQw4w9WgXcQ", title="x", duration=None)
    assert meta.url == "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
    assert (meta.title, meta.duration_ns, meta.live_status, meta.availability) == ("x", None, None, None)


def test_youtube_data_api() -> None:
    meta = parse(
        kind="youtube#video",
        id="dQw4w9WgXcQ",
        snippet={
            "title": "Pivot tables",
            "channelTitle": "c",
            "categoryId": "27",
            "defaultAudioLanguage": "pt-BR",
            "liveBroadcastContent": "none",
        },
        contentDetails={"duration": "PT1H2M3S", "contentRating": {"ytRating": "ytAgeRestricted"}},
        status={"privacyStatus": "public", "license": "creativeCommon"},
    )
    assert meta.title == "Pivot tables"
    assert meta.duration_ns == 3723 * NS_PER_S
    assert (meta.category, meta.language, meta.live_status) == ("Education", "pt-BR", "not_live")
    assert (meta.availability, meta.licence, meta.age_limit) == ("public", "creativeCommon", 18)


@pytest.mark.parametrize(
    "item",
    [
        {"kind": "youtube#searchResult", "id": {"kind": "youtube#video", "videoId": "dQw4w9WgXcQ"}},
        {"kind": "youtube#playlistItem", "id": "UExf", "snippet": {"resourceId": {"videoId": "dQw4w9WgXcQ"}}},
        {"video_id": "dQw4w9WgXcQ"},
        {"webpage_url": "https://www.youtube.com/watch?t=3&v=dQw4w9WgXcQ"},
        {"link": "https://youtu.be/dQw4w9WgXcQ?si=1"},
        {"url": "https://www.youtube.com/shorts/dQw4w9WgXcQ"},
        {"url": "/watch?v=dQw4w9WgXcQ", "id": "dQw4w9WgXcQ"},
    ],
)
def test_the_id_is_found_in_each_dialect(item: dict[str, object]) -> None:
    assert parse_object(item, "a:1").video_id == "dQw4w9WgXcQ"
    assert "dQw4w9WgXcQ" in parse_object(item, "a:1").url


def test_a_row_of_the_failures_output_gives_the_same_value_again() -> None:
    row = {"id": "abc", "url": "clips/a.mp4", "title": "t"}
    failure = {"stage": "fetch_video", "error": "fetch", "message": "m", "row": row}
    again = {"stage": "fetch_video", "error": "fetch", "message": "m", "row": json.dumps(failure)}
    assert parse(**failure) == parse(**again) == parse(**row)


def test_where_no_address_can_be_made_the_id_stands_for_it() -> None:
    assert parse(id="adobetv:34 39").url == "id:adobetv%3A34%2039"
    assert parse(id="yt:dQw4w9WgXcQ").url == "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
    assert parse(id="76979871", extractor="vimeo").url == "https://vimeo.com/76979871"
    assert parse(id="chromium_sh", extractor="dailymotion").url == "id:chromium_sh"


@pytest.mark.parametrize("url", ["recordings/a b.mp4", "file:recordings/a.mp4", "../x.mp4", "https://h/ü"])
def test_urls_are_kept_for_fetching(url: str) -> None:
    assert parse(id="a", url=url).url == url


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (12, 12),
        (12.5, 12.5),
        ("90", 90),
        ("90.25", 90.25),
        ("1:30", 90),
        ("01:02:03", 3723),
        ("PT1M30.5S", 90.5),
        ("P1DT1S", 86401),
        ("P0D", None),
        (0, None),
        (None, None),
        ("", None),
        ("NA", None),
    ],
)
def test_durations(value: object, seconds: float | None) -> None:
    assert parse(id="a", duration=value).duration_ns == (None if seconds is None else int(seconds * NS_PER_S))


@pytest.mark.parametrize("value", [True, -3, "-3", "soon", "1:2:3:4", "PT", "P", [], {}, 1e300, "9" * 12])
def test_what_is_not_a_duration_is_refused(value: object) -> None:
    assert message(json.dumps({"id": "a", "duration": value})).startswith("duration: ")


def test_the_first_name_with_a_value_counts() -> None:
    assert parse(id="a", duration=None, duration_string="2:00").duration_ns == 120 * NS_PER_S
    assert parse(id="a", channel=None, uploader="u", author="w").channel == "u"


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["a", " b "], ("a", "b")),
        ("a, b,,c", ("a", "b", "c")),
        ('"a b"|"c"', ("a b", "c")),
        ('["a", "b"]', ("a", "b")),
        ("[none]", None),
        ([], ()),
        ("", None),
    ],
)
def test_tags(tags: object, expected: tuple[str, ...] | None) -> None:
    assert parse(id="a", tags=tags).tags == expected


def test_missing_is_none() -> None:
    meta = parse(id="a", title=" ", description="", category="NA", language="und", is_live="", status="ok", snippet="x")
    rest = (meta.title, meta.description, meta.tags, meta.channel, meta.category, meta.language, meta.licence)
    more = (meta.duration_ns, meta.live_status, meta.availability, meta.age_limit, meta.captions, meta.chapters)
    assert {*rest, *more} == {None}


def test_a_title_may_say_none() -> None:
    assert parse(id="a", title="None").title == "None"


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"is_live": True}, "is_live"),
        ({"is_live": "False", "was_live": 1}, "was_live"),
        ({"live_status": "is_upcoming", "is_live": True}, "is_upcoming"),
        ({"snippet": {"liveBroadcastContent": "upcoming"}}, "is_upcoming"),
    ],
)
def test_live(fields: dict[str, object], status: str) -> None:
    assert parse(id="a", **fields).live_status == status


def test_lost_uploads_are_removed() -> None:
    assert parse(id="a", status={"uploadStatus": "deleted", "privacyStatus": "public"}).availability == "removed"


@pytest.mark.parametrize(
    ("line", "start"),
    [
        (b"", "not JSON at character 0"),
        (b"[]", "expected an object, found a list of 0"),
        (b"3", "expected an object, found 3"),
        (b"{", "not JSON at character"),
        (b'{"id": "\xff"}', "not UTF-8 at byte 8"),
        (b'{"id": "a", "id": "b"}', "not JSON: "),
        (b'{"id": "a", "duration": NaN}', "not JSON: "),
        (b'{"id": "a", "views": ' + b"9" * 5000 + b"}", "not JSON: "),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"id":' * 100_000, "nested too deeply"),
        (b'{"title": "x"}', "id: missing, and there is no url either"),
        (b'{"id": [1]}', "id: expected text, found a list of 1"),
        (b'{"id": true}', "id: expected text, found True"),
        (b'{"id": "a", "title": 5}', "title: expected text, found 5"),
        (b'{"id": "a", "snippet": {"title": {}}}', "snippet.title: expected text, found an object of 0"),
        (b'{"id": "a", "tags": [1]}', "tags: expected a list of texts, found 1"),
        (b'{"id": "a", "tags": 7}', "tags: expected a list of texts or one text, found 7"),
        (b'{"id": "a", "url": 7}', "url: expected text"),
        (b'{"id": "a", "url": "http://a\\nb"}', "url: holds control characters"),
        (b'{"id": "a", "is_live": "maybe"}', "is_live: expected true or false, found 'maybe'"),
        (b'{"id": "a", "age_limit": "old"}', "age_limit: expected an age in years"),
        (b'{"id": "a", "chapters": [{"start_time": "x"}]}', "chapters[0].start_time: expected a number"),
        (b'{"id": "a", "subtitles": []}', "subtitles: expected an object of languages"),
        (b'{"id": "a", "subtitles": {"en": "x"}}', "subtitles.'en': expected a list of files"),
        (b'{"stage": "a", "error": "b", "row": 4}', "expected an object, found 4"),
        (b"\x1f\x8b\x08\x00", "not UTF-8"),
        (b"<!doctype html>", "not JSON"),
        (b"a" * (MAX_LINE_BYTES + 1), "a line of more than 4 MB"),
    ],
)
def test_bad_rows_say_what_is_wrong(line: bytes, start: str) -> None:
    assert message(line).startswith(start)


def test_failures_inside_failures_come_to_an_end() -> None:
    row: object = {"id": "a"}
    for _ in range(9):
        row = {"stage": "s", "error": "e", "row": row}
    assert "eight deep" in message(json.dumps(row))


def test_texts_are_cut_and_cleaned() -> None:
    meta = parse(id="a", title="a\x00b\ud800" + "x" * 10_000, description="d" * 100_000, tags=["t" * 999] * 999)
    assert meta.title is not None
    assert meta.title.startswith("a b?")
    assert len(meta.title) == 500
    assert meta.description is not None
    assert len(meta.description) == 20_000
    assert meta.tags is not None
    assert (len(meta.tags), len(meta.tags[0])) == (100, 200)


def test_a_byte_order_mark_is_no_content() -> None:
    assert parse_row('\ufeff{"id": "a"}', "f:1").video_id == "a"
    assert parse_row(b'\xef\xbb\xbf{"id": "a"}', "f:1").video_id == "a"


@pytest.mark.parametrize(
    ("source", "stem"),
    [("../../etc/passwd", "etc-passwd"), ("a.b", "a-b"), ("видео", "id"), ("x" * 65, "x" * 40), ("a/b c", "a-b-c")],
)
def test_unsafe_ids_get_a_stem_and_a_digest(source: str, stem: str) -> None:
    made = parse(id=source, url="x").video_id
    assert made.rpartition("--")[0] == stem
    assert SAFE_KEY.fullmatch(made)
    assert parse(id=source, url="x").source_id == source


def test_rows_of_the_generic_extractor_are_told_apart_by_their_url() -> None:
    one, two = (parse(id="video", extractor="generic", url=f"https://{h}/video.mp4") for h in ("a", "b"))
    assert one.video_id != two.video_id


ids = st.text(min_size=1) | st.from_regex(r"[A-Za-z0-9_.-]{1,80}", fullmatch=True)


@given(ids, ids)
@example("a.b", "a-b")
@example("../x", safe_id("../x"))
@example("A", "a")
def test_ids_are_safe_and_stay_different(one: str, two: str) -> None:
    assert SAFE_KEY.fullmatch(safe_id(one))
    assert len(safe_id(one)) <= MAX_ID_CHARS
    assert (safe_id(one) == safe_id(two)) == (one == two)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
NAMES = [
    "id",
    "video_id",
    "title",
    "description",
    "tags",
    "channel",
    "categories",
    "category_id",
    "language",
    "duration",
    "duration_string",
    "live_status",
    "is_live",
    "availability",
    "age_limit",
    "url",
    "webpage_url",
    "extractor",
    "snippet",
    "contentDetails",
    "status",
    "subtitles",
    "automatic_captions",
    "chapters",
    "row",
    "stage",
    "error",
    "kind",
]


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_bytes_give_a_row_or_a_row_error(line: bytes | str) -> None:
    try:
        parse_row(line, "f:1")
    except RowError as error:
        assert error.address == "f:1"


@given(st.dictionaries(st.sampled_from(NAMES), json_values, max_size=12), ids | json_values)
def test_any_json_gives_a_safe_row_or_a_row_error(fields: dict[str, object], source: object) -> None:
    try:
        meta = parse_row(json.dumps({**fields, "id": source}), "f:1")
    except RowError as error:
        assert str(error).isprintable()
    else:
        assert SAFE_KEY.fullmatch(meta.video_id)
        json.dumps([meta.title, meta.url, meta.source_id], ensure_ascii=False).encode()
