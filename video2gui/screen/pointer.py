"""Where a pointer may be in one picture: a small network finds the hot spot. `tracker` follows it through time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from video2gui.errors import load_extra
from video2gui.video.frame import Image

#: What the pointer can look like; the network's classes, in its order.
SHAPES = ("arrow", "text", "hand", "cross", "resize", "move", "busy", "tool", "other")

STRIDE = 4  # pixels per cell of the network's maps
REACH_PX = 32.0  # unit of the pointer's extent in the network's output

_MODEL = Path(__file__).parent / "models" / "pointer.onnx"
_ALIGN = 16  # the network takes sides that are multiples of this
MARGIN_PX = 32  # what it needs to see around a place
LEAST_SIDE_PX = 96
_LEAST_SCORE = 0.2

#: left, top, right, bottom, half-open
BoxPx = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be a pointer: the pixel of its hot spot, probability, shape, and the box its picture fills."""

    x_px: float
    y_px: float
    score: float
    shape: str
    box_px: tuple[float, float, float, float]

    def distance_px(self, other: Candidate) -> float:
        return float(np.hypot(self.x_px - other.x_px, self.y_px - other.y_px))


class PointerFinder:
    """The network. It has no memory: the same pixels give the same candidates.

    Raises:
        MissingExtraError: onnxruntime is not installed.
    """

    def __init__(self, model: Path = _MODEL) -> None:
        self._session = _open_session(model)
        self.searched_px = 0

    def find(
        self, image: Image, boxes_px: Sequence[BoxPx], least_score: float = _LEAST_SCORE, zoom: float = 1.0
    ) -> list[Candidate]:
        """Candidates in and just around the boxes, best first, each place once.

        `zoom` is the scale to look at: the network is best at pointers of 14 to 40 px.
        """
        found: list[Candidate] = []
        for x1, y1, x2, y2 in _windows(boxes_px, (image.shape[1], image.shape[0]), zoom):
            found += self._look(image[y1:y2, x1:x2], (x1, y1), least_score, zoom)
        kept: list[Candidate] = []
        for c in sorted(found, key=lambda c: -c.score):
            if all(c.distance_px(k) > 2 * STRIDE for k in kept):
                kept.append(c)
        return kept

    def find_anywhere(self, image: Image, least_score: float = _LEAST_SCORE, zoom: float = 1.0) -> list[Candidate]:
        return self.find(image, [(0, 0, image.shape[1], image.shape[0])], least_score, zoom)

    def _look(self, part: Image, origin: tuple[int, int], least_score: float, zoom: float) -> list[Candidate]:
        if zoom != 1.0:
            cv2 = load_extra("cv2", "see")
            way = cv2.INTER_AREA if zoom < 1.0 else cv2.INTER_CUBIC
            part = cv2.resize(part, None, fx=zoom, fy=zoom, interpolation=way)
        height, width = part.shape[:2]
        pad = (-height % _ALIGN, -width % _ALIGN)
        if any(pad):
            part = np.pad(part, ((0, pad[0]), (0, pad[1]), (0, 0)), mode="edge")
        self.searched_px += part.shape[0] * part.shape[1]
        heat, maps = self._session.run(None, {"image": np.ascontiguousarray(part[None])})
        found = (_candidate(heat[0], maps[0], int(i), int(j)) for i, j in _peaks(heat[0], least_score))
        return [_moved(c, origin, zoom) for c in found if c.x_px < width and c.y_px < height]


@cache
def _open_session(model: Path) -> Any:
    ort = load_extra("onnxruntime", "see")
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _peaks(heat: npt.NDArray[np.float32], least: float) -> npt.NDArray[np.intp]:
    """Cells (row, column) that are the highest of their 3x3 neighbourhood."""
    cells = np.argwhere(heat >= least)
    padded = np.pad(heat, 1, constant_values=-1.0)
    keep = [(padded[i : i + 3, j : j + 3] <= heat[i, j]).all() for i, j in cells]
    return cells[np.array(keep, bool)] if len(cells) else cells


def _candidate(heat: npt.NDArray[np.float32], maps: npt.NDArray[np.float32], i: int, j: int) -> Candidate:
    at = maps[:, i, j]
    x = (j + float(at[0])) * STRIDE + 1.5
    y = (i + float(at[1])) * STRIDE + 1.5
    left, top, right, bottom = (max(0.0, float(v)) * REACH_PX for v in at[2:6])
    shape = SHAPES[int(np.argmax(at[6:]))]
    return Candidate(max(x, 0.0), max(y, 0.0), float(heat[i, j]), shape, (x - left, y - top, x + right, y + bottom))


def _moved(c: Candidate, origin: tuple[int, int], zoom: float) -> Candidate:
    """From pixels of the part looked at to pixels of the frame; pixel centres stay on pixel centres."""
    x, y, x1, y1, x2, y2 = ((v + 0.5) / zoom - 0.5 + origin[k % 2] for k, v in enumerate((c.x_px, c.y_px, *c.box_px)))
    return replace(c, x_px=x, y_px=y, box_px=(x1, y1, x2, y2))


def _windows(boxes_px: Sequence[BoxPx], size_wh: tuple[int, int], zoom: float) -> list[BoxPx]:
    """Parts of the frame to look at: each box with a margin, sides rounded up, overlapping ones joined."""
    windows = [_window(b, size_wh, zoom) for b in boxes_px]
    joined: list[BoxPx] = []
    while windows:
        box = windows.pop()
        for other in joined:
            if meet(box, other):
                joined.remove(other)
                both = min(box[0], other[0]), min(box[1], other[1]), max(box[2], other[2]), max(box[3], other[3])
                windows.append(_aligned(both, size_wh))
                break
        else:
            joined.append(box)
    return joined


def _window(box: BoxPx, size_wh: tuple[int, int], zoom: float) -> BoxPx:
    x1, x2 = _side(box[0], box[2], size_wh[0], zoom)
    y1, y2 = _side(box[1], box[3], size_wh[1], zoom)
    return x1, y1, x2, y2


def _side(low: int, high: int, limit: int, zoom: float) -> tuple[int, int]:
    length = max(int(LEAST_SIDE_PX / zoom), high - low + int(2 * MARGIN_PX / zoom))
    return _fit((low + high - length) // 2, length, limit)


def _aligned(box: BoxPx, size_wh: tuple[int, int]) -> BoxPx:
    x1, x2 = _fit(box[0], box[2] - box[0], size_wh[0])
    y1, y2 = _fit(box[1], box[3] - box[1], size_wh[1])
    return x1, y1, x2, y2


def _fit(start: int, length: int, limit: int) -> tuple[int, int]:
    length += -length % _ALIGN
    if length >= limit:
        return 0, limit
    start = min(max(start, 0), limit - length)
    return start, start + length


def meet(a: Sequence[float], b: Sequence[float], margin: float = 0.0) -> bool:
    """Whether two boxes overlap or lie within `margin` pixels of each other."""
    return a[0] < b[2] + margin and b[0] < a[2] + margin and a[1] < b[3] + margin and b[1] < a[3] + margin
