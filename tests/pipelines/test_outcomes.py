from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipelines import outcomes
from pipelines.files import Folder
from pipelines.outcomes import Failed, Outcomes, code_digest, fingerprint
from video2gui.errors import BackendError, FetchError, VideoError

MARK = fingerprint("annotate", "input", 7)


@pytest.fixture
def store(tmp_path: Path) -> Outcomes:
    return Outcomes(Folder(str(tmp_path)))


def file_of(store: Outcomes) -> Path:
    (path,) = (path for path in (Path(store.folder.root) / "outcomes").rglob("*") if path.is_file())
    return path


def test_what_is_kept_is_found_under_its_fingerprint_only(store: Outcomes) -> None:
    kept = store.keep("annotate", MARK, [{"a": "ä"}])
    assert store.load("annotate", MARK) == kept
    assert kept.value == [{"a": "ä"}]
    assert store.load("ground", MARK) is None
    assert store.load("annotate", fingerprint("annotate", "input", 8)) is None


@pytest.mark.parametrize("cut", [0, 1, 20, -1, -5])
def test_half_a_file_is_as_good_as_none(store: Outcomes, cut: int) -> None:
    store.keep("annotate", MARK, ["value"])
    path = file_of(store)
    path.write_bytes(path.read_bytes()[:cut])
    assert store.load("annotate", MARK) is None


def test_a_flipped_byte_is_noticed_everywhere(store: Outcomes) -> None:
    store.keep("annotate", MARK, ["value"])
    path = file_of(store)
    data = path.read_bytes()
    for i in range(len(data)):
        path.write_bytes(data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :])
        assert store.load("annotate", MARK) is None


def test_samples_are_named_by_their_bytes_and_checked(store: Outcomes) -> None:
    digest = store.keep_sample(b"bytes")
    assert store.has_sample(digest)
    assert store.sample(digest) == b"bytes"
    file_of(store).write_bytes(b"other")
    assert not store.has_sample(digest)
    with pytest.raises(RuntimeError, match="was changed"):
        store.sample(digest)
    assert store.keep_sample(b"bytes") == digest  # and so it is written anew
    assert store.has_sample(digest)


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (VideoError("damaged", address="x"), True),
        (FetchError("gone", kind="gone"), True),
        (FetchError("slow down", kind="rate_limited"), False),
        (FetchError("reset", kind="network"), False),
        (FetchError("not below the root", kind="outside_root"), False),
        (BackendError("out of memory"), False),
    ],
)
def test_only_failures_that_would_come_again_are_kept(store: Outcomes, error: Exception, kept: bool) -> None:
    assert isinstance(error, (VideoError, FetchError, BackendError))
    failed = outcomes.failed_of(error)
    store.keep_failure("fetch_video", MARK, failed)
    found = store.load("fetch_video", MARK)
    assert (found is not None and found.failed == failed) is kept
    again = Outcomes(store.folder, frozenset({failed.error}))
    assert again.load("fetch_video", MARK) is None


def test_a_kept_failure_says_the_same_later(store: Outcomes) -> None:
    failed = Failed("gone", "it is no longer there", "https://example.org/v", False)
    store.keep_failure("fetch_video", MARK, failed)
    found = store.load("fetch_video", MARK)
    assert found is not None
    assert found.failed == failed


def test_the_digest_of_code_follows_imports_at_any_depth() -> None:
    reached = {path.name for path in outcomes._files("video2gui.stages.annotate")}
    assert {"annotate.py", "observed.py", "schema.py", "geometry.py", "codec.py", "pointer.onnx"} <= reached
    assert not {"shards.py", "mine.py", "cli.py", "testing.py", "pack.py"} & reached
    assert code_digest("video2gui.stages.check") != code_digest("video2gui.stages.check", ["numpy"])
    assert code_digest("video2gui.stages.check") == code_digest("video2gui.stages.check")


def test_the_digest_of_code_changes_with_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ignore = shutil.ignore_patterns("__pycache__", "training")
    shutil.copytree(Path(outcomes.__file__).parents[1] / "video2gui", tmp_path / "video2gui", ignore=ignore)
    monkeypatch.setattr(outcomes, "_ROOT", tmp_path)
    before = [code_digest(f"video2gui.stages.{stage}") for stage in ("check", "pack")]
    changes = {"shards.py": [False, False], "stages/check.py": [True, False], "geometry.py": [True, True]}
    for name, changed in changes.items():
        with (tmp_path / "video2gui" / name).open("a") as file:
            file.write("\n# changed\n")
        after = [code_digest(f"video2gui.stages.{stage}") for stage in ("check", "pack")]
        assert [old != new for old, new in zip(before, after, strict=True)] == changed, name
        before = after
