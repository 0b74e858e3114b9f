"""The whole path, from rows to shards, beside decoding alone on the same files.

    python -m benchmarks.mine [--clips DIR] [--workers N]

Prints video seconds per CPU second of the job and of the floor (every frame of the same files decoded, nothing
else), their ratio, and the peak memory of the largest process. Start-up of the job is part of its figure.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.clips import CLIPS, find_videos, video_seconds

DECODE_ALL = """
import sys
from pathlib import Path
from video2gui.video import open_video
for path in sys.argv[1:]:
    with open_video(Path(path)) as video:
        for _ in video.frames():
            pass
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mine", description=__doc__.partition("\n")[0])
    parser.add_argument("--clips", type=Path, default=CLIPS, help="a folder with recordings (default: the examples)")
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    videos = find_videos(args.clips)
    seconds = sum(video_seconds(path) for path in videos)
    floor = run_measured([sys.executable, "-c", DECODE_ALL, *map(str, videos)])
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, "rows.jsonl")
        rows.write_text("".join(json.dumps(row_of(path, i)) + "\n" for i, path in enumerate(videos)), "utf-8")
        command = [sys.executable, "-m", "pipelines.mine_videos", "--rows", str(rows), "--out", f"{folder}/out"]
        job = run_measured([*command, "--local-root", str(args.clips), "--workers", str(args.workers)])
        trajectories = json.loads(Path(folder, "out", "manifest.json").read_text("utf-8"))["samples"]
    figures = {
        "videos": len(videos),
        "video_s": round(seconds, 1),
        "trajectories": trajectories,
        "mine_video_s_per_cpu_s": round(seconds / job.cpu_s, 2),
        "decode_video_s_per_cpu_s": round(seconds / floor.cpu_s, 2),
        "decode_ratio": round(job.cpu_s / floor.cpu_s, 2),
        "wall_s": round(job.wall_s, 1),
        "peak_mb_largest_process": round(job.peak_mb),
        "workers": args.workers,
    }
    print(f"the job takes {figures['decode_ratio']} times the CPU of decoding the same {seconds:.0f} s of video")
    print(json.dumps(figures))
    return 0


def row_of(path: Path, number: int) -> dict[str, object]:
    """A row that the text tier keeps, so that the job does its whole work on every file."""
    title = f"How to use the program, step by step tutorial, part {number}"
    return {"id": f"bench-{number:03d}", "title": title, "webpage_url": path.resolve().as_uri(), "tags": ["tutorial"]}


class Measured:
    """CPU seconds and wall seconds of a command with all its children, and the peak memory of its largest one."""

    def __init__(self) -> None:
        self.cpu_s = 0.0
        self.wall_s = 0.0
        self.peak_mb = 0.0


def run_measured(command: list[str]) -> Measured:
    """Run a command to its end.

    Raises:
        subprocess.CalledProcessError: it failed outright (a job with failed rows ends with 1 and counts as run).
    """
    measured = Measured()
    before, start = os.times(), time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    watch = threading.Thread(target=_watch_memory, args=(process, measured))
    watch.start()
    code = process.wait()
    watch.join()
    after = os.times()
    measured.cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    measured.wall_s = time.monotonic() - start
    if code not in (0, 1):
        raise subprocess.CalledProcessError(code, command)
    return measured


def _watch_memory(process: subprocess.Popen[bytes], measured: Measured) -> None:
    while process.poll() is None:
        for pid in _family(process.pid):
            measured.peak_mb = max(measured.peak_mb, _rss_mb(pid))
        time.sleep(0.2)


def _family(root: int) -> set[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it ended while we looked
                continue
    family = {root}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def _rss_mb(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):  # it ended while we looked
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    sys.exit(main())
