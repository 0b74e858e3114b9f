"""Where the pointer is: a small network finds the hot spot, a tracker keeps it through time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from video2gui.errors import load_extra
from video2gui.geometry import Point
from video2gui.screen.observed import PointerSample
from video2gui.video.frame import Image

#: What the pointer can look like; the network's classes, in its order.
SHAPES = ("arrow", "text", "hand", "cross", "resize", "move", "busy", "tool", "other")

STRIDE = 4  # pixels per cell of the network's maps
REACH_PX = 32.0  # unit of the pointer's extent in the network's output

_MODEL = Path(__file__).parent / "models" / "pointer.onnx"
_ALIGN = 16  # the network takes sides that are multiples of this
_MARGIN_PX = 32  # what it needs to see around a place
_LEAST_SIDE_PX = 96
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

    def find(self, image: Image, boxes_px: Sequence[BoxPx], least_score: float = _LEAST_SCORE) -> list[Candidate]:
        """Candidates in and just around the boxes, best first, each place once."""
        found: list[Candidate] = []
        for x1, y1, x2, y2 in _windows(boxes_px, (image.shape[1], image.shape[0])):
            found += self._look(image[y1:y2, x1:x2], (x1, y1), least_score)
        kept: list[Candidate] = []
        for c in sorted(found, key=lambda c: -c.score):
            if all(c.distance_px(k) > 2 * STRIDE for k in kept):
                kept.append(c)
        return kept

    def find_anywhere(self, image: Image, least_score: float = _LEAST_SCORE) -> list[Candidate]:
        return self.find(image, [(0, 0, image.shape[1], image.shape[0])], least_score)

    def _look(self, part: Image, origin: tuple[int, int], least_score: float) -> list[Candidate]:
        height, width = part.shape[:2]
        pad = (-height % _ALIGN, -width % _ALIGN)
        if any(pad):
            part = np.pad(part, ((0, pad[0]), (0, pad[1]), (0, 0)), mode="edge")
        self.searched_px += part.shape[0] * part.shape[1]
        heat, maps = self._session.run(None, {"image": np.ascontiguousarray(part[None])})
        found = (_candidate(heat[0], maps[0], int(i), int(j), origin) for i, j in _peaks(heat[0], least_score))
        return [c for c in found if c.x_px < origin[0] + width and c.y_px < origin[1] + height]


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


def _candidate(
    heat: npt.NDArray[np.float32], maps: npt.NDArray[np.float32], i: int, j: int, origin: tuple[int, int]
) -> Candidate:
    at = maps[:, i, j]
    x = origin[0] + (j + float(at[0])) * STRIDE + 1.5
    y = origin[1] + (i + float(at[1])) * STRIDE + 1.5
    left, top, right, bottom = (max(0.0, float(v)) * REACH_PX for v in at[2:6])
    shape = SHAPES[int(np.argmax(at[6:]))]
    return Candidate(max(x, 0.0), max(y, 0.0), float(heat[i, j]), shape, (x - left, y - top, x + right, y + bottom))


def _windows(boxes_px: Sequence[BoxPx], size_wh: tuple[int, int]) -> list[BoxPx]:
    """Parts of the frame to look at: each box with a margin, sides rounded up, overlapping ones joined."""
    windows = [_window(b, size_wh) for b in boxes_px]
    joined: list[BoxPx] = []
    while windows:
        box = windows.pop()
        for other in joined:
            if _meet(box, other):
                joined.remove(other)
                both = min(box[0], other[0]), min(box[1], other[1]), max(box[2], other[2]), max(box[3], other[3])
                windows.append(_aligned(both, size_wh))
                break
        else:
            joined.append(box)
    return joined


def _window(box: BoxPx, size_wh: tuple[int, int]) -> BoxPx:
    x1, x2 = _side(box[0], box[2], size_wh[0])
    y1, y2 = _side(box[1], box[3], size_wh[1])
    return x1, y1, x2, y2


def _side(low: int, high: int, limit: int) -> tuple[int, int]:
    length = max(_LEAST_SIDE_PX, high - low + 2 * _MARGIN_PX)
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


def _around(place: Candidate, reach_px: int) -> BoxPx:
    x, y = int(place.x_px), int(place.y_px)
    return x - reach_px, y - reach_px, x + reach_px, y + reach_px


def _meet(a: Sequence[float], b: Sequence[float], margin: float = 0.0) -> bool:
    return a[0] < b[2] + margin and b[0] < a[2] + margin and a[1] < b[3] + margin and b[1] < a[3] + margin


# --- tracker ----------------------------------------------------------------------------------------------------

_CUT_SHARE = 0.5  # of the frame changed: a new scene
_SURE = 0.5  # a candidate seen for the first time
_LIKELY = 0.3  # one where the pointer was, or is expected
_PROOFS = 2  # moves after which a candidate is taken for the pointer
_LOST_AFTER_NS = 500_000_000
#: How many pixels may be searched per second of video beyond what is near the pointer.
_BUDGET_PX_PER_S = 2_000_000
_PATCH_PX = 12


class PointerTracker:
    """Follows the pointer through the frames of one video, given in order.

    A candidate counts once it was seen to move: until then samples say None, and afterwards they are filled in
    from where it was first seen. `samples` is therefore complete only after the last frame.
    """

    def __init__(self, finder: PointerFinder | None = None) -> None:
        self._finder = finder or PointerFinder()
        self.samples: list[PointerSample] = []
        self._at: Candidate | None = None
        self._visible = False
        self._before: Candidate | None = None
        self._patch: Image | None = None
        self._proofs = 0
        self._waiting: list[tuple[int, PointerSample]] = []
        self._budget_px = 0.0
        self._last_ns = 0
        self._seen_ns = 0
        self._size_wh = (0, 0)

    @property
    def box_px(self) -> tuple[float, float, float, float] | None:
        """What the pointer's picture covers in the newest frame, None where it isn't seen."""
        return self._at.box_px if self._at and self._visible else None

    def update(self, pts_ns: int, image: Image, changed_boxes_px: Sequence[BoxPx]) -> PointerSample:
        """The pointer in this frame; the boxes are what changed since the frame before (all of it for the first)."""
        size_wh = (image.shape[1], image.shape[0])
        first = size_wh != self._size_wh
        self._size_wh = size_wh
        self._budget_px = min(
            self._budget_px + _BUDGET_PX_PER_S * max(0, pts_ns - self._last_ns) / 1e9, 2.0 * size_wh[0] * size_wh[1]
        )
        self._last_ns = pts_ns
        share = sum((b[2] - b[0]) * (b[3] - b[1]) for b in changed_boxes_px) / (size_wh[0] * size_wh[1])
        if first or share > _CUT_SHARE:
            self._start_over(image, forget=first)
        elif changed_boxes_px or self._place_changed(image):
            self._follow(image, changed_boxes_px)
        if self._visible:
            self._seen_ns = pts_ns
        return self._record(pts_ns)

    # -- what to do with a frame

    def _start_over(self, image: Image, *, forget: bool) -> None:
        """A new scene: the pointer may be anywhere, and what was learnt of the old one's place is void."""
        if self._at and not forget:
            near = self._best(self._finder.find(image, [_around(self._at, 64)]), (), anywhere=True)
            if near and near.score >= _SURE and near.distance_px(self._at) < 48:
                self._accept(image, near, moved=False)
                return
        if not forget and not self._afford(image.shape[0] * image.shape[1]):
            self._visible = False
            return
        best = self._best(self._finder.find_anywhere(image), (), anywhere=True)
        if best and best.score >= _SURE:
            if self._proofs < _PROOFS:
                self._drop()
            self._accept(image, best, moved=False)
        else:
            self._visible = False

    def _follow(self, image: Image, changed: Sequence[BoxPx]) -> None:
        disturbed = self._at is None or not self._visible or self._touched(changed) or self._place_changed(image)
        if not disturbed and self._proofs >= _PROOFS:
            return  # nothing changed where it is, so it is still there
        boxes = self._affordable(changed)
        if self._at and disturbed:
            boxes.append(_around(self._at, 24))
        found = self._finder.find(image, boxes) if boxes else []
        best = self._best(found, changed)
        if best is None:
            if disturbed:
                self._visible = False
            return
        moved = self._at is not None and best.distance_px(self._at) > 3.0
        self._accept(image, best, moved=moved)

    def _affordable(self, changed: Sequence[BoxPx]) -> list[BoxPx]:
        """Changed boxes to look at: those the pointer's picture may make first, then nearest first, while they last."""
        chosen: list[BoxPx] = []
        for box in sorted(changed, key=self._rank):
            area = (box[2] - box[0] + 2 * _MARGIN_PX) * (box[3] - box[1] + 2 * _MARGIN_PX)
            if self._afford(area):
                chosen.append(box)
        return chosen

    def _rank(self, box: BoxPx) -> tuple[bool, float]:
        big = max(box[2] - box[0], box[3] - box[1]) > 160
        if self._at is None:
            return big, 0.0
        dx = max(box[0] - self._at.x_px, 0.0, self._at.x_px - box[2])
        dy = max(box[1] - self._at.y_px, 0.0, self._at.y_px - box[3])
        return big, float(np.hypot(dx, dy))

    def _afford(self, area_px: float) -> bool:
        if area_px > self._budget_px:
            return False
        self._budget_px -= area_px
        return True

    def _touched(self, changed: Sequence[BoxPx]) -> bool:
        return self._at is not None and any(_meet(self._at.box_px, b, margin=4) for b in changed)

    def _best(self, found: Sequence[Candidate], changed: Sequence[BoxPx], *, anywhere: bool = False) -> Candidate | None:
        """The candidate that fits best; one that neither changed nor stands where the pointer stood is scenery."""
        expected = self._expected()
        best, best_value = None, 0.0
        for c in found:
            stays = self._at is not None and c.distance_px(self._at) <= 3.0
            if not (anywhere or stays or any(_meet(c.box_px, b, margin=4) for b in changed)):
                continue
            near = float(np.exp(-min(c.distance_px(e) for e in expected) / self._scale(60))) if expected else 0.0
            if c.score < _LIKELY or (c.score < _SURE and near < 0.3):
                continue
            same = self._at is not None and c.shape == self._at.shape
            value = c.score + 0.25 * near + 0.05 * same
            if value > best_value:
                best, best_value = c, value
        return best

    def _expected(self) -> list[Candidate]:
        """Where it was, and where it would be if it went on as it went last."""
        if self._at is None:
            return []
        places = [self._at]
        if self._before is not None:
            x, y = 2 * self._at.x_px - self._before.x_px, 2 * self._at.y_px - self._before.y_px
            places.append(replace(self._at, x_px=x, y_px=y))
        return places

    def _scale(self, px: float) -> float:
        return px * max(self._size_wh) / 1280

    # -- what is known

    def _accept(self, image: Image, found: Candidate, *, moved: bool) -> None:
        if moved:
            self._proofs += 1
        self._before = self._at if moved and self._visible else None
        self._at, self._visible = found, True
        self._patch = self._cut_patch(image)

    def _drop(self) -> None:
        """What was followed so far was never seen to move: it isn't the pointer."""
        self._at, self._visible, self._before, self._proofs = None, False, None, 0
        self._waiting.clear()

    def _cut_patch(self, image: Image) -> Image | None:
        if self._at is None:
            return None
        x, y = int(self._at.x_px), int(self._at.y_px)
        return image[max(0, y - _PATCH_PX) : y + _PATCH_PX, max(0, x - _PATCH_PX) : x + _PATCH_PX].copy()

    def _place_changed(self, image: Image) -> bool:
        """Whether the picture at the last place differs from when it was seen there (only while visible)."""
        if not self._visible or self._patch is None:
            return False
        now = self._cut_patch(image)
        assert now is not None
        return float(np.abs(now.astype(np.int16) - self._patch).mean()) > 8.0

    def _record(self, pts_ns: int) -> PointerSample:
        if self._at is None:
            sample = PointerSample(pts_ns, None, visible=False, shape=None, confidence=0.0)
        else:
            point = Point.from_px(self._at.x_px, self._at.y_px, self._size_wh)
            score = self._at.score if self._visible else 0.0
            sample = PointerSample(pts_ns, point, self._visible, self._at.shape, score)
        if self._at is not None and self._proofs < _PROOFS:
            self._waiting.append((len(self.samples), sample))
            sample = PointerSample(pts_ns, None, visible=False, shape=None, confidence=0.0)
        self.samples.append(sample)
        if self._proofs >= _PROOFS and self._waiting:
            for index, earlier in self._waiting:
                self.samples[index] = earlier
            self._waiting.clear()
        return sample
