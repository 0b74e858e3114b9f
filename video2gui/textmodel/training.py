"""Trains the text model from labelled rows, chart rows and the templates beside it; prints what it reaches.

    python -m video2gui.textmodel.training --labelled labelled.jsonl --charts charts_*.csv.gz [--out model.npz]

Labelled rows: JSON lines with id, title, description, tags (comma text), channel, category, language, label (yes, no;
others are left out) and source_repo. Chart rows (CSV) count as negatives. The same files give the same weights.

What is measured is measured on groups that did not train: a source, or a channel of a source of over 400 rows; of the
charts, channels. A chart row that is also a labelled one is left out.

In the training rows, which fields are there gives the label away (chart rows have categories, lessons have none). So
each row trains with and without: a row without a category is given one drawn from `_CATEGORIES`, whatever its label,
and a row without a description now and then gets a phrase that says nothing.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import math
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from video2gui.config import FilterSettings
from video2gui.schema import VideoMeta
from video2gui.textmodel import DIMENSIONS, MODEL, Features, features, raw_score

SEED = 7
_EPOCHS = 12
_BATCH = 128
_RATE = 0.02
_DECAY = 2e-6
_FOLDS = 5
_LARGE_SOURCE = 400
_CHART_TRAIN, _CHART_WEIGHT, _TEMPLATE_WEIGHT = 60, 0.5, 1.0  # per cent of channels; what a row counts
_CHART_MEASURED = 20_000

#: Where lessons in software are filed. An assumption: the labelled lessons do not say.
_CATEGORIES = {
    "Education": 0.33,
    "Science & Technology": 0.27,
    "Howto & Style": 0.20,
    "People & Blogs": 0.12,
    "Entertainment": 0.03,
    "Film & Animation": 0.02,
    "Gaming": 0.02,
    "Music": 0.01,
}

Floats = npt.NDArray[np.float32]
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """A row, whether it is wanted, where it is from, the group that is never split, and what it counts."""

    meta: VideoMeta
    wanted: bool
    source: str
    group: str
    weight: float = 1.0


# ------------------------------------------------------------------------------------------------- the rows


def labelled(path: Path) -> list[Example]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows = [row for row in rows if row["label"] in ("yes", "no")]
    sizes = Counter(row["source_repo"] for row in rows)
    out = []
    for row in rows:
        source = row["source_repo"]
        group = source if sizes[source] <= _LARGE_SOURCE else f"{source} {row['channel']}"
        out.append(Example(_meta(row, row["id"].partition(":")[2]), row["label"] == "yes", source, group))
    return out


def charts(paths: Sequence[Path], known: Sequence[Example]) -> Iterator[Example]:
    """Chart rows that are none of the known ones, by id and by title."""
    ids = {example.meta.video_id for example in known}
    titles = {_same(example.meta.title) for example in known}
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["video_id"] not in ids and _same(row["title"]) not in titles:
                    meta = _meta({**row, "category": row["category_name"]}, row["video_id"])
                    yield Example(meta, False, "charts", row["channel_hash"], _CHART_WEIGHT)


def _same(title: str | None) -> str:
    return " ".join((title or "").lower().split())


def _meta(row: dict[str, Any], video_id: str) -> VideoMeta:
    return VideoMeta(
        video_id, video_id, "", "",
        title=row.get("title") or None,
        description=row.get("description") or None,
        tags=tuple(tag.strip() for tag in (row.get("tags") or "").split(",") if tag.strip()) or None,
        category=row.get("category") or None,
        language=row.get("language") or None,
    )  # fmt: skip


def _template_data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("templates.json").read_text("utf-8"))
    return data


def templates() -> Iterator[Example]:
    """Titles of 21 languages, put together from the patterns in ``templates.json``."""
    data = _template_data()
    rng = np.random.default_rng(SEED)

    def pick(words: list[str]) -> str:
        return words[rng.integers(len(words))]

    def example(title: str, wanted: bool, language: str) -> Example:
        meta = VideoMeta("t", "t", "", "", title=title, language=language)
        return Example(meta, wanted, "templates", "templates", _TEMPLATE_WEIGHT)

    for language, parts in data["languages"].items():
        for wanted, patterns, times in ((True, parts["yes"], 4), (False, parts["no"], 3)):
            for number in range(max(100, times * len(patterns))):
                pattern = patterns[number % len(patterns)]
                yield example(pattern.format(a=pick(data["apps"]), v=pick(parts["doing"])), wanted, language)
        everyday = parts["everyday"]
        for number in range(max(60, 6 * len(everyday))):
            yield example(pick(parts["how"]).format(x=everyday[number % len(everyday)]), False, language)
        for _ in range(30):
            yield example(pick(parts["explained"]).format(x=pick(parts["science"])), False, language)


class Disguise:
    """Gives and takes fields at random, the same way for every label, so that having them means nothing."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(SEED)
        self._phrases: list[str] = _template_data()["descriptions"]

    def category(self, meta: VideoMeta) -> VideoMeta:
        """With the row's own category, or one drawn."""
        if meta.category:
            return meta
        return replace(meta, category=str(self._rng.choice(list(_CATEGORIES), p=list(_CATEGORIES.values()))))

    def __call__(self, meta: VideoMeta) -> VideoMeta:
        if self._rng.random() < 0.5:
            meta = replace(meta, tags=None)
        if not meta.description and self._rng.random() < 0.3:
            meta = replace(meta, description=self._phrases[self._rng.integers(len(self._phrases))])
        return self.category(meta) if self._rng.random() < 0.5 else replace(meta, category=None)


