"""Pointer pictures for training: Xcursor theme files as installed, and shapes drawn here."""

from __future__ import annotations

import colorsys
import math
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image as PilImage
from PIL import ImageDraw

from video2gui.screen.pointer import SHAPES

Rgba = npt.NDArray[np.uint8]

_XCURSOR_IMAGE = 0xFFFD0002
_MAX_SIDE_PX = 512

_BY_SHAPE = {
    "arrow": "left_ptr default right_ptr center_ptr context-menu help question_arrow copy alias link pointer-move"
    " top_left_arrow arrow",
    "text": "xterm text vertical-text ibeam",
    "hand": "hand hand1 hand2 pointer pointing_hand openhand grab grabbing closedhand",
    "cross": "cross tcross crosshair cell plus cross_reverse diamond_cross",
    "resize": "top_side bottom_side left_side right_side top_left_corner top_right_corner bottom_left_corner"
    " bottom_right_corner sb_h_double_arrow sb_v_double_arrow bd_double_arrow fd_double_arrow size_hor size_ver"
    " size_fdiag size_bdiag col-resize row-resize double_arrow h_double_arrow v_double_arrow split_h split_v"
    " ew-resize ns-resize nwse-resize nesw-resize",
    "move": "fleur all-scroll move size_all",
    "busy": "watch wait left_ptr_watch progress half-busy",
    "tool": "pencil draft color-picker zoom-in zoom-out zoom_in zoom_out",
    "other": "X_cursor x-cursor circle crossed_circle not-allowed no-drop dnd-no-drop forbidden dotbox pirate dot"
    " target up-arrow sb_up_arrow sb_down_arrow sb_left_arrow sb_right_arrow",
}
_SHAPE_OF = {name: SHAPES.index(shape) for shape, names in _BY_SHAPE.items() for name in names.split()}


@dataclass(frozen=True, slots=True, eq=False)
class Cursor:
    """One picture: `rgba` uint8 (H, W, 4) straight alpha; `hot_px` is the pixel (x, y) of the hot spot."""

    theme: str
    shape: int
    rgba: Rgba
    hot_px: tuple[float, float]


def read_xcursor(path: Path) -> list[tuple[Rgba, tuple[int, int]]]:
    """Pictures of a file with their hot spots, the first of each nominal size. Raises ValueError if it is none."""
    data = path.read_bytes()
    if data[:4] != b"Xcur":
        raise ValueError(f"{path} is not an Xcursor file")
    header, _, count = struct.unpack_from("<III", data, 4)
    found: dict[int, tuple[Rgba, tuple[int, int]]] = {}
    for i in range(count):
        kind, nominal, at = struct.unpack_from("<III", data, header + 12 * i)
        if kind != _XCURSOR_IMAGE or nominal in found:
            continue
        width, height, x_hot, y_hot = struct.unpack_from("<IIII", data, at + 16)
        if not (0 < width <= _MAX_SIDE_PX and 0 < height <= _MAX_SIDE_PX):
            raise ValueError(f"{path} has a picture of {width} x {height}")
        bgra = np.frombuffer(data, np.uint8, width * height * 4, at + 36).reshape(height, width, 4)
        found[nominal] = (_straight(bgra), (x_hot, y_hot))
    return [found[n] for n in sorted(found)]


def _straight(bgra: Rgba) -> Rgba:
    """Xcursor pixels are premultiplied BGRA."""
    alpha = bgra[..., 3:].astype(np.float32)
    rgb = bgra[..., 2::-1].astype(np.float32) * (255.0 / np.maximum(alpha, 1.0))
    return np.concatenate([np.clip(rgb, 0, 255), alpha], axis=2).astype(np.uint8)


def load_themes(roots: list[Path]) -> dict[str, list[Cursor]]:
    """Family of themes -> its cursors. Twins in other colours (``oxy-red``, ``oxy-blue``) share one family."""
    families: dict[str, list[Cursor]] = {}
    for folder in sorted(p for root in roots for p in root.glob("*/cursors") if p.is_dir()):
        theme = folder.parent.name
        family = _family(theme)
        for path in sorted(folder.iterdir()):
            shape = _SHAPE_OF.get(path.name)
            if shape is None or path.is_symlink():
                continue
            for rgba, (x, y) in read_xcursor(path):
                if rgba[..., 3].max() > 0:
                    families.setdefault(family, []).append(Cursor(theme, shape, rgba, (float(x), float(y))))
    return families


def _family(theme: str) -> str:
    for prefix in ("oxy", "Chameleon", "crystal", "ComixCursors", "Bibata-Modern", "Bibata-Original"):
        if theme.startswith(prefix):
            return prefix
    return {"breeze_cursors": "Breeze", "Breeze_Snow": "Breeze"}.get(theme, theme)


# --- drawn here -------------------------------------------------------------------------------------------------

