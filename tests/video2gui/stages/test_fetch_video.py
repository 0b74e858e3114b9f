"""The stage: whole or not at all, never twice, tried again only where that helps, in a process that ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.video2gui import web as w
from tests.video2gui.web import VIDEO, Web, serve
from video2gui.config import FetchSettings
from video2gui.errors import FetchError, FetchKind
from video2gui.fetch.local import sha256_of
from video2gui.fetch.pace import Clock
from video2gui.schema import CaptionFile, Captions, VideoMeta
from video2gui.stages.fetch_video import fetch_video
from video2gui.timebase import NS_PER_S

CAPTIONS = "WEBVTT\n\n00:01.000 --> 00:02.000\nClick save.\n"
SETTINGS = FetchSettings(pause_ns=0, cool_down_ns=0, stall_ns=10 * NS_PER_S, attempts=1)


@pytest.fixture
def web() -> Iterator[Web]:
    with serve() as web:
        yield web


@dataclass
class Hand:
    """A clock that moves when somebody sleeps."""

    now_ns: int = 1_000 * NS_PER_S
    slept_s: list[float] = field(default_factory=list)

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now_ns, self.sleep)

    def sleep(self, ns: int) -> None:
        self.slept_s.append(ns / NS_PER_S)
        self.now_ns += ns


def row(url: str, **more: object) -> VideoMeta:
    return VideoMeta("clip_1", "clip/1", url, "rows.jsonl:7", **more)  # type: ignore[arg-type]


def failure(meta: VideoMeta, into: Path, settings: FetchSettings = SETTINGS, **more: object) -> FetchError:
    with pytest.raises(FetchError) as caught:
        fetch_video(meta, into, settings, local_root=None, **more)  # type: ignore[arg-type]
    return caught.value


def seen(into: Path) -> list[str]:
    """What anybody sees below the folder; the work of those who fetch is hidden."""
    return sorted(
        str(path.relative_to(into)) for path in into.rglob("*") if path.is_file() and ".work" not in path.parts
    )


def work_left(into: Path) -> list[str]:
    return [path.name for path in (into / ".work").iterdir() if not path.name.startswith("host-")]


# ------------------------------------------------------------------------------------------------- local


def test_a_local_file_is_used_where_it_lies(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.mp4").write_bytes(VIDEO)
    for name in ("de.vtt", "en.vtt"):
        (root / name).write_text(CAPTIONS)
    tracks = (Captions("de.vtt", "de"), Captions("en.vtt", "en"), Captions("https://video.example/en.vtt", "en"))
    meta = row("a.mp4", language="en", captions=tracks)
    got = fetch_video(meta, tmp_path / "into", SETTINGS, local_root=root)
    assert got.meta == meta
    assert (got.ref, got.size_bytes, got.sha256) == (str(root / "a.mp4"), len(VIDEO), sha256_of(root / "a.mp4"))
    assert got.captions == (CaptionFile(str(root / "en.vtt"), "en"),)
    assert not (tmp_path / "into").exists()


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("../a.mp4", "outside_root"), ("none.mp4", "outside_root"), ("gs://bucket/a.mp4", "unsupported"),
        ("ytsearch:cats", "unsupported"), ("ftp://x.example/a.mp4", "unsupported"), ("data:video/mp4,x", "unsupported"),
        ("http://[bad", "unsupported"), ("http:///a.mp4", "unsupported"), ("http:a.mp4", "unsupported"),
        ("http://x/\ud800", "unsupported"), ("http://x/\n", "unsupported"), ("http://x/" + "y" * 5000, "unsupported"),
        ("javascript:alert(1)", "unsupported"),
    ],
)  # fmt: skip
def test_addresses_that_are_not_asked_for(tmp_path: Path, url: str, kind: FetchKind) -> None:
    error = failure(row(url), tmp_path)
    assert error.kind == kind
    assert error.address.startswith(url[:8])
    assert str(error).encode()
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------------------- whole, and once


def test_a_video_is_fetched_whole_with_captions_and_facts_and_never_again(web: Web, tmp_path: Path) -> None:
    web.put("/clip.mp4", w.video())
    web.put("/en.vtt", w.page(CAPTIONS, "text/vtt"))
    page = '<html><title>Save</title><video src="/clip.mp4"><track src="/en.vtt" srclang="en"></video>'
    meta = row(web.put("/watch", w.page(page)), title="The row's")
    got = fetch_video(meta, tmp_path, SETTINGS, local_root=None)
    assert seen(tmp_path) == ["clip_1/captions.vtt", "clip_1/record.json", "clip_1/video.mp4"]
    assert Path(got.ref) == tmp_path / "clip_1" / "video.mp4"
    assert Path(got.ref).read_bytes() == VIDEO
    assert (got.sha256, got.size_bytes) == (sha256_of(Path(got.ref)), len(VIDEO))
    assert got.captions == (CaptionFile(str(tmp_path / "clip_1" / "captions.vtt"), "en"),)
    assert Path(got.captions[0].ref).read_text() == CAPTIONS
    assert got.meta.title == "The row's"
    assert work_left(tmp_path) == []
    visits = len(web.visits)
    assert fetch_video(meta, tmp_path, SETTINGS, local_root=None) == got
    assert len(web.visits) == visits


def test_what_is_not_whole_any_more_is_fetched_again(web: Web, tmp_path: Path) -> None:
    meta = row(web.put("/clip.mp4", w.video()))
    got = fetch_video(meta, tmp_path, SETTINGS, local_root=None)
    os.truncate(got.ref, 1000)
    assert fetch_video(meta, tmp_path, SETTINGS, local_root=None) == got
    assert Path(got.ref).read_bytes() == VIDEO


def test_another_address_or_another_wish_under_the_same_id_is_fetched_anew(web: Web, tmp_path: Path) -> None:
    first = row(web.put("/first.mp4", w.video()))
    second = row(web.put("/second.mp4", w.video(VIDEO + b"2")))
    fetch_video(first, tmp_path, SETTINGS, local_root=None)
    assert Path(fetch_video(second, tmp_path, SETTINGS, local_root=None).ref).read_bytes() == VIDEO + b"2"
    fetch_video(second, tmp_path, replace(SETTINGS, max_height_px=720), local_root=None)
    assert web.count("/second.mp4") == 4, "a look and a fetch, twice"
    assert work_left(tmp_path) == []


def test_a_smaller_limit_holds_for_what_is_there_already(web: Web, tmp_path: Path) -> None:
    meta = row(web.put("/clip.mp4", w.video()))
    fetch_video(meta, tmp_path, SETTINGS, local_root=None)
    assert failure(meta, tmp_path, replace(SETTINGS, max_bytes=1000)).kind == "too_large"


def test_what_only_says_it_is_a_video_is_not_kept(web: Web, tmp_path: Path) -> None:
    error = failure(row(web.put("/clip.mp4", w.video(b"<html>moved</html>"))), tmp_path)
    assert (error.kind, str(error)) == ("not_a_video", f"{web.url}/clip.mp4 is a web page, not a video")
    assert (seen(tmp_path), work_left(tmp_path)) == ([], [])


def test_those_who_want_the_same_video_at_once_get_one(web: Web, tmp_path: Path) -> None:
    meta = row(web.put("/clip.mp4", w.video()))
    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(fetch_video, meta, tmp_path, SETTINGS, local_root=None) for _ in range(3)]
        got = [job.result() for job in jobs]
    assert got[0] == got[1] == got[2]
    assert web.count("/clip.mp4") == 2, "a look and a fetch"
    assert work_left(tmp_path) == []


def test_who_waits_for_another_waits_no_longer_than_its_deadline(web: Web, tmp_path: Path) -> None:
    meta, hand = row(web.put("/clip.mp4", w.video())), Hand()
    (tmp_path / ".work").mkdir()
    code = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print(flush=True); sys.stdin.read()"
    path = str(tmp_path / ".work" / "clip_1.lock")
    with subprocess.Popen([sys.executable, "-c", code, path], stdin=-1, stdout=-1) as other:
        assert other.stdout is not None
        other.stdout.readline()
        error = failure(meta, tmp_path, replace(SETTINGS, deadline_ns=5 * NS_PER_S), clock=hand.clock)
        other.kill()
    assert "still being fetched by another process" in str(error)
    assert (error.kind, round(sum(hand.slept_s)), web.visits) == ("network", 5, [])
    fetch_video(meta, tmp_path, SETTINGS, local_root=None)


# ---------------------------------------------------------------------------------------------- trying again


def test_a_bad_connection_is_tried_again(web: Web, tmp_path: Path) -> None:
    broken = w.broken_off(VIDEO[:5000], len(VIDEO), reset=True)
    meta = row(web.put("/clip.mp4", w.status(500), w.video(), broken, w.video()))
    hand = Hand()
    settings = replace(SETTINGS, attempts=3, pause_ns=NS_PER_S)
    got = fetch_video(meta, tmp_path, settings, local_root=None, clock=hand.clock)
    assert Path(got.ref).read_bytes() == VIDEO
    assert hand.slept_s == [2, 4]


def test_too_many_requests_pause_for_as_long_as_the_server_asks(web: Web, tmp_path: Path) -> None:
    meta = row(web.put("/clip.mp4", w.status(429, Retry_After="17"), w.status(429), w.video()))
    hand = Hand()
    settings = replace(SETTINGS, attempts=3, cool_down_ns=60 * NS_PER_S)
    fetch_video(meta, tmp_path, settings, local_root=None, clock=hand.clock)
    assert hand.slept_s == [17, 60]


def test_a_pause_beyond_the_deadline_ends_it_and_spares_the_host_for_others(web: Web, tmp_path: Path) -> None:
    meta = row(web.put("/clip.mp4", w.status(429, Retry_After="3600"), w.video()))
    hand = Hand()
    settings = replace(SETTINGS, attempts=3)
    error = failure(meta, tmp_path, settings, clock=hand.clock, pace_folder=tmp_path / "pace")
    assert (error.kind, error.retryable, error.retry_after_s) == ("rate_limited", True, 3600)
    other = replace(meta, video_id="other", url=web.put("/other.mp4", w.video()))
    hand.now_ns += 1000 * NS_PER_S
    error = failure(other, tmp_path / "elsewhere", settings, clock=hand.clock, pace_folder=tmp_path / "pace")
    assert (error.kind, error.retry_after_s) == ("rate_limited", 2600)
    assert (web.count("/other.mp4"), hand.slept_s) == (0, [])


@pytest.mark.parametrize(("code", "kind"), [(404, "gone"), (403, "private")])
def test_what_no_other_time_will_cure_is_asked_once(web: Web, tmp_path: Path, code: int, kind: FetchKind) -> None:
    error = failure(row(web.put("/clip.mp4", w.status(code))), tmp_path, replace(SETTINGS, attempts=3))
    assert (error.kind, error.retryable, len(web.visits)) == (kind, False, 1)


def test_the_last_attempt_says_why(web: Web, tmp_path: Path) -> None:
    error = failure(row(web.put("/clip.mp4", w.status(502))), tmp_path, replace(SETTINGS, attempts=2))
    assert (error.kind, error.retryable, len(web.visits)) == ("network", True, 2)
    assert "HTTP 502" in str(error)


# ------------------------------------------------------------------------------------- the process that fetches


def test_a_server_that_dribbles_for_ever_is_left_at_the_deadline(web: Web, tmp_path: Path) -> None:
    def dribble(visit: w.Visit) -> None:
        visit.start(200, {"Content-Type": "video/mp4", "Content-Length": str(len(VIDEO))})
        for number in range(1000):
            visit.wfile.write(VIDEO[number : number + 1])
            visit.wfile.flush()
            if visit.server.web.stop.wait(0.05):
                return

    meta = row(web.put("/clip.mp4", w.video(), dribble))
    error = failure(meta, tmp_path, replace(SETTINGS, deadline_ns=4 * NS_PER_S))
    assert error.kind == "network"
    assert "took longer than" in str(error)
    assert (seen(tmp_path), work_left(tmp_path)) == ([], [])


def test_a_redirect_into_a_private_network_is_not_followed(web: Web, tmp_path: Path) -> None:
    error = failure(row(web.put("/clip.mp4", w.redirect("http://169.254.169.254/latest/meta-data"))), tmp_path)
    assert error.kind == "private_host"
    assert "allow_private_hosts" in str(error)


def test_a_page_that_unpacks_to_gigabytes_ends_with_the_process(web: Web, tmp_path: Path) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    bomb = head + block * 2000
    meta = row(web.put("/watch", lambda visit: visit.reply(200, bomb, "text/html", Content_Encoding="gzip")))
    error = failure(meta, tmp_path)
    assert error.kind == "too_large"
    assert "memory" in str(error)


def test_the_process_has_no_home_and_no_settings(web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / ".config" / "yt-dlp" / "plugins" / "p" / "yt_dlp_plugins" / "extractor").mkdir(parents=True)
    (home / ".config" / "yt-dlp" / "config").write_text("--user-agent from-config\n")
    plugin = home / ".config" / "yt-dlp" / "plugins" / "p" / "yt_dlp_plugins" / "extractor" / "evil.py"
    plugin.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (home / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("API_TOKEN", "secret")
    before = sorted(home.rglob("*"))
    fetch_video(row(web.put("/clip.mp4", w.video())), tmp_path / "into", SETTINGS, local_root=None)
    assert not (tmp_path / "ran").exists()
    assert sorted(home.rglob("*")) == before
    assert all("Authorization" not in visit.headers for visit in web.visits)
    assert all(visit.headers["User-Agent"] != "from-config" for visit in web.visits)


def test_a_killed_job_leaves_nothing_that_looks_whole_and_no_process(web: Web, tmp_path: Path) -> None:
    meta = row(web.put("/clip.mp4", w.video(), w.stalled(VIDEO[:50_000]), w.video()))
    code = (
        "import json, sys; from pathlib import Path; from video2gui.config import FetchSettings\n"
        "from video2gui.schema import VideoMeta; from video2gui.stages.fetch_video import fetch_video\n"
        f"fetch_video(VideoMeta('clip_1', 'clip/1', {meta.url!r}, 'rows.jsonl:7'), Path({str(tmp_path)!r}),"
        " FetchSettings(), local_root=None)"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as job:
        assert _until(lambda: list(tmp_path.glob(".work/clip_1.*/*.part")))
        worker = _child_of(job.pid)
        job.send_signal(signal.SIGKILL)
    assert _until(lambda: not _runs(worker))
    assert seen(tmp_path) == []
    got = fetch_video(meta, tmp_path, SETTINGS, local_root=None)
    assert Path(got.ref).read_bytes() == VIDEO
    assert work_left(tmp_path) == []


def _until(condition: object) -> bool:
    """Whether a condition on other processes comes true within a generous time."""
    for _ in range(600):
        if condition():  # type: ignore[operator]
            return True
        threading.Event().wait(0.05)
    return False


def _child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def _runs(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_the_record_holds_no_path_of_this_machine(web: Web, tmp_path: Path) -> None:
    fetch_video(row(web.put("/clip.mp4", w.video())), tmp_path / "into", SETTINGS, local_root=None)
    text = (tmp_path / "into" / "clip_1" / "record.json").read_text()
    assert str(tmp_path) not in text
    assert json.loads(text)["video"] == {
        "name": "video.mp4",
        "size_bytes": len(VIDEO),
        "sha256": sha256_of(tmp_path / "into" / "clip_1" / "video.mp4"),
    }
