"""The command line: results on standard output, one sentence for a wrong request, statuses 0, 1 and 2."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from video2gui import codec
from video2gui.schema import Trajectory
from video2gui.testing import Screencast, draw_screencast


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "video2gui", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Screencast]:
    path = tmp_path_factory.mktemp("cli") / "clip.mp4"
    return path, draw_screencast(path)


@pytest.fixture(scope="module")
def shard(clip: tuple[Path, Screencast]) -> tuple[Path, list[Trajectory]]:
    out = clip[0].parent / "shards"
    done = run("mine", clip[0], "--title", "How to add a name to the list", "--out", out)
    assert done.returncode == 0, done.stderr
    trajectories = [codec.loads(Trajectory, line) for line in done.stdout.splitlines()]
    assert trajectories, done.stderr
    return out / "clip-00000.tar", trajectories


def test_mine_prints_trajectories_and_writes_a_shard_that_verifies(shard: tuple[Path, list[Trajectory]]) -> None:
    (trajectory, *_) = shard[1]
    assert trajectory.instruction.text == "Add a name to the list"
    assert trajectory.instruction.source == "title"
    assert {step.action.kind for step in trajectory.steps} >= {"click", "type"}
    done = run("check", shard[0])
    assert (done.returncode, done.stdout) == (0, "")


def test_a_named_control_has_a_box_around_the_point(shard: tuple[Path, list[Trajectory]]) -> None:
    steps = [step for trajectory in shard[1] for step in trajectory.steps if step.target is not None]
    assert steps, "no step has a name"
    for step in steps:
        assert step.grounding is not None
        assert step.grounding.box is None or step.grounding.box.contains(step.grounding.point)
        assert step.evidence.target in ("seen", "inferred")


def test_show_says_what_was_done_and_draws_it(shard: tuple[Path, list[Trajectory]], tmp_path: Path) -> None:
    done = run("show", shard[0], "--step", "0", "--images", tmp_path / "pics")
    assert done.returncode == 0, done.stderr
    assert "Add a name to the list" in done.stdout
    assert len(list((tmp_path / "pics").glob("*.before.png"))) == len(shard[1])


def test_events_prints_the_keys_of_a_truth_file(clip: tuple[Path, Screencast]) -> None:
    done = run("events", clip[0])
    assert done.returncode == 0, done.stderr
    events = json.loads(done.stdout)
    clicks = [event for event in events if event["type"] == "click"]
    true = [action for action in clip[1].actions if action.kind == "click"]
    near = [any(abs(event["t_start"] - action.start_ns / 1e9) < 0.5 for event in clicks) for action in true]
    assert sum(near) >= len(true) / 2
    assert all(0 <= event["confidence"] <= 1 for event in events)
    assert [event["t_start"] for event in events] == sorted(event["t_start"] for event in events)


def test_a_damaged_shard_is_named_with_sample_and_rule(shard: tuple[Path, list[Trajectory]], tmp_path: Path) -> None:
    data = shard[0].read_bytes()
    damaged = tmp_path / "damaged.tar"
    damaged.write_bytes(data.replace(b'"click"', b'"clack"', 1))
    done = run("check", damaged)
    assert done.returncode == 1
    assert "damaged.tar#" in done.stdout
    assert "schema" in done.stdout


@pytest.mark.parametrize("command", ["mine", "events"])
def test_what_is_no_video_is_one_sentence(command: str, tmp_path: Path) -> None:
    page = tmp_path / "page.mp4"
    page.write_text("<!doctype html><title>not here</title>")
    done = run(command, page)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: page.mp4") or str(page) in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_wrong_requests_end_with_2(tmp_path: Path, shard: tuple[Path, list[Trajectory]]) -> None:
    settings = tmp_path / "s.toml"
    settings.write_text("[annotate]\nmin_step = 3\n")
    for arguments, says in [
        (["mine", tmp_path / "nothing.mp4"], "is not there"),
        (["events", tmp_path], "is a folder"),
        (["events", shard[0], "--settings", settings], "did you mean 'min_steps'"),
        (["show", shard[0], "--key", "other"], "has no sample 'other'"),
        (["show", shard[0], "--step", "999"], "not 999"),
        (["mine"], "usage:"),
        (["nonsense"], "invalid choice"),
    ]:
        done = run(*arguments)
        assert (done.returncode, says in done.stderr) == (2, True), (arguments, done.stderr)
        assert "Traceback" not in done.stderr


def test_the_schema_it_prints_is_the_published_one() -> None:
    import video2gui

    published = Path(video2gui.__file__).parent / "trajectory-1.schema.json"
    assert run("schema").stdout == published.read_text("utf-8")


LESSON = {"id": "aaaaaaaaaaa", "title": "LibreOffice Calc tutorial: how to add totals to a table", "duration": 300}
SONG = {"id": "bbbbbbbbbbb", "title": "Summer Nights (Official Music Video)", "duration": 200}
LONG = {"id": "ccccccccccc", "title": "GIMP tutorial for beginners, the whole course", "duration": 90000}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    lines = [json.dumps(row) for row in (LESSON, SONG, LONG)]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join([lines[0], "", "{broken", *lines[1:]]) + "\n", "utf-8")
    return path


def test_filter_prints_the_rows_worth_fetching_and_says_what_dropped_the_others(rows: Path) -> None:
    done = run("filter", rows)
    assert done.returncode == 1  # one row cannot be read
    assert [json.loads(line) for line in done.stdout.splitlines()] == [LESSON]
    assert f"{rows}:3: not JSON" in done.stderr
    assert "rules dropped 1 (too_long 1)" in done.stderr
    assert "text dropped 1 (not_a_tutorial 1)" in done.stderr
    assert "kept 1" in done.stderr


def test_filter_scores_every_row_whichever_way_the_file_is_packed(rows: Path) -> None:
    packed = rows.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(rows.read_bytes()))
    done = run("filter", "--scores", packed)
    scores = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(s["id"], s["keep"], s["tier"], s["reason"]) for s in scores] == [
        ("aaaaaaaaaaa", True, "text", "kept"),
        (None, False, "parse", "unreadable"),
        ("bbbbbbbbbbb", False, "text", "not_a_tutorial"),
        ("ccccccccccc", False, "rules", "too_long"),
    ]
    assert scores[0]["probability"] > scores[2]["probability"]
    assert scores[1]["probability"] is scores[3]["probability"] is None
    assert run("filter", "--scores", rows).stdout == done.stdout


def test_filter_of_a_damaged_file_is_one_sentence(rows: Path) -> None:
    packed = rows.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(rows.read_bytes())[:-20])
    done = run("filter", packed)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and "cannot be read to its end" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("rows.csv", "id,title\na,b\n", "is csv, and rows are read as JSON lines"),
        ("rows.parquet", "PAR1", "is parquet, and rows are read as JSON lines"),
        ("rows.json", '[{"id": "a", "title": "b"}]', "is one JSON list, and rows are read as JSON lines"),
    ],
)
def test_filter_of_another_form_is_one_sentence(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    done = run("filter", tmp_path / name)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_filter_does_not_flood_with_what_it_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("no row\n" * 300)
    done = run("filter", tmp_path / "log.txt")
    assert done.returncode == 1
    assert done.stderr.count("not JSON") == 20
    assert "and 280 more that cannot be read" in done.stderr
    assert "parse dropped 300 (unreadable 300)" in done.stderr
