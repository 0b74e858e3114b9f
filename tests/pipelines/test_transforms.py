from __future__ import annotations

import http.server
import json
import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to

from pipelines import mine_videos
from pipelines.outcomes import Outcome, Outcomes
from pipelines.rows import RowRef
from pipelines.transforms import ENDED, DropDuplicates, Item, Job, MediaStage, ParseRow, group_of
from pipelines.workers import GUARDS, FailureShare, Guards, TooManyFailuresError
from tests.pipelines.test_mine_videos import command, content, row, write_rows
from video2gui.config import Settings
from video2gui.errors import VideoError
from video2gui.schema import VideoMeta
from video2gui.testing import draw_screencast
from video2gui.timebase import NS_PER_S

META = VideoMeta("v", "v", "v.mp4", row="rows:1", title="t")
ITEM = Item(RowRef(0, 1, 0, 10, "rows"), META)


class Squares(MediaStage):
    """A stage as any other: gives a number, or what its title asks for."""

    stage = "squares"

    def key(self, item: Item) -> list[object]:
        return [item.meta.title]

    def compute(self, item: Item) -> Any:
        title = item.meta.title or ""
        if title == "bug":
            raise ZeroDivisionError("a real bug")
        if title == "failure":
            raise VideoError("cannot be read", address="v.mp4")
        return int(title) ** 2

    def go_on(self, item: Item, outcome: Outcome) -> Iterator[Any]:
        yield outcome.value


def job(tmp_path: Path, **more: Any) -> Job:
    return Job(str(tmp_path), Settings(), {"squares": "1"}, **more)


def run(
    tmp_path: Path, titles: list[str], expected: list[object], workers: int = 1, stage: type[MediaStage] = Squares
) -> None:
    mode = "in_memory" if workers == 1 else "multi_threading"
    options = PipelineOptions([], direct_num_workers=workers, direct_running_mode=mode)
    items = [replace(ITEM, meta=replace(META, title=title)) for title in titles]
    with beam.Pipeline(runner=FnApiRunner(), options=options) as pipeline:
        done = (
            pipeline
            | beam.Create(items)
            | beam.ParDo(stage(job(tmp_path, workers=workers))).with_outputs(ENDED, main="on")
        )
        reasons = done[ENDED] | beam.Map(lambda ended: (ended.kind, ended.reason, ended.detail))
        assert_that((done["on"], reasons) | beam.Flatten(), equal_to(expected))


def test_a_failure_ends_one_video_and_a_result_goes_on(tmp_path: Path) -> None:
    run(tmp_path, ["3", "failure", "4"], [9, 16, ("failed", "video", "cannot be read")])


@pytest.mark.parametrize("workers", [1, 2])
def test_a_bug_stops_the_job_and_is_named(tmp_path: Path, workers: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "apache_beam")
    with pytest.raises((ZeroDivisionError, RuntimeError), match="a real bug"):
        run(tmp_path, ["3", "bug"], [9], workers)


class Meet(Squares):
    """Opens one end of a pipe in a guarded child, which waits until somebody opens the other end."""

    def compute(self, item: Item) -> Any:
        flag = {"read": os.O_RDONLY, "write": os.O_WRONLY}[item.meta.title or ""]
        GUARDS.call(os.open, f"{self.job.out}/pipe", flag, deadline_ns=60 * NS_PER_S, address="pipe")
        return item.meta.title


