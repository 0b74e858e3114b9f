"""Presses and drags on small cell movies drawn here: which button, from where to where, and what is none of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from video2gui.screen.changes import CellMovie, ChangeDetector
from video2gui.screen.events import Scene, find_actions
from video2gui.screen.keys_overlay import KeyOverlayReader
from video2gui.screen.observed import ObservedAction
from video2gui.screen.training.forest import thinned
from video2gui.screen.trees import read_forest
from video2gui.screen.watch import Track, Watched

SIZE_WH = (1280, 720)
RATE = 30
PAPER, INK, LIGHT = (246, 246, 246), (40, 40, 40), (190, 215, 250)

Picture = npt.NDArray[np.uint8]
Paint = Callable[[Picture, float], None]
Pointer = Callable[[float], tuple[float, float]]


def rect(picture: Picture, box: tuple[float, float, float, float], colour: tuple[int, int, int]) -> None:
    left, top, right, bottom = (round(v / 4) for v in box)
    picture[max(top, 0) : bottom, max(left, 0) : right] = colour


def way(*stops: tuple[float, float, float]) -> Pointer:
    """The pointer's place in time: (from when, x, y) for each stop; from one to the next it takes 0.5 s."""

    def at(now: float) -> tuple[float, float]:
        x, y = stops[0][1:]
        for since, to_x, to_y in stops[1:]:
            u = min(max((now - since) / 0.5, 0.0), 1.0)
            ease = u * u * (3 - 2 * u)
            x, y = x + (to_x - x) * ease, y + (to_y - y) * ease
        return x, y

    return at


def film(pointer: Pointer, paint: Paint, seconds: float, shape: str = "arrow") -> Watched:
    detector = ChangeDetector(SIZE_WH)
    movie = CellMovie(detector.layout)
    gw, gh = detector.layout.grid_wh
    places = []
    for k in range(round(seconds * RATE)):
        now = k / RATE
        picture = np.full((gh, gw, 3), PAPER, np.uint8)
        for line in range(8):  # something to read, far from what happens
            rect(picture, (900, 560 + 16 * line, 900 + 37 * (line + 1), 568 + 16 * line), INK)
        paint(picture, now)
        x, y = pointer(now)
        rect(picture, (x, y, x + 8, y + 16), INK)
        places.append((x, y))
        movie.append(round(now * 1e9), detector.update(picture))
    count = len(places)
    boxes = tuple((x - 1, y - 1, x + 13, y + 20) for x, y in places)
    track = Track(
        np.array([x for x, _ in places]), np.array([y for _, y in places]), np.ones(count, bool), (shape,) * count,
        np.full(count, 0.9), boxes,
    )  # fmt: skip
    return Watched(movie, track, (), {}, KeyOverlayReader(), movie.times_ns[-1])


def seen(watched: Watched) -> list[ObservedAction]:
    return find_actions(Scene.of(watched))[0]


def place(action: ObservedAction) -> tuple[int, int]:
    assert action.point is not None
    x, y = action.point.to_px(SIZE_WH)
    return round(x), round(y)


def menu(picture: Picture, x: float, y: float) -> None:
    rect(picture, (x, y, x + 180, y + 210), (200, 200, 200))
    rect(picture, (x + 4, y + 4, x + 176, y + 206), (255, 255, 255))
    for row in range(6):
        rect(picture, (x + 20, y + 14 + 32 * row, x + 80 + 12 * row, y + 22 + 32 * row), INK)


POINTER = way((0, 300, 500), (1.0, 620, 240), (3.2, 200, 560))


def test_a_menu_with_its_corner_at_the_pointer_is_a_right_click() -> None:
    def paint(picture: Picture, now: float) -> None:
        if 2.0 <= now < 3.0:
            menu(picture, 620, 240)

    first = seen(film(POINTER, paint, 5))[0]
    assert first.action.kind == "right_click"
    assert place(first) == pytest.approx((620, 240), abs=6)
    assert first.start_ns / 1e9 == pytest.approx(2.0, abs=0.15)


