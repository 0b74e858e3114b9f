"""Folders of recordings: by default the examples of this repository."""

from __future__ import annotations

from pathlib import Path

from video2gui.errors import VideoError
from video2gui.video import open_video

CLIPS = Path(__file__).resolve().parents[1] / "examples" / "recordings"

_VIDEO = {".mp4", ".webm", ".mov", ".gif", ".mkv"}


def find_videos(folder: Path) -> list[Path]:
    """The video files below `folder` that can be opened and say their length, in order of name."""
    found = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in _VIDEO and _opens(path)]
    if not found:
        raise SystemExit(f"no video below {folder}")
    return found


def video_seconds(path: Path) -> float:
    """The length that the container states."""
    with open_video(path) as video:
        return (video.info.duration_ns or 0) / 1e9


def _opens(path: Path) -> bool:
    try:
        return video_seconds(path) > 0
    except VideoError:
        return False
