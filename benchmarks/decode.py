"""Frames per CPU second of each reader, and whether they show the right ones.

    python -m benchmarks.decode [--clips DIR] [--threads N]

Each file is read by each reader in a process of its own: all frames as RGB, all frames as brightness, and the frames
at 24 instants. These are compared with a plain decode from start to end: half of them lie where the picture changes
most, exactly on the edge, so that a reader that is one frame off is found out.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import av
import numpy as np

from benchmarks.clips import CLIPS, find_videos
from video2gui.errors import VideoError
from video2gui.guard import Guard
from video2gui.timebase import NS_PER_S, ns_from_ticks
from video2gui.video import ReaderName, open_video
from video2gui.video.frame import Image, Luma, luma_of

READERS: tuple[ReaderName, ...] = ("pyav", "decord")
DEADLINE_NS = 600 * NS_PER_S


@dataclass
class Tally:
    """Sums over the files of one reader."""

    refused: list[str] = field(default_factory=list)
    frames: dict[str, int] = field(default_factory=dict)
    rgb_cpu_s: dict[str, float] = field(default_factory=dict)
    rgb_wall_s: float = 0.0
    luma_cpu_s: float = 0.0
    at_cpu_s: float = 0.0
    asked: int = 0
    wrong: int = 0
    peak_mb: float = 0.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decode", description=__doc__.partition("\n")[0])
    parser.add_argument("--clips", type=Path, default=CLIPS, help="a folder with recordings (default: the examples)")
    parser.add_argument("--threads", type=int, default=1, help="decoding threads (default 1)")
    args = parser.parse_args()
    videos = [path for path in find_videos(args.clips) if _whole(path)]
    tallies = {reader: Tally() for reader in READERS}
    for path in videos:
        with Guard() as guard:
            truth = guard.call(reference, path, deadline_ns=DEADLINE_NS, address=str(path))
        for reader in READERS:
            measure(path, reader, args.threads, truth, tallies[reader])
    both = [name for name in tallies["pyav"].rgb_cpu_s if name in tallies["decord"].rgb_cpu_s]
    figures: dict[str, object] = {"videos": len(videos), "threads": args.threads, "read_by_both": len(both)}
    rates = {}
    for reader, tally in tallies.items():
        cpu_s = sum(tally.rgb_cpu_s[name] for name in both)
        rates[reader] = sum(tally.frames[name] for name in both) / cpu_s if cpu_s else 0.0
        figures[reader] = report(reader, tally, rates[reader])
    figures["ratio_pyav_to_decord"] = round(rates["pyav"] / rates["decord"], 2) if rates["decord"] else None
    print(json.dumps(figures))
    return 0


def report(reader: str, tally: Tally, rate: float) -> dict[str, object]:
    frames = sum(tally.frames.values())
    print(f"{reader}: {tally.wrong} of {tally.asked} asked frames wrong; refused: {', '.join(tally.refused) or 'none'}")
    return {
        "frames": frames,
        "refused": len(tally.refused),
        "wrong_frames": tally.wrong,
        "asked_frames": tally.asked,
        "frames_per_cpu_s_on_common_files": round(rate, 1),
        "frames_per_cpu_s": round(frames / sum(tally.rgb_cpu_s.values()), 1) if frames else None,
        "frames_per_s": round(frames / tally.rgb_wall_s, 1) if frames else None,
        "luma_frames_per_cpu_s": round(frames / tally.luma_cpu_s, 1) if frames else None,
        "ms_cpu_per_asked_frame": round(1000 * tally.at_cpu_s / tally.asked, 1) if tally.asked else None,
        "peak_mb": round(tally.peak_mb),
    }


def measure(path: Path, reader: ReaderName, threads: int, truth: list[tuple[int, int, Luma]], tally: Tally) -> None:
    name = f"{path.parent.name}/{path.name}"
    with Guard() as guard:

        def call(fn: Callable[..., tuple[float, float, object]], *more: object) -> tuple[float, float, object]:
            return guard.call(fn, path, reader, threads, *more, deadline_ns=DEADLINE_NS, address=str(path))

        try:
            cpu_s, wall_s, frames = call(read_rgb)
        except VideoError:
            tally.refused.append(name)
            return
        tally.frames[name], tally.rgb_cpu_s[name] = int(str(frames)), cpu_s
        tally.rgb_wall_s += wall_s
        tally.peak_mb = max(tally.peak_mb, guard.call(peak_mb, deadline_ns=DEADLINE_NS, address=name))
        tally.luma_cpu_s += call(read_luma)[0]
        cpu_s, _, found = call(read_at, [time_ns for time_ns, _, _ in truth])
        tally.at_cpu_s += cpu_s
    assert isinstance(found, list)
    tally.asked += len(truth)
    tally.wrong += sum(is_wrong(got, want) for got, want in zip(found, truth, strict=True))


def is_wrong(found: tuple[int, Luma], truth: tuple[int, int, Luma]) -> bool:
    """Another instant, or a picture of which more than one pixel in 2000 is clearly another."""
    pts_ns, luma = found
    if pts_ns != truth[1] or luma.shape != truth[2].shape:
        return True
    return bool((np.abs(luma.astype(np.int16) - truth[2]) > 40).mean() > 0.0005)


def _whole(path: Path) -> bool:
    """Whether the container lists a file that is all there: nothing is measured on others."""
    try:
        with open_video(path) as video:
            for _ in video.pictures():
                pass
    except VideoError:
        print(f"left out, not whole: {path}")
        return False
    return True


# ------------------------------------------------------------------------------------------------- in the guard


def reference(path: Path) -> list[tuple[int, int, Luma]]:
    """(asked, pts, brightness) at 24 instants, by FFmpeg alone from start to end, independent of our readers."""
    changes: list[tuple[float, int]] = []
    before: Luma | None = None
    for pts_ns, frame in _plain(path):
        small = frame.to_ndarray(format="gray", threads=1)[::4, ::4]
        if before is not None:
            changes.append((float(np.abs(small.astype(np.int16) - before).mean()), pts_ns))
        before = small
    rng = random.Random(path.name)
    last = max((pts_ns for _, pts_ns in changes), default=0)
    asked = sorted([pts_ns for _, pts_ns in sorted(changes)[-12:]] + [rng.randrange(last + 1) for _ in range(12)])
    truth: list[tuple[int, int, Luma]] = []
    held: tuple[int, Any] | None = None
    for pts_ns, frame in chain(_plain(path), [(asked[-1] + 1, None)]):
        if held is not None and len(truth) < len(asked) and asked[len(truth)] < pts_ns:
            luma = luma_of(_on_white(held[1]))
            while len(truth) < len(asked) and asked[len(truth)] < pts_ns:
                truth.append((asked[len(truth)], held[0], luma))
        held = pts_ns, frame
    return truth


def _plain(path: Path) -> Iterator[tuple[int, Any]]:
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        first: int | None = None
        for frame in container.decode(stream):
            first = frame.pts if first is None else first
            yield ns_from_ticks(frame.pts - first, stream.time_base), frame


def _on_white(frame: Any) -> Image:
    rgba = frame.to_ndarray(format="rgba", threads=1).astype(np.uint16)
    lit: Image = ((rgba[:, :, :3] * rgba[:, :, 3:] + 255 * (255 - rgba[:, :, 3:])) // 255).astype(np.uint8)
    return lit


def read_rgb(path: Path, reader: ReaderName, threads: int) -> tuple[float, float, int]:
    start = time.process_time(), time.perf_counter()
    with open_video(path, reader, threads=threads) as video:
        frames = sum(1 for frame in video.frames() if frame.image.size)
    return time.process_time() - start[0], time.perf_counter() - start[1], frames


def read_luma(path: Path, reader: ReaderName, threads: int) -> tuple[float, float, int]:
    start = time.process_time(), time.perf_counter()
    with open_video(path, reader, threads=threads) as video:
        frames = sum(1 for picture in video.pictures() if picture.luma().size)
    return time.process_time() - start[0], time.perf_counter() - start[1], frames


def read_at(
    path: Path, reader: ReaderName, threads: int, times_ns: list[int]
) -> tuple[float, float, list[tuple[int, Luma]]]:
    start = time.process_time(), time.perf_counter()
    with open_video(path, reader, threads=threads) as video:
        found = list(video.frames_at(times_ns))
    cpu_s, wall_s = time.process_time() - start[0], time.perf_counter() - start[1]
    return cpu_s, wall_s, [(frame.pts_ns, luma_of(frame.image)) for frame in found]


def peak_mb() -> float:
    # not getrusage: that one counts the parent's memory at the time of the fork, too
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    # by its importable name: the guarded process cannot look into "__main__"
    from benchmarks import decode

    raise SystemExit(decode.main())
