"""The command `video2gui`. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from video2gui import codec, schema
from video2gui.config import Settings, read_settings
from video2gui.errors import InputError, Video2GuiError

if TYPE_CHECKING:
    from video2gui.filtering import JudgedRow

T = TypeVar("T")

_TELL_S = 2.0
_ERRORS_TOLD = 20

_EXAMPLES = """examples:
  video2gui mine clip.mp4                             trajectories, one JSON object a line
  video2gui mine clip.mp4 --captions clip.vtt --out d the same, and a shard with the screenshots in d/
  video2gui events clip.mp4 > events.json             what was done: seconds and pixels
  video2gui filter rows.jsonl > kept.jsonl            the rows worth fetching; --scores: every row's verdict
  video2gui show d/clip.tar                           a shard as text
  video2gui show d/clip.tar --step 3 --images pics    its fourth step, with the place drawn on the screenshot
  video2gui check out/manifest.json                   shards against their manifest, schema, pictures, geometry
  video2gui schema > trajectory-1.schema.json         the JSON Schema of what `mine` prints

exit status: 0 all good; 1 it ran, and something failed or is damaged; 2 the request itself is wrong.
Many videos: python -m pipelines.mine_videos --help
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives the exit status."""
    asked = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = asked.run
    try:
        return run(asked)
    except Video2GuiError as error:
        if asked.debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 1
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader has seen enough; what Python flushes at exit has nowhere to go
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "video2gui",
        description="See what was done on a screen recording, and turn it into grounded trajectories.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    mine = commands.add_parser("mine", help="one recording to trajectories", allow_abbrev=False)
    _video_arguments(mine)
    mine.add_argument("--title", help="what the recording is called; the instruction may come from it")
    mine.add_argument("--out", type=Path, metavar="DIR", help="also write a shard with the screenshots here")
    mine.add_argument("--anyway", action="store_true", help="go on although the picture says: no screen being operated")
    mine.set_defaults(run=_mine)

    events = commands.add_parser("events", help="what was done, as one JSON list", allow_abbrev=False)
    _video_arguments(events)
    events.set_defaults(run=_events)

    filtering = commands.add_parser(
        "filter", help="which rows of a metadata file are worth fetching", allow_abbrev=False
    )
    filtering.add_argument("rows", type=Path, metavar="FILE", help="JSON lines, plain or .gz, .bz2, .xz")
    filtering.add_argument(
        "--scores", action="store_true", help="every row's verdict as one JSON line, not the kept rows"
    )
    filtering.add_argument("--settings", type=Path, metavar="FILE", help="settings as TOML")
    filtering.set_defaults(run=_filter)

    show = commands.add_parser("show", help="a shard as readable text", allow_abbrev=False)
    show.add_argument("shard", type=Path, metavar="SHARD")
    show.add_argument("--key", help="only this sample")
    show.add_argument("--step", type=int, metavar="N", help="only this step, counted from 0")
    show.add_argument("--images", type=Path, metavar="DIR", help="write the screenshots here, the place drawn on them")
    show.set_defaults(run=_show)

    check = commands.add_parser("check", help="verify shards, a manifest or the folder of a run", allow_abbrev=False)
    check.add_argument("paths", type=Path, nargs="+", metavar="SHARD|MANIFEST|DIR")
    check.set_defaults(run=_check)

    print_schema = commands.add_parser("schema", help="print the JSON Schema of a trajectory", allow_abbrev=False)
    print_schema.set_defaults(run=_schema)
    return parser


def _video_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("video", type=Path, metavar="VIDEO")
    parser.add_argument("--captions", type=Path, metavar="FILE", help="WebVTT or SubRip; what is said is a witness")
    parser.add_argument("--settings", type=Path, metavar="FILE", help="settings as TOML")


def _mine(asked: argparse.Namespace) -> int:
    from video2gui import mine, shards
    from video2gui.stages.parse_row import safe_id

    settings = read_settings(asked.settings)
    path = _file(asked.video)
    meta = schema.VideoMeta(safe_id(path.stem), path.stem, path.name, row="", title=asked.title or None)
    mined = _guarded(mine.mine_video, settings, path, settings, _caption_file(asked), meta, asked.anyway)
    if not mined.content.keep:
        note = "kept anyway" if asked.anyway else "nothing mined; --anyway goes on"
        print(f"{path.name}: {mined.content.reason} ({mined.content.detail}): {note}", file=sys.stderr)
    for key, verdict in mined.left_out:
        print(f"{key}: left out: {verdict.reason} ({verdict.detail})", file=sys.stderr)
    for sample in mined.samples:
        print(sample.files["json"].decode())
    if asked.out is not None:
        shards.write_shards(mined.samples, asked.out, meta.video_id, settings.pack.max_shard_bytes)
    print(f"{path.name}: {len(mined.samples)} trajectories", file=sys.stderr)
    return 0


def _events(asked: argparse.Namespace) -> int:
    from video2gui import mine

    settings = read_settings(asked.settings)
    found = _guarded(mine.see_events, settings, _file(asked.video), settings, _caption_file(asked))
    print("[" + ",\n ".join(json.dumps(event, ensure_ascii=False) for event in found) + "]")
    return 0


def _filter(asked: argparse.Namespace) -> int:
    from video2gui import filtering

    settings = read_settings(asked.settings).filter
    path = _file(asked.rows)
    tiers: dict[str, dict[str, int]] = {"parse": {}, "rules": {}, "text": {}}
    rows = kept = 0
    told = time.monotonic()
    for row in filtering.judge_file(path, settings):
        keep = row.verdict is not None and row.verdict.keep
        reason = "unreadable" if row.verdict is None else row.verdict.reason
        rows, kept = rows + 1, kept + keep
        if asked.scores:
            print(json.dumps(_score(row, keep, reason), ensure_ascii=False))
        elif keep:
            print(row.line.decode("utf-8", "replace"))
        if row.error is not None and sum(tiers["parse"].values()) < _ERRORS_TOLD:
            print(row.error, file=sys.stderr)
        if not keep:
            tiers[row.tier][reason] = tiers[row.tier].get(reason, 0) + 1
        if sys.stderr.isatty() and time.monotonic() - told > _TELL_S:
            told = time.monotonic()
            print(f"{rows} rows, {kept} kept", end="\r", file=sys.stderr)
    if (untold := sum(tiers["parse"].values()) - _ERRORS_TOLD) > 0:
        print(f"and {untold} more that cannot be read", file=sys.stderr)
    print(f"rows: {rows}", file=sys.stderr)
    for tier, reasons in tiers.items():
        detail = ", ".join(
            f"{reason} {count}" for reason, count in sorted(reasons.items(), key=lambda r: (-r[1], r[0]))
        )
        print(f"  {tier} dropped {sum(reasons.values())}" + (f" ({detail})" if detail else ""), file=sys.stderr)
    print(f"  kept {kept}", file=sys.stderr)
    return 1 if tiers["parse"] else 0


def _score(row: JudgedRow, keep: bool, reason: str) -> dict[str, object]:
    return {
        "id": None if row.meta is None else row.meta.source_id or row.meta.video_id,
        "keep": keep,
        "probability": None if row.verdict is None else row.verdict.score,
        "tier": row.tier,
        "reason": reason,
    }


def _show(asked: argparse.Namespace) -> int:
    from video2gui import show

    shown = 0
    for sample, trajectory in _samples(_file(asked.shard)):
        if asked.key is not None and sample.key != asked.key:
            continue
        if asked.step is not None and not 0 <= asked.step < len(trajectory.steps):
            raise InputError(f"{sample.key} has steps 0 to {len(trajectory.steps) - 1}, not {asked.step}")
        print("\n".join(show.lines(trajectory, asked.step)))
        if asked.images is not None:
            for path in show.draw_screenshots(sample, trajectory, asked.images, asked.step):
                print(path, file=sys.stderr)
        shown += 1
    if asked.key is not None and not shown:
        raise InputError(f"{asked.shard} has no sample {asked.key!r}", address=str(asked.shard))
    return 0


def _samples(path: Path) -> Iterator[tuple[schema.Sample, schema.Trajectory]]:
    from video2gui import shards

    for sample in shards.read_samples(path):
        yield sample, codec.loads(schema.Trajectory, sample.files["json"])


def _check(asked: argparse.Namespace) -> int:
    from video2gui import shards

    problems = 0
    for problem in shards.verify([path if path.is_dir() else _file(path) for path in asked.paths]):
        problems += 1
        print(problem)
    print(f"problems: {problems}" if problems else "all good", file=sys.stderr)
    return 1 if problems else 0


def _schema(_: argparse.Namespace) -> int:
    built = codec.json_schema(schema.Trajectory, name=schema.SCHEMA_VERSION, title="A grounded GUI trajectory")
    print(json.dumps(built, indent=1))
    return 0


def _guarded(function: Callable[..., T], settings: Settings, path: Path, *args: object) -> T:
    """Call a function that decodes `path` in a process that a bad file cannot hold."""
    from video2gui.guard import Guard

    with Guard() as guard:
        return guard.call(function, path, *args, deadline_ns=settings.annotate.deadline_ns, address=str(path))


def _file(path: Path) -> Path:
    if not path.is_file():
        raise InputError(
            f"{path} is {'a folder' if path.is_dir() else 'not there'}: a file is needed", address=str(path)
        )
    return path


def _caption_file(asked: argparse.Namespace) -> Path | None:
    return None if asked.captions is None else _file(asked.captions)


if __name__ == "__main__":
    sys.exit(main())
