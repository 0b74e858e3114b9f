"""Text readers: `open_ocr` gives one by name."""

from __future__ import annotations

import functools
from typing import Literal

from video2gui.ocr.base import Ocr, TextLine
from video2gui.ocr.cached import CachedOcr

__all__ = ["CachedOcr", "Ocr", "TextLine", "open_ocr"]


@functools.lru_cache(maxsize=4)
def open_ocr(name: Literal["rapid", "paddle"] = "rapid", *, threads: int = 1) -> Ocr:
    """The reader of that name, made once per process, remembering what it read lately.

    Raises:
        MissingExtraError: its package is not installed; BackendError: its models cannot be loaded.
    """
    if name == "rapid":
        from video2gui.ocr.rapid import RapidReader

        return CachedOcr(RapidReader(threads))
    if name == "paddle":
        from video2gui.ocr.paddle import PaddleReader

        return CachedOcr(PaddleReader(threads))
    raise ValueError(f"no text reader is called {name!r}")
