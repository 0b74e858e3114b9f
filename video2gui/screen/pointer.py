"""Where the pointer is: a small network finds the hot spot, a tracker keeps it through time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from video2gui.errors import load_extra
from video2gui.geometry import Point
from video2gui.screen.observed import PointerSample
from video2gui.video.frame import Image

#: What the pointer can look like; the network's classes, in its order.
SHAPES = ("arrow", "text", "hand", "cross", "resize", "move", "busy", "tool", "other")

STRIDE = 4  # pixels per cell of the network's maps
REACH_PX = 32.0  # unit of the pointer's extent in the network's output

_MODEL = Path(__file__).parent / "models" / "pointer.onnx"
_ALIGN = 16  # the network takes sides that are multiples of this
_MARGIN_PX = 32  # what it needs to see around a place
_LEAST_SIDE_PX = 96
_LEAST_SCORE = 0.2

#: left, top, right, bottom, half-open
BoxPx = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be a pointer: the pixel of its hot spot, probability, shape, and the box its picture fills."""

    x_px: float
    y_px: float
    score: float
    shape: str
    box_px: tuple[float, float, float, float]

    def distance_px(self, other: Candidate) -> float:
        return float(np.hypot(self.x_px - other.x_px, self.y_px - other.y_px))


class PointerFinder:
    """The network. It has no memory: the same pixels give the same candidates.

    Raises:
        MissingExtraError: onnxruntime is not installed.
    """

    def __init__(self, model: Path = _MODEL) -> None:
        self._session = _open_session(model)
        self.searched_px = 0

    def find(
        self, image: Image, boxes_px: Sequence[BoxPx], least_score: float = _LEAST_SCORE, zoom: float = 1.0
    ) -> list[Candidate]:
        """Candidates in and just around the boxes, best first, each place once.

        `zoom` is the scale to look at: the network is best at pointers of 14 to 40 px.
        """
        found: list[Candidate] = []
        for x1, y1, x2, y2 in _windows(boxes_px, (image.shape[1], image.shape[0]), zoom):
            found += self._look(image[y1:y2, x1:x2], (x1, y1), least_score, zoom)
        kept: list[Candidate] = []
        for c in sorted(found, key=lambda c: -c.score):
            if all(c.distance_px(k) > 2 * STRIDE for k in kept):
                kept.append(c)
        return kept

    def find_anywhere(self, image: Image, least_score: float = _LEAST_SCORE, zoom: float = 1.0) -> list[Candidate]:
        return self.find(image, [(0, 0, image.shape[1], image.shape[0])], least_score, zoom)

    def _look(self, part: Image, origin: tuple[int, int], least_score: float, zoom: float) -> list[Candidate]:
        if zoom != 1.0:
            cv2 = load_extra("cv2", "see")
            way = cv2.INTER_AREA if zoom < 1.0 else cv2.INTER_CUBIC
            part = cv2.resize(part, None, fx=zoom, fy=zoom, interpolation=way)
        height, width = part.shape[:2]
        pad = (-height % _ALIGN, -width % _ALIGN)
        if any(pad):
            part = np.pad(part, ((0, pad[0]), (0, pad[1]), (0, 0)), mode="edge")
        self.searched_px += part.shape[0] * part.shape[1]
        heat, maps = self._session.run(None, {"image": np.ascontiguousarray(part[None])})
        found = (_candidate(heat[0], maps[0], int(i), int(j)) for i, j in _peaks(heat[0], least_score))
        return [_moved(c, origin, zoom) for c in found if c.x_px < width and c.y_px < height]


@cache
def _open_session(model: Path) -> Any:
    ort = load_extra("onnxruntime", "see")
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _peaks(heat: npt.NDArray[np.float32], least: float) -> npt.NDArray[np.intp]:
    """Cells (row, column) that are the highest of their 3x3 neighbourhood."""
    cells = np.argwhere(heat >= least)
    padded = np.pad(heat, 1, constant_values=-1.0)
    keep = [(padded[i : i + 3, j : j + 3] <= heat[i, j]).all() for i, j in cells]
    return cells[np.array(keep, bool)] if len(cells) else cells


