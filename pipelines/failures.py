"""How rows end, and the two lists that say so: ``failures.jsonl`` and ``dropped.jsonl``.

Every row of the input ends in exactly one way: it failed, it was dropped, or its samples were packed. While the
job runs, endings go to sorted part files; at the end the parts are merged, so that the lists are in the order of
the input whatever ran first, and nothing has to fit in memory.
"""

from __future__ import annotations

import heapq
import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal

from pipelines.files import ASIDE, Folder
from pipelines.outcomes import Failed
from pipelines.rows import Again, RowRef
from video2gui import codec
from video2gui.schema import Verdict

FAILURES, DROPPED = "failures.jsonl", "dropped.jsonl"

MAX_EXCERPT_CHARS = 200

_SHOWN, _SHOWN_OF_A_KIND = 20, 3

Kind = Literal["failed", "dropped", "packed"]


@dataclass(frozen=True, slots=True)
class SampleRef:
    """A packed sample by reference: its key, where its bytes are kept, and what it holds."""

    key: str
    sha256: str
    size_bytes: int
    steps: int
    actions: dict[str, int]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a row ended, and in which stage. `reason` is the verdict's or the failure's one word.

    With a `trajectory_id` it tells of one trajectory only; the row itself ends elsewhere.
    """

    row: RowRef
    kind: Kind
    stage: str
    reason: str
    video_id: str | None = None
    detail: str | None = None
    address: str | None = None
    score: float | None = None
    retryable: bool = False
    excerpt: str | None = None
    trajectory_id: str | None = None
    samples: tuple[SampleRef, ...] = ()


def failed(row: RowRef, stage: str, failure: Failed, *, video_id: str | None, excerpt: str | None = None) -> Ended:
    return Ended(
        row,
        "failed",
        stage,
        failure.error,
        video_id,
        failure.message,
        failure.address or None,
        retryable=failure.retryable,
        excerpt=None if excerpt is None else excerpt[:MAX_EXCERPT_CHARS],
    )


def dropped(row: RowRef, video_id: str, verdict: Verdict, trajectory_id: str | None = None) -> Ended:
    return Ended(
        row, "dropped", verdict.stage, verdict.reason, video_id, verdict.detail, score=verdict.score,
        trajectory_id=trajectory_id,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ tallies


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of endings: rows and single trajectories by (kind, stage, reason), and what was packed."""

    rows: Counter[tuple[str, str, str]]
    trajectories: Counter[tuple[str, str, str]]
    actions: Counter[str]
    samples: int = 0
    steps: int = 0
    most_steps: int = 0  # of one sample

    @staticmethod
    def of(endings: Iterable[Ended]) -> Tally:
        rows: Counter[tuple[str, str, str]] = Counter()
        single: Counter[tuple[str, str, str]] = Counter()
        actions: Counter[str] = Counter()
        samples = steps = most = 0
        for ended in endings:
            (rows if ended.trajectory_id is None else single)[ended.kind, ended.stage, ended.reason] += 1
            for sample in ended.samples:
                actions.update(sample.actions)
                samples, steps, most = samples + 1, steps + sample.steps, max(most, sample.steps)
        return Tally(rows, single, actions, samples, steps, most)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.rows + other.rows, self.trajectories + other.trajectories, self.actions + other.actions,
            self.samples + other.samples, self.steps + other.steps, max(self.most_steps, other.most_steps),
        )  # fmt: skip

    def count(self, kind: Kind, stage: str | None = None) -> int:
        return sum(n for (k, s, _), n in self.rows.items() if k == kind and stage in (None, s))


NO_ENDINGS = Tally.of(())


# -------------------------------------------------------------------------------------------------- parts


@dataclass(frozen=True, slots=True)
class Part:
    """A sorted file of endings."""

    name: str
    tally: Tally


def write_part(folder: Folder, endings: list[Ended]) -> Part:
    """Sort endings by their place in the input and keep those that are told of."""
    endings.sort(key=_order)
    name = f"{ASIDE}/part-{uuid.uuid4().hex}"
    with folder.open_new(name) as file:
        for ended in endings:
            if ended.kind != "packed":
                file.write(_encoded(codec.dumps(ended)))
    return Part(name, Tally.of(endings))


def _order(ended: Ended) -> tuple[int, int, str]:
    return ended.row.number, ended.row.line, ended.trajectory_id or ""


def merge(folder: Folder, parts: Iterable[str]) -> Iterator[Ended]:
    """The endings of all parts in the order of the input."""
    with ExitStack() as stack:
        opened = [stack.enter_context(folder.open(name)) for name in parts]
        streams = [(codec.loads(Ended, line) for line in file) for file in opened]
        yield from heapq.merge(*streams, key=_order)


def write_lists(folder: Folder, parts: list[str], *, hide: str) -> list[dict[str, Any]]:
    """Write ``failures.jsonl`` and ``dropped.jsonl``; gives a few failures of each kind, without their rows.

    `hide` is a path that messages are relative to.
    """
    shown: list[dict[str, Any]] = []
    kinds: Counter[tuple[str, str]] = Counter()
    with (
        Again() as again,
        folder.open_new(FAILURES, durable=True) as failures,
        folder.open_new(DROPPED, durable=True) as drops,
    ):
        for ended in merge(folder, parts):
            if ended.kind == "failed":
                failure = _failure(ended, again.read(ended.row), hide)
                failures.write(_line(failure))
                kinds[ended.stage, ended.reason] += 1
                if kinds[ended.stage, ended.reason] <= _SHOWN_OF_A_KIND and len(shown) < _SHOWN:
                    shown.append({**failure, "row": None})
            else:
                drops.write(_line(_drop(ended)))
    return shown


def _line(value: dict[str, Any]) -> bytes:
    return _encoded(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def _encoded(text: str) -> bytes:
    # half a surrogate pair is text to Python and JSON but not to UTF-8; what replaces it is JSON's own escape
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _failure(ended: Ended, row: bytes | None, hide: str) -> dict[str, Any]:
    """A row of ``failures.jsonl``; ``parse_row`` reads the row inside it when the file is fed in again."""

    def relative(text: str | None) -> str | None:
        return None if text is None else text.replace(hide + "/", "")

    return {
        "stage": ended.stage,
        "row_address": ended.row.address,
        "video_id": ended.video_id,
        "error": ended.reason,
        "message": relative(ended.detail),
        "address": relative(ended.address),
        "retryable": ended.retryable,
        "excerpt": ended.excerpt,
        "row": None if row is None else _embedded(row),
    }


def _embedded(row: bytes) -> Any:
    """The row as an object where that says the same, else as text; None where it is not even text."""
    try:
        text = row.decode("utf-8").strip()
    except UnicodeDecodeError:
        return None
    try:
        value = json.loads(text, object_pairs_hook=_no_repeats)
        while isinstance(value, dict) and {"row", "error", "stage"} <= value.keys():
            value = value["row"]  # fed in from a list of failures, and failed again
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, (dict, str)) else text


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a field stands twice")
    return dict(pairs)


def _drop(ended: Ended) -> dict[str, Any]:
    return {
        "stage": ended.stage,
        "row_address": ended.row.address,
        "video_id": ended.video_id,
        "trajectory_id": ended.trajectory_id,
        "reason": ended.reason,
        "detail": ended.detail,
        "score": ended.score,
    }
