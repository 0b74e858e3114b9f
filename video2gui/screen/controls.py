"""The control under a point: its rectangle by flat colour and edges, its name by the text in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from video2gui.video.frame import Image

BoxPx = tuple[int, int, int, int]  # left, top, right, bottom; half-open
Kind = Literal["surface", "text", "mark"]

#: Colours this near (largest channel, of 255) are one surface; compression noise lies below.
_SAME_COLOUR = 9
_MAX_SHARE_WH = (0.75, 0.2)  # of the frame: a larger surface is a pane or the desktop, not a control
_MIN_FILLED = 0.75  # of its rectangle
_BAR_WIDTH = 0.2  # of the frame: a surface this wide with three words side by side is a bar of controls

# lengths below are pixels of a frame 1280 wide, and grow with it
_MIN_SIDE = 8
_NEAR = (7, 3)
_MARK_SIDE = 44
_MARK_REACHES = (2, 4)
_TEXT_SLACK = 3
_POINTER_REACH = (14, 30)  # how far a pointer covers the screen: up and left, down and right of its hot spot


@dataclass(frozen=True, slots=True)
class TextBox:
    """A line of text and its rectangle in pixels of the picture."""

    text: str
    box_px: BoxPx


@dataclass(frozen=True, slots=True)
class Control:
    """`kind` says what drew the box: a surface of one colour, a line of text, or an isolated mark (an icon)."""

    box_px: BoxPx
    kind: Kind


def control_at(
    image: Image, clear: Image | None, point_px: tuple[float, float], lines: Sequence[TextBox]
) -> Control | None:
    """The control under `point_px`, or None where no edge can be seen around it.

    `image` and `clear` are uint8 (H, W, 3) RGB of one screen; in `clear` the pointer is elsewhere (see `same_screen`).
    """
    height, width = image.shape[:2]
    point = min(width - 1, max(0, int(point_px[0]))), min(height - 1, max(0, int(point_px[1])))
    scale = width / 1280
    line = text_at(lines, point, slack_px=round(_TEXT_SLACK * scale))
    surfaces = [
        box
        for picture in (clear, image)
        for near in _NEAR
        if picture is not None and (box := _surface(picture, point, near, scale)) is not None
    ]
    # a highlighted row stands in `image` only; the list around it is no control
    boxes = [box for box in surfaces if not _is_bar(box, lines, width) and _rows(box, lines) <= 1]
    if not boxes and line is None:
        boxes = surfaces
    if boxes:
        return Control(boxes[0], "surface")
    if line is not None:
        return Control(line.box_px, "text")
    mark = _mark(clear, point, scale) if clear is not None else None
    return Control(mark, "mark") if mark is not None else None


def same_screen(image: Image, earlier: Image, point_px: tuple[float, float]) -> bool:
    """Nothing but the pointer and highlights differs around the point: the edges of `image` stand in `earlier`, too.

    Both are uint8 (H, W, 3) RGB crops or frames of one size.
    """
    import cv2

    scale = image.shape[1] / 1280
    now, then = (cv2.Canny(np.ascontiguousarray(picture), 40, 120) > 0 for picture in (image, earlier))
    then = cv2.dilate(then.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    x, y = int(point_px[0]), int(point_px[1])
    before, behind = (round(reach * scale) for reach in _POINTER_REACH)
    looked = _window((x, y), (round(160 * scale), round(40 * scale)), image.shape[:2])
    covered = np.ones(image.shape[:2], bool)
    covered[max(0, y - before) : y + behind, max(0, x - before) : x + behind] = False
    edges = now[looked] & covered[looked]
    total = int(edges.sum())
    return total > 0 and int((edges & then[looked]).sum()) >= 0.7 * total


def text_at(lines: Sequence[TextBox], point_px: tuple[float, float], *, slack_px: int = 0) -> TextBox | None:
    """The smallest line whose rectangle, widened by `slack_px`, holds the point."""
    x, y = point_px
    hit = [
        line
        for line in lines
        if line.box_px[0] - slack_px <= x < line.box_px[2] + slack_px
        and line.box_px[1] - slack_px <= y < line.box_px[3] + slack_px
    ]
    return min(hit, key=lambda line: _area(line.box_px), default=None)


def words_at(image: Image, line: BoxPx, point_px: tuple[float, float]) -> BoxPx:
    """The part of a line of text around the point, between gaps that are wider than those between words.

    A reader takes the names in a menu bar for one line; the gaps say that they are several.
    """
    left, top, right, bottom = line
    ink = _ink(image[top:bottom, left:right]).any(axis=0)
    columns = np.flatnonzero(ink)
    if columns.size == 0:
        return line
    gap = max(4, round(0.42 * (bottom - top)))
    breaks = np.flatnonzero(np.diff(columns) > gap)
    starts = [int(columns[0]), *(int(columns[i + 1]) for i in breaks)]
    ends = [*(int(columns[i]) + 1 for i in breaks), int(columns[-1]) + 1]
    x = point_px[0] - left
    start, end = min(zip(starts, ends, strict=True), key=lambda part: max(part[0] - x, x - part[1], 0))
    pad = max(2, (bottom - top) // 6)
    return max(left, left + start - pad), top, min(right, left + end + pad), bottom


def _ink(crop: Image) -> npt.NDArray[np.bool_]:
    """Where a crop differs clearly from its commonest colour."""
    colour = _commonest(crop)
    return np.asarray(np.abs(crop.astype(np.int16) - colour.astype(np.int16)).max(axis=2) > 48)


def _area(box: BoxPx) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def _window(centre: tuple[int, int], reach_wh: tuple[int, int], shape_hw: tuple[int, ...]) -> tuple[slice, slice]:
    """Rows and columns within reach of a place, cut at the frame."""
    (x, y), (across, down) = centre, reach_wh
    return slice(max(0, y - down), min(shape_hw[0], y + down + 1)), slice(
        max(0, x - across), min(shape_hw[1], x + across + 1)
    )


def _rows(box: BoxPx, lines: Sequence[TextBox]) -> int:
    """How many rows of text lie in a rectangle, by their middles."""
    inside = [line.box_px for line in lines if _overlaps(line.box_px, box)]
    middles = sorted((line[1] + line[3]) / 2 for line in inside if box[1] <= (line[1] + line[3]) / 2 < box[3])
    height = min((line[3] - line[1] for line in inside), default=0)
    return sum(1 for i, y in enumerate(middles) if i == 0 or y - middles[i - 1] > 0.6 * height)


def _is_bar(box: BoxPx, lines: Sequence[TextBox], width: int) -> bool:
    """A wide surface with several words side by side holds controls; it is none."""
    if box[2] - box[0] < _BAR_WIDTH * width:
        return False
    inside = [line.box_px for line in lines if _overlaps(line.box_px, box)]
    rows = [sum(abs((a[1] + a[3]) - (b[1] + b[3])) < (a[3] - a[1]) for b in inside) for a in inside]
    return max(rows, default=0) >= 3


def _overlaps(one: BoxPx, other: BoxPx) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _surface(image: Image, point: tuple[int, int], near: int, scale: float) -> BoxPx | None:
    """The rectangle of the surface whose colour is commonest around the point, where it has the form of a control."""
    import cv2

    reach = max(2, round(near * scale))
    window = _window(point, (reach, reach), image.shape[:2])
    colour = _commonest(image[window])
    is_same = _like(image, colour)
    _, labels = cv2.connectedComponents(is_same, connectivity=4)
    inside = labels[window]
    counts = np.bincount(inside[inside > 0].ravel())
    if counts.size == 0:
        return None
    surface = (labels == int(counts.argmax())).astype(np.uint8)
    box = _bounds(surface)
    return box if _is_control(surface, box, point, scale) else None


def _like(image: Image, colour: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """1 where a pixel has that colour."""
    import cv2

    low, high = (np.clip(colour.astype(int) + by, 0, 255) for by in (-_SAME_COLOUR, _SAME_COLOUR))
    return np.asarray(
        cv2.inRange(np.ascontiguousarray(image), low.astype(np.uint8), high.astype(np.uint8)) // 255, dtype=np.uint8
    )


def _commonest(patch: Image) -> npt.NDArray[np.uint8]:
    """The median of the pixels in the fullest bin of the patch's colours."""
    pixels = patch.reshape(-1, 3)
    bins = (pixels // 12).astype(np.int32) @ np.array([1, 32, 1024])
    values, counts = np.unique(bins, return_counts=True)
    colour: npt.NDArray[np.uint8] = np.median(pixels[bins == values[counts.argmax()]], axis=0).astype(np.uint8)
    return colour


def _bounds(mask: npt.NDArray[np.uint8]) -> BoxPx:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def _is_control(surface: npt.NDArray[np.uint8], box: BoxPx, point: tuple[int, int], scale: float) -> bool:
    left, top, right, bottom = box
    width, height = right - left, bottom - top
    if not (left <= point[0] < right and top <= point[1] < bottom):
        return False
    if width > _MAX_SHARE_WH[0] * surface.shape[1] or height > _MAX_SHARE_WH[1] * surface.shape[0]:
        return False
    if min(width, height) < _MIN_SIDE * scale:
        return False
    return _filled(surface[top:bottom, left:right]) >= _MIN_FILLED * width * height


def _filled(mask: npt.NDArray[np.uint8]) -> int:
    """Pixels of the mask and of the holes in it (the letters on a button)."""
    import cv2

    padded = np.pad(mask, 1)
    outside = np.zeros((padded.shape[0] + 2, padded.shape[1] + 2), np.uint8)
    cv2.floodFill(padded, outside, (0, 0), 2)
    return int((padded != 2).sum())


def _mark(image: Image, point: tuple[int, int], scale: float) -> BoxPx | None:
    """The smallest isolated thing around the point that has the size of an icon."""
    import cv2

    side = round(_MARK_SIDE * scale)
    rows, columns = _window(point, (side, side), image.shape[:2])
    patch = image[rows, columns]
    ink = (1 - _like(patch, _commonest(patch))).astype(np.uint8)
    x, y = point[0] - columns.start, point[1] - rows.start
    for reach in (max(1, round(reach * scale)) for reach in _MARK_REACHES):
        joined = cv2.dilate(ink, np.ones((reach + 1, reach + 1), np.uint8))
        count, labels = cv2.connectedComponents(joined, connectivity=8)
        boxes = [_bounds(np.where(labels == label, ink, 0).astype(np.uint8)) for label in range(1, count)]
        fit = [box for box in boxes if _is_icon(box, (x, y), patch.shape[:2], scale)]
        if fit:
            box = min(fit, key=_area)
            return box[0] + columns.start, box[1] + rows.start, box[2] + columns.start, box[3] + rows.start
    return None


def _is_icon(box: BoxPx, point: tuple[int, int], shape_hw: tuple[int, ...], scale: float) -> bool:
    left, top, right, bottom = box
    if not (left <= point[0] < right and top <= point[1] < bottom):
        return False
    if left == 0 or top == 0 or right == shape_hw[1] or bottom == shape_hw[0]:
        return False  # it goes on beyond what was looked at
    width, height = right - left, bottom - top
    return min(width, height) >= _MIN_SIDE * scale and max(width, height) <= 3 * min(width, height)
