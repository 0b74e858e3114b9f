"""An annotator turns one recording into trajectories."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from video2gui.captions.words import Transcript
from video2gui.schema import FetchedVideo, Trajectory
from video2gui.video.frame import StreamInfo


@dataclass(frozen=True, slots=True)
class Recording:
    """A fetched video on this machine, ready to be looked at."""

    video: FetchedVideo
    path: Path
    info: StreamInfo
    transcript: Transcript | None


class Annotator(Protocol):
    """`name` and `version` go into `MadeBy` and into the fingerprint of what it made."""

    name: str
    version: str

    def annotate(self, recording: Recording) -> tuple[Trajectory, ...]:
        """Trajectories in order of time, without screenshots' files. None found is an empty tuple.

        Raises:
            VideoError: the file cannot be decoded; BackendError: a model failed.
        """
        ...
