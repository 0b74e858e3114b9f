"""The one pass over a video: every picture is looked at once, for what changed and where the pointer is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from video2gui.screen.changes import CellMovie, ChangeDetector, Delta, Grid, Layout, Rect, around, components
from video2gui.screen.keys_overlay import KeyOverlayReader
from video2gui.screen.lasting import Activity
from video2gui.screen.observed import PointerSample
from video2gui.screen.shift import Shift, measure_shift
from video2gui.screen.tracker import PointerTracker
from video2gui.video.frame import Image, Picture

#: Frames that follow another by less are skipped: nothing a person does is faster.
_LEAST_GAP_NS = 28_000_000
#: From this share of changed cells in one place on a frame may be a scroll (a sparse sheet changes little when it
#: scrolls); so many places are measured, or from so many parts on what lies around them all.
_SCROLL_SHARE = 0.0014
_MOST_PLACES = 2
_MANY_PARTS = 4
#: More changed places than this and the frame is handed on as one.
_MOST_BOXES = 24

Floats = npt.NDArray[np.float64]


@dataclass(slots=True)
class Track:
    """The pointer by frame number. `x_px`, `y_px` are NaN where no place is known; `box_px` is its picture."""

    x_px: Floats
    y_px: Floats
    visible: npt.NDArray[np.bool_]
    shape: tuple[str | None, ...]
    confidence: Floats
    box_px: tuple[tuple[float, float, float, float] | None, ...]

    def known(self, frame: int) -> bool:
        return bool(np.isfinite(self.x_px[frame]))


@dataclass(slots=True)
class Watched:
    """What one pass leaves behind: the cell movie and the pointer, frame by frame."""

    movie: CellMovie
    track: Track
    samples: tuple[PointerSample, ...]
    shifts: dict[int, tuple[Shift, ...]]
    keys: KeyOverlayReader
    end_ns: int
    tracker: PointerTracker | None = None
    #: the cells where not everything moves all the time; None: all of them
    still: Grid | None = None

    def without(self, boxes_px: Sequence[tuple[float, float, float, float]]) -> Watched:
        """The same, had no pointer been taken for one in the boxes."""
        if not boxes_px or self.tracker is None:
            return self
        samples, places = self.tracker.without(boxes_px).track()
        return replace(self, track=_track(samples, places, self.movie.layout), samples=tuple(samples))


@dataclass(slots=True)
class _Pass:
    detector: ChangeDetector
    movie: CellMovie
    tracker: PointerTracker
    shifts: dict[int, tuple[Shift, ...]] = field(default_factory=dict)
    keys: KeyOverlayReader = field(default_factory=KeyOverlayReader)
    last: Image | None = None
    activity: Activity | None = None
    still: Grid | None = None

    def add(self, picture: Picture) -> None:
        delta = self.detector.update(picture.small(self.movie.layout.grid_wh))
        self.movie.append(picture.pts_ns, delta)
        delta = self._users(picture.pts_ns, delta)
        changed = _changed_px(delta, self.movie.layout)
        # where nothing changed, the picture before will do: converting is what costs
        image = picture.image() if self.last is None or changed else self.last
        self.tracker.update(picture.pts_ns, image, changed)
        self.keys.offer(picture.pts_ns, image, changed)
        if self.last is not None:
            self._measure(self.last, image, delta)
        self.last = image

    def _users(self, time_ns: int, delta: Delta) -> Delta:
        """What of the change may be the user's doing: not what lies in a place that moves all the time."""
        if self.activity is None:
            self.activity = Activity(self.movie.layout, time_ns)
        elif self.activity.add(time_ns, delta):
            self.still = self.activity.still()
        if self.still is None or self.last is None:
            return delta
        kept = self.still.reshape(-1)[delta.index]
        return Delta(delta.index[kept], delta.colour[kept])

    def _measure(self, before: Image, after: Image, delta: Delta) -> None:
        """Remember how the content moved, where enough of it changed to be a scroll."""
        layout, number = self.movie.layout, len(self.movie.times_ns) - 1
        gw, gh = layout.grid_wh
        least = _SCROLL_SHARE * gw * gh
        if len(delta.index) < least:
            return
        grid = np.zeros(gw * gh, bool)
        grid[delta.index] = True
        parts = list(components(grid.reshape(gh, gw), gap=4))
        rects = [rect for rect, cells in parts if cells >= least]
        rects.sort(key=lambda r: (r[2] - r[0]) * (r[3] - r[1]), reverse=True)
        found = [shift for rect in rects[:_MOST_PLACES] for shift in self._shifts(before, after, rect)]
        if not found and len(parts) >= _MANY_PARTS:  # lines far apart: they move together or not at all
            found = self._shifts(before, after, around(rect for rect, _ in parts))
        if found:
            self.shifts[number] = tuple(found)

    def _shifts(self, before: Image, after: Image, rect: Rect) -> list[Shift]:
        layout = self.movie.layout
        return measure_shift(before, after, _whole(layout.to_px(rect), layout.size_wh), layout.unit_px)


def watch(
    pictures: Iterable[Picture], size_wh: tuple[int, int], tracker: PointerTracker | None = None
) -> Watched | None:
    """Look at all `pictures`, of `size_wh` pixels, in order; None when there are none."""
    detector = ChangeDetector(size_wh)
    run = _Pass(detector, CellMovie(detector.layout), tracker or PointerTracker())
    last_ns = end_ns = -_LEAST_GAP_NS
    for picture in pictures:
        end_ns = picture.pts_ns
        if end_ns - last_ns >= _LEAST_GAP_NS:
            last_ns = end_ns
            run.add(picture)
    if run.last is None:
        return None
    samples, boxes_px = run.tracker.track()
    track = _track(samples, boxes_px, run.movie.layout)
    still = run.activity.still() if run.activity else None
    return Watched(run.movie, track, tuple(samples), run.shifts, run.keys, end_ns, run.tracker, still)


def _changed_px(delta: Delta, layout: Layout) -> list[Rect]:
    """Changed places in whole pixels, the way the tracker takes them."""
    gw, gh = layout.grid_wh
    if len(delta.index) == 0:
        return []
    if len(delta.index) > gw * gh // 3:
        return [(0, 0, *layout.size_wh)]
    grid = np.zeros(gw * gh, bool)
    grid[delta.index] = True
    rects = [rect for rect, _ in components(grid.reshape(gh, gw))]
    if len(rects) > _MOST_BOXES:
        rects.sort(key=lambda r: (r[2] - r[0]) * (r[3] - r[1]), reverse=True)
        rects = rects[:_MOST_BOXES]
    return [_whole(layout.to_px(rect), layout.size_wh) for rect in rects]


def _whole(box: tuple[float, float, float, float], size_wh: tuple[int, int]) -> Rect:
    return (
        int(box[0]),
        int(box[1]),
        min(int(np.ceil(box[2])), size_wh[0]),
        min(int(np.ceil(box[3])), size_wh[1]),
    )


def _track(
    samples: list[PointerSample], boxes: list[tuple[float, float, float, float] | None], layout: Layout
) -> Track:
    w, h = layout.size_wh
    return Track(
        np.array([s.point.x * w if s.point else np.nan for s in samples]),
        np.array([s.point.y * h if s.point else np.nan for s in samples]),
        np.array([s.visible for s in samples], bool),
        tuple(s.shape for s in samples),
        np.array([s.confidence for s in samples]),
        tuple(boxes),
    )
