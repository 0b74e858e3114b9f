"""Caption files as they come: both formats, every encoding, damage, markup, limits."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from video2gui.captions import Transcript, read_captions
from video2gui.errors import CaptionError
from video2gui.timebase import NS_PER_S, ns_from_s

VTT = """WEBVTT - made by hand
Kind: captions
Language: de-AT

NOTE a note may hold
00:00 an arrow-less time

STYLE
::cue { color: red }

intro
00:01.000 --> 00:00:02.500 align:start position:0%
<v Jamie>Open the <i>Datei</i> men&uuml;, <c.yellow>please</c>.

00:00:03.000 --> 00:00:03.000
No. No, no.

00:00:04,5 --> 01:00:05.25
A &lt;b&gt; tag &amp; 2 < 3
{\\an8}second line
"""


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def texts(transcript: Transcript) -> list[str]:
    return [cue.text for cue in transcript.cues]


def test_vtt_markup_notes_and_settings_are_taken_off(tmp_path: Path) -> None:
    transcript = read_captions(write(tmp_path / "a.vtt", VTT))
    assert texts(transcript) == [
        "Open the Datei menü, please.",
        "No. No, no.",
        "A <b> tag & 2 < 3 second line",
    ]
    assert [(cue.start_ns, cue.end_ns) for cue in transcript.cues] == [
        (NS_PER_S, ns_from_s("2.5")),
        (3 * NS_PER_S, 3 * NS_PER_S),
        (ns_from_s("4.5"), ns_from_s("3605.25")),
    ]
    assert (transcript.language, transcript.automatic, transcript.damaged) == ("de-AT", False, 0)


def test_words_share_their_cue_by_length(tmp_path: Path) -> None:
    transcript = read_captions(write(tmp_path / "a.vtt", "WEBVTT\n\n00:00.000 --> 00:08.000\nab abcd\n"))
    first, second = transcript.words()
    assert (first.start_ns, first.end_ns, first.exact) == (0, 3 * NS_PER_S, False)
    assert (second.start_ns, second.end_ns, second.exact) == (3 * NS_PER_S, 8 * NS_PER_S, False)


def test_inline_times_of_a_manual_track_time_its_words(tmp_path: Path) -> None:
    cue = "WEBVTT\n\n00:01.000 --> 00:05.000\nla <00:02.000>la <00:03.000>oh yes\n"
    words = read_captions(write(tmp_path / "a.vtt", cue), automatic=False).words()
    assert [word.text for word in words] == ["la", "la", "oh", "yes"]
    assert [word.start_ns // NS_PER_S for word in words[:3]] == [1, 2, 3]
    assert [word.exact for word in words] == [True, True, False, False]


def test_srt_with_blank_rows_numbers_and_arrows_in_the_text(tmp_path: Path) -> None:
    srt = (
        "1\r\n00:00:01,000 --> 00:00:02,000\r\nFile --> Save\r\n\r\n"
        "2\r\n00:00:03,000 --> 00:00:04,000 X1:0 X2:5\r\nThe answer is\r\n\r\n42\r\n\r\n"
        "3\r\n00:00:05,000 --> 00:00:06,000\r\n7\r\n\r\n4\r\n00:00:07,000 --> 00:00:08,000\r\n\r\n"
    )
    assert texts(read_captions(write(tmp_path / "a.srt", srt))) == ["File --> Save", "The answer is 42", "7"]


def test_format_is_told_by_content_not_by_name(tmp_path: Path) -> None:
    transcript = read_captions(write(tmp_path / "a.vtt", "1\n00:00:01,000 --> 00:00:02,000\nhello\n"))
    assert texts(transcript) == ["hello"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends(tmp_path: Path, encoding: str, newline: str) -> None:
    text = "WEBVTT\n\n00:01.000 --> 00:02.000\nDrücken Sie „Öffnen“\n".replace("\n", newline)
    transcript = read_captions(write(tmp_path / "a.vtt", text.encode(encoding)))
    assert texts(transcript) == ["Drücken Sie „Öffnen“"]


def test_one_bad_byte_does_not_spoil_the_rest(tmp_path: Path) -> None:
    raw = "WEBVTT\n\n00:01.000 --> 00:02.000\nöffnen und schließen ".encode() + b"\xff\n"
    assert texts(read_captions(write(tmp_path / "a.vtt", raw))) == ["öffnen und schließen \ufffd"]


@pytest.mark.parametrize(
    "timing",
    [
        "00:00:0x.000 --> 00:00:05.000",
        "00:00:03.000 --> nowhere",
        "00:00:03.000 -->",
        "00:61:03.000 --> 00:62:05.000",
        "00:00:05.000 --> 00:00:03.000",
        "-00:00:03.000 --> 00:00:05.000",
        "9999:00:00.000 --> 9999:00:01.000",
    ],
)
@pytest.mark.parametrize("head", ["WEBVTT\n\n", ""])
def test_a_damaged_cue_is_counted_and_the_rest_stays(tmp_path: Path, timing: str, head: str) -> None:
    cues = [("00:00:01.000 --> 00:00:02.000", "before"), (timing, "lost"), ("00:00:06.000 --> 00:00:07.000", "behind")]
    body = "".join(f"{number}\n{times}\n{text}\n\n" for number, (times, text) in enumerate(cues, 1))
    transcript = read_captions(write(tmp_path / "a", head + body))
    assert texts(transcript) == ["before", "behind"]
    assert transcript.damaged == 1


def test_manual_cues_may_overlap_and_stand_out_of_order(tmp_path: Path) -> None:
    cues = [("05", "06", "third"), ("01", "04", "first"), ("02", "03", "second")]
    vtt = "WEBVTT\n\n" + "".join(f"00:{start}.000 --> 00:{end}.000\n{text}\n\n" for start, end, text in cues)
    transcript = read_captions(write(tmp_path / "a.vtt", vtt), automatic=False)
    assert [(cue.text, cue.end_ns // NS_PER_S) for cue in transcript.cues] == [
        ("first", 4), ("second", 3), ("third", 6),
    ]  # fmt: skip


def test_a_track_without_cues_is_an_empty_transcript(tmp_path: Path) -> None:
    assert read_captions(write(tmp_path / "a.vtt", "WEBVTT\n"), language="en") == Transcript((), "en")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "are empty"),
        (b"<html><body>Not found</body></html>", "neither WebVTT nor SubRip"),
        (b"WEBVTT\0\0\xff", "not text"),
        (gzip.compress(b"WEBVTT\n\n" * 1000), "compressed"),
        (b"PK\x03\x04rest of an archive", "compressed"),
        (b"WEBVTT\n\n00:00:0x.000 --> 00:00:01.000\nlost\n", "none of the 1 captions"),
        (b"WEBVTT\n\n" + b" " * 10_000_000, "larger than 10 MB"),
        (b"WEBVTT\n\n" + b"0:1 --> 0:2\n\n" * 100_001, "more than 100000"),
        (b"WEBVTT\n\n" + (b"0:1 --> 0:2\n" + b"a " * 1_999 + b"\n\n") * 510, "more than 1000000 words"),
    ],
)
def test_what_is_not_captions_ends_in_one_sentence(tmp_path: Path, content: bytes, says: str) -> None:
    path = write(tmp_path / "a.vtt", content)
    with pytest.raises(CaptionError, match=says) as caught:
        read_captions(path)
    assert caught.value.address == str(path)
    assert not caught.value.retryable


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(CaptionError, match="cannot read"):
        read_captions(tmp_path / "none.vtt")


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "row",
    ["<" * 3_900, "{\\" * 1_900, "<00:" * 900, "&#" + "9" * 3_900 + ";", "a " * 1_900, "[" * 3_900, "> " * 1_900],
)
def test_hostile_rows_are_read_in_linear_time(tmp_path: Path, row: str) -> None:
    cues = "".join(f"00:00:{n // 10:02d}.{n % 10}00 --> 00:59:00.000\n{row}\n\n" for n in range(200))
    read_captions(write(tmp_path / "a.vtt", "WEBVTT\n\n" + cues), automatic=True)


def test_a_cue_as_long_as_a_book_is_damaged(tmp_path: Path) -> None:
    vtt = f"WEBVTT\n\n00:01.000 --> 00:02.000\n{'word ' * 5000}\n\n00:03.000 --> 00:04.000\nfine\n"
    transcript = read_captions(write(tmp_path / "a.vtt", vtt))
    assert (texts(transcript), transcript.damaged) == (["fine"], 1)
