"""One picture, at once or on demand, and the facts of a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from PIL import Image as Pil

from video2gui.video.shrink import shrink

Image = npt.NDArray[np.uint8]
Luma = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A picture and the instant it comes on screen. `image` is uint8 (H, W, 3) RGB, read-only, upright."""

    pts_ns: int
    image: Image

    @property
    def size_wh(self) -> tuple[int, int]:
        return self.image.shape[1], self.image.shape[0]


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A decoded frame whose pixels are converted only when asked for: `luma` and `small` cost far less than `image`.

    Each call converts anew; keep the result. A picture holds a buffer of the decoder: let it go soon.
    """

    pts_ns: int
    to_image: Callable[[], Image]
    to_luma: Callable[[], Luma] | None = None
    to_small: Callable[[tuple[int, int]], Image] | None = None

    def image(self) -> Image:
        """uint8 (H, W, 3) RGB, read-only, upright."""
        return self.to_image()

    def luma(self) -> Luma:
        """uint8 (H, W) brightness, read-only, upright.

        Good for comparing frames of one reader with each other; black and white may be 16 and 235, as coded.
        """
        return self.to_luma() if self.to_luma is not None else luma_of(self.to_image())

    def small(self, size_wh: tuple[int, int]) -> Image:
        """uint8 (height, width, 3) RGB: the upright picture averaged down to `size_wh`, colours to within rounding."""
        return self.to_small(size_wh) if self.to_small is not None else shrink(self.to_image(), size_wh)

    def frame(self) -> Frame:
        return Frame(self.pts_ns, self.to_image())


def luma_of(image: Image) -> Luma:
    """Brightness (H, W) of an RGB image (H, W, 3), by the weights of ITU-R BT.601, read-only."""
    luma: Luma = np.array(Pil.fromarray(image).convert("L"))
    luma.flags.writeable = False
    return luma


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """What a file says of its video stream, before decoding it all.

    `size_wh` is upright (rotation applied). `duration_ns` is None where the container does not say; it is a
    claim, and may be wrong. `average_rate` is information only: nothing computes a time from it. `container` is
    the family: mp4 (also mov, m4v), matroska (also webm), gif, avi, ...
    """

    size_wh: tuple[int, int]
    duration_ns: int | None
    average_rate: Fraction | None
    codec: str
    container: str
    has_audio: bool
