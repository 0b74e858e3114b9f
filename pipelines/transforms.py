"""The steps of the job as Beam transforms. What a step does is a stage function's business; what surrounds it is
here: kept outcomes, guarded children, verdicts, failures, counters, and the cap on what an element may weigh."""

# mypy: disallow-subclassing-any=False

from __future__ import annotations

import hashlib
import pickle
import uuid
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, TypeVar
from urllib.parse import urlsplit

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.metrics import Metrics
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from pipelines import media, rows
from pipelines.failures import MAX_EXCERPT_CHARS, Ended, Part, SampleRef, dropped, failed, write_part
from pipelines.files import ASIDE, Folder
from pipelines.outcomes import Failed, Outcome, Outcomes, failed_of, fingerprint
from pipelines.progress import note
from pipelines.rows import Range, RowRef
from pipelines.videos import Videos
from pipelines.workers import FAILURES, GUARDS
from video2gui import codec, shards
from video2gui.config import Settings
from video2gui.errors import RowError, Video2GuiError
from video2gui.schema import FetchedVideo, Trajectory, Verdict, VideoMeta
from video2gui.stages.check import check
from video2gui.stages.filter_metadata import filter_metadata
from video2gui.stages.parse_row import parse_row

T = TypeVar("T")

ENDED = "ended"

#: An element carries references. One beyond this is refused where it is made, not somewhere inside a runner.
MAX_ELEMENT_BYTES = 1 << 20

_PART_ENDINGS = 20_000


@dataclass(frozen=True, slots=True)
class Job:
    """What every step needs to know; small, and the same for all of them."""

    out: str
    settings: Settings
    code: dict[str, str]  # stage -> digest of its code and its backends' versions
    workers: int = 1
    local_root: str | None = None
    max_failures: float = 1.0
    retry: frozenset[str] = frozenset()
    progress: str | None = None  # a folder on this machine, where somebody looks

    @property
    def folder(self) -> Folder:
        return Folder(self.out)


@dataclass(frozen=True, slots=True)
class Item:
    """A video on its way: its row, what is known of it, and the outcome of the last stage by reference."""

    row: RowRef
    meta: VideoMeta
    video: FetchedVideo | None = None
    input_digest: str = ""  # of the video, its captions and its metadata
    kept: tuple[str, str] = ("", "")  # stage and fingerprint of the trajectories so far
    kept_digest: str = ""
    wanted: tuple[str, ...] = ()  # ids of the trajectories that passed the check


# ---------------------------------------------------------------------------------------------- text tier


class ParseRow(beam.DoFn):
    """A range of a metadata file -> `Item`s; rows that cannot be read end here."""

    stage = "parse_row"

    def __init__(self, job: Job) -> None:
        self.job = job

    def process(self, part: Range) -> Iterator[Any]:
        count = 0
        for row, data in rows.read(part):
            count += 1
            if count % 1000 == 0:
                note(self.job.progress, "row", 1000)
            yield self._one(row, data)
        note(self.job.progress, "row", count % 1000)

    def _one(self, row: RowRef, data: bytes) -> Any:
        try:
            item = Item(row, _parsed(row, data))
            _check_weight(item)
        except Video2GuiError as error:
            failure = failed_of(error)
            Metrics.counter(self.stage, failure.error).inc()
            excerpt = data[: 4 * MAX_EXCERPT_CHARS].decode(errors="replace").strip()
            return pvalue.TaggedOutput(ENDED, failed(row, self.stage, failure, video_id=None, excerpt=excerpt))
        Metrics.counter(self.stage, "kept").inc()
        return item


def _parsed(row: RowRef, data: bytes) -> VideoMeta:
    if row.length > rows.MAX_ROW_BYTES:
        raise RowError(
            f"{row.address} has {row.length} bytes, more than a row may have ({rows.MAX_ROW_BYTES})",
            address=row.address,
        )
    return parse_row(data, row.address)


def _check_weight(item: Item) -> None:
    size = len(pickle.dumps(item))
    if size > MAX_ELEMENT_BYTES // 2:  # the rest is for what the stages add
        raise RowError(f"{item.row.address}: its metadata takes {size} bytes, more than an element may carry",
                       address=item.row.address)  # fmt: skip


