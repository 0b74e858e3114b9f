"""The text of key overlays, taken apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from video2gui.schema import Hotkey, Press
from video2gui.screen.overlay_text import Held, Pressed, Typed, overlay_elements


def keys(*names: str) -> Press | Hotkey:
    return Press(names[0]) if len(names) == 1 else Hotkey(names)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ctrl + S", ("ctrl", "s")),
        ("Ctrl+Shift+T", ("ctrl", "shift", "t")),
        ("Shift + Ctrl + N", ("ctrl", "shift", "n")),
        ("Control+C", ("ctrl", "c")),
        ("CtrI + S", ("ctrl", "s")),
        ("⌘S", ("cmd", "s")),
        ("⇧⌘↑", ("shift", "cmd", "up")),
        ("⌃⌥⇧⌘K", ("ctrl", "shift", "cmd", "option", "k")),
        ("⌘ + C", ("cmd", "c")),
        ("^K", ("ctrl", "k")),
        ("Alt+F4", ("alt", "f4")),
        ("Super + L", ("super", "l")),
        ("Win+D", ("super", "d")),
        ("Ctrl + +", ("ctrl", "+")),
        ("Ctrl-Z", ("ctrl", "z")),
        ("Ctrl + Page_down", ("ctrl", "page_down")),
        ("Ctrl + Page Down", ("ctrl", "page_down")),
        ("Ctrl+Alt+Del", ("ctrl", "alt", "delete")),
        ("Strg + C", ("ctrl", "c")),
        ("Return", ("enter",)),
        ("Esc", ("escape",)),
        ("<Tab>", ("tab",)),
        ("F5", ("f5",)),
        ("⏎", ("enter",)),
        ("⌫", ("backspace",)),
        ("Backspace", ("backspace",)),
        ("Space", ("space",)),
        ("Ctrl S", ("ctrl", "s")),
        ("Shift + Tab", ("shift", "tab")),
    ],
)
def test_one_press(text: str, names: tuple[str, ...]) -> None:
    assert overlay_elements(text) == [Pressed(keys(*names))]


@pytest.mark.parametrize(
    ("text", "times"), [("Ctrl+Shift+T ×2", 2), ("Ctrl + Z x 3", 3), ("⌫ ×12", 12), ("Tab (2)", 2)]
)
def test_counters(text: str, times: int) -> None:
    (element,) = overlay_elements(text)
    assert isinstance(element, Pressed)
    assert element.times == times


@pytest.mark.parametrize(
    "text",
    ["Clocks", "=B2*C2", "C", "72", "hello", "end of line", "tab", "return x", "Left drag the handle", "Home page:"],
)
def test_plain_characters_are_typed(text: str) -> None:
    assert overlay_elements(text) == [Typed(text)]


def test_typed_text_and_keys_in_one_row() -> None:
    assert overlay_elements("hello⏎") == [Typed("hello"), Pressed(Press("enter"))]
    assert overlay_elements("Ctrl+C Ctrl+V") == [Pressed(keys("ctrl", "c")), Pressed(keys("ctrl", "v"))]
    assert overlay_elements("⌘→⏎") == [Pressed(keys("cmd", "right")), Pressed(Press("enter"))]
    assert overlay_elements("Map␣2024") == [Typed("Map 2024")]
    assert overlay_elements("Map_2024") == [Typed("Map 2024")]  # as text recognisers read the sign of a space
    assert overlay_elements("to my_file") == [Typed("to my_file")]


def test_a_capital_letter_is_typed() -> None:
    assert overlay_elements("Shift + A") == [Typed("A")]


def test_modifiers_alone_are_held() -> None:
    assert overlay_elements("Ctrl") == [Held(("ctrl",))]
    assert overlay_elements("Ctrl + Shift +") == [Held(("ctrl", "shift"))]


def test_nothing() -> None:
    assert overlay_elements("  ") == []


@given(st.text(alphabet="CtrlShiAaZz+ -⌘⇧⏎×2x<>Tab␣.^", max_size=30))
def test_any_text_is_taken_apart(text: str) -> None:
    for element in overlay_elements(text):
        if isinstance(element, Typed):
            assert element.text
