"""What the threads of one worker process share: a few guarded children, and how often things fail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from video2gui.errors import Video2GuiError
from video2gui.guard import Guard

T = TypeVar("T")


class Guards:
    """At most `limit` guarded children, lent to one thread at a time, started when first needed.

    Beam hands each thread its share of the videos before it starts. More threads than children therefore keep
    every child busy to the end, and let a thread fetch while another one computes.
    """

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._idle: list[Guard] = []
        self._lent: set[Guard] = set()
        self._limit = 0
        self._users = 0

    def open(self, limit: int) -> None:
        """Called in a DoFn's `setup`; every call is to be followed by one of `close`."""
        with self._lock:
            self._limit = limit
            self._users += 1

    def close(self) -> None:
        with self._lock:
            self._users -= 1
            idle, self._idle = (self._idle, []) if self._users == 0 else ([], self._idle)
        for guard in idle:
            guard.close()

    def call(self, function: Callable[..., T], *args: Any, deadline_ns: int, address: str) -> T:
        """`Guard.call` on a child that is free, once one is."""
        with self._borrowed() as guard:
            try:
                return guard.call(function, *args, deadline_ns=deadline_ns, address=address)
            except Video2GuiError:
                raise
            except Exception as bug:  # only to say where: Beam keeps an exception's text, not its notes
                notes = "\n".join(getattr(bug, "__notes__", ()))
                raise RuntimeError(f"{type(bug).__name__} at {address}: {bug}\n{notes}") from bug

    @contextmanager
    def _borrowed(self) -> Iterator[Guard]:
        with self._lock:
            self._lock.wait_for(lambda: self._idle or len(self._lent) < self._limit)
            guard = self._idle.pop() if self._idle else Guard()
            self._lent.add(guard)
        try:
            yield guard
        finally:
            with self._lock:
                self._lent.discard(guard)
                self._idle.append(guard)  # the last used first: its models are loaded
                self._lock.notify()


class TooManyFailuresError(RuntimeError):
    """The share of videos that fail has passed what the command allows."""


class FailureShare:
    """Stops the job when too large a share of the videos fails (a network that is down, a full disk)."""

    #: Fewer videos than this say nothing.
    LEAST = 20

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended = self._failed = 0

    def start(self) -> None:
        with self._lock:
            self._ended = self._failed = 0

    def add(self, *, failed: bool, limit: float) -> None:
        """Count one video.

        Raises:
            TooManyFailuresError: more than `limit` of those so far failed.
        """
        with self._lock:
            self._ended += 1
            self._failed += failed
            ended, failures = self._ended, self._failed
        if failed and ended >= self.LEAST and failures > limit * ended:
            raise TooManyFailuresError(f"stopped: {failures} of the first {ended} videos failed")


GUARDS = Guards()
FAILURES = FailureShare()