def test_two_workers_work_at_the_same_time(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    run(tmp_path, ["read", "write"], ["read", "write"], workers=2, stage=Meet)


def test_what_is_kept_is_not_computed_again(tmp_path: Path) -> None:
    run(tmp_path, ["3"], [9])
    (path,) = (tmp_path / "outcomes" / "squares").rglob("*.json")
    Outcomes(job(tmp_path).folder).keep("squares", path.stem, 10)
    run(tmp_path, ["3"], [10])
    path.write_bytes(path.read_bytes()[:-1])
    run(tmp_path, ["3"], [9])


def test_a_bug_in_a_guarded_child_says_where() -> None:
    guards = Guards()
    guards.open(1)
    try:
        with pytest.raises(RuntimeError, match=r"ValueError at v.mp4: invalid literal[\s\S]*guarded process"):
            guards.call(int, "no number", deadline_ns=60 * NS_PER_S, address="v.mp4")
        assert guards.call(int, "7", deadline_ns=60 * NS_PER_S, address="v.mp4") == 7
    finally:
        guards.close()


def test_guards_are_lent_to_one_thread_at_a_time() -> None:
    guards = Guards()
    guards.open(2)
    results: list[int] = []
    threads = [
        threading.Thread(
            target=lambda n=n: results.append(guards.call(abs, -n, deadline_ns=60 * NS_PER_S, address="x"))
        )
        for n in range(12)
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(results) == list(range(12))
        assert 1 <= len(guards._idle) <= 2
    finally:
        guards.close()
    assert guards._idle == []


def test_the_share_of_failures_says_nothing_before_twenty_videos() -> None:
    share = FailureShare()
    for _ in range(19):
        share.add(failed=True, limit=0.5)
    with pytest.raises(TooManyFailuresError, match="20 of the first 20"):
        share.add(failed=True, limit=0.5)
    share.start()
    for n in range(100):
        share.add(failed=n % 2 == 0 and n > 50, limit=0.5)


def test_the_first_row_of_a_video_stays_whatever_the_order() -> None:
    items = [
        replace(ITEM, row=RowRef(number, line, 0, 1, f"file{number}")) for number, line in ((1, 1), (0, 9), (0, 2))
    ]
    for order in (items, items[::-1], [items[1], items[2], items[0]]):
        results = list(DropDuplicates(Job("out", Settings(), {})).process(("v", order)))
        assert [result for result in results if isinstance(result, Item)] == [items[2]]
        ended = [result.value for result in results if not isinstance(result, Item)]
        assert {(e.row, e.reason, e.detail) for e in ended} == {
            (items[0].row, "duplicate", "of file0:2"),
            (items[1].row, "duplicate", "of file0:2"),
        }


def test_an_element_that_weighs_too_much_is_a_failure_of_its_row() -> None:
    chapters = [{"title": f"{n}" + "\N{GRINNING FACE}" * 400, "start_time": n, "end_time": n + 1} for n in range(500)]
    data = json.dumps({"id": "v", "webpage_url": "v.mp4", "title": "t", "chapters": chapters}, ensure_ascii=False)
    result = ParseRow(Job("out", Settings(), {}))._one(ITEM.row, data.encode())
    assert result.tag == ENDED
    assert "more than an element may carry" in result.value.detail


def test_groups_are_stable_and_even() -> None:
    assert [group_of(f"v{n}", 4) for n in range(8)] == [group_of(f"v{n}", 4) for n in range(8)]
    assert group_of("v", 1) == 0
    counts = [[group_of(f"v{n}", 4) for n in range(1000)].count(group) for group in range(4)]
    assert min(counts) > 200


# -------------------------------------------------------------------------------------------------- fetching


class Served(http.server.SimpleHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_video_from_the_web_is_fetched_once_and_again_when_it_was_damaged(tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    draw_screencast(served / "rec.mp4", 1)
    asked: list[str] = []
    handler = type("Handler", (Served,), {"asked": asked})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *args: handler(*args, directory=str(served)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (tmp_path / "media").mkdir()
    url = f"http://127.0.0.1:{server.server_port}/rec.mp4"
    write_rows(tmp_path / "rows.jsonl", [row("rec", url), row("missing", url + ".not")])
    arguments = command(tmp_path, tmp_path / "out", "--workers", "1", settings="[fetch]\npause_s = 0\n")
    try:
        assert mine_videos.main(arguments) == 1
        first, before = content(tmp_path / "out"), len(asked)
        assert before >= 1
        assert mine_videos.main(arguments) == 1
        assert len(asked) == before  # what is gone is remembered, too
        (media,) = (path for path in (tmp_path / "out" / "media").rglob("*.mp4"))
        media.write_bytes(media.read_bytes()[:-100])
        assert mine_videos.main(arguments) == 1
        assert len(asked) > before
        assert content(tmp_path / "out") == first
        again = len(asked)
        assert mine_videos.main([*arguments, "--retry-failed", "gone"]) == 1
        assert len(asked) > again
    finally:
        server.shutdown()
