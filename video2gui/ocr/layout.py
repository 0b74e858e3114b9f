"""What all readers share: the picture an engine is given, places back in the caller's picture, reading order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2gui.errors import load_extra
from video2gui.geometry import Box
from video2gui.ocr.base import TextLine
from video2gui.video.frame import Image

_LONGEST_PX = 2560  # larger pictures are shrunk: their text is larger too
_SMALL_PX = 160_000  # pictures with fewer pixels are doubled: cheap, and small text is read better
_MARGIN_PX = 16  # detectors miss text that touches the edge
_MOST_STRETCHED = 40  # a line longer than so many times its height is not text


@dataclass(frozen=True, slots=True)
class Page:
    """`image` is what the engine sees: BGR, scaled by `scale`, then framed with `margin_px` of the edge's colour."""

    image: Image
    scale: float
    margin_px: int
    size_wh: tuple[int, int]

    def box(self, left_px: float, top_px: float, right_px: float, bottom_px: float) -> Box | None:
        """A place in `image` as a fraction of the caller's picture, or None where it lies in the margin."""
        width, height = self.size_wh
        left, right = sorted(self._inside(x, width) for x in (left_px, right_px))
        top, bottom = sorted(self._inside(y, height) for y in (top_px, bottom_px))
        return Box(left, top, right, bottom) if right > left and bottom > top else None

    def _inside(self, value_px: float, length_px: int) -> float:
        return min(1.0, max(0.0, (float(value_px) - self.margin_px) / self.scale / length_px))


def page(image: Image) -> Page:
    """The picture an engine is given for `image`."""
    cv2 = load_extra("cv2", "see")
    height, width = image.shape[:2]
    scale = min(1.0, _LONGEST_PX / max(height, width))
    if height * width < _SMALL_PX and max(height, width) * 2 <= _LONGEST_PX:
        scale = 2.0
    bgr = np.ascontiguousarray(image[:, :, ::-1])
    if scale != 1.0:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        bgr = cv2.resize(bgr, size, interpolation=cv2.INTER_CUBIC if scale > 1 else cv2.INTER_AREA)
    margin = _MARGIN_PX
    framed = cv2.copyMakeBorder(bgr, margin, margin, margin, margin, cv2.BORDER_REPLICATE)
    return Page(framed, scale, margin, (width, height))


def line_image(image: Image) -> Image | None:
    """`image` as BGR for a recogniser, or None where it cannot hold a line (under 4 px high, or a long sliver)."""
    height, width = image.shape[:2]
    if height < 4 or width < 2 or width > height * _MOST_STRETCHED:
        return None
    return np.ascontiguousarray(image[:, :, ::-1])


def whole_line(text: str, confidence: float) -> TextLine | None:
    """What a recogniser said of a whole crop."""
    text = text.strip()
    return TextLine(text, Box(0.0, 0.0, 1.0, 1.0), min(1.0, max(0.0, float(confidence)))) if text else None


def in_reading_order(lines: list[TextLine]) -> list[TextLine]:
    """Rows from top to bottom, each from left to right. Lines are of one row when their middles are close."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: line.box.centre.y):
        if rows and line.box.centre.y - rows[-1][0].box.centre.y < 0.5 * _height(rows[-1][0], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [line for row in rows for line in sorted(row, key=lambda line: line.box.x1)]


def _height(one: TextLine, other: TextLine) -> float:
    return min(one.box.y2 - one.box.y1, other.box.y2 - other.box.y1)
