"""Have the video of one row, with its captions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from video2gui import config
from video2gui.config import FetchSettings
from video2gui.errors import FetchError
from video2gui.fetch.child import fetch_in_child
from video2gui.fetch.facts import add_facts
from video2gui.fetch.local import check_is_video, is_local, resolve_local, sha256_of
from video2gui.fetch.messages import CAPTIONS_FILE, Fetched, Request
from video2gui.fetch.pace import SYSTEM_CLOCK, Clock, Pace
from video2gui.fetch.restrict import reach_of
from video2gui.fetch.store import Record, Store, StoredFile
from video2gui.fetch.tracks import choose_track
from video2gui.schema import CaptionFile, FetchedVideo, VideoMeta
from video2gui.timebase import NS_PER_S

#: Of the fetching process; a page or a segment is read into it, a video never.
_MEMORY_BYTES = 1 << 30

_MAX_URL_BYTES = 4096


def fetch_video(
    meta: VideoMeta,
    into: Path,
    settings: FetchSettings,
    *,
    local_root: Path | None,
    pace_folder: Path | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> FetchedVideo:
    """Have the video of `meta`, whole, in its own folder below `into`; what is there already is not fetched again.

    A path or ``file:`` URL (below `local_root` only) is used where it lies. One caption track is taken along, and
    what the site says fills the fields that the row left open. All who share `pace_folder` (`into` by default) are
    polite together.

    Raises:
        FetchError: its `kind` says why, `retryable` whether another time may help.
        MissingExtraError: yt-dlp is not installed.
    """
    if is_local(meta.url):
        return _use_local(meta, settings, local_root)
    _check_web_address(meta.url)
    store = Store(into.absolute())
    wanted = config.digest(settings.max_height_px, settings.caption_languages)
    until_ns = clock.now_ns() + settings.deadline_ns
    with store.locked(meta.video_id, meta.url, clock, until_ns):
        record = store.find(meta.video_id)
        if record is None or (record.url, record.request) != (meta.url, wanted):
            pace = Pace(pace_folder or store.work, settings.pause_ns, clock)
            record = _fetch(meta, store, settings, wanted, pace, until_ns)
    return _fetched(meta, store, record, settings, local_root)


def _check_web_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        well_formed = len(url.encode()) <= _MAX_URL_BYTES and url.isprintable() and bool(parts.hostname)
    except ValueError:  # no UTF-8, or half a bracket
        well_formed = False
    if not well_formed or parts.scheme not in ("http", "https"):
        shown = ascii(url[:80]).strip("'")
        raise FetchError(f"{shown} is neither a web address nor a local file", kind="unsupported", address=shown)


def _use_local(meta: VideoMeta, settings: FetchSettings, local_root: Path | None) -> FetchedVideo:
    path = resolve_local(meta.url, local_root)
    check_is_video(path, meta.url, settings.max_bytes)
    captions = _local_captions(meta, settings, local_root)
    return FetchedVideo(meta, str(path), sha256_of(path), path.stat().st_size, captions)


def _local_captions(meta: VideoMeta, settings: FetchSettings, local_root: Path | None) -> tuple[CaptionFile, ...]:
    tracks = [track for track in meta.captions or () if is_local(track.url)]
    track = choose_track(tracks, _languages(meta, settings))
    if track is None:
        return ()
    return (CaptionFile(str(resolve_local(track.url, local_root)), track.language, track.automatic),)


def _languages(meta: VideoMeta, settings: FetchSettings) -> tuple[str, ...]:
    return settings.caption_languages or ((meta.language,) if meta.language else ())


def _fetch(meta: VideoMeta, store: Store, settings: FetchSettings, wanted: str, pace: Pace, until_ns: int) -> Record:
    with store.new_folder(meta.video_id) as folder:
        fetched = _try(_request(meta, folder, settings), settings, pace, until_ns)
        video = folder / f"video.{fetched.ending}"
        check_is_video(video, meta.url, settings.max_bytes)
        caption = fetched.caption
        record = Record(
            url=meta.url,
            request=wanted,
            video=_stored(video),
            facts=fetched.facts,
            caption_file=_stored(folder / CAPTIONS_FILE) if caption else None,
            caption=CaptionFile(CAPTIONS_FILE, caption.language, caption.automatic) if caption else None,
        )
        store.publish(meta.video_id, folder, record)
    return record


def _try(request: Request, settings: FetchSettings, pace: Pace, until_ns: int) -> Fetched:
    """Try as often as the settings allow and the failure makes sense of. All trying again is here."""
    clock, attempt = pace.clock, 0
    while True:
        attempt += 1
        pace.wait_turn(request.url, until_ns)
        try:
            return fetch_in_child(request, max(1, until_ns - clock.now_ns()))
        except FetchError as error:
            if not error.retryable:
                raise
            pause_ns = _pause_ns(error, settings, attempt)
            pace.cool_down(request.url, pause_ns)
            if attempt == settings.attempts or clock.now_ns() + pause_ns >= until_ns:
                raise


def _pause_ns(error: FetchError, settings: FetchSettings, attempt: int) -> int:
    """How long the host is left alone: as it asked, or for the cool-down; a bad connection rests briefly."""
    if error.retry_after_s is not None:
        return round(error.retry_after_s * NS_PER_S)
    return settings.cool_down_ns if error.kind == "rate_limited" else settings.pause_ns * 2**attempt


def _request(meta: VideoMeta, folder: Path, settings: FetchSettings) -> Request:
    return Request(
        url=meta.url,
        folder=str(folder),
        max_height_px=settings.max_height_px,
        max_bytes=settings.max_bytes,
        stall_ns=settings.stall_ns,
        languages=_languages(meta, settings),
        known_captions=tuple(track for track in meta.captions or () if not is_local(track.url)),
        reach=reach_of(meta.url, allow_private_hosts=settings.allow_private_hosts),
        js_runtime=settings.js_runtime,
        max_memory_bytes=_MEMORY_BYTES,
        proxy=settings.proxy,
        cookies_file=settings.cookies_file,
    )


def _stored(path: Path) -> StoredFile:
    return StoredFile(path.name, path.stat().st_size, sha256_of(path))


def _fetched(
    meta: VideoMeta, store: Store, record: Record, settings: FetchSettings, local_root: Path | None
) -> FetchedVideo:
    if record.video.size_bytes > settings.max_bytes:
        raise FetchError(
            f"{meta.url} is larger than {settings.max_bytes / 1e6:.0f} MB", kind="too_large", address=meta.url
        )
    if record.caption is not None:
        path = store.path_of(meta.video_id, CAPTIONS_FILE)
        captions: tuple[CaptionFile, ...] = (replace(record.caption, ref=str(path)),)
    else:
        captions = _local_captions(meta, settings, local_root)
    return FetchedVideo(
        meta=add_facts(meta, record.facts),
        ref=str(store.path_of(meta.video_id, record.video.name)),
        sha256=record.video.sha256,
        size_bytes=record.video.size_bytes,
        captions=captions,
    )
