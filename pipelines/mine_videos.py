"""The mining job: metadata rows in, shards of grounded trajectories out.

    python -m pipelines.mine_videos --rows rows.jsonl --out out --local-root recordings

``OUT/shards/*.tar``, ``OUT/manifest.json``, ``OUT/failures.jsonl``, ``OUT/dropped.jsonl``, ``OUT/report.json``,
``OUT/report.html`` and ``OUT/README.md`` (a dataset card) are the result. ``OUT/media`` and ``OUT/outcomes`` keep
what was fetched and found, so that the next run does only what is new.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import PipelineState

from pipelines import options, rows
from pipelines.failures import FAILURES
from pipelines.files import ASIDE, Folder, is_local
from pipelines.finish import Finish
from pipelines.outcomes import code_digest
from pipelines.progress import Progress
from pipelines.report import HTML_NAME, JSON_NAME, Report
from pipelines.rows import Range
from pipelines.transforms import (
    ENDED,
    Annotate,
    Check,
    DropDuplicates,
    FetchVideo,
    FilterContent,
    FilterMetadata,
    Ground,
    Item,
    Job,
    Pack,
    ParseRow,
    Record,
    WriteShards,
)
from pipelines.workers import FAILURES as FAILURE_SHARE
from pipelines.workers import TooManyFailuresError
from video2gui import codec
from video2gui.config import Settings
from video2gui.errors import InputError, Video2GuiError

#: Threads for each video that is looked at at the same time: they even out long and short videos.
_TRIES = 100
_THREADS_A_WORKER = 4

_MAX_REPORT_BYTES = 64 << 20


def build(pipeline: beam.Pipeline, job: Job, ranges: Sequence[Range], rows_in: int) -> beam.PCollection:
    """The whole job as a list of steps; gives the one `Report`."""
    ended: list[beam.PCollection] = []

    def step(label: str, dofn: beam.DoFn, items: beam.PCollection) -> beam.PCollection:
        """One labelled step: what goes on, and, aside, what ends in it."""
        done = items | label >> beam.ParDo(dofn).with_outputs(ENDED, main="on")
        ended.append(done[ENDED] | f"Record{label}" >> beam.ParDo(Record(job)))
        return done["on"]

    items = pipeline | "Ranges" >> beam.Create(list(ranges))
    items = step("ParseRow", ParseRow(job), items)
    items = step("FilterMetadata", FilterMetadata(job), items)
    groups = items | "ByVideo" >> beam.WithKeys(_video_id) | "GroupByVideo" >> beam.GroupByKey()
    items = step("DropDuplicates", DropDuplicates(job), groups)
    items = step("FetchVideo", FetchVideo(job), items)
    items = step("FilterContent", FilterContent(job), items)
    items = step("Annotate", Annotate(job), items)
    items = step("Ground", Ground(job), items)
    items = step("Check", Check(job), items)
    samples = step("Pack", Pack(job), items)
    shards = samples | "GroupSamples" >> beam.GroupByKey() | "WriteShards" >> beam.ParDo(WriteShards(job))
    # a group without a single value would be none, and nothing would be written
    seed = pipeline | "EvenWithoutRows" >> beam.Create([None])
    return (
        (*ended, shards, seed)
        | "All" >> beam.Flatten()
        | "Together" >> beam.WithKeys("")
        | "GroupAll" >> beam.GroupByKey()
        | "Finish" >> beam.ParDo(Finish(job, rows_in))
    )


def _video_id(item: Item) -> str:
    return item.meta.video_id


def run(asked: options.Options) -> Report:
    """Run the job and wait for it.

    Raises:
        InputError: the request cannot be carried out; TooManyFailuresError: see --max-failures.
    """
    local = asked.runner == options.LOCAL
    beam_options = (
        _local_options(asked.workers) if local else PipelineOptions([*asked.beam, f"--runner={asked.runner}"])
    )
    FileSystems.set_options(beam_options)
    folder = Folder(asked.out)
    ranges, rows_in = rows.plan(asked.rows)
    if any(_same(part.file, folder.path(FAILURES)) for part in ranges):
        raise InputError(
            f"{folder.path(FAILURES)} belongs to this --out, and its rows would replace all that is there. Run the"
            " first command again to try failures again, or name another --out",
            address=FAILURES,
        )
    with _claimed(folder) as scratch:
        job = Job(
            asked.out, asked.settings, _code(asked.settings), asked.workers, asked.local_root, asked.max_failures,
            asked.retry, str(scratch) if local else None,
        )  # fmt: skip
        pipeline = _pipeline(local, beam_options)
        build(pipeline, job, ranges, rows_in)
        FAILURE_SHARE.start()
        with Progress(scratch, rows_in, sys.stderr) if local else nullcontext(), _stopping(scratch):
            state = pipeline.run().wait_until_finish()
        if state != PipelineState.DONE:
            raise RuntimeError(f"the job ended as {state}")
    data = folder.read(JSON_NAME, _MAX_REPORT_BYTES)
    if data is None:
        raise RuntimeError(f"the job left no {JSON_NAME}")
    return codec.loads(Report, data)


def _same(one: str, other: str) -> bool:
    return one == other or (is_local(one) and is_local(other) and Path(one).resolve() == Path(other).resolve())


def _local_options(workers: int) -> PipelineOptions:
    mode = "in_memory" if workers == 1 else "multi_threading"
    threads = 1 if workers == 1 else workers * _THREADS_A_WORKER
    return PipelineOptions([], direct_num_workers=threads, direct_running_mode=mode)


def _pipeline(local: bool, beam_options: PipelineOptions) -> beam.Pipeline:
    if local:  # never Beam's own default, which wants to download a runner
        return beam.Pipeline(runner=FnApiRunner(), options=beam_options)
    try:
        return beam.Pipeline(options=beam_options)
    except (ValueError, ImportError, AttributeError) as error:
        raise InputError(f"Beam cannot use this runner: {error}", address="--runner") from error


def _code(settings: Settings) -> dict[str, str]:
    """What each stage computes with: a digest of its code and of its backends' versions."""
    decoder = {"pyav": "av", "decord": "decord"}[settings.annotate.reader]
    reader = {"rapid": "rapidocr", "paddle": "paddleocr"}[settings.annotate.ocr]
    seeing = (decoder, "numpy", "opencv-python-headless", "onnxruntime", reader)
    return {
        "fetch_video": code_digest("video2gui.stages.fetch_video"),
        "filter_content": code_digest("video2gui.stages.filter_content", seeing),
        "annotate": code_digest("video2gui.stages.annotate", seeing),
        "ground": code_digest("video2gui.stages.ground", seeing),
        "check": code_digest("video2gui.stages.check"),
        "pack": code_digest("video2gui.stages.pack", (decoder, "pillow")),
    }


