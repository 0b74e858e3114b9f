"""How well the pointer is found, on clips with a true track.

python -m video2gui.screen.training.evaluate_pointer CLIPS [--model FILE] [--rate 15]
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from video2gui.errors import load_extra
from video2gui.screen.observed import PointerSample
from video2gui.screen.pointer import BoxPx, PointerFinder
from video2gui.screen.tracker import PointerTracker
from video2gui.screen.training.cursor_themes import Cursor, load_themes
from video2gui.screen.training.pointer_data import FRAMES, SceneMaker, find_fonts
from video2gui.video import open_video
from video2gui.video.frame import Image

_TOLERANCE_PX = 14.0  # at 1280 wide
_JITTER_S = 0.04


@dataclass(frozen=True, slots=True)
class TrackScore:
    """Frames counted from the first row of the true track on.

    `within` is the share of frames with a visible pointer whose sample is visible and within 14 px at 1280 wide,
    `near_time` the same against the nearest true place within 40 ms (frame times of a capture jitter by that much),
    `place` as `near_time` but a kept last place counts too, `presence` the share whose visibility is right.
    """

    clip: str
    frames: int
    within: float
    near_time: float
    place: float
    presence: float
    median_px: float
    cpu_s: float
    video_s: float


def changed_boxes(before: Image | None, image: Image) -> tuple[Image, list[BoxPx]]:
    """The frame's 320-cell miniature and boxes of what changed against the one before."""
    cv2 = load_extra("cv2", "see")
    h, w = image.shape[:2]
    cell = max(1.0, max(w, h) / 320)
    small: Image = cv2.resize(image, (round(w / cell), round(h / cell)), interpolation=cv2.INTER_AREA)
    if before is None:
        return small, [(0, 0, w, h)]
    hot = (cv2.absdiff(small, before) >= 6).any(axis=2).astype(np.uint8)
    if not hot.any():
        return small, []
    _, _, stats, _ = cv2.connectedComponentsWithStats(cv2.dilate(hot, np.ones((3, 3), np.uint8)))
    return small, [
        (int(x * cell), int(y * cell), min(w, int((x + bw) * cell)), min(h, int((y + bh) * cell)))
        for x, y, bw, bh, _ in stats[1:]
    ]


def track_video(path: Path, finder: PointerFinder, rate: float) -> tuple[list[PointerSample], float, tuple[int, int]]:
    """Samples at about `rate` a second, the tracker's CPU seconds, the frame's size."""
    tracker = PointerTracker(finder)
    small: Image | None = None
    cpu, next_ns, size = 0.0, 0, (0, 0)
    with open_video(path) as reader:
        for frame in reader.frames():
            if frame.pts_ns < next_ns:
                continue
            next_ns = frame.pts_ns + int(0.9e9 / rate)
            size = frame.size_wh
            small, boxes = changed_boxes(small, frame.image)
            started = time.process_time()
            tracker.update(frame.pts_ns, frame.image, boxes)
            cpu += time.process_time() - started
    return tracker.track()[0], cpu, size


def score_track(samples: list[PointerSample], rows: list[list[float]], size_wh: tuple[int, int]) -> dict[str, float]:
    """Compares with rows (t, x, y, cursor, w, h, ...) of a true track. Other owners may call this."""
    times = np.array([r[0] for r in rows])
    strict, slack, right = [], [], []
    for sample in samples:
        now = sample.time_ns / 1e9
        first, k, last = (int(np.searchsorted(times, now + d, "right")) - 1 for d in (-_JITTER_S, 0.0, _JITTER_S))
        if k < 0:
            continue
        seen = max(rows[k][4], rows[k][5]) > 1
        right.append(sample.visible == seen)
        if not seen:
            continue
        errors = [float("inf")]
        if sample.point is not None:
            x, y = sample.point.to_px(size_wh)
            errors = [float(np.hypot(x - r[1], y - r[2])) * 1280 / size_wh[0] for r in rows[max(first, 0) : last + 1]]
            strict.append((errors[k - max(first, 0)], sample.visible))
        else:
            strict.append((float("inf"), False))
        slack.append((min(errors), sample.visible))
    good = [e for e, visible in strict if visible and e <= _TOLERANCE_PX]
    return {
        "frames": len(right),
        "within": len(good) / max(1, len(strict)),
        "near_time": sum(visible and e <= _TOLERANCE_PX for e, visible in slack) / max(1, len(slack)),
        "place": sum(e <= _TOLERANCE_PX for e, _ in slack) / max(1, len(slack)),
        "presence": sum(right) / max(1, len(right)),
        "median_px": float(np.median(good)) if good else float("nan"),
    }


