"""A drawn recording whose truth is known is observed; what shows no action gives none."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil
from PIL import ImageDraw, ImageFont

from video2gui.captions import read_captions
from video2gui.ocr import open_ocr
from video2gui.screen import Observation, events_json, observe
from video2gui.screen.effects import find_spots
from video2gui.screen.keystrokes import Typing, find_typing
from video2gui.screen.observing import _by_hand, _first_key
from video2gui.screen.watch import watch
from video2gui.testing import Screencast, draw_screencast, write_video
from video2gui.timebase import NS_PER_MS
from video2gui.video.frame import Frame, Image
from video2gui.video.memory_reader import MemoryReader

SEEDS = (0, 3)


@pytest.fixture(scope="module", params=SEEDS)
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Screencast, Observation]:
    path = tmp_path_factory.mktemp("observe") / "clip.mp4"
    truth = draw_screencast(path, seed=request.param)
    return truth, observe(path, ocr=open_ocr())


def test_most_clicks_are_seen_where_and_when_they_were(seen: tuple[Screencast, Observation]) -> None:
    truth, found = seen
    clicks = [a for a in found.actions if a.action.kind == "click" and a.point is not None]
    true = [a for a in truth.actions if a.kind == "click"]
    hits = 0
    for one in true:
        near = [a for a in clicks if abs(a.start_ns - one.start_ns) <= 500 * NS_PER_MS]
        hits += any(_px(a, one, found.size_wh) <= 14 for a in near)
    assert hits >= 0.6 * len(true), [(c.start_ns, c.point) for c in clicks]


def _px(action: object, true: object, size_wh: tuple[int, int]) -> float:
    x, y = action.point.to_px(size_wh)  # type: ignore[attr-defined]
    true_x, true_y = true.point.to_px(size_wh)  # type: ignore[attr-defined]
    return math.hypot(x - true_x, y - true_y)


def test_the_typed_text_is_read(seen: tuple[Screencast, Observation]) -> None:
    truth, found = seen
    (written,) = (a.text for a in truth.actions if a.kind == "type")
    read = "".join(a.action.text or "" for a in found.actions if a.action.kind == "type")
    assert sum(read.count(c) > 0 for c in set(written or "")) >= 0.7 * len(set(written or "")), read


def test_everything_seen_lies_in_the_video_and_says_why(seen: tuple[Screencast, Observation]) -> None:
    _, found = seen
    starts = [action.start_ns for action in found.actions]
    assert starts == sorted(starts)
    for action in found.actions:
        assert 0 <= action.start_ns <= action.end_ns <= found.end_ns
        assert 0 <= action.before_ns <= action.after_ns <= found.end_ns
        assert action.evidence.signals
        assert (action.point is None) == (action.evidence.place is None)


def test_the_pointer_is_followed(seen: tuple[Screencast, Observation]) -> None:
    truth, found = seen
    true = dict(truth.pointer)
    errors = [
        math.hypot(
            *(a - b for a, b in zip(s.point.to_px(found.size_wh), true[s.time_ns].to_px(found.size_wh), strict=True))
        )
        for s in found.pointer
        if s.point is not None and s.visible and s.time_ns in true
    ]
    assert len(errors) >= 0.5 * len(found.pointer)
    assert float(np.median(errors)) <= 4


def test_events_are_plain_json_in_pixels(seen: tuple[Screencast, Observation]) -> None:
    found = seen[1]
    events = json.loads(json.dumps(events_json(found)))
    assert len(events) == len(found.actions)
    for event in events:
        assert event["t_start"] <= event["t_end"]
        if event.get("x") is not None:
            assert 0 <= event["x"] <= found.size_wh[0]


def test_a_still_picture_shows_no_action(tmp_path: Path) -> None:
    picture = np.full((360, 640, 3), 240, np.uint8)
    picture[100:140, 200:400] = (40, 90, 160)
    write_video(tmp_path / "still.mp4", [picture] * 40, [i * 100 * NS_PER_MS for i in range(40)])
    found = observe(tmp_path / "still.mp4", ocr=open_ocr())
    assert found.actions == ()
    assert all(sample.point is None for sample in found.pointer)


def test_film_shows_no_action(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    world = (rng.normal(0, 40, (360, 1000, 3)).cumsum(axis=1) / 6 + 120) % 255
    images = [world[:, 6 * i : 6 * i + 480].astype(np.uint8) for i in range(80)]
    write_video(tmp_path / "film.mp4", images, [i * 50 * NS_PER_MS for i in range(80)])
    assert observe(tmp_path / "film.mp4", ocr=open_ocr()).actions == ()


def test_keys_that_are_only_spoken_are_inferred(tmp_path: Path) -> None:
    truth = draw_screencast(tmp_path / "clip.mp4")
    assert truth.actions
    (tmp_path / "clip.vtt").write_text("WEBVTT\n\n00:06.000 --> 00:07.000\nPress control S.\n")
    found = observe(tmp_path / "clip.mp4", ocr=None, transcript=read_captions(tmp_path / "clip.vtt"))
    keys = [a for a in found.actions if a.action.kind == "hotkey"]
    assert [a.action.keys for a in keys] == [("ctrl", "s")]
    assert keys[0].evidence.action == "inferred"
    assert {signal.source for signal in keys[0].evidence.signals} >= {"narration"}


@pytest.mark.parametrize(
    ("text", "steps", "step_ms", "by_hand"),
    [
        ("Thursday", 8, 150, True),
        ("chai", 5, 60, True),
        ("72", 3, 50, True),
        ("1", 9, 150, False),  # a counter turns over in place
        ("request-progress", 4, 100, False),  # a program writes words
    ],
)
def test_typing_has_a_letter_a_step_at_the_speed_of_hands(text: str, steps: int, step_ms: int, by_hand: bool) -> None:
    typing = Typing(tuple(range(steps)), (0, 0, 40, 8), 0.9)
    assert _by_hand(text, typing, [k * step_ms * NS_PER_MS for k in range(steps)]) is by_hand


class _Line:
    """A drawn line of text in frames of 66 ms: the text that stands there at each of them."""

    def __init__(self, *shown: str, right: bool = False) -> None:
        self.shown, self.right = shown, right

    def image(self, text: str) -> Image:
        picture = Pil.new("RGB", (960, 600), "white")
        pen, font = ImageDraw.Draw(picture), ImageFont.load_default(22)
        pen.rectangle((300, 280, 660, 320), outline=(90, 90, 90))
        pen.text((650 if self.right else 310, 286), text, fill="black", font=font, anchor="ra" if self.right else "la")
        return np.asarray(picture)

    def typing(self, known: bool = True) -> list[Typing]:
        frames = [Frame(k * 66 * NS_PER_MS, self.image(text)) for k, text in enumerate(self.shown)]
        watched = watch(MemoryReader(frames).pictures(), (960, 600))
        assert watched is not None
        if known:
            watched.track.x_px[:], watched.track.y_px[:] = 500.0, 500.0
        return find_typing(watched.movie, watched.track, find_spots(watched.movie, watched.track))


def _steps(*texts: str, rest: int = 3) -> tuple[str, ...]:
    return tuple(text for text in texts for _ in range(rest))


def test_typing_begins_with_the_key_that_replaces_what_stood_there() -> None:
    (typing,) = _Line(*_steps("Untitled folder", "P", "Pr", "Pro", "Proj", "Proje")).typing()
    assert (typing.opening, typing.first) == (3, 6)
    assert _first_key(typing, "Proje", [k * 66 * NS_PER_MS for k in range(20)]) == 3


def test_a_focus_that_came_before_is_no_key() -> None:
    times = [0, 600, 750, 900, 1050]
    typing = Typing((0, 1, 2, 3, 4), (0, 0, 9, 5), 0.9)
    assert _first_key(typing, "Graz", [t * NS_PER_MS for t in times]) == 1
    assert _first_key(typing, "Graze", [t * NS_PER_MS for t in times]) == 1
    assert _first_key(typing, "Graze", [t * NS_PER_MS for t in (0, 150, 300, 450, 600)]) == 0


def test_a_calculators_line_grows_to_the_left() -> None:
    line = _Line(*_steps("", "1", "12", "128", "1289"), right=True)
    (typing,) = line.typing()
    assert (typing.first, typing.last) == (3, 12)
    assert line.typing(known=False) == []  # a game's score does so, too
