"""What touches a video file. These functions run in a guarded child process: plain values in, plain values out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from video2gui import video
from video2gui.annotators.base import Recording
from video2gui.captions import read_captions
from video2gui.captions.words import Transcript
from video2gui.config import AnnotateSettings, ContentSettings, PackSettings
from video2gui.ocr import open_ocr
from video2gui.schema import FetchedVideo, Sample, Trajectory, Verdict
from video2gui.stages.annotate import annotate
from video2gui.stages.filter_content import filter_content
from video2gui.stages.ground import ground
from video2gui.stages.pack import pack


@dataclass(frozen=True, slots=True)
class Local:
    """A fetched video whose files are on this machine; `captions` is the first of its tracks."""

    video: FetchedVideo
    path: Path
    captions: Path | None


def judge(local: Local, settings: ContentSettings, how: AnnotateSettings) -> Verdict:
    return filter_content(_recording(local, how), settings, open_ocr(how.ocr))


def find_trajectories(local: Local, settings: AnnotateSettings) -> tuple[Trajectory, ...]:
    return annotate(_recording(local, settings), settings, open_ocr(settings.ocr))


def place(local: Local, trajectories: tuple[Trajectory, ...], settings: AnnotateSettings) -> tuple[Trajectory, ...]:
    recording, ocr = _recording(local, settings), open_ocr(settings.ocr)
    return tuple(ground(recording, trajectory, ocr, settings) for trajectory in trajectories)


def pack_one(local: Local, trajectory: Trajectory, settings: PackSettings, how: AnnotateSettings) -> Sample:
    return pack(_recording(local, how), trajectory, settings, reader=how.reader)


def _recording(local: Local, how: AnnotateSettings) -> Recording:
    with video.open_video(local.path, how.reader) as reader:
        info = reader.info
    transcript, fetched = _transcript(local), local.video
    if fetched.meta.language is None and transcript is not None and transcript.language is not None:
        fetched = replace(fetched, meta=replace(fetched.meta, language=transcript.language))
    return Recording(fetched, local.path, info, transcript)


def _transcript(local: Local) -> Transcript | None:
    if local.captions is None:
        return None
    track = local.video.captions[0]
    return read_captions(local.captions, track.language, track.automatic)
