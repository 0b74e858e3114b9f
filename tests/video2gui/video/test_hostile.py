"""Broken, cut-off, lying and enormous files end in a clear failure, in time, and never in a wrong picture."""

from __future__ import annotations

import os
import random
import re
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil

from tests.contracts.test_video_reader import BY_NAME, EVEN, MS, code_of, coded, made
from video2gui.errors import VideoError
from video2gui.guard import Guard
from video2gui.testing import write_video
from video2gui.timebase import clock
from video2gui.video import ReaderName, open_video
from video2gui.video.pyav_reader import PyavReader

SECOND = 1_000_000_000
READERS: list[ReaderName] = ["pyav", "decord"]


# ------------------------------------------------------------------------------------------ run inside the guard


def read_all(path: Path, reader: ReaderName) -> tuple[list[tuple[int, int]], str]:
    """All frames that come, as (time, number), and the failure that ended them."""
    found: list[tuple[int, int]] = []
    try:
        with open_video(path, reader) as video:
            found.extend((frame.pts_ns, code_of(frame.image)) for frame in video.frames())
    except VideoError as error:
        assert error.address == str(path)
        return found, error.message
    return found, ""


def keep_all(path: Path) -> int:
    with open_video(path) as video:
        return len([frame.image for frame in video.frames()])


@pytest.fixture(scope="module")
def guard() -> Iterator[Guard]:
    with Guard(memory_bytes=1 << 30) as guard:
        yield guard


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


def read(guard: Guard, path: Path, reader: ReaderName) -> tuple[list[tuple[int, int]], str]:
    return guard.call(read_all, path, reader, deadline_ns=60 * SECOND, address=str(path))


# ---------------------------------------------------------------------------------------------------- cut off


def index_first(path: Path) -> Path:
    """An mp4 whose index stands before its pictures, as on the web: a cut one can be opened."""
    return write_video(path, map(coded, range(60)), EVEN, container_options={"movflags": "faststart"})


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.97])
@pytest.mark.parametrize("kind", ["index_first.mp4", "fragments.mp4", "even.mkv", "even.webm", "even.gif", "even.avi"])
def test_a_cut_off_file_never_looks_like_a_shorter_one(
    kind: str, share: float, reader: ReaderName, guard: Guard, folder: Path
) -> None:
    whole = folder / kind
    if kind == "index_first.mp4":
        index_first(whole)
    elif kind == "fragments.mp4":
        made(folder, BY_NAME[kind])
    else:
        write_video(whole, map(coded, range(60)), EVEN)
    data = whole.read_bytes()
    path = folder / f"cut-{share}-{kind}"
    path.write_bytes(data[: int(len(data) * share)])
    found, message = read(guard, path, reader)
    assert "cut off" in message or "gif" in message
    assert found == [(t, n) for n, t in enumerate(EVEN[: len(found)])]  # what came is right, the last one too
    if found:
        assert f"beyond {clock(found[-1][0])}" in message
    assert found or reader == "decord" or share == 0.3  # 0.3 may be within the index


