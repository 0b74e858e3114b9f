"""Training pictures for the pointer finder: pointers set into screens, then sent through real codecs.

A shard holds short clips of `FRAMES` canvases; each canvas has many pointers, all of them known. Everything in a
shard follows from (seed, number), so a run that is stopped and started again sees the same pictures.
"""

from __future__ import annotations

import json
import string
import tempfile
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image as PilImage
from PIL import ImageDraw, ImageFont

from video2gui.screen.pointer import SHAPES, PointerFinder
from video2gui.screen.training.cursor_themes import Cursor, draw_cursor
from video2gui.testing import write_video
from video2gui.video import open_video

Picture = npt.NDArray[np.uint8]

CANVAS_WH = (640, 384)
FRAMES = 4
SCENES = 60
CELL = 128
FAINT = 7.0  # a pointer that changes its pixels by less than this (of 255) teaches nothing

_SHAPE_ODDS = {
    "arrow": 0.36, "text": 0.19, "hand": 0.15, "cross": 0.07, "resize": 0.07, "move": 0.06, "busy": 0.03, "tool": 0.05,
    "other": 0.02,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Label:
    """A pointer in a frame: hot spot, class, and how far its picture reaches left, top, right, bottom of it (px)."""

    x: float
    y: float
    shape: int
    reach: tuple[float, float, float, float]

    def row(self, frame: int) -> list[float]:
        return [frame, self.x, self.y, self.shape, *self.reach]


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """A screen without a pointer, or with one inside `unknown_px`, where nothing is learnt."""

    source: str
    image: Picture
    unknown_px: tuple[tuple[int, int, int, int], ...] = ()


# --- backgrounds ------------------------------------------------------------------------------------------------


def clip_backgrounds(folder: Path, count: int = 14) -> list[Background]:
    """Frames of a recorded clip with the pointer painted out from frames in which it was elsewhere."""
    rows = json.loads((folder / "track.json").read_text())["rows"]
    times = np.array([r[0] for r in rows])
    end = float(times[-1])
    wanted = np.linspace(float(times[0]) + 0.1, end, count * 4)
    with open_video(folder / "video.mp4") as reader:
        frames = [(f.pts_ns / 1e9, f.image) for f in reader.frames_at([int(t * 1e9) for t in wanted])]
    places = [rows[max(0, int(np.searchsorted(times, t, "right")) - 1)] for t, _ in frames]
    found = []
    for i in range(0, len(frames), 4):
        image, row = frames[i][1].copy(), places[i]
        box = _pointer_box(row, image)
        donor = _donor(i, frames, places, box)
        x1, y1, x2, y2 = box
        if donor is not None:
            image[y1:y2, x1:x2] = donor[y1:y2, x1:x2]
            found.append(Background(folder.name, image))
        else:
            found.append(Background(folder.name, image, (box,)))
    return found


def _pointer_box(row: list[float], image: Picture) -> tuple[int, int, int, int]:
    reach = 20 + int(1.6 * max(row[4], row[5]))
    x, y = int(row[1]), int(row[2])
    h, w = image.shape[:2]
    return max(0, x - reach), max(0, y - reach), min(w, x + reach), min(h, y + reach)


def _donor(
    i: int, frames: list[tuple[float, Picture]], places: list[list[float]], box: tuple[int, int, int, int]
) -> Picture | None:
    """The nearest frame whose pointer is away from `box` and whose picture just outside `box` is the same."""
    x1, y1, x2, y2 = box
    here = frames[i][1]
    for j in sorted(range(len(frames)), key=lambda j: abs(j - i)):
        bx1, by1, bx2, by2 = _pointer_box(places[j], here)
        if j == i or (bx1 < x2 and bx2 > x1 and by1 < y2 and by2 > y1):
            continue
        a, b = (cv2.copyMakeBorder(f, 8, 8, 8, 8, cv2.BORDER_REPLICATE) for f in (here, frames[j][1]))
        ring_a, ring_b = a[y1 : y2 + 16, x1 : x2 + 16].astype(int), b[y1 : y2 + 16, x1 : x2 + 16].astype(int)
        ring = np.ones(ring_a.shape[:2], bool)
        ring[8:-8, 8:-8] = False
        if np.abs(ring_a - ring_b)[ring].mean() < 5:
            return frames[j][1]
    return None


def video_backgrounds(path: Path, count: int, finder: PointerFinder | None) -> list[Background]:
    """Frames of a recording. With a finder, nothing is learnt where it sees the least sign of a pointer."""
    found = []
    for image in _evenly(path, count):
        seen = finder.find_anywhere(image, 0.12) if finder else []
        holes = tuple((int(c.x_px) - 40, int(c.y_px) - 40, int(c.x_px) + 40, int(c.y_px) + 40) for c in seen)
        found.append(Background(path.stem, image, holes))
    return found


def _evenly(path: Path, count: int) -> list[Picture]:
    with open_video(path) as reader:
        times = [frame.pts_ns for frame in reader.frames()]
    with open_video(path) as reader:
        picks = [times[int(n)] for n in np.linspace(0, len(times) - 1, count)]
        return [frame.image for frame in reader.frames_at(picks)]


_FONT_DIRS = (Path("/usr/share/fonts/truetype"), Path("/usr/share/fonts/opentype"))


def find_fonts() -> list[Path]:
    """Latin-script fonts; the script fonts of Noto would only draw boxes."""
    found = [p for d in _FONT_DIRS if d.is_dir() for p in sorted(d.rglob("*.[to]tf"))]
    return [
        p
        for p in found
        if "noto" not in str(p).lower() or p.stem.startswith(("NotoSans-", "NotoSerif-", "NotoSansMono-"))
    ]


def draw_screen(rng: np.random.Generator, size_wh: tuple[int, int], fonts: list[Path]) -> Picture:
    """A made-up screen: windows, lines of text, carets, icons, tables; much of what a pointer may be taken for."""
    w, h = size_wh
    dark = rng.random() < 0.4
    base = rng.integers(15, 60, 3) if dark else rng.integers(215, 256, 3)
    image = PilImage.new("RGB", size_wh, tuple(int(c) for c in base))
    pen = ImageDraw.Draw(image)
    for _ in range(int(rng.integers(1, 6))):
        x, y = int(rng.integers(-40, w - 40)), int(rng.integers(-40, h - 40))
        ww, hh = int(rng.integers(80, w)), int(rng.integers(60, h))
        tone = (
            tuple(int(c) for c in np.clip(base + rng.integers(-45, 45, 3), 0, 255)) if rng.random() < 0.7 else _any(rng)
        )
        outline = _any(rng) if rng.random() < 0.5 else None
        pen.rounded_rectangle([x, y, x + ww, y + hh], radius=int(rng.integers(0, 14)), fill=tone, outline=outline)
        _fill_panel(pen, rng, (x, y, x + ww, y + hh), tone, fonts)
    return np.array(image)


def _any(rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(int(c) for c in rng.integers(0, 256, 3))


def _ink(rng: np.random.Generator, tone: tuple[int, ...]) -> tuple[int, ...]:
    if rng.random() < 0.15:
        return _any(rng)
    level = int(rng.integers(0, 90)) if sum(tone) > 380 else int(rng.integers(165, 256))
    return (level, level, level)


def _fill_panel(
    pen: ImageDraw.ImageDraw,
    rng: np.random.Generator,
    box: tuple[int, int, int, int],
    tone: tuple[int, ...],
    fonts: list[Path],
) -> None:
    x1, y1, x2, y2 = box
    kind = rng.random()
    ink = _ink(rng, tone)
    if kind < 0.55:
        size = int(rng.integers(8, 30))
        font = (
            ImageFont.truetype(str(fonts[int(rng.integers(len(fonts)))]), size) if fonts else ImageFont.load_default()
        )
        y = y1 + 6
        while y < y2 - size:
            pen.text((x1 + 8 + int(rng.integers(0, 60)), y), _words(rng, int(rng.integers(1, 90))), fill=ink, font=font)
            if rng.random() < 0.15:
                cx = int(rng.integers(x1, x2))
                pen.line([(cx, y), (cx, y + size)], fill=ink, width=int(rng.integers(1, 3)))
            y += int(size * rng.uniform(1.1, 2.2))
    elif kind < 0.7:
        step_x, step_y = int(rng.integers(14, 90)), int(rng.integers(12, 40))
        for x in range(x1, x2, step_x):
            pen.line([(x, y1), (x, y2)], fill=ink)
        for y in range(y1, y2, step_y):
            pen.line([(x1, y), (x2, y)], fill=ink)
    else:
        step = int(rng.integers(24, 60))
        for y in range(y1 + 6, y2 - step, step):
            for x in range(x1 + 6, x2 - step, step):
                if rng.random() < 0.7:
                    _icon(pen, rng, x, y, step - 10, ink)


def _words(rng: np.random.Generator, letters: int) -> str:
    pool = string.ascii_letters + "IIllli|||1tfjT[](){}/\\+-x*^<>         "
    return "".join(pool[int(i)] for i in rng.integers(0, len(pool), letters))


def _icon(pen: ImageDraw.ImageDraw, rng: np.random.Generator, x: int, y: int, side: int, ink: tuple[int, ...]) -> None:
    kind = int(rng.integers(9))
    colour = _any(rng) if rng.random() < 0.4 else ink
    width = int(rng.integers(1, 4))
    mid, end = side / 2, side
    if kind == 0:
        points = [(x + float(a), y + float(b)) for a, b in rng.uniform(0, side, (int(rng.integers(3, 7)), 2))]
        pen.polygon(points, fill=colour)
    elif kind == 1:  # a play mark or a folding triangle
        pen.polygon([(x, y), (x + end, y + mid), (x, y + end)], fill=colour)
    elif kind == 2:
        pen.polygon([(x, y), (x + end, y), (x + mid, y + end)], fill=colour)
    elif kind == 3:
        pen.line([(x + mid, y), (x + mid, y + end)], fill=colour, width=width)
        pen.line([(x, y + mid), (x + end, y + mid)], fill=colour, width=width)
    elif kind == 4:
        pen.ellipse(
            [x, y, x + end, y + end], outline=colour, width=width, fill=_any(rng) if rng.random() < 0.4 else None
        )
    elif kind == 5:
        pen.rectangle([x, y, x + end, y + end], outline=colour, width=width)
        if rng.random() < 0.5:
            pen.line([(x + 3, y + mid), (x + mid, y + end - 3), (x + end - 2, y + 3)], fill=colour, width=width)
    elif kind == 6:  # an arrow with a shaft
        pen.line([(x, y + mid), (x + end, y + mid)], fill=colour, width=width)
        pen.line([(x + mid, y), (x + end, y + mid), (x + mid, y + end)], fill=colour, width=width)
    elif kind == 7:
        pen.line([(x, y), (x + mid, y + mid), (x, y + end)], fill=colour, width=width)
    else:
        for k in range(3):
            pen.line([(x, y + k * mid), (x + end, y + k * mid)], fill=colour, width=width)


def save_backgrounds(backgrounds: list[Background], path: Path) -> None:
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    for i, b in enumerate(backgrounds):
        arrays[f"{i:05d}:{b.source}:image"] = b.image
        arrays[f"{i:05d}:{b.source}:unknown"] = np.array(b.unknown_px, np.int32).reshape(-1, 4)
    with path.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def load_backgrounds(path: Path) -> list[Background]:
    with np.load(path) as arrays:
        names = sorted({name.rsplit(":", 1)[0] for name in arrays})
        return [
            Background(
                name.split(":", 1)[1],
                arrays[f"{name}:image"],
                tuple((int(b[0]), int(b[1]), int(b[2]), int(b[3])) for b in arrays[f"{name}:unknown"]),
            )
            for name in names
        ]


# --- scenes -----------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Sprite:
    """A pointer ready to be set: premultiplied float (H, W, 4), hot spot inside it, place and motion on the canvas."""

    pixels: npt.NDArray[np.float32]
    hot: tuple[float, float]
    shape: int
    reach: tuple[float, float, float, float]
    place: tuple[float, float]
    step: tuple[float, float]


class SceneMaker:
    """Draws scenes from cursor families and backgrounds; see the module's text for the order of things."""

    def __init__(
        self,
        families: dict[str, list[Cursor]],
        backgrounds: list[Background],
        fonts: list[Path],
        drawn_share: float = 0.3,
    ) -> None:
        self.drawn_share = drawn_share
        self.families = {name: _by_shape(cursors) for name, cursors in sorted(families.items())}
        by_source: dict[str, list[Background]] = {}
        for b in backgrounds:
            by_source.setdefault(b.source, []).append(b)
        self.sources = [by_source[k] for k in sorted(by_source)]
        self.fonts = fonts

    def scene(self, rng: np.random.Generator) -> tuple[Picture, list[list[float]], list[list[float]]]:
        """`FRAMES` canvases, rows as `Label.row`, and rows (frame, x1, y1, x2, y2) where nothing is known."""
        w, h = CANVAS_WH
        ratio = 1.0 if rng.random() < 0.55 else float(rng.uniform(0.6, 2.0))
        big = round(w * ratio), round(h * ratio)
        base, unknown = self._background(rng, big)
        _add_decoys(base, rng, ratio)
        sprites = self._sprites(rng, big, ratio)
        frames, labels = [], []
        holes = [[n, *(v / ratio for v in box)] for n in range(FRAMES) for box in unknown]
        for n in range(FRAMES):
            canvas = base.copy()
            for sprite in sprites:
                x, y = sprite.place[0] + n * sprite.step[0], sprite.place[1] + n * sprite.step[1]
                x, y = (round(x), round(y)) if ratio == 1.0 and rng.random() < 0.8 else (x, y)
                contrast = _paste(canvas, sprite, x, y)
                scaled = (x + 0.5) / ratio - 0.5, (y + 0.5) / ratio - 0.5
                if contrast < FAINT:
                    holes.append([n, scaled[0] - 24, scaled[1] - 24, scaled[0] + 24, scaled[1] + 24])
                elif -0.5 <= scaled[0] < w and -0.5 <= scaled[1] < h:
                    reach = tuple(r / ratio for r in sprite.reach)
                    labels.append(Label(*scaled, sprite.shape, (reach[0], reach[1], reach[2], reach[3])).row(n))
            frames.append(canvas if ratio == 1.0 else _resize(canvas, CANVAS_WH, rng))
        return _degrade(np.stack(frames), rng), labels, holes

    def _background(self, rng: np.random.Generator, size_wh: tuple[int, int]) -> tuple[Picture, list[tuple[int, ...]]]:
        kind = rng.random()
        if kind < 0.28 or not self.sources:
            return draw_screen(rng, size_wh, self.fonts), []
        if kind < 0.34:
            return np.ascontiguousarray(
                np.broadcast_to(rng.integers(0, 256, 3).astype(np.uint8), (*size_wh[::-1], 3))
            ), []
        source = self.sources[int(rng.integers(len(self.sources)))]
        chosen = source[int(rng.integers(len(source)))]
        return _crop(_tone(chosen.image, rng), chosen.unknown_px, size_wh, rng)

    def _sprites(self, rng: np.random.Generator, size_wh: tuple[int, int], ratio: float) -> list[_Sprite]:
        cell = CELL * ratio
        fill = float(rng.choice([0.0, 0.25, 0.6], p=[0.08, 0.3, 0.62]))
        found = []
        for gy in range(int(size_wh[1] / cell)):
            for gx in range(int(size_wh[0] / cell)):
                if rng.random() < fill:
                    place = (gx + rng.uniform(0.1, 0.9)) * cell, (gy + rng.uniform(0.1, 0.9)) * cell
                    found.append(self._sprite(rng, (float(place[0]), float(place[1])), ratio))
        return found

    def _sprite(self, rng: np.random.Generator, place: tuple[float, float], ratio: float) -> _Sprite:
        shape = int(rng.choice(len(SHAPES), p=[_SHAPE_ODDS[s] for s in SHAPES]))
        cursor = self._cursor(rng, shape)
        rgba, hot = cursor.rgba, cursor.hot_px
        if rng.random() < 0.12:
            rgba = _tint(rgba, rng)
        side = float(np.clip(np.exp(rng.normal(np.log(19), 0.5)), 8, 84)) * ratio
        keep_size = cursor.theme != "drawn" and ratio == 1.0 and rng.random() < 0.45 and max(rgba.shape[:2]) <= 64
        pixels, hot = _scaled(rgba, hot, 1.0 if keep_size else side / _extent(rgba))
        reach = _reach(pixels, hot)
        pixels, hot = _decorate(pixels, hot, rng)
        speed = 0.0 if rng.random() < 0.5 else float(rng.exponential(7)) * ratio
        angle = float(rng.uniform(0, 2 * np.pi))
        return _Sprite(pixels, hot, shape, reach, place, (speed * np.cos(angle), speed * np.sin(angle)))

    def _cursor(self, rng: np.random.Generator, shape: int) -> Cursor:
        names = [n for n, shapes in self.families.items() if shape in shapes]
        if not names or rng.random() < self.drawn_share:
            return draw_cursor(rng, shape)
        pool = self.families[names[int(rng.integers(len(names)))]][shape]
        return pool[int(rng.integers(len(pool)))]


def _by_shape(cursors: list[Cursor]) -> dict[int, list[Cursor]]:
    found: dict[int, list[Cursor]] = {}
    for c in cursors:
        found.setdefault(c.shape, []).append(c)
    return found


def _extent(rgba: Picture) -> float:
    ys, xs = np.nonzero(rgba[..., 3] > 60)
    return max(float(np.ptp(ys)), float(np.ptp(xs)), 1.0) + 1


def _reach(pixels: npt.NDArray[np.float32], hot: tuple[float, float]) -> tuple[float, float, float, float]:
    ys, xs = np.nonzero(pixels[..., 3] > 0.25)
    if not len(xs):
        return 0.0, 0.0, 0.0, 0.0
    return (max(0.0, hot[0] - float(xs.min())), max(0.0, hot[1] - float(ys.min())),
            max(0.0, float(xs.max()) - hot[0]), max(0.0, float(ys.max()) - hot[1]))  # fmt: skip


def _scaled(
    rgba: Picture, hot: tuple[float, float], factor: float
) -> tuple[npt.NDArray[np.float32], tuple[float, float]]:
    pixels = rgba.astype(np.float32) / 255.0
    pixels[..., :3] *= pixels[..., 3:]
    if factor != 1.0:
        h, w = rgba.shape[:2]
        size = max(3, round(w * factor)), max(3, round(h * factor))
        pixels = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA if factor < 1 else cv2.INTER_LINEAR)
        hot = (hot[0] + 0.5) * size[0] / w - 0.5, (hot[1] + 0.5) * size[1] / h - 0.5
    return np.pad(pixels, ((2, 2), (2, 2), (0, 0))), (hot[0] + 2, hot[1] + 2)


def _tint(rgba: Picture, rng: np.random.Generator) -> Picture:
    """Dark and light of the pointer become two other colours (often just swapped)."""
    light = rgba[..., :3].mean(axis=2, keepdims=True) / 255.0
    ends = np.array([[255, 255, 255], [0, 0, 0]]) if rng.random() < 0.5 else rng.integers(0, 256, (2, 3))
    rgb = ends[0] * (1 - light) + ends[1] * light
    tinted: Picture = np.concatenate([rgb, rgba[..., 3:]], axis=2).astype(np.uint8)
    return tinted


def _decorate(
    pixels: npt.NDArray[np.float32], hot: tuple[float, float], rng: np.random.Generator
) -> tuple[npt.NDArray[np.float32], tuple[float, float]]:
    """A shadow, a halo, a click ring, a dragged icon below it, or less than full opacity."""
    margin = 0
    if rng.random() < 0.25:
        margin = max(margin, 8)
    halo = rng.random() < 0.12
    radius = float(rng.uniform(12, 40))
    if halo:
        margin = max(margin, int(radius) + 6)
    if margin:
        pixels = np.pad(pixels, ((margin, margin), (margin, margin), (0, 0)))
        hot = hot[0] + margin, hot[1] + margin
        below = np.zeros_like(pixels)
        if halo:
            _halo(below, hot, radius, rng)
        else:
            alpha = cv2.GaussianBlur(pixels[..., 3], (0, 0), float(rng.uniform(0.8, 3)))
            dx, dy = int(rng.integers(0, 4)), int(rng.integers(0, 4))
            below[..., 3] = np.roll(alpha, (dy, dx), (0, 1)) * float(rng.uniform(0.2, 0.6))
        pixels = pixels + below * (1 - pixels[..., 3:])
    elif rng.random() < 0.06:
        pixels, hot = _with_dragged(pixels, hot, rng)
    if rng.random() < 0.04:
        pixels = pixels * np.float32(rng.uniform(0.5, 0.95))
    return pixels, hot


def _with_dragged(
    pixels: npt.NDArray[np.float32], hot: tuple[float, float], rng: np.random.Generator
) -> tuple[npt.NDArray[np.float32], tuple[float, float]]:
    """Below the pointer hangs what it drags: a see-through icon or card."""
    w, h = int(rng.integers(16, 90)), int(rng.integers(16, 64))
    pixels = np.pad(pixels, ((h, h), (w, w), (0, 0)))
    hot = hot[0] + w, hot[1] + h
    x, y = int(hot[0] - rng.uniform(-4, w * 0.8)), int(hot[1] - rng.uniform(-4, h * 0.8))
    card = draw_screen(rng, (128, 96), [])[:h, :w].astype(np.float32) / 255.0
    alpha = np.float32(rng.uniform(0.4, 1.0))
    below = np.zeros_like(pixels)
    x, y = max(0, x), max(0, y)
    fit = below[y : y + h, x : x + w].shape[:2]
    below[y : y + h, x : x + w, :3] = card[: fit[0], : fit[1]] * alpha
    below[y : y + h, x : x + w, 3] = alpha
    return pixels + below * (1 - pixels[..., 3:]), hot


def _halo(layer: npt.NDArray[np.float32], centre: tuple[float, float], radius: float, rng: np.random.Generator) -> None:
    yy, xx = np.mgrid[: layer.shape[0], : layer.shape[1]]
    distance = np.hypot(xx - centre[0], yy - centre[1])
    edge = np.clip(radius - distance + 0.5, 0, 1)
    if rng.random() < 0.4:
        edge *= np.clip(distance - radius + float(rng.uniform(2, 6)), 0, 1)
    colour = np.array([1.0, 0.9, 0.1]) if rng.random() < 0.4 else rng.random(3)
    alpha = edge * float(rng.uniform(0.25, 0.8))
    layer[..., 3] = alpha
    layer[..., :3] = colour * alpha[..., None]


def _add_decoys(canvas: Picture, rng: np.random.Generator, ratio: float) -> None:
    """Discs and rings of touches and clicks, and carets, with no pointer by them."""
    h, w = canvas.shape[:2]
    for _ in range(int(rng.poisson(0.8))):
        radius = float(rng.uniform(8, 36)) * ratio
        side = int(radius) * 2 + 12
        layer = np.zeros((side, side, 4), np.float32)
        _halo(layer, (side / 2, side / 2), radius, rng)
        _paste(canvas, _Sprite(layer, (0, 0), 0, (0, 0, 0, 0), (0, 0), (0, 0)), rng.uniform(0, w), rng.uniform(0, h))
    for _ in range(int(rng.poisson(1.5))):
        x, y, tall = int(rng.integers(w)), int(rng.integers(h)), int(rng.uniform(9, 34) * ratio)
        ink = (0, 0, 0) if canvas[min(h - 1, y), min(w - 1, x)].mean() > 127 else (255, 255, 255)
        cv2.rectangle(canvas, (x, y), (x + int(rng.integers(0, 3)), y + tall), ink, -1)


def _paste(canvas: Picture, sprite: _Sprite, x: float, y: float) -> float:
    """Sets the sprite with its hot spot on (x, y); returns how far it stands out from what it covers."""
    left, top = x - sprite.hot[0], y - sprite.hot[1]
    ix, iy = int(np.floor(left)), int(np.floor(top))
    pixels = sprite.pixels
    if left - ix or top - iy:
        shift = np.array([[1, 0, left - ix], [0, 1, top - iy]], np.float32)
        pixels = cv2.warpAffine(pixels, shift, (pixels.shape[1] + 1, pixels.shape[0] + 1))
    h, w = canvas.shape[:2]
    y1, y2, x1, x2 = max(0, iy), min(h, iy + pixels.shape[0]), max(0, ix), min(w, ix + pixels.shape[1])
    if y1 >= y2 or x1 >= x2:
        return 0.0
    part = pixels[y1 - iy : y2 - iy, x1 - ix : x2 - ix]
    under = canvas[y1:y2, x1:x2].astype(np.float32)
    over = np.clip(part[..., :3] * 255.0 + under * (1 - part[..., 3:]) + 0.5, 0, 255)
    canvas[y1:y2, x1:x2] = over.astype(np.uint8)
    covered = part[..., 3] > 0.3
    return float(np.abs(over - under).max(axis=2)[covered].mean()) if covered.any() else 0.0


def _tone(image: Picture, rng: np.random.Generator) -> Picture:
    kind = rng.random()
    if kind < 0.1:
        return 255 - image
    if kind < 0.2:
        return np.ascontiguousarray(image[..., rng.permutation(3)])
    if kind < 0.3:
        table = (255 * (np.arange(256) / 255.0) ** float(rng.uniform(0.5, 2))).astype(np.uint8)
        return np.take(table, image)
    return image


def _crop(
    image: Picture, holes: tuple[tuple[int, int, int, int], ...], size_wh: tuple[int, int], rng: np.random.Generator
) -> tuple[Picture, list[tuple[int, ...]]]:
    w, h = size_wh
    zoom = max(w / image.shape[1], h / image.shape[0], 1.0 if rng.random() < 0.6 else float(rng.uniform(0.5, 1.5)))
    if zoom != 1.0:
        size = max(w, int(np.ceil(image.shape[1] * zoom))), max(h, int(np.ceil(image.shape[0] * zoom)))
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA if zoom < 1 else cv2.INTER_LINEAR)
    x, y = int(rng.integers(image.shape[1] - w + 1)), int(rng.integers(image.shape[0] - h + 1))
    moved = [(int(b[0] * zoom) - x, int(b[1] * zoom) - y, int(b[2] * zoom) - x, int(b[3] * zoom) - y) for b in holes]
    return np.ascontiguousarray(image[y : y + h, x : x + w]), [
        b for b in moved if b[2] > 0 and b[3] > 0 and b[0] < w and b[1] < h
    ]


