"""What runs in the guard cannot hang, crash or fill the program, and leaves nothing behind."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from video2gui.errors import FetchError, VideoError
from video2gui.guard import Guard

SECOND = 1_000_000_000


@pytest.fixture
def guard() -> Iterator[Guard]:
    with Guard(memory_bytes=400 << 20) as guard:
        yield guard


# what runs in the child


def add(a: int, b: int) -> int:
    return a + b


def spin() -> NoReturn:
    while True:
        pass


def hold_the_interpreter() -> None:
    ctypes.PyDLL(None).sleep(1000)  # PyDLL keeps the interpreter locked, as decord does in its endless loop


def grow() -> None:
    kept = []
    while True:
        kept.append(b"x" * (8 << 20))


def take_at_once() -> int:
    return len(bytearray(100 << 30))


def crash(number: int) -> None:
    os.kill(os.getpid(), number)


def leave() -> None:
    os._exit(3)


def fail_as_expected() -> None:
    raise FetchError("too many requests", kind="rate_limited", address="http://x/", retry_after_s=7.0)


def divide_by_zero() -> float:
    return 1 / 0


class Stubborn(Exception):
    """Pickles, but cannot be built again."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


def raise_stubborn() -> None:
    raise Stubborn("this", "that")


def start_another_and_spin(note: str) -> NoReturn:
    other = subprocess.Popen(["sleep", "1000"])
    Path(note).write_text(str(other.pid))
    spin()


def print_something() -> None:
    print("a library prints")
    os.write(1, b"a native library prints\n")


# the tests


def gone(pid: int, timeout_s: float = 30.0) -> bool:
    """Whether the process ends in time; it need not be a child of ours."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], timeout_s)[0])
    finally:
        os.close(fd)


def test_one_child_serves_all_calls_and_none_is_left(guard: Guard) -> None:
    threads = threading.active_count()
    assert guard.call(add, 2, 3, deadline_ns=60 * SECOND, address="sum") == 5
    pid = guard.call(os.getpid, deadline_ns=60 * SECOND, address="pid")
    assert pid != os.getpid()
    assert guard.call(os.getpid, deadline_ns=60 * SECOND, address="pid") == pid
    guard.close()
    assert not Path(f"/proc/{pid}").exists()  # neither running nor a zombie
    assert threading.active_count() == threads


@pytest.mark.parametrize("endless", [spin, hold_the_interpreter])
def test_past_the_deadline_the_child_is_killed_and_the_next_call_has_a_new_one(guard: Guard, endless: object) -> None:
    pid = guard.call(os.getpid, deadline_ns=60 * SECOND, address="pid")
    with pytest.raises(VideoError, match=r"film\.mp4 took longer than 0\.3 s") as caught:
        guard.call(endless, deadline_ns=300_000_000, address="film.mp4")  # type: ignore[arg-type]
    assert caught.value.address == "film.mp4"
    assert not Path(f"/proc/{pid}").exists()
    assert guard.call(add, 1, 1, deadline_ns=60 * SECOND, address="sum") == 2


@pytest.mark.parametrize("greedy", [grow, take_at_once])
def test_memory_is_capped(guard: Guard, greedy: object) -> None:
    with pytest.raises(VideoError, match=r"film\.mp4 needs more than 0\.4 GiB of memory"):
        guard.call(greedy, deadline_ns=60 * SECOND, address="film.mp4")  # type: ignore[arg-type]
    assert guard.call(add, 1, 1, deadline_ns=60 * SECOND, address="sum") == 2


def test_a_crash_is_a_failure_of_the_file(guard: Guard) -> None:
    with pytest.raises(VideoError, match=r"film\.mp4 made its decoder crash \(SIGSEGV\)"):
        guard.call(crash, signal.SIGSEGV, deadline_ns=60 * SECOND, address="film.mp4")
    with pytest.raises(VideoError, match="exit status 3"):
        guard.call(leave, deadline_ns=60 * SECOND, address="film.mp4")
    assert guard.call(add, 1, 1, deadline_ns=60 * SECOND, address="sum") == 2


def test_a_child_that_ended_between_calls_is_replaced(guard: Guard) -> None:
    pid = guard.call(os.getpid, deadline_ns=60 * SECOND, address="pid")
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)
    assert guard.call(add, 1, 1, deadline_ns=60 * SECOND, address="sum") == 2


def test_failures_and_bugs_come_back_as_themselves(guard: Guard) -> None:
    with pytest.raises(FetchError) as caught:
        guard.call(fail_as_expected, deadline_ns=60 * SECOND, address="x")
    assert (caught.value.kind, caught.value.retry_after_s, caught.value.address) == ("rate_limited", 7.0, "http://x/")
    with pytest.raises(ZeroDivisionError) as bug:
        guard.call(divide_by_zero, deadline_ns=60 * SECOND, address="x")
    assert "divide_by_zero" in bug.value.__notes__[0]
    with pytest.raises(RuntimeError, match="Stubborn: this and that"):
        guard.call(raise_stubborn, deadline_ns=60 * SECOND, address="x")


def test_what_the_child_started_is_killed_with_it(guard: Guard, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    guard.call(add, 1, 1, deadline_ns=60 * SECOND, address="sum")
    with pytest.raises(VideoError):
        guard.call(start_another_and_spin, str(note), deadline_ns=2 * SECOND, address="film.mp4")
    assert gone(int(note.read_text()))


def test_the_child_dies_with_a_killed_parent_even_in_a_native_loop() -> None:
    code = f"""
import os, sys
sys.path[:] = {sys.path!r}
from tests.video2gui.test_guard import hold_the_interpreter
from video2gui.guard import Guard
guard = Guard()
print(guard.call(os.getpid, deadline_ns={60 * SECOND}, address="pid"), flush=True)
guard.call(hold_the_interpreter, deadline_ns={1000 * SECOND}, address="film.mp4")
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone(child)


def call_in_a_fork(guard: Guard, answers: multiprocessing.SimpleQueue[int]) -> None:
    answers.put(guard.call(add, 20, 3, deadline_ns=60 * SECOND, address="sum"))


def test_a_daemonic_fork_gets_a_child_of_its_own(guard: Guard) -> None:
    pid = guard.call(os.getpid, deadline_ns=60 * SECOND, address="pid")
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    worker = context.Process(target=call_in_a_fork, args=(guard, answers), daemon=True)
    worker.start()
    assert answers.get() == 23
    worker.join()
    assert worker.exitcode == 0
    assert guard.call(os.getpid, deadline_ns=60 * SECOND, address="pid") == pid


def test_a_thread_that_ends_does_not_take_the_child_along(guard: Guard) -> None:
    pids: list[int] = []
    thread = threading.Thread(target=lambda: pids.append(guard.call(os.getpid, deadline_ns=60 * SECOND, address="pid")))
    thread.start()
    thread.join()
    assert guard.call(os.getpid, deadline_ns=60 * SECOND, address="pid") == pids[0]


def test_what_the_child_prints_is_not_our_output(guard: Guard, capfd: pytest.CaptureFixture[str]) -> None:
    guard.call(print_something, deadline_ns=60 * SECOND, address="x")
    guard.close()
    out, err = capfd.readouterr()
    assert out == ""
    assert "native library prints" in err


def test_a_function_the_child_cannot_import_is_a_bug(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((AttributeError, pickle.PicklingError)):
        guard.call(lambda: 1, deadline_ns=SECOND, address="x")
    monkeypatch.setattr(add, "__module__", "__main__")
    with pytest.raises(TypeError, match="main script"):
        guard.call(add, 1, 2, deadline_ns=SECOND, address="x")
