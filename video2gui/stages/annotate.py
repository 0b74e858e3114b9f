"""A recording to trajectories, by the annotator that the settings name."""

from __future__ import annotations

from video2gui.annotators.base import Annotator, Recording
from video2gui.annotators.observed import ObservedAnnotator
from video2gui.config import AnnotateSettings
from video2gui.ocr.base import Ocr
from video2gui.schema import Trajectory


def annotator(settings: AnnotateSettings, ocr: Ocr) -> Annotator:
    """The annotator that `settings.annotator` names."""
    return {"observed": ObservedAnnotator}[settings.annotator](settings, ocr)


def annotate(recording: Recording, settings: AnnotateSettings, ocr: Ocr) -> tuple[Trajectory, ...]:
    """Trajectories in order of time, their places not yet named and their screenshots not yet taken.

    Raises:
        VideoError: the file cannot be decoded; BackendError: a model failed.
    """
    return annotator(settings, ocr).annotate(recording)
