"""Where fetched videos lie: one folder each, whole or not there, with a record that says what is in it.

FOLDER/VIDEO_ID/record.json  video.mp4  captions.vtt
FOLDER/.work/                locks, hosts' turns, and what is not yet whole
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from video2gui import codec
from video2gui.errors import FetchError, SchemaError
from video2gui.fetch.facts import Facts
from video2gui.fetch.pace import Clock
from video2gui.schema import CaptionFile
from video2gui.timebase import NS_PER_MS

_RECORD = "record.json"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of the folder, by its name there."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Record:
    """What was fetched, for which request. `caption` is the track in `caption_file`."""

    url: str
    request: str
    video: StoredFile
    facts: Facts
    caption_file: StoredFile | None = None
    caption: CaptionFile | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """The folder of all fetched videos."""

    folder: Path

    @property
    def work(self) -> Path:
        return self.folder / ".work"

    def path_of(self, video_id: str, name: str) -> Path:
        """`video_id` is safe as a file name by its type."""
        return self.folder / video_id / name

    def find(self, video_id: str) -> Record | None:
        """The record of a video that is here whole: every file has the size that was recorded."""
        try:
            record = codec.loads(Record, self.path_of(video_id, _RECORD).read_bytes())
            for file in filter(None, (record.video, record.caption_file)):
                if self.path_of(video_id, Path(file.name).name).stat().st_size != file.size_bytes:
                    return None
        except (OSError, SchemaError):
            return None
        return record

    @contextmanager
    def new_folder(self, video_id: str) -> Iterator[Path]:
        """An empty folder to work in, gone afterwards unless published; also removes what a killed process left.

        Hold the lock.
        """
        for left in self.work.glob(f"{video_id}.*"):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{video_id}.", dir=self.work))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, video_id: str, made: Path, record: Record) -> None:
        """Let the recorded files appear under their final name, at once; an older folder goes. Hold the lock."""
        kept = {file.name for file in (record.video, record.caption_file) if file is not None}
        for left in made.iterdir():
            if left.name not in kept:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        (made / _RECORD).write_text(codec.dumps(record), encoding="utf-8")
        made.chmod(0o755)
        final = self.folder / video_id
        if final.exists():
            old = Path(tempfile.mkdtemp(prefix=f"{video_id}.", dir=self.work))
            final.rename(old / "old")
            shutil.rmtree(old, ignore_errors=True)
        made.rename(final)

    @contextmanager
    def locked(self, video_id: str, url: str, clock: Clock, until_ns: int) -> Iterator[None]:
        """Be the only one, among all processes and threads of this machine, who fetches this video.

        Raises:
            FetchError: `network`, another one was still at it at `until_ns`.
        """
        self.work.mkdir(parents=True, exist_ok=True)
        path = self.work / f"{video_id}.lock"
        while (descriptor := _try_lock(path)) is None:
            if clock.now_ns() >= until_ns:
                raise FetchError(f"{url} is still being fetched by another process", kind="network", address=url)
            clock.sleep_ns(100 * NS_PER_MS)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            os.close(descriptor)


def _try_lock(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # whoever had it before us removed the file, and another may have made a new one
        if path.stat().st_ino == os.fstat(descriptor).st_ino:
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None
