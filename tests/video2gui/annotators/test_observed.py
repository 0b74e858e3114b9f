"""From hand-made observations to trajectories: tasks, sentences, gaps, and nothing that nobody saw or said."""

from __future__ import annotations

from pathlib import Path

from video2gui.annotators.base import Recording
from video2gui.annotators.observed import tasks, trajectories
from video2gui.captions.words import Cue, Transcript, Word
from video2gui.config import AnnotateSettings
from video2gui.geometry import Box, Point
from video2gui.ocr.base import TextLine
from video2gui.schema import (
    Action,
    Chapter,
    Click,
    Evidence,
    FetchedVideo,
    MadeBy,
    Press,
    Signal,
    Trajectory,
    TypeText,
    VideoMeta,
)
from video2gui.screen.observed import Observation, ObservedAction
from video2gui.stages.check import check
from video2gui.timebase import NS_PER_S
from video2gui.video.frame import StreamInfo


def s(seconds: float) -> int:
    return round(seconds * NS_PER_S)


def action(at_s: float, what: Action | None = None, *, confidence: float = 0.9, placed: bool = True) -> ObservedAction:
    place = Point(0.5, 0.5) if placed else None
    evidence = Evidence((Signal("pixels", confidence),), confidence, "seen", "seen" if placed else None)
    return ObservedAction(s(at_s), s(at_s + 0.1), what or Click(), evidence, s(at_s - 0.1), s(at_s + 0.4), point=place)


def mine(
    actions: list[ObservedAction],
    *,
    title: str | None = None,
    chapters: tuple[Chapter, ...] | None = None,
    spoken: Transcript | None = None,
    cuts_s: tuple[float, ...] = (),
    top: list[TextLine] | None = None,
    length_s: float = 120,
) -> tuple[Trajectory, ...]:
    meta = VideoMeta("clip", "clip", "clip.mp4", "rows:1", title=title, chapters=chapters)
    info = StreamInfo((1280, 720), s(length_s), None, "h264", "mp4", False)
    recording = Recording(FetchedVideo(meta, "clip.mp4", "ab" * 32, 1), Path("clip.mp4"), info, spoken)
    seen = Observation((1280, 720), s(length_s), tuple(actions), (), tuple(map(s, cuts_s)), ())
    settings = AnnotateSettings()
    found = tasks(recording, seen, settings)
    return trajectories(recording, seen, found, [top or []] * len(found), MadeBy("observed/1", "d"), settings)


def say(*cues: tuple[float, str]) -> Transcript:
    made = []
    for at_s, text in cues:
        words = text.split()
        made.append(
            Cue(
                s(at_s),
                s(at_s + 2),
                tuple(Word(w, s(at_s + 0.1 * i), s(at_s + 0.1 * i + 0.1)) for i, w in enumerate(words)),
            )
        )
    return Transcript(tuple(made), "en")


def test_the_instruction_comes_from_the_title_and_says_so() -> None:
    (trajectory,) = mine([action(1), action(3)], title="How to rename a file in Thunar | Desk Help")
    assert trajectory.instruction.text.startswith("Rename a file in Thunar")
    assert trajectory.instruction.source == "title"


def test_without_a_word_from_anybody_the_steps_are_described() -> None:
    (trajectory,) = mine([action(1), action(2, TypeText("hello")), action(3, Press("enter"), placed=False)])
    assert trajectory.instruction.source == "observed"
    assert "hello" in trajectory.instruction.text
    assert (trajectory.platform, trajectory.app, trajectory.website) == (None, None, None)


def test_a_long_pause_begins_a_new_task() -> None:
    found = mine([action(1), action(3), action(40), action(42)], title="Two things")
    assert [len([x for x in t.steps if x.action.kind == "click"]) for t in found] == [2, 2]
    assert len({t.trajectory_id for t in found}) == 2
    assert found[0].end_ns <= found[1].start_ns


def test_chapters_are_tasks_with_their_own_sentences() -> None:
    chapters = (Chapter("Create a folder", 0, s(20)), Chapter("Share the folder", s(20), s(60)))
    found = mine([action(2), action(5), action(22), action(25)], title="Folders", chapters=chapters)
    assert [(t.instruction.text, t.instruction.source) for t in found] == [
        ("Create a folder", "chapter"),
        ("Share the folder", "chapter"),
    ]


def test_a_cut_between_two_steps_is_a_gap() -> None:
    (trajectory,) = mine([action(1), action(3), action(5)], cuts_s=(4.0,))
    assert [step.gap_before for step in trajectory.steps if step.action.kind == "click"] == [False, False, True]


def test_a_doubtful_action_is_left_out_and_leaves_a_gap() -> None:
    (trajectory,) = mine([action(1), action(3, confidence=0.2), action(5)])
    assert [(x.start_ns, x.gap_before) for x in trajectory.steps if x.action.kind == "click"] == [
        (s(1), False),
        (s(5), True),
    ]


def test_one_action_is_no_task() -> None:
    assert mine([action(1)]) == ()
    assert mine([]) == ()


def test_an_action_without_a_place_has_no_grounding() -> None:
    (trajectory,) = mine([action(1, placed=False), action(3, placed=False)], title="Tap around")
    assert [step.grounding for step in trajectory.steps if step.action.kind == "click"] == [None, None]
    assert check(trajectory).reason == "too_few_places"


def test_what_the_speaker_announces_becomes_the_instruction() -> None:
    spoken = say((0.5, "Let me show you how to sort the table by price."), (3, "Click the header."))
    (trajectory,) = mine([action(4), action(6)], spoken=spoken)
    assert trajectory.instruction.source == "narration"
    assert "sort the table by price" in trajectory.instruction.text.lower()


def test_the_application_is_named_where_the_window_says_it() -> None:
    line = TextLine("notes.txt - Mousepad", Box(0.4, 0.0, 0.6, 0.03), 0.98)
    (trajectory,) = mine([action(1), action(3)], top=[line])
    assert (trajectory.app, trajectory.app_basis) == ("Mousepad", "seen")


def test_steps_keep_their_order_and_their_screenshots_lie_around_them() -> None:
    (trajectory,) = mine([action(1), action(1.3), action(3)], title="Click around")
    acts = [step for step in trajectory.steps if step.action.kind == "click"]
    assert [step.start_ns for step in acts] == [s(1), s(1.3), s(3)]
    for step in acts:
        assert step.before is not None
        assert step.before.frame_ns <= step.start_ns
        assert step.after is None or step.after.frame_ns >= step.before.frame_ns
    # the second click came before the first one's effect had settled: its own effect must not show there
    assert acts[0].after is None or acts[0].after.frame_ns <= s(1.2)
    assert check(trajectory).keep
