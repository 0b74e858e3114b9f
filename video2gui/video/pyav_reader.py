"""Video files through PyAV (FFmpeg). The only module of the package, beside `testing`, that imports `av`."""

from __future__ import annotations

import bisect
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from video2gui.errors import VideoError
from video2gui.timebase import MAX_NS, NS_PER_S, clock, ns_from_ticks
from video2gui.video.frame import Frame, Image, Luma, Picture, StreamInfo, luma_of
from video2gui.video.shrink import shrink
from video2gui.video.timeline import at_times, on_screen
from video2gui.video.wholeness import cut_off, gif_size, why_not_a_video

if TYPE_CHECKING:
    import av
    from av.video.reformatter import VideoReformatter

#: The largest picture that is decoded: 8K. A screen has fewer; a file that declares more is refused unread.
MAX_PIXELS = 7680 * 4320

#: FFmpeg demuxers that may open a file. Playlists (hls, concat) are not among them: they open other files.
_FORMATS = "mov,mp4,matroska,webm,gif,avi,flv,mpegts,mpeg,asf,ogg,apng,h264,hevc,ivf,mp3,wav,flac,aac"

#: Containers in which FFmpeg seeks by an index of key frames. In others a start in the middle decodes all before it.
_SEEKABLE = {"mp4", "matroska"}

#: Pixel formats whose first plane is the brightness in whole bytes.
_PLANE_IS_LUMA = {
    "yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p", "nv12", "nv21", "gray",
}  # fmt: skip

