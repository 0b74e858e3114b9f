"""Reading text from a picture, behind two methods."""

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
    """A text reader. `name` and `version` go into the provenance of what it read.

    Images are uint8 (H, W, 3) RGB of any size from 1x1. Both methods raise `BackendError` when the engine fails.
    """

    name: str
    version: str

    def read(self, image: Image) -> list[TextLine]:
        """Find and read all lines, top to bottom, then left to right. No text is an empty list."""
        ...

    def read_line(self, image: Image) -> TextLine | None:
        """Read a crop that holds one line and little else, without looking for it: much cheaper than `read`.

        None where the recogniser saw no character. What is not text may come back as a few characters of low
        confidence: weigh `confidence`.
        """
        ...
