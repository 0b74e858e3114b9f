"""What is measured did not train, and training learns what a row says, not which fields it has."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np

from video2gui.schema import VideoMeta
from video2gui.textmodel import features, raw_score
from video2gui.textmodel.training import Disguise, Example, Rows, charts, interval, labelled, train


def example(title: str, wanted: bool) -> Example:
    return Example(VideoMeta("a", "a", "", "", title=title), wanted, "s", "s")


def test_a_source_is_one_group_and_a_large_one_is_split_by_channel(tmp_path: Path) -> None:
    row = {"id": "yt:x", "title": "t", "label": "yes", "source_repo": "small", "channel": "one"}
    rows = [row, {**row, "channel": "two"}, {**row, "label": "unclear"}]
    rows += [{**row, "source_repo": "large", "channel": f"ch{number % 2}"} for number in range(401)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    groups = [example.group for example in labelled(tmp_path / "rows.jsonl")]
    assert groups[:2] == ["small", "small"]
    assert set(groups[2:]) == {"large ch0", "large ch1"}


def test_a_chart_row_that_is_labelled_too_is_left_out(tmp_path: Path) -> None:
    names = ("video_id", "title", "channel_hash", "category_name", "tags", "default_language")
    rows = [("a", "Other words", "c", "Music", "", ""), ("b", "how  to PASTE", "c", "Music", "", "")]
    rows.append(("c", "A song", "d", "Music", "x,y", "en"))
    with gzip.open(tmp_path / "c.csv.gz", "wt", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    (found,) = charts([tmp_path / "c.csv.gz"], [example("How to paste", True)])
    assert (found.meta.video_id, found.meta.tags, found.group, found.wanted) == ("c", ("x", "y"), "d", False)


def test_training_tells_lessons_from_songs_the_same_way_each_time() -> None:
    rows = [example(f"How to use the menu {n}", True) for n in range(40)]
    rows += [example(f"A song of love {n}", False) for n in range(40)]
    numbers = Rows.of(rows, [row.meta for row in rows])
    weights = train(numbers)
    lesson, song = (raw_score(weights, features(example(t, True).meta)) for t in ("Use the menu", "Love song"))
    assert lesson > 0 > song
    assert np.array_equal(weights, train(numbers))


def test_a_disguise_gives_a_category_to_half_of_the_rows_and_keeps_their_titles() -> None:
    disguise = Disguise()
    bare, filed = (VideoMeta("a", "a", "", "", title="t", category=category) for category in (None, "Music"))
    for meta in (bare, filed):
        disguised = [disguise(meta) for _ in range(400)]
        assert {one.title for one in disguised} == {"t"}
        assert 140 < sum(one.category is not None for one in disguised) < 260
    assert {disguise(filed).category for _ in range(50)} == {"Music", None}


def test_interval_of_a_share() -> None:
    assert interval(8, 10) == "0.800 (0.49-0.94)"
    assert interval(0, 0) == "-"
