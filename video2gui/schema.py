"""The values that flow: a metadata row, a verdict, actions, evidence, steps, trajectories, samples.

All are frozen; a stage returns a new value. Instants count from the first frame of the video, intervals are
half-open, places are fractions of the frame. JSON is `codec`'s; a trajectory's JSON is schema `trajectory/1`,
published as ``video2gui/trajectory-1.schema.json``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from video2gui.geometry import Box, Point

SCHEMA_VERSION = "trajectory/1"

#: A video id or sample key that is safe as a file name and as a webdataset key (no dot, no separator).
SAFE_KEY = re.compile(r"[A-Za-z0-9_-]{1,128}")

#: The ending of a screenshot in a sample: step number, side, image kind.
SCREENSHOT_FILE = re.compile(r"[0-9]{3}\.(before|after)\.(jpg|png|webp)")

Platform = Literal["windows", "mac", "linux", "android", "ios"]


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


# -------------------------------------------------------------------------------------------- metadata


@dataclass(frozen=True, slots=True)
class Captions:
    """One caption track of a video: where it is, in which language, and whether a machine made it."""

    url: str
    language: str | None = None
    automatic: bool = False


@dataclass(frozen=True, slots=True)
class Chapter:
    """A named part of a video, by its uploader."""

    title: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class VideoMeta:
    """One metadata row, cleaned. A missing field is None and is never taken for zero or for empty.

    `video_id` is safe as a file name; `source_id` is what the row itself said. `row` is the row's address
    (``file:line``), so that a failure can be found and fed in again.
    """

    video_id: str
    source_id: str
    url: str
    row: str
    title: str | None = None
    description: str | None = None
    tags: tuple[str, ...] | None = None
    channel: str | None = None
    category: str | None = None
    language: str | None = None
    licence: str | None = None
    duration_ns: int | None = None
    live_status: str | None = None
    availability: str | None = None
    age_limit: int | None = None
    captions: tuple[Captions, ...] | None = None
    chapters: tuple[Chapter, ...] | None = None

    def __post_init__(self) -> None:
        _check(
            bool(SAFE_KEY.fullmatch(self.video_id)),
            f"video_id {self.video_id!r} is not letters, digits, _ or -",
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Looked at, wanted or not. `reason` is a short fixed word and also the name of its counter."""

    keep: bool
    reason: str
    stage: str
    score: float | None = None
    detail: str | None = None

    def __post_init__(self) -> None:
        _check(bool(re.fullmatch(r"[a-z][a-z0-9_]*", self.reason)), f"reason {self.reason!r} is not a fixed word")


@dataclass(frozen=True, slots=True)
class CaptionFile:
    """A caption track on disk: its reference, language, and whether a machine made it."""

    ref: str
    language: str | None = None
    automatic: bool = False


@dataclass(frozen=True, slots=True)
class FetchedVideo:
    """A row and its media, by reference (a path or a ``gs://``, ``s3://`` address), never by content."""

    meta: VideoMeta
    ref: str
    sha256: str
    size_bytes: int
    captions: tuple[CaptionFile, ...] = ()


# --------------------------------------------------------------------------------------------- actions
#
# One type per action of the paper's two tables (Video2GUI, appendix, action space), under one set of names.

Direction = Literal["up", "down", "left", "right"]


@dataclass(frozen=True, slots=True)
class Click:
    """Press and release the left button once, or tap."""

    kind: ClassVar[str] = "click"


@dataclass(frozen=True, slots=True)
class DoubleClick:
    """Two left clicks in one place."""

    kind: ClassVar[str] = "double_click"


@dataclass(frozen=True, slots=True)
class TripleClick:
    """Three left clicks in one place."""

    kind: ClassVar[str] = "triple_click"


@dataclass(frozen=True, slots=True)
class RightClick:
    """Click the right button."""

    kind: ClassVar[str] = "right_click"


@dataclass(frozen=True, slots=True)
class MiddleClick:
    """Click the middle button."""

    kind: ClassVar[str] = "middle_click"