def _candidate(heat: npt.NDArray[np.float32], maps: npt.NDArray[np.float32], i: int, j: int) -> Candidate:
    at = maps[:, i, j]
    x = (j + float(at[0])) * STRIDE + 1.5
    y = (i + float(at[1])) * STRIDE + 1.5
    left, top, right, bottom = (max(0.0, float(v)) * REACH_PX for v in at[2:6])
    shape = SHAPES[int(np.argmax(at[6:]))]
    return Candidate(max(x, 0.0), max(y, 0.0), float(heat[i, j]), shape, (x - left, y - top, x + right, y + bottom))


def _moved(c: Candidate, origin: tuple[int, int], zoom: float) -> Candidate:
    """From pixels of the part looked at to pixels of the frame; pixel centres stay on pixel centres."""
    x, y, x1, y1, x2, y2 = ((v + 0.5) / zoom - 0.5 + origin[k % 2] for k, v in enumerate((c.x_px, c.y_px, *c.box_px)))
    return replace(c, x_px=x, y_px=y, box_px=(x1, y1, x2, y2))


def _windows(boxes_px: Sequence[BoxPx], size_wh: tuple[int, int], zoom: float) -> list[BoxPx]:
    """Parts of the frame to look at: each box with a margin, sides rounded up, overlapping ones joined."""
    windows = [_window(b, size_wh, zoom) for b in boxes_px]
    joined: list[BoxPx] = []
    while windows:
        box = windows.pop()
        for other in joined:
            if _meet(box, other):
                joined.remove(other)
                both = min(box[0], other[0]), min(box[1], other[1]), max(box[2], other[2]), max(box[3], other[3])
                windows.append(_aligned(both, size_wh))
                break
        else:
            joined.append(box)
    return joined


def _window(box: BoxPx, size_wh: tuple[int, int], zoom: float) -> BoxPx:
    x1, x2 = _side(box[0], box[2], size_wh[0], zoom)
    y1, y2 = _side(box[1], box[3], size_wh[1], zoom)
    return x1, y1, x2, y2


