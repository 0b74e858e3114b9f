# mypy: no-warn-unused-ignores
"""Trains the two forests that decide what a press is (`press.json`) and what a drag is (`drag.json`).

    python -m video2gui.screen.training.forest --clips DIR... [--negatives DIR...] --out DIR [--leave-out WORD...]

A clip is a folder with ``video.mp4`` and ``truth.json``; negatives are files in which nothing is operated. Needs
scikit-learn. Clips whose name holds a word of `--leave-out` do not train: leave an
application out to measure on it. The same clips give the same files.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from video2gui.errors import load_extra
from video2gui.screen import drags, presses
from video2gui.screen.drags import Way
from video2gui.screen.effects import find_rests, find_spots
from video2gui.screen.presses import Moment
from video2gui.screen.watch import watch
from video2gui.video import open_video

_PRESSES = {"click": 1, "right_click": 2, "double_click": 3}
_PRESS_CLASSES = ("none", "left", "right", "double")
#: An effect is a press's own when it comes this long after the press, and this near to its place.
_EFFECT_S, _NEAR_PX, _DRAG_NEAR_PX = (-0.04, 0.28), 16.0, 18.0
_TREES, _SEED = 80, 0

Event = dict[str, Any]


@dataclass(slots=True)
class Table:
    """Rows of features and their classes."""

    rows: list[npt.NDArray[np.float32]] = field(default_factory=list)
    classes: list[int] = field(default_factory=list)

    def arrays(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        return np.array(self.rows, np.float64), np.array(self.classes, np.int64)


def add_clip(video: Path, truth: Sequence[Event], press: Table, drag: Table) -> None:
    """Label every moment and every way of one recording."""
    with open_video(video) as reader:
        watched = watch(reader.pictures(), reader.info.size_wh)
    if watched is None:
        return
    movie, track = watched.movie, watched.track
    spots, rests = find_spots(movie, track), find_rests(movie, track)
    unit = movie.layout.unit_px
    true_drags = [event for event in truth if event["type"] == "drag"]
    for moment in presses.find_moments(movie, track, spots, rests):
        at_s = movie.times_ns[moment.frame] / 1e9
        if any(event["t_start"] - 0.1 <= at_s <= event["t_end"] + 0.3 for event in true_drags):
            continue  # neither a press nor none
        press.rows.append(moment.row)
        press.classes.append(_press_class(moment, at_s, truth, unit))
    for way in drags.find_ways(movie, track, spots, rests):
        span_s = movie.times_ns[way.start.last] / 1e9, movie.times_ns[way.end.first] / 1e9
        drag.rows.append(way.row)
        drag.classes.append(int(any(_is_drag(way, span_s, event, unit) for event in true_drags)))


def _press_class(moment: Moment, at_s: float, truth: Sequence[Event], unit: float) -> int:
    found = 0
    for event in truth:
        if event["type"] in _PRESSES and _EFFECT_S[0] <= at_s - event["t_start"] <= _EFFECT_S[1]:
            apart = math.hypot(moment.rest.x_px - event["x"], moment.rest.y_px - event["y"])
            found = _PRESSES[event["type"]] if apart <= _NEAR_PX * unit else found
    return found


def _is_drag(way: Way, span_s: tuple[float, float], event: Event, unit: float) -> bool:
    if span_s[0] >= event["t_end"] or span_s[1] <= event["t_start"]:
        return False
    ends = ((way.start, event["x"], event["y"]), (way.end, event["x2"], event["y2"]))
    return all(math.hypot(rest.x_px - x, rest.y_px - y) <= _DRAG_NEAR_PX * unit for rest, x, y in ends)


def export(model: Any, names: Sequence[str], classes: Sequence[str], path: Path) -> None:
    """A fitted scikit-learn forest as the JSON that `trees.read_forest` reads."""
    trees = []
    for estimator in model.estimators_:
        tree = estimator.tree_
        leaf = tree.children_left < 0
        share = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
        full = np.zeros((len(share), len(classes)))
        full[:, model.classes_.astype(int)] = share
        trees.append(
            {
                "feature": np.where(leaf, -1, tree.feature).tolist(),
                "threshold": [float(f"{x:.6g}") for x in np.where(leaf, 0, tree.threshold)],
                "left": np.where(leaf, 0, tree.children_left).tolist(),
                "right": np.where(leaf, 0, tree.children_right).tolist(),
                "value": [
                    [round(float(x), 3) if ends else 0 for x in row] for row, ends in zip(full, leaf, strict=True)
                ],
            }
        )
    body = {"names": list(names), "classes": list(classes), "trees": trees}
    path.write_text(json.dumps(body, separators=(",", ":")), "utf-8")


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
    ensemble = load_extra("sklearn.ensemble", "train")
    press, drag = Table(), Table()
    nothing = sorted(path for folder in asked.negatives for path in folder.iterdir() if path.is_file())
    for video, truth in [*clips(asked.clips, asked.leave_out), *((path, list[Event]()) for path in nothing)]:
        add_clip(video, truth, press, drag)
        print(f"{video.parent.name}: {len(press.rows)} moments, {len(drag.rows)} ways so far", file=sys.stderr)
    rows, classes = press.arrays()
    forest = ensemble.RandomForestClassifier(_TREES, min_samples_leaf=3, max_features=10, random_state=_SEED)
    forest.fit(rows, classes, sample_weight=np.where(classes > 0, 3.0, 1.0))
    asked.out.mkdir(parents=True, exist_ok=True)
    export(forest, presses.NAMES, _PRESS_CLASSES, asked.out / "press.json")
    rows, classes = drag.arrays()
    forest = ensemble.ExtraTreesClassifier(
        _TREES, min_samples_leaf=2, max_features=8, class_weight="balanced", random_state=_SEED
    )
    forest.fit(rows, classes)
    export(forest, drags.NAMES, ("none", "drag"), asked.out / "drag.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
