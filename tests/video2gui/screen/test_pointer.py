from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil
from PIL import ImageDraw, ImageFont

from video2gui.geometry import Point
from video2gui.screen.observed import PointerSample
from video2gui.screen.pointer import SHAPES, BoxPx, Candidate, PointerFinder
from video2gui.screen.tracker import PointerTracker
from video2gui.screen.training.evaluate_pointer import score_track, track_video
from video2gui.testing import draw_screencast
from video2gui.video.frame import Image

WIDTH, HEIGHT = 640, 400
FRAME_NS = 66_000_000
ARROW = ((0, 0), (0, 17), (4, 13.2), (7, 20), (9.6, 18.8), (6.8, 12.4), (12.2, 12.4))


@pytest.fixture(scope="module")
def finder() -> PointerFinder:
    return PointerFinder()


def screen(seed: int = 0) -> Pil.Image:
    """A window with lines of text on a plain desktop."""
    rng = np.random.default_rng(seed)
    picture = Pil.new("RGB", (WIDTH, HEIGHT), tuple(int(c) for c in rng.integers(60, 140, 3)))
    pen = ImageDraw.Draw(picture)
    pen.rectangle((40, 30, 600, 370), fill=(245, 245, 245), outline=(90, 90, 90))
    for y in range(50, 350, 24):
        words = "".join(rng.choice(list("abcdefghij klmnopqrstu vwxyzIl|"), 50))
        pen.text((60, y), words, fill=(30, 30, 30), font=ImageFont.load_default(15))
    return picture


def with_arrow(picture: Pil.Image, x: float, y: float, scale: float = 1.0) -> Image:
    """A white arrow with a black edge, its tip on (x, y), drawn four times as large and scaled down."""
    layer = Pil.new("RGBA", (160, 160))
    pen = ImageDraw.Draw(layer)
    points = [(20 + 4 * scale * a, 20 + 4 * scale * b) for a, b in ARROW]
    pen.polygon(points, fill="white")
    pen.line([*points, points[0], points[1]], fill="black", width=6, joint="curve")
    small = layer.resize((40, 40), Pil.Resampling.BOX)
    out = picture.copy()
    out.paste(small, (round(x) - 5, round(y) - 5), small)
    return np.asarray(out)


def boxes(before: Image | None, image: Image) -> list[BoxPx]:
    """What differs, as one box for each group of neighbouring pixels."""
    if before is None:
        return [(0, 0, image.shape[1], image.shape[0])]
    import cv2

    changed = cv2.dilate((before != image).any(axis=2).astype(np.uint8), np.ones((9, 9), np.uint8))
    _, _, stats, _ = cv2.connectedComponentsWithStats(changed)
    return [(int(x), int(y), int(x + w), int(y + h)) for x, y, w, h, _ in stats[1:]]


def follow(tracker: PointerTracker, images: list[Image]) -> None:
    before: Image | None = None
    start = len(tracker.track()[0])
    for n, image in enumerate(images, start):
        tracker.update(n * FRAME_NS, image, boxes(before, image))
        before = image


def path_of(*corners: tuple[int, int], steps: int = 6) -> Iterator[tuple[float, float]]:
    for (x0, y0), (x1, y1) in pairwise(corners):
        for n in range(steps):
            yield x0 + (x1 - x0) * n / steps, y0 + (y1 - y0) * n / steps


def place(tracker: PointerTracker, index: int) -> tuple[float, float]:
    point = tracker.track()[0][index].point
    assert point is not None
    return point.to_px((WIDTH, HEIGHT))


@pytest.mark.parametrize(("x", "y"), [(320, 200), (75, 120), (560, 60), (10, 10)])
@pytest.mark.parametrize("scale", [0.8, 1.0, 1.5])
def test_the_hot_spot_of_an_arrow_is_its_tip(finder: PointerFinder, x: int, y: int, scale: float) -> None:
    found = finder.find_anywhere(with_arrow(screen(), x, y, scale))

    assert found
    assert found[0].shape in SHAPES
    assert np.hypot(found[0].x_px - x, found[0].y_px - y) <= 4
    assert found[0].box_px[2] > found[0].x_px


@pytest.mark.parametrize("size_wh", [(33, 17), (101, 99), (97, 640), (250, 31)])
def test_frames_of_any_size_can_be_searched(finder: PointerFinder, size_wh: tuple[int, int]) -> None:
    image = np.full((size_wh[1], size_wh[0], 3), 200, np.uint8)

    for candidate in finder.find(image, [(0, 0, *size_wh)], least_score=0.0):
        assert -4 <= candidate.x_px < size_wh[0]
        assert -4 <= candidate.y_px < size_wh[1]


