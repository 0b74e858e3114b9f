"""The embedded annotator: trajectories from what is seen on the screen and heard in the captions, no language model.

It adds nothing that no signal said: a step without a place has no grounding, an instruction names its source, an
application that is nowhere written stays None. Names of targets and boxes come later, in `stages.ground`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from video2gui import video
from video2gui.annotators.base import Recording
from video2gui.annotators.context import TOP, Context, context
from video2gui.annotators.segments import Segment, segments
from video2gui.annotators.words import Sentence, clean_title, describe, ends_task, goal, sentences
from video2gui.config import AnnotateSettings, digest
from video2gui.geometry import Box
from video2gui.ocr.base import Ocr, TextLine
from video2gui.schema import (
    PLACED,
    Click,
    DoubleClick,
    Drag,
    Evidence,
    Finish,
    Grounding,
    LongPress,
    MadeBy,
    MiddleClick,
    RightClick,
    Screenshot,
    Signal,
    Source,
    Step,
    Trajectory,
    TripleClick,
    VideoMeta,
    Wait,
    Words,
)
from video2gui.screen import observe
from video2gui.screen.observed import Observation, ObservedAction
from video2gui.timebase import NS_PER_MS, NS_PER_S
from video2gui.video.frame import Image

#: The words of the whole video are the task's words only where the task is most of the video.
_MAIN_SHARE = 0.6

#: Words that announce a task may be spoken this long before its first action.
_LEAD_NS = 8 * NS_PER_S

#: The result of a task must stay on screen this long for its end to be believed.
_STAYS_NS = 1 * NS_PER_S

#: From press to recognised effect it is seldom longer; the screenshot before a press lies this far ahead of it.
_PRESS_NS = 250 * NS_PER_MS
_PRESSES = (Click, DoubleClick, TripleClick, RightClick, MiddleClick, Drag, LongPress)


class ObservedAnnotator:
    """`annotators.base.Annotator` on top of `screen.observe`."""

    name = "observed"
    version = "1"

    def __init__(self, settings: AnnotateSettings, ocr: Ocr) -> None:
        self.settings = settings
        self.ocr = ocr

    def annotate(self, recording: Recording) -> tuple[Trajectory, ...]:
        observation = observe(
            recording.path, ocr=self.ocr, transcript=recording.transcript, reader=self.settings.reader
        )
        found = tasks(recording, observation, self.settings)
        lines = self._top_lines(recording, [segment.actions[0].before_ns for segment in found])
        made_by = MadeBy(
            annotator=f"{self.name}/{self.version}",
            settings_digest=digest(self.settings),
            models=(f"{self.ocr.name}/{self.ocr.version}",),
        )
        return trajectories(recording, observation, found, lines, made_by, self.settings)

    def _top_lines(self, recording: Recording, times_ns: Sequence[int]) -> list[list[TextLine]]:
        """What is written in the window's title and address bar at each instant."""
        if not times_ns:
            return []
        with video.open_video(recording.path, self.settings.reader) as reader:
            return [_read_top(self.ocr, frame.image) for frame in reader.frames_at(times_ns)]


def tasks(recording: Recording, observation: Observation, settings: AnnotateSettings) -> list[Segment]:
    """The tasks of a recording, of those actions that are believed."""
    believed = [action for action in observation.actions if action.evidence.confidence >= settings.min_confidence]
    spoken = sentences(recording.transcript) if recording.transcript is not None else ()
    return segments(observation, believed, recording.video.meta.chapters, spoken, settings)


