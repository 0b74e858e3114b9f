"""Rolling tracks are written here the way sites write them, and must give back the words that were spoken."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from video2gui.captions import Transcript, read_captions
from video2gui.timebase import NS_PER_MS

Spoken = list[list[tuple[str, int]]]  # rows of words with their start in ms

WORD = st.sampled_from(
    ["click", "the", "menu", "the", "no", "file", "a", "save", "Ctrl+S", "öffnen", "ok,", "&", "<b>"]
)


@st.composite
def spoken(draw: st.DrawFn) -> Spoken:
    """Rows of words as a recogniser hears them: repetitions are likely, pauses are long or none."""
    rows, now_ms = [], draw(st.integers(0, 5000))
    for _ in range(draw(st.integers(2, 8))):
        row = []
        for text in draw(st.lists(WORD, min_size=1, max_size=6)):
            row.append((text, now_ms))
            now_ms += draw(st.integers(40, 900))
        rows.append(row)
        now_ms += draw(st.sampled_from([0, 0, 0, 300, 4000]))
    return rows


def stamp(ms: int, comma: str = ".") -> str:
    return f"{ms // 3_600_000:02d}:{ms // 60_000 % 60:02d}:{ms // 1000 % 60:02d}{comma}{ms % 1000:03d}"


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def plain(row: list[tuple[str, int]]) -> str:
    return " ".join(escape(text) for text, _ in row)


def tagged(row: list[tuple[str, int]]) -> str:
    (first, _), *rest = row
    return escape(first) + "".join(f"<{stamp(ms)}><c> {escape(text)}</c>" for text, ms in rest)


def row_ends(rows: Spoken) -> list[int]:
    """The next row's start, or a little behind the last word."""
    return [after[0][1] for _, after in pairwise(rows)] + [rows[-1][-1][1] + 500]


def write_youtube(rows: Spoken) -> str:
    """Two rows, word times in the lower one, and a cue of 10 ms that holds it."""
    out, above = ["WEBVTT\nKind: captions\nLanguage: en\n\n"], " "
    for row, end_ms in zip(rows, row_ends(rows), strict=True):
        line = "align:start position:0%"
        out.append(f"{stamp(row[0][1])} --> {stamp(end_ms - 10)} {line}\n{above}\n{tagged(row)}\n\n")
        out.append(f"{stamp(end_ms - 10)} --> {stamp(end_ms)} {line}\n{plain(row)}\n \n\n")
        above = plain(row)
    return "".join(out)


def write_srt_rows(rows: Spoken) -> str:
    """The same without word times and blank rows, as converters leave it."""
    out, above, number = [], "", 0
    for row, end_ms in zip(rows, row_ends(rows), strict=True):
        for start_ms, stop_ms, text in (
            (row[0][1], end_ms - 10, f"{above}\n{plain(row)}" if above else plain(row)),
            (end_ms - 10, end_ms, plain(row)),
        ):
            number += 1
            out.append(f"{number}\n{stamp(start_ms, ',')} --> {stamp(stop_ms, ',')}\n{text}\n\n")
        above = plain(row)
    return "".join(out)


def write_growing(rows: Spoken) -> str:
    """Each word makes a cue of its own that shows the row so far."""
    out = ["WEBVTT\n\n"]
    for row, end_ms in zip(rows, row_ends(rows), strict=True):
        stops = [ms for _, ms in row[1:]] + [end_ms]
        for count, ((_, start_ms), stop_ms) in enumerate(zip(row, stops, strict=True), 1):
            out.append(f"{stamp(start_ms)} --> {stamp(stop_ms)}\n{plain(row[:count])}\n\n")
    return "".join(out)


def read(tmp_path: Path, text: str, automatic: bool | None = True) -> Transcript:
    path = tmp_path / "track"
    path.write_text(text, encoding="utf-8")
    return read_captions(path, automatic=automatic)


def words_of(rows: Spoken) -> list[str]:
    return [text for row in rows for text, _ in row]


def assert_monotone(transcript: Transcript) -> None:
    words = transcript.words()
    assert all(word.start_ns <= word.end_ns for word in words)
    assert all(before.end_ns <= after.start_ns for before, after in pairwise(words))
    assert all(cue.start_ns == cue.words[0].start_ns and cue.end_ns == cue.words[-1].end_ns for cue in transcript.cues)


@given(spoken())
def test_youtube_tracks_give_each_word_once_at_its_time(tmp_path_factory: pytest.TempPathFactory, rows: Spoken) -> None:
    transcript = read(tmp_path_factory.mktemp("c"), write_youtube(rows))
    assert [word.text for word in transcript.words()] == words_of(rows)
    assert [word.start_ns for word in transcript.words()] == [ms * NS_PER_MS for row in rows for _, ms in row]
    assert all(word.exact for word in transcript.words()) or not any(len(row) > 1 for row in rows)
    assert_monotone(transcript)


@given(spoken())
def test_rows_without_word_times_give_each_word_once(tmp_path_factory: pytest.TempPathFactory, rows: Spoken) -> None:
    # a row that only repeats the one above cannot be told from a held one without word times
    rows = [rows[0]] + [row for before, row in pairwise(rows) if plain(row) != plain(before)]
    if len(rows) < 2 or any(plain(a) == plain(b) for a, b in pairwise(rows)):
        return
    transcript = read(tmp_path_factory.mktemp("c"), write_srt_rows(rows))
    assert [word.text for word in transcript.words()] == words_of(rows)
    assert not any(word.exact for word in transcript.words())
    assert_monotone(transcript)


