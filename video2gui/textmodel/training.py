"""Trains the text model from labelled rows, chart rows and the templates beside it; prints what it reaches.

    python -m video2gui.textmodel.training --labelled labelled.jsonl --charts charts_*.csv.gz [--out model.npz]

Labelled rows: JSON lines with title, description, tags (comma text), category, duration_s, language, label (yes, no;
others are left out) and source_repo, the group that is never split between training and measuring. Chart rows (CSV)
count as negatives. The same files and seed give the same weights.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from video2gui.schema import VideoMeta
from video2gui.textmodel import DIMENSIONS, MODEL, features, raw_score
from video2gui.timebase import ns_from_s

SEED = 7
_EPOCHS = 12
_BATCH = 64
_RATE = 0.05
_DECAY = 2e-5
_CHART_SHARE = 0.3  # of the chart rows train, the rest measure
_TEMPLATES_A_LANGUAGE = 60

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Example:
    """A row, whether it is wanted, and the group it belongs to."""

    meta: VideoMeta
    wanted: bool
    group: str
    weight: float = 1.0


def labelled(path: Path) -> Iterator[Example]:
    for number, line in enumerate(path.read_text("utf-8").splitlines()):
        row = json.loads(line)
        if row["label"] in ("yes", "no"):
            yield Example(_meta(row, f"l{number}"), row["label"] == "yes", row["source_repo"])


def charts(paths: Sequence[Path]) -> Iterator[Example]:
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            for number, row in enumerate(csv.DictReader(file)):
                row["category"] = row.get("category_name") or ""
                row["language"] = row.get("default_language") or ""
                yield Example(_meta(row, f"c{number}"), False, "charts", 0.5)


def templates() -> Iterator[Example]:
    """Sentences of many languages, put together from the patterns in ``templates.json``."""
    data = json.loads(Path(__file__).with_name("templates.json").read_text("utf-8"))
    rng = np.random.default_rng(SEED)
    for language, parts in data["languages"].items():
        for wanted, patterns in ((True, parts["yes"]), (False, parts["no"])):
            for number in range(max(_TEMPLATES_A_LANGUAGE, 4 * len(patterns))):
                doing = parts["doing"][rng.integers(len(parts["doing"]))]
                app = data["apps"][rng.integers(len(data["apps"]))]
                title = patterns[number % len(patterns)].format(a=app, v=doing)
                yield Example(VideoMeta("t", "t", "", "", title=title, language=language), wanted, "templates", 0.6)


def _meta(row: dict[str, Any], video_id: str) -> VideoMeta:
    seconds = row.get("duration_s")
    return VideoMeta(
        video_id, video_id, "", "",
        title=row.get("title") or None,
        description=row.get("description") or None,
        tags=tuple(tag.strip() for tag in (row.get("tags") or "").split(",") if tag.strip()) or None,
        category=row.get("category") or None,
        language=row.get("language") or None,
        duration_ns=ns_from_s(float(seconds)) if seconds not in (None, "") else None,
    )  # fmt: skip


def train(examples: Sequence[Example]) -> Floats:
    """Logistic regression by Adam, positives weighted up to a third of all; the same order for the same seed."""
    found = [features(example.meta) for example in examples]
    wanted = np.array([example.wanted for example in examples], np.float32)
    weight = np.array([example.weight for example in examples], np.float32)
    weight[wanted == 1] *= max(1.0, 0.5 * weight[wanted == 0].sum() / max(1.0, weight[wanted == 1].sum()))
    rng = np.random.default_rng(SEED)
    weights, first, second = (np.zeros(DIMENSIONS, np.float32) for _ in range(3))
    step = 0
    for _ in range(_EPOCHS):
        order = rng.permutation(len(found))
        for start in range(0, len(order), _BATCH):
            step += 1
            batch = order[start : start + _BATCH]
            gradient = np.zeros(DIMENSIONS, np.float32)
            for i in batch:
                here = found[i]
                chance = 1 / (1 + np.exp(-np.clip(raw_score(weights, here), -30, 30)))
                gradient[here] += np.float32((chance - wanted[i]) * weight[i] / len(batch) / np.sqrt(len(here)))
            gradient += np.float32(_DECAY) * weights
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            weights -= _RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return weights


def calibrate(raw: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Slope and offset of a logistic curve through held-out scores (Platt), by Newton's method."""
    slope, offset = 1.0, 0.0
    for _ in range(50):
        chance = 1 / (1 + np.exp(-(slope * raw + offset)))
        curve = np.maximum(chance * (1 - chance), 1e-9)
        gradient = np.array([((chance - wanted) * raw).sum(), (chance - wanted).sum()])
        hessian = np.array([[(curve * raw**2).sum(), (curve * raw).sum()], [(curve * raw).sum(), curve.sum()]])
        move = np.linalg.solve(hessian + 1e-6 * np.eye(2), gradient)
        slope, offset = slope - move[0], offset - move[1]
    return float(slope), float(offset)


