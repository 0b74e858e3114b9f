"""What the editor of a recording did is told from what its user did."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import pytest

from video2gui.screen.cuts import find_fades
from video2gui.screen.events import Scene, find_actions
from video2gui.screen.pointer import BoxPx
from video2gui.screen.tracker import PointerTracker
from video2gui.screen.watch import Watched, watch
from video2gui.screen.zooms import Camera, find_camera
from video2gui.timebase import NS_PER_MS
from video2gui.video.frame import Frame, Image
from video2gui.video.memory_reader import MemoryReader

WH = (640, 360)


def page(seed: int = 0, height: int = WH[1]) -> Image:
    """uint8 (height, 640, 3): a window with a coloured bar and boxes of many sizes."""
    rng = np.random.default_rng(seed)
    picture = np.full((height, WH[0], 3), 240, np.uint8)
    for _ in range(height // 2):
        x, y = int(rng.integers(0, WH[0])), int(rng.integers(30, height))
        wide, high = int(rng.integers(6, 60)), int(rng.integers(4, 14))
        picture[y : y + high, x : x + wide] = rng.integers(0, 220, 3)
    picture[:24] = (40, 80, 160)
    return picture


class Listener(PointerTracker):
    """Remembers which changed places it was told, and looks for nothing."""

    told: list[list[BoxPx]]

    def update(self, pts_ns: int, image: Image, changed_boxes_px: Sequence[BoxPx]) -> None:
        self.told = [*getattr(self, "told", []), list(changed_boxes_px)]
        super().update(pts_ns, image, [] if len(self.told) > 1 else changed_boxes_px)


def seen(images: list[Image], step_ms: int = 40, tracker: PointerTracker | None = None) -> Watched:
    frames = [Frame(k * step_ms * NS_PER_MS, image) for k, image in enumerate(images)]
    watched = watch(MemoryReader(frames).pictures(), WH, tracker)
    assert watched is not None
    return watched


def zoomed(picture: Image, scale: float, x: float, y: float) -> Image:
    shown: Image = cv2.warpAffine(picture, np.array([[scale, 0, x], [0, scale, y]]), WH, flags=cv2.INTER_AREA)
    return shown


def eased(frames: int) -> list[float]:
    return [u * u * (3 - 2 * u) for u in np.linspace(0, 1, frames)]


def ride(picture: Image, frames: int) -> list[Image]:
    """Whole, into the picture by 1.6, there for a while, and out again."""
    way = [0.0] * 6 + eased(frames) + [1.0] * 8 + eased(frames)[::-1] + [0.0] * 6
    return [zoomed(picture, 1 + 0.6 * u, -200 * u, -120 * u) for u in way]


def camera(watched: Watched) -> Camera:
    return find_camera(watched.movie, ())


@pytest.mark.parametrize("frames", [10, 18, 30])
def test_the_camera_is_measured_and_nobody_acts_meanwhile(frames: int) -> None:
    watched = seen(ride(page(1), frames))
    found = camera(watched)
    assert len(found.moves) == 2
    inside = 6 + frames + 4
    assert found.scale[inside] == pytest.approx(1.6, abs=0.02)
    assert (found.x_px[inside], found.y_px[inside]) == pytest.approx((-200, -120), abs=4)
    assert found.page(inside, 120, 40) == pytest.approx((200, 100), abs=4)
    assert found.scale[-1] == 1 and found.x_px[-1] == 0
    actions, typed = find_actions(Scene.of(watched))
    assert actions == [] and typed == []


def test_a_scrolled_page_and_one_enlarged_in_its_window_are_no_camera() -> None:
    long = page(height=900)
    tops = [0] * 4 + list(range(0, 300, 25)) + [275] * 4
    assert camera(seen([long[top : top + WH[1]] for top in tops])).moves == ()
    picture, window = page(), page(1)
    images = []
    for u in [0.0] * 4 + eased(12) + [1.0] * 4:
        shown = picture.copy()
        shown[60:320, 120:560] = zoomed(window, 1 + 0.6 * u, -200 * u, -120 * u)[60:320, 120:560]
        images.append(shown)
    assert camera(seen(images)).moves == ()


def mixed(one: Image, two: Image, share: float) -> Image:
    out: Image = cv2.addWeighted(one, 1 - share, two, share, 0)
    return out


def fades(images: list[Image]) -> list[tuple[int, int]]:
    return find_fades(seen(images).movie)


def test_fades_are_told_from_dialogs_zooms_and_jumps() -> None:
    one, two, black = page(0), page(1) // 2, np.zeros_like(page())
    even = [float(u) for u in np.linspace(0, 1, 16)]
    ((first, last),) = fades([one] * 5 + [mixed(one, two, u) for u in even] + [two] * 5)
    assert first == pytest.approx(6, abs=1) and last == pytest.approx(20, abs=1)
    through = [mixed(one, black, u) for u in even] + [mixed(black, two, u) for u in even]
    found = fades([one] * 5 + through + [two] * 5)
    assert len(found) == 2 and found[0][1] < found[1][0]
    dimmed = [mixed(one, black, 0.5 * u) for u in (0.3, 0.6, 0.9, 1)]
    assert fades([one] * 5 + dimmed + [dimmed[-1]] * 5) == []
    assert fades(ride(one, 18)) == []
    assert fades([one] * 5 + [two] * 5 + [one] * 5) == []


def test_nobody_acts_across_a_fade() -> None:
    one, two = page(0), page(1)
    even = [float(u) for u in np.linspace(0, 1, 16)]
    scene = Scene.of(seen([one] * 5 + [mixed(one, two, u) for u in even] + [two] * 5))
    assert len(scene.cuts) == 1
    assert find_actions(scene) == ([], [])


def webcam(seconds: int) -> list[Image]:
    """A page with a round picture in its lower right corner in which stripes run down."""
    still = page()
    disc = np.zeros(WH[::-1], bool)
    ys, xs = np.ogrid[: WH[1], : WH[0]]
    disc |= (xs - 560) ** 2 + (ys - 290) ** 2 < 60**2
    bands = np.random.default_rng(0).integers(0, 255, (40, 1, 3)).astype(np.uint8)
    images = []
    for k in range(25 * seconds):
        shown = still.copy()
        stripes = np.repeat(np.roll(bands, k // 2, axis=0), 9, axis=0)
        shown[disc] = np.broadcast_to(stripes, still.shape)[disc]
        images.append(shown)
    return images


def test_a_webcam_picture_is_no_place_where_anything_happens() -> None:
    tracker = Listener()
    watched = seen(webcam(10), tracker=tracker)
    still = watched.still
    assert still is not None
    cell = watched.movie.layout.to_cell
    inside, outside = cell(560, 290), cell(300, 120)
    assert not still[inside[::-1]] and still[outside[::-1]]
    assert 0.02 < (~still).mean() < 0.08
    assert find_actions(Scene.of(watched)) == ([], [])
    assert tracker.told[-40:] == [[]] * 40  # the pointer is not looked for there, once it is known


def test_what_moves_now_and_then_is_not_masked() -> None:
    images = webcam(10)
    calm = images[:40] + [images[40]] * 200
    assert seen(calm).still is None
    assert seen(images[:50]).still is None  # too short to tell
