"""What changes on the screen apart from the pointer itself: spots, and the places where the pointer rests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from video2gui.screen.changes import CellMovie, Grid, Layout, Rect, components
from video2gui.screen.watch import Track
from video2gui.screen.zooms import Camera
from video2gui.timebase import NS_PER_S

#: Spots of fewer cells that also changed faintly are noise.
_FEWEST_CELLS = 3
_FAINT_LEVELS = 24
#: A cell that changes over and over (spinner, film, flicker) heats up and is ignored from here on.
_HOT = 5.0
_COOLING_NS = 0.6 * NS_PER_S
#: A bar that comes and goes in one place this often within the window is a blinking caret.
_BLINKS = 3
_BLINK_WINDOW_NS = 4 * NS_PER_S
#: Beyond this share of the frame, faint changes everywhere are a key frame of the codec.
_MOST_SPOTS = 60


@dataclass(frozen=True, slots=True)
class Spot:
    """One changed place in one frame: its rectangle and number of cells, and how far the colours moved (0..255)."""

    frame: int
    rect: Rect
    cells: int
    peak: int
    mean: float
    caret: bool = False

    @property
    def width(self) -> int:
        return self.rect[2] - self.rect[0]

    @property
    def height(self) -> int:
        return self.rect[3] - self.rect[1]


Spots = list[list[Spot]]


def find_spots(movie: CellMovie, track: Track, still: Grid | None = None) -> Spots:
    """For each frame, what changed apart from the pointer, largest first; flicker and carets taken out or marked.

    Looked for in the `still` cells; in all, when None.
    """
    gw, gh = movie.layout.grid_wh
    picture = np.zeros((gw * gh, 3), np.int16)
    heat = np.zeros(gw * gh, np.float32)
    heated_ns = 0
    out: Spots = []
    for frame, (time_ns, delta) in enumerate(zip(movie.times_ns, movie.deltas, strict=True)):
        index = delta.index
        if frame == 0 or len(index) == 0:
            picture[index] = delta.colour
            out.append([])
            continue
        colour = delta.colour.astype(np.int16)
        level = np.abs(colour - picture[index]).max(axis=1)
        picture[index] = colour
        heat *= np.float32(np.exp((heated_ns - time_ns) / _COOLING_NS))
        heated_ns = time_ns
        cool = heat[index] < _HOT
        if still is not None:
            cool &= still.reshape(-1)[index]
        heat[index] += 1
        levels = np.zeros(gw * gh, np.int16)
        levels[index[cool]] = level[cool]
        out.append(_spots_of(frame, levels.reshape(gh, gw), movie.layout, track))
    return _mark_carets(out, movie.times_ns)


def _spots_of(frame: int, levels: np.ndarray, layout: Layout, track: Track) -> list[Spot]:
    grid: Grid = levels > 0
    mask_pointer(grid, layout, track, frame)
    spots = []
    for rect, cells in components(grid, gap=2):
        part = levels[rect[1] : rect[3], rect[0] : rect[2]]
        inside = part[grid[rect[1] : rect[3], rect[0] : rect[2]]]
        peak = int(inside.max())
        if (cells < _FEWEST_CELLS and peak < 2 * _FAINT_LEVELS) or (cells < 8 and peak < _FAINT_LEVELS // 2):
            continue
        spots.append(Spot(frame, rect, cells, peak, float(inside.mean())))
    spots.sort(key=lambda s: -s.cells)
    return spots[:_MOST_SPOTS]


def pointer_moved(track: Track, frame: int) -> bool:
    """Whether the pointer's picture itself changed with `frame`: moved, appeared, vanished, took another shape."""
    if frame == 0:
        return True
    if track.visible[frame] != track.visible[frame - 1] or track.shape[frame] != track.shape[frame - 1]:
        return True
    if not track.known(frame) or not track.known(frame - 1):
        return track.known(frame) != track.known(frame - 1)
    dx, dy = track.x_px[frame] - track.x_px[frame - 1], track.y_px[frame] - track.y_px[frame - 1]
    return bool(abs(dx) + abs(dy) > 1.0)


def mask_pointer(grid: Grid, layout: Layout, track: Track, frame: int) -> None:
    """Take out of `grid` what the pointer's own picture covers, before and after, where it changed."""
    if not pointer_moved(track, frame):
        return
    for k in (frame - 1, frame):
        if k < 0 or not track.known(k):
            continue
        left, top, right, bottom = pointer_rect(layout, track, k)
        grid[top:bottom, left:right] = False


