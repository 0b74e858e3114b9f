"""The folder of fetched videos: a video is there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from video2gui.errors import FetchError
from video2gui.fetch.facts import Facts
from video2gui.fetch.pace import SYSTEM_CLOCK, Clock
from video2gui.fetch.store import Record, Store, StoredFile
from video2gui.schema import CaptionFile

RECORD = Record(
    "http://x/", "wish", StoredFile("video.mp4", 5, "ab"), Facts(title="T"), StoredFile("captions.vtt", 3, "cd"),
    CaptionFile("captions.vtt", "en"),
)  # fmt: skip


def put(store: Store, video_id: str = "a", content: bytes = b"video", record: Record = RECORD) -> None:
    with store.locked(video_id, "u", SYSTEM_CLOCK, 0), store.new_folder(video_id) as made:
        (made / "video.mp4").write_bytes(content)
        (made / "captions.vtt").write_bytes(b"cap")
        (made / "log.txt").write_text("left over")
        (made / "cache").mkdir()
        assert store.find(video_id) is None or store.find(video_id) == RECORD, "nothing is seen before it is published"
        store.publish(video_id, made, record)


def test_what_is_published_is_found_and_nothing_else_is_there(tmp_path: Path) -> None:
    store = Store(tmp_path)
    put(store)
    assert store.find("a") == RECORD
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["captions.vtt", "record.json", "video.mp4"]
    assert list(store.work.iterdir()) == []
    assert store.find("b") is None


def test_the_newer_one_takes_the_place_of_the_older(tmp_path: Path) -> None:
    store = Store(tmp_path)
    put(store)
    put(store, content=b"other")
    assert (tmp_path / "a" / "video.mp4").read_bytes() == b"other"
    assert list(store.work.iterdir()) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: os.truncate(folder / "video.mp4", 3),
        lambda folder: (folder / "video.mp4").unlink(),
        lambda folder: (folder / "captions.vtt").write_bytes(b""),
        lambda folder: (folder / "record.json").unlink(),
        lambda folder: (folder / "record.json").write_text("{"),
        lambda folder: (folder / "record.json").write_text('{"url": 3}'),
        lambda folder: os.truncate(folder / "record.json", 0),
    ],
)
def test_what_is_not_whole_is_not_found(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    store = Store(tmp_path)
    put(store)
    damage(tmp_path / "a")
    assert store.find("a") is None
    put(store)
    assert store.find("a") == RECORD


def test_what_fails_is_removed_and_what_was_killed_too(tmp_path: Path) -> None:
    store = Store(tmp_path)
    killed, other = store.work / "a.xyz", store.work / "a-b.xyz"
    for folder in (killed, other):
        folder.mkdir(parents=True)
        (folder / "video.mp4.part").write_bytes(b"x")
    with pytest.raises(ValueError, match="stop"), store.new_folder("a") as made:
        assert not killed.exists()
        (made / "video.mp4").write_bytes(b"x")
        raise ValueError("stop")
    assert list(store.work.iterdir()) == [other], "another video's folder is not ours"


def test_one_at_a_time(tmp_path: Path) -> None:
    store, slept = Store(tmp_path), list[int]()
    clock = Clock(lambda: sum(slept), slept.append)
    with store.locked("a", "u", clock, 0):
        with store.locked("b", "u", clock, 0):
            pass
        with pytest.raises(FetchError, match="still being fetched"), store.locked("a", "u", clock, 10**9):
            pass
    assert sum(slept) == 10**9
    with store.locked("a", "u", clock, 0):
        pass
    assert list(store.work.iterdir()) == []
