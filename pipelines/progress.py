"""How far the job is, while it runs. Beam's own counters are known only when a step is over.

Workers on this machine append one short line for each thing done to a file of their own below one folder; the
process that a person looks at reads them and prints one line.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from video2gui.timebase import NS_PER_S

_EVERY_S = {True: 0.5, False: 30.0}  # on a terminal, and in a log

#: Stages whose finished videos are shown, in the order of the flow.
SHOWN = ("fetch_video", "filter_content", "annotate", "ground", "check", "pack")


def note(folder: str | None, word: str, count: int = 1) -> None:
    """Say that `count` things of a kind are done; nothing when nobody looks (`folder` is None)."""
    if folder is not None and count:
        with (Path(folder) / f"{os.getpid()}").open("a", encoding="ascii") as file:
            file.write(f"{word} {count}\n")


class Progress:
    """Prints the line while the job runs. A context manager; `folder` must exist."""

    def __init__(self, folder: Path, rows: int, out: TextIO, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._folder, self._rows, self._out, self._clock = folder, rows, out, clock
        self._counts: Counter[str] = Counter()
        self._read: dict[Path, int] = {}
        self._start_ns = clock()
        self._media_ns: int | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
        self._terminal = out.isatty()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()
        self.collect()
        self._print(last=True)

    def _run(self) -> None:
        while not self._end.wait(_EVERY_S[self._terminal]):
            self.collect()
            self._print()

    def collect(self) -> None:
        """Take in what workers have written since the last time."""
        for path in self._folder.iterdir():
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                data = file.read()
            whole = data.rpartition(b"\n")[0]
            self._read[path] = self._read.get(path, 0) + len(whole) + bool(whole)
            for word, count in (line.split() for line in whole.decode("ascii").splitlines()):
                self._counts[word] += int(count)
        if self._media_ns is None and self._counts["wanted"]:
            self._media_ns = self._clock()

    def line(self) -> str:
        """Rows read, videos done of those wanted, how far they are, and how long the rest may take."""
        counts = self._counts
        text = f"rows {counts['row']}/{self._rows}"
        stages = ""
        if counts["wanted"]:
            text += f"  videos {counts['done']}/{counts['wanted']}"
            text += f", {counts['failed']} failed" if counts["failed"] else ""
            left_s = self._left_s()
            text += f"  about {_duration(left_s)} left" if left_s is not None else ""
            stages = ", ".join(f"{name} {counts[name]}" for name in SHOWN if counts[name])
        elapsed = _duration((self._clock() - self._start_ns) / NS_PER_S)
        return f"{text}  [{elapsed}]" + (f"  {stages}" if stages else "")

    def _left_s(self) -> float | None:
        done, wanted = self._counts["done"], self._counts["wanted"]
        if self._media_ns is None or not 0 < done < wanted:
            return None
        return (self._clock() - self._media_ns) / NS_PER_S / done * (wanted - done)

    def _print(self, *, last: bool = False) -> None:
        end = "\n" if last or not self._terminal else ""
        line = self.line()
        if self._terminal:  # a line that wraps could not be written over
            line = "\r\x1b[K" + line[: shutil.get_terminal_size().columns - 1]
        self._out.write(line + end)
        self._out.flush()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
