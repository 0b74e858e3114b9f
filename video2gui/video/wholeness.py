"""Is a file all there? What a container says of its own end, read from its bytes.

FFmpeg notices a cut in mp4 (an index that points beyond the end). A cut GIF or Matroska file it takes for a shorter
one.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

_EBML_SEGMENT = b"\x18\x53\x80\x67"


def cut_off(path: Path) -> str | None:
    """Why the file cannot be whole, or None where nothing speaks against it."""
    with path.open("rb") as file:
        head = file.read(6)
        if head in (b"GIF87a", b"GIF89a"):
            return None if _gif_has_trailer(file) else "the file is cut off: a GIF without its end mark"
        if head[:4] == b"\x1a\x45\xdf\xa3":
            missing = _matroska_end(file) - path.stat().st_size
            return f"the file is cut off: {missing} bytes are missing" if missing > 0 else None
    return None


def why_not_a_video(path: Path, reason: str) -> str:
    """The end of a sentence that starts with the file's name; `reason` is the decoder's own."""
    with path.open("rb") as file:
        head = file.read(4096)
    if not head:
        return "is empty"
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "is a web page (HTML), not a video"
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