def test_a_row_that_grows_word_by_word(tmp_path: Path) -> None:
    rows = [[("open", 0), ("the", 300), ("file", 500), ("menu", 900)], [("and", 1500), ("click", 1800), ("save", 2500)]]
    transcript = read(tmp_path, write_growing(rows))
    assert [word.text for word in transcript.words()] == words_of(rows)
    assert [word.start_ns // NS_PER_MS for word in transcript.words()] == [0, 300, 500, 900, 1500, 1800, 2500]
    assert_monotone(transcript)


def test_joined_rows_overlap_by_words(tmp_path: Path) -> None:
    vtt = (
        "WEBVTT\n\n00:00.000 --> 00:02.000\nopen the file menu\n\n00:02.000 --> 00:04.000\nthe file menu and then\n\n"
        "00:04.000 --> 00:06.000\nand then click save\n"
    )
    transcript = read(tmp_path, vtt)
    assert [cue.text for cue in transcript.cues] == ["open the file menu", "and then", "click save"]


@given(spoken())
@settings(max_examples=30)
def test_rolling_is_seen_without_being_told(tmp_path_factory: pytest.TempPathFactory, rows: Spoken) -> None:
    if len(rows) < 5:
        return
    transcript = read(tmp_path_factory.mktemp("c"), write_youtube(rows), automatic=None)
    assert transcript.automatic
    assert [word.text for word in transcript.words()] == words_of(rows)


@given(spoken(), st.sampled_from([False, None]))
def test_manual_tracks_keep_every_word_and_repetition(
    tmp_path_factory: pytest.TempPathFactory, rows: Spoken, automatic: bool | None
) -> None:
    # each row a cue of its own; people repeat words and whole rows
    rows = [row for row in rows for _ in range(2)]
    cues = [f"{stamp(n * 2000)} --> {stamp(n * 2000 + 2000)}\n{plain(row)}\n\n" for n, row in enumerate(rows)]
    transcript = read(tmp_path_factory.mktemp("c"), "WEBVTT\n\n" + "".join(cues), automatic)
    if automatic is None and transcript.automatic:
        return  # random rows may look like growing ones; said to be manual they never do
    assert [cue.text for cue in transcript.cues] == [" ".join(text for text, _ in row) for row in rows]
    assert [cue.start_ns for cue in transcript.cues] == [n * 2000 * NS_PER_MS for n in range(len(rows))]


def test_a_chorus_is_not_a_rolling_track(tmp_path: Path) -> None:
    cues = "".join(f"00:0{n}.000 --> 00:0{n + 1}.000\nla la la\n\n" for n in range(8))
    transcript = read(tmp_path, "WEBVTT\n\n" + cues, automatic=None)
    assert (len(transcript.cues), transcript.automatic) == (8, False)


def test_a_machine_s_track_that_does_not_roll_keeps_repeated_words(tmp_path: Path) -> None:
    texts = ["so we click", "click here and", "then the", "the menu opens", "no", "no", "wait"]
    cues = "".join(f"00:0{n}.000 --> 00:0{n + 1}.000\n{text}\n\n" for n, text in enumerate(texts))
    assert [cue.text for cue in read(tmp_path, "WEBVTT\n\n" + cues).cues] == texts


def test_rows_that_stay_while_the_next_is_spoken_end_where_it_begins(tmp_path: Path) -> None:
    vtt = "WEBVTT\n\n00:00.000 --> 00:05.000\none two\n\n00:02.000 --> 00:07.000\nthree four\n"
    transcript = read(tmp_path, vtt)
    assert [word.text for word in transcript.words()] == ["one", "two", "three", "four"]
    assert transcript.cues[0].end_ns == 2_000_000_000
    assert_monotone(transcript)


def test_sounds_and_marks_between_the_words_are_left_out(tmp_path: Path) -> None:
    vtt = (
        "WEBVTT\n\n00:00.000 --> 00:02.000\n \n[Music]\n\n00:02.000 --> 00:02.010\n[Music]\n \n\n"
        "00:02.010 --> 00:04.000\n[Music]\n&gt;&gt; press<00:03.000><c> [&nbsp;__&nbsp;]</c><00:03.500><c> enter</c>\n"
    )
    assert [word.text for word in read(tmp_path, vtt).words()] == ["press", "enter"]


def test_word_times_outside_their_cue_are_held_within_it(tmp_path: Path) -> None:
    vtt = (
        "WEBVTT\n\n00:10.000 --> 00:12.000\none<00:01.000><c> two</c><00:11.000><c> three</c><00:59.000><c> four</c>\n"
    )
    transcript = read(tmp_path, vtt)
    assert [word.start_ns // 10**9 for word in transcript.words()] == [10, 10, 11, 12]
    assert_monotone(transcript)


@given(st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 5_000), st.lists(WORD, max_size=4)), max_size=12))
def test_any_automatic_track_is_monotone(
    tmp_path_factory: pytest.TempPathFactory, cues: list[tuple[int, int, list[str]]]
) -> None:
    body = "".join(
        f"{stamp(start)} --> {stamp(start + length)}\n{' '.join(map(escape, words))}\n\n"
        for start, length, words in cues
    )
    assert_monotone(read(tmp_path_factory.mktemp("c"), "WEBVTT\n\n" + body))