_SIDE = 256  # drawn large, scaled down later
_ARROWS: tuple[tuple[tuple[float, float], ...], ...] = (
    # a long tail (Windows, X11), a tail set off (macOS), a plain triangle, a dart (design tools), a blunt dart
    ((0, 0), (0, 17), (4, 13.2), (7, 20), (9.6, 18.8), (6.8, 12.4), (12.2, 12.4)),
    ((0, 0), (0, 16), (3.6, 12.6), (6, 18.4), (8.4, 17.4), (6, 11.8), (11, 11.6)),
    ((0, 0), (0, 17), (4.6, 13), (11.8, 12.2)),
    ((0, 0), (5, 17), (8.2, 9.2), (16.5, 6)),
    ((0, 0), (3.2, 15), (7.4, 9), (14.6, 7.6)),
)


def draw_cursor(rng: np.random.Generator, shape: int) -> Cursor:
    """A pointer of `shape` (index into `SHAPES`) as no theme has it: form, line width and colours are drawn."""
    name = SHAPES[shape]
    mask = PilImage.new("L", (_SIDE, _SIDE), 0)
    pen = ImageDraw.Draw(mask)
    hot = _DRAW[name](pen, rng)
    fill, edge = _colours(rng)
    width = int(rng.integers(0 if name in {"text", "cross"} else 5, 16))
    return Cursor("drawn", shape, _outlined(np.asarray(mask), fill, edge, width), hot)


def _colours(rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    kind = rng.random()
    if kind < 0.4:
        return (0, 0, 0), (255, 255, 255)
    if kind < 0.75:
        return (255, 255, 255), (0, 0, 0)
    hue = float(rng.random())
    colour = tuple(
        int(255 * c) for c in colorsys.hsv_to_rgb(hue, float(rng.uniform(0.3, 1)), float(rng.uniform(0.3, 1)))
    )
    return (colour, (255, 255, 255)) if rng.random() < 0.6 else (colour, (20, 20, 20))


def _outlined(mask: Rgba, fill: tuple[int, ...], edge: tuple[int, ...], width: int) -> Rgba:
    import cv2

    grown = mask
    if width:
        grown = cv2.dilate(mask, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * width + 1, 2 * width + 1)))
    inside = (mask.astype(np.float32) / 255.0)[..., None]
    rgb = np.array(fill, np.float32) * inside + np.array(edge, np.float32) * (1 - inside)
    rgba: Rgba = np.concatenate([rgb, grown[..., None].astype(np.float32)], axis=2).astype(np.uint8)
    return rgba


def _draw_arrow(pen: ImageDraw.ImageDraw, rng: np.random.Generator) -> tuple[float, float]:
    points = np.array(_ARROWS[int(rng.integers(len(_ARROWS)))], np.float64) * 9.5
    points[:, 0] *= rng.uniform(0.85, 1.25)
    angle = rng.normal(0, 0.06) if rng.random() < 0.7 else rng.uniform(-0.4, 0.3)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    x0, y0 = 40.0, 30.0
    pen.polygon([(x0 + x, y0 + y) for x, y in points @ turn.T], fill=255)
    return x0, y0


def _draw_text(pen: ImageDraw.ImageDraw, rng: np.random.Generator) -> tuple[float, float]:
    half, serif = rng.uniform(70, 115), rng.uniform(0, 42)
    stem = float(rng.uniform(5, 16))
    cx, cy = 128.0, 128.0
    pen.rectangle([cx - stem / 2, cy - half, cx + stem / 2, cy + half], fill=255)
    for end in (-1, 1):
        y = cy + end * half
        if rng.random() < 0.5:
            pen.rectangle([cx - serif, y - stem / 2, cx + serif, y + stem / 2], fill=255)
        else:
            for side in (-1, 1):
                pen.line([(cx, y - end * serif * 0.4), (cx + side * serif, y)], fill=255, width=int(stem))
    if rng.random() < 0.25:
        pen.rectangle([cx - serif * 0.6, cy - stem / 2, cx + serif * 0.6, cy + stem / 2], fill=255)
    return cx, cy


def _draw_hand(pen: ImageDraw.ImageDraw, rng: np.random.Generator) -> tuple[float, float]:
    finger = float(rng.uniform(26, 36))
    x, top, palm = 90.0, 25.0, 120.0
    open_hand = rng.random() < 0.35
    gap = 4.0
    tips = [top + rng.uniform(0, 15) if open_hand else palm - rng.uniform(5, 25) for _ in range(3)]
    for i, y in enumerate([top, *tips]):
        left = x + i * (finger + gap)
        pen.rounded_rectangle([left, y, left + finger, 190], radius=finger / 2, fill=255)
    right = x + 4 * finger + 3 * gap
    pen.rounded_rectangle([x, palm + 5, right, 230], radius=30, fill=255)
    reach = float(rng.uniform(25, 55))
    pen.line([(x + 20, 200), (x - reach, 140 + rng.uniform(-15, 15))], fill=255, width=int(finger * 0.9))
    if open_hand:
        return (x + right) / 2, 128.0
    for i in range(1, 4):
        pen.line(
            [(x + i * (finger + gap) - gap / 2, palm + 8), (x + i * (finger + gap) - gap / 2, 175)], fill=0, width=4
        )
    return x + finger / 2, top


