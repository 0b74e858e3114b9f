"""What was seen on a screen recording: the value that `screen` hands to the annotators."""

from __future__ import annotations

from dataclasses import dataclass

from video2gui.geometry import Box, Point
from video2gui.schema import Action, Evidence


@dataclass(frozen=True, slots=True)
class PointerSample:
    """The pointer in the frame that came on screen at `time_ns`.

    `point` is the hot spot, or None where none is known. `visible` says that it was seen in this very frame;
    otherwise `point` is the last place it was seen in (hidden while typing, covered, not yet moved).
    """

    time_ns: int
    point: Point | None
    visible: bool
    shape: str | None
    confidence: float


@dataclass(frozen=True, slots=True)
class ObservedAction:
    """One action as seen. `point` and `end_point` are None where no place was seen.

    `before_ns` is the instant of the last visually distinct frame before the action's effect, `after_ns` of
    the first settled one behind it. `effect` is what changed on the screen, as one box.
    """

    start_ns: int
    end_ns: int
    action: Action
    evidence: Evidence
    before_ns: int
    after_ns: int
    point: Point | None = None
    end_point: Point | None = None
    effect: Box | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """All that was seen in one video: actions in order of their start, the pointer's track, cuts (a fade counts from
    its first frame).

    `size_wh` is the frame's width and height in pixels; `end_ns` is the end of the last frame as far as known.
    `still_ns` are the half-open intervals of at least two seconds in which nothing moved.
    """

    size_wh: tuple[int, int]
    end_ns: int
    actions: tuple[ObservedAction, ...]
    pointer: tuple[PointerSample, ...]
    cuts_ns: tuple[int, ...]
    still_ns: tuple[tuple[int, int], ...]