class FilterMetadata(beam.DoFn):
    """Drops what the metadata alone rules out."""

    stage = "filter_metadata"

    def __init__(self, job: Job) -> None:
        self.job = job

    def process(self, item: Item) -> Iterator[Any]:
        verdict = filter_metadata(item.meta, self.job.settings.filter)
        Metrics.counter(self.stage, verdict.reason).inc()
        note(self.job.progress, "wanted", int(verdict.keep))
        yield item if verdict.keep else pvalue.TaggedOutput(ENDED, dropped(item.row, item.meta.video_id, verdict))


class DropDuplicates(beam.DoFn):
    """(video id, all rows that name it) -> the first of them; the others name it as their survivor."""

    stage = "drop_duplicates"

    def __init__(self, job: Job) -> None:
        self.job = job

    def process(self, group: tuple[str, Iterable[Item]]) -> Iterator[Any]:
        video_id, items = group
        first = min(items, key=lambda item: item.row)  # twice over the group: it need not fit in memory
        for item in items:
            if item.row != first.row:
                verdict = Verdict(False, "duplicate", self.stage, detail=f"of {first.row.address}")
                Metrics.counter(self.stage, verdict.reason).inc()
                note(self.job.progress, "wanted", -1)
                yield pvalue.TaggedOutput(ENDED, dropped(item.row, video_id, verdict))
        yield first


# --------------------------------------------------------------------------------------------- media tier


class MediaStage(beam.DoFn):
    """One stage on one video: look for its kept outcome, else compute and keep it, then go on or end.

    An expected failure ends the video, not the job. Any other exception is a bug and stops the job.
    """

    stage: str

    def __init__(self, job: Job) -> None:
        self.job = job
        self.outcomes = Outcomes(job.folder, job.retry)
        self.videos = Videos(job.folder, job.local_root)

    def setup(self) -> None:
        GUARDS.open(self.job.workers)

    def teardown(self) -> None:
        GUARDS.close()

    @abstractmethod
    def key(self, item: Item) -> list[object]:
        """What the outcome depends on beside the stage's code: JSON values."""

    @abstractmethod
    def compute(self, item: Item) -> Any:
        """The stage's outcome as a JSON value."""

    @abstractmethod
    def go_on(self, item: Item, outcome: Outcome) -> Iterator[Any]:
        """What comes out of it: elements for the next step, and `Ended`s."""

    def still_good(self, outcome: Outcome) -> bool:
        """Whether a kept outcome can be used: it is no failure, and what it refers to is still there."""
        return outcome.failed is None

    def process(self, item: Item) -> Iterator[Any]:
        mark = fingerprint(self.stage, self.job.code[self.stage], *self.key(item))
        try:
            outcome = self.outcomes.load(self.stage, mark)
            if outcome is None or (outcome.failed is None and not self.still_good(outcome)):
                Metrics.counter(self.stage, "computed").inc()
                outcome = self.outcomes.keep(self.stage, mark, self.compute(item))
            else:
                Metrics.counter(self.stage, "kept_before").inc()
        except Video2GuiError as error:
            if self.may_keep_failure(item):
                self.outcomes.keep_failure(self.stage, mark, failed_of(error))
            yield self._end(self._failure(item, failed_of(error)))
            return
        if outcome.failed is not None:
            yield self._end(self._failure(item, outcome.failed))
            return
        note(self.job.progress, self.stage)
        for result in self.go_on(item, outcome):
            yield self._end(result) if isinstance(result, Ended) else result

    def may_keep_failure(self, item: Item) -> bool:
        """Whether a failure would come again; `Outcomes` asks the failure itself, too."""
        del item
        return True

    def _failure(self, item: Item, failure: Failed) -> Ended:
        return failed(item.row, self.stage, failure, video_id=item.meta.video_id)

    def _end(self, ended: Ended) -> pvalue.TaggedOutput:
        Metrics.counter(self.stage, ended.reason).inc()
        if ended.trajectory_id is None:
            note(self.job.progress, "done")
            note(self.job.progress, "failed", int(ended.kind == "failed"))
            FAILURES.add(failed=ended.kind == "failed", limit=self.job.max_failures)
        return pvalue.TaggedOutput(ENDED, ended)

    def trajectories(self, item: Item) -> tuple[Trajectory, ...]:
        outcome = self.outcomes.load(*item.kept)
        if outcome is None:
            raise RuntimeError(f"the outcome of {item.kept[0]} went away while the job ran")
        return codec.from_json(tuple[Trajectory, ...], outcome.value)

    def guarded(self, item: Item, function: Callable[..., T], *args: Any) -> T:
        """Call a function of `media` on the video's files, in a child that a bad file cannot hold."""
        assert item.video is not None
        return GUARDS.call(
            function, self.videos.on_this_machine(item.video), *args,
            deadline_ns=self.job.settings.annotate.deadline_ns, address=item.meta.video_id,
        )  # fmt: skip


