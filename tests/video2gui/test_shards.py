from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from video2gui import codec, shards
from video2gui.errors import ShardError
from video2gui.geometry import Box, Point
from video2gui.schema import (
    Action,
    Click,
    Drag,
    Evidence,
    Grounding,
    Hotkey,
    MadeBy,
    Sample,
    Screenshot,
    Scroll,
    Signal,
    Source,
    Step,
    Trajectory,
    TypeText,
    Words,
)

SIZE_WH = (64, 48)
BASE = Trajectory(
    trajectory_id="k",
    source=Source("v", "https://example.org/v", *SIZE_WH, sha256="0" * 64),
    instruction=Words("Save the file", "title"),
    start_ns=0,
    end_ns=100,
    steps=(),
    made_by=MadeBy("observed/1", "d"),
)
EVIDENCE = Evidence((Signal("pixels", 0.9),), 0.9, action="seen")


def picture(seed: int, size_wh: tuple[int, int] = SIZE_WH) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 255, (size_wh[1], size_wh[0], 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG")
    return out.getvalue()


def shot(at_ns: int, name: str, data: bytes) -> Screenshot:
    return Screenshot(at_ns, name, hashlib.sha256(data).hexdigest())


def make_sample(key: str, actions: Iterable[Action] = (Click(), TypeText("a"))) -> Sample:
    files: dict[str, bytes] = {}
    steps = []
    for i, action in enumerate(actions):
        pair = {}
        for j, side in enumerate(("before", "after")):
            name = f"{i:03d}.{side}.jpg"
            files[name] = picture(2 * i + j)
            pair[side] = shot(10 * i + 5 * j, name, files[name])
        place = Grounding(Point(0.5, 0.5), 10 * i, Box(0.4, 0.4, 0.6, 0.6))
        steps.append(Step(10 * i + 1, 10 * i + 2, action, EVIDENCE, place, **pair))
    trajectory = replace(BASE, trajectory_id=key, steps=tuple(steps))
    return Sample(key, {"json": codec.dumps(trajectory).encode(), **files})


def changed(sample: Sample, **changes: object) -> Sample:
    """The sample with other values in its first step."""
    data = json.loads(sample.files["json"])
    data["steps"][0].update(changes)
    return Sample(sample.key, {**sample.files, "json": json.dumps(data).encode()})


def manifest_of(infos: list[shards.ShardInfo], most_steps: int = 2) -> bytes:
    total = sum(info.samples for info in infos)
    size = sum(info.size_bytes for info in infos)
    return codec.dumps(shards.Manifest(total, total, 2 * total, most_steps, size, "d", tuple(infos))).encode()


def write_run(root: Path, samples: Iterable[Sample], max_bytes: int = 10**9) -> list[Path]:
    infos = shards.write_shards(samples, root / "shards", "t", max_bytes)
    (root / "manifest.json").write_bytes(manifest_of(infos))
    return [root / "shards" / info.name for info in infos]


def rules(root: Path) -> list[tuple[str | None, str]]:
    return [(problem.key, problem.rule) for problem in shards.verify([root])]


# ------------------------------------------------------------------------------------------------ write


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    samples = [make_sample(f"k{i}") for i in range(3)]
    (path,) = write_run(tmp_path, samples)
    assert list(shards.read_samples(path)) == samples
    assert list(shards.verify([tmp_path])) == []
    assert list(shards.verify([path])) == []


def test_the_same_samples_give_the_same_bytes_whenever_and_wherever(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "elsewhere" / "two"
    (first,) = write_run(one, [make_sample("a"), make_sample("b" * 128)])
    (second,) = write_run(two, [make_sample("a"), make_sample("b" * 128)])
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as tar:
        assert {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode) for m in tar} == {(0, 0, 0, "", "", 0o644)}


def test_shards_roll_by_bytes_and_none_is_empty(tmp_path: Path) -> None:
    size = len(shards.encode_sample(make_sample("k0")))
    limit = 2 * size + 1024
    samples = [make_sample(f"k{i}") for i in range(5)]
    infos = shards.write_shards(samples, tmp_path, "t", limit)
    assert [(i.name, i.samples) for i in infos] == [("t-00000.tar", 2), ("t-00001.tar", 2), ("t-00002.tar", 1)]
    assert all((tmp_path / i.name).stat().st_size == i.size_bytes <= limit for i in infos)
    assert shards.write_shards([], tmp_path, "none", limit) == []
    assert [i.samples for i in shards.write_shards(samples, tmp_path, "small", 10)] == [1] * 5


def test_a_shard_that_fails_on_the_way_is_never_visible(tmp_path: Path) -> None:
    def broken() -> Iterable[Sample]:
        yield make_sample("a")
        raise RuntimeError("the reason")

    with pytest.raises(RuntimeError, match="the reason"):
        shards.write_shards(broken(), tmp_path, "t", 10**9)
    assert os.listdir(tmp_path) == []


def test_a_key_that_comes_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ShardError, match="k1 comes twice"):
        shards.write_shards([make_sample("k1"), make_sample("k2"), make_sample("k1")], tmp_path, "t", 10)


