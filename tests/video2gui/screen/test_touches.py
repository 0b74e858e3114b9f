"""What a finger did on a drawn phone is read off the mark under it; without a mark nothing is placed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from video2gui.screen import Observation, observe
from video2gui.screen.observing import conclude
from video2gui.screen.touches import find_touches
from video2gui.screen.watch import watch
from video2gui.testing import Screencast, TouchStyle, TrueAction, draw_touchcast
from video2gui.timebase import NS_PER_MS
from video2gui.video import open_video
from video2gui.video.frame import Frame, Image
from video2gui.video.memory_reader import MemoryReader

SPOT = TouchStyle("spot", 0.03, (240, 240, 240), 0.75)
RING = TouchStyle("ring", 0.04, (230, 60, 60), 0.8, fade_out_ms=80)


@pytest.fixture(scope="module", params=[(SPOT, (360, 780), 25.0), (RING, (300, 640), 15.0)], ids=("spot", "ring"))
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Screencast, Observation]:
    style, size, fps = request.param
    path = tmp_path_factory.mktemp("touch") / "phone.mp4"
    gestures = ("tap", "tap", "hold", "tap", "drag", "swipe")
    truth = draw_touchcast(path, 5, size, style, fps, gestures, {"crf": "26"})
    return truth, observe(path, ocr=None)


def _of(kinds: tuple[str, ...], seen: tuple[Screencast, Observation]) -> list[tuple[TrueAction, bool]]:
    """Each true action of these kinds, and whether one like it was seen in its time and place."""
    truth, found = seen
    return [
        (
            one,
            any(
                a.action.kind == one.kind
                and a.point is not None
                and abs(a.start_ns - one.start_ns) <= 300 * NS_PER_MS
                and _apart_px(a.point.to_px(found.size_wh), one.point.to_px(found.size_wh)) <= 6
                for a in found.actions
            ),
        )
        for one in truth.actions
        if one.kind in kinds
    ]


def _apart_px(one: tuple[float, float], two: tuple[float, float]) -> float:
    return math.hypot(one[0] - two[0], one[1] - two[1])


def test_taps_and_holds_are_seen_where_the_finger_was(seen: tuple[Screencast, Observation]) -> None:
    hits = [hit for _, hit in _of(("click", "long_press"), seen)]
    assert sum(hits) >= 0.7 * len(hits), hits


def test_a_finger_that_carries_a_row_drags_it(seen: tuple[Screencast, Observation]) -> None:
    ((true, hit),) = _of(("drag",), seen)
    assert hit
    ends = [a.end_point for a in seen[1].actions if a.action.kind == "drag" and a.end_point is not None]
    assert true.end_point is not None
    assert min(_apart_px(p.to_px(seen[1].size_wh), true.end_point.to_px(seen[1].size_wh)) for p in ends) <= 10


def test_nothing_is_made_up_beside_what_was_done(seen: tuple[Screencast, Observation]) -> None:
    truth, found = seen
    for action in found.actions:
        assert any(t.start_ns - 400e6 <= action.start_ns <= t.end_ns + 400e6 for t in truth.actions), action


def test_without_a_mark_there_is_no_finger(tmp_path: Path) -> None:
    path = tmp_path / "phone.mp4"
    draw_touchcast(path, 2, (300, 640), TouchStyle("none"), 20.0, ("tap", "swipe", "tap", "hold", "tap"))
    with open_video(path, "pyav") as video:
        watched = watch(video.pictures(), video.info.size_wh)
    assert watched is not None
    assert find_touches(watched.movie, watched.track, watched.shifts) == []


@pytest.mark.parametrize(("turns", "size"), [(True, (300, 640)), (False, (300, 640)), (True, (640, 300))])
def test_without_a_mark_the_button_that_answers_is_inferred(turns: bool, size: tuple[int, int]) -> None:
    def image(n: int) -> Image:
        picture = np.full((size[1], size[0], 3), 245, np.uint8)
        picture[60:80, 20:200] = 60
        picture[120:160, 150:250] = 120 if 30 <= n < 34 else 200  # pressed
        if turns and n >= 34:
            picture[50:] = (
                np.random.default_rng(5)
                .integers(0, 255, (size[1] // 10, size[0] // 10, 3))
                .astype(np.uint8)
                .repeat(10, 0)
                .repeat(10, 1)[50:]
            )
        return picture

    reader = MemoryReader([Frame(n * 40 * NS_PER_MS, image(n)) for n in range(60)])
    watched = watch(reader.pictures(), size)
    assert watched is not None
    found = conclude(watched, reader, None, None)
    phone = size[0] < size[1]
    assert len(found.actions) == int(turns and phone)
    for action in found.actions:
        assert action.action.kind == "click"
        assert action.evidence.place == action.evidence.action == "inferred"
        assert action.point is not None
        assert _apart_px(action.point.to_px(size), (200, 140)) <= 6
        assert abs(action.start_ns - 1200 * NS_PER_MS) <= 100 * NS_PER_MS


def test_a_light_that_blinks_is_no_finger() -> None:
    ys, xs = np.mgrid[0:640, 0:300]
    lit = np.hypot(xs - 80, ys - 200) <= 10

    def image(n: int) -> Image:
        picture = np.full((640, 300, 3), 250, np.uint8)
        picture[100:110, 20:200] = 90
        if n % 12 < 6:
            picture[lit] = (200, 200, 210)
        return picture

    reader = MemoryReader([Frame(n * 40 * NS_PER_MS, image(n)) for n in range(90)])
    watched = watch(reader.pictures(), (300, 640))
    assert watched is not None
    assert find_touches(watched.movie, watched.track, watched.shifts) == []
