"""What is on screen when: from pictures in order to the ones that were asked for. All readers share it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import pairwise

from video2gui.errors import VideoError
from video2gui.video.frame import Frame, Picture

#: Opens a run of pictures whose times never decrease: of several at one instant only the last is ever on screen. The
#: first picture is not later than the given instant, or is the first of the video.
OpenFrom = Callable[[int], Generator[Picture, None, None]]


def on_screen(open_from: OpenFrom, start_ns: int, end_ns: int | None, every_ns: int) -> Iterator[Picture]:
    """See `VideoReader.pictures`. A picture is given out when the next one shows how long it stayed."""
    if every_ns < 1:
        raise ValueError(f"every_ns is {every_ns}, expected at least 1")
    return _on_screen(open_from, max(start_ns, 0), end_ns, every_ns)


def _on_screen(open_from: OpenFrom, start_ns: int, end_ns: int | None, every_ns: int) -> Iterator[Picture]:
    if end_ns is not None and end_ns <= start_ns:
        return
    held: Picture | None = None
    run = open_from(start_ns)
    try:
        for picture in run:
            if end_ns is not None and picture.pts_ns >= end_ns:
                break
            if held is not None and _next_instant(held.pts_ns, start_ns, every_ns) < picture.pts_ns:
                yield held
            held = picture
    except VideoError:
        if held is not None:
            yield held  # the last good one
        raise
    finally:
        run.close()
    if held is not None:
        yield held


def _next_instant(pts_ns: int, start_ns: int, every_ns: int) -> int:
    """The first instant of the grid start, start + every, ... that is not before `pts_ns`."""
    return start_ns + max(0, -((start_ns - pts_ns) // every_ns)) * every_ns


def at_times(open_from: OpenFrom, times_ns: Sequence[int], pays: Callable[[int, int], bool]) -> Iterator[Frame]:
    """See `VideoReader.frames_at`. `pays(from, to)` says whether opening anew at `to` beats decoding on."""
    if any(b < a for a, b in pairwise(times_ns)):
        raise ValueError("times decrease")
    return _at_times(open_from, times_ns, pays)


def _at_times(open_from: OpenFrom, times_ns: Sequence[int], pays: Callable[[int, int], bool]) -> Iterator[Frame]:
    if not times_ns:
        return
    run = open_from(times_ns[0])
    try:
        held = next(run)
        ahead = next(run, None)
        frame: Frame | None = None
        for time_ns in (max(time_ns, 0) for time_ns in times_ns):
            if ahead is not None and ahead.pts_ns <= time_ns and pays(ahead.pts_ns, time_ns):
                run.close()
                run = open_from(time_ns)
                held, ahead = next(run), next(run, None)
            while ahead is not None and ahead.pts_ns <= time_ns:
                held, ahead = ahead, next(run, None)
            if frame is None or frame.pts_ns != held.pts_ns:
                frame = held.frame()
            yield frame
    finally:
        run.close()