def evaluate_clip(folder: Path, finder: PointerFinder, rate: float = 15.0) -> TrackScore:
    samples, cpu, size = track_video(folder / "video.mp4", finder, rate)
    rows = json.loads((folder / "track.json").read_text())["rows"]
    s = score_track(samples, rows, size)
    return TrackScore(
        folder.name, int(s["frames"]), s["within"], s["near_time"], s["place"], s["presence"], s["median_px"], cpu,
        samples[-1].time_ns / 1e9 if samples else 0.0,
    )  # fmt: skip


def score_family(finder: PointerFinder, cursors: list[Cursor], scenes: int = 30) -> tuple[int, float, float, float]:
    """Pointers set into drawn screens: how many, share found within 6 px, found elsewhere per pointer, median px."""
    maker = SceneMaker({"family": cursors}, [], find_fonts(), drawn_share=0.0)
    total, hits, false, errors = 0, 0, 0, []
    for number in range(scenes):
        frames, rows, _ = maker.scene(np.random.default_rng((77, number)))
        true = np.array([r[1:3] for r in rows if r[0] == FRAMES - 1]).reshape(-1, 2)
        found = [(c.x_px, c.y_px) for c in finder.find_anywhere(frames[-1], 0.3)]
        distance = np.hypot(*(np.array(found).reshape(-1, 1, 2) - true[None]).transpose(2, 0, 1))
        total += len(true)
        if distance.size:
            best = distance.min(axis=0)
            hits += int((best <= 6).sum())
            errors += list(best[best <= 6])
            false += int((distance.min(axis=1) > 20).sum())
        else:
            false += len(found)
    return total, hits / max(1, total), false / max(1, total), float(np.median(errors)) if errors else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", type=Path)
    parser.add_argument("--themes", nargs="*", type=Path, default=[])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--rate", type=float, default=15.0)
    args = parser.parse_args()
    finder = PointerFinder(args.model) if args.model else PointerFinder()
    for family, cursors in load_themes(args.themes).items():
        count, hits, false, px = score_family(finder, cursors)
        print(f"| {family} | {count} | {hits:.3f} | {false:.3f} | {px:.2f} |", flush=True)
    if args.themes:
        return
    print("| clip | frames | within 14 px | and 40 ms | last place too | presence | median px | ms CPU per video s |")
    print("|---|---|---|---|---|---|---|---|")
    scores = []
    for folder in sorted(p for p in args.clips.iterdir() if (p / "track.json").exists()):
        scores.append(s := evaluate_clip(folder, finder, args.rate))
        _print(
            s.clip,
            str(s.frames),
            s.within,
            s.near_time,
            s.place,
            s.presence,
            s.median_px,
            1000 * s.cpu_s / max(s.video_s, 1e-9),
        )
    if scores:
        n = np.array([s.frames for s in scores], float)
        mean = [float(np.average([getattr(s, k) for s in scores], weights=n)) for k in _SHARES]
        _print("all", str(int(n.sum())), *mean, float(np.nanmedian([s.median_px for s in scores])),
               1000 * sum(s.cpu_s for s in scores) / sum(s.video_s for s in scores))  # fmt: skip


_SHARES = ("within", "near_time", "place", "presence")


def _print(clip: str, frames: str, *numbers: float) -> None:
    *shares, px, ms = numbers
    print(f"| {clip} | {frames} | {' | '.join(f'{v:.3f}' for v in shares)} | {px:.1f} | {ms:.0f} |", flush=True)


if __name__ == "__main__":
    main()
