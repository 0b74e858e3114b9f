"""A folder on any file system that Beam speaks (a path, ``gs://``, ``s3://``), written aside and renamed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, BinaryIO, cast

from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

_PACKED: dict[str, Callable[[BinaryIO], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_RAW = CompressionTypes.UNCOMPRESSED

#: Where files grow before they are renamed. It may be emptied whenever no job runs.
ASIDE = "tmp"


def is_local(path: str) -> bool:
    return FileSystems.get_scheme(path) is None


def expand(pattern: str) -> list[str]:
    """The files that a pattern names, sorted; a name without ``*``, ``?`` or ``[`` is itself when it exists."""
    if is_local(pattern) and Path(pattern).is_file():  # a file whose name looks like a pattern
        return [pattern]
    (match,) = FileSystems.match([pattern])
    return sorted(metadata.path for metadata in match.metadata_list if metadata.size_in_bytes is not None)


def open_rows(path: str) -> BinaryIO:
    """Open for reading, unpacked where the name says that it is packed (``.gz``, ``.bz2``, ``.xz``)."""
    file = cast(BinaryIO, FileSystems.open(path, compression_type=_RAW))
    # not Beam's own unpacking: it takes a cut-off file for a whole one
    unpack = _PACKED.get(PurePath(path).suffix)
    return file if unpack is None else cast(BinaryIO, unpack(file))


def is_packed(path: str) -> bool:
    return PurePath(path).suffix in _PACKED


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder. Names are relative to it, with ``/``; they come from this program, never from data."""

    root: str

    @property
    def is_local(self) -> bool:
        return is_local(self.root)

    def path(self, name: str) -> str:
        return FileSystems.join(self.root, name) if name else self.root

    def exists(self, name: str) -> bool:
        return bool(FileSystems.exists(self.path(name)))

    def read(self, name: str, max_bytes: int) -> bytes | None:
        """The bytes of a file, at most `max_bytes` of them; None where there is none."""
        if not self.exists(name):
            return None
        with self.open(name) as file:
            return file.read(max_bytes)

    def open(self, name: str) -> BinaryIO:
        return cast(BinaryIO, FileSystems.open(self.path(name), compression_type=_RAW))

    @contextmanager
    def open_new(self, name: str, *, durable: bool = False) -> Iterator[BinaryIO]:
        """A new file that appears under its name, whole, when the context ends without an error.

        `durable` also waits until a local disk has it.
        """
        aside = f"{ASIDE}/{uuid.uuid4().hex}"
        try:
            with cast(BinaryIO, FileSystems.create(self.path(aside), compression_type=_RAW)) as file:
                yield file
                if durable and self.is_local:
                    file.flush()
                    os.fsync(file.fileno())
            self.rename(aside, name)
        except BaseException:  # whatever stopped it, half a file is left nowhere
            self.remove(aside)
            raise

    def write(self, name: str, data: bytes, *, durable: bool = False) -> None:
        with self.open_new(name, durable=durable) as file:
            file.write(data)

    def rename(self, name: str, to: str) -> None:
        if self.is_local:
            Path(self.path(to)).parent.mkdir(parents=True, exist_ok=True)
        FileSystems.rename([self.path(name)], [self.path(to)])

    def remove(self, name: str) -> None:
        """Remove a file; none there is fine."""
        if self.is_local:
            Path(self.path(name)).unlink(missing_ok=True)
        elif self.exists(name):
            FileSystems.delete([_literal(self.path(name))])

    def names(self, name: str) -> list[str]:
        """Names of the files right below a folder, sorted; none where there is no such folder."""
        if self.is_local:
            folder = Path(self.path(name))
            return sorted(entry.name for entry in folder.iterdir() if entry.is_file()) if folder.is_dir() else []
        (match,) = FileSystems.match([_literal(self.path(name)) + "/*"])
        return sorted(FileSystems.split(metadata.path)[1] for metadata in match.metadata_list)


def _literal(path: str) -> str:
    # FileSystems.delete and match take patterns
    return re.sub(r"([*?[])", r"[\1]", path)
