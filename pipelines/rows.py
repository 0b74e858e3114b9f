"""Metadata files to rows, without ever holding a file in memory.

A file is JSON lines, or one JSON document: an array of objects, or objects written over several lines (what
``yt-dlp --write-info-json`` and ``jq .`` make). Either may be packed (``.gz``, ``.bz2``, ``.xz``). A row beyond
`MAX_ROW_BYTES` is not kept in memory, only its place is.
"""

from __future__ import annotations

import lzma
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Self

from pipelines import files
from video2gui.errors import InputError

MAX_ROW_BYTES = 4 << 20

#: How much of a plain file one worker reads at a time.
RANGE_BYTES = 32 << 20

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, order=True)
class RowRef:
    """Where a row stands: file (and its number in the input), line, and its bytes in the unpacked file."""

    number: int
    line: int
    offset: int
    length: int
    file: str

    @property
    def address(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Range:
    """A part of a file to be read: from `offset` (where `line` begins) to `end`, or to the end of the file."""

    number: int
    file: str
    offset: int = 0
    end: int | None = None
    line: int = 1
    document: bool = False


@dataclass(slots=True)
class _Raw:
    """A row while it is read. Bytes beyond the limit are counted and let go."""

    line: int
    offset: int
    length: int = 0
    kept: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        self.length += len(data)
        self.kept += data[: max(0, MAX_ROW_BYTES + 1 - len(self.kept))]

    def close(self, source: Range) -> tuple[RowRef, bytes] | None:
        """The row without the white space around it; None for a blank one."""
        if self.length <= MAX_ROW_BYTES and not self.kept.strip():
            return None
        return RowRef(source.number, self.line, self.offset, self.length, source.file), bytes(self.kept)


# ------------------------------------------------------------------------------------------------- plan


def plan(patterns: Iterable[str]) -> tuple[list[Range], int]:
    """The ranges to read, in order, and how many rows they hold. Reads every file once.

    Raises:
        InputError: a name or pattern that names no file.
    """
    ranges: list[Range] = []
    names: dict[str, None] = {}
    for pattern in patterns:
        found = files.expand(pattern)
        if not found:
            raise InputError(f"no file is called {pattern}", address=pattern)
        names.update(dict.fromkeys(found))
    rows = 0
    for number, name in enumerate(names):
        for part, count in _plan_file(Range(number, name)):
            ranges.append(part)
            rows += count
    return ranges, rows


def _plan_file(source: Range) -> Iterator[tuple[Range, int]]:
    try:
        with files.open_rows(source.file) as file:
            document = _is_document(file.read(_CHUNK), source.file)
        if document or files.is_packed(source.file):
            whole = Range(source.number, source.file, document=document)
            yield whole, sum(1 for _ in read(whole))
            return
        offset, line, count = 0, 1, 0
        for ref, _ in read(source):
            if ref.offset - offset >= RANGE_BYTES:
                yield Range(source.number, source.file, offset, ref.offset, line), count
                offset, line, count = ref.offset, ref.line, 0
            count += 1
        yield Range(source.number, source.file, offset, None, line), count
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise InputError(f"{source.file} cannot be read: {error}", address=source.file) from error


def _is_document(head: bytes, name: str) -> bool:
    if re.search(r"\.(jsonl|ndjson)(\.\w+)?$", name):
        return False
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    # an array, or an object whose first line is its bracket alone
    return text.startswith(b"[") or re.match(rb"\{[ \t\r]*\n", text) is not None


# ------------------------------------------------------------------------------------------------- read


def read(source: Range) -> Iterator[tuple[RowRef, bytes]]:
    """The rows of a range in order, each with its place; blank lines are no rows.

    Of a row beyond `MAX_ROW_BYTES` only the first `MAX_ROW_BYTES` + 1 bytes are given.
    """
    with files.open_rows(source.file) as file:
        if source.offset:
            file.seek(source.offset)
        raws = _values(file) if source.document else _lines(file, source)
        for raw in raws:
            row = raw.close(source)
            if row is not None:
                yield row


class Again:
    """Reads rows by their places, in any order (in order is fast). A context manager."""

    def __init__(self) -> None:
        self._name = ""
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def read(self, ref: RowRef) -> bytes | None:
        """The bytes of a row; None for one beyond `MAX_ROW_BYTES`."""
        if ref.length > MAX_ROW_BYTES:
            return None
        if self._file is None or ref.file != self._name:
            if self._file is not None:
                self._file.close()
            self._name, self._file = ref.file, files.open_rows(ref.file)
        self._file.seek(ref.offset)
        return _exactly(self._file, ref.length)


def _exactly(file: BinaryIO, size: int) -> bytes:
    parts = []
    while size > 0 and (data := file.read(min(size, _CHUNK))):
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


def _lines(file: BinaryIO, source: Range) -> Iterator[_Raw]:
    offset = source.offset
    raw = _Raw(source.line, offset)
    while data := file.read(_CHUNK):
        for piece in _split(data):
            raw.add(piece)
            offset += len(piece)
            if piece.endswith(b"\n"):
                yield raw
                if source.end is not None and offset >= source.end:
                    return
                raw = _Raw(raw.line + 1, offset)
    yield raw


def _split(data: bytes) -> Iterator[bytes]:
    """Split behind line feeds only: `splitlines` takes a carriage return, white space of JSON, for an end, too."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield data[start : end + 1]
        start = end + 1
    if start < len(data):
        yield data[start:]


_TOKEN = re.compile(rb'["\\{}\[\]\n]')
_PUNCTUATION = b" \t\r\n,[]\xef\xbb\xbf"


def _values(file: BinaryIO) -> Iterator[_Raw]:
    """The objects of a document: those of its one array, or those that stand one behind the other.

    What stands between them and is not JSON's own punctuation is a row of its own (and will fail as one), and so
    is an object that the file ends in.
    """
    scan = _Scan()
    while data := file.read(_CHUNK):
        yield from scan.feed(data)
    yield from scan.finish()


class _Scan:
    """Finds where the outermost objects begin and end, whatever the chunks are."""

    def __init__(self) -> None:
        self.offset, self.line = 0, 1
        self.depth, self.in_string, self.escaped = 0, False, False
        self.raw: _Raw | None = None

    def feed(self, data: bytes) -> Iterator[_Raw]:
        start = position = 0  # data[start:position] belongs to self.raw, or to nothing
        while True:
            if self.escaped and position < len(data):
                self.line += data[position : position + 1] == b"\n"
                self.escaped, position = False, position + 1
            match = _TOKEN.search(data, position)
            if match is None:
                break
            position = match.end()
            done, start = self._token(data, match[0], start, match.start())
            if done is not None:
                yield done
        self._take(data[start:], start)
        self.offset += len(data)

    def finish(self) -> Iterator[_Raw]:
        if self.raw is not None:
            yield self.raw

    def _token(self, data: bytes, token: bytes, start: int, at: int) -> tuple[_Raw | None, int]:
        """Handle one token at `at`; gives a row that ended, and where the untaken bytes begin."""
        if token == b"\n":
            self.line += 1
        elif self.in_string:
            self.escaped = token == b"\\"
            self.in_string = token != b'"'
        elif token == b'"':
            self.in_string = True
        elif token in b"{[" and token != b"\\":
            if token == b"{" and self.depth == 0:
                done = self._between(data[start:at], start)
                self.raw, self.depth = _Raw(self.line, self.offset + at), 1
                return done, at
            self.depth += self.depth > 0
        elif token in b"}]" and token != b"\\" and self.depth:
            self.depth -= 1
            if self.depth == 0 and self.raw is not None:
                self._take(data[start : at + 1], start)
                done, self.raw = self.raw, None
                return done, at + 1
        return None, start

    def _take(self, data: bytes, start: int) -> None:
        if self.raw is not None:
            self.raw.add(data)
        elif found := data.lstrip(_PUNCTUATION):
            self.raw = _Raw(self.line, self.offset + start + len(data) - len(found))
            self.raw.add(found)

    def _between(self, data: bytes, start: int) -> _Raw | None:
        """What stands before an object and is none."""
        self._take(data, start)
        done, self.raw = self.raw, None
        return done
