"""Is a trajectory worth keeping: order, bounds, enough steps, places, whole stretches, confidence."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from video2gui.annotators.words import names_something
from video2gui.config import AnnotateSettings
from video2gui.schema import PLACED, Finish, Step, Trajectory, Verdict, Wait

STAGE = "check"


def check(trajectory: Trajectory, settings: AnnotateSettings | None = None) -> Verdict:
    """The first rule that the trajectory breaks, or `kept` with the mean confidence of its steps as score."""
    settings = settings or AnnotateSettings()
    for rule in _RULES:
        found = rule(trajectory, settings)
        if found is not None:
            reason, detail = found
            return Verdict(keep=False, reason=reason, stage=STAGE, detail=detail)
    return Verdict(keep=True, reason="kept", stage=STAGE, score=_confidence(_acts(trajectory)))


_Found = tuple[str, str] | None


def _acts(trajectory: Trajectory) -> list[Step]:
    """The steps in which somebody does something."""
    return [step for step in trajectory.steps if not isinstance(step.action, (Wait, Finish))]


def _confidence(steps: list[Step]) -> float:
    return math.fsum(step.evidence.confidence for step in steps) / len(steps)


def _enough_steps(trajectory: Trajectory, settings: AnnotateSettings) -> _Found:
    count = len(_acts(trajectory))
    return ("too_few_steps", f"{count} of {settings.min_steps}") if count < max(1, settings.min_steps) else None


def _bounds(trajectory: Trajectory, _: AnnotateSettings) -> _Found:
    for index, step in enumerate(trajectory.steps):
        if not trajectory.start_ns <= step.start_ns <= step.end_ns <= trajectory.end_ns:
            return "out_of_bounds", f"step {index} lies outside its trajectory"
    return None


def _order(trajectory: Trajectory, _: AnnotateSettings) -> _Found:
    steps = trajectory.steps
    for index, (one, two) in enumerate(itertools.pairwise(steps), start=1):
        if two.start_ns < one.start_ns:
            return "out_of_order", f"step {index} begins before step {index - 1}"
        if one.before and two.before and two.before.frame_ns < one.before.frame_ns:
            return "out_of_order", f"step {index} is shown before step {index - 1}"
    for index, step in enumerate(steps):
        if isinstance(step.action, Finish) and index != len(steps) - 1:
            return "out_of_order", f"step {index} finishes the task, and it goes on"
    return None


def _screenshots(trajectory: Trajectory, _: AnnotateSettings) -> _Found:
    for index, step in enumerate(trajectory.steps):
        if step.before is None:
            return "no_screenshot", f"step {index} has no frame before it"
        if step.after is not None and step.after.frame_ns < step.before.frame_ns:
            return "out_of_order", f"step {index} ends in a frame from before it"
        if step.grounding is not None and step.grounding.frame_ns != step.before.frame_ns:
            return "place_in_other_frame", f"step {index} was placed in another frame than it shows"
    return None


def _places(trajectory: Trajectory, settings: AnnotateSettings) -> _Found:
    placed = [step for step in _acts(trajectory) if isinstance(step.action, PLACED)]
    found = sum(step.grounding is not None for step in placed)
    if placed and found < settings.min_placed * len(placed):
        return "too_few_places", f"{found} of {len(placed)} steps have a place"
    return None


def _gaps(trajectory: Trajectory, settings: AnnotateSettings) -> _Found:
    gaps = sum(step.gap_before for step in trajectory.steps[1:])
    joints = len(trajectory.steps) - 1
    return ("too_many_gaps", f"{gaps} of {joints} joints") if gaps > settings.max_gaps * joints else None


def _believed(trajectory: Trajectory, settings: AnnotateSettings) -> _Found:
    mean = _confidence(_acts(trajectory))
    return ("low_confidence", f"{mean:.2f} on average") if mean < settings.min_confidence else None


def _instruction(trajectory: Trajectory, _: AnnotateSettings) -> _Found:
    if trajectory.instruction.source == "observed" and not names_something(trajectory.steps):
        return "no_instruction", "nobody says what is done, and no step has a name"
    return None


_RULES: tuple[Callable[[Trajectory, AnnotateSettings], _Found], ...] = (
    _enough_steps, _bounds, _order, _screenshots, _places, _gaps, _believed, _instruction,
)  # fmt: skip
