"""trajectory/1: exact round trip, refusals with their place, and the published schema file."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import get_args

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import video2gui
from video2gui import codec, schema
from video2gui.errors import SchemaError
from video2gui.geometry import Box, Point
from video2gui.timebase import MAX_NS, clock, ns_from_s, s_from_ns

SCHEMA_FILE = Path(video2gui.__file__).parent / "trajectory-1.schema.json"

fractions = st.floats(0, 1)
instants = st.integers(0, MAX_NS)
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
keys = st.sampled_from(["a", "enter", "f5", "page_down", "+", "-", "é"])
points = st.builds(Point, fractions, fractions)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    x1, x2 = sorted(draw(st.lists(fractions, min_size=2, max_size=2, unique=True)))
    y1, y2 = sorted(draw(st.lists(fractions, min_size=2, max_size=2, unique=True)))
    return Box(x1, y1, x2, y2)


actions = st.one_of(
    *(st.builds(kind) for kind in (schema.Click, schema.DoubleClick, schema.TripleClick, schema.RightClick)),
    *(st.builds(kind) for kind in (schema.MiddleClick, schema.MoveTo, schema.Drag, schema.LongPress, schema.Wait)),
    st.builds(
        schema.Scroll,
        st.sampled_from(["up", "down", "left", "right"]),
        st.none() | st.floats(0, 1, exclude_min=True),
    ),
    st.builds(schema.Press, keys),
    st.builds(lambda k: schema.Hotkey(("ctrl", k)), keys),
    st.builds(schema.TypeText, st.none() | words),
    st.builds(schema.Pinch, st.sampled_from(["in", "out"]), st.none() | st.floats(0.1, 9)),
    st.builds(
        schema.MultiTouch,
        st.lists(
            st.builds(schema.Finger, st.lists(points, min_size=1, max_size=3).map(tuple)), min_size=2, max_size=3
        ).map(tuple),
    ),
    st.builds(schema.OpenApp, words),
    st.builds(schema.Finish, st.sampled_from(["success", "failure"])),
)

signals = st.builds(schema.Signal, st.sampled_from(get_args(schema.SignalSource)), fractions, st.none() | words)
evidence = st.builds(
    schema.Evidence,
    st.lists(signals, min_size=1, max_size=3).map(tuple),
    fractions,
    st.sampled_from(["seen", "inferred"]),
    st.sampled_from(["seen", "inferred", None]),
    st.sampled_from(["seen", "inferred", None]),
)
screenshots = st.builds(schema.Screenshot, instants) | st.builds(
    schema.Screenshot, instants, st.sampled_from(["000.before.jpg", "017.after.png"]), st.just("0f" * 32)
)


@st.composite
def groundings(draw: st.DrawFn, *, drag: bool) -> schema.Grounding:
    box = draw(st.none() | boxes())
    point = draw(points) if box is None else box.centre
    return schema.Grounding(point, draw(instants), box, draw(st.none() | points) if drag else None)


@st.composite
def steps(draw: st.DrawFn) -> schema.Step:
    start, end = sorted(draw(st.tuples(instants, instants)))
    action = draw(actions)
    return schema.Step(
        start,
        end,
        action,
        draw(evidence),
        draw(st.none() | groundings(drag=isinstance(action, schema.Drag))),
        draw(st.none() | words),
        draw(st.none() | words),
        draw(st.none() | screenshots),
        draw(st.none() | screenshots),
        draw(st.booleans()),
    )


@st.composite
def trajectories(draw: st.DrawFn) -> schema.Trajectory:
    start, end = sorted(draw(st.tuples(instants, instants)))
    optional = st.none() | words
    source = schema.Source("a_B-9", draw(words), 1280, 720, "ab" * 32, draw(optional), draw(optional))
    return schema.Trajectory(
        "a_B-9-000",
        source,
        schema.Words("do " + draw(words), draw(st.sampled_from(["title", "chapter", "narration", "vlm"]))),
        start,
        end,
        tuple(draw(st.lists(steps(), max_size=4))),
        schema.MadeBy("observed/1", "digest", ("ocr",), ()),
        platform=draw(st.sampled_from([*get_args(schema.Platform), None])),
        app=draw(optional),
        website=draw(optional),
        plan=draw(st.none() | st.lists(words, max_size=2).map(tuple)),
    )


def small() -> schema.Trajectory:
    seen = schema.Evidence((schema.Signal("pixels", 0.5),), 0.5, "seen")
    return schema.Trajectory(
        "clip-000",
        schema.Source("clip", "file:clip.mp4", 640, 360, "ab" * 32),
        schema.Words("Save the file", "title"),
        0,
        5_000_000_001,
        (
            schema.Step(1_000_000_000, 2_000_000_000, schema.Click(), seen, schema.Grounding(Point(0.5, 0.5), 10)),
            schema.Step(3_000_000_000, 4_000_000_000, schema.Hotkey(("ctrl", "s")), seen),
        ),
        schema.MadeBy("observed/1", "digest"),
    )


@given(trajectories())
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_a_trajectory_comes_back_exactly_and_fits_the_published_schema(trajectory: schema.Trajectory) -> None:
    text = codec.dumps(trajectory)
    assert codec.loads(schema.Trajectory, text) == trajectory
    assert codec.dumps(codec.loads(schema.Trajectory, text)) == text
    jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text("utf-8"))).validate(json.loads(text))


def test_the_published_schema_is_what_the_types_say() -> None:
    built = codec.json_schema(schema.Trajectory, name=schema.SCHEMA_VERSION, title="A grounded GUI trajectory")
    assert json.loads(SCHEMA_FILE.read_text("utf-8")) == built, "stale: run `make schema`"


def test_every_action_of_both_tables_has_its_canonical_name() -> None:
    assert set(schema.ACTIONS) == {
        "click", "double_click", "triple_click", "right_click", "middle_click", "move_to", "drag", "scroll",
        "press", "hotkey", "type", "long_press", "open_app", "pinch", "multi_touch", "wait", "finish",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ('"click"', '"clik"', "steps[0].action.kind", "did you mean 'click'"),
        ('"kind":"click"', '"kind":"click","button":"left"', "steps[0].action.button", "unknown field"),
        ('"kind":"click"', '"kin":"click"', "steps[0].action.kind", "unknown kind None"),
        ('"x":0.5', '"x":1.5', "steps[0].grounding.point", "x is 1.5"),
        ('"x":0.5', '"x":"0.5"', "steps[0].grounding.point.x", "expected a finite number"),
        ('"start_s":1.0', '"start_s":true', "steps[0].start_s", "expected a number of seconds"),
        ('"start_s":1.0', '"start_s":2.5', "steps[0]", "step from"),
        ('"start_s":1.0', '"start_s":1e300', "steps[0].start_s", "days"),
        ('"ctrl","s"', '"Ctrl","s"', "steps[1].action", "write 'ctrl'"),
        ('"width_px":640', '"width_px":640.0', "source.width_px", "expected a whole number"),
        ('"schema":"trajectory/1"', '"schema":"trajectory/2"', "schema", "trajectory/1"),
        ('"url":"file:clip.mp4",', "", "source.url", "missing"),
        ('"trajectory_id":"clip-000"', '"trajectory_id":"../x"', "", "not a safe key"),
        ('"plan":null', '"plan":null,"plan":null', "", "stands twice"),
        ('"confidence":0.5', '"confidence":NaN', "", "NaN"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(old: str, new: str, place: str, says: str) -> None:
    text = codec.dumps(small())
    assert old in text
    with pytest.raises(SchemaError) as caught:
        codec.loads(schema.Trajectory, text.replace(old, new, 1))
    assert caught.value.address == place
    assert says in str(caught.value)


def test_deep_nesting_is_a_refusal_not_a_crash() -> None:
    with pytest.raises(SchemaError, match="not JSON"):
        codec.loads(schema.Trajectory, "[" * 200_000)


@given(st.integers(-MAX_NS, MAX_NS))
def test_seconds_hold_every_nanosecond(ns: int) -> None:
    assert ns_from_s(s_from_ns(ns)) == ns
    assert ns_from_s(json.loads(json.dumps(s_from_ns(ns)))) == ns


def test_clock_reads_like_a_clock() -> None:
    assert clock(3_723_045_600_000) == "1:02:03.046"
    assert clock(-1_500_000_000) == "-0:01.500"


def test_values_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        small().app = "x"  # type: ignore[misc]


@given(st.text(max_size=12))
def test_canonical_keys_stay_canonical(name: str) -> None:
    if name.strip():
        assert schema.canonical_key(schema.canonical_key(name)) == schema.canonical_key(name)