def _resize(image: Picture, size_wh: tuple[int, int], rng: np.random.Generator) -> Picture:
    smaller = size_wh[0] < image.shape[1]
    ways = [cv2.INTER_AREA, cv2.INTER_LINEAR, cv2.INTER_CUBIC] if smaller else [cv2.INTER_LINEAR, cv2.INTER_CUBIC]
    return np.asarray(cv2.resize(image, size_wh, interpolation=ways[int(rng.integers(len(ways)))]), np.uint8)


# --- codecs -----------------------------------------------------------------------------------------------------


def _degrade(frames: Picture, rng: np.random.Generator) -> Picture:
    kind = rng.random()
    if kind < 0.68:
        return _through_h264(frames, crf=int(rng.integers(18, 38)))
    if kind < 0.78:
        quality = [int(cv2.IMWRITE_JPEG_QUALITY), int(rng.integers(25, 95))]
        return np.stack([cv2.imdecode(cv2.imencode(".jpg", f, quality)[1], cv2.IMREAD_COLOR) for f in frames])
    if kind < 0.86:
        dither = PilImage.Dither.FLOYDSTEINBERG if rng.random() < 0.6 else PilImage.Dither.NONE
        colours = int(rng.integers(48, 257))
        return np.stack([_gif(f, colours, dither) for f in frames])
    return frames


