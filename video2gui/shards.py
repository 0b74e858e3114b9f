"""WebDataset shards: the same samples give the same bytes, and no half-written shard is ever visible.

A shard is a plain tar. A sample is a run of members ``KEY.json``, ``KEY.000.before.jpg``, ...: one trajectory
and its screenshots. Keys hold no dot, so that every loader splits names in the same place.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from PIL import Image, UnidentifiedImageError

from video2gui import codec
from video2gui.errors import SchemaError, ShardError
from video2gui.schema import SAFE_KEY, SCREENSHOT_FILE, Drag, Sample, Trajectory

MANIFEST = "manifest.json"

#: Limits for archives that others made. Far above what the job writes.
MAX_MEMBER_BYTES = 64 << 20
MAX_SAMPLE_BYTES = 512 << 20
MAX_SAMPLES = 1_000_000
MAX_MANIFEST_BYTES = 256 << 20

#: A box larger than this share of the frame names no control.
MAX_BOX_AREA = 0.98

_BLOCK = tarfile.BLOCKSIZE
_END = bytes(2 * _BLOCK)
_MEMBER = re.compile(rf"({SAFE_KEY.pattern})\.(json|{SCREENSHOT_FILE.pattern})")
_IMAGE_FORMATS = {"jpg": "JPEG", "png": "PNG", "webp": "WEBP"}

Opener = Callable[[str], AbstractContextManager[BinaryIO]]
"""Opens a new file under a name; it becomes visible, whole, when the context ends without an error."""


@dataclass(frozen=True, slots=True)
class ShardInfo:
    """One shard as the manifest lists it."""

    name: str
    samples: int
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """All shards of a run, and what is in them. Written last: where it stands, every shard stands."""

    samples: int
    videos: int
    steps: int
    most_steps: int  # of one sample
    size_bytes: int
    settings_digest: str
    shards: tuple[ShardInfo, ...]
    sample_schema: Literal["trajectory/1"] = field(default="trajectory/1")
    schema: Literal["shards/1"] = field(default="shards/1")


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule: in which shard, in which sample (None: in none), which rule, and what was found."""

    shard: str
    key: str | None
    rule: Literal["manifest", "tar", "key", "schema", "files", "image", "checksum", "geometry", "time"]
    message: str

    def __str__(self) -> str:
        place = self.shard if self.key is None else f"{self.shard}#{self.key}"
        return f"{place}: {self.rule}: {self.message}"


# ----------------------------------------------------------------------------------------------- writing


