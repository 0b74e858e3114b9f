# mypy: no-warn-unused-ignores
"""Trains the trees that decide what a press is, which one it was, and what a drag is.

    python -m video2gui.screen.training.forest --clips DIR... [--negatives DIR...] --out DIR [--leave-out WORD...]

Writes `press.json` and `drag.json` (boosted trees) and `button.json` (a forest). A clip is a folder with ``video.mp4``
and ``truth.json``; negatives are files in which nothing is operated. Needs scikit-learn. Clips whose name holds a word
of `--leave-out` do not train: leave an application out to measure on it. The same clips give the same files.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from video2gui.errors import load_extra
from video2gui.screen import buttons, drags, presses
from video2gui.screen.changes import CellMovie, ChangeDetector
from video2gui.screen.drags import Way
from video2gui.screen.effects import find_rests, find_spots
from video2gui.screen.pictures import Pictures
from video2gui.screen.presses import Moment
from video2gui.screen.watch import Track, Watched, watch
from video2gui.video import open_video

_BUTTONS = {"click": 1, "right_click": 2, "double_click": 3}
#: An effect is a press's own when it comes this long after the press, and this near to its place. A double click may
#: answer until so long after its end, and a lone late answer counts, too.
_EFFECT_S, _DOUBLE_S, _LATE_S = (-0.04, 0.28), 0.3, 0.48
_UNSURE_S = 0.1
_NEAR_PX, _DRAG_NEAR_PX = 16.0, 18.0
#: Answers after the first one of a press also train its button, with less weight: the first may be missed.
_SAME_PRESS_S, _LATER_ANSWERS, _LATER_WEIGHT = 0.6, 2, 0.4
_SEEDS = 3
#: Each recording trains once more as it would look with so many frames a second.
_THIN_RATE = 12.0

Event = dict[str, Any]


@dataclass(slots=True)
class Table:
    """Rows of features, their classes and weights."""

    rows: list[npt.NDArray[np.float32]] = field(default_factory=list)
    classes: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def add(self, row: npt.NDArray[np.float32], label: int, weight: float = 1.0) -> None:
        self.rows.append(row)
        self.classes.append(label)
        self.weights.append(weight)

    def arrays(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        return np.array(self.rows, np.float64), np.array(self.classes, np.int64), np.array(self.weights)


@dataclass(slots=True)
class Tables:
    """What the three models learn from."""

    press: Table = field(default_factory=Table)
    button: Table = field(default_factory=Table)
    drag: Table = field(default_factory=Table)


def add_clip(watched: Watched, truth: Sequence[Event], tables: Tables) -> None:
    """Label every moment and every way of one recording."""
    movie, track = watched.movie, watched.track
    spots, rests = find_spots(movie, track), find_rests(movie, track)
    unit, pictures = movie.layout.unit_px, Pictures(movie)
    following = dict(zip_longest(rests, rests[1:]))
    moments = presses.find_moments(movie, track, spots, rests)
    at_s = np.array([movie.times_ns[moment.frame] / 1e9 for moment in moments])
    labels = label_moments(moments, at_s, truth, unit)
    for moment, label in zip(moments, labels, strict=True):
        if label is not None:
            tables.press.add(moment.row, int(label > 0))
    for i, weight in _answers(moments, at_s, labels):
        moment = moments[i]
        row = buttons.button_row(
            moment.frame, moment.rest, following[moment.rest], movie, track, spots, pictures
        )  # fmt: skip
        tables.button.add(row, labels[i] or 0, weight)
    true_drags = [event for event in truth if event["type"] == "drag"]
    for way in drags.find_ways(movie, track, spots, rests):
        span_s = movie.times_ns[way.start.last] / 1e9, movie.times_ns[way.end.first] / 1e9
        tables.drag.add(way.row, int(any(_is_drag(way, span_s, event, unit) for event in true_drags)))


def thinned(watched: Watched, rate: float) -> Watched:
    """The same recording with at most `rate` frames a second."""
    old, track = watched.movie, watched.track
    detector, movie = ChangeDetector(old.layout.size_wh), CellMovie(old.layout)
    kept: list[int] = []
    for k, time_ns in enumerate(old.times_ns):
        if not kept or time_ns - old.times_ns[kept[-1]] >= 0.98e9 / rate:
            kept.append(k)
            movie.append(time_ns, detector.update(old.picture(k)))
    fewer = Track(
        track.x_px[kept],
        track.y_px[kept],
        track.visible[kept],
        tuple(track.shape[k] for k in kept),
        track.confidence[kept],
        tuple(track.box_px[k] for k in kept),
    )
    return replace(watched, movie=movie, track=fewer)


def label_moments(
    moments: Sequence[Moment], at_s: npt.NDArray[np.float64], truth: Sequence[Event], unit: float
) -> list[int | None]:
    """For each moment 0 for no press, else which (see `_BUTTONS`), None where nobody can tell."""
    labels: list[int | None] = [0] * len(moments)
    for event in truth:
        if event["type"] == "drag":  # neither a press nor none
            for i in np.flatnonzero((at_s >= event["t_start"] - 0.1) & (at_s <= event["t_end"] + 0.3)):
                labels[i] = None
    for event in truth:
        if event["type"] not in _BUTTONS:
            continue
        label = _BUTTONS[event["type"]]
        apart = np.array([math.hypot(m.rest.x_px - event["x"], m.rest.y_px - event["y"]) for m in moments])
        near, since = apart <= _NEAR_PX * unit, at_s - event["t_start"]
        end = event["t_end"] - event["t_start"] + _DOUBLE_S if label == 3 else _EFFECT_S[1]
        own = np.flatnonzero(near & (since >= _EFFECT_S[0]) & (since <= end))
        if len(own):
            unsure = np.flatnonzero(near & (since > end) & (since <= end + _UNSURE_S))
        else:
            late = np.flatnonzero(near & (since > end) & (since <= _LATE_S))
            own, unsure = late[:1], late[1:]
        for i in unsure:
            labels[i] = None
        for i in own:
            labels[i] = label
    return labels


def _answers(
    moments: Sequence[Moment], at_s: npt.NDArray[np.float64], labels: Sequence[int | None]
) -> Iterator[tuple[int, float]]:
    """The first answers of each press, with their weights."""
    first, count = -1, 0
    for i, label in enumerate(labels):
        if not label:
            continue
        same = (
            first >= 0
            and labels[first] == label
            and moments[first].rest == moments[i].rest
            and at_s[i] - at_s[first] < _SAME_PRESS_S
        )
        first, count = (first, count + 1) if same else (i, 0)
        if count <= _LATER_ANSWERS:
            yield i, _LATER_WEIGHT if same else 1.0


def _is_drag(way: Way, span_s: tuple[float, float], event: Event, unit: float) -> bool:
    if span_s[0] >= event["t_end"] or span_s[1] <= event["t_start"]:
        return False
    ends = ((way.start, event["x"], event["y"]), (way.end, event["x2"], event["y2"]))
    return all(math.hypot(rest.x_px - x, rest.y_px - y) <= _DRAG_NEAR_PX * unit for rest, x, y in ends)


def boost(table: Table, *, trees: int, leaves: int, least: int, weight: float) -> dict[str, Any]:
    """Boosted trees for two classes: the mean of a few models, each of a part of the rows. `weight` is of class 1."""
    ensemble = load_extra("sklearn.ensemble", "train")
    rows, classes, _ = table.arrays()
    dice = np.random.RandomState(0)
    out: list[dict[str, Any]] = []
    base = 0.0
    for seed in range(_SEEDS):
        part = dice.rand(len(classes)) < 0.85
        model = ensemble.HistGradientBoostingClassifier(
            max_iter=trees, learning_rate=0.06, max_leaf_nodes=leaves, min_samples_leaf=least, l2_regularization=3,
            max_features=0.3, early_stopping=False, random_state=seed,
        )  # fmt: skip
        model.fit(rows[part], classes[part], sample_weight=np.where(classes[part] > 0, weight, 1.0))
        base += float(np.ravel(model._baseline_prediction)[0]) / _SEEDS
        out += [_boosted(stage[0].nodes) for stage in model._predictors]
    return {"base": base, "trees": out}


def _boosted(nodes: Any) -> dict[str, Any]:
    leaf = nodes["is_leaf"].astype(bool)
    return {
        "feature": np.where(leaf, -1, nodes["feature_idx"]).tolist(),
        "threshold": [_short(x) for x in np.where(leaf, 0, nodes["num_threshold"])],
        "left": np.where(leaf, 0, nodes["left"]).tolist(),
        "right": np.where(leaf, 0, nodes["right"]).tolist(),
        "value": [round(float(x) / _SEEDS, 5) if ends else 0 for x, ends in zip(nodes["value"], leaf, strict=True)],
    }


def grow(table: Table, classes: int) -> dict[str, Any]:
    """A random forest; rare classes weigh more than their number."""
    ensemble = load_extra("sklearn.ensemble", "train")
    rows, labels, weights = table.arrays()
    counts = np.bincount(labels, weights=weights, minlength=classes)
    weights *= ((weights.sum() / np.maximum(counts, 1)) ** 0.3)[labels]
    model = ensemble.RandomForestClassifier(80, min_samples_leaf=4, max_features=9, random_state=0)
    model.fit(rows, labels, sample_weight=weights)
    return {"trees": [_grown(estimator.tree_, model.classes_.astype(int), classes) for estimator in model.estimators_]}


def _grown(tree: Any, held: npt.NDArray[np.int64], classes: int) -> dict[str, Any]:
    leaf = tree.children_left < 0
    share = np.zeros((len(leaf), classes))
    share[:, held] = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
    return {
        "feature": np.where(leaf, -1, tree.feature).tolist(),
        "threshold": [_short(x) for x in np.where(leaf, 0, tree.threshold)],
        "left": np.where(leaf, 0, tree.children_left).tolist(),
        "right": np.where(leaf, 0, tree.children_right).tolist(),
        "value": [
            [round(float(x), 2) for x in row] if ends else [0] * classes for row, ends in zip(share, leaf, strict=True)
        ],
    }


def _short(x: float) -> float:
    """Enough digits for single-precision features, and no more."""
    return float(f"{x:.7g}")


def write_models(tables: Tables, out: Path) -> None:
    """Fit the three models and write them to `out`."""
    out.mkdir(parents=True, exist_ok=True)
    press = boost(tables.press, trees=130, leaves=12, least=8, weight=2.0)
    _write(out / "press.json", presses.NAMES, ("none", "press"), press)
    drag = boost(tables.drag, trees=120, leaves=8, least=5, weight=3.0)
    _write(out / "drag.json", drags.NAMES, ("none", "drag"), drag)
    _write(out / "button.json", buttons.NAMES, ("none", "left", "right", "double"), grow(tables.button, 4))


def _write(path: Path, names: Sequence[str], classes: Sequence[str], body: dict[str, Any]) -> None:
    whole = {"names": list(names), "classes": list(classes), **body}
    path.write_text(json.dumps(whole, separators=(",", ":")), "utf-8")


def clips(folders: Sequence[Path], left_out: Sequence[str]) -> Iterator[tuple[Path, list[Event]]]:
    """Videos with their truth, in order of name."""
    for truth in sorted(path for folder in folders for path in folder.glob("*/truth.json")):
        if not any(word in truth.parent.name for word in left_out):
            yield truth.parent / "video.mp4", json.loads(truth.read_text("utf-8"))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clips", type=Path, nargs="+", required=True)
    parser.add_argument("--negatives", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--leave-out", nargs="*", default=[])
    asked = parser.parse_args()
    tables = Tables()
    nothing = sorted(path for folder in asked.negatives for path in folder.iterdir() if path.is_file())
    for video, truth in [*clips(asked.clips, asked.leave_out), *((path, list[Event]()) for path in nothing)]:
        with open_video(video) as reader:
            watched = watch(reader.pictures(), reader.info.size_wh)
        if watched is not None:
            add_clip(watched, truth, tables)
            add_clip(thinned(watched, _THIN_RATE), truth, tables)
        counts = f"{len(tables.press.rows)} moments, {len(tables.drag.rows)} ways"
        print(f"{video.parent.name}: {counts} so far", file=sys.stderr)
    write_models(tables, asked.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
