"""The command line of the job."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines import files
from video2gui import config
from video2gui.errors import InputError

LOCAL = "local"

_ABOUT = """Mine trajectories from the videos that metadata rows name.

  python -m pipelines.mine_videos --rows rows.jsonl --out out
  python -m pipelines.mine_videos --rows 'dumps/*.jsonl.gz' --out out --workers 8 --local-root recordings
  python -m pipelines.mine_videos --rows out/failures.jsonl --out again --retry-failed gone network
  python -m pipelines.mine_videos --rows gs://bucket/rows.jsonl --out gs://bucket/run --runner DataflowRunner \\
      --project NAME --region europe-west1 --temp_location gs://bucket/tmp

Run the same command again to go on where it was stopped; only what changed is done again.
"""
_ENDINGS = """exit status: 0 all good; 1 it ran, and some rows failed (OUT/failures.jsonl, which can be fed in
again); 2 the request itself is wrong. Unknown options go to Beam when --runner names one of its runners."""


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for."""

    rows: tuple[str, ...]
    out: str
    settings: config.Settings
    runner: str
    workers: int
    local_root: str | None
    max_failures: float
    retry: frozenset[str]
    beam: tuple[str, ...]


def parse(arguments: Sequence[str]) -> Options:
    """Read the command line.

    Raises:
        SystemExit: for --help, --print-config and a usage that argparse refuses (status 2).
        InputError: what was asked for cannot be.
    """
    parser = _parser()
    asked, rest = parser.parse_known_args(arguments)
    if asked.print_config:
        print(config.to_toml(config.read_settings(asked.settings)), end="")
        parser.exit()
    if not asked.rows or not asked.out:
        parser.error("--rows and --out are needed")
    if rest and asked.runner == LOCAL:
        parser.error(f"unknown options: {' '.join(rest)}")
    if not 0 <= asked.max_failures <= 1:
        raise InputError(f"--max-failures is {asked.max_failures}, a share from 0 to 1")
    if asked.workers < 1:
        raise InputError(f"--workers is {asked.workers}, one at least")
    if asked.local_root is not None and not asked.local_root.is_dir():
        raise InputError(f"--local-root {asked.local_root} is not a folder")
    return Options(
        rows=tuple(asked.rows),
        out=os.path.abspath(asked.out) if files.is_local(asked.out) else asked.out.rstrip("/"),
        settings=config.read_settings(asked.settings),
        runner=asked.runner,
        workers=asked.workers,
        local_root=None if asked.local_root is None else str(asked.local_root.resolve()),
        max_failures=asked.max_failures,
        retry=frozenset(asked.retry_failed),
        beam=tuple(rest),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m pipelines.mine_videos",
        description=_ABOUT,
        epilog=_ENDINGS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--rows", nargs="+", metavar="FILE", default=[], help="metadata: JSON lines, a JSON array or info-json files; "
        "patterns, .gz, gs:// and s3:// are fine")  # fmt: skip
    add("--out", metavar="DIR", help="the run's folder: a path, gs:// or s3://")
    add("--settings", type=Path, metavar="FILE", help="settings as TOML; --print-config shows all of them")
    add("--print-config", action="store_true", help="print the effective settings as TOML and stop")
    add("--workers", type=int, default=os.cpu_count() or 1, metavar="N",
        help="videos looked at at the same time on this machine (default: %(default)s)")  # fmt: skip
    add("--local-root", type=Path, metavar="DIR", help="rows may name local files below this folder, and only there")
    add("--max-failures", type=float, default=1.0, metavar="SHARE",
        help="stop when more than this share of the videos (20 at least) fails (default: %(default)s)")  # fmt: skip
    add("--retry-failed", nargs="+", default=[], metavar="KIND",
        help="kinds of kept failures to try again, such as gone, private, video; see OUT/report.html")  # fmt: skip
    add("--runner", default=LOCAL, metavar="NAME", help="local, or a Beam runner with its own options: DirectRunner, "
        "FlinkRunner, SparkRunner, DataflowRunner, ... (default: %(default)s)")  # fmt: skip
    return parser
