"""Signs for keys (⌘ ⇧ ⌥ ⌃ ⏎ ⌫ ⇥ ⎋ ↑ ...) told by their shape: text recognisers take them for letters.

Each sign is drawn as strokes in a unit square, at several pen widths; a glyph is compared with all of them and with
the letters and digits of a plain typeface, which keep an H from being a ⌘.
"""

from __future__ import annotations

import functools
import string
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image as PilImage
from PIL import ImageDraw, ImageFilter, ImageFont

from video2gui.screen.ink import Mask

_SIDE = 24  # glyphs are compared at this size
_CANVAS = 240
_PENS = (0.07, 0.11, 0.16)  # of the square
_LEAST = 0.72  # correlation from which a glyph is a sign
_PLAIN = 0.85  # below it, a sign must be this much liker than any letter:
_LEAD = 0.04

Stroke = tuple[tuple[float, float], ...]
Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Lines (open strokes), faces (filled) and rings (ellipses by their boxes), in a unit square, y down."""

    lines: tuple[Stroke, ...] = ()
    faces: tuple[Stroke, ...] = ()
    rings: tuple[tuple[float, float, float, float], ...] = ()
    dots: tuple[tuple[float, float, float], ...] = ()


_UP = {
    "plain": _Drawing(lines=(((0.5, 1.0), (0.5, 0.0)), ((0.15, 0.38), (0.5, 0.0), (0.85, 0.38)))),
    "solid": _Drawing(lines=(((0.5, 1.0), (0.5, 0.2)),), faces=(((0.1, 0.42), (0.5, 0.0), (0.9, 0.42)),)),
    "dotted": _Drawing(
        faces=(((0.27, 0.24), (0.5, 0.0), (0.73, 0.24)),),
        dots=((0.5, 0.42, 0.08), (0.5, 0.68, 0.08), (0.5, 0.93, 0.08)),
    ),
}
_SHIFT: Stroke = (
    (0.5, 0.0), (1.0, 0.52), (0.72, 0.52), (0.72, 0.95), (0.28, 0.95), (0.28, 0.52), (0.0, 0.52), (0.5, 0.0),
)  # fmt: skip
_TALL_SHIFT: Stroke = (
    (0.5, 0.0), (1.0, 0.4), (0.75, 0.4), (0.75, 1.0), (0.25, 1.0), (0.25, 0.4), (0.0, 0.4), (0.5, 0.0),
)  # fmt: skip
_BIN: Stroke = ((0.32, 0.15), (1.0, 0.15), (1.0, 0.85), (0.32, 0.85), (0.0, 0.5), (0.32, 0.15))
_CROSS: tuple[Stroke, ...] = (((0.48, 0.34), (0.8, 0.66)), ((0.8, 0.34), (0.48, 0.66)))


def _loops(inner: float) -> _Drawing:
    low, high = (1 - inner) / 2, (1 + inner) / 2
    corners = [(0.0, 0.0), (high, 0.0), (0.0, high), (high, high)]
    rings = tuple((x, y, x + low, y + low) for x, y in corners)
    edges = [((low, low / 2), (low, 1 - low / 2)), ((high, low / 2), (high, 1 - low / 2))]
    edges += [((low / 2, low), (1 - low / 2, low)), ((low / 2, high), (1 - low / 2, high))]
    return _Drawing(lines=tuple(edges), rings=rings)


def _turned(drawing: _Drawing, turns: int) -> _Drawing:
    """Turned by `turns` quarters to the right."""

    def turn(x: float, y: float) -> tuple[float, float]:
        for _ in range(turns):
            x, y = 1 - y, x
        return x, y

    def strokes(given: tuple[Stroke, ...]) -> tuple[Stroke, ...]:
        return tuple(tuple(turn(*point) for point in stroke) for stroke in given)

    dots = tuple((*turn(x, y), radius) for x, y, radius in drawing.dots)
    return _Drawing(strokes(drawing.lines), strokes(drawing.faces), dots=dots)


def _mirrored(drawing: _Drawing) -> _Drawing:
    lines, faces = (
        tuple(tuple((1 - x, y) for x, y in stroke) for stroke in given) for given in (drawing.lines, drawing.faces)
    )
    return _Drawing(lines, faces)


_TAB = {
    "line": _Drawing(
        lines=(((0.0, 0.5), (0.88, 0.5)), ((0.6, 0.25), (0.88, 0.5), (0.6, 0.75)), ((1.0, 0.2), (1.0, 0.8)))
    ),
    "solid": _Drawing(
        lines=(((0.0, 0.5), (0.7, 0.5)), ((1.0, 0.2), (1.0, 0.8))), faces=(((0.6, 0.25), (0.9, 0.5), (0.6, 0.75)),)
    ),
}
_ENTER = {
    "hook": _Drawing(lines=(((1.0, 0.1), (1.0, 0.65), (0.05, 0.65)), ((0.32, 0.4), (0.0, 0.65), (0.32, 0.9)))),
    "solid": _Drawing(
        lines=(((1.0, 0.1), (1.0, 0.65), (0.3, 0.65)),), faces=(((0.36, 0.36), (0.0, 0.65), (0.36, 0.94)),)
    ),
    "round": _Drawing(
        lines=(
            ((0.3, 0.15), (0.7, 0.15), (0.88, 0.22), (1.0, 0.42), (0.88, 0.62), (0.7, 0.68), (0.05, 0.68)),
            ((0.3, 0.42), (0.0, 0.68), (0.3, 0.94)),
        )
    ),
    "outline": _Drawing(
        lines=(
            ((0.72, 0.0), (1.0, 0.0), (1.0, 0.78), (0.38, 0.78), (0.38, 1.0), (0.0, 0.64), (0.38, 0.28), (0.38, 0.5),
             (0.72, 0.5), (0.72, 0.0)),
        )
    ),
}  # fmt: skip
_SIGNS: dict[str, tuple[_Drawing, ...]] = {
    "⌘": (_loops(0.3), _loops(0.4)),
    "⇧": (_Drawing(lines=(_SHIFT,)), _Drawing(faces=(_SHIFT,)), _Drawing(lines=(_TALL_SHIFT,))),
    "⌥": (
        _Drawing(lines=(((0.0, 0.1), (0.3, 0.1), (0.68, 0.9), (1.0, 0.9)), ((0.6, 0.1), (1.0, 0.1)))),
        _Drawing(lines=(((0.0, 0.1), (0.35, 0.1), (0.6, 0.9), (1.0, 0.9)), ((0.62, 0.1), (1.0, 0.1)))),
    ),
    "⌃": (_Drawing(lines=(((0.0, 0.9), (0.5, 0.1), (1.0, 0.9)),)),),
    "↑": tuple(_UP.values()),
    "→": tuple(_turned(drawing, 1) for drawing in _UP.values()),
    "↓": tuple(_turned(drawing, 2) for drawing in _UP.values()),
    "←": tuple(_turned(drawing, 3) for drawing in _UP.values()),
    "⏎": tuple(_ENTER.values()),
    "⌫": (_Drawing(lines=(_BIN, *_CROSS)),),
    "⌦": (_mirrored(_Drawing(lines=(_BIN, *_CROSS))),),
    "⇥": tuple(_TAB.values()),
    "⇤": tuple(_mirrored(drawing) for drawing in _TAB.values()),
    "⎋": (
        _Drawing(
            lines=(
                ((0.35, 0.06), (0.55, 0.0), (0.8, 0.1), (1.0, 0.45), (0.92, 0.8), (0.55, 1.0), (0.2, 0.85), (0.02, 0.5),
                 (0.08, 0.3)),
                ((0.6, 0.6), (0.1, 0.1)),
                ((0.08, 0.42), (0.08, 0.08), (0.42, 0.08)),
            )
        ),
    ),
    "␣": (_Drawing(lines=(((0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)),)),),
}  # fmt: skip
#: Width over height of what a sign may be; it keeps an L or a 1 from being a stretched arrow.
_ANY_WIDE = (0.5, 2.3)
_WIDE = {"␣": (1.6, 4.5), "⌃": (0.9, 2.2), "↑": (0.25, 1.1), "↓": (0.25, 1.1), "←": (0.9, 4.0), "→": (0.9, 4.0)}


def sign_of(glyph: Mask) -> tuple[str, float] | None:
    """The sign that the ink `glyph` (H, W) is, with its correlation 0..1, or None where it is a letter or unknown."""
    rows, columns = np.flatnonzero(glyph.any(axis=1)), np.flatnonzero(glyph.any(axis=0))
    if len(rows) < 4 or len(columns) < 4:
        return None
    cut = glyph[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    ratio = cut.shape[1] / cut.shape[0]
    names, shapes, letters = _templates()
    vector = _vector(PilImage.fromarray(cut.astype(np.uint8) * 255))
    scores = shapes @ vector
    fits = np.array([_WIDE.get(name, _ANY_WIDE)[0] <= ratio <= _WIDE.get(name, _ANY_WIDE)[1] for name in names])
    best = int(np.argmax(np.where(fits, scores, -1.0)))
    score = float(scores[best])
    if not fits[best] or score < _LEAST or score < float((letters @ vector).max()) + (_LEAD if score < _PLAIN else 0.0):
        return None
    return names[best], min(1.0, score)


@functools.cache
def _templates() -> tuple[tuple[str, ...], Vector, Vector]:
    """Names and shapes of the signs, and the shapes of letters: unit vectors (N, side * side)."""
    names, shapes = [], []
    for name, drawings in _SIGNS.items():
        for drawing in drawings:
            for pen in _PENS:
                names.append(name)
                shapes.append(_vector(_draw(drawing, pen)))
    font = ImageFont.load_default(96)
    letters = []
    for letter in string.ascii_letters + string.digits + "+-=&@#?%*/":
        picture = PilImage.new("L", (_CANVAS, _CANVAS))
        ImageDraw.Draw(picture).text((60, 40), letter, font=font, fill=255)
        letters += [_vector(picture), _vector(_bolder(picture))]
    return tuple(names), np.stack(shapes), np.stack(letters)


def _bolder(picture: PilImage.Image) -> PilImage.Image:
    """The ink of a picture, three pixels thicker on every side: spread along rows, then along columns."""
    left, top, right, bottom = picture.getbbox() or (0, 0, 1, 1)
    ink = np.asarray(picture.crop((left - 3, top - 3, right + 3, bottom + 3)))
    for axis in (0, 1):
        ink = np.max([np.roll(ink, step, axis) for step in range(-3, 4)], axis=0)
    return PilImage.fromarray(ink)


def _draw(drawing: _Drawing, pen: float) -> PilImage.Image:
    picture = PilImage.new("L", (_CANVAS, _CANVAS))
    draw = ImageDraw.Draw(picture)
    scale, margin, width = _CANVAS * 0.7, _CANVAS * 0.15, round(pen * _CANVAS * 0.7)

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return margin + point[0] * scale, margin + point[1] * scale

    for stroke in drawing.lines:
        draw.line([at(point) for point in stroke], fill=255, width=width, joint="curve")
    for face in drawing.faces:
        draw.polygon([at(point) for point in face], fill=255)
    for left, top, right, bottom in drawing.rings:
        draw.ellipse((*at((left, top)), *at((right, bottom))), outline=255, width=width)
    for x, y, radius in drawing.dots:
        draw.ellipse((*at((x - radius, y - radius)), *at((x + radius, y + radius))), fill=255)
    return picture


def _vector(picture: PilImage.Image) -> Vector:
    """The ink of a picture, stretched to the square, softened, as a unit vector."""
    box = picture.getbbox()
    cut = picture.crop(box) if box else picture
    square = PilImage.new("L", (_SIDE, _SIDE))
    square.paste(cut.resize((_SIDE - 4, _SIDE - 4), PilImage.Resampling.BOX), (2, 2))
    values = np.asarray(square.filter(ImageFilter.GaussianBlur(1.0)), np.float32).ravel()
    values = values - values.mean()
    unit: Vector = values / max(float(np.linalg.norm(values)), 1e-6)
    return unit
