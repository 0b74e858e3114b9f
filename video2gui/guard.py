"""Runs what may hang, crash or grow (decoding media from outside) in a process of its own that can be killed.

This protects the program, not the machine: the child has the same rights as its parent.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pickle
import resource
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, TypeVarTuple

from video2gui.errors import Video2GuiError, VideoError
from video2gui.timebase import NS_PER_S

R = TypeVar("R")
Args = TypeVarTuple("Args")

_LOOK_S = 0.05  # how often a running call is looked at
_START_S = 60.0  # an interpreter starts within this time, on the busiest machine
_LATE_S = 5.0  # how long after its deadline a child without a parent ends itself

# glibc gives the memory of each freed picture back to the system, and takes 400 new pages for the next one: keeping
# 128 MB made reading 720p recordings 1.7 times as fast
_KEEP_FREED = {"MALLOC_TRIM_THRESHOLD_": str(128 << 20), "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}

_CHILD = "import sys; sys.path[:] = sys.argv[4:]; from video2gui.guard import _serve; _serve(*map(int, sys.argv[1:4]))"

_Ending = Literal["value", "failure", "bug", "memory"]


class Guard:
    """One child process, started at the first call and kept for the next ones. Use as a context manager.

    `memory_bytes` is what the child may hold. A child that breaks a limit or crashes is killed with all that it
    started, and the next call gets a new one. The child ends when its parent ends, however that happens. Calls from
    several threads wait for each other.
    """

    def __init__(self, memory_bytes: int = 4 << 30) -> None:
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._child: _Child | None = None

    def call(self, fn: Callable[[*Args], R], *args: *Args, deadline_ns: int, address: str) -> R:
        """`fn(*args)`, run in the child. `fn` is a function of a module, `args` and the result can be pickled.

        Expected failures of `fn` come back as themselves, and so do bugs, with the child's traceback as a note.

        Raises:
            VideoError: past the deadline, beyond the memory limit, or the child crashed. `address` is what was read.
        """
        if getattr(fn, "__module__", None) == "__main__":
            raise TypeError(f"{fn} stands in the main script, where the child cannot import it")
        request = pickle.dumps((deadline_ns / NS_PER_S, fn, args))
        with self._lock:
            child = self._ready_child()
            try:
                ending, value, trace = child.ask(request, deadline_ns, self._memory_bytes)
            except _Broken as broken:
                self._drop()
                raise VideoError(f"{address} {broken}", address=address) from None
            except BaseException:  # Ctrl-C, say: what the child is at is of no use any more
                self._drop()
                raise
            if ending == "memory" or child.memory_bytes() > self._memory_bytes // 2:
                self._drop()  # a child that has grown is replaced before it meets its limit
        if ending == "value":
            result: R = value
            return result
        if ending == "memory":
            raise VideoError(f"{address} {_too_much(self._memory_bytes)}", address=address)
        if ending == "bug":
            value.add_note(f"In the guarded process:\n{trace}")
        raise value

    def close(self) -> None:
        with self._lock:
            self._drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ready_child(self) -> _Child:
        if self._child is not None and (self._child.parent_pid != os.getpid() or self._child.has_ended()):
            self._drop()
        if self._child is None:
            self._child = _Child.start(self._memory_bytes)
        return self._child

    def _drop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()


class _Broken(Exception):
    """The child cannot go on. The text is the end of a sentence about what it was reading."""


def _too_much(memory_bytes: int) -> str:
    return f"needs more than {memory_bytes / 2**30:.1f} GiB of memory to read and was given up"


@dataclass(frozen=True, slots=True)
class _Child:
    """The parent's end: the process, the pipe for requests and replies, and the end of a pipe that says "I live"."""

    process: subprocess.Popen[bytes]
    pipe: Connection
    life_fd: int
    parent_pid: int

    @staticmethod
    def start(memory_bytes: int) -> _Child:
        pipe, child_pipe = Pipe()
        life_read, life_write = os.pipe()
        fds = (child_pipe.fileno(), life_read)
        try:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-c", _CHILD, *map(str, fds), str(memory_bytes), *sys.path],
                env={**_KEEP_FREED, **os.environ},
                stdin=subprocess.DEVNULL,
                stdout=2,  # what a library prints is no output of ours
                pass_fds=fds,
                start_new_session=True,
            )
        finally:
            child_pipe.close()
            os.close(life_read)
        child = _Child(process, pipe, life_write, os.getpid())
        if not pipe.poll(_START_S) or child.has_ended():
            child.kill()
            raise RuntimeError(f"the guarded process did not start (exit status {process.returncode})")
        pipe.recv_bytes()
        return child

    def ask(self, request: bytes, deadline_ns: int, memory_bytes: int) -> tuple[_Ending, Any, str]:
        end_ns = time.monotonic_ns() + deadline_ns
        try:
            self.pipe.send_bytes(request)
            while not self.pipe.poll(_LOOK_S):
                if self.has_ended() and not self.pipe.poll():
                    raise EOFError  # something the child started still holds the pipe open
                if time.monotonic_ns() > end_ns:
                    raise _Broken(f"took longer than {deadline_ns / NS_PER_S:g} s to read and was given up")
                if self.memory_bytes() > memory_bytes:
                    raise _Broken(_too_much(memory_bytes))
            reply: tuple[_Ending, Any, str] = pickle.loads(self.pipe.recv_bytes())  # noqa: S301 - our own child
            return reply
        except (EOFError, ConnectionError):
            raise _Broken(f"made its decoder crash ({_how_it_ended(self.process.wait())})") from None

    def memory_bytes(self) -> int:
        """Memory that is the child's own; 0 where the system does not say."""
        try:
            with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
                _, resident, shared, *_ = map(int, file.read().split())
        except (OSError, ValueError):
            return 0
        return (resident - shared) * resource.getpagesize()

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def kill(self) -> None:
        """End the child and all it started; in a fork of the parent only let go of it."""
        if self.parent_pid == os.getpid():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.pipe.close()
        os.close(self.life_fd)


