"""Videos made in code, with the truth about them: for tests, benchmarks and demos."""

from __future__ import annotations

import functools
import math
import random
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from video2gui.geometry import Box, Point
from video2gui.timebase import NS_PER_MS

if TYPE_CHECKING:
    from PIL import Image as Pil
    from PIL import ImageDraw

    from video2gui.video.frame import Image

#: The codec of `write_video` by file ending, for opaque pictures and for transparent ones.
_CODECS = {
    ".mp4": ("libx264", None),
    ".mov": ("libx264", "png"),
    ".mkv": ("libx264", None),
    ".webm": ("libvpx-vp9", "libvpx-vp9"),
    ".avi": ("mjpeg", None),
}
_FAST = {
    "libx264": {"preset": "ultrafast", "crf": "12"},
    "libvpx-vp9": {"deadline": "realtime", "cpu-used": "8", "crf": "12", "b": "0"},
    # faster presets leave whole blocks of a changed picture out
    "libsvtav1": {"preset": "8", "crf": "20", "svtav1-params": "lp=1"},
}


def write_video(
    path: Path,
    images: Iterable[Image],
    times_ns: Sequence[int],
    *,
    end_ns: int | None = None,
    codec: str | None = None,
    options: dict[str, str] | None = None,
    container_options: dict[str, str] | None = None,
    quarter_turns: int = 0,
) -> Path:
    """Write pictures (H, W, 3) or, transparent, (H, W, 4) with exactly these times, as the kind of `path`'s ending.

    mp4 and mov hold times of whole microseconds, webm and mkv of milliseconds, gif of 10 ms (20 or more apart). A first
    time above 0 is kept as the container's own start. The last picture stays until `end_ns`, or as long as the one
    before it. `options` and `container_options` are FFmpeg's, of the codec and the muxer. `quarter_turns` marks an mp4
    or mov as to be shown turned counter-clockwise so many times.

    Raises:
        ValueError: times that do not increase, or that the container cannot hold.
    """
    times = list(times_ns)
    if not times or any(b <= a for a, b in pairwise(times)):
        raise ValueError("times must increase, and there must be one")
    step = times[-1] - times[-2] if len(times) > 1 else 100 * NS_PER_MS
    lengths = [b - a for a, b in pairwise([*times, times[-1] + step if end_ns is None else end_ns])]
    if path.suffix == ".gif":
        _write_gif(path, images, times, lengths)
    else:
        _write_with_ffmpeg(path, images, times, lengths, codec, options or {}, container_options or {})
    if quarter_turns % 4:
        _turn_mp4(path, quarter_turns % 4)
    return path


def _write_with_ffmpeg(
    path: Path,
    images: Iterable[Image],
    times: list[int],
    lengths: list[int],
    codec: str | None,
    options: dict[str, str],
    container_options: dict[str, str],
) -> None:
    import av

    tick_ns = 1000 if path.suffix in (".mp4", ".mov") else NS_PER_MS
    _check_ticks([*times, *lengths], tick_ns, path)
    tick = Fraction(tick_ns, 10**9)
    shown = {time // tick_ns: length // tick_ns for time, length in zip(times, lengths, strict=True)}
    with av.open(str(path), "w", container_options=container_options) as container:
        stream: Any = None
        for image, time in zip(images, times, strict=True):
            if stream is None:
                opaque, transparent = _CODECS[path.suffix]
                name = codec or (opaque if image.shape[2] == 3 else transparent)
                if name is None:
                    raise ValueError(f"{path.suffix} holds no transparent pictures")
                stream = container.add_stream(name, options={**_FAST.get(name, {}), **options})
                stream.height, stream.width = image.shape[:2]
                stream.pix_fmt = _pixel_format(name, image)
                stream.codec_context.time_base = tick
                stream.codec_context.thread_count = 1
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), "rgb24" if image.shape[2] == 3 else "rgba")
            frame.pts, frame.time_base = time // tick_ns, tick
            _mux(container, stream.encode(frame), shown)
        _mux(container, stream.encode(None), shown)


def _pixel_format(codec: str, image: Image) -> str:
    height, width, channels = image.shape
    if channels == 4:
        return "rgba" if codec in ("png", "qtrle") else "yuva420p"
    if codec in ("png", "qtrle"):
        return "rgb24"
    if codec == "mjpeg":
        return "yuvj444p"
    # H.264 keeps colour at half size only for even pictures
    return "yuv444p" if codec == "libx264" and (height % 2 or width % 2) else "yuv420p"


