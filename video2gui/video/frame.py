"""One picture and the facts of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A picture and the instant it comes on screen. `image` is uint8 (H, W, 3) RGB, read-only, upright."""

    pts_ns: int
    image: Image

    @property
    def size_wh(self) -> tuple[int, int]:
        return self.image.shape[1], self.image.shape[0]


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """What a file says of its video stream, before decoding it all.

    `size_wh` is upright (rotation applied). `duration_ns` is None where the container does not say.
    `average_rate` is information only: nothing computes a time from it.
    """

    size_wh: tuple[int, int]
    duration_ns: int | None
    average_rate: Fraction | None
    codec: str
    container: str
    has_audio: bool
