"""A grounded trajectory and its frames to one shard sample."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from PIL import Image as Pillow

from video2gui import codec, video
from video2gui.annotators.base import Recording
from video2gui.config import PackSettings
from video2gui.errors import SchemaError
from video2gui.schema import Sample, Screenshot, Step, Trajectory
from video2gui.video.frame import Image

ReaderName = Literal["pyav", "decord"]

_PILLOW_FORMATS = {"jpg": "JPEG", "png": "PNG", "webp": "WEBP"}


def pack(
    recording: Recording, trajectory: Trajectory, settings: PackSettings, *, reader: ReaderName = "pyav"
) -> Sample:
    """The sample of a trajectory: ``json`` and, a step, ``NNN.before.jpg`` and ``NNN.after.jpg``.

    One pass over the video; the bytes depend on nothing but the frames, the trajectory and the settings.

    Raises:
        SchemaError: more steps than a file name can count; VideoError: the file cannot be decoded.
    """
    if len(trajectory.steps) > 1000:
        raise SchemaError(
            f"{trajectory.trajectory_id} has {len(trajectory.steps)} steps, a sample holds 1000",
            address=f"{trajectory.trajectory_id}: steps",
        )
    images = encoded(recording, sorted(set(_instants(trajectory.steps))), settings, reader=reader)
    by_instant = dict(images)
    files: dict[str, bytes] = {}
    steps = []
    for index, step in enumerate(trajectory.steps):
        changes: dict[str, Any] = {}
        for side, shot in (("before", step.before), ("after", step.after)):
            if shot is not None:
                name = f"{index:03d}.{side}.{settings.image_format}"
                files[name] = by_instant[shot.frame_ns]
                digest = hashlib.sha256(files[name]).hexdigest()
                changes[side] = Screenshot(shot.frame_ns, name, digest)
        steps.append(replace(step, **changes))
    packed = replace(trajectory, steps=tuple(steps))
    return Sample(trajectory.trajectory_id, {"json": codec.dumps(packed).encode(), **files})


def _instants(steps: tuple[Step, ...]) -> Iterator[int]:
    for step in steps:
        for shot in (step.before, step.after):
            if shot is not None:
                yield shot.frame_ns


def encoded(
    recording: Recording, times_ns: list[int], settings: PackSettings, *, reader: ReaderName = "pyav"
) -> Iterator[tuple[int, bytes]]:
    """The frame on screen at each instant (in order), as bytes of an image file."""
    if not times_ns:
        return
    with video.open_video(recording.path, reader) as source:
        for time_ns, frame in zip(times_ns, source.frames_at(times_ns), strict=True):
            yield time_ns, encode(frame.image, settings)


def encode(image: Image, settings: PackSettings) -> bytes:
    """uint8 (H, W, 3) RGB as an image file; no metadata, the same bytes for the same picture."""
    out = io.BytesIO()
    quality = settings.image_quality
    by_format: dict[str, dict[str, Any]] = {
        "jpg": {"quality": quality, "subsampling": 0, "optimize": True},  # 4:4:4 keeps coloured text sharp
        "png": {},
        "webp": {"quality": quality, "method": 4},
    }
    options = by_format[settings.image_format]
    Pillow.fromarray(image).save(out, _PILLOW_FORMATS[settings.image_format], **options)
    return out.getvalue()