def _mux(container: Any, packets: list[Any], shown: dict[int, int]) -> None:
    for packet in packets:
        packet.duration = shown[packet.pts]
        container.mux(packet)


def _check_ticks(times: list[int], tick_ns: int, path: Path) -> None:
    for time in times:
        if time % tick_ns:
            raise ValueError(f"{path.suffix} holds times in steps of {tick_ns} ns, and {time} is none")


def _write_gif(path: Path, images: Iterable[Image], times: list[int], lengths: list[int]) -> None:
    from PIL import Image as Pil

    _check_ticks(lengths, 10 * NS_PER_MS, path)
    if times[0] or min(lengths) < 20 * NS_PER_MS:
        raise ValueError("a GIF starts at 0, and its pictures stay for at least 20 ms")
    first, *others = [Pil.fromarray(np.asarray(image)) for image in images]
    durations = [length // NS_PER_MS for length in lengths]
    # disposal 2 clears each transparent picture before the next
    disposal = 2 if first.mode == "RGBA" else 0
    first.save(path, save_all=True, append_images=others, duration=durations, disposal=disposal, optimize=False)


def _turn_mp4(path: Path, quarter_turns: int) -> None:
    """Set the display matrix in the track header: x' = a x + c y + tx, y' = b x + d y + ty, in 16.16 fixed point."""
    data = bytearray(path.read_bytes())
    header = data.index(b"tkhd") + 4
    at = header + (36 + 4 if data[header] == 0 else 48 + 4)
    one = 1 << 16
    a, b, c, d = {1: (0, -one, one, 0), 2: (-one, 0, 0, -one), 3: (0, one, -one, 0)}[quarter_turns]
    struct.pack_into(">9i", data, at, a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path.write_bytes(data)


# -------------------------------------------------------------------------------------------- a drawn recording


@dataclass(frozen=True, slots=True)
class TrueAction:
    """What was done in a drawn recording: `kind` is one of click, type, scroll; times are press and release.

    `point` is where the pointer's hot spot was, `box` the control under it and `target` its words. `distance` is how
    far the content moved, as a fraction of the frame's height.
    """

    kind: str
    start_ns: int
    end_ns: int
    point: Point
    box: Box
    target: str
    text: str | None = None
    direction: str | None = None
    distance: float | None = None


@dataclass(frozen=True, slots=True)
class Screencast:
    """The truth about a drawn recording. `pointer` has one entry for each frame: its instant and the hot spot."""

    size_wh: tuple[int, int]
    times_ns: tuple[int, ...]
    end_ns: int
    actions: tuple[TrueAction, ...]
    pointer: tuple[tuple[int, Point], ...]


def draw_screencast(path: Path, seed: int = 0, size_wh: tuple[int, int] = (960, 600)) -> Screencast:
    """Draw a small program at work and write it as a recording of about ten seconds with irregular frame times.

    The pointer moves as a hand moves it. It clicks into a text field, types a line, clicks a button, which answers with
    a line of its own, scrolls a list and clicks one of its rows. The same seed gives the same recording.
    """
    play = _Play(random.Random(seed), size_wh)
    play.perform()
    frames = list(play.captured())
    end_ns = play.now_ms * NS_PER_MS
    times = tuple(time_ms * NS_PER_MS for time_ms, _ in frames)
    write_video(path, (play.draw(state) for _, state in frames), times, end_ns=end_ns)
    pointer = tuple((t, Point.from_px(*state.pointer, size_wh)) for t, (_, state) in zip(times, frames, strict=True))
    return Screencast(size_wh, times, end_ns, tuple(play.actions), pointer)


@dataclass(frozen=True, slots=True)
class _State:
    """All that the picture shows."""

    pointer: tuple[float, float]
    focused: bool = False
    text: str = ""
    pressed: bool = False
    answer: str = ""
    scrolled: int = 0
    chosen: int | None = None


_LINES = ("hello world", "buy milk", "team meeting", "new branch", "send report")
_ROWS = ("Inbox", "Drafts", "Sent mail", "Archive", "Travel", "Invoices", "Recipes", "Photos", "Music", "Projects")
_ROW_PX, _NOTCH_PX = 32, 48


class _Play:
    """Moves the state through time, in milliseconds, and keeps every state with its instant."""

    def __init__(self, rng: random.Random, size_wh: tuple[int, int]) -> None:
        width, height = size_wh
        if width < 640 or height < 400:
            raise ValueError(f"the program needs 640x400, not {width}x{height}")
        self.rng, self.size_wh = rng, size_wh
        self.now_ms = 0
        self.actions: list[TrueAction] = []
        left, top = 40 + rng.randrange(40), 60 + rng.randrange(30)
        self.window = (left - 20, top - 40, width - 30, height - 20)
        self.list_box = (left, top + 20, left + 220, height - 50)
        form = left + 270
        self.field_box = (form, top + 60, width - 70, top + 94)
        self.button_box = (form, top + 120, form + 110, top + 152)
        self.rows = [f"{rng.choice(_ROWS)} {n + 1}" for n in range(60)]
        self.dark = rng.random() < 0.5
        self.state = _State(pointer=(width * rng.uniform(0.4, 0.9), height * rng.uniform(0.6, 0.9)))
        self._states = [(0, self.state)]
        self._background = self._draw_background()

    def perform(self) -> None:
        rng, line = self.rng, self.rng.choice(_LINES)
        self._wait(rng.randrange(500, 900))
        self._click(self.field_box, "Name", focused=True)
        self._wait(rng.randrange(300, 600))
        self._type(line)
        self._wait(rng.randrange(400, 800))
        self._click(self.button_box, "Save", pressed_look=True, answer=f"Saved: {line}", focused=False)
        self._wait(rng.randrange(600, 1000))
        self._scroll(rng.randrange(3, 7))
        self._wait(rng.randrange(500, 900))
        row = self.state.scrolled // _ROW_PX + 2 + rng.randrange(3)
        self._click(self._row_box(row), self.rows[row], chosen=row)
        self._wait(rng.randrange(900, 1300))

    def captured(self) -> Iterator[tuple[int, _State]]:
        """What a recorder keeps: it looks about 30 times a second, now and then late, and skips what did not change."""
        look_ms, shown = 0, None
        states = iter([*self._states, (self.now_ms + 1, self.state)])
        _, state = next(states)
        next_ms, upcoming = next(states)
        while look_ms < self.now_ms:
            while next_ms <= look_ms:
                state = upcoming
                next_ms, upcoming = next(states)
            if state != shown:
                yield look_ms, state
                shown = state
            look_ms += 150 if self.rng.random() < 0.03 else self.rng.randrange(26, 42)

    # ------------------------------------------------------------------------------------------------- acting

    def _set(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)
        self._states.append((self.now_ms, self.state))

    def _wait(self, length_ms: int) -> None:
        self.now_ms += length_ms

    def _move_to(self, box: tuple[int, int, int, int]) -> None:
        """A bent path, fast in the middle and slow at both ends, longer for far and small aims."""
        (x0, y0), (x1, y1, x2, y2) = self.state.pointer, box
        aim = (
            x1 + (min(x2, x1 + 200) - x1) * self.rng.uniform(0.3, 0.7),
            y1 + (y2 - y1) * self.rng.uniform(0.35, 0.65),
        )
        dx, dy = aim[0] - x0, aim[1] - y0
        far = math.hypot(dx, dy)
        length_ms = int(200 + 150 * math.log2(1 + far / min(x2 - x1, y2 - y1)))
        bend = self.rng.uniform(-0.12, 0.12)
        start_ms = self.now_ms
        for at in range(8, length_ms + 8, 8):
            t = min(1.0, at / length_ms)
            along = t**3 * (10 - 15 * t + 6 * t * t)
            aside = bend * math.sin(math.pi * along)
            self.now_ms = start_ms + at
            self._set(pointer=(round(x0 + along * dx - aside * dy, 1), round(y0 + along * dy + aside * dx, 1)))

    def _click(self, box: tuple[int, int, int, int], target: str, *, pressed_look: bool = False, **effect: Any) -> None:
        self._move_to(box)
        self._wait(self.rng.randrange(80, 250))
        start_ms = self.now_ms
        if pressed_look:
            self._set(pressed=True)
        self._wait(self.rng.randrange(70, 130))
        self._keep("click", start_ms, box, target)
        if pressed_look:
            self._set(pressed=False)
        self._wait(self.rng.randrange(20, 60))
        self._set(**effect)

    def _type(self, line: str) -> None:
        start_ms = self.now_ms
        for at in range(1, len(line) + 1):
            self._set(text=line[:at])
            if at < len(line):
                self._wait(self.rng.randrange(70, 210))
        self._keep("type", start_ms, self.field_box, "Name", text=line)

    def _scroll(self, notches: int) -> None:
        self._move_to(self.list_box)
        self._wait(self.rng.randrange(150, 300))
        start_ms = self.now_ms
        for notch in range(notches):
            for part in range(1, 5):
                self._set(scrolled=notch * _NOTCH_PX + part * _NOTCH_PX // 4)
                self._wait(17)
            self._wait(self.rng.randrange(40, 140))
        distance = notches * _NOTCH_PX / self.size_wh[1]
        self._keep("scroll", start_ms, self.list_box, "list", direction="down", distance=distance)

    def _keep(self, kind: str, start_ms: int, box: tuple[int, int, int, int], target: str, **more: Any) -> None:
        place = Point.from_px(*self.state.pointer, self.size_wh)
        area = Box.from_px(*box, self.size_wh)
        start_ns, end_ns = start_ms * NS_PER_MS, self.now_ms * NS_PER_MS
        self.actions.append(TrueAction(kind, start_ns, end_ns, place, area, target, **more))

    def _row_box(self, row: int) -> tuple[int, int, int, int]:
        left, top, right, _ = self.list_box
        y = top + row * _ROW_PX - self.state.scrolled
        return left, y, right, y + _ROW_PX

    # ------------------------------------------------------------------------------------------------ drawing

    def draw(self, state: _State) -> Image:
        from PIL import ImageDraw

        picture = self._background.copy()
        pen = ImageDraw.Draw(picture)
        ink, paper, accent = self._colours()
        pen.rectangle(self.field_box, fill=paper, outline=accent if state.focused else "#888888", width=2)
        x, y = self.field_box[0] + 8, self.field_box[1] + 8
        pen.text((x, y), state.text, fill=ink, font=_font(16))
        if state.focused:
            caret = x + pen.textlength(state.text, font=_font(16)) + 1
            pen.line((caret, y, caret, y + 18), fill=ink)
        pen.rounded_rectangle(self.button_box, 5, fill="#1c4f9c" if state.pressed else accent)
        pen.text((self.button_box[0] + 36, self.button_box[1] + 7), "Save", fill="white", font=_font(16))
        pen.text((self.button_box[0], self.button_box[3] + 24), state.answer, fill=ink, font=_font(16))
        self._draw_list(picture, state)
        self._draw_pointer(pen, state)
        return np.asarray(picture)

    def _colours(self) -> tuple[str, str, str]:
        return ("#e8e8e8", "#2b2b2b", "#3584e4") if self.dark else ("#202020", "#ffffff", "#2a70d0")

    def _draw_background(self) -> Pil.Image:
        from PIL import Image as Pil
        from PIL import ImageDraw

        ink, _, _ = self._colours()
        picture = Pil.linear_gradient("L").resize(self.size_wh).convert("RGB")
        pen = ImageDraw.Draw(picture)
        left, top, right, _ = self.window
        pen.rectangle(self.window, fill="#383838" if self.dark else "#f2f2f2", outline="#707070")
        pen.rectangle((left, top, right, top + 30), fill="#1f1f1f" if self.dark else "#d5d5d8")
        pen.text((left + 12, top + 7), "Notes", fill=ink, font=_font(16))
        pen.text((self.field_box[0], self.field_box[1] - 24), "Name", fill=ink, font=_font(16))
        return picture

    def _draw_list(self, picture: Pil.Image, state: _State) -> None:
        from PIL import Image as Pil
        from PIL import ImageDraw

        ink, paper, accent = self._colours()
        left, top, right, bottom = self.list_box
        view = Pil.new("RGB", (right - left, bottom - top), paper)
        pen = ImageDraw.Draw(view)
        for row, words in enumerate(self.rows):
            y = row * _ROW_PX - state.scrolled
            if -_ROW_PX < y < bottom - top:
                if row == state.chosen:
                    pen.rectangle((0, y, right - left, y + _ROW_PX - 1), fill=accent)
                pen.text((10, y + 7), words, fill="white" if row == state.chosen else ink, font=_font(15))
        picture.paste(view, (left, top))

    def _draw_pointer(self, pen: ImageDraw.ImageDraw, state: _State) -> None:
        x, y = round(state.pointer[0]), round(state.pointer[1])
        arrow = [(0, 0), (0, 17), (4, 13), (7, 20), (10, 19), (7, 12), (12, 12)]
        pen.polygon([(x + dx, y + dy) for dx, dy in arrow], fill="black", outline="white")


@functools.cache
def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)
