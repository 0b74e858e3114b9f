"""Typed text from drawn pictures of a field before and after the typing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from PIL import Image as PilImage
from PIL import ImageDraw, ImageFont

from video2gui.ocr import Ocr, open_ocr
from video2gui.screen.text import BoxPx, TypedText, typed_text
from video2gui.video.frame import Image

pytest.importorskip("rapidocr", reason="the extra 'see' is not installed")

Colour = tuple[int, int, int]
LIGHT: tuple[Colour, Colour] = ((255, 255, 255), (20, 20, 20))
DARK: tuple[Colour, Colour] = ((40, 40, 44), (228, 228, 228))
BLUE, GREY = (53, 132, 228), (150, 150, 150)


@pytest.fixture(scope="module")
def ocr() -> Ocr:
    return open_ocr()


@dataclass
class Field:
    """A text field that is drawn with parts of a line in given colours, and a caret behind a part."""

    size_px: int = 14
    colours: tuple[Colour, Colour] = LIGHT
    width_px: int = 360

    def draw(
        self,
        *lines: str,
        caret: bool = False,
        selected: str = "",
        hint: str = "",
        ghost: str = "",
        behind_caret: str = "",
    ) -> Image:
        ground, ink = self.colours
        pitch = round(self.size_px * 1.5)
        picture = PilImage.new("RGB", (440, 60 + pitch * 4), (232, 232, 230) if ground[0] > 128 else (60, 60, 64))
        pen = ImageDraw.Draw(picture)
        pen.rectangle((20, 20, 20 + self.width_px, 40 + pitch * 4), fill=ground, outline=(120, 120, 120))
        font = ImageFont.load_default(self.size_px)
        for row, line in enumerate(lines or ("",)):
            x, y = 28.0, 28 + row * pitch
            pen.text((x, y), line or hint, font=font, fill=ink if line else GREY)
            x += font.getlength(line)
            if row == max(0, len(lines) - 1):
                if selected:
                    right = x + font.getlength(selected)
                    pen.rectangle((x, y - 3, right, y + self.size_px + 5), fill=BLUE)
                    pen.text((x, y), selected, font=font, fill=(255, 255, 255))
                    x = right
                if caret:
                    at = round(x) + 1
                    pen.line((at, y - 2, at, y + self.size_px + 4), fill=ink)
                    pen.text((at + 2, y), behind_caret, font=font, fill=ink)
                pen.text((x + 2, y), ghost, font=font, fill=GREY)
        return np.asarray(picture)


def changed_box(before: Image, after: Image) -> BoxPx:
    ys, xs = np.nonzero(np.abs(before.astype(int) - after).max(axis=2) > 36)
    return int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1


def typed(before: Image, after: Image, ocr: Ocr, caret_px: tuple[int, int] | None = None) -> TypedText:
    return typed_text(before, after, changed_box(before, after), ocr, caret_px=caret_px)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("size_px", [11, 14, 20])
@pytest.mark.parametrize("text", ["jamie@example.org", "=SUM(D2:D6)", "Ask Robin for the text", "31"])
def test_an_empty_field_is_filled(ocr: Ocr, text: str, size_px: int, colours: tuple[Colour, Colour]) -> None:
    field = Field(size_px, colours)
    result = typed(field.draw(caret=True), field.draw(text, caret=True), ocr)
    assert (result.text, result.outcome, result.replaced) == (text, "read", False)
    assert result.confidence > 0.6


def test_the_place_of_the_text_is_given(ocr: Ocr) -> None:
    field = Field()
    result = typed(field.draw(), field.draw("Vienna", caret=True), ocr)
    assert result.box_px is not None
    left, top, right, bottom = result.box_px
    assert abs(left - 28) <= 2
    assert abs(right - (28 + ImageFont.load_default(14).getlength("Vienna"))) <= 3
    assert 26 <= top < bottom <= 28 + 14 + 6


def test_a_hint_makes_way(ocr: Ocr) -> None:
    field = Field()
    assert typed(field.draw(hint="Search products"), field.draw("Soil", caret=True), ocr).text == "Soil"


@pytest.mark.parametrize(("old", "new"), [("todo.txt", "tasks.txt"), ("costs", "Prices"), ("apples", "pears")])
def test_a_selection_is_replaced_as_a_whole(ocr: Ocr, old: str, new: str) -> None:
    field = Field()
    result = typed(field.draw("", selected=old), field.draw(new, caret=True), ocr)
    assert result.text == new
    assert result.replaced


@pytest.mark.parametrize("size_px", [12, 14, 16])
def test_text_goes_on_at_the_end(ocr: Ocr, size_px: int) -> None:
    field = Field(size_px)
    result = typed(field.draw("Buy bread", caret=True), field.draw("Buy bread and milk", caret=True), ocr)
    assert result.text == "and milk"


@pytest.mark.parametrize("size_px", [12, 14, 16])
def test_an_insertion_in_the_middle_is_only_the_new_word(ocr: Ocr, size_px: int) -> None:
    field = Field(size_px)
    result = typed(field.draw("The quick fox jumps"), field.draw("The quick brown fox jumps"), ocr)
    assert result.text == "brown"


def test_one_character_in_a_cell(ocr: Ocr) -> None:
    field = Field(13)
    for text in "4793":
        assert typed(field.draw(), field.draw(text, caret=True), ocr).text == text


def test_one_letter_is_told_from_a_digit_by_its_line(ocr: Ocr) -> None:
    field = Field(14)
    result = typed(field.draw("always smal", caret=True), field.draw("always small", caret=True), ocr)
    assert result.text == "l"


def test_two_typed_lines_keep_their_break(ocr: Ocr) -> None:
    field = Field()
    result = typed(field.draw(), field.draw("green tea", "oat milk", caret=True), ocr)
    assert result.text == "green tea\noat milk"


def test_a_wrapped_line_has_no_break(ocr: Ocr) -> None:
    field = Field(width_px=150)
    result = typed(field.draw(), field.draw("Looking forward to", "meeting you", caret=True), ocr)
    assert result.text == "Looking forward to meeting you"


def test_lines_that_only_moved_are_not_typed(ocr: Ocr) -> None:
    field = Field()
    result = typed(field.draw("apples", "bread", "cheese"), field.draw("apples", "butter", "bread", "cheese"), ocr)
    assert result.text == "butter"


@pytest.mark.parametrize("count", [3, 8])
def test_a_password_of_stars_is_never_guessed(ocr: Ocr, count: int) -> None:
    field = Field()
    result = typed(field.draw(), field.draw("*" * count, caret=True), ocr)
    assert (result.text, result.outcome) == (None, "hidden")


@pytest.mark.parametrize("dot_px", [5, 7, 9])
@pytest.mark.parametrize("count", [3, 7])
def test_a_password_of_dots_is_never_guessed(ocr: Ocr, count: int, dot_px: int) -> None:
    before = Field().draw()
    picture = PilImage.fromarray(before.copy())
    pen = ImageDraw.Draw(picture)
    for number in range(count):
        left = 30 + number * (dot_px + 3)
        pen.ellipse((left, 34, left + dot_px, 34 + dot_px), fill=(20, 20, 20))
    result = typed(before, np.asarray(picture), ocr)
    assert (result.text, result.outcome) == (None, "hidden")


@pytest.mark.parametrize("text", ["aaaa", "777"])
def test_a_repeated_letter_is_no_password(ocr: Ocr, text: str) -> None:
    field = Field()
    assert typed(field.draw(), field.draw(text, caret=True), ocr).text == text


def test_a_selected_completion_is_not_typed(ocr: Ocr) -> None:
    field = Field()
    result = typed(field.draw(caret=True), field.draw("exam", selected="ple.org/shop"), ocr)
    assert result.text == "exam"


def test_a_pale_completion_is_not_typed(ocr: Ocr) -> None:
    field = Field()
    result = typed(field.draw(caret=True), field.draw("import num", caret=True, ghost="  py as np"), ocr)
    assert result.text == "import num"


def test_a_closing_bracket_behind_the_caret_is_not_typed(ocr: Ocr) -> None:
    field = Field(16)
    after = field.draw("print(", caret=True, behind_caret=")")
    assert typed(field.draw(), after, ocr).text == "print("


def test_a_known_caret_ends_the_text(ocr: Ocr) -> None:
    field = Field()
    x = 28 + round(ImageFont.load_default(14).getlength("Ber")) + 1
    after = field.draw("Berlin")
    assert typed(field.draw(), after, ocr, caret_px=(x, 36)).text == "Ber"


def test_text_that_went_away_is_deleted(ocr: Ocr) -> None:
    field = Field()
    result = typed(field.draw("Buy bread and milk"), field.draw("Buy bread"), ocr)
    assert (result.text, result.outcome) == (None, "deleted")


def test_a_caret_alone_is_nothing(ocr: Ocr) -> None:
    field = Field()
    result = typed(field.draw(), field.draw(caret=True), ocr)
    assert (result.text, result.outcome) == (None, "nothing")


def test_equal_pictures_hold_nothing_new(ocr: Ocr) -> None:
    field = Field().draw("bread")
    assert typed_text(field, field, (20, 20, 200, 50), ocr).outcome == "nothing"


def test_boxes_at_and_over_the_edge_of_the_frame(ocr: Ocr) -> None:
    before = np.full((24, 60, 3), 255, np.uint8)
    picture = PilImage.fromarray(before)
    ImageDraw.Draw(picture).text((4, 3), "Total", font=ImageFont.load_default(14), fill="black")
    assert typed_text(before, np.asarray(picture), (-5, -5, 90, 90), ocr).text == "Total"
    with pytest.raises(ValueError, match="outside"):
        typed_text(before, np.asarray(picture), (200, 0, 240, 20), ocr)


def test_pictures_of_two_sizes_are_a_bug(ocr: Ocr) -> None:
    with pytest.raises(ValueError, match="one size"):
        typed_text(np.zeros((9, 9, 3), np.uint8), np.zeros((9, 8, 3), np.uint8), (0, 0, 5, 5), ocr)
