"""Settings: one frozen class per section, defaults here, read from one TOML file.

Unknown keys are refused with the nearest known one; a value out of range says its key and what it may be.
Keys in seconds end in ``_s`` in the file and are nanoseconds (``_ns``) inside, as everywhere.
"""

from __future__ import annotations

import dataclasses
import hashlib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from video2gui import codec
from video2gui.errors import ConfigError, SchemaError
from video2gui.timebase import NS_PER_MS, NS_PER_S


def _range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}, expected {low} to {high}")


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """The text tier: what is dropped before anything is downloaded."""

    min_score: float = 0.35  # of the text model: 3 chart videos in 1,000 pass, see textmodel/model.md
    min_duration_ns: int = 5 * NS_PER_S
    max_duration_ns: int = 720 * NS_PER_S
    languages: tuple[str, ...] = ()  # empty: all; "pt" and "pt-BR" are one language
    removed: tuple[str, ...] = ()  # ids, URLs and channel names that must not be used

    def __post_init__(self) -> None:
        _range("min_score", self.min_score, 0, 1)


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """What is downloaded, and how politely."""

    max_height_px: int = 1080  # of the shorter side, so that a phone's upright video counts as what it is called
    max_bytes: int = 500_000_000
    deadline_ns: int = 600 * NS_PER_S  # one video, with all its attempts and pauses
    stall_ns: int = 20 * NS_PER_S  # without a byte from the server
    pause_ns: int = 1 * NS_PER_S  # between two videos of one host
    cool_down_ns: int = 60 * NS_PER_S  # after "too many requests" without a Retry-After
    attempts: int = 3
    caption_languages: tuple[str, ...] = ()  # best first; empty: the video's own
    # False: public addresses only, and a server on this machine where the row itself names it
    allow_private_hosts: bool = False
    js_runtime: Literal["none", "deno", "node", "bun", "quickjs"] = "none"  # a program that some sites need
    proxy: str | None = None
    cookies_file: str | None = None

    def __post_init__(self) -> None:
        _range("max_height_px", self.max_height_px, 144, 4320)
        _range("attempts", self.attempts, 1, 10)
        _range("deadline", self.deadline_ns, 1, 86_400 * NS_PER_S)
        _range("stall", self.stall_ns, 1, 3_600 * NS_PER_S)
        _range("pause", self.pause_ns, 0, 3_600 * NS_PER_S)
        _range("cool_down", self.cool_down_ns, 0, 86_400 * NS_PER_S)


@dataclass(frozen=True, slots=True)
class ContentSettings:
    """The picture tier: the first minute decides (Video2GUI, section on fine filtering)."""

    clip_ns: int = 60 * NS_PER_S
    min_score: float = 3.5


@dataclass(frozen=True, slots=True)
class AnnotateSettings:
    """How a video becomes tasks and steps."""

    annotator: Literal["observed"] = "observed"
    ocr: Literal["rapid", "paddle"] = "rapid"
    reader: Literal["pyav", "decord"] = "pyav"
    min_confidence: float = 0.5
    min_steps: int = 2
    max_steps: int = 200  # a longer task is cut at its longest pause
    task_pause_ns: int = 15 * NS_PER_S  # nothing done for so long: a new task
    marked_pause_ns: int = 4 * NS_PER_S  # the same where a cut or the speaker marks it, too
    wait_ns: int = 1500 * NS_PER_MS  # an effect that comes later than this was waited for
    min_placed: float = 0.6  # share of the steps that happen at a place whose place must be known
    max_gaps: float = 0.34  # share of the joints between steps that may be broken
    deadline_ns: int = 1800 * NS_PER_S  # one video, from decode to steps

    def __post_init__(self) -> None:
        _range("min_confidence", self.min_confidence, 0, 1)
        _range("min_placed", self.min_placed, 0, 1)
        _range("max_gaps", self.max_gaps, 0, 1)
        _range("min_steps", self.min_steps, 1, 999)
        _range("max_steps", self.max_steps, self.min_steps, 999)


@dataclass(frozen=True, slots=True)
class PackSettings:
    """Screenshots and shards."""

    image_format: Literal["jpg", "png", "webp"] = "jpg"
    image_quality: int = 90
    max_shard_bytes: int = 500_000_000
    groups: int = 1  # independent runs of shards, written in parallel

    def __post_init__(self) -> None:
        _range("image_quality", self.image_quality, 1, 100)
        _range("groups", self.groups, 1, 100_000)


@dataclass(frozen=True, slots=True)
class Settings:
    """All of a mining run."""

    filter: FilterSettings = field(default_factory=FilterSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    content: ContentSettings = field(default_factory=ContentSettings)
    annotate: AnnotateSettings = field(default_factory=AnnotateSettings)
    pack: PackSettings = field(default_factory=PackSettings)


def read_settings(path: Path | None) -> Settings:
    """Read a TOML file; None gives the defaults.

    Raises:
        ConfigError: the file cannot be read, or says something it cannot mean; `address` is ``file: key``.
    """
    if path is None:
        return Settings()
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}", address=str(path)) from error
    try:
        return codec.from_json(Settings, data)
    except SchemaError as error:
        raise ConfigError(f"{path}: {error}", address=f"{path}: {error.address}") from error


def digest(*sections: Any) -> str:
    """A short digest of settings (or any values with a JSON form), the same for the same values."""
    text = "\n".join(f"{type(s).__name__} {codec.dumps(s)}" for s in sections)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def to_toml(settings: Settings) -> str:
    """The effective settings as a TOML file that reads back the same."""
    lines = []
    for section in dataclasses.fields(settings):
        lines.append(f"[{section.name}]")
        for key, value in codec.to_json(getattr(settings, section.name)).items():
            lines.append(f"{key} = {_toml(value)}")
        lines.append("")
    return "\n".join(lines)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(part) for part in value) + "]"
    return (
        repr(value)
        if isinstance(value, (int, float))
        else '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
    )