# ------------------------------------------------------------------------------------------- the regression


@dataclass(frozen=True, slots=True)
class Rows:
    """Training rows as numbers: features, labels and weights, one each."""

    found: list[Features]
    wanted: Floats
    weight: Floats

    @classmethod
    def of(cls, examples: Sequence[Example], metas: Sequence[VideoMeta], share: float = 1.0) -> Rows:
        wanted = np.array([example.wanted for example in examples], np.float32)
        weight = np.array([example.weight * share for example in examples], np.float32)
        return cls([features(meta) for meta in metas], wanted, weight)

    def only(self, indices: npt.NDArray[np.int64]) -> Rows:
        return Rows([self.found[i] for i in indices], self.wanted[indices], self.weight[indices])

    def __add__(self, other: Rows) -> Rows:
        both = (np.concatenate(pair) for pair in ((self.wanted, other.wanted), (self.weight, other.weight)))
        return Rows([*self.found, *other.found], *both)


def train(rows: Rows) -> Floats:
    """Logistic regression by Adam; together the positives count at least half of what the negatives do."""
    weight = rows.weight.copy()
    positive = rows.wanted == 1
    weight[positive] *= max(1.0, 0.5 * weight[~positive].sum() / weight[positive].sum())
    rng = np.random.default_rng(SEED)
    weights, first, second = (np.zeros(DIMENSIONS, np.float32) for _ in range(3))
    step = 0
    for _ in range(_EPOCHS):
        order = rng.permutation(len(rows.found))
        for start in range(0, len(order), _BATCH):
            step += 1
            batch = order[start : start + _BATCH]
            places, values = (np.concatenate([rows.found[i][part] for i in batch]) for part in (0, 1))
            counts = np.array([len(rows.found[i][0]) for i in batch])
            sums = np.add.reduceat(weights[places] * values, np.cumsum(counts) - counts)
            wrong = (1 / (1 + np.exp(-np.clip(sums, -30, 30))) - rows.wanted[batch]) * weight[batch] / len(batch)
            gradient = np.bincount(places, np.repeat(wrong, counts) * values, DIMENSIONS).astype(np.float32)
            gradient += np.float32(_DECAY) * weights
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            weights -= _RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return weights