def test_a_button_that_answers_is_a_click() -> None:
    def paint(picture: Picture, now: float) -> None:
        rect(picture, (580, 225, 680, 255), (120, 170, 240) if 2.0 <= now < 2.1 else (220, 220, 220))
        if now >= 2.1:
            rect(picture, (580, 300, 840, 340), (210, 240, 210))
            rect(picture, (590, 312, 800, 324), INK)

    (only,) = seen(film(POINTER, paint, 5))
    assert only.action.kind == "click"
    assert place(only) == pytest.approx((620, 240), abs=6)


def test_a_card_that_goes_with_the_pointer_is_dragged_even_with_a_pause() -> None:
    pointer = way((0, 300, 500), (1.0, 300, 240), (2.0, 520, 300), (2.9, 800, 420), (4.2, 820, 120))

    def paint(picture: Picture, now: float) -> None:
        x, y = (300.0, 240.0) if now < 1.85 else pointer(now) if now < 3.6 else (800.0, 420.0)
        rect(picture, (x - 60, y - 24, x + 60, y + 28), (150, 190, 240))
        rect(picture, (x - 40, y - 8, x + 30, y), INK)

    drags = [a for a in seen(film(pointer, paint, 5.5)) if a.action.kind == "drag"]
    assert len(drags) == 1
    assert place(drags[0]) == pytest.approx((300, 240), abs=8)
    assert drags[0].end_point is not None
    assert drags[0].end_point.to_px(SIZE_WH) == pytest.approx((800, 420), abs=8)


def test_rows_that_light_up_under_a_moving_pointer_are_neither_pressed_nor_dragged() -> None:
    pointer = way((0, 200, 640), (1.0, 220, 200), (2.5, 260, 420), (4.0, 700, 460))

    def paint(picture: Picture, now: float) -> None:
        for row in range(12):
            top = 180 + 32 * row
            x, y = pointer(now)
            if x < 420 and top <= y < top + 32:
                rect(picture, (100, top, 420, top + 32), LIGHT)
            rect(picture, (120, top + 12, 220 + 9 * row, top + 20), INK)

    assert seen(film(pointer, paint, 5.5)) == []


def test_a_thinned_recording_has_fewer_frames_and_the_same_pictures() -> None:
    def paint(picture: Picture, now: float) -> None:
        if now >= 2.0:
            menu(picture, 620, 240)

    watched = film(POINTER, paint, 4)
    fewer = thinned(watched, 10.0)
    gaps = np.diff(fewer.movie.times_ns)
    assert gaps.min() >= 0.97e8
    assert len(fewer.track.shape) == len(fewer.movie.times_ns) == len(fewer.track.x_px)
    assert np.array_equal(fewer.movie.picture(len(gaps)), watched.movie.picture(len(gaps) * 3))


def test_boosted_trees_add_up_to_odds_and_forests_to_a_mean(tmp_path: Path) -> None:
    stump = {"feature": [0, -1, -1], "threshold": [2.0, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0]}
    boosted = {"names": ["a"], "classes": ["no", "yes"], "base": -1.0, "trees": [{**stump, "value": [0, 1.0, 3.0]}] * 2}
    (tmp_path / "b.json").write_text(json.dumps(boosted))
    found = read_forest(tmp_path / "b.json").probabilities([[2.0], [2.5]])
    assert found[:, 1] == pytest.approx([1 / (1 + np.exp(-1.0)), 1 / (1 + np.exp(-5.0))])
    grown = {"names": ["a"], "classes": ["no", "yes"]}
    grown["trees"] = [  # type: ignore[assignment]
        {**stump, "value": [[0, 0], [0.5, 0.5], [0, 1]]},
        {**stump, "value": [[0, 0], [1, 0], [0, 1]]},
    ]
    (tmp_path / "f.json").write_text(json.dumps(grown))
    assert read_forest(tmp_path / "f.json").probabilities([[1.0]])[0] == pytest.approx([0.75, 0.25])