def test_boxes_beyond_the_frame_are_cut(finder: PointerFinder) -> None:
    image = with_arrow(screen(), 620, 380)

    found = finder.find(image, [(600, 370, 700, 900)])

    assert found
    assert np.hypot(found[0].x_px - 620, found[0].y_px - 380) <= 4


def test_a_moving_pointer_is_followed_and_its_first_place_filled_in(finder: PointerFinder) -> None:
    tracker, picture = PointerTracker(finder), screen(1)
    way = [*[(500, 300)] * 3, *path_of((500, 300), (200, 120), (300, 330))]

    follow(tracker, [with_arrow(picture, *at) for at in way])

    assert all(s.visible for s in tracker.track()[0])
    assert all(box is not None for box in tracker.track()[1])
    errors = [np.hypot(*np.subtract(place(tracker, n), np.round(at))) for n, at in enumerate(way)]
    assert max(errors) <= 5
    assert float(np.median(errors)) <= 2


def test_an_arrow_that_never_moves_is_not_called_the_pointer(finder: PointerFinder) -> None:
    tracker = PointerTracker(finder)

    follow(tracker, [with_arrow(screen(), 300, 200)] * 5)

    assert all(s.point is None and not s.visible for s in tracker.track()[0])


def test_a_hidden_pointer_keeps_its_last_place(finder: PointerFinder) -> None:
    tracker, picture = PointerTracker(finder), screen(2)
    follow(tracker, [with_arrow(picture, *at) for at in path_of((500, 300), (200, 120), (310, 250))])
    seen = len(tracker.track()[0])
    last = place(tracker, -1)

    before = with_arrow(picture, *list(path_of((500, 300), (200, 120), (310, 250)))[-1])
    bare = np.asarray(picture)
    for n in range(4):
        tracker.update((seen + n) * FRAME_NS, bare, boxes(before, bare))
        before = bare

    assert [s.visible for s in tracker.track()[0][seen:]] == [False] * 4
    assert place(tracker, -1) == pytest.approx(last, abs=1)


def test_the_pointer_is_found_again_after_a_cut(finder: PointerFinder) -> None:
    tracker, picture = PointerTracker(finder), screen(3)
    follow(tracker, [with_arrow(picture, *at) for at in path_of((500, 300), (200, 120), (310, 250))])

    other = with_arrow(Pil.new("RGB", (WIDTH, HEIGHT), (250, 240, 225)), 450, 80)
    tracker.update(len(tracker.track()[0]) * FRAME_NS, other, [(0, 0, WIDTH, HEIGHT)])

    assert tracker.track()[0][-1].visible
    assert np.hypot(*np.subtract(place(tracker, -1), (450, 80))) <= 4


def test_nothing_is_computed_while_nothing_changes(finder: PointerFinder) -> None:
    tracker, picture = PointerTracker(finder), screen(4)
    way = list(path_of((500, 300), (200, 120), (310, 250)))
    follow(tracker, [with_arrow(picture, *at) for at in way])
    searched = finder.searched_px
    image = with_arrow(picture, *way[-1])

    for n in range(5):
        tracker.update((len(way) + n) * FRAME_NS, image, [])

    assert finder.searched_px == searched
    assert all(s.visible for s in tracker.track()[0][-5:])


def test_no_pointer_is_made_up_while_text_is_typed_and_pages_turn(finder: PointerFinder) -> None:
    tracker, images = PointerTracker(finder), []
    for page in range(3):
        picture = screen(page)
        pen = ImageDraw.Draw(picture)
        pen.rectangle((60, 180, 580, 210), fill="white")
        for n in range(12):
            pen.text((70 + 9 * n, 184), "tIl|ijf1x/Io"[n], fill="black", font=ImageFont.load_default(15))
            typed = picture.copy()
            ImageDraw.Draw(typed).line((80 + 9 * n, 184, 80 + 9 * n, 202), fill="black")
            images.append(np.asarray(typed))

    follow(tracker, images)

    assert all(s.point is None for s in tracker.track()[0])