def pointer_rect(layout: Layout, track: Track, frame: int) -> Rect:
    """The cells the pointer's picture covers, with one cell of margin."""
    unit, box = layout.unit_px, track.box_px[frame]
    x, y = float(track.x_px[frame]), float(track.y_px[frame])
    if box is None:
        box = (x - 14 * unit, y - 14 * unit, x + 24 * unit, y + 28 * unit)
    left, top = layout.to_cell(min(box[0], x - 4 * unit), min(box[1], y - 4 * unit))
    right, bottom = layout.to_cell(max(box[2], x + 4 * unit), max(box[3], y + 4 * unit))
    return max(0, left - 1), max(0, top - 1), right + 2, bottom + 2


def _mark_carets(spots: Spots, times_ns: list[int]) -> Spots:
    """Blinking bars marked as carets: upright, thin, coming back to the same place."""
    seen: dict[Rect, list[int]] = {}
    for frame_spots in spots:
        for s in frame_spots:
            if s.width <= 3 and 3 <= s.height <= 12:
                seen.setdefault(s.rect, []).append(s.frame)
    carets: set[tuple[int, Rect]] = set()
    for rect, frames in seen.items():
        for i in range(len(frames) - _BLINKS + 1):
            if times_ns[frames[i + _BLINKS - 1]] - times_ns[frames[i]] <= _BLINK_WINDOW_NS:
                carets.update((k, rect) for k in frames[i : i + _BLINKS])
    return [
        [
            Spot(s.frame, s.rect, s.cells, s.peak, s.mean, caret=True) if (s.frame, s.rect) in carets else s
            for s in frame_spots
        ]
        for frame_spots in spots
    ]


#: The tracker's own jitter; a slower drift is still a rest.
_STILL_UNITS = 5.0
_LEAST_REST_NS = NS_PER_S // 10


@dataclass(frozen=True, slots=True)
class Rest:
    """The pointer standing in one place: frames first..last (both included), and where, in pixels."""

    first: int
    last: int
    x_px: float
    y_px: float
    #: how far the pointer came to get here, in units (pixels at 1280 wide); the frame it set out
    travel: float
    start: int


def find_rests(movie: CellMovie, track: Track, camera: Camera | None = None) -> list[Rest]:
    """Where the pointer stood for at least a tenth of a second, in order.

    While the `camera` moves nothing rests in the frame; how far the pointer went since is told in the whole picture.
    """
    carried = {k for first, last in (camera.moves if camera else ()) for k in range(first, last + 1)}
    reach = _STILL_UNITS * movie.layout.unit_px
    runs: list[list[int]] = []  # [first, last]
    for k in range(len(movie.times_ns)):
        if not track.known(k) or k in carried:
            continue
        if runs and runs[-1][1] >= k - 3 and _apart(track, runs[-1], k) <= reach:
            runs[-1][1] = k
        elif not _moving(movie, track, k, reach):
            runs.append([k, k])
    out: list[Rest] = []
    for first, last in runs:
        if movie.times_ns[last] - movie.times_ns[first] < _LEAST_REST_NS:
            continue
        x, y = float(np.nanmedian(track.x_px[first : last + 1])), float(np.nanmedian(track.y_px[first : last + 1]))
        travel = _travel(out[-1], x, y, first, camera) / movie.layout.unit_px if out else 0.0
        out.append(Rest(first, last, x, y, travel, out[-1].last if out else 0))
    return out


def _travel(last: Rest, x_px: float, y_px: float, frame: int, camera: Camera | None) -> float:
    """How far it is in pixels from the last rest to a place shown in `frame`, whatever the camera did meanwhile."""
    if camera is None:
        return float(np.hypot(x_px - last.x_px, y_px - last.y_px))
    x, y = camera.page(frame, x_px, y_px)
    from_x, from_y = camera.page(last.last, last.x_px, last.y_px)
    return float(np.hypot(x - from_x, y - from_y) * camera.scale[frame])


def _apart(track: Track, run: list[int], frame: int) -> float:
    tail = slice(max(run[0], run[1] - 20), run[1] + 1)
    x, y = float(np.nanmedian(track.x_px[tail])), float(np.nanmedian(track.y_px[tail]))
    return max(abs(float(track.x_px[frame]) - x), abs(float(track.y_px[frame]) - y))


def _moving(movie: CellMovie, track: Track, frame: int, reach: float) -> bool:
    """Whether the pointer is elsewhere a moment later."""
    later = min(frame + 2, len(movie.times_ns) - 1)
    if not track.known(later):
        return False
    return bool(max(abs(track.x_px[later] - track.x_px[frame]), abs(track.y_px[later] - track.y_px[frame])) > reach)