@pytest.mark.parametrize("ending", ["jpg", "000.before.jpg.gz", "../x", "000.before.svg", "json2"])
def test_a_file_that_is_no_part_of_a_sample_is_refused(ending: str) -> None:
    with pytest.raises(ShardError, match="is not a file of a sample"):
        shards.encode_sample(Sample("k", {"json": b"{}", ending: b""}))


@given(sizes=st.lists(st.integers(0, 3000), max_size=8), limit=st.integers(1, 9000))
def test_rolling_keeps_order_and_loses_nothing(sizes: list[int], limit: int) -> None:
    class Sink(io.BytesIO):
        def __exit__(self, *_: object) -> None:
            pass

    written: dict[str, Sink] = {}

    def open_new(name: str) -> Sink:
        return written.setdefault(name, Sink())

    encoded = [(f"k{i}", bytes([i]) * size) for i, size in enumerate(sizes)]
    infos = shards.write_encoded(encoded, open_new, "t", limit)
    assert sum(info.samples for info in infos) == len(sizes)
    assert b"".join(written[i.name].getvalue()[:-1024] for i in infos) == b"".join(data for _, data in encoded)
    for info in infos:
        assert info.size_bytes == len(written[info.name].getvalue())
        assert info.samples == 1 or info.size_bytes <= limit


# --------------------------------------------------------------------------------------- other people's eyes


