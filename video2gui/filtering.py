"""A quick look at a file of metadata rows: each row's verdict by the tiers that need its words alone.

The job (`pipelines.mine_videos`) judges with the same function; it also splits files, drops duplicates and goes on to
the picture.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from video2gui.config import FilterSettings
from video2gui.errors import InputError, RowError
from video2gui.schema import Verdict, VideoMeta
from video2gui.stages.filter_metadata import filter_rows
from video2gui.stages.parse_row import parse_row

_BATCH = 512
_MOST_BYTES = 16 << 20
_OTHER_FORMS = frozenset({".csv", ".tsv", ".parquet", ".zst", ".zip"})
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """One row as it stood in the file. `meta` and `verdict` are None where it could not be read: `error` says why."""

    line: bytes
    address: str
    meta: VideoMeta | None
    verdict: Verdict | None
    error: str | None = None

    @property
    def tier(self) -> str:
        """What decided: parse, rules or text."""
        if self.verdict is None:
            return "parse"
        return "rules" if self.verdict.score is None else "text"


def judge_file(path: Path, settings: FilterSettings) -> Iterator[JudgedRow]:
    """Every row of a file of JSON lines (plain, .gz, .bz2, .xz), in order; empty lines are none.

    Raises:
        InputError: the file is of another form, is damaged, or a line is larger than 16 MiB.
    """
    if other := {suffix.lower() for suffix in path.suffixes} & _OTHER_FORMS:
        raise InputError(
            f"{path} is {min(other)[1:]}, and rows are read as JSON lines: one object a line, plain or .gz, .bz2, .xz",
            address=str(path),
        )
    opener: Callable[..., Any] = _OPENERS.get(path.suffix, open)
    try:
        with opener(path, "rb") as file:
            lines = _lines(file, path)
            while batch := list(islice(lines, _BATCH)):
                yield from _judged(batch, settings)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise InputError(f"{path} cannot be read to its end: {error}", address=str(path)) from error


def _lines(file: IO[bytes], path: Path) -> Iterator[tuple[str, bytes]]:
    number = 0
    while line := file.readline(_MOST_BYTES + 1):
        number += 1
        if len(line) > _MOST_BYTES:
            raise InputError(
                f"line {number} of {path.name} is larger than {_MOST_BYTES >> 20} MiB: one row a line is needed",
                address=f"{path}:{number}",
            )
        if number == 1 and line.lstrip()[:1] == b"[":
            raise InputError(
                f"{path} is one JSON list, and rows are read as JSON lines: one object a line", address=f"{path}:1"
            )
        if line.strip():
            yield f"{path}:{number}", line.rstrip(b"\r\n")


def _judged(batch: list[tuple[str, bytes]], settings: FilterSettings) -> Iterator[JudgedRow]:
    read: list[VideoMeta | RowError] = []
    for address, line in batch:
        try:
            read.append(parse_row(line, address))
        except RowError as error:
            read.append(error)
    verdicts = iter(filter_rows([meta for meta in read if isinstance(meta, VideoMeta)], settings))
    for (address, line), meta in zip(batch, read, strict=True):
        if isinstance(meta, RowError):
            yield JudgedRow(line, address, None, None, str(meta))
        else:
            yield JudgedRow(line, address, meta, next(verdicts))
