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
    """What was done in a drawn recording: `kind` is one of click, type, scroll, drag, long_press; times are
    press and release.

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
    end_point: Point | None = None


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


# ------------------------------------------------------------------------------------------- a drawn touch screen


@dataclass(frozen=True, slots=True)
class TouchStyle:
    """How a drawn touch indicator looks. `radius` is a fraction of the frame's width; `fade_in_ms` and `fade_out_ms`
    are how long it takes to come and go. `kind`: spot (Android's "show taps"), disc, ring; none leaves it out."""

    kind: str = "spot"
    radius: float = 0.03
    colour: tuple[int, int, int] = (128, 128, 128)
    opacity: float = 0.5
    fade_in_ms: int = 0
    fade_out_ms: int = 120


def draw_touchcast(
    path: Path,
    seed: int = 0,
    size_wh: tuple[int, int] = (360, 780),
    style: TouchStyle | None = None,
    fps: float = 30.0,
    gestures: Sequence[str] = ("tap", "swipe", "tap", "hold", "tap", "tap", "drag"),
    options: dict[str, str] | None = None,
) -> Screencast:
    """Draw a phone on which a list is worked with a finger, and write it as `write_video` does with `options`.

    Each of `gestures` is a tap (on a row, which opens a page, on a switch, on a button of a dialog or on "back", as the
    page has it), a hold (which opens a dialog), a swipe or the drag of a row. Kinds of actions: click, long_press,
    scroll, drag. The same seed gives the same recording.
    """
    play = _Phone(random.Random(seed), size_wh, style or TouchStyle())
    play.perform(gestures)
    step_ms = 1000 / fps
    looks = [round(n * step_ms / 10) * 10 for n in range(int(play.now_ms / step_ms))]
    states = [play.at(look) for look in looks]
    times, end_ns = tuple(t * NS_PER_MS for t in looks), (looks[-1] + round(step_ms / 10) * 10) * NS_PER_MS
    write_video(path, (play.draw(*s) for s in states), times, end_ns=end_ns, options=options)
    return Screencast(size_wh, times, end_ns, tuple(play.actions), ())


@dataclass(frozen=True, slots=True)
class _Page:
    """All that the phone shows but the finger."""

    opened: int | None = None
    scrolled: float = 0.0
    pressed: int | None = None
    dialog: bool = False
    on: frozenset[int] = frozenset()
    carried: tuple[int, float] | None = None


class _Phone:
    """Moves a phone's page and a finger through time, in milliseconds."""

    def __init__(self, rng: random.Random, size_wh: tuple[int, int], style: TouchStyle) -> None:
        self.rng, self.size_wh, self.style = rng, size_wh, style
        self.unit = size_wh[0] / 360
        self.dark, self.wallpaper = rng.random() < 0.4, rng.random() < 0.3
        self.rows = [f"{rng.choice(_ROWS)} {n + 1}" for n in range(80)]
        self.hues = [tuple(rng.randrange(40, 220) for _ in range(3)) for _ in self.rows]
        self.switches = rng.random() < 0.5
        self.now_ms = 0
        self.actions: list[TrueAction] = []
        self.page = _Page()
        self._pages = [(0, self.page)]
        self._finger: list[tuple[int, tuple[float, float] | None]] = []  # where it lies from an instant on

    def perform(self, gestures: Sequence[str]) -> None:
        self._wait(500, 900)
        for gesture in gestures:
            getattr(self, "_" + gesture)()
            self._wait(500, 1300)

    def at(self, time_ms: int) -> tuple[_Page, tuple[float, float] | None, float]:
        """The page, the indicator's place and how much of it is there (0..1)."""
        page = [p for t, p in self._pages if t <= time_ms][-1]
        place, share, since = None, 0.0, 0
        for t, where in self._finger:
            if t > time_ms:
                break
            if where is not None and share == 0.0:
                since = t
            if where is not None:
                place, share = where, min(1.0, (time_ms - since + 1) / max(self.style.fade_in_ms, 1))
            else:
                share = max(0.0, 1 - (time_ms - t) / max(self.style.fade_out_ms, 1))
        return page, place, share

    # ------------------------------------------------------------------------------------------------- acting

    def _set(self, **changes: Any) -> None:
        self.page = replace(self.page, **changes)
        self._pages.append((self.now_ms, self.page))

    def _wait(self, least_ms: int, most_ms: int) -> None:
        self.now_ms += self.rng.randrange(least_ms, most_ms)

    def _in(self, box: tuple[float, float, float, float]) -> tuple[float, float]:
        return (
            box[0] + (box[2] - box[0]) * self.rng.uniform(0.2, 0.8),
            box[1] + (box[3] - box[1]) * self.rng.uniform(0.3, 0.7),
        )

    def _row(self) -> tuple[int, tuple[float, float, float, float]]:
        u, (w, h) = self.unit, self.size_wh
        row = int((self.page.scrolled + self.rng.uniform(0.15, 0.75) * h) / (64 * u))
        y = 64 * u * row - self.page.scrolled + 72 * u
        return row, (0.0, y, float(w), y + 64 * u)

    def _tap(self) -> None:
        u, (w, h) = self.unit, self.size_wh
        changes: dict[str, Any]
        pressed, wait_ms = None, 30
        if self.page.dialog:
            box, changes = (0.55 * w, 0.55 * h, 0.85 * w, 0.6 * h), {"dialog": False}
        elif self.page.opened is not None:
            box, changes = (4 * u, 20 * u, 44 * u, 60 * u), {"opened": None}
        else:
            row, box = self._row()
            if self.switches and self.rng.random() < 0.6:
                box, changes = (w - 60 * u, box[1] + 16 * u, w - 16 * u, box[3] - 16 * u), {"on": self.page.on ^ {row}}
            else:
                changes, pressed, wait_ms = {"opened": row}, row, 200
        place, start_ms = self._in(box), self.now_ms
        self._finger.append((start_ms, place))
        self.now_ms += 50
        self._set(pressed=pressed)
        self._wait(20, 120)
        self._finger.append((self.now_ms, None))
        self._keep("click", start_ms, place, box)
        self.now_ms += wait_ms
        self._set(pressed=None, **changes)

    def _hold(self) -> None:
        if self.page.opened is not None or self.page.dialog:
            self._tap()
            self._wait(500, 900)
        row, box = self._row()
        place, start_ms = self._in(box), self.now_ms
        self._finger.append((start_ms, place))
        self.now_ms += 80
        self._set(pressed=row)
        self.now_ms += 450
        self._set(pressed=None, dialog=True)
        self._wait(150, 500)
        self._finger.append((self.now_ms, None))
        self._keep("long_press", start_ms, place, box)

    def _swipe(self) -> None:
        """The list follows the finger, and goes on when it is gone."""
        if self.page.opened is not None or self.page.dialog:
            self._tap()
            self._wait(500, 900)
        w, h = self.size_wh
        x, y, start_ms = w * self.rng.uniform(0.3, 0.7), h * self.rng.uniform(0.6, 0.8), self.now_ms
        way, length_ms, scrolled = h * self.rng.uniform(0.2, 0.45), self.rng.randrange(180, 500), self.page.scrolled
        self._finger.append((start_ms, (x, y)))
        self.now_ms += 40
        begun_ms = self.now_ms
        for at in range(8, length_ms + 8, 8):
            self.now_ms = begun_ms + at
            moved = way * (min(1.0, at / length_ms) ** 1.5)
            self._finger.append((self.now_ms, (x, y - moved)))
            self._set(scrolled=scrolled + moved)
        self._finger.append((self.now_ms, None))
        up_ms = self.now_ms
        for at in range(8, 300, 8):
            self.now_ms = up_ms + at
            self._set(scrolled=scrolled + way + 0.25 * way * (1 - (1 - at / 300) ** 2))
        self._keep("scroll", start_ms, (x, y), (0, 72 * self.unit, w, h), end=(x, y - way), direction="down")

    def _drag(self) -> None:
        """A row is lifted and carried while the list stays."""
        if self.page.opened is not None or self.page.dialog:
            self._tap()
            self._wait(500, 900)
        row, box = self._row()
        (x, y), start_ms = self._in(box), self.now_ms
        way = self.size_wh[1] * self.rng.uniform(0.12, 0.3) * (1 if y < self.size_wh[1] / 2 else -1)
        length_ms = 600
        self._finger.append((start_ms, (x, y)))
        self.now_ms += 500
        begun_ms = self.now_ms
        for at in range(8, length_ms + 8, 8):
            self.now_ms = begun_ms + at
            moved = way * (0.5 - 0.5 * math.cos(math.pi * min(1.0, at / length_ms)))
            self._finger.append((self.now_ms, (x, y + moved)))
            self._set(carried=(row, moved))
        self._wait(100, 200)
        self._finger.append((self.now_ms, None))
        self._keep("drag", start_ms, (x, y), box, end=(x, y + way))
        self._set(carried=None)

    def _keep(
        self,
        kind: str,
        start_ms: int,
        place: tuple[float, float],
        box: tuple[float, float, float, float],
        end: tuple[float, float] | None = None,
        **more: Any,
    ) -> None:
        times = start_ms * NS_PER_MS, self.now_ms * NS_PER_MS
        w, h = self.size_wh
        area = Box.from_px(max(box[0], 0), max(box[1], 0), min(box[2], w), min(box[3], h), self.size_wh)
        end_point = None if end is None else Point.from_px(*end, self.size_wh)
        point = Point.from_px(*place, self.size_wh)
        self.actions.append(TrueAction(kind, *times, point, area, "", end_point=end_point, **more))

    # ------------------------------------------------------------------------------------------------ drawing

    def draw(self, page: _Page, place: tuple[float, float] | None, share: float) -> Image:
        from PIL import Image as Pil
        from PIL import ImageDraw

        u, (w, h) = self.unit, self.size_wh
        ink, paper, bar = ("#e8e8e8", "#1e1e20", "#303034") if self.dark else ("#202020", "#fcfcfc", "#ececf2")
        picture = Pil.new("RGB", self.size_wh, paper)
        if self.wallpaper:
            blend = Pil.linear_gradient("L").resize(self.size_wh).convert("RGB")
            picture = Pil.blend(picture, blend, 0.15)
        pen = ImageDraw.Draw(picture)
        font = _font(max(6, round(17 * u)))
        if page.opened is None:
            self._draw_rows(pen, page, ink, font)
        else:
            pen.rectangle((0, 72 * u, w, 260 * u), fill=self.hues[page.opened])
            for line in range(12):
                words = f"{self.rows[(page.opened + line) % 80]} and {self.rows[line]}"
                pen.text((16 * u, (290 + 34 * line) * u), words, fill=ink, font=font)
        pen.rectangle((0, 0, w, 72 * u), fill=bar)
        title = "List" if page.opened is None else "< " + self.rows[page.opened]
        pen.text((16 * u, 32 * u), title, fill=ink, font=font)
        if page.dialog:
            shade = Pil.new("RGB", self.size_wh, "black")
            picture = Pil.blend(picture, shade, 0.5)
            pen = ImageDraw.Draw(picture)
            pen.rounded_rectangle((0.1 * w, 0.38 * h, 0.9 * w, 0.62 * h), 12 * u, fill=paper)
            pen.text((0.15 * w, 0.42 * h), "Delete this row?", fill=ink, font=font)
            pen.text((0.66 * w, 0.56 * h), "OK", fill="#3584e4", font=font)
        return self._with_finger(np.asarray(picture), place, share)

    def _draw_rows(self, pen: ImageDraw.ImageDraw, page: _Page, ink: str, font: Any) -> None:
        u, (w, h) = self.unit, self.size_wh
        for row, words in enumerate(self.rows):
            y = 72 * u + 64 * u * row - page.scrolled
            y += page.carried[1] if page.carried and page.carried[0] == row else 0
            if not 0 < y < h:
                continue
            if row == page.pressed or (page.carried and page.carried[0] == row):
                pen.rectangle((0, y, w, y + 64 * u), fill="#8090a0")
            pen.ellipse((16 * u, y + 14 * u, 52 * u, y + 50 * u), fill=self.hues[row])
            pen.text((66 * u, y + 20 * u), words, fill=ink, font=font)
            if self.switches:
                fill = "#3584e4" if row in page.on else "#a0a0a0"
                knob = w - (38 if row in page.on else 58) * u
                pen.rounded_rectangle((w - 60 * u, y + 20 * u, w - 16 * u, y + 44 * u), 12 * u, fill=fill)
                pen.ellipse((knob, y + 22 * u, knob + 20 * u, y + 42 * u), fill="white")

    def _with_finger(self, image: Image, place: tuple[float, float] | None, share: float) -> Image:
        if place is None or share == 0.0 or self.style.kind == "none":
            return image
        w, h = self.size_wh
        radius = self.style.radius * w
        ys, xs = np.mgrid[0:h, 0:w].astype(np.float32)
        away = np.hypot(xs - place[0], ys - place[1]) / radius
        soft = radius / 1.5  # edges are drawn over a pixel and a half
        inside = np.clip((1 - away) * soft, 0, 1)
        colour = np.asarray(self.style.colour, np.float32)
        if self.style.kind == "ring":
            inside *= np.clip((away - 0.72) * soft, 0, 1)
        cover = (inside * self.style.opacity * share)[..., None]
        out = image * (1 - cover) + colour * cover
        if self.style.kind == "spot":  # bright, with a grey edge
            edge = (inside * np.clip((away - 0.85) * soft, 0, 1) * 0.6 * share)[..., None]
            out = out * (1 - edge) + 110 * edge
        rounded: Image = np.clip(out + 0.5, 0, 255).astype(np.uint8)
        return rounded


@functools.cache
def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)
