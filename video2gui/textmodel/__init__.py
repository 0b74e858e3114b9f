"""Does a row's text say that software is operated and taught? A small multilingual model, a CPU and numpy.

Hashed character and word n-grams of title, description and tags, with category and length of the video, into one
logistic regression. The weights are int8 and lie beside this file (`model.npz`, card in `model.md`).
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from video2gui.schema import VideoMeta
from video2gui.timebase import NS_PER_S

DIMENSIONS = 1 << 17
MODEL = Path(__file__).with_name("model.npz")

_MAX_TITLE, _MAX_DESCRIPTION, _MAX_TAGS = 160, 300, 20
_WORD = re.compile(r"[^\W_]+(?:['’+#][^\W_]+)*[+#]*")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # scripts whose words run together
_LENGTHS_S = (30, 60, 120, 300, 600, 1200, 3600)


def features(meta: VideoMeta) -> npt.NDArray[np.int64]:
    """The hashed features of a row, each once, in no order."""
    return np.fromiter({zlib.crc32(name.encode()) % DIMENSIONS for name in _names(meta)}, np.int64)


def _names(meta: VideoMeta) -> Iterator[str]:
    title = _words((meta.title or "")[:_MAX_TITLE])
    yield "b"
    for word in title:
        yield f"t {word}"
        yield from _pieces(word)
    yield from (f"t2 {one} {two}" for one, two in itertools.pairwise(title))
    if title:
        yield f"first {title[0]}"
    description = _words((meta.description or "")[:_MAX_DESCRIPTION])
    yield from (f"d {word}" for word in description)
    for tag in (meta.tags or ())[:_MAX_TAGS]:
        yield from (f"g {word}" for word in _words(tag))
    yield f"category {(meta.category or 'none').lower()}"
    yield f"length {_length(meta)}"
    yield f"has description {bool(description)}"


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())


def _pieces(word: str) -> Iterator[str]:
    """Character n-grams: 3 to 5 within a spaced word, 1 to 3 where words run together."""
    sizes = (1, 2, 3) if _UNSPACED.search(word) else (3, 4, 5)
    padded = f"<{word[:40]}>"
    for size in sizes:
        yield from (f"c {padded[i : i + size]}" for i in range(len(padded) - size + 1))


def _length(meta: VideoMeta) -> str:
    if meta.duration_ns is None:
        return "unknown"
    seconds = meta.duration_ns / NS_PER_S
    return str(sum(seconds >= limit for limit in _LENGTHS_S))


@functools.cache
def _weights() -> tuple[npt.NDArray[np.float32], float, float]:
    """Weights, and slope and offset of the calibration."""
    with np.load(MODEL, allow_pickle=False) as file:
        weights = file["weights"].astype(np.float32) * float(file["scale"])
        return weights, float(file["slope"]), float(file["offset"])


def raw_score(weights: npt.NDArray[np.float32], found: npt.NDArray[np.int64]) -> float:
    """The sum of the weights, by the square root of their number: long texts do not shout."""
    return float(weights[found].sum() / math.sqrt(len(found)))


def score_rows(rows: Sequence[VideoMeta] | Iterable[VideoMeta]) -> npt.NDArray[np.float64]:
    """The probability of each row, float64 (N,)."""
    weights, slope, offset = _weights()
    raw = np.array([raw_score(weights, features(row)) for row in rows], np.float64)
    return np.asarray(1 / (1 + np.exp(-(slope * raw + offset))), np.float64)