def _draw_cross(pen: ImageDraw.ImageDraw, rng: np.random.Generator) -> tuple[float, float]:
    reach, gap = rng.uniform(70, 115), rng.choice([0.0, 0.0, 12.0, 25.0])
    line = float(rng.uniform(5, 34) if gap == 0 else rng.uniform(5, 12))
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        x1, y1, x2, y2 = 128 + dx * gap, 128 + dy * gap, 128 + dx * reach, 128 + dy * reach
        pen.rectangle([min(x1, x2) - line / 2 * abs(dy), min(y1, y2) - line / 2 * abs(dx),
                       max(x1, x2) + line / 2 * abs(dy), max(y1, y2) + line / 2 * abs(dx)], fill=255)  # fmt: skip
    if gap == 0 and line < 12 and rng.random() < 0.3:
        pen.ellipse([128 - 45, 128 - 45, 128 + 45, 128 + 45], outline=255, width=int(line))
    return 128.0, 128.0


def _draw_resize(pen: ImageDraw.ImageDraw, rng: np.random.Generator) -> tuple[float, float]:
    angle = float(rng.choice([0, 90, 45, 135], p=[0.4, 0.3, 0.15, 0.15]))
    _double_arrow(pen, rng, angle, reach=float(rng.uniform(75, 110)), bar=bool(rng.random() < 0.4 and angle in (0, 90)))
    return 128.0, 128.0


def _draw_move(pen: ImageDraw.ImageDraw, rng: np.random.Generator) -> tuple[float, float]:
    reach, state = float(rng.uniform(80, 112)), rng.bit_generator.state
    for angle in (0.0, 90.0):
        rng.bit_generator.state = state
        _double_arrow(pen, rng, angle, reach=reach, bar=False)
    return 128.0, 128.0


def _double_arrow(
    pen: ImageDraw.ImageDraw, rng: np.random.Generator, degrees: float, *, reach: float, bar: bool
) -> None:
    stem, head = float(rng.uniform(6, 16)), float(rng.uniform(24, 42))
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))

    def at(u: float, v: float) -> tuple[float, float]:
        return 128 + u * c - v * s, 128 + u * s + v * c

    pen.polygon([at(-reach + 5, -stem), at(reach - 5, -stem), at(reach - 5, stem), at(-reach + 5, stem)], fill=255)
    for end in (-1, 1):
        pen.polygon([at(end * reach, 0), at(end * (reach - head), -head), at(end * (reach - head), head)], fill=255)
    if bar:
        for offset in (-16, 16):
            pen.line([at(offset, -90), at(offset, 90)], fill=255, width=int(stem))
        pen.line([at(0, -90), at(0, 90)], fill=0, width=14)


def _draw_busy(pen: ImageDraw.ImageDraw, rng: np.random.Generator) -> tuple[float, float]:
    if rng.random() < 0.7:
        start = float(rng.uniform(0, 360))
        sweep = 360 if rng.random() < 0.4 else float(rng.uniform(90, 300))
        pen.arc([48, 48, 208, 208], start, start + sweep, fill=255, width=int(rng.uniform(16, 60)))
    else:
        pen.polygon([(70, 40), (186, 40), (138, 128), (186, 216), (70, 216), (118, 128)], fill=255)
    return 128.0, 128.0


def _draw_tool(pen: ImageDraw.ImageDraw, rng: np.random.Generator) -> tuple[float, float]:
    kind, line = int(rng.integers(4)), int(rng.uniform(8, 18))
    if kind == 0:  # pencil, tip bottom left
        pen.polygon([(40, 216), (52, 160), (170, 42), (214, 86), (96, 204)], fill=255)
        return 40.0, 216.0
    if kind == 1:  # brush outline
        radius = float(rng.uniform(40, 110))
        pen.ellipse([128 - radius, 128 - radius, 128 + radius, 128 + radius], outline=255, width=line)
    elif kind == 2:  # eraser outline
        half = float(rng.uniform(40, 100))
        pen.rectangle([128 - half, 128 - half, 128 + half, 128 + half], outline=255, width=line)
        pen.rectangle([128 - line / 2, 128 - line / 2, 128 + line / 2, 128 + line / 2], fill=255)
    else:  # magnifier
        pen.ellipse([48, 48, 168, 168], outline=255, width=line + 8)
        pen.line([(150, 150), (216, 216)], fill=255, width=line + 18)
        return 108.0, 108.0
    return 128.0, 128.0


def _draw_other(pen: ImageDraw.ImageDraw, rng: np.random.Generator) -> tuple[float, float]:
    pen.ellipse([48, 48, 208, 208], outline=255, width=int(rng.uniform(20, 34)))
    pen.line([(78, 78), (178, 178)], fill=255, width=int(rng.uniform(18, 30)))
    return 128.0, 128.0


_DRAW = {
    "arrow": _draw_arrow,
    "text": _draw_text,
    "hand": _draw_hand,
    "cross": _draw_cross,
    "resize": _draw_resize,
    "move": _draw_move,
    "busy": _draw_busy,
    "tool": _draw_tool,
    "other": _draw_other,
}