#: Formats of three planes of whole bytes, and what their kind is with all planes of one size.
_PLANES = {
    "yuv420p": "yuv444p", "yuv422p": "yuv444p", "yuv444p": "yuv444p",
    "yuvj420p": "yuvj444p", "yuvj422p": "yuvj444p", "yuvj444p": "yuvj444p",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Turn:
    """How a decoded picture is turned upright: transposed first, then mirrored."""

    transpose: bool = False
    mirror_x: bool = False
    mirror_y: bool = False

    @property
    def mirrors(self) -> bool:
        """Whether left and right are exchanged, which no turning does."""
        return self.transpose == (self.mirror_x == self.mirror_y)

    def apply(self, pixels: Image) -> Image:
        if self == _Turn():
            return pixels
        if self.transpose:
            pixels = pixels.swapaxes(0, 1)
        return np.ascontiguousarray(pixels[:: -1 if self.mirror_y else 1, :: -1 if self.mirror_x else 1])


class PyavReader:
    """Reads any container and codec of FFmpeg that holds a video, by presentation timestamps.

    `transparent` says that pictures may have holes, which are shown white; `mirrored` that they are shown as in a
    mirror.

    `threads` is how many threads decode; more than one answers sooner and costs a little more CPU time in all.

    Raises:
        VideoError: not a video, no video stream, larger than `max_pixels`, encrypted, or its first frame is damaged.
    """

    def __init__(self, path: Path, *, threads: int = 1, max_pixels: int = MAX_PIXELS) -> None:
        self._path = Path(path)
        self._threads = threads
        self._max_pixels = max_pixels
        self._key_times: list[int] | None = None
        self._coded_wh: tuple[int, int] | None = None
        with self._open() as stream:
            self._container = _family(stream)
            self._cut_off = cut_off(self._path)
            first = self._first_frame(stream)
            self._origin = first.pts
            self._coded_wh = w, h = first.width, first.height
            self._turn = _turn_of(first, self._path)
            self._pixels = _Pixels(self._turn, self._path)
            self.transparent = _may_be_transparent(first)
            self.mirrored = self._turn.mirrors
            self.info = StreamInfo(
                size_wh=(h, w) if self._turn.transpose else (w, h),
                duration_ns=_declared_duration(stream),
                average_rate=stream.average_rate or None,
                codec=stream.codec_context.codec.canonical_name,
                container=self._container,
                has_audio=bool(stream.container.streams.audio),
            )

    # ------------------------------------------------------------------------------------------ the protocol

    def frames(self, start_ns: int = 0, end_ns: int | None = None) -> Iterator[Frame]:
        return (picture.frame() for picture in self.pictures(start_ns, end_ns))

    def pictures(self, start_ns: int = 0, end_ns: int | None = None, every_ns: int = 1) -> Iterator[Picture]:
        return on_screen(self._open_from, start_ns, end_ns, every_ns)

    def frames_at(self, times_ns: Sequence[int]) -> Iterator[Frame]:
        return at_times(self._open_from, times_ns, self._pays)

    def close(self) -> None:
        """Nothing to give back: each run of pictures opens the file and closes it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def container_times(self) -> list[int]:
        """The instants of all frames as the container lists them, in order, without decoding: cheap.

        Raises:
            VideoError: the list is not the list of what is shown: a cut-off file, frames hidden by an edit list,
                several frames at one instant, times missing.
        """
        import av

        times: list[int] = []
        with self._open() as stream:
            try:
                for packet in stream.container.demux(stream):
                    if packet.size:
                        if packet.pts is None or packet.is_discard:
                            raise self._error(f"{self._path.name} holds frames that are not shown, or without a time")
                        times.append(packet.pts)
                        time_base = packet.time_base
            except av.FFmpegError as error:
                reason = self._cut_off or error.strerror
                raise self._error(f"{self._path.name} cannot be read to its end: {reason}") from error
        if self._cut_off:
            raise self._error(f"{self._path.name} cannot be read to its end: {self._cut_off}")
        if len(set(times)) != len(times):
            raise self._error(f"{self._path.name} holds several frames for one instant")
        return sorted(ns_from_ticks(time - self._origin, time_base) for time in times)

    # ---------------------------------------------------------------------------------------------- opening

    @contextmanager
    def _open(self) -> Generator[av.VideoStream, None, None]:
        import av

        if not self._path.is_file():
            raise self._error(f"{self._path} is not a file")
        options = {
            "format_whitelist": _FORMATS,
            "protocol_whitelist": "file",
            "max_pixels": str(self._max_pixels),
        }
        try:
            # "file:" keeps a name such as "concat:a|b" from being taken for a protocol
            container = av.open(f"file:{self._path.absolute()}", options=options, metadata_errors="replace")
        except av.FFmpegError as error:
            raise self._error(f"{self._path.name} {why_not_a_video(self._path, error.strerror)}") from error
        with container:
            stream = self._video_stream(container)
            stream.codec_context.options = {"max_pixels": str(self._max_pixels)}
            stream.codec_context.thread_count = self._threads
            stream.codec_context.thread_type = "AUTO" if self._threads > 1 else "NONE"
            yield stream

    def _video_stream(self, container: av.container.InputContainer) -> av.VideoStream:
        from av.stream import Disposition

        not_moving = Disposition.attached_pic | Disposition.timed_thumbnails
        streams = [stream for stream in container.streams.video if not stream.disposition & not_moving]
        if not streams:
            found = "only sound" if container.streams.audio else "no picture and no sound"
            raise self._error(f"{self._path.name} holds no video, {found}")
        known = [stream for stream in streams if stream.codec_context is not None]
        if not known:
            raise self._error(f"{self._path.name} holds video of a codec that FFmpeg does not know")
        stream = max(known, key=lambda stream: stream.width * stream.height)
        width, height = gif_size(self._path) or (stream.width, stream.height)
        if width * height > self._max_pixels:
            raise self._error(
                f"{self._path.name} declares pictures of {width}x{height}, more than {self._max_pixels} pixels"
            )
        return stream

    def _first_frame(self, stream: av.VideoStream) -> av.VideoFrame:
        first = next(self._decode(stream), None)
        if first is None:
            raise self._error(f"{self._path.name} holds a video stream without a single frame")
        return first

    # ---------------------------------------------------------------------------------------------- decoding

    def _open_from(self, start_ns: int) -> Generator[Picture, None, None]:
        """Pictures from a key frame at or before `start_ns`, or from the first one, to the end."""
        if start_ns > 0 and self._container in _SEEKABLE:
            with self._open() as stream:
                run = self._run(stream, start_ns)
                first = next(run, None)
                # an index may lie: then all is decoded from the first frame on
                if first is not None and first.pts_ns <= start_ns:
                    yield first
                    yield from run
                    return
        with self._open() as stream:
            yield from self._run(stream, 0)

    def _run(self, stream: av.VideoStream, start_ns: int) -> Generator[Picture, None, None]:
        for frame in self._decode(stream, start_ns):
            pts_ns = ns_from_ticks(frame.pts - self._origin, stream.time_base)
            pixels = self._pixels
            yield Picture(
                pts_ns, partial(pixels.image, frame), partial(pixels.luma, frame), partial(pixels.small, frame)
            )

    def _decode(self, stream: av.VideoStream, start_ns: int = 0) -> Iterator[av.VideoFrame]:
        import av

        last: int | None = None  # ticks of the last good frame
        try:
            # rounded down: the key frame must not lie behind the start
            ticks = self._origin + Fraction(start_ns, NS_PER_S) // stream.time_base if start_ns > 0 else None
            frames = _decoded(stream, ticks)
            if self._cut_off and self._container == "gif":
                frames = (frame for frame, _ in pairwise(frames))  # FFmpeg shows as much of the last as there is
            for frame in frames:
                if frame.pts is None or (last is not None and frame.pts < last):
                    raise self._stopped(last, stream, "the next frame's time is missing or runs backwards")
                if frame.is_corrupt:
                    raise self._stopped(last, stream, "the next frame is damaged")
                if self._coded_wh not in (None, (frame.width, frame.height)):
                    raise self._stopped(last, stream, f"pictures change size to {frame.width}x{frame.height}")
                last = frame.pts
                yield frame
        except av.ArgumentError as error:  # what FFmpeg says of a picture beyond `max_pixels`
            reason = f"the next frame is damaged, or larger than {self._max_pixels} pixels"
            raise self._stopped(last, stream, reason) from error
        except av.FFmpegError as error:
            raise self._stopped(last, stream, self._cut_off or error.strerror) from error
        if self._cut_off:
            raise self._stopped(last, stream, self._cut_off)

    # ----------------------------------------------------------------------------------------------- seeking

    def _pays(self, from_ns: int, to_ns: int) -> bool:
        """Whether a key frame stands between the two, a good way on: opening costs as much as some frames."""
        if to_ns - from_ns < NS_PER_S or self._container not in _SEEKABLE:
            return False
        if self._key_times is None:
            self._key_times = self._read_key_times()
        at = bisect.bisect_right(self._key_times, to_ns)
        return at > 0 and self._key_times[at - 1] > from_ns + NS_PER_S // 2

    def _read_key_times(self) -> list[int]:
        """About where the index has its key frames: it may know times of decoding only."""
        import av

        with self._open() as stream:
            try:
                # matroska reads its index at the first seek only
                stream.container.seek(self._origin, stream=stream)
            except av.FFmpegError:
                return []
            keys = [entry.timestamp for entry in stream.index_entries if entry.is_keyframe and not entry.is_discard]
            return sorted(ns_from_ticks(key - self._origin, stream.time_base) for key in keys)

    # ------------------------------------------------------------------------------------------------ errors

    def _error(self, message: str) -> VideoError:
        return VideoError(message, address=str(self._path))

    def _stopped(self, last: int | None, stream: av.VideoStream, reason: str) -> VideoError:
        if last is None:
            return self._error(f"{self._path.name} cannot be decoded: {reason}")
        at = clock(ns_from_ticks(last - self._origin, stream.time_base))
        return self._error(f"{self._path.name} cannot be decoded beyond {at}: {reason}")


# ------------------------------------------------------------------------------------------- facts of a stream


def _family(stream: av.VideoStream) -> str:
    name = stream.container.format.name.partition(",")[0]
    return "mp4" if name == "mov" else str(name)


def _declared_duration(stream: av.VideoStream) -> int | None:
    if stream.duration is not None:
        duration = ns_from_ticks(stream.duration, stream.time_base)
    elif stream.container.duration is not None:
        duration = stream.container.duration * 1000  # microseconds
    else:
        return None
    return duration if 0 < duration <= MAX_NS else None


def _turn_of(frame: av.VideoFrame, path: Path) -> _Turn:
    """From the display matrix (x' = a x + c y, y' = b x + d y, in 16.16 fixed point); without one, as it is."""
    matrix = frame.side_data.get("DISPLAYMATRIX")
    if matrix is None:
        return _Turn()
    a, b, _, c, d = (int(v) for v in np.frombuffer(bytes(matrix), dtype=np.int32)[:5])
    if b == c == 0 and a and d:
        return _Turn(mirror_x=a < 0, mirror_y=d < 0)
    if a == d == 0 and b and c:
        return _Turn(transpose=True, mirror_x=c < 0, mirror_y=b < 0)
    raise VideoError(f"{path.name} is to be shown at a slant (display matrix {a, b, c, d})", address=str(path))


# --------------------------------------------------------------------------------------------------- decoding


def _decoded(stream: av.VideoStream, start_ticks: int | None) -> Iterator[av.VideoFrame]:
    """Frames as the decoder gives them: from the first one, or from the key frame that FFmpeg finds for `start_ticks`.

    Frames before that key frame in presentation order lean on ones that were not decoded: they are left out.
    """
    decoder = _decoder(stream)
    first_good: int | None = None
    if start_ticks is not None:
        stream.container.seek(start_ticks, stream=stream)
    for packet in stream.container.demux(stream):
        if start_ticks is not None and first_good is None and packet.size:
            if not packet.is_keyframe or packet.pts is None:
                return
            first_good = packet.pts
        # an empty packet is the demuxer's end of stream
        for frame in decoder.decode(packet if packet.size else None):
            if first_good is None or frame.pts is None or frame.pts >= first_good:
                yield frame


def _decoder(stream: av.VideoStream) -> Any:
    """The stream's own decoder; for VP8 and VP9 with an alpha channel libvpx, since FFmpeg's drop that channel."""
    import av

    codec = {"vp8": "libvpx", "vp9": "libvpx-vp9"}.get(stream.codec_context.codec.canonical_name)
    if codec is None or stream.metadata.get("alpha_mode") != "1":
        return stream.codec_context
    decoder = av.CodecContext.create(codec, "r")
    decoder.options = dict(stream.codec_context.options)
    return decoder


# ------------------------------------------------------------------------------------------------- conversion


class _Pixels:
    """Turns decoded frames into arrays. One converter serves all of a size: making one costs as much as using it."""

    def __init__(self, turn: _Turn, path: Path) -> None:
        from av.video.reformatter import VideoReformatter

        self._turn = turn
        self._path = path
        self._converter, self._small_converter = VideoReformatter(), VideoReformatter()

    def image(self, frame: av.VideoFrame) -> Image:
        if _has_holes(frame):
            image = _on_white(self._convert(frame, "rgba"))
        else:
            image = self._convert(frame, "rgb24")
        image = np.ascontiguousarray(self._turn.apply(image))
        image.flags.writeable = False
        return image

    def luma(self, frame: av.VideoFrame) -> Luma:
        if frame.format.name in _PLANE_IS_LUMA:
            luma: Luma = _plane(frame.planes[0])
        elif _has_holes(frame):
            luma = luma_of(_on_white(self._convert(frame, "rgba")))
        else:
            luma = self._convert(frame, "gray")
        luma = self._turn.apply(luma)
        luma.flags.writeable = False
        return luma

    def small(self, frame: av.VideoFrame, size_wh: tuple[int, int]) -> Image:
        if frame.format.name not in _PLANES or self._turn != _Turn():
            return shrink(self.image(frame), size_wh)
        import av

        planes = [shrink(_plane(plane), size_wh) for plane in frame.planes]
        few = av.VideoFrame.from_ndarray(np.stack(planes), format=_PLANES[frame.format.name])
        few.colorspace, few.color_range = frame.colorspace, frame.color_range
        return self._convert(few, "rgb24", self._small_converter)

    def _convert(self, frame: av.VideoFrame, pixel_format: str, converter: VideoReformatter | None = None) -> Image:
        # nothing is scaled but colour stored at half size; "point" is what FFmpeg's fast path does for even heights,
        # and for odd ones it halves the time
        import av

        try:
            converted = (converter or self._converter).reformat(
                frame, format=pixel_format, interpolation="POINT", threads=1
            )
        except av.FFmpegError as error:
            message = f"{self._path.name}: pictures of kind {frame.format.name} cannot be shown ({error.strerror})"
            raise VideoError(message, address=str(self._path)) from error
        return np.asarray(converted.to_ndarray(), dtype=np.uint8)


def _plane(plane: av.VideoPlane) -> Luma:
    """The samples of one plane, uint8 (H, W); they belong to the decoder."""
    return np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: plane.height, : plane.width]


def _may_be_transparent(frame: av.VideoFrame) -> bool:
    return frame.format.has_palette or any(part.is_alpha for part in frame.format.components)


def _has_holes(frame: av.VideoFrame) -> bool:
    """Whether this picture must be laid on white. A look at packed alpha (GIF) beats mixing for nothing."""
    at = {"rgba": 3, "bgra": 3, "argb": 0, "abgr": 0}.get(frame.format.name)
    if at is None:
        return _may_be_transparent(frame)
    plane = frame.planes[0]
    pixels = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: plane.height, : 4 * plane.width]
    return bool(pixels[:, at::4].min() < 255)


def _on_white(rgba: Image) -> Image:
    """(H, W, 4) laid on white."""
    alpha = rgba[:, :, 3:]
    lit = rgba[:, :, :3].astype(np.uint16) * alpha + 255 * (255 - alpha.astype(np.uint16))
    return ((lit + 127) // 255).astype(np.uint8)