def trajectories(
    recording: Recording,
    observation: Observation,
    found: Sequence[Segment],
    lines: Sequence[Sequence[TextLine]],
    made_by: MadeBy,
    settings: AnnotateSettings,
) -> tuple[Trajectory, ...]:
    """One trajectory a task. `lines` are the texts at the top of the screen as each task begins."""
    meta = recording.video.meta
    spoken = sentences(recording.transcript) if recording.transcript is not None else ()
    acting = sum(len(segment.actions) for segment in found)
    out = []
    for index, (segment, top) in enumerate(zip(found, lines, strict=True)):
        is_main = len(segment.actions) >= _MAIN_SHARE * acting
        about: Context = context(top, [text for text in (segment.chapter, meta.title) if text])
        steps = _steps(segment, observation, spoken, settings, is_last=index == len(found) - 1)
        out.append(
            Trajectory(
                trajectory_id=_trajectory_id(meta.video_id, index),
                source=_source(recording, observation),
                instruction=_instruction(segment, meta, spoken, is_main) or Words(describe(steps), "observed"),
                start_ns=segment.start_ns,
                end_ns=segment.end_ns,
                steps=steps,
                made_by=made_by,
                platform=about.platform,
                app=about.app,
                website=about.website,
                platform_basis=about.platform_basis,
                app_basis=about.app_basis,
                website_basis=about.website_basis,
            )
        )
    return tuple(out)


def _read_top(ocr: Ocr, image: Image) -> list[TextLine]:
    """Text lines of the top of a frame, their boxes as fractions of the whole frame."""
    height = image.shape[0]
    rows = max(1, round(height * TOP))
    share = rows / height
    return [
        replace(line, box=Box(line.box.x1, line.box.y1 * share, line.box.x2, line.box.y2 * share))
        for line in ocr.read(image[:rows])
    ]


def _trajectory_id(video_id: str, index: int) -> str:
    """Unique among all trajectories of differently named videos, and short enough to be a key."""
    if len(video_id) > 110:
        video_id = f"{video_id[:90]}-{hashlib.sha256(video_id.encode()).hexdigest()[:16]}"
    return f"{video_id}-{index:03d}"


def _source(recording: Recording, observation: Observation) -> Source:
    meta = recording.video.meta
    width, height = observation.size_wh
    return Source(
        video_id=meta.video_id,
        url=meta.url,
        width_px=width,
        height_px=height,
        sha256=recording.video.sha256,
        title=meta.title,
        channel=meta.channel,
        language=meta.language,
        licence=meta.licence,
    )


# --------------------------------------------------------------------------------------------- the words


def _instruction(segment: Segment, meta: VideoMeta, spoken: Sequence[Sentence], is_main: bool) -> Words | None:
    """The task in words: its chapter, the video's title, the speaker's announcement; None where none of them speaks."""
    if segment.chapter is not None:
        return Words(segment.chapter, "chapter")
    if is_main and (title := clean_title(meta.title, meta.channel)) is not None:
        return Words(title, "title")
    if (announced := _announced(segment, spoken)) is not None:
        return Words(announced, "narration")
    return None


def _announced(segment: Segment, spoken: Sequence[Sentence]) -> str | None:
    """The last task announced before the first action, else the first one announced in the middle of it."""
    first_ns = segment.actions[0].start_ns
    near = [said for said in spoken if first_ns - _LEAD_NS <= said.start_ns < segment.actions[-1].end_ns]
    before = [said for said in near if said.start_ns <= first_ns]
    behind = [said for said in near if said.start_ns > first_ns]
    return next((found for said in [*reversed(before), *behind] if (found := goal(said.text)) is not None), None)


# --------------------------------------------------------------------------------------------- the steps


def _steps(
    segment: Segment,
    observation: Observation,
    spoken: Sequence[Sentence],
    settings: AnnotateSettings,
    *,
    is_last: bool,
) -> tuple[Step, ...]:
    starts = [action.start_ns for action in observation.actions]
    out: list[Step] = []
    last: ObservedAction | None = None
    for action in segment.actions:
        following = next((a for a in observation.actions if a.start_ns > action.start_ns), None)
        gap = last is not None and _is_gap(last, action, observation, starts)
        out.extend(_with_wait(_step(action, last, following, gap_before=gap), action, settings))
        last = action
    if (finish := _finish(segment, observation, spoken, is_last=is_last)) is not None:
        out.append(finish)
    return tuple(out)


