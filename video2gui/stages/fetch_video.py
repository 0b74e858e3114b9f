"""Have the video of one row, with its captions."""

from __future__ import annotations

from pathlib import Path

from video2gui.config import FetchSettings
from video2gui.errors import FetchError
from video2gui.fetch.local import check_is_video, is_local, resolve_local, sha256_of
from video2gui.schema import CaptionFile, FetchedVideo, VideoMeta


def fetch_video(meta: VideoMeta, into: Path, settings: FetchSettings, *, local_root: Path | None) -> FetchedVideo:
    """Have the video of `meta`: a local file is used where it lies.

    Raises:
        FetchError: its `kind` says why, `retryable` whether another time may help.
    """
    if is_local(meta.url):
        return _use_local(meta, settings, local_root)
    raise FetchError(f"{meta.url} cannot be fetched", kind="unsupported", address=meta.url)


def _use_local(meta: VideoMeta, settings: FetchSettings, local_root: Path | None) -> FetchedVideo:
    path = resolve_local(meta.url, local_root)
    check_is_video(path, meta.url, settings.max_bytes)
    captions = tuple(
        CaptionFile(str(resolve_local(track.url, local_root)), track.language, track.automatic)
        for track in meta.captions or ()
        if is_local(track.url)
    )
    return FetchedVideo(meta, str(path), sha256_of(path), path.stat().st_size, captions)
