"""The end of the job: every row is accounted for, then what was made becomes visible, the manifest last."""

# mypy: disallow-subclassing-any=False

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

import apache_beam as beam

from pipelines import report
from pipelines.failures import NO_ENDINGS, Part, Tally, write_lists
from pipelines.files import Folder
from pipelines.transforms import Job, Shard
from video2gui import codec, shards
from video2gui.config import digest

SHARDS = "shards"
CARD = "README.md"


class Finish(beam.DoFn):
    """("", all parts and shards, and a None) -> the one `Report`, after everything stands in its place."""

    def __init__(self, job: Job, rows: int) -> None:
        self.job, self.rows = job, rows

    def process(self, group: tuple[str, Iterable[Part | Shard | None]]) -> Iterator[report.Report]:
        values = list(group[1])
        parts = sorted((value for value in values if isinstance(value, Part)), key=lambda part: part.name)
        written = [value for value in values if isinstance(value, Shard)]
        yield finish(self.job, self.rows, parts, sorted(written, key=lambda shard: shard.info.name))


def finish(job: Job, rows: int, parts: list[Part], written: list[Shard]) -> report.Report:
    """Account for all rows, put shards and lists in their places, write the manifest and the reports."""
    tally = reduce(Tally.__add__, (part.tally for part in parts), NO_ENDINGS)
    _reconcile(rows, tally, written)
    folder = job.folder
    manifest = shards.Manifest(
        samples=tally.samples,
        videos=tally.count("packed"),
        steps=tally.steps,
        most_steps=tally.most_steps,
        size_bytes=sum(shard.info.size_bytes for shard in written),
        settings_digest=digest(job.settings),
        shards=tuple(shard.info for shard in written),
    )
    failures = write_lists(folder, [part.name for part in parts], hide=job.out)
    folder.remove(shards.MANIFEST)  # where it stands, it is true: not while shards are exchanged
    for shard in written:
        folder.rename(shard.aside, f"{SHARDS}/{shard.info.name}")
    for name in _stale(folder, manifest):
        folder.remove(f"{SHARDS}/{name}")
    made = report.make(rows, tally, manifest)
    card = shards.dataset_card(manifest, job.settings.pack.image_format)
    folder.write(CARD, card.encode(), durable=True)
    folder.write(report.JSON_NAME, (codec.dumps(made) + "\n").encode(), durable=True)
    examples = report.examples(folder, manifest)
    folder.write(report.HTML_NAME, report.to_html(made, failures, examples).encode(), durable=True)
    folder.write(shards.MANIFEST, (codec.dumps(manifest) + "\n").encode(), durable=True)
    for part in parts:
        folder.remove(part.name)
    return made


def _reconcile(rows: int, tally: Tally, written: list[Shard]) -> None:
    """Every row ends once and every sample is in a shard, or there is a bug and nothing is published."""
    ended = sum(tally.rows.values())
    if ended != rows:
        raise RuntimeError(f"{rows} rows went in, {ended} came out: {dict(tally.rows)}")
    packed = sum(shard.info.samples for shard in written)
    if packed != tally.samples:
        raise RuntimeError(f"{tally.samples} samples were packed, {packed} are in shards")


def _stale(folder: Folder, manifest: shards.Manifest) -> list[str]:
    listed = {info.name for info in manifest.shards}
    return [name for name in folder.names(SHARDS) if name.endswith(".tar") and name not in listed]
