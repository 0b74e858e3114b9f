"""Where one task ends and the next begins: chapters where a video has them, else pauses, cuts and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from video2gui.annotators.words import Sentence, clean_title, is_generic, starts_task
from video2gui.config import AnnotateSettings
from video2gui.schema import Chapter
from video2gui.screen.observed import Observation, ObservedAction


@dataclass(frozen=True, slots=True)
class Segment:
    """The actions of one task, and the stretch of video that is theirs: half-open, from border to border."""

    start_ns: int
    end_ns: int
    actions: tuple[ObservedAction, ...]
    chapter: str | None = None


def segments(
    observation: Observation,
    actions: Sequence[ObservedAction],
    chapters: Sequence[Chapter] | None,
    spoken: Sequence[Sentence],
    settings: AnnotateSettings,
) -> list[Segment]:
    """The tasks of a video in order of time; every action lies in at most one. Short ones are left out.

    `actions` are those of the observation that are believed, in order of their start.
    """
    if chapters and len(chapters) >= 2:
        found = [part for chapter in chapters for part in _of_chapter(observation, actions, chapter)]
    else:
        found = _by_borders(observation, actions, spoken, settings)
    parts = [part for segment in found for part in _no_longer_than(segment, settings.max_steps)]
    return [part for part in parts if len(part.actions) >= settings.min_steps]


def _of_chapter(observation: Observation, actions: Sequence[ObservedAction], chapter: Chapter) -> list[Segment]:
    inside = tuple(a for a in actions if chapter.start_ns <= a.start_ns < chapter.end_ns)
    if not inside:
        return []
    title = None if is_generic(chapter.title) else clean_title(chapter.title)
    end_ns = max(inside[-1].end_ns, min(chapter.end_ns, observation.end_ns))
    return [Segment(max(0, chapter.start_ns), end_ns, inside, title)]


def _by_borders(
    observation: Observation,
    actions: Sequence[ObservedAction],
    spoken: Sequence[Sentence],
    settings: AnnotateSettings,
) -> list[Segment]:
    groups: list[list[ObservedAction]] = []
    for action in actions:
        if groups and not _is_border(groups[-1][-1], action, observation, spoken, settings):
            groups[-1].append(action)
        else:
            groups.append([action])
    starts = [0, *(group[0].before_ns for group in groups[1:]), observation.end_ns]
    return [
        Segment(min(start, group[0].start_ns), max(end, group[-1].end_ns), tuple(group))
        for group, start, end in zip(groups, starts, starts[1:], strict=False)
    ]


def _is_border(
    last: ObservedAction,
    following: ObservedAction,
    observation: Observation,
    spoken: Sequence[Sentence],
    settings: AnnotateSettings,
) -> bool:
    """A long pause is a border by itself; a shorter one when a cut or the speaker's words mark it, too."""
    pause_ns = following.start_ns - last.end_ns
    if pause_ns >= settings.task_pause_ns:
        return True
    if pause_ns < settings.marked_pause_ns:
        return False
    return any(last.end_ns < cut <= following.start_ns for cut in observation.cuts_ns) or any(
        last.end_ns <= said.start_ns <= following.start_ns and starts_task(said.text) for said in spoken
    )


def _no_longer_than(segment: Segment, limit: int) -> list[Segment]:
    """Cut at the longest pause, of equal ones the most central, until every part is short enough."""
    done: list[Segment] = []
    left = [segment]
    while left:
        part = left.pop()
        actions = part.actions
        if len(actions) <= limit:
            done.append(part)
            continue
        at = _longest_pause(actions)
        border = actions[at].before_ns
        tail_start, head_end = min(border, actions[at].start_ns), max(border, actions[at - 1].end_ns)
        left.append(Segment(tail_start, part.end_ns, actions[at:], part.chapter))
        left.append(Segment(part.start_ns, head_end, actions[:at], part.chapter))
    return done


def _longest_pause(actions: Sequence[ObservedAction]) -> int:
    def rank(index: int) -> tuple[int, int]:
        return actions[index].start_ns - actions[index - 1].end_ns, -abs(2 * index - len(actions))

    return max(range(1, len(actions)), key=rank)