@pytest.mark.parametrize("seed", [0, 1])
def test_a_drawn_recording_is_followed(finder: PointerFinder, tmp_path: Path, seed: int) -> None:
    truth = draw_screencast(tmp_path / "recording.mp4", seed)

    samples, _, size_wh = track_video(tmp_path / "recording.mp4", finder, rate=30)

    rows = [[t / 1e9, *p.to_px(truth.size_wh), "arrow", 24, 24] for t, p in truth.pointer]
    score = score_track(samples, rows, size_wh)
    assert score["near_time"] >= 0.9
    assert score["presence"] >= 0.9
    assert score["median_px"] <= 2.5


class Told(PointerFinder):
    """Says what it is told instead of looking: (x, y, score, shape) for each frame."""

    def __init__(self, told: list[list[tuple[float, float, float, str]]]) -> None:
        self.told = iter(told)

    def find(
        self, image: Image, boxes_px: Sequence[BoxPx], least_score: float = 0.2, zoom: float = 1.0
    ) -> list[Candidate]:
        return [Candidate(x, y, p, shape, (x, y, x + 12, y + 18)) for x, y, p, shape in next(self.told)]

    def find_anywhere(self, image: Image, least_score: float = 0.2, zoom: float = 1.0) -> list[Candidate]:
        return self.find(image, ())


def told(*frames: list[tuple[float, float, float, str]]) -> list[PointerSample]:
    """The track when just these are found, and something changes there and where the last ones were."""
    tracker, image = PointerTracker(Told(list(frames))), np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    for n, here in enumerate(frames):
        places = [*here, *(frames[n - 1] if n else [])]
        changed = [(int(x) - 9, int(y) - 9, int(x) + 9, int(y) + 9) for x, y, _, _ in places]
        tracker.update(n * FRAME_NS, image, changed)
    return tracker.track()[0]


WAY: list[tuple[float, float, float, str]] = [(100.0 + 12 * n, 200.0 + 6 * n, 0.9, "arrow") for n in range(12)]
ICON = (400.0, 40.0, 0.95, "arrow")


def test_an_icon_is_no_pointer_however_alike_it_looks() -> None:
    samples = told(*([at, ICON] for at in WAY), *([WAY[-1], ICON] for _ in range(5)))

    assert [s.point for s in samples] == [Point.from_px(x, y, (WIDTH, HEIGHT)) for x, y, _, _ in [*WAY, *[WAY[-1]] * 5]]


def test_an_icon_that_flickers_gains_nothing_by_it() -> None:
    flicker = [[(*ICON[:2], 0.6, "arrow")] if n % 2 else [] for n in range(61)]

    samples = told(*([at] for at in WAY), [], *flicker)

    assert samples[-1].point == Point.from_px(*WAY[-1][:2], (WIDTH, HEIGHT))
    assert not samples[-1].visible


def test_letters_near_a_pointer_that_hides_are_not_it() -> None:
    letters = [[(WAY[-1][0] + 30 + 9 * n, WAY[-1][1] + 2, 0.4, "text")] for n in range(12)]

    samples = told(*([at] for at in WAY), [], *letters)

    assert not any(s.visible for s in samples[len(WAY) :])


def test_what_comes_later_tells_where_it_was_before() -> None:
    decoy = (60.0, 300.0, 0.6, "arrow")
    start = [[decoy], [decoy], [decoy, (*WAY[0][:2], 0.55, "arrow")]]

    samples = told(*start, *([at, decoy] for at in WAY))

    assert samples[-1].point == Point.from_px(*WAY[-1][:2], (WIDTH, HEIGHT))
    assert samples[2].point == Point.from_px(*WAY[0][:2], (WIDTH, HEIGHT))


def test_signs_that_a_recorder_shows_are_left_out_afterwards() -> None:
    sign = [(500.0 + 30 * (n % 2), 370.0, 0.9, "arrow") for n in range(12)]
    frames = [*([at] for at in WAY), [], *([at] for at in sign)]
    tracker, image = PointerTracker(Told(frames)), np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    for n, here in enumerate(frames):
        places = [*here, *(frames[n - 1] if n else [])]
        tracker.update(n * FRAME_NS, image, [(int(x) - 9, int(y) - 9, int(x) + 9, int(y) + 9) for x, y, _, _ in places])
    assert tracker.track()[0][-1].point == Point.from_px(*sign[-1][:2], (WIDTH, HEIGHT))

    samples, _ = tracker.without([(480, 360, 560, 390)]).track()

    assert samples[-1].point == Point.from_px(*WAY[-1][:2], (WIDTH, HEIGHT))
    assert not samples[-1].visible