def calibrate(raw: Scores, wanted: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and offset of a logistic curve through held-out scores (Platt), by Newton's method."""
    slope, offset = 0.5, 0.0
    for _ in range(50):
        chance = 1 / (1 + np.exp(-(slope * raw + offset)))
        curve = np.maximum(chance * (1 - chance), 1e-9)
        gradient = np.array([((chance - wanted) * raw).sum(), (chance - wanted).sum()])
        hessian = np.array([[(curve * raw**2).sum(), (curve * raw).sum()], [(curve * raw).sum(), curve.sum()]])
        move = np.linalg.solve(hessian + 1e-6 * np.eye(2), gradient)
        slope, offset = slope - move[0], offset - move[1]
    return float(slope), float(offset)


# ---------------------------------------------------------------------------------------------- the figures


def _hash(text: str) -> int:
    return zlib.crc32(text.encode())


def _scores(weights: Floats, metas: Sequence[VideoMeta]) -> Scores:
    return np.array([raw_score(weights, features(meta)) for meta in metas], np.float64)


def interval(hits: int, count: int) -> str:
    """A share and its 95 % interval (Wilson)."""
    if not count:
        return "-"
    share, z = hits / count, 1.96
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return f"{share:.3f} ({max(0.0, middle - half):.2f}-{min(1.0, middle + half):.2f})"


def _line(name: str, keep: npt.NDArray[np.bool_], wanted: npt.NDArray[np.bool_]) -> str:
    hits = int((keep & wanted).sum())
    precision, recall = interval(hits, int(keep.sum())), interval(hits, int(wanted.sum()))
    return f"| {name} | {len(wanted)} | {int(wanted.sum())} | {precision} | {recall} |"


def report(examples: Sequence[Example], plain: Scores, filed: Scores, charted: dict[str, Scores]) -> Iterator[str]:
    """Tables of what is reached at thresholds, and at the default one by source and by language."""
    wanted = np.array([example.wanted for example in examples])
    default = FilterSettings().min_score
    yield "| threshold | rows as they are: P | R | with a category: P | R | charts kept in 1,000 | without category |"
    yield "|---|---|---|---|---|---|---|"
    for least in sorted({0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, default}):
        cells = []
        for chance in (plain, filed):
            hits = int(((chance >= least) & wanted).sum())
            cells += [f"{hits / max(1, int((chance >= least).sum())):.3f}", f"{hits / int(wanted.sum()):.3f}"]
        cells += [f"{1000 * float((chance >= least).mean()):.1f}" for chance in charted.values()]
        yield f"| {least} | {' | '.join(cells)} |"
    yield f"\nAt {default}, rows as they are:\n"
    yield "| | rows | yes | precision | recall |\n|---|---|---|---|---|"
    keep = plain >= default
    yield _line("all", keep, wanted)
    for values in ([e.source for e in examples], [e.meta.language or "none" for e in examples]):
        for value in sorted(set(values)):
            here = np.array([value == one for one in values])
            if wanted[here].sum() >= 5:
                yield _line(value, keep[here], wanted[here])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--labelled", type=Path, required=True)
    parser.add_argument("--charts", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, default=MODEL)
    asked = parser.parse_args()
    known = labelled(asked.labelled)
    chart_rows = list(charts(sorted(asked.charts), known))
    disguise = Disguise()
    extra = [*(e for e in chart_rows if _hash(e.group) % 100 < _CHART_TRAIN), *templates()]
    others = Rows.of(extra, [disguise(example.meta) for example in extra])
    filed = [disguise.category(example.meta) for example in known]
    twice = [Rows.of(known, [e.meta for e in known], 0.5), Rows.of(known, [disguise(meta) for meta in filed], 0.5)]

    fold = np.array([_hash(example.group) % _FOLDS for example in known])
    raw, raw_filed = np.zeros(len(known)), np.zeros(len(known))
    for number in range(_FOLDS):
        inside, outside = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        weights = train(twice[0].only(outside) + twice[1].only(outside) + others)
        raw[inside] = _scores(weights, [known[i].meta for i in inside])
        raw_filed[inside] = _scores(weights, [filed[i] for i in inside])
        print(f"fold {number + 1} of {_FOLDS}: {len(inside)} rows measured", file=sys.stderr)
    wanted = np.array([example.wanted for example in known])
    slope, offset = calibrate(np.concatenate([raw, raw_filed]), np.concatenate([wanted, wanted]))

    weights = train(twice[0] + twice[1] + others).astype(np.float16)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, weights=weights, slope=slope, offset=offset)
    asked.out.write_bytes(buffer.getvalue())

    def chance(scores: Scores) -> Scores:
        return np.asarray(1 / (1 + np.exp(-(slope * scores + offset))), np.float64)

    unseen = [e.meta for e in chart_rows if _hash(e.group) % 100 >= _CHART_TRAIN][:_CHART_MEASURED]
    shipped = weights.astype(np.float32)
    bare = [replace(meta, category=None) for meta in unseen]
    charted = {"as they are": chance(_scores(shipped, unseen)), "bare": chance(_scores(shipped, bare))}
    for line in report(known, chance(raw), chance(raw_filed), charted):
        print(line)
    print(f"\n{len(chart_rows)} chart rows, {len(unseen)} measured; {asked.out.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
