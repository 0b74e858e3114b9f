"""The whole of seeing: one pass over the frames, the detectors, a short second look for the typed text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from video2gui.captions.words import Transcript
from video2gui.ocr.base import Ocr
from video2gui.screen.events import LEAD_NS, Scene, find_actions, find_still, with_text
from video2gui.screen.fusion import with_keys
from video2gui.screen.keystrokes import Typing
from video2gui.screen.narration import spoken_actions
from video2gui.screen.observed import Observation, ObservedAction
from video2gui.screen.text import typed_text
from video2gui.screen.watch import Watched, watch
from video2gui.timebase import NS_PER_S
from video2gui.video import open_video
from video2gui.video.reader import VideoReader

#: Letters a second that hands can type, and letters that may fall between two looks at the screen.
_FASTEST, _AT_ONCE = 20.0, 4
#: A change with no letter to it that comes so long before the next one is no key.
_LONE_NS = int(0.25 * NS_PER_S)


def observe_video(
    path: Path, *, ocr: Ocr | None, transcript: Transcript | None, reader: Literal["pyav", "decord"]
) -> Observation:
    """See `screen.observe`."""
    with open_video(path, reader) as video:
        watched = watch(video.pictures(), video.info.size_wh)
        if watched is None:
            return Observation(video.info.size_wh, 0, (), (), (), ())
        return conclude(watched, video, ocr, transcript)


def conclude(watched: Watched, video: VideoReader, ocr: Ocr | None, transcript: Transcript | None) -> Observation:
    """What the one pass over `video` tells; `video` is looked into again for the text that was typed."""
    shown = watched.keys.finish(ocr) if ocr is not None else []
    spoken = spoken_actions(transcript) if transcript is not None else []
    signs_px = [key.box_px for key in shown]
    watched = watched.without(signs_px)
    scene = Scene.of(watched, signs_px)
    actions, typed = find_actions(scene, spoken)
    actions += _read(video, typed, scene, ocr) if ocr is not None else [action for _, action in typed]
    actions = with_keys(actions, shown, spoken, scene)
    end_ns = max(watched.end_ns, video.info.duration_ns or 0)
    return Observation(
        video.info.size_wh,
        end_ns,
        tuple(actions),
        watched.samples,
        tuple(watched.movie.times_ns[k] for k in scene.cuts),
        tuple(find_still(scene, end_ns)),
    )


def _read(
    video: VideoReader, typed: list[tuple[Typing, ObservedAction]], scene: Scene, ocr: Ocr
) -> list[ObservedAction]:
    """The typing actions with their text, from the frames before and after each."""
    times = [t for _, action in typed for t in (action.before_ns, action.after_ns)]
    frames = video.frames_at(times)
    out = []
    for typing, action in typed:
        before, after = next(frames).image, next(frames).image
        left, top, right, bottom = scene.movie.layout.to_px(typing.rect)
        found = typed_text(before, after, (int(left), int(top), int(right) + 1, int(bottom) + 1), ocr)
        if found.outcome in ("deleted", "nothing"):
            continue  # nothing new stands there: it was no typing
        if found.outcome == "unreadable" and not scene.watched.track.known(typing.first):
            continue  # with no pointer in sight this may be a game
        if found.text is not None and not _by_hand(found.text, typing, scene.movie.times_ns):
            continue
        start_ns = max(0, scene.movie.times_ns[_first_key(typing, found.text, scene.movie.times_ns)] - LEAD_NS)
        out.append(with_text(replace(action, start_ns=start_ns), found.text, found.confidence))
    return out


def _first_key(typing: Typing, text: str | None, times_ns: Sequence[int]) -> int:
    """The frame of the first key. A first change long before the next is the focus coming; one a little before it is,
    too, when there is no letter for it."""
    frames = [*([] if typing.opening is None else [typing.opening]), *typing.frames]
    gaps = np.diff([times_ns[k] for k in frames])
    if len(gaps) == 0:
        return frames[0]
    spare = len(frames) - len(text) if text is not None else typing.opening is not None
    lone = gaps[0] > (_LONE_NS if spare > 0 else max(2 * _LONE_NS, 2 * float(np.median(gaps))))
    return frames[1 if lone else 0]


def _by_hand(text: str, typing: Typing, times_ns: Sequence[int]) -> bool:
    """Whether the run may have been keys: about a letter a step (a counter that turns over in place has far fewer),
    and no faster than hands are (a program writes whole words at once)."""
    if 2 * len(text) < len(typing.frames):
        return False
    seconds = (times_ns[typing.last] - times_ns[typing.first]) / NS_PER_S
    return len(text) - 1 <= max(_FASTEST * seconds, _AT_ONCE)
