"""The same pixels are read once."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from video2gui.ocr.base import Ocr, TextLine
from video2gui.video.frame import Image

T = TypeVar("T")


class CachedOcr:
    """`Ocr` that keeps what the last `size` pictures said. One call at a time: engines are not all thread-safe."""

    def __init__(self, ocr: Ocr, size: int = 256) -> None:
        self.name, self.version = ocr.name, ocr.version
        self._ocr, self._size = ocr, size
        self._kept: OrderedDict[bytes, object] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, image: Image) -> list[TextLine]:
        return list(self._once(b"page", image, lambda: tuple(self._ocr.read(image))))

    def read_line(self, image: Image) -> TextLine | None:
        return self._once(b"line", image, lambda: self._ocr.read_line(image))

    def _once(self, how: bytes, image: Image, read: Callable[[], T]) -> T:
        digest = hashlib.blake2b(how + repr(image.shape).encode(), digest_size=16)
        digest.update(np.ascontiguousarray(image).data)
        key = digest.digest()
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            else:
                self._kept[key] = read()
                if len(self._kept) > self._size:
                    self._kept.popitem(last=False)
            return self._kept[key]  # type: ignore[return-value]  # what was put in under this key