@dataclass(frozen=True, slots=True)
class MoveTo:
    """Move the pointer and stay, where the staying is the point (hover)."""

    kind: ClassVar[str] = "move_to"


@dataclass(frozen=True, slots=True)
class Drag:
    """Press, move, release: from the step's point to its end point."""

    kind: ClassVar[str] = "drag"


@dataclass(frozen=True, slots=True)
class Scroll:
    """Move the content. `direction` is the view's: "down" shows what stands further down.

    `distance` is the content's movement as a fraction of the frame (height for up and down, width for left
    and right), or None where it could not be measured.
    """

    kind: ClassVar[str] = "scroll"
    direction: Direction
    distance: float | None = None

    def __post_init__(self) -> None:
        _check(self.distance is None or self.distance > 0, f"scroll distance is {self.distance}")


@dataclass(frozen=True, slots=True)
class Press:
    """Press one key (or a phone's button), by its canonical lower-case name: enter, tab, page_down, back."""

    kind: ClassVar[str] = "press"
    key: str

    def __post_init__(self) -> None:
        _check_key(self.key)


@dataclass(frozen=True, slots=True)
class Hotkey:
    """Press several keys at once, modifiers first: ("ctrl", "shift", "s")."""

    kind: ClassVar[str] = "hotkey"
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        _check(len(self.keys) >= 2, f"a hotkey has at least two keys, found {self.keys}")
        _check(len(set(self.keys)) == len(self.keys), f"a key stands twice in {self.keys}")
        for key in self.keys:
            _check_key(key)


@dataclass(frozen=True, slots=True)
class TypeText:
    """Enter text. `text` is None where typing was seen but not readable (password dots): never a guess."""

    kind: ClassVar[str] = "type"
    text: str | None

    def __post_init__(self) -> None:
        _check(self.text != "", "typed text is empty; use null where it could not be read")


@dataclass(frozen=True, slots=True)
class LongPress:
    """Hold a finger in one place. The step's start and end say how long."""

    kind: ClassVar[str] = "long_press"


@dataclass(frozen=True, slots=True)
class Pinch:
    """Two fingers, apart ("out") or together ("in"). `scale` is the size ratio where it could be measured."""

    kind: ClassVar[str] = "pinch"
    direction: Literal["in", "out"]
    scale: float | None = None

    def __post_init__(self) -> None:
        _check(self.scale is None or self.scale > 0, f"pinch scale is {self.scale}")


@dataclass(frozen=True, slots=True)
class Finger:
    """The path of one finger."""

    path: tuple[Point, ...]

    def __post_init__(self) -> None:
        _check(len(self.path) >= 1, "a finger's path is empty")


@dataclass(frozen=True, slots=True)
class MultiTouch:
    """Any other gesture of several fingers."""

    kind: ClassVar[str] = "multi_touch"
    fingers: tuple[Finger, ...]

    def __post_init__(self) -> None:
        _check(len(self.fingers) >= 2, "a gesture of one finger is a click, a drag or a long press")


@dataclass(frozen=True, slots=True)
class OpenApp:
    """Start an application by name."""

    kind: ClassVar[str] = "open_app"
    app: str

    def __post_init__(self) -> None:
        _check(self.app != "", "the application's name is empty")


@dataclass(frozen=True, slots=True)
class Wait:
    """Let the program work. The step's start and end say how long."""

    kind: ClassVar[str] = "wait"


@dataclass(frozen=True, slots=True)
class Finish:
    """The task is over."""

    kind: ClassVar[str] = "finish"
    status: Literal["success", "failure"]


Action = (
    Click
    | DoubleClick
    | TripleClick
    | RightClick
    | MiddleClick
    | MoveTo
    | Drag
    | Scroll
    | Press
    | Hotkey
    | TypeText
    | LongPress
    | Pinch
    | MultiTouch
    | OpenApp
    | Wait
    | Finish
)

ACTIONS: dict[str, type[Any]] = {kind.kind: kind for kind in get_args(Action)}

