"""Key overlays of several styles, drawn over an application, read back with their times."""

from __future__ import annotations

from dataclasses import dataclass, field

import cv2
import numpy as np
import pytest
from PIL import Image as PilImage
from PIL import ImageDraw, ImageFont

from video2gui.ocr import Ocr, open_ocr
from video2gui.schema import Hotkey, Press, TypeText
from video2gui.screen.key_signs import sign_of
from video2gui.screen.keys_overlay import KeyAction, KeyOverlayReader
from video2gui.timebase import NS_PER_MS, NS_PER_S
from video2gui.video.frame import Image

pytest.importorskip("rapidocr", reason="the extra 'see' is not installed")

STEP_NS = 100 * NS_PER_MS
SIZE = (960, 540)


@pytest.fixture(scope="module")
def ocr() -> Ocr:
    return open_ocr()


@dataclass
class Screen:
    """An application's window on which plates with text come and go. Frames are 0.1 s apart."""

    frames: list[Image] = field(default_factory=list)
    status: str = "Ready"

    def show(
        self,
        *rows: str,
        frames: int = 1,
        at: str = "bottom",
        size_px: int = 26,
        bar: bool = False,
        caps: bool = False,
        paint: tuple[tuple[int, int, int], tuple[int, int, int]] = ((40, 40, 40), (255, 255, 255)),
    ) -> Screen:
        picture = PilImage.new("RGB", SIZE, (246, 246, 244))
        pen = ImageDraw.Draw(picture)
        small = ImageFont.load_default(11)
        pen.rectangle((0, 0, 960, 30), fill=(222, 222, 220))
        pen.text((12, 8), "File   Edit   View   Insert   Format   Help", font=small, fill=(30, 30, 30))
        pen.text((12, 522), self.status, font=small, fill=(30, 30, 30))
        font = ImageFont.load_default(size_px)
        for number, row in enumerate(rows):
            middle = {"bottom": 470, "top": 60}[at] - number * (size_px + 24)
            parts = row.split("|") if caps else [row]
            x = 40.0 if bar else SIZE[0] / 2 - sum(font.getlength(part) + 28 for part in parts) / 2
            for part in parts:
                right = 920 if bar else x + font.getlength(part) + 20
                pen.rectangle((x, middle - size_px * 0.8, right, middle + size_px * 0.8), fill=paint[0])
                pen.text((x + 10, middle), part, font=font, fill=paint[1], anchor="lm")
                x = right + 8
        self.frames += [np.asarray(picture)] * frames
        return self

    def read(self, ocr: Ocr) -> list[KeyAction]:
        reader = KeyOverlayReader()
        last = None
        for number, frame in enumerate(self.frames):
            boxes = [] if last is None or last is frame else changed(last, frame)
            reader.offer(number * STEP_NS, frame, boxes)
            last = frame
        return reader.finish(ocr)


def changed(last: Image, frame: Image) -> list[tuple[int, int, int, int]]:
    """What differs, as boxes of 4-pixel cells, those that touch taken together."""
    differs = (np.abs(last.astype(np.int16) - frame).max(axis=2) > 8).astype(np.uint8)
    cells = cv2.dilate(differs, np.ones((5, 5), np.uint8))[::4, ::4]
    _, _, stats, _ = cv2.connectedComponentsWithStats(np.ascontiguousarray(cells), connectivity=8)
    return [(int(x) * 4, int(y) * 4, int(x + w) * 4, int(y + h) * 4) for x, y, w, h, _ in stats[1:]]


def told(actions: list[KeyAction]) -> list[tuple[float, object]]:
    return [(round(action.start_ns / NS_PER_S, 1), action.action) for action in actions]


UNDO, SAVE = Hotkey(("ctrl", "z")), Hotkey(("ctrl", "s"))


@pytest.mark.parametrize("at", ["bottom", "top"])
@pytest.mark.parametrize("paint", [((40, 40, 40), (255, 255, 255)), ((255, 236, 150), (20, 20, 20))])
def test_plates_that_come_and_go(ocr: Ocr, at: str, paint: tuple[tuple[int, int, int], tuple[int, int, int]]) -> None:
    screen = Screen().show(frames=5).show("Ctrl + S", at=at, paint=paint, frames=10).show(frames=8)
    screen.show("Ctrl + Z", at=at, paint=paint, frames=10).show(frames=5).show("Return", at=at, paint=paint, frames=9)
    assert told(screen.show(frames=3).read(ocr)) == [(0.5, SAVE), (2.3, UNDO), (3.8, Press("enter"))]


def test_the_same_keys_twice(ocr: Ocr) -> None:
    screen = Screen().show(frames=3)
    for _ in range(2):
        screen.show("Ctrl + Z", frames=8).show(frames=6)
    actions = screen.read(ocr)
    assert told(actions) == [(0.3, UNDO), (1.7, UNDO)]
    assert all(0.5 < action.confidence <= 1 for action in actions)
    assert actions[0].raw_text == "Ctrl + Z"


def test_a_second_plate_stacked_on_the_first(ocr: Ocr) -> None:
    screen = Screen().show(frames=3).show("Ctrl + Z", frames=6).show("Ctrl + Z", "Ctrl + Z", frames=6).show(frames=4)
    assert told(screen.read(ocr)) == [(0.3, UNDO), (0.9, UNDO)]


