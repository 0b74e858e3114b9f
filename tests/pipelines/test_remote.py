"""A run whose folder is not on this machine: a file system that Beam knows by its scheme only, as it knows gs://."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from apache_beam.io.filesystem import BeamIOError, FileMetadata, FileSystem
from apache_beam.io.localfilesystem import LocalFileSystem

from pipelines import files, mine_videos
from pipelines.files import Folder
from tests.pipelines.test_mine_videos import LENIENT, row, write_rows
from video2gui import shards
from video2gui.testing import draw_screencast


class FarAway(FileSystem):  # type: ignore[misc]
    """``far://BUCKET/NAME``: objects with names, no folders, as object stores have them. Kept below `root`."""

    root = Path()

    def __init__(self, pipeline_options: Any) -> None:
        super().__init__(pipeline_options)
        self.disk = LocalFileSystem(pipeline_options)

    @classmethod
    def scheme(cls) -> str:
        return "far"

    def _on_disk(self, path: str) -> str:
        assert path.startswith("far://"), path
        return str(self.root / path.removeprefix("far://"))

    def join(self, basepath: str, *paths: str) -> str:
        return "/".join([basepath.rstrip("/"), *(path.strip("/") for path in paths)])

    def split(self, path: str) -> tuple[str, str]:
        head, _, tail = path.rpartition("/")
        return head, tail

    def mkdirs(self, path: str) -> None:
        raise BeamIOError("there are no folders here")

    def has_dirs(self) -> bool:
        return False

    def _list(self, dir_or_prefix: str) -> Any:
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = Path(folder, name)
                address = f"far://{path.relative_to(self.root)}"
                if address.startswith(dir_or_prefix):
                    yield FileMetadata(address, path.stat().st_size)

    def create(self, path: str, mime_type: str = "", compression_type: str = "auto") -> Any:
        return self.disk.create(self._on_disk(path), mime_type, compression_type)

    def open(self, path: str, mime_type: str = "", compression_type: str = "auto") -> Any:
        return self.disk.open(self._on_disk(path), mime_type, compression_type)

    def copy(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        raise BeamIOError("not used")

    def rename(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        for source, target in zip(source_file_names, destination_file_names, strict=True):
            Path(self._on_disk(target)).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(self._on_disk(source), self._on_disk(target))

    def exists(self, path: str) -> bool:
        return Path(self._on_disk(path)).is_file()

    def size(self, path: str) -> int:
        return Path(self._on_disk(path)).stat().st_size

    def last_updated(self, path: str) -> float:
        return Path(self._on_disk(path)).stat().st_mtime

    def metadata(self, path: str) -> FileMetadata:
        return FileMetadata(path, self.size(path))

    def checksum(self, path: str) -> str:
        return str(self.size(path))

    def delete(self, paths: list[str]) -> None:
        for pattern in paths:
            for metadata in self.match([pattern])[0].metadata_list:
                Path(self._on_disk(metadata.path)).unlink()


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "far" / "bucket").mkdir(parents=True)
    monkeypatch.setattr(FarAway, "root", tmp_path / "far")
    return tmp_path / "far" / "bucket"


def test_a_run_far_away_gives_the_bytes_of_a_run_here(tmp_path: Path, far: Path) -> None:
    media = tmp_path / "media"
    media.mkdir()
    draw_screencast(media / "rec1.mp4", 1)
    rows = [row("rec1", "rec1.mp4"), row("gone", "nothing.mp4"), b"no JSON"]
    write_rows(far / "rows-1.jsonl", rows)
    write_rows(tmp_path / "rows-1.jsonl", rows)
    (tmp_path / "settings.toml").write_text(LENIENT)
    common = ["--local-root", str(media), "--settings", str(tmp_path / "settings.toml"), "--workers", "1"]
    assert mine_videos.main(["--rows", "far://bucket/rows-*.jsonl", "--out", "far://bucket/run", *common]) == 1
    assert mine_videos.main(["--rows", str(tmp_path / "rows-1.jsonl"), "--out", str(tmp_path / "here"), *common]) == 1
    for name in ("shards/trajectories-00000-00000.tar", "manifest.json", "report.json"):
        assert (far / "run" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    assert list(shards.verify([far / "run"])) == []
    before = {path: path.stat().st_mtime_ns for path in (far / "run" / "outcomes").rglob("*.*")}
    (far / "run" / "shards" / "trajectories-00007-00000.tar").write_bytes(b"of an earlier run")
    assert mine_videos.main(["--rows", "far://bucket/rows-1.jsonl", "--out", "far://bucket/run", *common]) == 1
    assert {path: path.stat().st_mtime_ns for path in (far / "run" / "outcomes").rglob("*.*")} == before
    assert [path.name for path in (far / "run" / "shards").iterdir()] == ["trajectories-00000-00000.tar"]
    assert not list((far / "run" / "tmp").glob("*"))


@pytest.mark.parametrize("name", ["plain.bin", "st*r?[x].bin"])
@pytest.mark.parametrize("root", ["far://bucket/folder", "LOCAL"])
def test_a_folder_keeps_its_promises_on_both(tmp_path: Path, far: Path, root: str, name: str) -> None:
    folder = Folder(str(tmp_path / "st*r [folder]") if root == "LOCAL" else root)
    assert folder.read(name, 10) is None
    folder.write(name, b"one", durable=True)
    folder.write(name.replace("*", "a"), b"another")
    folder.write(name, b"two")
    assert folder.read(name, 2) == b"tw"
    assert folder.names("") == sorted({name, name.replace("*", "a")})
    with pytest.raises(RuntimeError, match="on the way"), folder.open_new(name) as file:
        file.write(b"three")
        raise RuntimeError("on the way")
    assert folder.read(name, 10) == b"two"
    assert folder.names(files.ASIDE) == []
    folder.remove(name)
    folder.remove(name)
    assert folder.names("") == ([] if name == "plain.bin" else [name.replace("*", "a")])