#: Actions that happen at a place; the others have nothing to ground.
PLACED: tuple[type[Any], ...] = (
    Click, DoubleClick, TripleClick, RightClick, MiddleClick, MoveTo, Drag, Scroll, LongPress, Pinch,
)  # fmt: skip

MODIFIERS = ("ctrl", "alt", "shift", "super", "cmd", "option", "fn")

_KEY_ALIASES = {
    "control": "ctrl", "ctl": "ctrl", "ctrl_l": "ctrl", "ctrl_r": "ctrl", "control_l": "ctrl", "control_r": "ctrl",
    "alt_l": "alt", "alt_r": "alt", "alt_gr": "alt", "opt": "option", "shift_l": "shift", "shift_r": "shift",
    "win": "super", "windows": "super", "meta": "super", "super_l": "super", "super_r": "super",
    "command": "cmd", "return": "enter", "kp_enter": "enter", "esc": "escape", "del": "delete", "ins": "insert",
    "bksp": "backspace", "back_space": "backspace", "pgup": "page_up", "pageup": "page_up", "prior": "page_up",
    "pgdn": "page_down", "pgdown": "page_down", "pagedown": "page_down", "next": "page_down", "spacebar": "space",
    "left_arrow": "left", "right_arrow": "right", "up_arrow": "up", "down_arrow": "down", "arrow_left": "left",
    "arrow_right": "right", "arrow_up": "up", "arrow_down": "down", "caps": "caps_lock", "prtsc": "print_screen",
}  # fmt: skip


def canonical_key(name: str) -> str:
    """The one name of a key: lower case, words joined by ``_``, aliases resolved ("Return" -> "enter").

    Raises:
        ValueError: empty.
    """
    stripped = name.strip()
    word = re.sub(r"[\s-]+", "_", stripped.lower()) if len(stripped) > 1 else stripped.lower()
    _check(word != "", "a key has no name")
    return _KEY_ALIASES.get(word, word)


def _check_key(key: str) -> None:
    _check(key == canonical_key(key), f"key {key!r} is not canonical; write {canonical_key(key)!r}")


# -------------------------------------------------------------------------------- evidence and grounding

#: `seen` stands on pixels of this video; `inferred` on words, effects or convention.
Basis = Literal["seen", "inferred"]

SignalSource = Literal[
    "pointer", "pixels", "text", "key_overlay", "click_overlay", "narration", "caption", "title", "vlm"
]


