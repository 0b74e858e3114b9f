"""The whole flow for one recording, on one screen. `pipelines.mine_videos` is the same chain for many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from video2gui import video
from video2gui.annotators.base import Recording
from video2gui.captions import read_captions
from video2gui.config import Settings
from video2gui.fetch.local import sha256_of
from video2gui.ocr import open_ocr
from video2gui.schema import CaptionFile, FetchedVideo, Sample, Verdict, VideoMeta
from video2gui.screen import events_json, observe
from video2gui.stages.annotate import annotate
from video2gui.stages.check import check
from video2gui.stages.filter_content import filter_content
from video2gui.stages.ground import ground
from video2gui.stages.pack import pack
from video2gui.stages.parse_row import safe_id


@dataclass(frozen=True, slots=True)
class Mined:
    """What one recording gave: the verdict on its picture, its samples, and what the check left out."""

    content: Verdict
    samples: tuple[Sample, ...] = ()
    left_out: tuple[tuple[str, Verdict], ...] = ()


def mine_video(
    path: Path, settings: Settings, captions: Path | None = None, meta: VideoMeta | None = None, anyway: bool = False
) -> Mined:
    """Filter, annotate, ground, check and pack one file. `anyway` goes on past a content verdict that drops it.

    Raises:
        VideoError: the file cannot be decoded; CaptionError: the captions cannot be read; BackendError: a model failed.
    """
    recording = open_recording(path, settings, captions, meta)
    ocr = open_ocr(settings.annotate.ocr)
    content = filter_content(recording, settings.content, ocr)
    if not content.keep and not anyway:
        return Mined(content)
    found = annotate(recording, settings.annotate, ocr)
    placed = [ground(recording, trajectory, ocr, settings.annotate) for trajectory in found]
    verdicts = [(trajectory, check(trajectory, settings.annotate)) for trajectory in placed]
    return Mined(
        content,
        tuple(
            pack(recording, trajectory, settings.pack, reader=settings.annotate.reader)
            for trajectory, verdict in verdicts
            if verdict.keep
        ),
        tuple((trajectory.trajectory_id, verdict) for trajectory, verdict in verdicts if not verdict.keep),
    )


def see_events(path: Path, settings: Settings, captions: Path | None = None) -> list[dict[str, object]]:
    """What was done on the recording at `path`: seconds and pixels, one object an action.

    Raises:
        VideoError: the file cannot be decoded; CaptionError: the captions cannot be read; BackendError: a model failed.
    """
    transcript = None if captions is None else read_captions(captions)
    how = settings.annotate
    return events_json(observe(path, ocr=open_ocr(how.ocr), transcript=transcript, reader=how.reader))


def open_recording(path: Path, settings: Settings, captions: Path | None, meta: VideoMeta | None) -> Recording:
    """A file on this machine as the stages want it; its name stands in for an id where `meta` is None."""
    with video.open_video(path, settings.annotate.reader) as reader:
        info = reader.info
    meta = meta or VideoMeta(safe_id(path.stem), path.stem, path.name, row="")
    tracks = () if captions is None else (CaptionFile(str(captions)),)
    fetched = FetchedVideo(meta, str(path), sha256_of(path), path.stat().st_size, tracks)
    if captions is None:
        return Recording(fetched, path, info, None)
    transcript = read_captions(captions)
    if meta.language is None and transcript.language is not None:
        fetched = replace(fetched, meta=replace(meta, language=transcript.language))
    return Recording(fetched, path, info, transcript)