def _gif(frame: Picture, colours: int, dither: PilImage.Dither) -> Picture:
    image = PilImage.fromarray(frame)
    palette = image.quantize(colours, method=PilImage.Quantize.FASTOCTREE, dither=PilImage.Dither.NONE)
    return np.asarray(image.quantize(palette=palette, dither=dither).convert("RGB"))


def _through_h264(frames: Picture, crf: int) -> Picture:
    """Encoded and decoded again: 4:2:0 chroma, block noise, ghosts of motion."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.mp4"
        times_ns = [n * 66_000_000 for n in range(len(frames))]
        write_video(path, list(frames), times_ns, options={"crf": str(crf), "preset": "superfast"})
        with open_video(path) as reader:
            return np.stack([frame.image for frame in reader.frames()])


# --- shards -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """`frames` (N, H, W, 3) RGB, `labels` (M, 8) as `Label.row`, `holes` (K, 5): frame, x1, y1, x2, y2."""

    frames: Picture
    labels: npt.NDArray[np.float32]
    holes: npt.NDArray[np.float32]


def make_shard(maker: SceneMaker, seed: int, number: int) -> Shard:
    """Shard `number` of the endless row of shards of `seed`."""
    frames, labels, holes = [], [], []
    for scene in range(SCENES):
        pictures, rows, unknown = maker.scene(np.random.default_rng((seed, number, scene)))
        labels += [[r[0] + scene * FRAMES, *r[1:]] for r in rows]
        holes += [[r[0] + scene * FRAMES, *r[1:]] for r in unknown]
        frames.append(pictures)
    return Shard(
        np.concatenate(frames),
        np.array(labels, np.float32).reshape(-1, 8),
        np.array(holes, np.float32).reshape(-1, 5),
    )