def test_webdataset_reads_every_sample_and_picture(tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset")
    samples = [make_sample(f"k{i}", [Click()] * (1 + i)) for i in range(4)]
    paths = write_run(tmp_path, samples, max_bytes=20_000)
    assert len(paths) > 1
    read = list(webdataset.WebDataset([str(p) for p in paths], shardshuffle=False).decode("pil"))
    assert [r["__key__"] for r in read] == [s.key for s in samples]
    for row, sample in zip(read, samples, strict=True):
        assert {name for name in row if not name.startswith("__")} == set(sample.files)
        assert row["json"] == json.loads(sample.files["json"])
        assert row["000.before.jpg"].size == SIZE_WH


def test_datasets_opens_the_folder_and_loses_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    actions = [Click(), TypeText("a"), Scroll("down", 0.5), Hotkey(("ctrl", "s"))]
    samples = [make_sample(f"k{i}", actions[i % 4 :] + actions[: i % 3]) for i in range(7)]
    write_run(tmp_path, samples, max_bytes=40_000)
    text = manifest_of([], most_steps=max(len(s.files) // 2 for s in samples))
    (tmp_path / "README.md").write_text(shards.dataset_card(codec.loads(shards.Manifest, text), "jpg"))
    for streaming in (False, True):
        read = list(
            datasets.load_dataset(str(tmp_path), split="train", streaming=streaming, cache_dir=str(tmp_path / "cache"))
        )
        assert [row["__key__"] for row in read] == [s.key for s in samples]
        for row, sample in zip(read, samples, strict=True):
            pictures = {name for name, value in row.items() if name.endswith(".jpg") and value is not None}
            assert pictures == sample.files.keys() - {"json"}
            # `datasets` keeps nine decimals: every nanosecond, and a billionth of the frame
            assert rounded(json.dumps(row["json"])) == rounded(sample.files["json"])
            assert row["000.before.jpg"].size == SIZE_WH


def rounded(text: str | bytes) -> object:
    return json.loads(text, parse_float=lambda number: round(float(number), 9))


# -------------------------------------------------------------------------------------------------- verify


def test_one_flipped_byte_is_found(tmp_path: Path) -> None:
    (path,) = write_run(tmp_path, [make_sample("a"), make_sample("b")])
    data = bytearray(path.read_bytes())
    data[data.rindex(b"\xff\xd9") - 30] ^= 1  # in the last picture
    path.write_bytes(data)
    assert (None, "manifest") in rules(tmp_path)
    assert ("b", "checksum") in rules(tmp_path)


@pytest.mark.parametrize("keep", ["half", "at_a_member", "without_end", "one_zero_block", "nothing"])
def test_a_cut_off_shard_is_found_even_without_a_manifest(tmp_path: Path, keep: str) -> None:
    (path,) = write_run(tmp_path, [make_sample("a"), make_sample("b")])
    (tmp_path / "manifest.json").unlink()
    data = path.read_bytes()
    cuts = {
        "half": len(data) // 2,
        "at_a_member": len(shards.encode_sample(make_sample("a"))),
        "without_end": len(data) - 1024,
        "one_zero_block": len(data) - 512,
        "nothing": 0,
    }
    path.write_bytes(data[: cuts[keep]])
    assert [problem.rule for problem in shards.verify([path])] == ["tar"]


def test_a_damaged_header_is_not_taken_for_the_end(tmp_path: Path) -> None:
    (path,) = write_run(tmp_path, [make_sample("a"), make_sample("b")])
    data = bytearray(path.read_bytes())
    data[len(shards.encode_sample(make_sample("a"))) + 150] ^= 1
    path.write_bytes(data)
    with pytest.raises(ShardError, match="damaged header"):
        list(shards.read_samples(path))


def test_missing_unlisted_and_miscounted_shards_are_found(tmp_path: Path) -> None:
    samples = [make_sample(f"k{i}") for i in range(3)]
    one, two, three = write_run(tmp_path, samples, max_bytes=10)
    one.unlink()
    two.rename(two.with_name("stray-00000.tar"))
    found = list(shards.verify([tmp_path, two.with_name("stray-00000.tar")]))
    assert [(p.shard, p.rule) for p in found] == [
        (one.name, "manifest"),
        (two.name, "manifest"),
        ("stray-00000.tar", "manifest"),
    ]
    data = json.loads((tmp_path / "manifest.json").read_text())
    data["shards"] = data["shards"][2:]
    data["shards"][0]["samples"] = 7
    (tmp_path / "manifest.json").write_text(json.dumps(data))
    assert any(p.shard == three.name and "holds 1 samples" in p.message for p in shards.verify([tmp_path]))


def test_a_manifest_cannot_name_a_path(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [make_sample("a")])
    text = (tmp_path / "run" / "manifest.json").read_text().replace("t-00000.tar", "../../secret.tar")
    (tmp_path / "run" / "manifest.json").write_text(text)
    (tmp_path / "secret.tar").write_bytes(b"")
    assert ["not the name of a shard" in p.message for p in shards.verify([tmp_path / "run"])] == [True]


def test_a_key_in_two_shards_is_found(tmp_path: Path) -> None:
    shards.write_shards([make_sample("a")], tmp_path, "one", 10**9)
    shards.write_shards([make_sample("a")], tmp_path, "two", 10**9)
    found = list(shards.verify(sorted(tmp_path.glob("*.tar"))))
    assert [(p.shard, p.key, p.rule) for p in found] == [("two-00000.tar", "a", "key")]


def drop(sample: Sample, ending: str) -> Sample:
    return Sample(sample.key, {name: data for name, data in sample.files.items() if name != ending})


def other_picture(sample: Sample, data: bytes) -> Sample:
    data_json = json.loads(sample.files["json"])
    data_json["steps"][0]["before"]["sha256"] = hashlib.sha256(data).hexdigest()
    return Sample(sample.key, {**sample.files, "json": json.dumps(data_json).encode(), "000.before.jpg": data})


GOOD = make_sample("k")
BOX = {"x1": 0.0, "y1": 0.0, "x2": 1.0, "y2": 1.0}


@pytest.mark.parametrize(
    ("sample", "rule"),
    [
        (Sample("k", {**GOOD.files, "json": b"{}"}), "schema"),
        (Sample("k", {**GOOD.files, "json": b"\xff"}), "schema"),
        (Sample("other", GOOD.files), "schema"),
        (changed(GOOD, surprise=1), "schema"),
        (drop(GOOD, "000.before.jpg"), "files"),
        (Sample("k", {**GOOD.files, "002.after.jpg": picture(1)}), "files"),
        (Sample("k", {**GOOD.files, "000.before.jpg": picture(99)}), "checksum"),
        (other_picture(GOOD, picture(0)[:400]), "image"),
        (other_picture(GOOD, picture(0, (48, 64))), "image"),
        (other_picture(GOOD, b"<html>"), "image"),
        (changed(GOOD, start_s=99e-9, end_s=99e-9), "time"),
        (changed(GOOD, end_s=101e-9), "time"),
        (changed(GOOD, grounding={"point": {"x": 0.5, "y": 0.5}, "frame_s": 0, "box": BOX}), "geometry"),
        (
            changed(
                GOOD,
                grounding={
                    "point": {"x": 0.5, "y": 0.5},
                    "frame_s": 0,
                    "box": {"x1": 0.499, "y1": 0.4, "x2": 0.501, "y2": 0.6},
                },
            ),
            "geometry",
        ),
        (make_sample("k", [Drag()]), "geometry"),
    ],
)
def test_each_rule_is_found_and_named(tmp_path: Path, sample: Sample, rule: str) -> None:
    write_run(tmp_path, [sample])
    assert rules(tmp_path) == [(sample.key, rule)]


def test_a_screenshot_taken_after_its_step_is_found(tmp_path: Path) -> None:
    before = json.loads(GOOD.files["json"])["steps"][0]["before"]
    write_run(tmp_path, [changed(GOOD, before={**before, "frame_s": 50e-9})])
    assert rules(tmp_path) == [("k", "time")]


# -------------------------------------------------------------------------------------------------- hostile


def hostile(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize(
    "name", ["../k.json", "/etc/k.json", "a/k.json", "k.b.json", "k", ".json", "k.json ", "é.json"]
)
def test_names_that_are_paths_or_not_keys_are_refused(tmp_path: Path, name: str) -> None:
    path = hostile(tmp_path / "s.tar", (tarfile.TarInfo(name), b"{}"))
    with pytest.raises(ShardError, match="not the name"):
        list(shards.read_samples(path))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("k.json")
    info.type, info.linkname = kind, "/etc/passwd"
    path = hostile(tmp_path / "s.tar", (info, b""))
    with pytest.raises(ShardError, match="not a regular file"):
        list(shards.read_samples(path))


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.GNUTYPE_SPARSE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_claims_ten_gigabytes_costs_nothing(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("k.json")
    info.type, info.size = kind, 10 << 30
    path = tmp_path / "s.tar"
    path.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 4096)
    with pytest.raises(ShardError):
        list(shards.read_samples(path))


def test_a_compressed_or_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.tar"
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("k.json"))
    with pytest.raises(ShardError, match="not a readable tar"):
        list(shards.read_samples(path))
    with pytest.raises(ShardError, match="no shard"):
        list(shards.verify([tmp_path / "nowhere.tar"]))