def encode_sample(sample: Sample) -> bytes:
    """A sample as a run of tar members, ``json`` first; a shard is such runs and an end mark.

    Raises:
        ShardError: no ``json``, or a file whose ending no loader would find.
    """
    if "json" not in sample.files:
        raise ShardError(f"sample {sample.key} has no json", address=sample.key)
    out = io.BytesIO()
    with tarfile.TarFile(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for ending in sorted(sample.files, key=lambda name: (name != "json", name)):
            name = f"{sample.key}.{ending}"
            if not _MEMBER.fullmatch(name):
                raise ShardError(f"sample {sample.key}: {ending!r} is not a file of a sample", address=sample.key)
            tar.addfile(_member(name, len(sample.files[ending])), io.BytesIO(sample.files[ending]))
        end = tar.offset
    return out.getvalue()[:end]


def _member(name: str, size: int) -> tarfile.TarInfo:
    # nothing of the machine, the user or the clock: time 0, owner 0
    info = tarfile.TarInfo(name)
    info.size = size
    info.mode = 0o644
    return info


def write_shards(samples: Iterable[Sample], write_dir: Path, name: str, max_bytes: int) -> list[ShardInfo]:
    """Write samples, in the order given, to ``NAME-00000.tar``, ``NAME-00001.tar``, ... in `write_dir`.

    A shard is closed before it would pass `max_bytes`; a larger sample gets a shard of its own. No samples, no
    shard.

    Raises:
        ShardError: a key stands twice, or a sample does not fit the format.
    """
    write_dir.mkdir(parents=True, exist_ok=True)
    encoded = ((sample.key, encode_sample(sample)) for sample in samples)
    return write_encoded(encoded, lambda shard: publish(write_dir / shard), name, max_bytes)


def write_encoded(encoded: Iterable[tuple[str, bytes]], open_new: Opener, name: str, max_bytes: int) -> list[ShardInfo]:
    """`write_shards` for samples that `encode_sample` already made: pairs of key and bytes."""
    out: list[ShardInfo] = []
    seen: set[str] = set()
    rest = iter(encoded)
    head = next(rest, None)
    while head is not None:
        shard = f"{name}-{len(out):05d}.tar"
        with open_new(shard) as file:
            info, head = _write_one(shard, file, head, rest, seen, max_bytes)
        out.append(info)
    return out


def _write_one(
    shard: str,
    file: BinaryIO,
    head: tuple[str, bytes],
    rest: Iterator[tuple[str, bytes]],
    seen: set[str],
    max_bytes: int,
) -> tuple[ShardInfo, tuple[str, bytes] | None]:
    digest, size, count = hashlib.sha256(), 0, 0
    following: tuple[str, bytes] | None = head
    while following is not None:
        key, data = following
        if count and size + len(data) + len(_END) > max_bytes:
            break
        if key in seen:
            raise ShardError(f"sample {key} comes twice", address=f"{shard}#{key}")
        seen.add(key)
        file.write(data)
        digest.update(data)
        size, count = size + len(data), count + 1
        following = next(rest, None)
    file.write(_END)
    digest.update(_END)
    return ShardInfo(shard, count, size + len(_END), digest.hexdigest()), following


@contextmanager
def publish(path: Path) -> Iterator[BinaryIO]:
    """A new local file, written aside and renamed over `path` once it is whole and on the disk."""
    number, aside = tempfile.mkstemp(prefix=".part-", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(number)
        os.chmod(aside, 0o644)
        os.replace(aside, path)
    except BaseException:  # whatever stopped it, half a file is left nowhere
        Path(aside).unlink(missing_ok=True)
        raise


def dataset_card(manifest: Manifest, image_format: str) -> str:
    """A ``README.md`` that lets Hugging Face's ``datasets`` open the folder of the manifest as it is.

    Samples differ in their number of screenshots and in the fields of their actions; ``datasets`` would infer
    its columns from the first five and refuse, or lose, the others. The card names all columns.
    """
    sides = [f"{n:03d}.{side}.{image_format}" for n in range(manifest.most_steps) for side in ("before", "after")]
    columns = [("json", "json"), *((name, "image") for name in sides), ("__key__", "string"), ("__url__", "string")]
    features = "\n".join(f"  - name: {name}\n    dtype: {kind}" for name, kind in columns)
    return _CARD.format(features=features, manifest=manifest)


_CARD = """---
configs:
- config_name: default
  data_files: shards/*.tar
dataset_info:
  features:
{features}
---

# GUI trajectories

{manifest.samples} trajectories of {manifest.videos} videos, {manifest.steps} steps. Each sample is one trajectory
(`json`, schema `{manifest.sample_schema}`) and the screenshots before and after each step.

    datasets.load_dataset("THIS FOLDER", split="train")
    webdataset.WebDataset("THIS FOLDER/shards/trajectories-00000-00000.tar").decode("pil")
"""


# ----------------------------------------------------------------------------------------------- reading


def read_samples(path: Path) -> Iterator[Sample]:
    """The samples of one shard in order, one in memory at a time. Nothing is unpacked to disk.

    Raises:
        ShardError: not a whole tar of samples, or beyond the limits; `address` is the shard, or shard and key.
    """
    try:
        with path.open("rb") as file:
            yield from samples_in(file, path.name)
    except OSError as error:
        raise ShardError(f"{path}: {error.strerror or error}", address=path.name) from error


def samples_in(file: BinaryIO, shard: str) -> Iterator[Sample]:
    """`read_samples` for a shard that is open already (and can seek), from anywhere."""
    return _group(_members(file, shard), shard)


class _Bounded(io.RawIOBase):
    """A file that refuses to hand out more at once than a member may hold (headers can claim any size)."""

    def __init__(self, file: BinaryIO, shard: str) -> None:
        self._file, self._shard = file, shard

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MAX_MEMBER_BYTES + _BLOCK:
            raise ShardError(f"{self._shard}: a header claims {size} bytes", address=self._shard)
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


def _members(file: BinaryIO, shard: str) -> Iterator[tuple[str, str, bytes]]:
    """(key, ending, bytes) of each member, in order, to the end mark."""
    bounded = _Bounded(file, shard)
    try:
        with tarfile.TarFile(fileobj=bounded, mode="r") as tar:
            while (member := tar.next()) is not None:
                tar.members = []  # type: ignore[attr-defined]  # tarfile keeps every header it has seen
                yield _read_member(tar, member, shard)
            end = tar.offset
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise ShardError(f"{shard} is not a readable tar: {error}", address=shard) from error
    _check_end(file, end, shard)


def _read_member(tar: tarfile.TarFile, member: tarfile.TarInfo, shard: str) -> tuple[str, str, bytes]:
    match = _MEMBER.fullmatch(member.name)
    if match is None:
        raise ShardError(f"{shard}: {member.name[:200]!r} is not the name of a sample's file", address=shard)
    place = f"{shard}#{match[1]}"
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
        raise ShardError(f"{place}: {member.name} is not a regular file", address=place)
    if member.size > MAX_MEMBER_BYTES:
        raise ShardError(f"{place}: {member.name} claims {member.size} bytes", address=place)
    content = tar.extractfile(member)
    data = content.read() if content is not None else b""
    if len(data) != member.size:
        raise ShardError(f"{place}: {member.name} is cut off", address=place)
    return match[1], match[2], data


def _check_end(file: BinaryIO, offset: int, shard: str) -> None:
    # tarfile takes a bad header for the end, and a file cut between two members for a whole one
    file.seek(offset)
    length = 0
    while data := file.read(1 << 20):
        length += len(data)
        if data.count(0) != len(data):
            raise ShardError(f"{shard} holds a damaged header at byte {offset}", address=shard)
    if length < len(_END):
        raise ShardError(f"{shard} has no end mark: it was cut off", address=shard)


def _group(members: Iterable[tuple[str, str, bytes]], shard: str) -> Iterator[Sample]:
    seen: set[str] = set()
    key: str | None = None
    files: dict[str, bytes] = {}
    for name, ending, data in members:
        if name != key:
            if key is not None:
                yield Sample(key, files)
            if name in seen or len(seen) >= MAX_SAMPLES:
                raise ShardError(f"{shard}: key {name} comes twice, or too many samples", address=f"{shard}#{name}")
            seen.add(name)
            key, files = name, {}
        if ending in files or sum(map(len, files.values())) + len(data) > MAX_SAMPLE_BYTES:
            raise ShardError(f"{shard}#{name}: {ending} comes twice, or the sample is too large",
                             address=f"{shard}#{name}")  # fmt: skip
        files[ending] = data
    if key is not None:
        yield Sample(key, files)


# -------------------------------------------------------------------------------------------- verifying


def verify(paths: Iterable[Path]) -> Iterator[Problem]:
    """Check shards against their manifest and every sample against the rules; nothing found is nothing yielded.

    A path is a shard, a manifest, or a folder that holds ``manifest.json``; a shard's manifest is looked for
    beside it and one folder up, and a shard without one is checked by itself.

    Raises:
        ShardError: a path does not exist, or a folder holds no manifest.
    """
    keys: dict[str, str] = {}
    for path in paths:
        shards, problems = _listed(path)
        yield from problems
        for shard, info in shards:
            yield from _verify_shard(shard, info, keys)


def read_manifest(path: Path) -> Manifest:
    """Read a ``manifest.json``.

    Raises:
        ShardError: it cannot be read; SchemaError: it says something else than a manifest.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_MANIFEST_BYTES + 1)
    except OSError as error:
        raise ShardError(f"{path}: {error.strerror or error}", address=str(path)) from error
    if len(data) > MAX_MANIFEST_BYTES:
        raise ShardError(f"{path} is larger than {MAX_MANIFEST_BYTES} bytes", address=str(path))
    return codec.loads(Manifest, data)


def _listed(path: Path) -> tuple[list[tuple[Path, ShardInfo | None]], list[Problem]]:
    """The shards that `path` stands for, each with its entry in the manifest."""
    if path.is_dir():
        path = path / MANIFEST
        if not path.is_file():
            raise ShardError(f"{path.parent} holds no {MANIFEST}", address=str(path.parent))
    if path.suffix == ".json":
        try:
            manifest = read_manifest(path)
        except SchemaError as error:
            return [], [Problem(path.name, None, "manifest", str(error))]
        return _all_of(manifest, path)
    if not path.is_file():
        raise ShardError(f"there is no shard {path}", address=str(path))
    beside = [where for where in (path.parent / MANIFEST, path.parent.parent / MANIFEST) if where.is_file()]
    if not beside:
        return [(path, None)], []
    try:
        entries = {info.name: info for info in read_manifest(beside[0]).shards}
    except SchemaError as error:
        return [(path, None)], [Problem(path.name, None, "manifest", f"{beside[0]}: {error}")]
    unlisted = [] if path.name in entries else [Problem(path.name, None, "manifest", "it is not in the manifest")]
    return [(path, entries.get(path.name))], unlisted


def _all_of(manifest: Manifest, path: Path) -> tuple[list[tuple[Path, ShardInfo | None]], list[Problem]]:
    shards: list[tuple[Path, ShardInfo | None]] = []
    problems: list[Problem] = []
    for info in manifest.shards:
        if not re.fullmatch(r"[A-Za-z0-9_-]+\.tar", info.name):  # a name is never a path
            problems.append(Problem(info.name[:200], None, "manifest", "this is not the name of a shard"))
            continue
        found = [where for where in (path.parent / "shards" / info.name, path.parent / info.name) if where.is_file()]
        if found:
            shards.append((found[0], info))
        else:
            problems.append(Problem(info.name, None, "manifest", "the shard is missing"))
    for name in ("samples", "size_bytes"):
        total = sum(getattr(info, name) for info in manifest.shards)
        if total != getattr(manifest, name):
            problems.append(
                Problem(path.name, None, "manifest", f"{name} is {getattr(manifest, name)}, shards: {total}")
            )
    return shards, problems


def _verify_shard(path: Path, info: ShardInfo | None, keys: dict[str, str]) -> Iterator[Problem]:
    if info is not None:
        yield from _verify_bytes(path, info)
    count = 0
    try:
        for sample in read_samples(path):
            count += 1
            if sample.key in keys:
                yield Problem(path.name, sample.key, "key", f"the key is also in {keys[sample.key]}")
            keys[sample.key] = path.name
            for rule, message in check_sample(sample):
                yield Problem(path.name, sample.key, rule, message)
    except ShardError as error:
        key = error.address.partition("#")[2] or None
        yield Problem(path.name, key, "key" if key else "tar", str(error))
        return
    if info is not None and count != info.samples:
        yield Problem(path.name, None, "manifest", f"it holds {count} samples, the manifest says {info.samples}")


def _verify_bytes(path: Path, info: ShardInfo) -> Iterator[Problem]:
    size = path.stat().st_size
    if size != info.size_bytes:
        yield Problem(path.name, None, "manifest", f"it is {size} bytes long, the manifest says {info.size_bytes}")
        return
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != info.sha256:
        yield Problem(path.name, None, "manifest", f"its sha256 is {digest}, the manifest says {info.sha256}")


Rule = Literal["schema", "files", "image", "checksum", "geometry", "time"]


def check_sample(sample: Sample) -> Iterator[tuple[Rule, str]]:
    """The rules one sample breaks: (rule, what was found), each naming its step."""
    if "json" not in sample.files:
        yield "files", "there is no json"
        return
    try:
        trajectory = codec.loads(Trajectory, sample.files["json"])
    except SchemaError as error:
        yield "schema", str(error)
        return
    if trajectory.trajectory_id != sample.key:
        yield "schema", f"trajectory_id is {trajectory.trajectory_id}"
    if not trajectory.steps:
        yield "schema", "there are no steps"
    yield from _check_times(trajectory)
    yield from _check_places(trajectory)
    yield from _check_screenshots(trajectory, sample)


def _check_times(trajectory: Trajectory) -> Iterator[tuple[Rule, str]]:
    earlier = trajectory.start_ns
    for number, step in enumerate(trajectory.steps):
        if step.start_ns < earlier:
            yield "time", f"steps[{number}] starts before the one before it, or before its trajectory"
        if step.end_ns > trajectory.end_ns:
            yield "time", f"steps[{number}] ends after its trajectory"
        if step.before and step.after and step.before.frame_ns > step.after.frame_ns:
            yield "time", f"steps[{number}].before was taken later than its after"
        earlier = max(earlier, step.start_ns)


def _check_places(trajectory: Trajectory) -> Iterator[tuple[Rule, str]]:
    size_wh = trajectory.source.width_px, trajectory.source.height_px
    for number, step in enumerate(trajectory.steps):
        if step.grounding is None:
            continue
        if isinstance(step.action, Drag) and step.grounding.end_point is None:
            yield "geometry", f"steps[{number}] is a drag without an end point"
        if step.grounding.box is not None:
            x1, y1, x2, y2 = step.grounding.box.to_px(size_wh)
            if min(x2 - x1, y2 - y1) < 1:
                yield "geometry", f"steps[{number}].grounding.box is thinner than a pixel"
            if step.grounding.box.area > MAX_BOX_AREA:
                yield "geometry", f"steps[{number}].grounding.box covers the whole frame"


def _check_screenshots(trajectory: Trajectory, sample: Sample) -> Iterator[tuple[Rule, str]]:
    expected = {"json"}
    for number, step in enumerate(trajectory.steps):
        for side, shot in (("before", step.before), ("after", step.after)):
            place = f"steps[{number}].{side}"
            if shot is None:
                continue
            if shot.file is None:
                yield "files", f"{place} has no file"
            elif not shot.file.startswith(f"{number:03d}.{side}."):
                yield "files", f"{place} names {shot.file}"
            elif shot.file not in sample.files:
                yield "files", f"{place}: {shot.file} is missing"
            else:
                expected.add(shot.file)
                data = sample.files[shot.file]
                if hashlib.sha256(data).hexdigest() != shot.sha256:
                    yield "checksum", f"{place}: the bytes of {shot.file} are not those of its sha256"
                yield from _check_image(place, shot.file, data, trajectory)
    for extra in sorted(sample.files.keys() - expected):
        yield "files", f"{extra} belongs to no step"


def _check_image(place: str, name: str, data: bytes, trajectory: Trajectory) -> Iterator[tuple[Rule, str]]:
    wanted = trajectory.source.width_px, trajectory.source.height_px
    kind = _IMAGE_FORMATS[name.rpartition(".")[2]]
    try:
        with Image.open(io.BytesIO(data), formats=[kind]) as image:
            if image.size != wanted:  # before decoding: a header may claim any size
                yield "image", f"{place}: {name} is {image.size[0]}x{image.size[1]}, the video {wanted[0]}x{wanted[1]}"
                return
            image.load()
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        yield "image", f"{place}: {name} is not a whole {kind} picture ({error})"