def test_what_is_before_the_cut_can_still_be_asked_for(folder: Path) -> None:
    data = index_first(folder / "index.mp4").read_bytes()
    path = folder / "cut-index.mp4"
    path.write_bytes(data[: len(data) * 6 // 10])
    with open_video(path) as video:
        assert [code_of(frame.image) for frame in video.frames_at([0, 400 * MS])] == [0, 10]
        assert [code_of(frame.image) for frame in video.frames(80 * MS, 200 * MS)] == [2, 3, 4]
        with pytest.raises(VideoError, match="cut off"):
            list(video.frames_at([99 * SECOND]))


@pytest.mark.parametrize("reader", READERS)
def test_an_mp4_without_its_index(reader: ReaderName, guard: Guard, folder: Path) -> None:
    data = write_video(folder / "index_last.mp4", map(coded, range(60)), EVEN).read_bytes()
    path = folder / "no_index.mp4"
    path.write_bytes(data[: data.rindex(b"moov") - 4])
    found, message = read(guard, path, reader)
    assert not found and "an mp4 file that cannot be opened, cut off or damaged" in message


def test_damage_inside_a_frame_is_reported_with_the_last_good_time(folder: Path) -> None:
    data = bytearray(index_first(folder / "sound.mp4").read_bytes())
    for at in range(len(data) * 3 // 4, len(data) - 100, 41):
        data[at] ^= 0x55
    path = folder / "damaged.mp4"
    path.write_bytes(data)
    found, message = read_all(path, "pyav")
    assert 0 < len(found) < 60
    assert found == [(t, n) for n, t in enumerate(EVEN[: len(found)])]
    assert f"cannot be decoded beyond {clock(found[-1][0])}" in message


# ---------------------------------------------------------------------------------------------------- no videos


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("page.mp4", b"\n<!DOCTYPE html><html><body>Sign in</body></html>", "web page"),
        ("empty.mp4", b"", "is empty"),
        ("noise.mp4", random.Random(5).randbytes(100_000), "not a video"),
        ("text.webm", b"just words\n" * 100, "not a video"),
        ("list.mp4", b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\neven.mp4\n#EXT-X-ENDLIST\n", "playlist"),
        ("concat.mp4", b"ffconcat version 1.0\nfile even.mp4\n", "playlist"),
        ("zip.mp4", b"PK\x03\x04" + bytes(3000), "not a video"),
        ("signature.gif", b"GIF89a", "not a video"),
        ("ftyp.mp4", b"\0\0\0\x18ftypisom" + bytes(12), "cut off or damaged"),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value else "",
)
def test_what_is_no_video_is_named(
    name: str, content: bytes, words: str, reader: ReaderName, guard: Guard, folder: Path
) -> None:
    made(folder, BY_NAME["even.mp4"])  # what the playlists point at
    (folder / name).write_bytes(content)
    found, message = read(guard, folder / name, reader)
    assert not found and message.startswith(f"{name} ") and words in message


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_named(reader: ReaderName, folder: Path) -> None:
    os.mkfifo(folder / f"pipe-{reader}.mp4")
    for path in (folder, folder / "nowhere.mp4", folder / f"pipe-{reader}.mp4", Path("http://127.0.0.1/x.mp4")):
        with pytest.raises(VideoError, match=f"^{re.escape(str(path))} is not a file$"):
            open_video(path, reader)


def test_a_name_is_never_taken_for_a_protocol(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    name = "concat:a|b.mp4"
    write_video(folder / name.replace("/", "_"), [coded(3)], [0])
    with open_video(Path(name)) as video:
        assert [code_of(frame.image) for frame in video.frames()] == [3]


# -------------------------------------------------------------------------------------------------- lying headers


def patched(path: Path, patches: dict[bytes, tuple[int, int]], folder: Path) -> Path:
    """A copy of an mp4 in which a 32-bit number at an offset behind a box's name is another one."""
    data = bytearray(index_first(folder / "to_patch.mp4").read_bytes())
    for box, (offset, value) in patches.items():
        struct.pack_into(">I", data, data.index(box) + 4 + offset, value)
    path.write_bytes(data)
    return path


LIES = {
    "times for 100000 frames": {b"stts": (8, 100_000)},
    "sizes of 100000 frames": {b"stsz": (8, 100_000)},
    "two billion equal frames": {b"stsz": (4, 50), b"stts": (8, 1 << 31)},
    "100000 frames in one chunk": {b"stsc": (12, 100_000)},
    "a chunk far beyond the end": {b"stco": (8, 0x7FFF_0000)},
    "a film of 1000 hours": {b"mvhd": (16, 3_600_000_000), b"mdhd": (16, 3_600_000_000)},
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("lie", LIES)
def test_a_lying_header_gives_right_frames_or_a_failure(
    lie: str, reader: ReaderName, guard: Guard, folder: Path
) -> None:
    path = patched(folder / f"{lie.replace(' ', '_')}.mp4", LIES[lie], folder)
    found, message = read(guard, path, reader)
    assert found == [(t, n) for n, t in enumerate(EVEN[: len(found)])]
    assert message or len(found) == 60


def test_hours_of_nothing_are_read_at_once(folder: Path) -> None:
    path = write_video(folder / "hours.webm", [coded(1), coded(2)], [0, SECOND], end_ns=100 * 3600 * SECOND)
    with open_video(path) as video:
        assert video.info.duration_ns == 100 * 3600 * SECOND
        assert [code_of(frame.image) for frame in video.frames_at([0, 99 * 3600 * SECOND])] == [1, 2]


# ------------------------------------------------------------------------------------------------------- enormous


def gif_of(width: int, height: int, frames: int) -> bytes:
    """One-coloured pictures that cost almost nothing to store; all frames are the same bytes."""
    with_one = _saved_gif(width, height)
    screen = 13 + (3 << ((with_one[10] & 7) + 1))
    return with_one[:screen] + with_one[screen:-1] * frames + b";"


def _saved_gif(width: int, height: int) -> bytes:
    import io

    buffer = io.BytesIO()
    Pil.new("P", (width, height), 1).save(buffer, "GIF", duration=100)
    return buffer.getvalue()


@pytest.mark.parametrize("reader", READERS)
def test_a_gif_with_an_enormous_screen_is_refused_unread(reader: ReaderName, guard: Guard, folder: Path) -> None:
    path = folder / "screen.gif"
    data = bytearray(gif_of(16, 16, 3))
    struct.pack_into("<HH", data, 6, 65535, 65535)
    path.write_bytes(data)
    found, message = read(guard, path, reader)
    assert not found and "declares pictures of 65535x65535" in message


@pytest.mark.parametrize("reader", READERS)
def test_a_header_that_declares_100000_by_100000_ends_in_a_failure(
    reader: ReaderName, guard: Guard, folder: Path
) -> None:
    path = folder / "wide.avi"
    data = bytearray(write_video(folder / "narrow.avi", [coded(1)], [0], codec="rawvideo").read_bytes())
    struct.pack_into("<II", data, data.index(b"strf") + 8 + 4, 100_000, 100_000)
    path.write_bytes(data)
    found, message = read(guard, path, reader)
    assert not found and "wide.avi cannot be decoded: " in message


@pytest.mark.parametrize("name", ["even.mp4", "uneven.webm", "uneven.gif", "uneven.avi", "av1.mp4"])
def test_no_picture_is_larger_than_allowed(name: str, folder: Path) -> None:
    path = made(folder, BY_NAME[name])
    with pytest.raises(VideoError, match="pixels"):
        PyavReader(path, max_pixels=128 * 96 - 1)
    assert PyavReader(path, max_pixels=128 * 96).info.size_wh == (128, 96)


def test_a_small_header_before_a_large_picture_is_stopped_by_the_decoder(folder: Path) -> None:
    data = bytearray(write_video(folder / "large.avi", map(coded, range(3)), EVEN[:3]).read_bytes())
    struct.pack_into("<II", data, data.index(b"strf") + 8 + 4, 16, 16)
    path = folder / "sly.avi"
    path.write_bytes(data)
    with pytest.raises(VideoError, match="pixels"):
        PyavReader(path, max_pixels=128 * 96 - 1)


def test_a_bomb_of_pictures_meets_the_deadline(guard: Guard, folder: Path) -> None:
    path = folder / "bomb.gif"
    path.write_bytes(gif_of(4000, 4000, 2000))
    assert path.stat().st_size < 60_000_000  # 96 GB of pixels
    with pytest.raises(VideoError, match=r"bomb\.gif took longer than 1 s"):
        guard.call(read_all, path, "pyav", deadline_ns=SECOND, address=str(path))


def test_a_bomb_of_memory_meets_the_cap(guard: Guard, folder: Path) -> None:
    path = folder / "memory.gif"
    path.write_bytes(gif_of(4000, 4000, 200))
    with pytest.raises(VideoError, match=r"memory\.gif needs more than 1\.0 GiB"):
        guard.call(keep_all, path, deadline_ns=60 * SECOND, address=str(path))


# ------------------------------------------------------------------------------------------------------- mutations


@pytest.mark.parametrize("name", ["index_first.mp4", "fragments.mp4", "uneven.webm", "uneven.gif", "uneven.avi"])
def test_mutilated_files_end_in_frames_or_in_a_clear_failure(name: str, guard: Guard, folder: Path) -> None:
    whole = index_first(folder / name) if name == "index_first.mp4" else made(folder, BY_NAME[name])
    rng, data = random.Random(name), whole.read_bytes()
    for number in range(40):
        broken = bytearray(data)
        for _ in range(rng.randrange(1, 12)):
            # headers are small and matter most
            reach = len(broken) if rng.random() < 0.5 else min(len(broken), 1500)
            broken[rng.randrange(reach)] = rng.randrange(256)
        path = folder / f"mutilated-{number}-{name}"
        path.write_bytes(broken)
        try:
            found, _ = read(guard, path, "pyav")
        except VideoError as error:  # the guard's own: too long, too much, crashed
            assert error.address == str(path)
        else:
            assert all(a < b for (a, _), (b, _) in pairwise(found))
        path.unlink()


def test_numbers_are_read_back_as_they_were_drawn(folder: Path) -> None:
    """The tests' own measure: a number is read back from a picture as it was drawn."""
    assert [code_of(coded(n)) for n in range(256)] == list(range(256))
    assert code_of(np.asarray(coded(77)[:, :, 0])) == 77
