"""Reading text from a picture, behind one method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from video2gui.geometry import Box
from video2gui.video.frame import Image


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of text: `box` is a fraction of the picture that was read, `confidence` 0..1."""

    text: str
    box: Box
    confidence: float


class Ocr(Protocol):
    """A text reader. `name` and `version` go into the provenance of what it read."""

    name: str
    version: str

    def read(self, image: Image) -> list[TextLine]:
        """Lines of uint8 (H, W, 3) RGB, top to bottom, then left to right. No text is an empty list."""
        ...