def _side(low: int, high: int, limit: int, zoom: float) -> tuple[int, int]:
    length = max(int(_LEAST_SIDE_PX / zoom), high - low + int(2 * _MARGIN_PX / zoom))
    return _fit((low + high - length) // 2, length, limit)


def _aligned(box: BoxPx, size_wh: tuple[int, int]) -> BoxPx:
    x1, x2 = _fit(box[0], box[2] - box[0], size_wh[0])
    y1, y2 = _fit(box[1], box[3] - box[1], size_wh[1])
    return x1, y1, x2, y2


def _fit(start: int, length: int, limit: int) -> tuple[int, int]:
    length += -length % _ALIGN
    if length >= limit:
        return 0, limit
    start = min(max(start, 0), limit - length)
    return start, start + length


def _around(place: Candidate, reach_px: int) -> BoxPx:
    x, y = int(place.x_px), int(place.y_px)
    return x - reach_px, y - reach_px, x + reach_px, y + reach_px


def _meet(a: Sequence[float], b: Sequence[float], margin: float = 0.0) -> bool:
    return a[0] < b[2] + margin and b[0] < a[2] + margin and a[1] < b[3] + margin and b[1] < a[3] + margin


# --- tracker ----------------------------------------------------------------------------------------------------

_CUT_SHARE = 0.5  # of the frame changed: a new scene
_CALM_SHARE = 0.1  # up to here a move is believed; in a film something always moves
_SURE = 0.5  # score of a candidate seen for the first time
_LIKELY = 0.3  # of one where the pointer was, or near it
_CLEAR = 0.65  # a move between two such places is a pointer's
_STRIKING = 0.7  # of one far from where the pointer went out of sight, or of a rare shape
_COMMON = frozenset({"arrow", "text", "hand"})
_SAME_PX = 5.0  # found again within this: it has not moved
_STILL_PX = 1.5  # closer than this is the network's own noise
_FIRST_PROOF = 4.0  # points for moves after which something is taken for the pointer, see `_proof`
_OTHER_PROOF = 3.0  # the same, when another thing was taken for it so far
_PROOF_NS = 5_000_000_000  # all of them within this time
_TRACKS = 4  # things followed at a time
_BIG_BOX_PX = 160
_SMALL_PX = 14  # a picture smaller than this is looked at enlarged
#: How many pixels the network may look at per second of video beyond what is near the pointer.
_BUDGET_PX_PER_S = 2_000_000
_PATCH_PX = 12


@dataclass(slots=True, eq=False)
class _Track:
    """Something that looks like a pointer, followed: where it is or was last seen, and since which frame."""

    at: Candidate
    patch: Image
    visible: bool = True
    before: Candidate | None = None
    #: (frame number, time, points) of moves as a pointer makes them: gone here, there again
    moves: list[tuple[int, int, float]] = field(default_factory=list)
    #: (frame number, place, visible), one for each frame since it was first seen
    history: list[tuple[int, Candidate, bool]] = field(default_factory=list)


class PointerTracker:
    """Follows the pointer through the frames of one video, given in order.

    What looks like a pointer counts once it was seen to move: until then samples say None, and afterwards they are
    filled in from where it was first seen. When something else turns out to be what moves, the samples since then
    are put right, too. `samples` is therefore final only after the last frame. `boxes_px` goes with it: what the
    pointer's picture covers in each frame, None where it isn't seen.
    """

    def __init__(self, finder: PointerFinder | None = None) -> None:
        self._finder = finder or PointerFinder()
        self.samples: list[PointerSample] = []
        self.boxes_px: list[tuple[float, float, float, float] | None] = []
        self._tracks: list[_Track] = []
        self._pointer: _Track | None = None
        self._budget_px = 0.0
        self._last_ns = 0
        self._size_wh = (0, 0)

    @property
    def box_px(self) -> tuple[float, float, float, float] | None:
        """The newest of `boxes_px`."""
        return self.boxes_px[-1] if self.boxes_px else None

    def update(self, pts_ns: int, image: Image, changed_boxes_px: Sequence[BoxPx]) -> PointerSample:
        """The pointer in this frame; the boxes are what changed since the frame before (all of it for the first)."""
        size_wh = (image.shape[1], image.shape[0])
        first = size_wh != self._size_wh
        self._size_wh = size_wh
        area = size_wh[0] * size_wh[1]
        earned = _BUDGET_PX_PER_S * max(0, pts_ns - self._last_ns) / 1e9
        whole = area * _usual_zoom(size_wh) ** 2
        self._budget_px = whole if first else min(self._budget_px + earned, 2.0 * whole)
        self._last_ns = pts_ns
        share = sum((b[2] - b[0]) * (b[3] - b[1]) for b in changed_boxes_px) / area
        if first or share > _CUT_SHARE:
            self._search_all(image)
        else:
            self._follow(image, changed_boxes_px, calm=share < _CALM_SHARE)
        self._choose()
        return self._record(pts_ns)

    # -- what to do with a frame

    def _search_all(self, image: Image) -> None:
        """A new scene: the pointer is near where it was, or may be anywhere."""
        found: list[Candidate] = []
        if self._pointer:
            found = self._finder.find(image, [_around(self._pointer.at, 64)], _SURE, self._zoom())
            found = [c for c in found if c.distance_px(self._pointer.at) < self._scale(48)]
        zoom = _usual_zoom(self._size_wh)
        if not found and self._afford(image.shape[0] * image.shape[1] * zoom**2):
            found = self._finder.find_anywhere(image, _SURE, zoom)
        self._tracks = [self._pointer] if self._pointer else []
        if self._pointer:
            match = self._match(self._pointer, found)
            self._see(self._pointer, match, image, calm=False)
            found = [c for c in found if c is not match]
        self._start_tracks(found, image)

    def _follow(self, image: Image, changed: Sequence[BoxPx], *, calm: bool) -> None:
        touched = [t for t in self._tracks if self._touched(t, image, changed)]
        zoom = self._zoom()
        boxes = self._affordable(changed, zoom)
        boxes += [_around(t.at, 24) for t in touched if t is self._pointer or self._afford(_LEAST_SIDE_PX**2)]
        found = self._finder.find(image, boxes, zoom=zoom) if boxes else []
        # what neither changed nor is followed is scenery
        fresh = [c for c in found if any(_meet(c.box_px, b, margin=4) for b in changed)]
        for track in sorted(self._tracks, key=lambda t: (t is not self._pointer, -len(t.moves))):
            again = [c for c in found if c.distance_px(track.at) <= _SAME_PX and c.score >= _LIKELY]
            if again:
                match: Candidate | None = min(again, key=track.at.distance_px)
            elif track in touched or not track.visible:
                match = self._match(track, fresh)
            else:
                continue  # nothing changed where it is, so it is still there
            self._see(track, match, image, calm=calm)
            if match:
                # one thing is one pointer: nothing else is looked for within it
                found = [c for c in found if c.distance_px(match) > _SAME_PX]
                fresh = [c for c in fresh if c.distance_px(match) > _SAME_PX]
        self._start_tracks(fresh, image)

    def _touched(self, track: _Track, image: Image, changed: Sequence[BoxPx]) -> bool:
        if not track.visible:
            return False
        if any(_meet(track.at.box_px, b, margin=4) for b in changed):
            return True
        now = _patch(image, track.at)
        return now.shape != track.patch.shape or float(np.abs(now.astype(np.int16) - track.patch).mean()) > 8.0

    def _affordable(self, changed: Sequence[BoxPx], zoom: float) -> list[BoxPx]:
        """Changed boxes to look at: those a pointer's picture may make first, then nearest first, while they last."""
        chosen: list[BoxPx] = []
        for box in sorted(changed, key=self._rank):
            width, height = (zoom * (box[k + 2] - box[k]) + 2 * _MARGIN_PX for k in (0, 1))
            if self._afford(width * height):
                chosen.append(box)
        return chosen

    def _rank(self, box: BoxPx) -> tuple[bool, float]:
        big = max(box[2] - box[0], box[3] - box[1]) > self._scale(_BIG_BOX_PX)
        if self._pointer is None:
            return big, 0.0
        at = self._pointer.at
        dx = max(box[0] - at.x_px, 0.0, at.x_px - box[2])
        dy = max(box[1] - at.y_px, 0.0, at.y_px - box[3])
        return big, float(np.hypot(dx, dy))

    def _zoom(self) -> float:
        """Small pointers are looked at enlarged."""
        usual = _usual_zoom(self._size_wh)
        if self._pointer is None:
            return usual
        left, top, right, bottom = self._pointer.at.box_px
        return max(usual, 2.0) if max(right - left, bottom - top) < _SMALL_PX else usual

    def _afford(self, area_px: float) -> bool:
        if area_px > self._budget_px:
            return False
        self._budget_px -= area_px
        return True

    def _match(self, track: _Track, fresh: Sequence[Candidate]) -> Candidate | None:
        """Where a track that left its place is now, as far as one can tell."""
        best, best_value = None, 0.0
        for c in fresh:
            distance = min(c.distance_px(e) for e in _expected(track))
            near = float(np.exp(-distance / self._scale(80)))
            least = _LIKELY if near > 0.3 else _SURE if track.visible else _STRIKING
            value = c.score + 0.25 * near + (0.05 if c.shape == track.at.shape else 0.0)
            if c.score >= least and value > best_value:
                best, best_value = c, value
        return best

    def _scale(self, px: float) -> float:
        return px * max(self._size_wh) / 1280

    # -- what is known

    def _see(self, track: _Track, match: Candidate | None, image: Image, *, calm: bool) -> None:
        if match is None:
            track.visible, track.before = False, None
            return
        moved = match.distance_px(track.at)
        if calm and (points := _proof(track.at, match)):
            track.moves.append((len(self.samples), self._last_ns, points))
        track.before = track.at if moved > _SAME_PX and track.visible else None
        if moved <= _STILL_PX:
            # the same place: hold it steady, take over how it looks now
            match = replace(match, x_px=track.at.x_px, y_px=track.at.y_px)
        track.at, track.visible, track.patch = match, True, _patch(image, match)

    def _start_tracks(self, found: Sequence[Candidate], image: Image) -> None:
        for c in found:
            if c.score >= (_SURE if c.shape in _COMMON else _STRIKING):
                self._tracks.append(_Track(c, _patch(image, c)))
        if len(self._tracks) > _TRACKS:
            self._tracks.sort(key=lambda t: (t is not self._pointer, -len(t.moves), not t.visible, -t.at.score))
            del self._tracks[_TRACKS:]

    def _choose(self) -> None:
        """The pointer is what moved; it stops being it when something else moved and it did not."""
        for track in self._tracks:
            track.history.append((len(self.samples), track.at, track.visible))
        held = self._pointer
        since = held.moves[-1][0] if held else -1
        enough = _OTHER_PROOF if held else _FIRST_PROOF
        rivals = [t for t in self._tracks if t is not held and _points(t, since, self._last_ns) >= enough]
        if not rivals:
            return
        winner = max(rivals, key=lambda t: len(t.moves))
        self._pointer = winner
        for number, place, visible in winner.history:
            if number < len(self.samples) and number > since:
                self.samples[number] = self._sample(self.samples[number].time_ns, place, visible)
                self.boxes_px[number] = place.box_px if visible else None

    def _record(self, pts_ns: int) -> PointerSample:
        if self._pointer is None:
            sample = PointerSample(pts_ns, None, visible=False, shape=None, confidence=0.0)
        else:
            sample = self._sample(pts_ns, self._pointer.at, self._pointer.visible)
        self.samples.append(sample)
        self.boxes_px.append(self._pointer.at.box_px if self._pointer and self._pointer.visible else None)
        return sample

    def _sample(self, pts_ns: int, place: Candidate, visible: bool) -> PointerSample:
        point = Point.from_px(place.x_px, place.y_px, self._size_wh)
        return PointerSample(pts_ns, point, visible, place.shape, place.score if visible else 0.0)


def _usual_zoom(size_wh: tuple[int, int]) -> float:
    """Recordings scaled down have small pointers, those of dense screens have large ones."""
    side = max(size_wh)
    return 1.5 if side < 1000 else 0.5 if side > 2200 else 1.0


def _proof(before: Candidate, after: Candidate) -> float:
    """How far going from here to there speaks for a pointer: 0 for no move, or a caret's along its line."""
    dx, dy = abs(after.x_px - before.x_px), abs(after.y_px - before.y_px)
    least = min(before.score, after.score)
    if max(dx, dy) <= _SAME_PX or least < _SURE or (before.shape == after.shape == "text" and min(dx, dy) <= 2.0):
        return 0.0
    if before.shape not in _COMMON or after.shape not in _COMMON:
        return 0.5
    return 2.0 if least >= _CLEAR else 1.0


def _points(track: _Track, since: int, now_ns: int) -> float:
    return sum(points for number, time, points in track.moves if number > since and now_ns - time < _PROOF_NS)


def _expected(track: _Track) -> list[Candidate]:
    """Where it was, and where it would be if it went on as it went last."""
    if track.before is None:
        return [track.at]
    x, y = 2 * track.at.x_px - track.before.x_px, 2 * track.at.y_px - track.before.y_px
    return [track.at, replace(track.at, x_px=x, y_px=y)]


def _patch(image: Image, place: Candidate) -> Image:
    x, y = int(place.x_px), int(place.y_px)
    return image[max(0, y - _PATCH_PX) : y + _PATCH_PX, max(0, x - _PATCH_PX) : x + _PATCH_PX].copy()
