"""yt-dlp against a real server with faults, in this process: what each comes to."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.video2gui import web as w
from tests.video2gui.web import VIDEO, Answer, Web, serve
from video2gui.errors import FetchKind
from video2gui.fetch.facts import Facts
from video2gui.fetch.messages import CAPTIONS_FILE, Failed, Fetched, Request
from video2gui.fetch.worker import answer, fetch_described, open_downloader, options_for
from video2gui.schema import Captions
from video2gui.timebase import NS_PER_MS

CAPTIONS = "WEBVTT\n\n00:01.000 --> 00:02.000\nClick save.\n"


@pytest.fixture
def web() -> Iterator[Web]:
    with serve() as web:
        yield web


def request(url: str, folder: Path, **more: object) -> Request:
    values: dict[str, object] = {
        "url": url, "folder": str(folder), "max_height_px": 1080, "max_bytes": 10_000_000, "stall_ns": 200 * NS_PER_MS,
        "languages": (), "known_captions": (), "reach": "loopback", "js_runtime": "none", "max_memory_bytes": 1 << 31,
        "proxy": None, "cookies_file": None,
    }  # fmt: skip
    return Request(**(values | more))  # type: ignore[arg-type]


def fetched(url: str, folder: Path, **more: object) -> Fetched:
    got = answer(request(url, folder, **more))
    assert isinstance(got, Fetched), got
    return got


def failed(url: str, folder: Path, **more: object) -> Failed:
    got = answer(request(url, folder, **more))
    assert isinstance(got, Failed), got
    assert not list(folder.glob("video.*"))
    return got


# ------------------------------------------------------------------------------------------------ faults


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        (w.status(404), "gone", "HTTP 404"),
        (w.status(410), "gone", "HTTP 410"),
        (w.status(401), "private", "HTTP 401"),
        (w.status(403), "private", "HTTP 403"),
        (w.status(451), "region_gated", "HTTP 451"),
        (w.status(500), "network", "HTTP 500"),
        (w.status(429), "rate_limited", "HTTP 429"),
        (w.page("<html><title>Clips</title><p>Nothing here"), "unsupported", "holds no video"),
        (w.redirect("/clip.mp4"), "unsupported", "circle"),
        (w.broken_off(VIDEO[:5000], len(VIDEO), reset=True), "network", "reset"),
        (w.broken_off(VIDEO[:5000], len(VIDEO)), "network", "5000 bytes"),
        (w.broken_off(b"", len(VIDEO)), "network", "no data|any data"),
        (w.stalled(), "network", "timed out"),
        (w.stalled(b""), "network", "timed out"),
        (w.broken_off(VIDEO, 50_000_000), "too_large", "larger than 10 MB"),
        (w.endless(), "too_large", "larger than 10 MB"),
        (w.video(b"\0" * 100, "audio/mpeg"), "not_a_video", "sound only"),
    ],
)
def test_faults(web: Web, tmp_path: Path, fault: Answer, kind: FetchKind, says: str) -> None:
    url = web.put("/clip.mp4", fault)
    failure = failed(url, tmp_path)
    assert failure.failure == kind
    assert failure.message.startswith(url)
    assert re.search(says, failure.message)
    assert web.count("/clip.mp4") <= 12, "only a circle of redirects is asked more than twice"


def test_a_fault_is_not_tried_again_here(web: Web, tmp_path: Path) -> None:
    failed(web.put("/clip.mp4", w.status(500)), tmp_path)
    assert web.count("/clip.mp4") == 1


@pytest.mark.parametrize("code", [429, 503])
def test_retry_after_is_handed_on(web: Web, tmp_path: Path, code: int) -> None:
    failure = failed(web.put("/clip.mp4", w.status(code, Retry_After="17")), tmp_path)
    assert (failure.failure, failure.retry_after) == ("rate_limited", 17)


def test_what_a_server_sends_beyond_its_word_is_not_read(web: Web, tmp_path: Path) -> None:
    fetched(web.put("/clip.mp4", w.broken_off(VIDEO, 5000)), tmp_path)
    assert (tmp_path / "video.mp4").read_bytes() == VIDEO[:5000]


def test_a_link_to_a_file_is_a_video(web: Web, tmp_path: Path) -> None:
    got = fetched(web.put("/clip.mp4", w.video()), tmp_path)
    assert (got.ending, got.caption, got.facts) == ("mp4", None, Facts())
    assert (tmp_path / "video.mp4").read_bytes() == VIDEO


@pytest.mark.parametrize("path", ["/..%2f..%2fclip.mp4", "/clip.exe", "/%00.sh", "/clip", "/" + "x" * 300 + ".mp4"])
def test_a_file_is_named_by_us(web: Web, tmp_path: Path, path: str) -> None:
    web.put(path, w.video())
    web.put("/elsewhere.mp4", w.video())
    got = fetched(web.url + path, tmp_path)
    assert [found.name for found in tmp_path.iterdir()] == [f"video.{got.ending}"]


def test_a_redirect_is_followed(web: Web, tmp_path: Path) -> None:
    web.put("/real.mp4", w.video())
    fetched(web.put("/old", w.redirect("/real.mp4")), tmp_path)
    assert (tmp_path / "video.mp4").read_bytes() == VIDEO


@pytest.mark.parametrize("again", [w.ranged_video(), w.video()])
def test_a_second_attempt_goes_on_where_the_first_stopped_or_starts_anew(
    web: Web, tmp_path: Path, again: Answer
) -> None:
    # the first request of each attempt looks what it is, the second fetches
    broken = w.broken_off(VIDEO[:60_000], len(VIDEO))
    url = web.put("/clip.mp4", w.ranged_video(), broken, w.ranged_video(), again)
    failed(url, tmp_path)
    fetched(url, tmp_path)
    assert (tmp_path / "video.mp4").read_bytes() == VIDEO
    assert web.visits[-1].headers["Range"] == "bytes=60000-"


def test_options_hidden_in_an_address_are_not_taken(web: Web, tmp_path: Path) -> None:
    url = web.put("/clip.mp4", w.video())
    fetched(url + "#__youtubedl_smuggle=%7B%22referer%22%3A+%22http%3A%2F%2Fevil%2F%22%7D", tmp_path)
    assert all(visit.headers.get("Referer") is None for visit in web.visits)


def test_the_user_s_cookies_are_sent_and_never_rewritten(web: Web, tmp_path: Path) -> None:
    jar = tmp_path / "cookies.txt"
    jar.write_text("# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\tabc\n")
    before = jar.read_bytes()
    (tmp_path / "out").mkdir()
    url = web.put("/clip.mp4", lambda visit: visit.reply(200, VIDEO, "video/mp4", Set_Cookie="session=other"))
    fetched(url, tmp_path / "out", cookies_file=str(jar))
    assert web.visits[0].headers["Cookie"] == "session=abc"
    assert jar.read_bytes() == before


# ----------------------------------------------------------------------------------------- pages and lists

PLAYER = """<html><title>How to save</title><body><video width="640" src="/media/clip.mp4">
<track kind="subtitles" src="/media/de.vtt" srclang="de"><track kind="subtitles" src="/media/en.vtt" srclang="en">
</video></body></html>"""


def test_a_page_with_a_player_and_its_subtitles(web: Web, tmp_path: Path) -> None:
    web.put("/media/clip.mp4", w.video())
    web.put("/media/en.vtt", w.page(CAPTIONS, "text/vtt"))
    got = fetched(web.put("/watch", w.page(PLAYER)), tmp_path)
    assert got.caption == Captions(f"{web.url}/media/en.vtt", "en", automatic=False)
    assert got.facts.title == "How to save"
    assert (tmp_path / CAPTIONS_FILE).read_text() == CAPTIONS
    assert web.count("/media/de.vtt") == 0, "only the wanted language is asked for"


def test_the_wanted_language_is_taken(web: Web, tmp_path: Path) -> None:
    web.put("/media/clip.mp4", w.video())
    web.put("/media/de.vtt", w.page(CAPTIONS, "text/vtt"))
    got = fetched(web.put("/watch", w.page(PLAYER)), tmp_path, languages=("de",))
    assert got.caption is not None
    assert got.caption.language == "de"


def test_a_page_of_several_videos_is_no_video(web: Web, tmp_path: Path) -> None:
    page = "".join(f'<video src="/{n}.mp4"></video>' for n in range(3))
    failure = failed(web.put("/list", w.page(f"<html><body>{page}</body></html>")), tmp_path)
    assert failure.failure == "unsupported"
    assert "several videos" in failure.message
    assert not any(web.count(f"/{n}.mp4") for n in range(3))


def test_segments_of_a_playlist_become_one_file(web: Web, tmp_path: Path) -> None:
    segments = [bytes([0x47, n]) * 500 for n in range(3)]
    for n, segment in enumerate(segments):
        web.put(f"/s{n}.ts", w.video(segment, "video/mp2t"))
    entries = "".join(f"#EXTINF:2.0,\ns{n}.ts\n" for n in range(3))
    playlist = f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n{entries}#EXT-X-ENDLIST\n"
    url = web.put("/clip.m3u8", w.page(playlist, "application/x-mpegurl"))
    fetched(url, tmp_path)
    assert (tmp_path / "video.mp4").read_bytes() == b"".join(segments)
    web.put("/s1.ts", w.status(503), w.video(segments[1], "video/mp2t"))
    (tmp_path / "second").mkdir()
    assert failed(url, tmp_path / "second").failure == "network", "a hole is not filled in silence"
    fetched(url, tmp_path / "second")
    assert (tmp_path / "second" / "video.mp4").read_bytes() == b"".join(segments)
    assert [web.count(f"/s{n}.ts") for n in range(3)] == [2, 3, 2], "a second attempt goes on behind the first segment"
    web.put("/s1.ts", w.endless("video/mp2t"))
    (tmp_path / "third").mkdir()
    assert failed(url, tmp_path / "third", max_bytes=1_000_000).failure == "too_large"


# ------------------------------------------------------------------------------------------------ captions


def test_the_row_s_captions_serve_where_the_site_tells_of_none(web: Web, tmp_path: Path) -> None:
    known = Captions(web.put("/known.srt", w.page(CAPTIONS, "text/plain")), "en", automatic=True)
    got = fetched(web.put("/clip.mp4", w.video()), tmp_path, known_captions=(known,))
    assert got.caption == known
    assert (tmp_path / CAPTIONS_FILE).read_text() == CAPTIONS


@pytest.mark.parametrize(
    "captions",
    [
        w.status(404), w.status(403), w.page("<html>no</html>"), w.page(""), w.page('{"events": []}'),
        w.video(b" " * 11_000_000, "text/vtt"),
    ],
)  # fmt: skip
def test_captions_that_cannot_be_had_are_none(web: Web, tmp_path: Path, captions: Answer) -> None:
    known = Captions(web.put("/known.vtt", captions), "en")
    got = fetched(web.put("/clip.mp4", w.video()), tmp_path, known_captions=(known,))
    assert got.caption is None
    assert not (tmp_path / CAPTIONS_FILE).exists()


def test_captions_that_another_time_may_bring_make_the_video_wait(web: Web, tmp_path: Path) -> None:
    known = Captions(web.put("/known.vtt", w.status(429, Retry_After="9")), "en")
    got = answer(request(web.put("/clip.mp4", w.video()), tmp_path, known_captions=(known,)))
    assert isinstance(got, Failed)
    assert (got.failure, got.retry_after) == ("rate_limited", 9)
    assert web.count("/clip.mp4") == 1, "it was looked at and not fetched"


# ------------------------------------------------------------------------------------------- like YouTube


def youtube_like(web: Web) -> dict[str, object]:
    """An info dict in the shape of YouTube's: separate streams, automatic captions in every language."""
    for name in ("low", "sharp", "huge", "sound"):
        web.put(f"/{name}", w.video(VIDEO + name.encode()))
    web.put("/orig", w.page(CAPTIONS, "text/vtt"))
    video = {"acodec": "none", "vcodec": "avc1.64", "ext": "mp4", "protocol": "https"}
    return {
        "id": "dQw4w9WgXcQ", "extractor": "youtube", "extractor_key": "Youtube", "title": "How to save a file",
        "webpage_url": "https://www.youtube.com/watch?v=dQw4w9WgXcQ", "duration": 61, "channel": "Tutorials",
        "language": "de", "tags": ["save"], "categories": ["Education"], "live_status": "not_live",
        "chapters": [{"title": "Start", "start_time": 0, "end_time": 61}],
        "formats": [
            {"format_id": "140", "url": f"{web.url}/sound", "ext": "m4a", "vcodec": "none", "acodec": "mp4a"},
            {"format_id": "18", "url": f"{web.url}/low", **video, "acodec": "mp4a", "width": 640, "height": 360},
            {"format_id": "137", "url": f"{web.url}/sharp", **video, "width": 1920, "height": 1080},
            {"format_id": "313", "url": f"{web.url}/huge", **video, "width": 3840, "height": 2160},
        ],
        "subtitles": {"live_chat": [{"url": f"{web.url}/chat", "ext": "json"}]},
        "automatic_captions": {
            language: [{"ext": ending, "url": f"{web.url}/{page}?fmt={ending}"} for ending in ("json3", "vtt")]
            for language, page in [("aa", "translated"), ("de-orig", "orig"), ("de", "orig"), ("en", "translated")]
        },
    }  # fmt: skip


