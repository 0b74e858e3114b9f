"""The one way to look at a video: the picture on screen at a time, by presentation timestamps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Protocol, Self

from video2gui.video.frame import Frame, Picture, StreamInfo


class VideoReader(Protocol):
    """A video open for reading. Use as a context manager; one thread at a time; never across a fork.

    The first frame of the stream is instant 0 whatever the container's own clock says. Times of frames strictly
    increase. What is transparent lies on white. All methods raise `VideoError` with the time of the last good frame
    when the file cannot be decoded further: a cut-off file never looks like a shorter one.
    """

    info: StreamInfo

    def frames(self, start_ns: int = 0, end_ns: int | None = None) -> Iterator[Frame]:
        """All frames on screen in [start_ns, end_ns), in order: the first is the one on screen at start_ns.

        The last frame stays on screen: a start beyond the end gives it.
        """
        ...

    def pictures(self, start_ns: int = 0, end_ns: int | None = None, every_ns: int = 1) -> Iterator[Picture]:
        """What `frames` gives, converted only when asked for; and of it only what is on screen at one of the
        instants start_ns, start_ns + every_ns, ...

        A frame that stays on screen for `every_ns` is never missed, the last one neither.
        """
        ...

    def frames_at(self, times_ns: Sequence[int]) -> Iterator[Frame]:
        """For each time, the frame on screen then (the last one whose pts is not later).

        Times must not decrease (ValueError). A time before the first frame gives the first frame; one beyond the
        end gives the last.
        """
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