class FetchVideo(MediaStage):
    """Has the video and its captions on disk, or knows why not."""

    stage = "fetch_video"

    def key(self, item: Item) -> list[object]:
        # how politely it is fetched, and where the row stood, change nothing of what is fetched
        settings = self.job.settings.fetch
        return [replace(item.meta, row=""), settings.max_height_px, settings.max_bytes, settings.caption_languages]

    def compute(self, item: Item) -> Any:
        video, captions = self.videos.fetch(item.meta, self.job.settings.fetch)
        return codec.to_json({"video": video, "captions": captions})

    def still_good(self, outcome: Outcome) -> bool:
        video = codec.from_json(FetchedVideo, outcome.value["video"])
        return self.videos.is_whole(video, outcome.value["captions"])

    def may_keep_failure(self, item: Item) -> bool:
        return urlsplit(item.meta.url).scheme in ("http", "https")  # a local file may be mended at any time

    def go_on(self, item: Item, outcome: Outcome) -> Iterator[Item | Ended]:
        video = codec.from_json(FetchedVideo, outcome.value["video"])
        tracks = [(track.language, track.automatic) for track in video.captions]
        digest = fingerprint("video", video.sha256, outcome.value["captions"], tracks, replace(video.meta, row=""))
        meta = replace(video.meta, row=item.meta.row)  # the site has said more than the row did
        yield replace(item, meta=meta, video=replace(video, meta=meta), input_digest=digest)


class FilterContent(MediaStage):
    """Drops what the pictures rule out."""

    stage = "filter_content"

    def key(self, item: Item) -> list[object]:
        how = self.job.settings.annotate
        return [item.input_digest, self.job.settings.content, how.ocr, how.reader]

    def compute(self, item: Item) -> Any:
        settings = self.job.settings
        return codec.to_json(self.guarded(item, media.judge, settings.content, settings.annotate))

    def go_on(self, item: Item, outcome: Outcome) -> Iterator[Item | Ended]:
        verdict = codec.from_json(Verdict, outcome.value)
        yield item if verdict.keep else dropped(item.row, item.meta.video_id, verdict)


class Annotate(MediaStage):
    """Finds the trajectories of a video."""

    stage = "annotate"

    def key(self, item: Item) -> list[object]:
        # a longer deadline finds nothing else
        return [item.input_digest, replace(self.job.settings.annotate, deadline_ns=0)]

    def compute(self, item: Item) -> Any:
        return codec.to_json(self.guarded(item, media.find_trajectories, self.job.settings.annotate))

    def go_on(self, item: Item, outcome: Outcome) -> Iterator[Item | Ended]:
        if outcome.value:
            yield replace(item, kept=(self.stage, outcome.fingerprint), kept_digest=outcome.digest)
        else:
            verdict = Verdict(False, "no_trajectory", self.stage)
            yield dropped(item.row, item.meta.video_id, verdict)


class Ground(MediaStage):
    """Names and boxes the targets of the steps."""

    stage = "ground"

    def key(self, item: Item) -> list[object]:
        return [item.input_digest, item.kept_digest, replace(self.job.settings.annotate, deadline_ns=0)]

    def compute(self, item: Item) -> Any:
        return codec.to_json(self.guarded(item, media.place, self.trajectories(item), self.job.settings.annotate))

    def go_on(self, item: Item, outcome: Outcome) -> Iterator[Item | Ended]:
        yield replace(item, kept=(self.stage, outcome.fingerprint), kept_digest=outcome.digest)