def test_a_video_described_like_youtube_s(web: Web, tmp_path: Path) -> None:
    wanted = request("https://www.youtube.com/watch?v=dQw4w9WgXcQ", tmp_path)
    with open_downloader(wanted) as downloader:
        info = downloader.process_ie_result(youtube_like(web), download=False)
        got = fetch_described(downloader, info, wanted)
    assert (tmp_path / "video.mp4").read_bytes() == VIDEO + b"sharp"
    assert got.caption == Captions(f"{web.url}/orig?fmt=vtt", "de", automatic=True)
    assert (tmp_path / CAPTIONS_FILE).read_text() == CAPTIONS
    assert (got.facts.title, got.facts.channel, got.facts.language) == ("How to save a file", "Tutorials", "de")
    assert [visit.path for visit in web.visits] == ["/orig?fmt=vtt", "/sharp"], "one stream and one language"


@pytest.mark.parametrize("live", [{"is_live": True}, {"live_status": "is_live"}, {"live_status": "is_upcoming"}])
def test_what_is_live_is_not_waited_for(web: Web, tmp_path: Path, live: dict[str, object]) -> None:
    wanted = request("https://www.youtube.com/watch?v=dQw4w9WgXcQ", tmp_path)
    with open_downloader(wanted) as downloader:
        info = downloader.process_ie_result(youtube_like(web), download=False) | live
        with pytest.raises(Exception, match="is live or not yet shown"):
            fetch_described(downloader, info, wanted)
    assert web.visits == []


def test_nothing_of_this_machine_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, web: Web) -> None:
    wanted = request("http://x/", tmp_path)
    options = options_for(wanted)
    assert options["cachedir"] is False
    assert options["js_runtimes"] == {}
    assert not {"config_locations", "cookiesfrombrowser", "usenetrc", "postprocessors", "exec_cmd"} & set(options)
    with open_downloader(wanted) as downloader:
        assert set(downloader._request_director.handlers) == {"Urllib"}


def test_compressed_pages_are_read(web: Web, tmp_path: Path) -> None:
    web.put("/media/clip.mp4", w.video())
    body = gzip.compress(PLAYER.encode())
    url = web.put("/watch", lambda visit: visit.reply(200, body, "text/html", Content_Encoding="gzip"))
    assert fetched(url, tmp_path).facts.title == "How to save"
