"""A caption file to a transcript."""

from __future__ import annotations

import codecs
from pathlib import Path

from video2gui.captions.parse import ParsedTrack, TimedRows, parse
from video2gui.captions.rolling import rolls, spoken_cues, timed_words
from video2gui.captions.words import Cue, Transcript
from video2gui.errors import CaptionError

MAX_BYTES = 10_000_000
MAX_CUES = 100_000
MAX_WORDS = 1_000_000  # two days of fast speech, each word shown three times


def read_captions(path: Path, language: str | None = None, automatic: bool | None = None) -> Transcript:
    """Read a WebVTT or SubRip file, told apart by content.

    `automatic` says whether a machine wrote the track; None lets the track's own form decide. Of an automatic
    track every word is kept once, with monotone times, and sounds ("[Music]") are left out. A manual track is
    kept as it is: every cue that says something, in order of its start, overlaps and repetitions included.
    `language` defaults to the one the file names. Damaged cues are left out and counted in the result.

    Raises:
        CaptionError: not readable, too large, compressed, not text, neither format, or no cue is whole.
    """
    track = _parsed(_decode(_read_bytes(path), path), path)
    cues = sorted(track.cues, key=lambda cue: cue.start_ns)
    rolling = automatic is not False and rolls(cues, sure_automatic=automatic is True)
    is_automatic = rolling if automatic is None else automatic
    spoken = spoken_cues(cues, rolling=rolling) if is_automatic else _cues_as_they_are(cues)
    return Transcript(spoken, language or track.language, is_automatic, track.damaged)


def _cues_as_they_are(cues: list[TimedRows]) -> tuple[Cue, ...]:
    out = (Cue(cue.start_ns, cue.end_ns, tuple(timed_words(cue.rows, cue.start_ns, cue.end_ns))) for cue in cues)
    return tuple(cue for cue in out if cue.words)


def _parsed(text: str, path: Path) -> ParsedTrack:
    track = parse(text)
    if track is None:
        raise CaptionError(f"{path} is neither WebVTT nor SubRip captions", address=str(path))
    if len(track.cues) > MAX_CUES:
        raise CaptionError(f"{path} has {len(track.cues)} captions, more than {MAX_CUES}", address=str(path))
    if sum(len(row.words) for cue in track.cues for row in cue.rows) > MAX_WORDS:
        raise CaptionError(f"captions {path} have more than {MAX_WORDS} words", address=str(path))
    if track.damaged and not track.cues:
        raise CaptionError(f"none of the {track.damaged} captions in {path} has a readable time", address=str(path))
    return track


def _read_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise CaptionError(f"cannot read captions {path}: {error.strerror or error}", address=str(path)) from error
    if len(raw) > MAX_BYTES:
        raise CaptionError(f"captions {path} are larger than {MAX_BYTES // 1_000_000} MB", address=str(path))
    if raw[:2] == b"\x1f\x8b" or raw[:4] == b"PK\x03\x04":
        raise CaptionError(f"captions {path} are compressed; unpack them first", address=str(path))
    return raw


def _decode(raw: bytes, path: Path) -> str:
    """UTF-8 (with or without mark), UTF-16, else the Western code page that old caption files use."""
    encoding = "utf-8-sig"
    if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16"
    elif raw[1:2] == b"\0":
        encoding = "utf-16-le"
    elif raw[:1] == b"\0":
        encoding = "utf-16-be"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text = _decode_damaged(raw) if encoding == "utf-8-sig" else ""
    if not text or "\0" in text:
        if not raw:
            raise CaptionError(f"captions {path} are empty", address=str(path))
        raise CaptionError(f"captions {path} are not text", address=str(path))
    return text


def _decode_damaged(raw: bytes) -> str:
    """UTF-8 with a few bad bytes keeps its marks of damage; a text of bad bytes only was never UTF-8."""
    text = raw.decode("utf-8-sig", errors="replace")
    bad = text.count("\ufffd")
    good = sum(ord(char) > 0x7F for char in text) - bad
    if bad <= good:
        return text
    try:
        return raw.decode("cp1252")
    except UnicodeDecodeError:
        return text
