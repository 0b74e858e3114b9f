"""WebVTT and SubRip text to timed rows, each row with the times its own words carry.

A parser of our own: the libraries were tried on YouTube's tracks, and one (pysubs2) turns the inline word times
into events without text, the other (webvtt-py) drops a damaged cue without a word. Here a damaged cue is left
out and counted, and the others stay.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from video2gui.timebase import MAX_NS, NS_PER_S

#: A cue with more text than this is damaged: no one can read four thousand characters at once.
MAX_CUE_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a row; `start_ns` is the inline time in front of it, None where there is none."""

    text: str
    start_ns: int | None


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a cue as shown. No pieces: a row that holds its place and says nothing."""

    pieces: tuple[Piece, ...]

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for piece in self.pieces for word in piece.text.split())

    @property
    def timed(self) -> bool:
        return any(piece.start_ns is not None for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class TimedRows:
    """One cue of the file."""

    start_ns: int
    end_ns: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class ParsedTrack:
    """The cues in file order, how many were damaged, and the language the file itself names."""

    cues: tuple[TimedRows, ...]
    damaged: int
    language: str | None


def parse(text: str) -> ParsedTrack | None:
    """Read WebVTT or SubRip, whichever it is; None where it is neither (no header and no cue time)."""
    lines = re.split(r"\r\n|\n|\r", text)
    is_vtt = re.match(r"WEBVTT(?:[ \t]|$)", lines[0]) is not None
    if not is_vtt and not any(_ARROW.match(line) for line in lines):
        return None
    blocks = _vtt_blocks(lines) if is_vtt else _srt_blocks(lines)
    cues: list[TimedRows] = []
    damaged = 0
    for timing, rows in blocks:
        interval = _interval(timing)
        if interval is None or sum(len(row) for row in rows) > MAX_CUE_CHARS:
            damaged += 1
            continue
        cues.append(TimedRows(*interval, tuple(parse_row(row) for row in rows)))
    return ParsedTrack(tuple(cues), damaged, _header_language(lines) if is_vtt else None)


# ------------------------------------------------------------------------------------------------ blocks

#: A timing line, whole or damaged: its arrow follows something like a time. "File --> Save" is a sentence.
_ARROW = re.compile(r"\s{0,8}(?=\S{0,32}\d)\S{0,16}:\S{0,16}\s{0,8}-->")
_NUMBER = re.compile(r"\s*\d+\s*")

_Blocks = list[tuple[str, list[str]]]


def _vtt_blocks(lines: list[str]) -> _Blocks:
    """A cue runs from its timing line to the next empty line; a row of spaces belongs to it."""
    blocks: _Blocks = []
    rows: list[str] | None = None
    between = True  # behind an empty line: what comes is an identifier, a timing line, a NOTE or a STYLE
    skipping = False
    for line in lines[1:]:
        if line == "":
            between, skipping, rows = True, False, None
        elif skipping:
            continue
        elif between and re.match(r"(NOTE|STYLE|REGION)(?:[ \t]|$)", line):
            skipping = True
        elif "-->" in line and (rows is None or _ARROW.match(line)):
            rows = []
            blocks.append((line, rows))
        elif rows is not None:
            rows.append(line)
        if line != "":
            between = False
    return blocks


def _srt_blocks(lines: list[str]) -> _Blocks:
    """A cue runs from its timing line to the next one; the number in front of that is not part of it."""
    blocks: _Blocks = []
    for number, line in enumerate(lines):
        if _ARROW.match(line) or ("-->" in line and _is_number(lines[max(0, number - 2) : number])):
            if blocks:
                _drop_number(blocks[-1][1])
            blocks.append((line, []))
        elif blocks:
            blocks[-1][1].append(line)
    for _, rows in blocks:
        while rows and not rows[-1].strip():
            rows.pop()
    return blocks


def _is_number(before: list[str]) -> bool:
    """Whether the last line is a cue's number: it stands alone behind an empty line, or is all there is."""
    return bool(before and _NUMBER.fullmatch(before[-1])) and (len(before) == 1 or not before[-2].strip())


def _drop_number(rows: list[str]) -> None:
    if _is_number(rows):
        rows.pop()


def _header_language(lines: list[str]) -> str | None:
    for line in lines[1:]:
        if line == "":
            break
        if match := re.fullmatch(r"Language:\s*([A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*)\s*", line):
            return match[1]
    return None


# ------------------------------------------------------------------------------------------------- times

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,9}))?"
_TIMING = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s.*)?")
_INLINE_TIME = re.compile(rf"<{_TIME}>")


def _interval(timing: str) -> tuple[int, int] | None:
    match = _TIMING.fullmatch(timing)
    if match is None:
        return None
    start_ns, end_ns = _time_ns(match.groups()[:4]), _time_ns(match.groups()[4:])
    # a cue of no length still says something
    if start_ns is None or end_ns is None or not start_ns <= end_ns <= MAX_NS:
        return None
    return start_ns, end_ns


def _time_ns(parts: tuple[str | None, ...]) -> int | None:
    hours, minutes, seconds, fraction = parts
    assert minutes is not None and seconds is not None
    if int(minutes) > 59 or int(seconds) > 59:
        return None
    whole = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * NS_PER_S + int((fraction or "0").ljust(9, "0"))


# -------------------------------------------------------------------------------------------------- text

#: Bounded, so that a row of a thousand "<" costs a thousand short looks.
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,200}>|</?>|\{\\[^{}]{0,200}\}")
_INVISIBLE = re.compile("[\u200b\u200c\u200e\u200f\u2060\ufeff\u202a-\u202e\u2066-\u2069\x00-\x08\x0e-\x1f\x7f]")


def parse_row(row: str) -> Row:
    """Take markup off (speaker, italics, colours, positions), read entities, keep inline times."""
    pieces: list[Piece] = []
    start_ns: int | None = None
    position = 0
    for match in _INLINE_TIME.finditer(row):
        _append(pieces, row[position : match.start()], start_ns)
        # a broken inline time says nothing: its words belong to the piece before
        start_ns = _time_ns(match.groups()) if _time_ns(match.groups()) is not None else start_ns
        position = match.end()
    _append(pieces, row[position:], start_ns)
    return Row(tuple(pieces))


def _append(pieces: list[Piece], raw: str, start_ns: int | None) -> None:
    text = _INVISIBLE.sub("", html.unescape(_MARKUP.sub("", raw))).replace("\xa0", " ")
    if text.strip():
        pieces.append(Piece(text, start_ns))
