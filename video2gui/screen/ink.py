"""Glyphs as masks: which pixels of a small picture are text, and which background, rule or frame."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from video2gui.errors import load_extra
from video2gui.video.frame import Image

Mask = npt.NDArray[np.bool_]
Grey = npt.NDArray[np.int16]
Span = tuple[int, int]

INK_LEVELS = 56  # of 255: a pixel this far from the background belongs to a glyph
_RULE_PX = 40  # a level run of ink this long is a rule or a frame


def ground_of(image: Image) -> Grey:
    """The most common colour, of one in 16 levels a channel: int16 (3,)."""
    bins = (image >> 4).reshape(-1, 3).astype(np.int32)
    codes = bins[:, 0] << 8 | bins[:, 1] << 4 | bins[:, 2]
    common: Grey = np.median(image.reshape(-1, 3)[codes == np.bincount(codes).argmax()], axis=0).astype(np.int16)
    return common


def ink_of(image: Image, ground: Grey) -> Mask:
    """Pixels of glyphs: far from the background, and not of a level rule or frame."""
    contrast = np.abs(image.astype(np.int16) - ground).max(axis=2)
    # pale lines beside dark text are a grid
    ink: Mask = contrast > max(INK_LEVELS, 0.4 * float(np.percentile(contrast, 99.5)))
    length = min(_RULE_PX, max(12, round(0.85 * ink.shape[1])))
    cv2 = load_extra("cv2", "see")
    level = cv2.morphologyEx(ink.astype(np.uint8), cv2.MORPH_OPEN, np.ones((1, length), np.uint8))
    thick = cv2.morphologyEx(level, cv2.MORPH_OPEN, np.ones((5, 1), np.uint8))
    glyphs: Mask = ink & ~((level == 1) & (thick == 0))
    return glyphs


def runs(values: npt.ArrayLike, gap: int = 0) -> list[Span]:
    """Where `values` are true: half-open runs, those at most `gap` apart taken together."""
    places = np.flatnonzero(values)
    if not len(places):
        return []
    cuts = np.flatnonzero(np.diff(places) > gap + 1)
    starts, ends = np.r_[places[0], places[cuts + 1]], np.r_[places[cuts], places[-1]] + 1
    return [(int(start), int(end)) for start, end in zip(starts, ends, strict=True)]


def widened(ink: Mask) -> Mask:
    """`ink` and all pixels beside it."""
    out = ink.copy()
    out[:, 1:] |= ink[:, :-1]
    out[:, :-1] |= ink[:, 1:]
    rows = out.copy()
    out[1:] |= rows[:-1]
    out[:-1] |= rows[1:]
    return out
