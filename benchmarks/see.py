"""What is seen, against the truth of recordings, beside decoding alone.

    python -m benchmarks.see [--clips DIR] [--negatives DIR]

DIR holds one folder a clip: ``video.mp4``, ``truth.json``, and where there are any ``track.json`` (the pointer),
``narration.vtt``. Tolerance: 0.5 s, and 14 px of a frame 1280 wide. `f1_95` is the interval that holds 95 % of the F1
of 1,000 draws of as many clips with replacement. Negatives are videos in which nothing is operated: every action
seen there is false. One line of JSON comes last.
"""

from __future__ import annotations

import argparse
import bisect
import json
import math
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.clips import CLIPS
from benchmarks.score import KINDS, Event, Row, edits, interval, median, score
from video2gui.captions import read_captions
from video2gui.ocr import open_ocr
from video2gui.ocr.base import Ocr
from video2gui.screen import Observation, events_json, observe
from video2gui.video import open_video


@dataclass(slots=True)
class Tally:
    """What one clip, or all of them, add up to."""

    rows: dict[str, Row] = field(default_factory=dict)
    wrong: int = 0
    letters: int = 0
    near: int = 0
    shown: int = 0
    told: int = 0
    frames: int = 0
    video_s: float = 0.0
    seeing_s: float = 0.0
    decoding_s: float = 0.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.see", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--clips", type=Path, default=CLIPS, help="a folder of clips with truth (default: the examples)"
    )
    parser.add_argument("--negatives", type=Path, help="a folder of videos in which nothing is operated")
    args = parser.parse_args()
    clips = sorted(path.parent for path in args.clips.glob("*/truth.json"))
    if not clips:
        raise SystemExit("no folder with a truth.json there")
    ocr = open_ocr()
    tallies = [measure(clip, ocr) for clip in clips]
    whole = summed(tallies)
    print_table(whole.rows)
    figures = {
        "clips": len(clips),
        "types": {
            kind: {**row.figures(), "f1_95": interval([t.rows[kind] for t in tallies if kind in t.rows])}
            for kind, row in whole.rows.items()
        },
        "median_px": median(whole.rows["any_click"].px),
        "median_dt_s": median(whole.rows["all"].dt_s),
        "cer": share(whole.wrong, whole.letters),
        "pointer_within_14px": share(whole.near, whole.shown),
        "presence": share(whole.told, whole.frames),
        "video_s_per_cpu_s": round(whole.video_s / whole.seeing_s, 2),
        "decode_ratio": round(whole.seeing_s / whole.decoding_s, 2),
        "false_per_minute": false_per_minute(args.negatives, ocr) if args.negatives else None,
    }
    print(json.dumps(figures))
    return 0


def measure(clip: Path, ocr: Ocr) -> Tally:
    """One clip, seen and compared."""
    video, spoken = clip / "video.mp4", clip / "narration.vtt"
    truth: list[Event] = json.loads((clip / "truth.json").read_text("utf-8"))
    begin = time.process_time()
    found = observe(video, ocr=ocr, transcript=read_captions(spoken) if spoken.exists() else None)
    took = time.process_time() - begin
    seen = events_json(found)
    tally = Tally(seeing_s=took, decoding_s=decode_s(video), video_s=found.end_ns / 1e9)
    score(truth, seen, tally.rows, width=found.size_wh[0])
    written, read = (typed(events) for events in (truth, seen))
    tally.wrong, tally.letters = edits(written, read), len(written)
    count_pointer(found, clip / "track.json", tally)
    print(f"{clip.name}: {len(seen)} seen of {len(truth)}, {tally.video_s / took:.1f} video s per CPU s",
          file=sys.stderr)  # fmt: skip
    return tally


def summed(tallies: list[Tally]) -> Tally:
    whole = Tally()
    for one in tallies:
        for name in Tally.__slots__:
            if name != "rows":
                setattr(whole, name, getattr(whole, name) + getattr(one, name))
        for kind, row in one.rows.items():
            whole.rows.setdefault(kind, Row()).add(row)
    return whole


def false_per_minute(folder: Path, ocr: Ocr) -> float:
    """Actions seen per minute of videos in which there are none."""
    actions, minutes = 0, 0.0
    for path in sorted(folder.iterdir()):
        found = observe(path, ocr=ocr)
        actions, minutes = actions + len(found.actions), minutes + found.end_ns / 60e9
        print(f"{path.name}: {len(found.actions)} false", file=sys.stderr)
    return round(actions / minutes, 3)


def share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def decode_s(path: Path) -> float:
    """CPU seconds of decoding every frame of a file, and nothing else: the floor."""
    begin = time.process_time()
    with open_video(path) as video:
        for _ in video.pictures():
            pass
    return time.process_time() - begin


def typed(events: list[Event]) -> str:
    return "".join(event.get("text") or "" for event in events if event["type"] == "type")


def count_pointer(found: Observation, track: Path, tally: Tally) -> None:
    """Count the frames that show the pointer, those in which it was found, those where it was said to show or not."""
    if not track.exists():
        return
    table = json.loads(track.read_text("utf-8"))["rows"]
    times = [row[0] for row in table]
    width, height = found.size_wh
    for sample in found.pointer:
        at = bisect.bisect_right(times, sample.time_ns / 1e9) - 1
        if at < 0:
            continue
        shown = min(table[at][4:6]) > 1  # programs hide the pointer behind a picture of one pixel
        tally.frames += 1
        tally.told += sample.visible == shown
        tally.shown += shown
        if shown and sample.point is not None:
            x, y = sample.point.to_px((width, height))
            tally.near += math.hypot(x - table[at][1], y - table[at][2]) <= 14 * width / 1280


def print_table(rows: dict[str, Row]) -> None:
    print(f"{'kind':13}{'truth':>6}{'seen':>6}{'P':>8}{'R':>8}{'F1':>8}{'px':>7}{'dt s':>8}")
    for kind in (*KINDS, "any_click", "all"):
        row = rows[kind]
        if row.truth or row.seen:
            cells = row.figures()
            shares = "".join(
                f"{'-' if cells[k] is None else f'{cells[k]:.3f}':>8}" for k in ("precision", "recall", "f1")
            )
            ends = "".join(f"{'-' if v is None else v:>{n}}" for v, n in ((median(row.px), 7), (median(row.dt_s), 8)))
            print(f"{kind:13}{row.truth:6d}{row.seen:6d}{shares}{ends}")


if __name__ == "__main__":
    sys.exit(main())
