"""Frames that are already in memory: for tests, the demo and short clips."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import pairwise
from types import TracebackType
from typing import Self

import numpy as np

from video2gui.video.frame import Frame, Image, Picture, StreamInfo
from video2gui.video.timeline import at_times, on_screen


class MemoryReader:
    """Reads `frames`, whose first is instant 0.

    Raises:
        ValueError: no frames, times that do not strictly increase from 0, or pictures of several sizes.
    """

    def __init__(self, frames: Sequence[Frame], *, duration_ns: int | None = None) -> None:
        times = [frame.pts_ns for frame in frames]
        if not times or times[0] != 0 or any(b <= a for a, b in pairwise(times)):
            raise ValueError(f"times of frames must strictly increase from 0, found {times[:5]}")
        if len({frame.size_wh for frame in frames}) != 1:
            raise ValueError("frames are of several sizes")
        self._pictures = [(frame.pts_ns, _read_only(frame.image)) for frame in frames]
        self.info = StreamInfo(
            size_wh=frames[0].size_wh,
            duration_ns=duration_ns,
            average_rate=None,
            codec="rgb24",
            container="memory",
            has_audio=False,
        )

    def _open_from(self, start_ns: int) -> Generator[Picture, None, None]:
        del start_ns  # the start costs nothing here
        for pts_ns, image in self._pictures:
            yield Picture(pts_ns, lambda image=image: image)  # type: ignore[misc]

    def frames(self, start_ns: int = 0, end_ns: int | None = None) -> Iterator[Frame]:
        return (picture.frame() for picture in self.pictures(start_ns, end_ns))

    def pictures(self, start_ns: int = 0, end_ns: int | None = None, every_ns: int = 1) -> Iterator[Picture]:
        return on_screen(self._open_from, start_ns, end_ns, every_ns)

    def frames_at(self, times_ns: Sequence[int]) -> Iterator[Frame]:
        return at_times(self._open_from, times_ns, lambda _from_ns, _to_ns: False)

    def close(self) -> None:
        """Nothing to give back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _read_only(image: Image) -> Image:
    view = np.ascontiguousarray(image).view()
    view.flags.writeable = False
    return view