def _how_it_ended(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"


# ------------------------------------------------------------------------------------------------- in the child


def _serve(pipe_fd: int, life_fd: int, memory_bytes: int) -> None:
    """The child's main loop: a request, a reply, until the parent closes the pipe."""
    _limit(memory_bytes)
    _die_with_parent(life_fd)
    pipe = Connection(pipe_fd)
    pipe.send_bytes(b"ready")
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            pipe.send_bytes(_answer(pipe.recv_bytes()))


def _limit(memory_bytes: int) -> None:
    # the parent looks at what is in use; this refuses one huge request at once. Address space is no measure:
    # thread stacks and mapped files take far more of it than memory.
    resource.setrlimit(resource.RLIMIT_DATA, (2 * memory_bytes, 2 * memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _die_with_parent(life_fd: int) -> None:
    """The kernel sends SIGIO, which ends a process, when the other end of the pipe closes.

    This also reaches a child in a native loop that never lets Python run. PR_SET_PDEATHSIG would not do: it fires when
    the thread that started the child ends.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(life_fd, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(life_fd, fcntl.F_SETFL, fcntl.fcntl(life_fd, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([life_fd], [], [], 0)[0]:
        os._exit(1)  # it was gone before we asked


def _answer(request: bytes) -> bytes:
    try:
        deadline_s, fn, args = pickle.loads(request)  # noqa: S301 - from our own parent
        # should the parent be gone and SIGIO lost, the default action of this one ends us
        signal.setitimer(signal.ITIMER_REAL, deadline_s + _LATE_S)
        try:
            reply = pickle.dumps(("value", fn(*args), ""))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return reply
    except Video2GuiError as failure:
        return pickle.dumps(("failure", failure, ""))
    except MemoryError:
        return pickle.dumps(("memory", None, ""))
    except Exception as bug:  # noqa: BLE001 - a bug of any kind is the parent's to report
        return _bug(bug, traceback.format_exc())


def _bug(bug: Exception, trace: str) -> bytes:
    try:
        reply = pickle.dumps(("bug", bug, trace))
        pickle.loads(reply)  # noqa: S301 - some exceptions can be written and not read back
        return reply
    except Exception:  # noqa: BLE001 - whatever is wrong with pickling it, its text goes home
        return pickle.dumps(("bug", RuntimeError(f"{type(bug).__name__}: {bug}"), trace))
