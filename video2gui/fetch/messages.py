"""What the fetching process is told, and what it answers. Both are JSON: it may have read hostile pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from video2gui.errors import FetchKind
from video2gui.fetch.facts import Facts
from video2gui.fetch.restrict import Reach
from video2gui.schema import Captions

VideoEnding = Literal["mp4", "m4v", "webm", "mkv", "mov", "gif", "flv", "avi", "ts", "ogv", "mpg", "wmv", "3gp", "bin"]

CAPTIONS_FILE = "captions.vtt"
REPLY_FILE = "reply.json"
LOG_FILE = "log.txt"


@dataclass(frozen=True, slots=True)
class Request:
    """One video, into one folder. `known_captions` are the row's, for sites that tell of none."""

    url: str
    folder: str
    max_height_px: int
    max_bytes: int
    stall_ns: int
    languages: tuple[str, ...]
    known_captions: tuple[Captions, ...]
    reach: Reach
    js_runtime: str
    max_memory_bytes: int
    proxy: str | None
    cookies_file: str | None


@dataclass(frozen=True, slots=True)
class Fetched:
    """``video.ENDING`` lies in the folder, and `CAPTIONS_FILE` where `caption` says which track it is."""

    kind: ClassVar[str] = "fetched"
    ending: VideoEnding
    caption: Captions | None
    facts: Facts


@dataclass(frozen=True, slots=True)
class Failed:
    """A `FetchError`."""

    kind: ClassVar[str] = "failed"
    failure: FetchKind
    message: str
    retry_after: float | None


@dataclass(frozen=True, slots=True)
class Bug:
    """Anything else, with its traceback."""

    kind: ClassVar[str] = "bug"
    traceback: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer."""

    answer: Fetched | Failed | Bug
