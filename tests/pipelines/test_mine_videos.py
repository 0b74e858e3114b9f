"""The whole job with real Beam, real recordings and real child processes."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines import mine_videos
from video2gui import codec, shards
from video2gui.schema import Trajectory
from video2gui.testing import draw_screencast

RESULTS = ("shards", "manifest.json", "failures.jsonl", "dropped.jsonl", "README.md", "report.json", "report.html")
TITLE = "How to add a name in the form - software tutorial"


def row(video_id: str, url: str, **more: object) -> dict[str, object]:
    return {"id": video_id, "title": TITLE, "duration": 10.0, "webpage_url": url, "language": "en", **more}


def write_rows(path: Path, rows: Iterable[dict[str, object] | bytes]) -> Path:
    lines = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in rows)
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def content(out: Path) -> dict[str, bytes]:
    """All that a run publishes, by name."""
    found = [out / name for name in RESULTS if (out / name).is_file()] + sorted((out / "shards").glob("*"))
    return {str(path.relative_to(out)): path.read_bytes() for path in found}


#: How well is seen is tested elsewhere: here every video that can be read gives a trajectory.
LENIENT = """
[filter]
min_score = 0
[content]
min_score = 0
[annotate]
min_steps = 1
min_confidence = 0
min_placed = 0
max_gaps = 1
"""


def command(inputs: Path, out: Path, *more: str, settings: str = "") -> list[str]:
    file = out.parent / f"{out.name}.toml"
    file.write_text(LENIENT + settings)
    return [
        *("--rows", str(inputs / "rows.jsonl"), "--out", str(out), "--local-root", str(inputs / "media")),
        *("--settings", str(file), *more),
    ]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of every ending, and the recordings that some of them name."""
    folder = tmp_path_factory.mktemp("inputs")
    media = folder / "media"
    media.mkdir()
    for seed in (1, 2, 3):
        draw_screencast(media / f"rec{seed}.mp4", seed)
    whole = (media / "rec1.mp4").read_bytes()
    (media / "cut.mp4").write_bytes(whole[: len(whole) // 2])
    write_rows(
        folder / "rows.jsonl",
        [
            row("rec2", "rec2.mp4"),
            row("rec1", "rec1.mp4"),
            b"this is not JSON",
            row("rec1", "rec3.mp4"),
            row("live", "rec1.mp4", live_status="is_live"),
            row("cut", "cut.mp4"),
            row("rec3", "rec3.mp4"),
            row("gone", "nothing.mp4"),
        ],
    )
    return folder


@pytest.fixture(scope="module")
def undisturbed(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    assert mine_videos.main(command(inputs, out, "--workers", "2")) == 1
    return out


# ----------------------------------------------------------------------------------------------- the funnel


def test_every_row_ends_once_and_says_why(undisturbed: Path) -> None:
    report = json.loads((undisturbed / "report.json").read_text())
    assert report["rows"] == 8 == report["packed"] + report["dropped"] + report["failed"]
    failures = {(f["video_id"], f["stage"], f["error"]) for f in lines(undisturbed / "failures.jsonl")}
    assert (None, "parse_row", "row") in failures
    assert ("gone", "fetch_video", "gone") in failures
    assert {f[0] for f in failures} == {None, "gone", "cut"}
    dropped = {(d["video_id"], d["stage"], d["reason"], d["detail"]) for d in lines(undisturbed / "dropped.jsonl")}
    first = next(d for d in dropped if d[2] == "duplicate")
    assert first[:2] == ("rec1", "drop_duplicates")
    assert first[3].endswith("rows.jsonl:2")
    assert ("live", "filter_metadata", "live") in {d[:3] for d in dropped}
    assert report["packed"] == 3


def test_the_folder_holds_what_it_should_and_the_shards_pass_every_check(undisturbed: Path) -> None:
    assert {path.name for path in undisturbed.iterdir()} == {*RESULTS, "media", "outcomes"}
    assert list(shards.verify([undisturbed])) == []
    manifest = shards.read_manifest(undisturbed / "manifest.json")
    samples = [s for info in manifest.shards for s in shards.read_samples(undisturbed / "shards" / info.name)]
    found = [codec.loads(Trajectory, sample.files["json"]) for sample in samples]
    assert {t.source.video_id for t in found} == {"rec1", "rec2", "rec3"}
    assert [s.key for s in samples] == sorted(s.key for s in samples)
    assert manifest.steps == sum(len(t.steps) for t in found)
    actions = Counter(step.action.kind for t in found for step in t.steps)
    assert json.loads((undisturbed / "report.json").read_text())["actions"] == actions


def test_one_worker_gives_the_same_bytes_as_two(inputs: Path, undisturbed: Path, tmp_path: Path) -> None:
    assert mine_videos.main(command(inputs, tmp_path / "out", "--workers", "1")) == 1
    assert content(tmp_path / "out") == content(undisturbed)


def test_a_second_run_computes_nothing_and_a_change_only_what_follows(
    inputs: Path, undisturbed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(undisturbed, out)  # the folder of a run can be moved
    kept = {path: path.stat().st_mtime_ns for path in (out / "outcomes").rglob("*.*")}
    assert mine_videos.main(command(inputs, out)) == 1
    assert {path: path.stat().st_mtime_ns for path in (out / "outcomes").rglob("*.*")} == kept
    assert content(out) == content(undisturbed)
    settings = "[pack]\nimage_quality = 60\ngroups = 3\n"
    (out / "shards" / "trajectories-00099-00000.tar").write_bytes(b"of an earlier run")
    assert mine_videos.main(command(inputs, out, settings=settings)) == 1
    new = {path.relative_to(out).parts[1] for path in (out / "outcomes").rglob("*.*") if path not in kept}
    assert new == {"pack"}
    assert list(shards.verify([out])) == []
    names = {path.name for path in (out / "shards").iterdir()}
    assert names == {info.name for info in shards.read_manifest(out / "manifest.json").shards}


def test_failures_are_a_valid_input(inputs: Path, undisturbed: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    shutil.copy(undisturbed / "failures.jsonl", tmp_path / "rows.jsonl")
    mended = tmp_path / "media"
    mended.mkdir()
    for name in ("nothing.mp4", "cut.mp4"):
        shutil.copy(inputs / "media" / "rec1.mp4", mended / name)
    assert mine_videos.main(command(tmp_path, again)) == 1
    (failure,) = lines(again / "failures.jsonl")
    assert failure["row"] == "this is not JSON"
    assert json.loads((again / "report.json").read_text())["packed"] == 2


def test_a_run_is_not_replaced_by_its_own_failures(
    undisturbed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(undisturbed)
    arguments = ["--rows", str(undisturbed / "failures.jsonl"), "--out", str(undisturbed)]
    assert mine_videos.main(arguments) == 2
    assert "would replace all that is there" in capsys.readouterr().err
    assert content(undisturbed) == before


def test_other_runners_and_a_packed_input_give_the_same_shards(inputs: Path, undisturbed: Path, tmp_path: Path) -> None:
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress((inputs / "rows.jsonl").read_bytes()))
    out = tmp_path / "out"
    shutil.copytree(undisturbed / "outcomes", out / "outcomes")  # the stages are not what is tested here
    arguments = command(inputs, out, "--rows", str(packed), "--runner", "BundleBasedDirectRunner")
    assert mine_videos.main(arguments) == 1
    assert {k: v for k, v in content(out).items() if "shards" in k or k == "manifest.json"} == {
        k: v for k, v in content(undisturbed).items() if "shards" in k or k == "manifest.json"
    }


# ---------------------------------------------------------------------------------------------- interruption


def start(arguments: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "pipelines.mine_videos", *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )


def wait_for_outcomes(process: subprocess.Popen[bytes], out: Path, count: int) -> None:
    """Return as soon as so many outcomes are kept, or the job has ended."""
    while process.poll() is None and kept(out) < count:
        time.sleep(0.02)


def kept(out: Path) -> int:
    return sum(1 for _ in (out / "outcomes").rglob("*.json"))


def descendants(pid: int) -> set[int]:
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, todo = set[int](), [pid]
    while todo:
        new = children.get(todo.pop(), [])
        found.update(new)
        todo += new
    return found


def alive(pids: set[int]) -> set[int]:
    def state(pid: int) -> str:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return "X"

    return {pid for pid in pids if state(pid) not in "XZ"}


def wait_until_gone(pids: set[int]) -> set[int]:
    end = time.monotonic() + 20
    while alive(pids) and time.monotonic() < end:
        time.sleep(0.05)
    return alive(pids)


def test_killed_at_any_moment_and_run_again_it_is_as_if_undisturbed(
    inputs: Path, undisturbed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for count, number in ((1, signal.SIGKILL), (4, signal.SIGINT), (7, signal.SIGKILL), (11, signal.SIGKILL)):
        if number == signal.SIGINT:  # a word comes only from a run at work; Beam takes a second to load
            count = max(count, kept(out) + 1)
        process = start(command(inputs, out, "--workers", "2"))
        wait_for_outcomes(process, out, count)
        family = descendants(process.pid)
        process.send_signal(number)
        _, errors = process.communicate()
        assert process.returncode == (-number if number == signal.SIGKILL else 130), errors.decode()
        assert wait_until_gone(family) == set()
        assert not (out / "manifest.json").exists()
        assert not (out / "shards").exists()
        if number == signal.SIGINT:
            assert b"stopped; the same command goes on from here" in errors
            assert not (out / "tmp").exists()
    for path in list((out / "outcomes").rglob("*.json"))[::2]:  # a power cut may leave half a file, too
        path.write_bytes(path.read_bytes()[:-7])
    assert mine_videos.main(command(inputs, out, "--workers", "2")) == 1
    assert content(out) == content(undisturbed)


def test_two_runs_cannot_work_in_one_folder(inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    first = start(command(inputs, out))
    try:
        wait_for_outcomes(first, out, 1)
        assert mine_videos.main(command(inputs, out)) == 2
        assert "another run is at work" in capsys.readouterr().err
    finally:
        first.kill()
        first.communicate()


# --------------------------------------------------------------------------------------------------- hostile


def zip_bomb_captions(path: Path) -> str:
    path.write_bytes(gzip.compress(b"WEBVTT\n\n" + b"\0" * (200 << 20)))
    return path.name


@pytest.fixture(scope="module")
def hostile(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    """A run over a folder of hostile inputs: its output, and what each row is, by its number."""
    folder = tmp_path_factory.mktemp("hostile")
    media = folder / "media"
    media.mkdir()
    whole = (inputs / "media" / "rec1.mp4").read_bytes()
    (media / "good.mp4").write_bytes(whole)
    (media / "empty.mp4").write_bytes(b"")
    (media / "truncated.mp4").write_bytes(whole[: len(whole) * 2 // 3])
    (media / "noise.mp4").write_bytes(os.urandom(50_000))
    (media / "page.mp4").write_bytes(b"<!doctype html><title>Sign in</title>" * 100)
    (media / "huge_box.mp4").write_bytes(
        whole[:4] + b"ftyp" + whole[8:32] + b"\0\0\0\x01mdat" + (10 << 30).to_bytes(8, "big")
    )
    with (media / "sparse.mp4").open("wb") as file:
        file.write(whole)
        file.truncate(10 << 30)
    os.symlink("/etc/passwd", media / "link.mp4")
    captions = {"en": [{"url": zip_bomb_captions(media / "bomb.vtt"), "ext": "vtt"}]}
    rows: dict[str, dict[str, object] | bytes] = {
        "empty": row("empty", "empty.mp4"),
        "truncated": row("truncated", "truncated.mp4"),
        "not a video": row("noise", "noise.mp4"),
        "a page": row("page", "page.mp4"),
        "10 GB declared": row("hugebox", "huge_box.mp4"),
        "10 GB sparse": row("sparse", "sparse.mp4"),
        "a folder": row("folder", "."),
        "outside": row("outside", "../rows.jsonl"),
        "absolute": row("absolute", "/etc/passwd"),
        "a link": row("link", "link.mp4"),
        "file url": row("fileurl", "file:///etc/passwd"),
        "zip bomb captions": row("bomb", "good.mp4", subtitles=captions),
        "path-like id": row("../../x", "good.mp4"),
        "dots and unicode": row("a.b.ключ.mp4", "good.mp4"),
        "half a surrogate": row("surrogate", "good.mp4", title=TITLE + " \ud800"),
        "wrong types": row("types", "good.mp4", title=["no"], duration={"s": 1}),
        "a number": b"7",
        "an endless number": b'{"id": 1e999999, "title": NaN}',
        "nested": b"[" * 100_000,
        "not UTF-8": b'{"id": "\xff\xfe", "title": "x"}',
        "a zero byte": row("zero\0", "good.mp4"),
        "50 MB": b'{"id": "big", "title": "' + b"x" * (50 << 20) + b'"}',
        "good": row("good", "good.mp4"),
    }
    write_rows(folder / "rows.jsonl", rows.values())
    out = folder / "out"
    process = start(command(folder, out, "--workers", "2"))
    _, errors = process.communicate()
    assert process.returncode == 1, errors.decode()
    yield out, {str(number): name for number, name in enumerate(rows, 1)}
    (folder / "rows.jsonl").unlink()


def test_each_hostile_row_ends_once_and_the_rest_is_complete(hostile: tuple[Path, dict[str, str]]) -> None:
    out, names = hostile
    ends: dict[str, list[str]] = {name: [] for name in names.values()}
    for ended in [*lines(out / "failures.jsonl"), *lines(out / "dropped.jsonl")]:
        if ended.get("trajectory_id") is None:
            number = ended["row_address"].rpartition(":")[2]
            ends[names[number]].append(ended.get("error") or ended["reason"])
    packed = {name for name, reasons in ends.items() if not reasons}
    assert {name: reasons for name, reasons in ends.items() if len(reasons) > 1} == {}
    assert packed >= {"good", "path-like id", "dots and unicode"}
    assert packed.isdisjoint({"empty", "truncated", "not a video", "a page", "outside", "absolute", "a link", "50 MB"})
    assert json.loads((out / "report.json").read_text())["packed"] == len(packed)
    assert list(shards.verify([out])) == []


def test_hostile_rows_are_told_of_in_one_clear_sentence(hostile: tuple[Path, dict[str, str]]) -> None:
    out, _ = hostile
    for failure in lines(out / "failures.jsonl"):
        assert 10 < len(failure["message"]) < 400, failure
        assert "\n" not in failure["message"], failure
        assert "Traceback" not in failure["message"]


def test_no_hostile_name_left_the_folder(hostile: tuple[Path, dict[str, str]]) -> None:
    out, _ = hostile
    assert {path.name for path in out.parent.iterdir()} == {"rows.jsonl", "media", "out", "out.toml"}
    for path in out.rglob("*"):
        assert re.fullmatch(r"[A-Za-z0-9_.-]+", path.name), path


# --------------------------------------------------------------------------------------------- exit statuses


def test_nothing_failed_is_status_0(inputs: Path, undisturbed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(undisturbed / "outcomes", out / "outcomes")
    write_rows(tmp_path / "rows.jsonl", [row("rec1", "rec1.mp4")])
    assert mine_videos.main(command(inputs, out, "--rows", str(tmp_path / "rows.jsonl"))) == 0
    assert (out / "failures.jsonl").read_bytes() == b""


def test_no_rows_are_no_samples(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b"\n\n")
    assert mine_videos.main(["--rows", str(tmp_path / "rows.jsonl"), "--out", str(tmp_path / "out")]) == 0
    assert shards.read_manifest(tmp_path / "out" / "manifest.json").samples == 0
    assert list(shards.verify([tmp_path / "out"])) == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--rows", "nothing.jsonl"], "no file is called nothing.jsonl"),
        (["--max-failures", "7"], "a share from 0 to 1"),
        (["--workers", "0"], "--workers is 0"),
        (["--local-root", "nowhere"], "nowhere is not a folder"),
        (["--settings", "nowhere.toml"], "nowhere.toml"),
        (["--out", "/proc/nothing"], "/proc/nothing cannot be used"),
        (["--runner", "NoSuchRunner"], "NoSuchRunner"),
    ],
)
def test_a_wrong_request_is_status_2_and_one_sentence(
    inputs: Path, tmp_path: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mine_videos.main([*command(inputs, tmp_path / "out"), *more]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_an_unknown_option_is_refused(inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        mine_videos.main([*command(inputs, tmp_path / "out"), "--wrokers", "2"])
    assert stop.value.code == 2
    assert "--wrokers" in capsys.readouterr().err


def test_too_many_failures_stop_the_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "media").mkdir()
    write_rows(tmp_path / "rows.jsonl", [row(f"v{n}", f"{n}.mp4") for n in range(40)])
    assert mine_videos.main(command(tmp_path, tmp_path / "out", "--max-failures", "0.5", "--workers", "1")) == 1
    assert "stopped: 20 of the first 20 videos failed" in capsys.readouterr().err
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert mine_videos.main(command(tmp_path, tmp_path / "out", "--workers", "1")) == 1
    assert len(lines(tmp_path / "out" / "failures.jsonl")) == 40
