"""The process that fetches one video with yt-dlp: ``python -m video2gui.fetch.worker``, a request on its input.

It is a process so that it can be killed at a deadline, has its own bounds on memory, network and programs, and
finds no configuration: its home is the folder it works in. It ends with its parent.
"""

from __future__ import annotations

import hashlib
import io
import os
import resource
import sys
import threading
import traceback
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

from video2gui import codec
from video2gui.errors import FetchError, load_extra
from video2gui.fetch.facts import facts_of
from video2gui.fetch.formats import choose_format
from video2gui.fetch.kinds import failure_of
from video2gui.fetch.messages import CAPTIONS_FILE, REPLY_FILE, Bug, Failed, Fetched, Reply, Request, VideoEnding
from video2gui.fetch.restrict import restrict
from video2gui.fetch.tracks import choose_track
from video2gui.schema import Captions
from video2gui.timebase import s_from_ns

_MAX_CAPTION_BYTES = 10_000_000


def main() -> None:
    """Read the request, fetch, leave the reply as the folder's last new file."""
    request = codec.loads(Request, sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    resource.setrlimit(resource.RLIMIT_AS, (request.max_memory_bytes, request.max_memory_bytes))
    proxies = (request.proxy,) if request.proxy else tuple(urllib.request.getproxies().values())
    program = None if request.js_runtime == "none" else request.js_runtime
    restrict(request.reach, program=program, proxies=proxies)
    reply = Path(request.folder, REPLY_FILE)
    aside = reply.with_suffix(".tmp")
    aside.write_text(codec.dumps(Reply(answer(request))), encoding="utf-8")
    aside.rename(reply)


def _end_with_parent() -> None:
    sys.stdin.read()  # nothing more is written to it: it ends when the parent does
    os._exit(1)


def answer(request: Request) -> Fetched | Failed | Bug:
    """Fetch, and put what came of it into words that cross the border."""
    try:
        return _fetch(request)
    except FetchError as error:
        return Failed(error.kind, error.message, error.retry_after_s)
    except MemoryError:
        return Failed("too_large", f"{request.url} needs more memory to read than allowed", None)
    except Exception:  # noqa: BLE001 - a bug crosses the border as text and is raised again by the parent
        return Bug(traceback.format_exc())


def _fetch(request: Request) -> Fetched:
    with open_downloader(request) as downloader:
        return fetch_described(downloader, _extract(downloader, request), request)


def fetch_described(downloader: Any, info: dict[str, Any], request: Request) -> Fetched:
    """Fetch what yt-dlp has described (an info dict with a format chosen) into the request's folder.

    Raises:
        FetchError: as `_extract`.
    """
    if info.get("is_live") or info.get("live_status") in ("is_live", "is_upcoming"):
        raise FetchError(f"{request.url} is live or not yet shown", kind="unsupported", address=request.url)
    # captions first: they are small, and sites limit them more than videos
    caption = _fetch_captions(downloader, info, request)
    return Fetched(_download(downloader, info, request), caption, facts_of(info))


def open_downloader(request: Request) -> Any:
    """yt-dlp with our parameters and one way to the network, the standard library's, whatever else is installed."""
    yt_dlp = load_extra("yt_dlp", "fetch")

    class Downloader(yt_dlp.YoutubeDL):  # type: ignore[misc, name-defined]
        def build_request_director(self, handlers: Any, preferences: Any = None) -> Any:
            return super().build_request_director([h for h in handlers if h.RH_KEY == "Urllib"], preferences)

    return Downloader(options_for(request))


class _Silent:
    """What yt-dlp prints is for its own users; its errors come as exceptions."""

    def debug(self, message: str) -> None: ...

    warning = error = debug


def options_for(request: Request) -> dict[str, Any]:
    """yt-dlp's parameters."""

    def choose(context: Mapping[str, Any]) -> Iterator[Any]:
        formats = list(context["formats"])
        limits = {"max_height_px": request.max_height_px, "max_bytes": request.max_bytes}
        yield formats[choose_format(formats, url=request.url, **limits)]

    return {
        "format": choose,
        "progress_hooks": [_size_guard(request)],
        "socket_timeout": s_from_ns(request.stall_ns),
        # trying again is the caller's business alone
        "retries": 0,
        "extractor_retries": 0,
        "fragment_retries": 0,
        "file_access_retries": 0,
        "skip_unavailable_fragments": False,
        # one video, whole, and its captions told of
        "noplaylist": True,
        "playlist_items": "1:2",
        "extract_flat": "in_playlist",
        "writesubtitles": True,
        "writeautomaticsub": True,
        # nothing of this machine
        "cachedir": False,
        "enable_file_urls": False,
        "external_downloader": "native",
        "hls_prefer_native": True,
        "js_runtimes": {} if request.js_runtime == "none" else {request.js_runtime: {}},
        "cookiefile": _cookies(request.cookies_file),
        "proxy": request.proxy,
        "geo_bypass": False,
        "updatetime": False,
        "quiet": True,
        "noprogress": True,
        "logger": _Silent(),
    }


def _cookies(path: str | None) -> io.StringIO | None:
    """The cookies in memory, because yt-dlp writes them back when it ends."""
    return None if path is None else io.StringIO(Path(path).read_text("utf-8"))


def _size_guard(request: Request) -> Any:
    def check(progress: Mapping[str, Any]) -> None:
        done, total = progress.get("downloaded_bytes") or 0, progress.get("total_bytes") or 0
        if max(done, total) > request.max_bytes:
            raise FetchError(
                f"{request.url} is larger than {request.max_bytes / 1e6:.0f} MB", kind="too_large", address=request.url
            )

    return check


def _extract(downloader: Any, request: Request) -> dict[str, Any]:
    url = request.url.partition("#__youtubedl_smuggle")[0]  # yt-dlp's private way to pass options in an address
    try:
        info = downloader.extract_info(url, download=False)
    except Exception as error:
        # the extractors are written against pages that change and may be hostile: whatever they raise says that
        # this page could not be read
        raise failure_of(error, request.url, extracted=False) from error
    if info is None or info.get("_type", "video") != "video":
        raise FetchError(
            f"{request.url} holds several videos or none, not one", kind="unsupported", address=request.url
        )
    return dict(info)


def _download(downloader: Any, info: dict[str, Any], request: Request) -> VideoEnding:
    """Download the chosen format; its ending is one of ours, whatever the site calls it.

    A second attempt in the same folder goes on where the first stopped, but never behind another format's start.
    """
    ending = cast(VideoEnding, info["ext"] if info.get("ext") in get_args(VideoEnding) else "bin")
    same = repr([info.get(name) for name in ("extractor_key", "id", "format_id", "filesize", "ext")])
    target = Path(request.folder, f"{hashlib.sha256(same.encode()).hexdigest()[:16]}.{ending}")
    try:
        done, _ = downloader.dl(str(target), info)
    except Exception as error:
        # as above: downloaders follow what the site told them
        raise failure_of(error, request.url, extracted=True) from error
    if not done or not target.is_file():
        raise FetchError(f"{request.url} gave no data", kind="network", address=request.url)
    target.rename(target.with_name(f"video.{ending}"))
    return ending


# ---------------------------------------------------------------------------------------------- captions


def _fetch_captions(downloader: Any, info: Mapping[str, Any], request: Request) -> Captions | None:
    """Fetch the one track that is wanted. None: there is none, or it is not there or no text of captions.

    Raises:
        FetchError: only what another time may cure, because a video without its captions is not whole.
    """
    offered = [*_offered(info, automatic=False), *_offered(info, automatic=True)]
    language = info.get("language")
    languages = request.languages or ((language,) if isinstance(language, str) and language else ())
    track = choose_track(offered or request.known_captions, languages)
    if track is None:
        return None
    try:
        with downloader.urlopen(track.url) as response:
            text = response.read(_MAX_CAPTION_BYTES + 1)
    except Exception as error:
        # as above: the address is the site's
        failure = failure_of(error, track.url, extracted=False)
        if failure.retryable:
            raise failure from error
        return None
    if len(text) > _MAX_CAPTION_BYTES or text.lstrip()[:1] in (b"", b"<", b"{"):
        return None
    Path(request.folder, CAPTIONS_FILE).write_bytes(text)
    return replace(track, language=track.language.removesuffix("-orig") if track.language else None)


def _offered(info: Mapping[str, Any], *, automatic: bool) -> Iterator[Captions]:
    """The tracks that can be had as WebVTT or SubRip over plain HTTP, one address each."""
    tracks = info.get("automatic_captions" if automatic else "subtitles")
    for language, forms in (tracks or {}).items():
        found = {
            form.get("ext"): form["url"]
            for form in reversed(forms or ())
            if str(form.get("url", "")).startswith(("http://", "https://"))
            and not str(form.get("protocol", "")).startswith("m3u8")
        }
        for ending in ("vtt", "srt", "unknown_video"):
            if language != "live_chat" and ending in found:
                yield Captions(found[ending], str(language), automatic)
                break


if __name__ == "__main__":
    main()
