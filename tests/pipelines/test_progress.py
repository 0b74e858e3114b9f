from __future__ import annotations

import io
import threading
from pathlib import Path

from pipelines.progress import Progress, note
from video2gui.timebase import NS_PER_S


class Clock:
    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


def test_the_line_tells_rows_videos_stages_and_what_is_left(tmp_path: Path) -> None:
    clock = Clock()
    progress = Progress(tmp_path, 1000, io.StringIO(), clock)
    note(str(tmp_path), "row", 400)
    progress.collect()
    assert progress.line() == "rows 400/1000  [0:00]"
    for word, count in (("row", 600), ("wanted", 11), ("wanted", -1), ("fetch_video", 2)):
        note(str(tmp_path), word, count)
    progress.collect()
    assert progress.line() == "rows 1000/1000  videos 0/10  [0:00]  fetch_video 2"
    for word in ("annotate", "failed", "done", "done", "done", "done"):
        note(str(tmp_path), word)
    clock.now_ns = 100 * NS_PER_S
    progress.collect()
    assert progress.line() == (
        "rows 1000/1000  videos 4/10, 1 failed  about 2:30 left  [1:40]  fetch_video 2, annotate 1"
    )
    progress.collect()
    assert "videos 4/10" in progress.line()  # nothing is counted twice


def test_half_a_line_waits_for_its_other_half(tmp_path: Path) -> None:
    progress = Progress(tmp_path, 10, io.StringIO(), Clock())
    (tmp_path / "worker").write_text("row 3\nrow 4")
    progress.collect()
    assert progress.line() == "rows 3/10  [0:00]"
    (tmp_path / "worker").write_text("row 3\nrow 47\n")
    progress.collect()
    assert progress.line() == "rows 50/10  [0:00]"


def test_notes_of_many_threads_all_count(tmp_path: Path) -> None:
    def work() -> None:
        for _ in range(200):
            note(str(tmp_path), "row")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    progress = Progress(tmp_path, 1600, io.StringIO(), Clock())
    progress.collect()
    assert progress.line() == "rows 1600/1600  [0:00]"


def test_a_terminal_gets_one_line_that_is_rewritten_and_a_log_gets_whole_lines(tmp_path: Path) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for out, expected in ((Terminal(), "\r\x1b[Krows 0/1  [0:00]\n"), (io.StringIO(), "rows 0/1  [0:00]\n")):
        with Progress(tmp_path, 1, out, Clock()):
            pass
        assert out.getvalue() == expected


def test_nobody_looking_costs_nothing() -> None:
    note(None, "row")