@dataclass(frozen=True, slots=True)
class Signal:
    """One witness: which channel, how sure (0..1), and in a few words what it saw."""

    source: SignalSource
    confidence: float
    detail: str | None = None

    def __post_init__(self) -> None:
        _check(0.0 <= self.confidence <= 1.0, f"confidence is {self.confidence}")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a step is believed: its witnesses, their joint confidence, and what was seen and what inferred.

    `action`, `place` and `target` say on what the kind of action, its place and the name of its target stand;
    `place` and `target` are None where the step has none.
    """

    signals: tuple[Signal, ...]
    confidence: float
    action: Basis
    place: Basis | None = None
    target: Basis | None = None

    def __post_init__(self) -> None:
        _check(0.0 <= self.confidence <= 1.0, f"confidence is {self.confidence}")
        _check(len(self.signals) >= 1, "a step without a witness")


@dataclass(frozen=True, slots=True)
class Grounding:
    """Where a step happened, and the instant of the frame in which that place was read.

    `box` is the control under `point`, where its edges could be seen. `end_point` is where a drag ended.
    """

    point: Point
    frame_ns: int
    box: Box | None = None
    end_point: Point | None = None

    def __post_init__(self) -> None:
        if self.box is not None:
            _check(self.box.contains(self.point), "the point lies outside its box")


@dataclass(frozen=True, slots=True)
class Screenshot:
    """A frame kept with the trajectory, by its own instant.

    `file` is its ending inside the sample and `sha256` the file's digest; both are None until it is packed.
    """

    frame_ns: int
    file: str | None = None
    sha256: str | None = None

    def __post_init__(self) -> None:
        _check((self.file is None) == (self.sha256 is None), "a packed screenshot has a file and its digest")
        if self.file is not None and self.sha256 is not None:
            _check(bool(SCREENSHOT_FILE.fullmatch(self.file)), f"file name {self.file!r}")
            _check(bool(re.fullmatch(r"[0-9a-f]{64}", self.sha256)), "sha256 is not 64 hex digits")


# ------------------------------------------------------------------------------------------ trajectories


@dataclass(frozen=True, slots=True)
class Step:
    """One action of a trajectory.

    `target` names the control in words. `before` is the last visually distinct frame before the action's
    effect, `after` the first settled one behind it. `gap_before` marks that something between the previous
    step and this one was not kept.
    """

    start_ns: int
    end_ns: int
    action: Action
    evidence: Evidence
    grounding: Grounding | None = None
    target: str | None = None
    thought: str | None = None
    before: Screenshot | None = None
    after: Screenshot | None = None
    gap_before: bool = False

    def __post_init__(self) -> None:
        _check(0 <= self.start_ns <= self.end_ns, f"step from {self.start_ns} to {self.end_ns} ns")
        _check(self.target != "", "the target's name is empty; use null")
        _check(isinstance(self.action, Drag) or self.grounding is None or self.grounding.end_point is None,
               "only a drag has an end point")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Words:
    """A sentence and where it comes from."""

    text: str
    source: Literal["title", "chapter", "description", "narration", "caption", "observed", "vlm"]

    def __post_init__(self) -> None:
        _check(self.text.strip() != "", "an empty sentence; use null")


@dataclass(frozen=True, slots=True)
class Source:
    """The video a trajectory was taken from, and the frame size that pixels would refer to."""

    video_id: str
    url: str
    width_px: int
    height_px: int
    sha256: str
    title: str | None = None
    channel: str | None = None
    language: str | None = None
    licence: str | None = None

    def __post_init__(self) -> None:
        _check(
            bool(SAFE_KEY.fullmatch(self.video_id)),
            f"video_id {self.video_id!r} is not letters, digits, _ or -",
        )
        _check(self.width_px > 0 and self.height_px > 0, f"frame of {self.width_px}x{self.height_px}")


@dataclass(frozen=True, slots=True)
class MadeBy:
    """What made a trajectory: annotator and version, models, prompts, and the digest of all settings."""

    annotator: str
    settings_digest: str
    models: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An instruction and the steps that carry it out. `trajectory_id` is also the sample's key in a shard.

    `platform`, `app` and `website` are None where nothing said them; their `_basis` tells whether they were read
    on the screen or inferred from words (or from one another).
    """

    trajectory_id: str
    source: Source
    instruction: Words
    start_ns: int
    end_ns: int
    steps: tuple[Step, ...]
    made_by: MadeBy
    platform: Platform | None = None
    app: str | None = None
    website: str | None = None
    platform_basis: Basis | None = None
    app_basis: Basis | None = None
    website_basis: Basis | None = None
    plan: tuple[str, ...] | None = None
    schema: Literal["trajectory/1"] = field(default="trajectory/1")

    def __post_init__(self) -> None:
        _check(
            bool(SAFE_KEY.fullmatch(self.trajectory_id)),
            f"trajectory_id {self.trajectory_id!r} is not a safe key",
        )
        _check(0 <= self.start_ns <= self.end_ns, f"trajectory from {self.start_ns} to {self.end_ns} ns")
        _check(self.app != "" and self.website != "", "an empty app or website; use null")


@dataclass(frozen=True, slots=True)
class Sample:
    """One shard sample: `files` maps endings (``json``, ``000.before.jpg``) to bytes."""

    key: str
    files: dict[str, bytes]

    def __post_init__(self) -> None:
        _check(bool(SAFE_KEY.fullmatch(self.key)), f"key {self.key!r} is not letters, digits, _ or -")
