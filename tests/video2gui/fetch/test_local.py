"""Local files: only below the named folder, only what may be video."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.video2gui.web import VIDEO
from video2gui.errors import FetchError, FetchKind
from video2gui.fetch.local import check_is_video, is_local, resolve_local


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "a b#1?.mp4").write_bytes(VIDEO)
    (root / "link.mp4").symlink_to("sub/a b#1?.mp4")
    (root / "out.mp4").symlink_to(tmp_path / "secret.mp4")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    (tmp_path / "secret.mp4").write_bytes(VIDEO)
    (tmp_path / "root-2").mkdir()
    (tmp_path / "root-2" / "x.mp4").write_bytes(VIDEO)
    return root


@pytest.mark.parametrize(
    "address",
    [
        "sub/a b#1?.mp4",
        "./sub/../sub/a b#1?.mp4",
        "link.mp4",
        "{root}/sub/a b#1?.mp4",
        "file://{root}/sub/a%20b%231%3F.mp4",
        "file://localhost{root}/sub/a%20b%231%3F.mp4",
        "file:sub/a%20b%231%3F.mp4",
    ],
)
def test_files_below_the_root(root: Path, address: str) -> None:
    found = resolve_local(address.format(root=root), root)
    assert found == root.resolve() / "sub" / "a b#1?.mp4"


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("../secret.mp4", "outside_root"),
        ("../root-2/x.mp4", "outside_root"),
        ("out.mp4", "outside_root"),
        ("sub/../../secret.mp4", "outside_root"),
        ("/etc/hostname", "outside_root"),
        ("/no/such/file", "outside_root"),
        ("file:///etc/hostname", "outside_root"),
        ("file:..%2Fsecret.mp4", "outside_root"),
        ("file://other.example/share/a.mp4", "outside_root"),
        ("none.mp4", "gone"),
        ("link.mp4/below", "gone"),
        ("loop", "gone"),
        ("a\0b", "gone"),
        ("x" * 5000, "gone"),
        ("sub", "not_a_video"),
        ("", "not_a_video"),
        ("pipe", "not_a_video"),
    ],
)
def test_everything_else(root: Path, address: str, kind: FetchKind) -> None:
    with pytest.raises(FetchError) as caught:
        resolve_local(address, root)
    assert (caught.value.kind, caught.value.address, caught.value.retryable) == (kind, address, False)


def test_no_root_no_local_files(root: Path) -> None:
    with pytest.raises(FetchError, match="no folder for local files") as caught:
        resolve_local("link.mp4", None)
    assert caught.value.kind == "outside_root"


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("a.mp4", True), ("/a.mp4", True), ("file:///a.mp4", True), ("FILE:///a.mp4", True), ("./c:a.mp4", True),
        ("http://x/a.mp4", False), ("https://x/a.mp4", False), ("gs://x/a.mp4", False), ("http://[bad", False),
    ],
)  # fmt: skip
def test_what_counts_as_local(address: str, local: bool) -> None:
    assert is_local(address) is local


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "not_a_video"),
        (b"<!doctype html><html>", "not_a_video"),
        (b"\xef\xbb\xbf\r\n  <?xml version='1.0'?>", "not_a_video"),
        (b'{"error": "no such video"}', "not_a_video"),
        ("Sorry, not found. ☹\n".encode(), "not_a_video"),
        (b"#EXTM3U\n#EXT-X-VERSION:3\n", "not_a_video"),
        (VIDEO, "too_large"),
    ],
)
def test_what_is_no_video_is_said_so(tmp_path: Path, content: bytes, kind: FetchKind) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(content)
    with pytest.raises(FetchError) as caught:
        check_is_video(path, "a.mp4", 1000)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    "head",
    [
        b"\x00\x00\x00\x20ftyp",
        b"\x1aE\xdf\xa3",
        b"GIF89a\x02\x00\x02\x00",
        b"RIFF\x10\x00\x00\x00AVI ",
        b"FLV\x01",
        b"OggS\x00",
    ],
)
def test_heads_of_video_pass(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(head)
    check_is_video(path, "a", 1000)


def test_a_declared_size_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    with path.open("wb") as file:
        file.truncate(10_000_000_000)
    with pytest.raises(FetchError, match="10000 MB") as caught:
        check_is_video(path, "a.mp4", 500_000_000)
    assert caught.value.kind == "too_large"