@contextmanager
def _claimed(folder: Folder) -> Iterator[Path]:
    """Have the run's folder alone, without what an earlier run left half done; gives a scratch folder here.

    On other file systems nothing keeps two runs apart: their files are whole all the same, the last one's stand.
    """
    if not folder.is_local:
        with tempfile.TemporaryDirectory(prefix="video2gui-") as scratch:
            yield Path(scratch)
        return
    aside = Path(folder.path(ASIDE))
    try:
        Path(folder.root).mkdir(parents=True, exist_ok=True)
        handle = os.open(folder.root, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise InputError(f"{folder.root} cannot be used: {error.strerror}", address=folder.root) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(aside, ignore_errors=True)
        (aside / "progress").mkdir(parents=True)
        yield aside / "progress"
        shutil.rmtree(aside, ignore_errors=True)
    except BlockingIOError as error:
        raise InputError(f"another run is at work in {folder.root}", address=folder.root) from error
    finally:
        os.close(handle)  # and with it the lock; killed, it goes, too


@contextmanager
def _stopping(scratch: Path) -> Iterator[None]:
    """End at once on Ctrl-C and on a polite kill, whatever Beam's threads are at. Guarded children end by
    themselves, finished outcomes are kept, and nothing unfinished has a name."""

    def stop(number: int, _: FrameType | None) -> None:
        aside = scratch.parent if scratch.name == "progress" else scratch
        for _attempt in range(_TRIES):  # threads are still at work, and may put something there meanwhile
            shutil.rmtree(aside, ignore_errors=True)
            if not aside.exists():
                break
        print("\nstopped; the same command goes on from here", file=sys.stderr, flush=True)
        os._exit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # called from a program that has its own way
        yield
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives the exit status."""
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL)  # what matters comes back as an exception
    try:
        asked = options.parse(sys.argv[1:] if arguments is None else arguments)
        report = run(asked)
    except Video2GuiError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except RuntimeError as error:  # Beam hands on what a thread raised as the text of a RuntimeError
        stopped = re.search(rf"{TooManyFailuresError.__name__}: (.*)", f"{type(error).__name__}: {error}")
        if stopped is None:
            raise
        print(f"{stopped[1]}; the same command goes on from here", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # before the first row; later see _stopping
        print("stopped", file=sys.stderr)
        return 128 + signal.SIGINT
    print(_summary(report, asked.out), file=sys.stderr)
    return 1 if report.failed else 0


def _summary(report: Report, out: str) -> str:
    text = (
        f"rows: {report.rows} ({report.packed} packed, {report.dropped} dropped, {report.failed} failed); "
        f"trajectories: {report.trajectories}; steps: {report.steps}; shards: {report.shards}"
    )
    return f"{text}; what failed and why: {out}/{FAILURES}" if report.failed else f"{text}; see {out}/{HTML_NAME}"


if __name__ == "__main__":
    sys.exit(main())
