"""Where the videos lie: below ``OUT/media`` on whatever file system that is, or where a local row says.

References below OUT are kept relative to it, so that a run's folder can be moved.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pipelines.files import Folder, is_local
from pipelines.media import Local
from video2gui.config import FetchSettings
from video2gui.schema import CaptionFile, FetchedVideo, VideoMeta
from video2gui.stages.fetch_video import fetch_video

MEDIA = "media"

_here = threading.local()  # the one video that this thread has copied to this machine


@dataclass(frozen=True, slots=True)
class Videos:
    """The videos of a run. `local_root` is the folder that rows may name local files below."""

    folder: Folder
    local_root: str | None

    def fetch(self, meta: VideoMeta, settings: FetchSettings) -> tuple[FetchedVideo, list[str]]:
        """Fetch a video and its captions; gives it with references that hold, and the captions' digests."""
        root = None if self.local_root is None else Path(self.local_root)
        if self.folder.is_local:
            into = Path(self.folder.path(MEDIA))
            into.mkdir(parents=True, exist_ok=True)
            video = _with_refs(fetch_video(meta, into, settings, local_root=root), self._relative)
        else:
            with tempfile.TemporaryDirectory(prefix="video2gui-") as scratch:
                pace = (
                    Path(tempfile.gettempdir()) / f"video2gui-pace-{os.getuid()}"
                )  # all workers of this machine take turns
                pace.mkdir(exist_ok=True)
                fetched = fetch_video(meta, Path(scratch), settings, local_root=root, pace_folder=pace)
                video = _with_refs(fetched, lambda ref: self._upload(Path(ref), meta.video_id))
        return video, [self._digest(track.ref) for track in video.captions]

    def is_whole(self, video: FetchedVideo, captions: list[str]) -> bool:
        """Whether the files are there, with the bytes that were fetched."""
        wanted = [(video.ref, video.sha256), *zip((track.ref for track in video.captions), captions, strict=True)]
        return all(self._exists(ref) and self._digest(ref) == digest for ref, digest in wanted)

    def on_this_machine(self, video: FetchedVideo) -> Local:
        """The video's files as paths. Copies last until this thread asks for another video."""
        track = video.captions[0].ref if video.captions else None
        return Local(video, self._path(video, video.ref), None if track is None else self._path(video, track))

    # ------------------------------------------------------------------------------------------ files

    def _relative(self, ref: str) -> str:
        root = Path(self.folder.root).resolve()
        path = Path(ref).resolve()
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)

    def _upload(self, path: Path, video_id: str) -> str:
        name = f"{MEDIA}/{video_id}/{path.name}"
        with path.open("rb") as source, self.folder.open_new(name) as target:
            shutil.copyfileobj(source, target, 1 << 20)
        return name

    def _where(self, ref: str) -> Folder:
        return Folder("/") if Path(ref).is_absolute() else self.folder

    def _exists(self, ref: str) -> bool:
        return self._where(ref).exists(ref)

    def _digest(self, ref: str) -> str:
        with self._where(ref).open(ref) as file:
            digest = hashlib.sha256()
            while part := file.read(1 << 20):
                digest.update(part)
        return digest.hexdigest()

    def _path(self, video: FetchedVideo, ref: str) -> Path:
        path = self._where(ref).path(ref)
        if is_local(path):
            return Path(path)
        key = (self.folder.root, video.sha256)
        if getattr(_here, "key", None) != key:
            _here.key = key
            _here.copies = tempfile.TemporaryDirectory(prefix="video2gui-")
        copy = Path(_here.copies.name) / Path(ref).name
        if not copy.exists():
            with self.folder.open(ref) as source, copy.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        return copy


def _with_refs(video: FetchedVideo, change: Callable[[str], str]) -> FetchedVideo:
    captions = tuple(CaptionFile(change(track.ref), track.language, track.automatic) for track in video.captions)
    return replace(video, ref=change(video.ref), captions=captions)
