"""Places are fractions of the frame: x before y, origin top left. Pixels exist at the rim only."""

from __future__ import annotations

import math
from dataclasses import dataclass


def _fraction(name: str, value: float) -> None:
    if not (isinstance(value, (int, float)) and math.isfinite(value) and 0.0 <= value <= 1.0):
        raise ValueError(f"{name} is {value!r}, not a fraction of the frame (0 to 1)")


@dataclass(frozen=True, slots=True)
class Point:
    """A place in the frame. Raises ValueError outside 0..1."""

    x: float
    y: float

    def __post_init__(self) -> None:
        _fraction("x", self.x)
        _fraction("y", self.y)

    def to_px(self, size_wh: tuple[int, int]) -> tuple[float, float]:
        """In pixels of a frame of `size_wh` (width, height)."""
        return self.x * size_wh[0], self.y * size_wh[1]

    @staticmethod
    def from_px(x_px: float, y_px: float, size_wh: tuple[int, int]) -> Point:
        """From pixels, clamped to the frame (a hot spot may lie half a pixel outside it)."""
        return Point(_clamp(x_px / size_wh[0]), _clamp(y_px / size_wh[1]))


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, half-open: (x1, y1) inside, (x2, y2) outside. Raises ValueError when empty or outside."""

    x1: float
    y1: float
    x2: float
    y2: float

    def __post_init__(self) -> None:
        for name in ("x1", "y1", "x2", "y2"):
            _fraction(name, getattr(self, name))
        if self.x2 <= self.x1 or self.y2 <= self.y1:
            raise ValueError(f"box is empty: ({self.x1}, {self.y1}, {self.x2}, {self.y2})")

    @property
    def centre(self) -> Point:
        return Point((self.x1 + self.x2) / 2, (self.y1 + self.y2) / 2)

    @property
    def area(self) -> float:
        return (self.x2 - self.x1) * (self.y2 - self.y1)

    def contains(self, point: Point) -> bool:
        return self.x1 <= point.x <= self.x2 and self.y1 <= point.y <= self.y2

    def to_px(self, size_wh: tuple[int, int]) -> tuple[float, float, float, float]:
        """(left, top, right, bottom) in pixels of a frame of `size_wh` (width, height)."""
        w, h = size_wh
        return self.x1 * w, self.y1 * h, self.x2 * w, self.y2 * h

    @staticmethod
    def from_px(x1: float, y1: float, x2: float, y2: float, size_wh: tuple[int, int]) -> Box:
        """From pixels, clamped to the frame. Raises ValueError when nothing of it is inside."""
        w, h = size_wh
        return Box(_clamp(x1 / w), _clamp(y1 / h), _clamp(x2 / w), _clamp(y2 / h))


def _clamp(value: float) -> float:
    return min(1.0, max(0.0, value))
