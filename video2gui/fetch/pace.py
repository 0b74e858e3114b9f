"""Politeness: how often one host is asked, by all processes of this machine together.

Per host one small file holds the instants before which nobody may ask. Instants are the machine's monotonic
clock, which setting the wall clock does not move; a file from before the last start of the machine is void.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

from video2gui.errors import FetchError
from video2gui.timebase import NS_PER_S

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Clock:
    """Time from outside: a monotonic clock shared by all processes, and how to wait."""

    now_ns: Callable[[], int]
    sleep_ns: Callable[[int], None]


SYSTEM_CLOCK = Clock(time.monotonic_ns, lambda ns: time.sleep(ns / NS_PER_S))


@dataclass(slots=True)
class _State:
    """`next_ns`: the next free turn; `open_ns`: the end of a cool-down."""

    next_ns: int = 0
    open_ns: int = 0


@dataclass(frozen=True, slots=True)
class Pace:
    """Turns at hosts. `folder` is shared by all who fetch."""

    folder: Path
    pause_ns: int
    clock: Clock = SYSTEM_CLOCK

    def wait_turn(self, url: str, until_ns: int) -> None:
        """Sleep until it is this call's turn at the host of `url`; turns are `pause_ns` apart.

        Raises:
            FetchError: `rate_limited`, the turn would come after `until_ns`; no turn is taken then.
        """
        turn_ns = self._turn(url, until_ns)
        while (wait_ns := turn_ns - self.clock.now_ns()) > 0:
            self.clock.sleep_ns(wait_ns)
            with self._state(url) as state:
                cooling = state.open_ns > turn_ns  # it began while we slept: all line up again behind it
            turn_ns = self._turn(url, until_ns) if cooling else turn_ns

    def _turn(self, url: str, until_ns: int) -> int:
        with self._state(url) as state:
            turn_ns = max(self.clock.now_ns(), state.next_ns, state.open_ns)
            self._check_in_time(url, turn_ns, until_ns)
            state.next_ns = turn_ns + self.pause_ns
        return turn_ns

    def cool_down(self, url: str, pause_ns: int) -> None:
        """Let nobody ask this host for a while; a shorter pause never ends a longer one."""
        with self._state(url) as state:
            state.open_ns = max(state.open_ns, self.clock.now_ns() + pause_ns)

    @contextmanager
    def _state(self, url: str) -> Iterator[_State]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._path(url).open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # held for microseconds; ends with the file, and with the process
            state = _read(file)
            yield state
            file.seek(0)
            file.truncate()
            json.dump({"boot": _boot_id(), "next_ns": state.next_ns, "open_ns": state.open_ns}, file)

    def _path(self, url: str) -> Path:
        # a host's name is data and no file name
        return self.folder / f"host-{hashlib.sha256(host_of(url).encode()).hexdigest()[:16]}.json"

    def _check_in_time(self, url: str, turn_ns: int, until_ns: int) -> None:
        if turn_ns > until_ns:
            wait_s = (turn_ns - self.clock.now_ns()) / NS_PER_S
            text = f"{url} was not asked for: {host_of(url)} has to be left alone for another {wait_s:.0f} s"
            raise FetchError(text, kind="rate_limited", address=url, retry_after_s=wait_s)


def host_of(url: str) -> str:
    """The host of an address in lower case, without user and port: politeness is owed to a machine."""
    return urlsplit(url).hostname or ""


def _read(file: TextIO) -> _State:
    file.seek(0)
    try:
        data = json.loads(file.read(1000) or "{}")
        if data.get("boot") == _boot_id():
            return _State(int(data["next_ns"]), int(data["open_ns"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # cut off by a crash: a state that is lost costs one early question
    return _State()


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return ""
