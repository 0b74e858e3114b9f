"""Does a row's text say that software is operated and taught? A small multilingual model, a CPU and numpy.

Hashed word and character n-grams of title, description and tags, with the category, into one logistic regression.
The weights lie beside this file (`model.npz`, card in `model.md`). How much a row says is no feature: length, language
and which fields are there tell one source of training rows from another, not a lesson from a song.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from video2gui.schema import VideoMeta

DIMENSIONS = 1 << 17
MODEL = Path(__file__).with_name("model.npz")

_MAX_TITLE, _MAX_DESCRIPTION, _MAX_TAGS = 160, 300, 20
_WORD = re.compile(r"[^\W_]+(?:['’+#][^\W_]+)*[+#]*")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # scripts whose words run together

#: A row's features: where their weights stand, int64 (N,), and their values, float32 (N,).
Features: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]


def features(meta: VideoMeta) -> Features:
    """The hashed features of a row. Each field has a fixed length as a vector, so that long texts do not shout."""
    found = {_place("bias"): 1.0}
    for names, length in _fields(meta):
        different = dict.fromkeys(names)
        for name in different:
            place = _place(name)
            found[place] = found.get(place, 0.0) + length / math.sqrt(len(different))
    return np.fromiter(found, np.int64), np.fromiter(found.values(), np.float32)


def _place(name: str) -> int:
    return zlib.crc32(name.encode()) % DIMENSIONS


def _fields(meta: VideoMeta) -> Iterator[tuple[Iterable[str], float]]:
    """Names of features by field, and the field's length. A word is the same word in title, description and tags."""
    title = _words((meta.title or "")[:_MAX_TITLE])
    pairs = (f"pair {one} {two}" for one, two in itertools.pairwise(title))
    first = (f"first {word}" for word in title[:1])
    yield itertools.chain((f"word {word}" for word in title), pairs, first), 1.0
    yield itertools.chain.from_iterable(map(_pieces, title)), 1.0
    yield (f"word {word}" for word in _words((meta.description or "")[:_MAX_DESCRIPTION])), 0.3
    yield (f"word {word}" for tag in (meta.tags or ())[:_MAX_TAGS] for word in _words(tag)), 0.5
    yield ([f"category {meta.category.lower()}"] if meta.category else []), 1.0


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())


def _pieces(word: str) -> Iterator[str]:
    """Character n-grams: 3 to 5 within a spaced word, 1 to 3 where words run together."""
    sizes = (1, 2, 3) if _UNSPACED.search(word) else (3, 4, 5)
    padded = f"<{word[:40]}>"
    for size in sizes:
        yield from (f"c {padded[i : i + size]}" for i in range(len(padded) - size + 1))


@functools.cache
def _weights() -> tuple[npt.NDArray[np.float32], float, float]:
    """Weights, and slope and offset of the calibration."""
    with np.load(MODEL, allow_pickle=False) as file:
        return file["weights"].astype(np.float32), float(file["slope"]), float(file["offset"])


def raw_score(weights: npt.NDArray[np.float32], found: Features) -> float:
    return float((weights[found[0]] * found[1]).sum())


def score_rows(rows: Iterable[VideoMeta]) -> npt.NDArray[np.float64]:
    """The probability of each row, float64 (N,), as if two rows in five were lessons, as among the labelled ones."""
    weights, slope, offset = _weights()
    raw = np.array([raw_score(weights, features(row)) for row in rows], np.float64)
    return np.asarray(1 / (1 + np.exp(-(slope * raw + offset))), np.float64)