def test_an_older_plate_is_pushed_up_by_the_new_one(ocr: Ocr) -> None:
    screen = Screen().show(frames=3).show("Ctrl + S", frames=8).show("Ctrl + Z", "Ctrl + S", frames=8).show(frames=4)
    assert told(screen.read(ocr)) == [(0.3, SAVE), (1.1, UNDO)]


def test_typing_grows_and_ends_with_a_key(ocr: Ocr) -> None:
    screen = Screen().show(frames=3)
    for end in range(1, 7):
        screen.show("Clocks"[:end], frames=2)
    screen.show("Clocks", "Return", frames=8).show(frames=5).show("Ctrl + S", frames=6).show(frames=3)
    assert told(screen.read(ocr)) == [(0.3, TypeText("Clocks")), (1.5, Press("enter")), (2.8, SAVE)]


def test_a_bar_that_fills_up(ocr: Ocr) -> None:
    screen = Screen().show(frames=3).show("Ctrl+C", bar=True, frames=8).show("Ctrl+C Ctrl+V", bar=True, frames=8)
    screen.show("Ctrl+C Ctrl+V Ctrl+S", bar=True, frames=8).show(frames=4)
    expected = [(0.3, Hotkey(("ctrl", "c"))), (1.1, Hotkey(("ctrl", "v"))), (1.9, SAVE)]
    assert told(screen.read(ocr)) == expected


def test_a_counter_adds_presses(ocr: Ocr) -> None:
    screen = Screen().show(frames=3).show("Ctrl + Z", frames=5).show("Ctrl + Z x 2", frames=5)
    screen.show("Ctrl + Z x 3", frames=6).show(frames=3)
    assert told(screen.read(ocr)) == [(0.3, UNDO), (0.8, UNDO), (1.3, UNDO)]


def test_key_caps_side_by_side(ocr: Ocr) -> None:
    screen = Screen().show(frames=3)
    for keys in ("Ctrl|S", "Ctrl|Z"):
        screen.show(keys, caps=True, frames=8).show(frames=5)
    assert told(screen.read(ocr)) == [(0.3, SAVE), (1.6, UNDO)]


def test_a_plate_that_fades_away_is_no_second_press(ocr: Ocr) -> None:
    screen = Screen().show(frames=3).show("Ctrl + S", frames=8)
    plate, bare = screen.frames[-1].astype(np.float64), screen.frames[0].astype(np.float64)
    for share in (0.8, 0.6, 0.4, 0.2):
        screen.frames.append((plate * share + bare * (1 - share)).astype(np.uint8))
    assert told(screen.show(frames=5).read(ocr)) == [(0.3, SAVE)]


def test_an_application_that_names_keys_is_no_overlay(ocr: Ocr) -> None:
    screen = Screen().show(frames=3)
    for status in ("Left drag to move, right click to cancel", "Press Delete to remove it", "Home", "Saved", "Ln 4"):
        screen.status = status
        screen.show(frames=5)
    assert screen.read(ocr) == []


def test_large_words_that_are_no_keys(ocr: Ocr) -> None:
    screen = Screen().show(frames=3)
    for words in ("Welcome", "Chapter two", "Thank you for watching"):
        screen.show(words, frames=6).show(frames=3)
    assert screen.read(ocr) == []


def test_no_frames_and_no_change(ocr: Ocr) -> None:
    assert KeyOverlayReader().finish(ocr) == []
    assert Screen().show(frames=4).read(ocr) == []


def test_a_change_of_size_is_survived(ocr: Ocr) -> None:
    reader = KeyOverlayReader()
    reader.offer(0, np.zeros((100, 100, 3), np.uint8), [])
    reader.offer(STEP_NS, np.zeros((90, 100, 3), np.uint8), [(0, 60, 90, 90)])
    assert reader.finish(ocr) == []


# ------------------------------------------------------------------------------------------------ signs


def glyph(letter: str, font: ImageFont.FreeTypeFont) -> np.ndarray:
    picture = PilImage.new("L", (160, 160))
    ImageDraw.Draw(picture).text((50, 40), letter, font=font, fill=255)
    return np.asarray(picture) > 110


@pytest.mark.parametrize("size_px", [24, 48])
def test_letters_and_digits_are_no_signs(size_px: int) -> None:
    font = ImageFont.load_default(size_px)
    assert isinstance(font, ImageFont.FreeTypeFont)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-="
    assert [letter for letter in letters if sign_of(glyph(letter, font)) is not None] == []


@pytest.mark.parametrize(
    ("letter", "sign"),
    [*zip("⌘⇧⌥↑→↓←⏎⌫⇥", "⌘⇧⌥↑→↓←⏎⌫⇥", strict=True), ("↵", "⏎"), ("⇡", "↑"), ("⇢", "→")],
)
def test_signs_of_a_common_typeface(letter: str, sign: str) -> None:
    try:
        font = ImageFont.truetype("DejaVuSans.ttf", 40)
    except OSError:
        pytest.skip("DejaVu Sans, which has these signs, is not installed")
    found = sign_of(glyph(letter, font))
    assert found is not None
    assert found[0] == sign
    assert 0.7 < found[1] <= 1


def test_an_empty_glyph_is_no_sign() -> None:
    assert sign_of(np.zeros((20, 20), bool)) is None
    assert sign_of(np.ones((2, 40), bool)) is None
