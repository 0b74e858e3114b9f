"""Pictures averaged down: what changes on a screen is looked for in few, large pixels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from video2gui.errors import load_extra

Plane = npt.NDArray[np.uint8]


def shrink(pixels: Plane, size_wh: tuple[int, int]) -> Plane:
    """`pixels`, uint8 (H, W) or (H, W, 3), averaged down to `size_wh`.

    Halved as long as it goes, which is many times as fast as one step of the same area average.
    """
    cv2 = load_extra("cv2", "see")
    width, height = size_wh
    while (
        pixels.shape[1] >= 2 * width and pixels.shape[0] >= 2 * height and not (pixels.shape[0] | pixels.shape[1]) & 1
    ):
        pixels = cv2.resize(pixels, (pixels.shape[1] // 2, pixels.shape[0] // 2), interpolation=cv2.INTER_AREA)
    if (pixels.shape[1], pixels.shape[0]) != size_wh:
        pixels = cv2.resize(pixels, size_wh, interpolation=cv2.INTER_AREA)
    return pixels
