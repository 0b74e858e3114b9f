"""What can be seen on a screen recording without a language model: `observe(path)` gives an `Observation`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from video2gui.screen.observed import Observation, ObservedAction

if TYPE_CHECKING:
    from video2gui.captions.words import Transcript
    from video2gui.ocr.base import Ocr

__all__ = ["Observation", "ObservedAction", "events_json", "observe"]


def observe(
    path: Path, *, ocr: Ocr | None, transcript: Transcript | None = None, reader: Literal["pyav", "decord"] = "pyav"
) -> Observation:
    """What was done on the screen recording at `path`. Typed text stays unread where `ocr` is None.

    Raises:
        VideoError: the file cannot be decoded; BackendError: a model failed or its package is missing.
    """
    from video2gui.screen.observing import observe_video  # numpy and the models load here

    return observe_video(path, ocr=ocr, transcript=transcript, reader=reader)


def events_json(observation: Observation) -> list[dict[str, Any]]:
    """The actions as plain data: seconds, pixels of the video, kinds by name. See `video2gui events --help`."""
    from video2gui.screen.event_rows import event_row

    return [event_row(action, observation.size_wh) for action in observation.actions]