class Check(MediaStage):
    """Drops trajectories that break a rule. Its outcome holds the verdicts and the trajectories that are left."""

    stage = "check"

    def key(self, item: Item) -> list[object]:
        return [item.kept_digest, replace(self.job.settings.annotate, deadline_ns=0)]

    def compute(self, item: Item) -> Any:
        verdicts = [(t.trajectory_id, check(t, self.job.settings.annotate)) for t in self.trajectories(item)]
        return codec.to_json(verdicts)

    def go_on(self, item: Item, outcome: Outcome) -> Iterator[Item | Ended]:
        verdicts = codec.from_json(tuple[tuple[str, Verdict], ...], outcome.value)
        for key, verdict in verdicts:
            if not verdict.keep:
                yield dropped(item.row, item.meta.video_id, verdict, trajectory_id=key)
        kept = tuple(key for key, verdict in verdicts if verdict.keep)
        if kept:
            yield replace(item, wanted=kept)
        else:
            verdict = Verdict(False, "no_trajectory", self.stage, detail=f"none of {len(verdicts)} passed")
            yield dropped(item.row, item.meta.video_id, verdict)


class Pack(MediaStage):
    """Writes each trajectory's sample, with its screenshots, beside the outcomes; gives (group, reference)."""

    stage = "pack"

    def key(self, item: Item) -> list[object]:
        settings, how = self.job.settings.pack, self.job.settings.annotate
        return [item.input_digest, item.kept_digest, item.wanted, settings.image_format, settings.image_quality,
                how.reader]  # fmt: skip

    def compute(self, item: Item) -> Any:
        wanted = [t for t in self.trajectories(item) if t.trajectory_id in item.wanted]
        return codec.to_json([self._packed(item, trajectory) for trajectory in wanted])

    def _packed(self, item: Item, trajectory: Trajectory) -> SampleRef:
        settings = self.job.settings
        sample = self.guarded(item, media.pack_one, trajectory, settings.pack, settings.annotate)
        data = shards.encode_sample(sample)
        actions = Counter(step.action.kind for step in trajectory.steps)
        steps = len(trajectory.steps)
        return SampleRef(sample.key, self.outcomes.keep_sample(data), len(data), steps, dict(sorted(actions.items())))

    def still_good(self, outcome: Outcome) -> bool:
        return all(self.outcomes.has_sample(sample["sha256"]) for sample in outcome.value)

    def go_on(self, item: Item, outcome: Outcome) -> Iterator[tuple[int, SampleRef] | Ended]:
        samples = codec.from_json(tuple[SampleRef, ...], outcome.value)
        group = group_of(item.meta.video_id, self.job.settings.pack.groups)
        yield from ((group, sample) for sample in samples)
        yield Ended(item.row, "packed", self.stage, "packed", item.meta.video_id, samples=samples)


# ------------------------------------------------------------------------------------------------- endings


class Record(beam.DoFn):
    """Endings -> sorted part files, by reference."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.endings: list[Ended] = []

    def start_bundle(self) -> None:
        self.endings = []

    def process(self, ended: Ended) -> Iterator[Part]:
        self.endings.append(ended)
        if len(self.endings) >= _PART_ENDINGS:
            yield self._write()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self.endings:
            yield WindowedValue(self._write(), GlobalWindow().max_timestamp(), [GlobalWindow()])

    def _write(self) -> Part:
        endings, self.endings = self.endings, []
        return write_part(self.job.folder, endings)


def group_of(video_id: str, groups: int) -> int:
    """The run of shards that a video's samples go to: the same on every machine."""
    return int.from_bytes(hashlib.sha256(video_id.encode()).digest()[:8], "big") % groups


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard written aside, and the name it is to get."""

    aside: str
    info: shards.ShardInfo


class WriteShards(beam.DoFn):
    """(group, references to its samples) -> shards in the order of their keys, written aside."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.outcomes = Outcomes(job.folder)

    def process(self, group: tuple[int, Iterable[SampleRef]]) -> Iterator[Shard]:
        number, refs = group
        ordered = sorted(refs, key=lambda ref: ref.key)
        asides: dict[str, str] = {}

        def open_new(name: str) -> AbstractContextManager[BinaryIO]:
            asides[name] = f"{ASIDE}/shard-{uuid.uuid4().hex}"
            return self.job.folder.open_new(asides[name], durable=True)

        encoded = ((ref.key, self.outcomes.sample(ref.sha256)) for ref in ordered)
        name = f"trajectories-{number:05d}"
        for info in shards.write_encoded(encoded, open_new, name, self.job.settings.pack.max_shard_bytes):
            Metrics.counter("shards", "written").inc()
            yield Shard(asides[info.name], info)
