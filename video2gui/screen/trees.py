"""Decision trees read from a JSON file: a few thousand numbers, no machine-learning package needed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Tree:
    feature: npt.NDArray[np.int32]  # -1: a leaf
    threshold: Floats
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    value: Floats  # (nodes, classes), (nodes, 1) in boosted trees

    def values(self, rows: Floats) -> Floats:
        node = np.zeros(len(rows), np.int32)
        every = np.arange(len(rows))
        while (inner := self.feature[node] >= 0).any():
            goes_left = rows[every, np.maximum(self.feature[node], 0)] <= self.threshold[node]
            node = np.where(inner, np.where(goes_left, self.left[node], self.right[node]), node)
        return self.value[node]


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees whose leaves hold class probabilities, the mean of which is the answer.

    Boosted trees hold, and `base` begins, the log-odds of the second of two classes; their sum is the answer.
    """

    names: tuple[str, ...]
    classes: tuple[str, ...]
    trees: tuple[_Tree, ...]
    base: float | None = None

    def probabilities(self, rows: npt.ArrayLike) -> Floats:
        """float64 (rows, classes) for float (rows, names)."""
        table = np.asarray(rows, np.float64).reshape(-1, len(self.names))
        if len(table) == 0:
            return np.zeros((0, len(self.classes)))
        total: Floats = np.sum([tree.values(table) for tree in self.trees], axis=0)
        if self.base is None:
            return total / len(self.trees)
        odds = 1 / (1 + np.exp(-(self.base + total[:, 0])))
        return np.stack([1 - odds, odds], axis=1)


@cache
def read_forest(path: Path) -> Forest:
    """Read what `training/forest.py` wrote."""
    data = json.loads(path.read_text("utf-8"))
    trees = tuple(
        _Tree(
            np.array(t["feature"], np.int32),
            np.array(t["threshold"], np.float64),
            np.array(t["left"], np.int32),
            np.array(t["right"], np.int32),
            np.array(t["value"], np.float64).reshape(len(t["feature"]), -1),
        )
        for t in data["trees"]
    )
    return Forest(tuple(data["names"]), tuple(data["classes"]), trees, data.get("base"))
