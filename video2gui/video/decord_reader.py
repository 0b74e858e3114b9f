"""Video files through decord. The only module of the package that imports it."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from video2gui.errors import VideoError, load_extra
from video2gui.timebase import NS_PER_MS, NS_PER_S, clock
from video2gui.video.frame import Frame, Picture
from video2gui.video.pyav_reader import PyavReader
from video2gui.video.timeline import at_times, on_screen

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Containers whose frames decord counts and times rightly. GIF it does not open at all.
_CONTAINERS = ("mp4", "matroska", "avi")

#: decord's times are single-precision seconds: this far off after twenty minutes.
_CLOSE_NS = NS_PER_MS


class DecordReader:
    """Reads H.264, HEVC, VP8, VP9, MPEG-4 and the like from mp4, mov, webm, mkv and avi through decord 0.6.

    decord gives frames by number and knows little of how they are to be shown. So the facts of the file come from
    PyAV, decord's list of frames must agree with them, and what decord would show wrongly is refused: GIF (not opened),
    AV1 (not decoded), transparency (dropped), mirrored pictures, frames hidden by an edit list (counted, though never
    decoded). Frames are only ever taken in order: a start in the middle decodes all before it. A frame damaged inside
    is painted over by decord in silence; the PyAV reader reports it.

    decord decodes ahead without bound while nobody asks for frames: take them quickly, or finish the iteration.

    Raises:
        VideoError: not a video, or one of the above. MissingExtraError: decord is not installed.
    """

    def __init__(self, path: Path, *, threads: int = 1) -> None:
        self._decord = load_extra("decord", "decord")
        self._path = Path(path)
        self._threads = threads
        facts = PyavReader(self._path)
        self.info = facts.info
        if self.info.container not in _CONTAINERS:
            raise self._refusal(f"decord does not read {self.info.container} files rightly")
        if facts.transparent:
            raise self._refusal("decord drops transparency")
        if facts.mirrored:
            raise self._refusal("decord does not mirror pictures")
        self._times_ns = facts.container_times()
        self._check(self._open())

    def _open(self) -> Any:
        try:
            return self._decord.VideoReader(
                str(self._path.absolute()), ctx=self._decord.cpu(0), num_threads=self._threads
            )
        except (self._decord.DECORDError, RuntimeError) as error:
            raise self._refusal(f"decord cannot open it ({_last_words(error)})") from error

    def _check(self, video: Any) -> None:
        found = len(video)
        if found != len(self._times_ns):
            raise self._refusal(f"decord counts {found} frames, the container {len(self._times_ns)}")
        starts: npt.NDArray[np.float32] = video.get_frame_timestamp(range(found))[:, 0]
        offset = float(starts[0])
        for start_s, time_ns in zip(starts, self._times_ns, strict=True):
            if abs((float(start_s) - offset) * NS_PER_S - time_ns) > _CLOSE_NS:
                raise self._refusal(f"decord puts the frame of {clock(time_ns)} at {float(start_s) - offset:.3f} s")

    # ------------------------------------------------------------------------------------------ the protocol

    def frames(self, start_ns: int = 0, end_ns: int | None = None) -> Iterator[Frame]:
        return (picture.frame() for picture in self.pictures(start_ns, end_ns))

    def pictures(self, start_ns: int = 0, end_ns: int | None = None, every_ns: int = 1) -> Iterator[Picture]:
        return on_screen(self._open_from, start_ns, end_ns, every_ns)

    def frames_at(self, times_ns: Sequence[int]) -> Iterator[Frame]:
        return at_times(self._open_from, times_ns, lambda _from_ns, _to_ns: False)

    def close(self) -> None:
        """Nothing to give back: each run of pictures opens the file and closes it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---------------------------------------------------------------------------------------------- decoding

    def _open_from(self, start_ns: int) -> Generator[Picture, None, None]:
        first = max(0, sum(time_ns <= start_ns for time_ns in self._times_ns) - 1)
        video = self._open()
        try:
            for number in range(len(self._times_ns)):
                picture = video.next()
                if number < first:
                    continue  # its own ways to skip land on other frames where groups of pictures are open
                image = picture.asnumpy()
                if image.shape[1::-1] != self.info.size_wh:
                    raise self._stopped(number, f"pictures have size {image.shape[1]}x{image.shape[0]}")
                image.flags.writeable = False
                yield Picture(self._times_ns[number], lambda image=image: image)  # type: ignore[misc]
        except StopIteration:
            raise self._stopped(number, "decord gives no more frames") from None
        except (self._decord.DECORDError, RuntimeError) as error:
            raise self._stopped(number, _last_words(error)) from error

    def _refusal(self, reason: str) -> VideoError:
        return VideoError(f"{self._path.name}: {reason}; use the pyav reader", address=str(self._path))

    def _stopped(self, number: int, reason: str) -> VideoError:
        where = f" beyond {clock(self._times_ns[number - 1])}" if number else ""
        return VideoError(f"{self._path.name} cannot be decoded{where}: {reason}", address=str(self._path))


def _last_words(error: Exception) -> str:
    """The first line of decord's message, without the place in its source and its stack trace."""
    line = (str(error).strip().splitlines() or ["no reason given"])[0]
    return line.rpartition("] ")[2][:200]
