"""Is a file all there? What a container says of its own end, read from its bytes.

FFmpeg takes a file that was cut off for a shorter one (except where an mp4's index points beyond the end).
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

_GIF = (b"GIF87a", b"GIF89a")
_EBML_HEADER = b"\x1a\x45\xdf\xa3"
_EBML_SEGMENT = b"\x18\x53\x80\x67"
_MP4_BOXES = (
    b"ftyp",
    b"styp",
    b"moov",
    b"moof",
    b"mdat",
    b"free",
    b"skip",
    b"wide",
    b"sidx",
    b"mfra",
    b"uuid",
    b"udta",
)


def cut_off(path: Path) -> str | None:
    """Why the file cannot be whole, or None where nothing speaks against it."""
    with path.open("rb") as file:
        head = file.read(12)
        if head[:6] in _GIF:
            file.seek(6)
            return None if _gif_has_trailer(file) else "the file is cut off: a GIF without its end mark"
        if head[:4] == _EBML_HEADER:
            end = _matroska_end(file)
        elif head[4:8] in _MP4_BOXES:
            end = _mp4_end(file)
        elif head[:4] == b"RIFF":
            end = int.from_bytes(head[4:8], "little") + 8
        else:
            return None
    missing = end - path.stat().st_size
    return f"the file is cut off: {missing} bytes are missing" if missing > 0 else None


def gif_size(path: Path) -> tuple[int, int] | None:
    """Width and height that a GIF declares, None for other files: FFmpeg says them only with the first frame."""
    with path.open("rb") as file:
        head = file.read(10)
    if head[:6] not in _GIF or len(head) < 10:
        return None
    return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")


def why_not_a_video(path: Path, reason: str) -> str:
    """The end of a sentence that starts with the file's name; `reason` is the decoder's own."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not head:
        return "is empty"
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "is a web page (HTML), not a video"
    if text.startswith((b"#extm3u", b"ffconcat")):
        return "is a playlist, not a video"
    if head[4:8] == b"ftyp":
        return f"is an mp4 file that cannot be opened, cut off or damaged: {reason}"
    return f"is not a video file, or is damaged: {reason}"


def _gif_has_trailer(file: BinaryIO) -> bool:
    """Walks the blocks of a GIF, which stands behind its signature, up to the trailer."""
    screen = file.read(7)
    if len(screen) < 7:
        return False
    file.seek(_colour_table_bytes(screen[4]), 1)
    while mark := file.read(1):
        if mark == b";":
            return True
        if mark == b",":
            image = file.read(9)
            if len(image) < 9:
                return False
            file.seek(_colour_table_bytes(image[8]) + 1, 1)  # and the LZW code size
        elif mark == b"!":
            file.seek(1, 1)
        else:
            return False
        while size := file.read(1):
            if size == b"\0":
                break
            file.seek(size[0], 1)
    return False


def _colour_table_bytes(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _mp4_end(file: BinaryIO) -> int:
    """Where the last top-level box ends that can be read; what follows no known box is not looked at."""
    at = 0
    while True:
        file.seek(at)
        head = file.read(16)
        if head[4:8] not in _MP4_BOXES:
            return at
        size = int.from_bytes(head[:4], "big")
        if size == 1:
            size = int.from_bytes(head[8:16], "big")
        if size < 8:  # 0 is "up to the end of the file"
            return at
        at += size


def _matroska_end(file: BinaryIO) -> int:
    """Where the segment says that it ends; 0 where it does not say (a live recording)."""
    file.seek(4)
    header = _ebml_size(file)
    if header is None:
        return 0
    file.seek(header, 1)
    if file.read(4) != _EBML_SEGMENT:
        return 0
    segment = _ebml_size(file)
    return 0 if segment is None else file.tell() + segment


def _ebml_size(file: BinaryIO) -> int | None:
    """A variable-length size: the leading zeros of the first byte say how many follow. None is "unknown"."""
    first = file.read(1)
    if not first or not first[0]:
        return None
    more = 8 - first[0].bit_length()
    size = int.from_bytes(bytes([first[0] & ((0x80 >> more) - 1)]) + file.read(more), "big")
    return None if size == (1 << (7 * (more + 1))) - 1 else size
