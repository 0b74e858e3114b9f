"""What is said, as hints: each sentence is spoken at half a second a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from video2gui.captions.words import Cue, Transcript, Word
from video2gui.schema import Hotkey, Press
from video2gui.screen.narration import LEAD_NS, SpokenAction, spoken_actions
from video2gui.timebase import NS_PER_MS, NS_PER_S

HALF_NS = 500 * NS_PER_MS


def spoken(text: str, language: str | None = "en", *, words_a_cue: int = 100, start_ns: int = 0) -> Transcript:
    words = [
        Word(word, start_ns + i * HALF_NS, start_ns + (i + 1) * HALF_NS, exact=True)
        for i, word in enumerate(text.split())
    ]
    groups = [tuple(words[i : i + words_a_cue]) for i in range(0, len(words), words_a_cue)]
    return Transcript(tuple(Cue(g[0].start_ns, g[-1].end_ns, g) for g in groups), language, automatic=True)


def only(text: str, language: str | None = "en") -> SpokenAction:
    found = spoken_actions(spoken(text, language))
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Press control S.", ("ctrl", "s")),
        ("press ctrl c", ("ctrl", "c")),
        ("hit Enter", ("enter",)),
        ("Press Ctrl+Shift+T to reopen it.", ("ctrl", "shift", "t")),
        ("now press Ctrl-Z", ("ctrl", "z")),
        ("then hit command shift four", ("shift", "cmd", "4")),
        ("Press control plus C on your keyboard", ("ctrl", "c")),
        ("press control plus to zoom in", ("ctrl", "+")),
        ("press the escape key", ("escape",)),
        ("press F5", ("f5",)),
        ("Press alt F4.", ("alt", "f4")),
        ("just press the down arrow", ("down",)),
        ("press page down", ("page_down",)),
        ("hold on and press the letter b", ("b",)),
        ("press shift and tab", ("shift", "tab")),
        ("press control see", ("ctrl", "c")),
        ("press control alt delete", ("ctrl", "alt", "delete")),
        ("I'm going to hit return", ("enter",)),
        ("press space bar", ("space",)),
        ("press ctrl End.", ("ctrl", "end")),
    ],
)
def test_english_keys(text: str, keys: tuple[str, ...]) -> None:
    hint = only(text)
    assert hint.kind == "press"
    assert hint.press == (Press(keys[0]) if len(keys) == 1 else Hotkey(keys))
    assert hint.confidence > 0.4


@pytest.mark.parametrize(
    ("language", "text", "keys"),
    [
        ("de", "Drücken Sie Strg+S, um zu speichern.", ("ctrl", "s")),
        ("de", "jetzt einfach Strg Umschalt T drücken", ("ctrl", "shift", "t")),
        ("de", "Drück die Eingabetaste.", ("enter",)),
        ("es", "Presiona Control C para copiar", ("ctrl", "c")),
        ("es-MX", "pulsa la tecla Intro", ("enter",)),
        ("fr", "Appuyez sur Ctrl+V.", ("ctrl", "v")),
        ("fr", "appuie sur la touche Entrée", ("enter",)),
        ("pt-BR", "pressione Ctrl+S para salvar", ("ctrl", "s")),
        ("pt", "aperte a tecla Enter", ("enter",)),
        ("ru", "Нажмите Ctrl+A, чтобы выделить всё", ("ctrl", "a")),
        ("ru", "нажимаем клавишу Enter", ("enter",)),
        ("ja", "Ctrl+Sキーを押して保存します。", ("ctrl", "s")),
        ("ja", "エンターキーを押します", ("enter",)),
        ("zh-Hans", "按下Ctrl+C复制", ("ctrl", "c")),
        ("zh", "然后按回车键", ("enter",)),
    ],
)
def test_keys_in_other_languages(language: str, text: str, keys: tuple[str, ...]) -> None:
    hint = only(text, language)
    assert hint.press == (Press(keys[0]) if len(keys) == 1 else Hotkey(keys))


@pytest.mark.parametrize(
    ("language", "text", "kind", "target"),
    [
        ("en", "Click on the File menu.", "click", "File menu"),
        ("en", "Click Send registration.", "click", "Send registration"),
        ("en", "then click Save and wait", "click", "Save"),
        ("en", "Right-click the folder", "right_click", "folder"),
        ("en", "Right click budget.", "right_click", "budget"),
        ("en", "double click on the desktop icon", "double_click", "desktop icon"),
        ("en", "click here", "click", None),
        ("de", "Klicken Sie auf die Schaltfläche Speichern.", "click", "Schaltfläche Speichern"),
        ("de", "mach einen Rechtsklick auf den Ordner", "right_click", "Ordner"),
        ("de", "auf Datei klicken", "click", "Datei"),
        ("es", "haz clic en Guardar", "click", "Guardar"),
        ("es", "haz doble clic en la carpeta", "double_click", "carpeta"),
        ("es", "clic derecho en el archivo", "right_click", "archivo"),
        ("fr", "Cliquez sur Fichier.", "click", "Fichier"),
        ("fr", "faites un clic droit sur le dossier", "right_click", "dossier"),
        ("pt", "clique em Salvar", "click", "Salvar"),
        ("pt", "clique com o botão direito na pasta", "right_click", "pasta"),
        ("ru", "щёлкните по кнопке Сохранить", "click", "кнопке Сохранить"),
        ("ru", "правой кнопкой мыши нажмите на файл", "right_click", "файл"),
        ("ja", "ファイルをクリックします", "click", "ファイル"),
        ("ja", "フォルダを右クリックします", "right_click", "フォルダ"),
        ("zh", "点击保存按钮", "click", "保存按钮"),
        ("zh", "双击文件夹", "double_click", "文件夹"),
        ("zh", "右键点击桌面", "right_click", "桌面"),
    ],
)
def test_clicks(language: str, text: str, kind: str, target: str | None) -> None:
    hint = only(text, language)
    assert (hint.kind, hint.target) == (kind, target)


@pytest.mark.parametrize(
    ("language", "text", "typed"),
    [
        ("en", "Type Looking forward to it!.", "Looking forward to it!"),
        ("en", "Type jamie.okafor@example.org.", "jamie.okafor@example.org"),
        ("en", "Type - green tea.", "- green tea"),
        ("en", 'type in "hello world" here', "hello world"),
        ("en", 'enter "42" in the field', "42"),
        ("en", "now type hello and press enter", "hello"),
        ("de", "Geben Sie Wien ein.", "Wien"),
        ("es", 'escribe "hola"', "hola"),
        ("ja", "「こんにちは」と入力します", "こんにちは"),
        ("zh", "输入“你好”", "你好"),
    ],
)
def test_typing(language: str, text: str, typed: str) -> None:
    hint = next(hint for hint in spoken_actions(spoken(text, language)) if hint.kind == "type")
    assert hint.text == typed


def test_what_is_described_is_not_taken_word_by_word() -> None:
    hint = only("enter your email address")
    assert (hint.kind, hint.text, hint.target) == ("type", None, "email address")


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("Scroll a little.", None),
        ("scroll down", "down"),
        ("now scroll all the way up", "up"),
        ("scroll back up", "up"),
    ],
)
def test_scrolling(text: str, direction: str | None) -> None:
    hint = only(text)
    assert (hint.kind, hint.direction) == ("scroll", direction)


def test_dragging() -> None:
    hint = only("drag the blue card over to Done")
    assert (hint.kind, hint.target, hint.to) == ("drag", "blue card", "Done")
    assert only("Drag it over to here.").target is None


@pytest.mark.parametrize(
    "text",
    [
        "don't press enter",
        "never click that link",
        "this type of file is rare",
        "with one click you are done",
        "hit the road jack",
        "press a button",
        "press down on the lid",
        "hit next",
        "the control room was empty",
        "he is in control a lot",
        "windows 10 is out",
        "shift your focus",
        "the end of the line",
        "press release",
        "scrolls of parchment",
    ],
)
def test_everyday_speech_is_no_hint(text: str) -> None:
    assert spoken_actions(spoken(text)) == []


def test_a_possibility_counts_for_less_than_an_instruction() -> None:
    assert only("you can press control s").confidence < 0.5 < only("now press control s").confidence
    assert only("with control s, it is saved").confidence < 0.5


def test_several_hints_in_one_breath() -> None:
    hints = spoken_actions(spoken("click File and then press control s and then hit enter twice"))
    assert [hint.kind for hint in hints] == ["click", "press", "press"]
    assert hints[0].target == "File"
    assert hints[1].press == Hotkey(("ctrl", "s"))
    assert (hints[2].press, hints[2].times) == (Press("enter"), 2)


def test_times_are_those_of_the_words() -> None:
    hint = only("and now press control s to save")
    assert (hint.start_ns, hint.end_ns) == (2 * HALF_NS, 5 * HALF_NS)
    assert hint.likely_ns == hint.start_ns + LEAD_NS["press"]


def test_a_hint_may_run_over_two_cues_but_not_over_a_pause_or_a_full_stop() -> None:
    assert spoken_actions(spoken("now press control s", words_a_cue=3))[0].press == Hotkey(("ctrl", "s"))
    first, second = spoken("press control"), spoken("s is a letter", start_ns=10 * NS_PER_S)
    assert spoken_actions(Transcript(first.cues + second.cues, "en")) == []
    assert spoken_actions(spoken("press control. S is a letter")) == []


def test_a_language_without_patterns_has_no_hints() -> None:
    assert spoken_actions(spoken("press control s", "fi")) == []


def test_no_language_is_taken_for_english() -> None:
    assert only("press control s", None).press == Hotkey(("ctrl", "s"))


def test_an_empty_transcript() -> None:
    assert spoken_actions(Transcript((), "en")) == []


WORDS = st.one_of(
    st.sampled_from(["press", "hit", "control", "shift", "alt", "s", "c", "enter", "click", "right", "double", "on"]),
    st.sampled_from(["the", "type", "and", "to", "drag", "scroll", "down", ".", ",", "Ctrl+S", "«x»", "按", "回车"]),
    st.sampled_from(["押す", "plus", "-", "+", "'quoted", '"', "“a”", "key", "drücken", "clic"]),
)


@given(st.lists(WORDS, max_size=40), st.sampled_from(["en", "de", "fr", "ja", "zh", "ru", "es", "pt", "xx"]))
def test_any_words_give_ordered_hints_within_their_time(words: list[str], language: str) -> None:
    transcript = spoken(" ".join(words), language)
    hints = spoken_actions(transcript)
    assert hints == sorted(hints, key=lambda hint: hint.start_ns)
    for hint in hints:
        assert 0 <= hint.start_ns < hint.end_ns <= len(words) * HALF_NS
        assert 0 < hint.confidence <= 1
        assert hint.said
