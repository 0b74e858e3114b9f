"""What is seen, against the truth of recordings, beside decoding alone.

    python -m benchmarks.see [--clips DIR]

DIR holds one folder a clip: ``video.mp4``, ``truth.json``, and where there are any ``track.json`` (the pointer),
``meta.json``, ``narration.vtt``. Tolerance: 0.5 s, and 14 px of a frame 1280 wide.
"""

from __future__ import annotations

import argparse
import bisect
import json
import math
import sys
import time
from pathlib import Path

from benchmarks.clips import CLIPS
from benchmarks.score import KINDS, Event, Row, edits, median, score
from video2gui.captions import read_captions
from video2gui.ocr import open_ocr
from video2gui.screen import Observation, events_json, observe
from video2gui.video import open_video


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.see", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--clips", type=Path, default=CLIPS, help="a folder of clips with truth (default: the examples)"
    )
    clips = sorted(path.parent for path in parser.parse_args().clips.glob("*/truth.json"))
    if not clips:
        raise SystemExit("no folder with a truth.json there")
    rows: dict[str, Row] = {}
    wrong = letters = near = known = 0
    video_s = seeing_s = decoding_s = 0.0
    ocr = open_ocr()
    for clip in clips:
        video, spoken = clip / "video.mp4", clip / "narration.vtt"
        truth: list[Event] = json.loads((clip / "truth.json").read_text("utf-8"))
        begin = time.process_time()
        found = observe(video, ocr=ocr, transcript=read_captions(spoken) if spoken.exists() else None)
        seeing_s += (took := time.process_time() - begin)
        decoding_s += decode_s(video)
        video_s += found.end_ns / 1e9
        seen = events_json(found)
        score(truth, seen, rows, width=found.size_wh[0])
        written, read = (typed(events) for events in (truth, seen))
        wrong, letters = wrong + edits(written, read), letters + len(written)
        hits, frames = pointer(found, clip / "track.json")
        near, known = near + hits, known + frames
        print(f"{clip.name}: {len(seen)} seen of {len(truth)}, {found.end_ns / 1e9 / took:.1f} video s per CPU s",
              file=sys.stderr)  # fmt: skip
    print_table(rows)
    figures = {
        "clips": len(clips),
        "types": {kind: row.figures() for kind, row in rows.items()},
        "median_px": median(rows["any_click"].px),
        "median_dt_s": median(rows["all"].dt_s),
        "cer": round(wrong / letters, 4) if letters else None,
        "pointer_within_14px": round(near / known, 4) if known else None,
        "video_s_per_cpu_s": round(video_s / seeing_s, 2),
        "decode_ratio": round(seeing_s / decoding_s, 2),
    }
    print(json.dumps(figures))
    return 0


def decode_s(path: Path) -> float:
    """CPU seconds of decoding every frame of a file, and nothing else: the floor."""
    begin = time.process_time()
    with open_video(path) as video:
        for _ in video.pictures():
            pass
    return time.process_time() - begin


def typed(events: list[Event]) -> str:
    return "".join(event.get("text") or "" for event in events if event["type"] == "type")


def pointer(found: Observation, track: Path) -> tuple[int, int]:
    """Frames in which the pointer was put within 14 px of the truth, and frames with a known pointer."""
    if not track.exists():
        return 0, 0
    table = json.loads(track.read_text("utf-8"))["rows"]
    times = [row[0] for row in table]
    width, height = found.size_wh
    hits = known = 0
    for sample in found.pointer:
        at = bisect.bisect_right(times, sample.time_ns / 1e9) - 1
        if at < 0:
            continue
        known += 1
        if sample.point is not None:
            x, y = sample.point.to_px((width, height))
            hits += math.hypot(x - table[at][1], y - table[at][2]) <= 14 * width / 1280
    return hits, known


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
