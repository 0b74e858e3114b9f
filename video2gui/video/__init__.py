"""Reading video: `open_video(path)` gives a `VideoReader`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from video2gui.video.reader import VideoReader

ReaderName = Literal["pyav", "decord"]


def open_video(path: Path, reader: ReaderName = "pyav", *, threads: int = 1) -> VideoReader:
    """Open a file for reading. Media from outside is to be decoded inside a `video2gui.guard.Guard`.

    `threads` decode: two answer sooner on an idle machine, one costs the least CPU time.

    Raises:
        VideoError: the file is no video, or this reader cannot read it rightly.
        MissingExtraError: decord is not installed.
    """
    if reader == "pyav":
        from video2gui.video.pyav_reader import PyavReader

        return PyavReader(path, threads=threads)
    if reader == "decord":
        from video2gui.video.decord_reader import DecordReader

        return DecordReader(path, threads=threads)
    raise ValueError(f"no reader is named {reader!r}")