def _before_ns(action: ObservedAction, last: ObservedAction | None) -> int:
    """The frame that shows the screen as it was when the user decided.

    A press answers at once (focus, a pressed look) and what is recognised is often the release, so the frame just
    before the recognised effect may show the answer already. A little earlier it does not, unless the effect of the
    action before is still under way then.
    """
    if not isinstance(action.action, _PRESSES):
        return action.before_ns
    settled_ns = 0 if last is None else last.after_ns
    return max(0, min(action.before_ns, max(action.start_ns - _PRESS_NS, settled_ns)))


def _step(
    action: ObservedAction, last: ObservedAction | None, following: ObservedAction | None, *, gap_before: bool
) -> Step:
    is_placed = isinstance(action.action, PLACED) and action.point is not None
    before_ns = _before_ns(action, last)
    grounding = None
    if is_placed and action.point is not None:
        grounding = Grounding(action.point, frame_ns=before_ns, end_point=action.end_point)
    evidence = action.evidence if is_placed else replace(action.evidence, place=None)
    after_ns: int | None = action.after_ns
    if following is not None and following.before_ns < action.after_ns:
        # the next action came before this one's effect had settled: its own effect must not show here
        after_ns = following.before_ns if following.before_ns > action.before_ns else None
    return Step(
        start_ns=action.start_ns,
        end_ns=action.end_ns,
        action=action.action,
        evidence=evidence,
        grounding=grounding,
        before=Screenshot(before_ns),
        after=Screenshot(after_ns) if after_ns is not None else None,
        gap_before=gap_before,
    )


def _is_gap(last: ObservedAction, action: ObservedAction, observation: Observation, starts: Sequence[int]) -> bool:
    """Between two steps lies a cut, or an action that was too doubtful to keep."""
    cut = any(last.end_ns < at <= action.start_ns for at in observation.cuts_ns)
    return cut or any(last.start_ns < start < action.start_ns for start in starts)


def _with_wait(step: Step, action: ObservedAction, settings: AnnotateSettings) -> list[Step]:
    """A step whose effect came late is followed by a wait: the program was at work, and then showed the result."""
    waited_ns = action.after_ns - action.end_ns
    if isinstance(action.action, Wait) or step.after is None or waited_ns < settings.wait_ns:
        return [step]
    if step.after.frame_ns < action.after_ns:  # the next action did not wait
        return [step]
    signal = Signal("pixels", 0.6, f"the screen settled {waited_ns / NS_PER_S:.1f} s after the action")
    wait = Step(
        start_ns=action.end_ns,
        end_ns=action.after_ns,
        action=Wait(),
        evidence=Evidence((signal,), confidence=0.6 * action.evidence.confidence, action="inferred"),
        before=Screenshot(action.end_ns),
        after=step.after,
    )
    return [replace(step, after=Screenshot(action.end_ns)), wait]


def _finish(segment: Segment, observation: Observation, spoken: Sequence[Sentence], *, is_last: bool) -> Step | None:
    """The end of the task, where something says so: chapter, speaker, or a result that stays on screen."""
    last = segment.actions[-1]
    if any(last.after_ns < cut <= segment.end_ns for cut in observation.cuts_ns):
        return None  # what came behind the last action was cut out, and with it perhaps a part of the task
    signals = []
    if segment.chapter is not None:
        signals.append(Signal("title", 0.6, "the chapter ends here"))
    if any(last.start_ns <= said.start_ns < segment.end_ns and ends_task(said.text) for said in spoken):
        signals.append(Signal("narration", 0.8, "the speaker says that it is done"))
    if is_last and segment.chapter is None and segment.end_ns - last.after_ns >= _STAYS_NS:
        signals.append(Signal("pixels", 0.5, "the result stays on screen to the end"))
    if not signals or last.after_ns > observation.end_ns:
        return None
    return Step(
        start_ns=last.after_ns,
        end_ns=max(last.after_ns, segment.end_ns),
        action=Finish("success"),
        evidence=Evidence(tuple(signals), max(signal.confidence for signal in signals), action="inferred"),
        before=Screenshot(last.after_ns),
    )
