"""Compares what was seen with what was done: order-preserving matching within a tolerance in time and place.

Both are lists of objects with the keys of a truth file: t_start and t_end in seconds, type, x, y, x2, y2 in pixels,
text, key, dx, dy. A pair matches when the types are equal, the starts lie within the tolerance (of actions with a
span, the starts or the ends), clicks and both ends of drags lie within the distance, scrolls go the same way, and
hotkeys name the same keys.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from video2gui.schema import canonical_key

Event = dict[str, Any]
Cost = Callable[[Event, Event], float | None]

CLICKS = ("click", "double_click", "right_click")
KINDS = (*CLICKS, "drag", "scroll", "type", "hotkey")
_SPANS = ("drag", "scroll", "type")


@dataclass(slots=True)
class Row:
    """Counts of one kind, and the errors of its matches."""

    truth: int = 0
    seen: int = 0
    matched: int = 0
    px: list[float] = field(default_factory=list)
    dt_s: list[float] = field(default_factory=list)

    def add(self, other: Row) -> None:
        self.truth, self.seen, self.matched = (
            self.truth + other.truth, self.seen + other.seen, self.matched + other.matched
        )  # fmt: skip
        self.px += other.px
        self.dt_s += other.dt_s

    def figures(self) -> dict[str, float | int | None]:
        both = self.truth + self.seen
        return {
            "truth": self.truth,
            "seen": self.seen,
            "precision": round(self.matched / self.seen, 4) if self.seen else None,
            "recall": round(self.matched / self.truth, 4) if self.truth else None,
            "f1": round(2 * self.matched / both, 4) if both else None,
        }


def score(truth: Sequence[Event], seen: Sequence[Event], rows: dict[str, Row], *, width: int) -> None:
    """Add one clip to `rows`, by kind and for `any_click` and `all`. Distances scale with the clip's width."""
    scale = width / 1280
    for kind in KINDS:
        here, there = ([e for e in events if e["type"] == kind] for events in (truth, seen))
        _add(rows, (kind, "all"), here, there, scale)
    clicks, seen_clicks = ([{**e, "type": "click"} for e in events if e["type"] in CLICKS] for events in (truth, seen))
    _add(rows, ("any_click",), clicks, seen_clicks, scale)


def _add(rows: dict[str, Row], names: Sequence[str], truth: list[Event], seen: list[Event], scale: float) -> None:
    pairs = align(truth, seen, lambda one, two: cost(one, two, scale))
    for name in names:
        row = rows.setdefault(name, Row())
        row.truth, row.seen, row.matched = row.truth + len(truth), row.seen + len(seen), row.matched + len(pairs)
        row.dt_s += [abs(two["t_start"] - one["t_start"]) for one, two in pairs]
        if truth and truth[0]["type"] in CLICKS:
            row.px += [d / scale for one, two in pairs if (d := _distance(one, two, "")) is not None]


def cost(one: Event, two: Event, scale: float, *, within_s: float = 0.5, within_px: float = 14.0) -> float | None:
    """How far apart two events are, 0 to 1; None where they do not match."""
    if one["type"] != two["type"]:
        return None
    apart_s = _apart_s(one, two)
    if apart_s > within_s:
        return None
    kind, total = one["type"], 0.3 * apart_s / within_s
    if kind in CLICKS or kind == "drag":
        for end in ("", "2") if kind == "drag" else ("",):
            distance = _distance(one, two, end)
            if distance is None or distance > within_px * scale:
                return None
            total += 0.3 * distance / (within_px * scale)
    if kind == "hotkey" and _keys(one) != _keys(two):
        return None
    if kind == "scroll" and not _same_way(one, two):
        return None
    return total


def _apart_s(one: Event, two: Event) -> float:
    one_start, two_start = float(one["t_start"]), float(two["t_start"])
    starts = abs(one_start - two_start)
    if one["type"] not in _SPANS:
        return starts
    one_end, two_end = float(one.get("t_end", one_start)), float(two.get("t_end", two_start))
    return min(starts, abs(one_end - two_end)) if one_start <= two_end and two_start <= one_end else starts


def _distance(one: Event, two: Event, end: str) -> float | None:
    x, y = one.get("x" + end), one.get("y" + end)
    other_x, other_y = two.get("x" + end), two.get("y" + end)
    if x is None or y is None or other_x is None or other_y is None:
        return None
    return math.hypot(x - other_x, y - other_y)


def _keys(event: Event) -> frozenset[str]:
    return frozenset(canonical_key(key) for key in str(event.get("key") or "").split("+") if key.strip())


def _same_way(one: Event, two: Event) -> bool:
    if any((one.get(axis) or 0) * (two.get(axis) or 0) < 0 for axis in ("dx", "dy")):
        return False
    return not (bool(one.get("dy")) != bool(two.get("dy")) and bool(one.get("dx")) != bool(two.get("dx")))


def align(truth: Sequence[Event], seen: Sequence[Event], cost_of: Cost) -> list[tuple[Event, Event]]:
    """The most pairs that keep the order of both, and of those the closest ones, by dynamic programming."""
    best = [[(0, 0.0)] * (len(seen) + 1) for _ in range(len(truth) + 1)]
    pair = [[False] * (len(seen) + 1) for _ in range(len(truth) + 1)]
    for i, one in enumerate(truth, 1):
        for j, two in enumerate(seen, 1):
            best[i][j] = max(best[i - 1][j], best[i][j - 1])
            price = cost_of(one, two)
            if price is not None:
                count, total = best[i - 1][j - 1]
                if (count + 1, total - price) > best[i][j]:
                    best[i][j], pair[i][j] = (count + 1, total - price), True
    out, i, j = [], len(truth), len(seen)
    while i and j:
        if pair[i][j]:
            out.append((truth[i - 1], seen[j - 1]))
            i, j = i - 1, j - 1
        elif best[i - 1][j] >= best[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return out[::-1]


def interval(rows: Sequence[Row], draws: int = 1000) -> tuple[float, float] | None:
    """Where 95 % of the F1 lie of `draws` draws of as many clips with replacement; None where no draw has any."""
    dice = random.Random(0)
    found = []
    for _ in range(draws):
        some = [rows[dice.randrange(len(rows))] for _ in rows]
        if both := sum(row.truth + row.seen for row in some):
            found.append(2 * sum(row.matched for row in some) / both)
    if not found:
        return None
    found.sort()
    return round(found[int(0.025 * len(found))], 3), round(found[min(int(0.975 * len(found)), len(found) - 1)], 3)


def edits(one: str, two: str) -> int:
    """Edit distance of two texts."""
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(two, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def median(values: Sequence[float]) -> float | None:
    return round(statistics.median(values), 3) if values else None
