"""One promise, three readers: the picture on screen at time t. Where a reader cannot keep it, it says so."""

from __future__ import annotations

import bisect
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
import pytest

from video2gui.errors import VideoError
from video2gui.testing import write_video
from video2gui.video import open_video
from video2gui.video.frame import Frame, Image
from video2gui.video.memory_reader import MemoryReader
from video2gui.video.reader import VideoReader

MS = 1_000_000
EVEN = [n * 40 * MS for n in range(60)]
UNEVEN = [n * MS for n in (0, 20, 60, 70, 330, 1000, 1040, 1041, 1080, 2000, 2500, 2530, 5000, 5040, 9000, 9001, 9060)]
IN_10_MS = [n * MS for n in (0, 20, 60, 90, 330, 1000, 1040, 1080, 2000, 2500, 2530, 5000, 5040, 9000, 9060)]


# ------------------------------------------------------------------------------------------- pictures with a number


def coded(number: int, width: int = 128, height: int = 96, channels: int = 3) -> Image:
    """A picture whose eight lower blocks are the bits of `number`; above, left red and right green."""
    image = np.full((height, width, channels), 255, np.uint8)
    for bit in range(8):
        image[height // 2 :, bit * width // 8 : (bit + 1) * width // 8, :3] = 255 if number >> bit & 1 else 0
    image[: height // 2, : width // 2, :3] = (200, 30, 30)
    image[: height // 2, width // 2 :, :3] = (30, 160, 30)
    return image


def code_of(image: Image) -> int:
    """The number in a picture, RGB or brightness."""
    height, width = image.shape[:2]
    row = image[height * 7 // 8].reshape(width, -1).mean(axis=1)
    return sum(int(row[(2 * bit + 1) * width // 16] > 127) << bit for bit in range(8))


# --------------------------------------------------------------------------------------------------------- files


@dataclass(frozen=True)
class Case:
    """A file to be made: `shown` are the numbers of its pictures in order, at `times` from its own start."""

    name: str
    make: Callable[[Path], object]
    times: list[int]
    shown: list[int]
    size_wh: tuple[int, int] = (128, 96)
    quarter_turns: int = 0


def plain(
    name: str, times: list[int], *, start: int = 0, size_wh: tuple[int, int] = (128, 96), turns: int = 0, **how: object
) -> Case:
    def make(path: Path) -> None:
        images = (coded(n, *size_wh) for n in range(len(times)))
        write_video(path, images, [start + t for t in times], quarter_turns=turns, **how)  # type: ignore[arg-type]

    return Case(name, make, times, list(range(len(times))), size_wh, turns)


HIDDEN = 5  # frames before the start of the edit


def hide_the_first(path: Path) -> None:
    """An edit list that starts at frame `HIDDEN`: the ones before are in the file, and never shown."""
    write_video(path, map(coded, range(60)), EVEN, options={"bf": "2", "preset": "veryfast", "g": "20"})
    data = bytearray(path.read_bytes())
    at = data.index(b"elst") + 4
    version, entries, _, start = struct.unpack_from(">IIIi", data, at)
    assert (version, entries) == (0, 1)
    timescale = struct.unpack_from(">I", data, data.index(b"mdhd") + 4 + 12)[0]
    struct.pack_into(">i", data, at + 12, start + HIDDEN * timescale // 25)
    path.write_bytes(data)


def fragmented(path: Path) -> None:
    whole = path.with_name("whole-" + path.name)
    write_video(whole, map(coded, range(60)), EVEN, options={"g": "20"})
    with (
        av.open(str(whole)) as source,
        av.open(str(path), "w", options={"movflags": "frag_keyframe+empty_moov+default_base_moof"}) as target,
    ):
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(source.streams.video[0]):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)


CASES = [
    plain("even.mp4", EVEN, options={"g": "20"}),
    plain("uneven.mp4", UNEVEN),
    plain("uneven.mov", UNEVEN),
    plain("uneven.mkv", UNEVEN),
    plain("uneven.webm", UNEVEN),
    plain("vp8.webm", UNEVEN, codec="libvpx", options={"deadline": "realtime", "cpu-used": "8", "g": "4", "b": "2M"}),
    plain("many_keys.webm", EVEN, options={"g": "10"}),
    plain("uneven.avi", UNEVEN),
    plain("uneven.gif", IN_10_MS),
    plain("b_frames.mp4", EVEN, options={"bf": "3", "b-adapt": "0", "preset": "veryfast", "g": "16"}),
    plain("b_frames_uneven.mkv", UNEVEN, options={"bf": "3", "b-adapt": "0", "preset": "veryfast", "g": "6"}),
    plain(
        "open_gop.mp4",
        EVEN,
        options={"bf": "3", "b-adapt": "0", "preset": "veryfast", "x264-params": "open-gop=1:keyint=12:scenecut=0"},
    ),
    plain("late_start.mp4", UNEVEN, start=700 * MS),
    plain("late_start.webm", UNEVEN, start=700 * MS),
    plain("odd.mp4", UNEVEN, size_wh=(129, 97)),
    plain("odd.webm", UNEVEN, size_wh=(129, 97)),
    plain("odd.gif", IN_10_MS, size_wh=(129, 97)),
    plain("one.mp4", [0]),
    plain("one.gif", [0]),
    plain("one.webm", [0]),
    plain("hevc.mp4", EVEN, codec="libx265", options={"x265-params": "log-level=none:pools=1", "preset": "ultrafast"}),
    plain("av1.mp4", UNEVEN, codec="libsvtav1"),
    plain("turned_1.mp4", UNEVEN, turns=1),
    plain("turned_2.mp4", UNEVEN, turns=2),
    plain("turned_3.mov", UNEVEN, turns=3),
    Case("edit.mp4", hide_the_first, EVEN[: 60 - HIDDEN], list(range(HIDDEN, 60))),
    Case("fragments.mp4", fragmented, EVEN, list(range(60))),
]
BY_NAME = {case.name: case for case in CASES}

#: What decord would show wrongly or not at all, and the word by which it says so.
DECORD_REFUSES = {
    "uneven.gif": "gif", "odd.gif": "gif", "one.gif": "gif", "av1.mp4": "cannot open", "edit.mp4": "not shown",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("videos")


def made(folder: Path, case: Case) -> Path:
    path = folder / case.name
    if not path.exists():
        case.make(path)
    return path


def opened(reader: str, folder: Path, case: Case) -> VideoReader:
    if reader == "memory":
        return MemoryReader([Frame(t, coded(n, *case.size_wh)) for t, n in zip(case.times, case.shown, strict=True)])
    return open_video(made(folder, case), reader)  # type: ignore[arg-type]


PAIRS = [
    (reader, case)
    for reader in ("pyav", "decord", "memory")
    for case in CASES
    if not (reader == "decord" and case.name in DECORD_REFUSES) and not (reader == "memory" and case.quarter_turns)
]


@pytest.fixture(params=PAIRS, ids=[f"{reader}-{case.name}" for reader, case in PAIRS])
def shown(request: pytest.FixtureRequest, folder: Path) -> Iterator[tuple[VideoReader, Case]]:
    """An open reader and what it must show."""
    reader, case = request.param
    with opened(reader, folder, case) as video:
        yield video, case


def number(image: Image, case: Case) -> int:
    """The number in a picture that is shown turned."""
    return code_of(np.rot90(image, -case.quarter_turns))


def seen(frames: Iterator[Frame], case: Case) -> list[tuple[int, int]]:
    return [(frame.pts_ns, number(frame.image, case)) for frame in frames]


def expected_at(case: Case, time_ns: int) -> tuple[int, int]:
    at = max(0, bisect.bisect_right(case.times, time_ns) - 1)
    return case.times[at], case.shown[at]


# ------------------------------------------------------------------------------------------------- the promise


def test_every_frame_comes_once_in_order_with_its_own_time(shown: tuple[VideoReader, Case]) -> None:
    video, case = shown
    assert seen(video.frames(), case) == list(zip(case.times, case.shown, strict=True))


def test_pictures_are_upright_rgb_of_the_declared_size_and_read_only(shown: tuple[VideoReader, Case]) -> None:
    video, case = shown
    first = next(iter(video.frames()))
    width, height = case.size_wh if case.quarter_turns % 2 == 0 else case.size_wh[::-1]
    assert video.info.size_wh == first.size_wh == (width, height)
    assert first.image.shape == (height, width, 3) and first.image.dtype == np.uint8
    assert first.image.flags.c_contiguous and not first.image.flags.writeable
    expected = np.rot90(coded(case.shown[0], *case.size_wh), case.quarter_turns)
    assert np.abs(first.image.astype(int) - expected).mean() < 12  # lossy, and never turned or in wrong colours


def test_the_picture_on_screen_at_any_time(shown: tuple[VideoReader, Case]) -> None:
    video, case = shown
    rng = random.Random(case.name)
    edges = [t + d for t in case.times for d in (-1, 0, 1)]
    times = sorted([*edges, -MS, 99_000 * MS, *(rng.randrange(case.times[-1] + MS) for _ in range(20))])
    for some in (times, [times[-1]], sorted(rng.sample(times, 3)), [times[0]]):
        assert seen(video.frames_at(some), case) == [expected_at(case, t) for t in some]


def test_a_window_starts_with_what_is_on_screen_and_is_half_open(shown: tuple[VideoReader, Case]) -> None:
    video, case = shown
    last = case.times[-1]
    edges = sorted({0, case.times[len(case.times) // 2], last, last // 3, last + 50 * MS})
    windows = [(a, b) for a in edges for b in [*edges, None]]
    for start, end in windows:
        at = [expected_at(case, start)] if end is None or start < end else []
        later = [(t, n) for t, n in zip(case.times, case.shown, strict=True) if start < t and (end is None or t < end)]
        assert seen(video.frames(start, end), case) == at + later, (start, end)


@pytest.mark.parametrize("reader", ["pyav", "decord"])
@pytest.mark.parametrize(
    "name", ["even.mp4", "b_frames.mp4", "open_gop.mp4", "b_frames_uneven.mkv", "many_keys.webm", "fragments.mp4"]
)
def test_a_run_may_start_anywhere(name: str, reader: str, folder: Path) -> None:
    case = BY_NAME[name]
    with opened(reader, folder, case) as video:
        for time in case.times:
            for start in (time - 1, time):
                frame = next(iter(video.frames(start)))
                assert (frame.pts_ns, code_of(frame.image)) == expected_at(case, start)


def test_an_index_that_lies_costs_time_and_no_picture(folder: Path) -> None:
    """Each entry of a webm's index says its key frame comes 0.2 s before it does."""
    path = write_video(folder / "lying_index.webm", map(coded, range(60)), EVEN, options={"g": "10"})
    data = bytearray(path.read_bytes())
    cues = data.index(b"\x1c\x53\xbb\x6b", len(data) // 2)
    at, lies = cues, 0
    while (at := data.find(b"\xb3\x82", at + 2)) >= 0:  # CueTime in two bytes
        time = int.from_bytes(data[at + 2 : at + 4], "big")
        data[at + 2 : at + 4] = (time - 200).to_bytes(2, "big")
        lies += 1
    assert lies > 3
    path.write_bytes(data)
    case = BY_NAME["even.mp4"]
    with open_video(path) as video:
        for start in [*EVEN, *(time - 1 for time in EVEN)]:
            assert seen(iter([next(iter(video.frames(start)))]), case) == [expected_at(case, start)]
        assert seen(video.frames_at(EVEN[::30]), case) == [expected_at(case, t) for t in EVEN[::30]]


def test_of_frames_at_one_instant_the_last_is_on_screen(folder: Path) -> None:
    path = folder / "twice.mkv"
    source = write_video(folder / "once.mkv", map(coded, range(4)), EVEN[:4], options={"g": "1"})
    with av.open(str(source)) as once, av.open(str(path), "w") as twice:
        stream = twice.add_stream_from_template(once.streams.video[0])
        for packet in once.demux(once.streams.video[0]):
            if packet.dts is not None:
                packet.pts = packet.dts = min(packet.pts, 80)  # the last two at 80 ms
                packet.stream = stream
                twice.mux(packet)
    with open_video(path) as video:
        assert [(frame.pts_ns, code_of(frame.image)) for frame in video.frames()] == [
            (0, 0),
            (40 * MS, 1),
            (80 * MS, 3),
        ]
    with pytest.raises(VideoError, match="several frames for one instant"):
        open_video(path, "decord")


def test_thinned_pictures_keep_all_that_stays(shown: tuple[VideoReader, Case]) -> None:
    video, case = shown
    start, every = 30 * MS, 66 * MS
    grid = range(start, case.times[-1] + every, every)
    expected = sorted({expected_at(case, t) for t in grid} | {(case.times[-1], case.shown[-1])})
    found = [(p.pts_ns, number(p.image(), case)) for p in video.pictures(start, every_ns=every)]
    assert found == expected


def test_brightness_shows_the_same_picture(shown: tuple[VideoReader, Case]) -> None:
    video, case = shown
    for picture in video.pictures(every_ns=300 * MS):
        luma, image = picture.luma(), picture.image()
        assert luma.shape == image.shape[:2] and luma.dtype == np.uint8 and not luma.flags.writeable
        assert number(luma, case) == number(image, case) == expected_at(case, picture.pts_ns)[1]


def test_a_small_picture_is_the_average_of_the_large_one(shown: tuple[VideoReader, Case]) -> None:
    reader, _ = shown
    width, height = (n // 4 for n in reader.info.size_wh)
    for picture in list(reader.pictures())[:3]:
        image = picture.image()[: 4 * height, : 4 * width]
        blocks = image.reshape(height, 4, width, 4, 3).mean(axis=(1, 3))
        small = picture.small((width, height)).astype(float)
        assert small.shape == (height, width, 3)
        # colours are stored at half size and bleed over edges: a row or a column may differ, most do not
        assert np.median(np.abs(small - blocks)) <= 3 and (np.abs(small - blocks) <= 8).mean() > 0.75


def test_runs_of_one_reader_do_not_disturb_each_other(shown: tuple[VideoReader, Case]) -> None:
    video, case = shown
    everything = list(zip(case.times, case.shown, strict=True))
    first, second = iter(video.frames()), iter(video.frames())
    pairs = [(next(first), next(second)) for _ in everything]
    assert seen(iter([a for a, _ in pairs]), case) == seen(iter([b for _, b in pairs]), case) == everything


@pytest.mark.parametrize("reader", ["pyav", "decord", "memory"])
def test_wrong_requests_are_bugs_of_the_caller(reader: str, folder: Path) -> None:
    with opened(reader, folder, BY_NAME["even.mp4"]) as video:
        with pytest.raises(ValueError, match="decrease"):
            video.frames_at([5, 4])
        with pytest.raises(ValueError, match="every_ns"):
            video.pictures(every_ns=0)
        assert list(video.frames_at([])) == []
        assert list(video.frames(-9, 0)) == []


def test_more_threads_show_the_same(folder: Path) -> None:
    for name in ("b_frames.mp4", "many_keys.webm", "edit.mp4"):
        with open_video(made(folder, BY_NAME[name]), threads=2) as video:
            assert seen(video.frames(), BY_NAME[name]) == list(
                zip(BY_NAME[name].times, BY_NAME[name].shown, strict=True)
            )


@pytest.mark.parametrize(("name", "word"), DECORD_REFUSES.items())
def test_decord_refuses_what_it_would_show_wrongly(name: str, word: str, folder: Path) -> None:
    with pytest.raises(VideoError, match=word) as caught:
        open_video(made(folder, BY_NAME[name]), "decord")
    assert caught.value.address == str(folder / name)


# ------------------------------------------------------------------------------------- facts, holes, odd streams


def test_facts_of_the_stream(folder: Path) -> None:
    info = open_video(made(folder, BY_NAME["uneven.webm"])).info
    assert (info.codec, info.container, info.has_audio) == ("vp9", "matroska", False)
    assert info.duration_ns == UNEVEN[-1] + (UNEVEN[-1] - UNEVEN[-2])
    assert open_video(made(folder, BY_NAME["av1.mp4"])).info.codec == "av1"
    assert open_video(made(folder, BY_NAME["uneven.gif"])).info.container == "gif"


@pytest.mark.parametrize("ending", ["webm", "mov", "gif"])
def test_what_is_transparent_lies_on_white(ending: str, folder: Path) -> None:
    images = [coded(n, channels=4) for n in range(4)]
    for image in images:
        image[12:36, 40:90] = (10, 20, 200, 0)
    path = write_video(folder / f"holes.{ending}", images, [0, 40 * MS, 100 * MS, 400 * MS])
    with open_video(path) as video:
        for picture, n in zip(video.pictures(), range(4), strict=True):
            assert code_of(picture.image()) == n
            assert picture.image()[16:32, 48:80].min() > 250
            assert picture.luma()[16:32, 48:80].min() > 250
            assert picture.image()[5, 10].argmax() == 0  # red is still red
    with pytest.raises(VideoError, match=r"transparency|gif"):
        open_video(path, "decord")


def test_half_transparent_is_mixed_with_white(folder: Path) -> None:
    image = np.zeros((32, 32, 4), np.uint8)
    image[:] = (200, 0, 0, 128)
    path = write_video(folder / "half.mov", [image], [0])
    with open_video(path) as video:
        assert next(iter(video.frames())).image[5, 5].tolist() == [227, 127, 127]


def test_mirrored_pictures(folder: Path) -> None:
    path = write_video(folder / "mirrored.mp4", [coded(1)], [0])
    data = bytearray(path.read_bytes())
    struct.pack_into(">i", data, data.index(b"tkhd") + 4 + 40, -(1 << 16))
    path.write_bytes(data)
    with open_video(path) as video:
        assert code_of(next(iter(video.frames())).image[:, ::-1]) == 1
    with pytest.raises(VideoError, match="mirror"):
        open_video(path, "decord")


def test_a_slanted_picture_is_refused(folder: Path) -> None:
    path = write_video(folder / "slanted.mp4", [coded(1)], [0])
    data = bytearray(path.read_bytes())
    struct.pack_into(">5i", data, data.index(b"tkhd") + 4 + 40, 46341, 46341, 0, -46341, 46341)
    path.write_bytes(data)
    with pytest.raises(VideoError, match="slant"):
        open_video(path)


def write_sound(path: Path, codec: str) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=48000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 4096), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 48000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


@pytest.mark.parametrize("reader", ["pyav", "decord"])
@pytest.mark.parametrize(("name", "codec"), [("sound.mp4", "aac"), ("sound.webm", "libopus")])
def test_sound_alone_is_no_video(reader: str, name: str, codec: str, folder: Path) -> None:
    with pytest.raises(VideoError, match="no video, only sound"):
        open_video(write_sound(folder / name, codec), reader)  # type: ignore[arg-type]


def test_a_cover_picture_is_no_video(folder: Path) -> None:
    path = folder / "cover.m4a"
    with av.open(str(path), "w", format="mp4") as container:
        sound = container.add_stream("aac", rate=48000)
        cover = container.add_stream("mjpeg", rate=1)
        cover.width, cover.height, cover.pix_fmt = 64, 64, "yuvj420p"
        cover.disposition = av.stream.Disposition.attached_pic
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 4096), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 48000
        container.mux(sound.encode(frame))
        container.mux(sound.encode(None))
        container.mux(cover.encode(av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8))))
        container.mux(cover.encode(None))
    with pytest.raises(VideoError, match="no video, only sound"):
        open_video(path)


def test_a_change_of_size_stops_the_reading_with_the_last_good_time(folder: Path) -> None:
    path = folder / "resized.mkv"
    parts = [
        write_video(folder / f"part-{w}.webm", [coded(n, w, 96) for n in range(5)], EVEN[:5], end_ns=EVEN[5])
        for w in (128, 160)
    ]
    with av.open(str(path), "w") as target:
        stream = None
        for number, part in enumerate(parts):
            with av.open(str(part)) as source:
                stream = stream or target.add_stream_from_template(source.streams.video[0])
                for packet in source.demux(source.streams.video[0]):
                    if packet.dts is not None:
                        packet.pts += number * 200
                        packet.dts += number * 200
                        packet.stream = stream
                        target.mux(packet)
    found = []
    with (
        open_video(path) as video,
        pytest.raises(VideoError, match=r"beyond 0:00\.160: pictures change size") as caught,
    ):
        found.extend(code_of(frame.image) for frame in video.frames())
    assert found == [0, 1, 2, 3, 4]
    assert "160x96" in caught.value.message


@pytest.mark.parametrize("options", [{}, {"color_range": "tv"}], ids=["untagged", "tagged"])
def test_white_is_white_and_black_is_black(options: dict[str, str], folder: Path) -> None:
    image = np.zeros((64, 64, 3), np.uint8)
    image[:, 32:] = 255
    path = write_video(folder / f"range-{len(options)}.mp4", [image], [0], options=options)
    with open_video(path) as video:
        shown = next(iter(video.frames())).image
    assert shown[:, :24].max() <= 2 and shown[:, 40:].min() >= 253
