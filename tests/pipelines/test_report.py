from __future__ import annotations

import html.parser
import re
from collections import Counter
from dataclasses import replace

from pipelines import report
from pipelines.failures import Ended, SampleRef, Tally
from pipelines.report import Report
from pipelines.rows import RowRef
from tests.video2gui.test_shards import GOOD, SIZE_WH
from video2gui import codec, shards
from video2gui.geometry import Box, Point
from video2gui.schema import Drag, Grounding, Hotkey, RightClick, Sample, Trajectory, TypeText, Words


def ended(line: int, kind: str, stage: str, reason: str, **more: object) -> Ended:
    return Ended(RowRef(0, line, 0, 1, "rows"), kind, stage, reason, **more)  # type: ignore[arg-type]


def made() -> Report:
    sample = SampleRef("k", "0" * 64, 10, 3, {"click": 2, "type": 1})
    tally = Tally.of(
        [
            ended(1, "failed", "parse_row", "row"),
            ended(2, "dropped", "filter_metadata", "not_a_tutorial"),
            ended(3, "dropped", "drop_duplicates", "duplicate"),
            ended(4, "failed", "fetch_video", "gone"),
            ended(5, "dropped", "check", "too_few_steps", trajectory_id="v-000"),
            ended(5, "packed", "pack", "packed", samples=(sample, sample)),
        ]
    )
    manifest = shards.Manifest(2, 1, 6, 3, 4096, "d", (shards.ShardInfo("t-00000.tar", 2, 4096, "0" * 64),))
    return report.make(5, tally, manifest)


def test_what_goes_into_a_stage_came_out_of_the_one_before() -> None:
    value = made()
    assert (value.rows, value.packed, value.dropped, value.failed) == (5, 1, 2, 2)
    assert value.stages[0].went_in == value.rows
    for one, two in zip(value.stages, value.stages[1:], strict=False):
        assert one.went_on == two.went_in == one.went_in - sum(one.dropped.values()) - sum(one.failed.values())
    assert value.stages[-1].went_on == value.packed
    assert value.trajectories_dropped == {"too_few_steps": 1}
    assert value.actions == {"click": 4, "type": 2}
    assert codec.loads(Report, codec.dumps(value)) == value


class Page(html.parser.HTMLParser):
    """Collects tags and text, and whether every tag that is opened is closed in its turn."""

    VOID = frozenset({"meta", "img", "rect", "circle", "line"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile_sample() -> Sample:
    trajectory = codec.loads(Trajectory, GOOD.files["json"])
    step = trajectory.steps[0]
    place = Grounding(Point(0.25, 0.75), 0, Box(0.2, 0.7, 0.3, 0.8))
    steps = (
        replace(step, target="<script>alert(1)</script>", grounding=place),
        replace(trajectory.steps[1], action=TypeText("</ol><img src=http://evil.example/x>")),
        replace(step, action=Drag(), grounding=replace(place, end_point=Point(0.5, 0.5)), before=None, after=None),
    )
    changed = replace(trajectory, steps=steps, instruction=Words("</article><h1>\ud800 & co", "title"))
    files = {**GOOD.files, "json": codec.dumps(changed).encode("utf-8", "backslashreplace")}
    return Sample(GOOD.key, files)


def test_the_page_is_whole_and_nothing_in_it_acts_or_asks() -> None:
    failure = {"row_address": "a/<b>:1", "stage": "fetch_video", "message": 'no <video> & no "sound"'}
    text = report.to_html(made(), [failure], [hostile_sample()])
    page = Page(text)
    assert page.open == []
    assert page.tags["script"] == 0
    assert page.tags["img"] == 2
    assert "alert(1)" in page.text
    assert "no <video> & no" in page.text
    links = [value for name, value in page.attributes if name in ("src", "href", "srcset", "action") and value]
    assert all(value.startswith("data:image/jpeg;base64,") for value in links)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "default-src 'none'" in text
    assert text.encode("utf-8")
    assert "url(" not in text


def test_the_click_is_drawn_where_it_was_made() -> None:
    text = report.to_html(made(), [], [hostile_sample()])
    x, y = 0.25 * SIZE_WH[0], 0.75 * SIZE_WH[1]
    assert f'viewBox="0 0 {SIZE_WH[0]} {SIZE_WH[1]}"' in text
    assert re.search(rf"<circle class=dot cx={x:.1f} cy={y:.1f} ", text)


def test_actions_in_words() -> None:
    assert report.words(Hotkey(("ctrl", "s"))) == "press ctrl + s"
    assert report.words(TypeText(None)) == "type, not readable"
    assert len(report.words(TypeText("x" * 100))) < 70
    assert report.words(RightClick()) == "right click"


def test_a_run_without_anything_has_a_page_too() -> None:
    empty = report.make(0, Tally.of([]), shards.Manifest(0, 0, 0, 0, 0, "d", ()))
    assert Page(report.to_html(empty, [], [])).open == []