def folds(examples: Sequence[Example], count: int = 5) -> list[list[int]]:
    """Indices of labelled rows by fold. A group lies in one fold; a group of over 400 rows is split by channel."""
    rng = np.random.default_rng(SEED)
    sizes: dict[str, int] = {}
    for example in examples:
        sizes[example.group] = sizes.get(example.group, 0) + 1
    place: dict[str, int] = {}
    out: list[list[int]] = [[] for _ in range(count)]
    for index, example in enumerate(examples):
        key = example.group if sizes[example.group] <= 400 else f"{example.group} {example.meta.language} {index % 40}"
        fold = place.setdefault(key, int(rng.integers(count)))
        out[fold].append(index)
    return out


def held_out(examples: Sequence[Example], always: Sequence[Example]) -> npt.NDArray[np.float64]:
    """Each labelled row's score by a model that saw nothing of its fold."""
    raw = np.zeros(len(examples))
    for fold in folds(examples):
        inside = set(fold)
        weights = train([*(e for i, e in enumerate(examples) if i not in inside), *always])
        for index in fold:
            raw[index] = raw_score(weights, features(examples[index].meta))
        print(f"fold of {len(fold)} rows measured", file=sys.stderr)
    return raw


def figures(chance: npt.NDArray[np.float64], examples: Sequence[Example], least: float) -> Iterator[str]:
    """Precision and recall at a threshold, overall, by source and by language."""
    keep = chance >= least
    wanted = np.array([example.wanted for example in examples])
    sources = [example.group for example in examples]
    languages = [example.meta.language or "none" for example in examples]
    for name, values in (("source", sources), ("language", languages)):
        for value in ["all", *sorted(set(values))]:
            here = np.array([value in ("all", one) for one in values])
            hits, kept, all_wanted = (int((here & m).sum()) for m in (keep & wanted, keep, wanted))
            if all_wanted >= 5 or value == "all":
                reached = f"P {hits / max(1, kept):.3f} R {hits / max(1, all_wanted):.3f}"
                yield f"{name:9} {value:40} rows {int(here.sum()):5d} yes {all_wanted:4d} {reached}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--labelled", type=Path, required=True)
    parser.add_argument("--charts", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, default=MODEL)
    asked = parser.parse_args()
    rows = list(labelled(asked.labelled))
    all_charts = list(charts(asked.charts))
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(all_charts))
    cut = int(_CHART_SHARE * len(order))
    chart_rows, chart_test = ([all_charts[i] for i in part] for part in (order[:cut], order[cut:]))
    extra = [*chart_rows, *templates()]
    raw = held_out(rows, extra)
    wanted = np.array([row.wanted for row in rows], np.float64)
    slope, offset = calibrate(raw, wanted)
    weights = train([*rows, *extra])
    scale = float(np.abs(weights).max()) / 127
    packed = np.round(weights / scale).astype(np.int8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, weights=packed, scale=scale, slope=slope, offset=offset)
    asked.out.write_bytes(buffer.getvalue())
    chance = 1 / (1 + np.exp(-(slope * raw + offset)))
    test = np.array([raw_score(packed.astype(np.float32) * scale, features(e.meta)) for e in chart_test[:20000]])
    chart_chance = 1 / (1 + np.exp(-(slope * test + offset)))
    for least in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
        print(f"threshold {least}: chart rows kept {1000 * float((chart_chance >= least).mean()):.2f} in 1000")
        for line in figures(chance, rows, least):
            if least == 0.5 or " all " in line:
                print(line)
    print(f"slope {slope:.3f} offset {offset:.3f} scale {scale:.5f} bytes {asked.out.stat().st_size}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
