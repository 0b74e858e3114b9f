"""Keys from an overlay (screenkey, KeyCastr, Carnac, Show Me The Key and their like).

While the video is looked at, `KeyOverlayReader.offer` keeps small pictures of what appears where such overlays stand.
At the end `finish` reads them: a place whose text reads as keys is an overlay, and what is new in it from one picture
to the next was pressed then. Plain characters in it are typing.
"""

from __future__ import annotations

import itertools
import zlib
from dataclasses import dataclass, field

import numpy as np

from video2gui.errors import load_extra
from video2gui.ocr.base import Ocr
from video2gui.schema import Hotkey, Press, TypeText
from video2gui.screen.ink import Grey, Mask, ground_of, ink_of, runs
from video2gui.screen.key_signs import sign_of
from video2gui.screen.overlay_text import Element, Pressed, Typed, overlay_elements
from video2gui.timebase import NS_PER_MS
from video2gui.video.frame import Image

BoxPx = tuple[int, int, int, int]

# sizes in pixels of a frame 1280 wide
_HEIGHTS = (14, 150)
_LEAST_TEXT = 13  # overlays are made to be read from afar: the text of menus and fields is smaller
_WIDTHS = (10, 1280)
_MOST_AREA = 90_000  # pixels of one picture kept, as it is
_MOST_KEPT = 2000
_MOST_BYTES = 32_000_000
_MOST_READ = 250
_MOST_SAMPLED = 30
_SAMPLES = 8
_LEAST_CONFIDENCE = 0.55
_GROWTH_NS = 600 * NS_PER_MS
_STATE_NS = 6000 * NS_PER_MS  # an overlay's text is forgotten after so long without a change
_SAME_MOMENT_NS = 60 * NS_PER_MS
_WHOLE = 0.45  # of the pixels changed: a plate came, and not only what is on it
_MOST_PLATES = 12
_MOST_BOXES = 6
_MOST_OTHERS = 3
_SURE = 0.8
_VERY_SURE = 0.86
_LONGEST_ROW = 30  # times its height
_GROUND_LEVELS = 48


@dataclass(frozen=True, slots=True)
class KeyAction:
    """Keys that an overlay showed. `start_ns` is the first frame that shows them.

    `raw_text` is what the overlay said, `box_px` where in the frame.
    """

    start_ns: int
    end_ns: int
    action: Press | Hotkey | TypeText
    confidence: float
    raw_text: str
    box_px: BoxPx


@dataclass(frozen=True, slots=True)
class _Kept:
    """A picture of a place at the moment in which something appeared there; `whole` if the ground changed too.

    `low` says that it lies in the lower half of the frame.
    """

    pts_ns: int
    box_px: BoxPx
    whole: bool
    low: bool
    ground: Grey
    shape: tuple[int, ...]
    packed: bytes

    @property
    def image(self) -> Image:
        return np.frombuffer(zlib.decompress(self.packed), np.uint8).reshape(self.shape)

    @property
    def height(self) -> int:
        return self.box_px[3] - self.box_px[1]

    @property
    def width(self) -> int:
        return self.box_px[2] - self.box_px[0]


@dataclass(frozen=True, slots=True)
class _Reading:
    elements: tuple[Element, ...]
    text: str
    confidence: float
    ground: Grey
    height: int

    @property
    def keys(self) -> bool:
        return any(isinstance(element, Pressed) for element in self.elements)

    @property
    def chord(self) -> bool:
        return any(isinstance(e, Pressed) and isinstance(e.action, Hotkey) for e in self.elements)

    @property
    def only_keys(self) -> bool:
        return bool(self.elements) and not any(isinstance(element, Typed) for element in self.elements)


@dataclass(slots=True)
class _Place:
    """Where pictures were kept one after another, and where something went away."""

    box_px: BoxPx
    kept: list[_Kept] = field(default_factory=list)
    readings: dict[int, _Reading | None] = field(default_factory=dict)

    def takes(self, kept: _Kept) -> bool:
        """Whether a picture is of this place: in the same row, near it, about as high, on the same ground."""
        box, height, other = kept.box_px, self.box_px[3] - self.box_px[1], kept.height
        overlap = min(self.box_px[3], box[3]) - max(self.box_px[1], box[1])
        gap = max(self.box_px[0], box[0]) - min(self.box_px[2], box[2])
        return (
            overlap >= 0.6 * min(height, other)
            and max(height, other) <= 1.5 * min(height, other)
            and gap <= height
            and float(np.abs(kept.ground - self.kept[-1].ground).max()) <= _GROUND_LEVELS
        )

    def above(self, other: _Place) -> bool:
        return self.box_px[1] < other.box_px[1] and self.beside(other)

    def beside(self, other: _Place) -> bool:
        """Whether the two are rows of one stack."""
        height = min(self.box_px[3] - self.box_px[1], other.box_px[3] - other.box_px[1])
        gap = max(self.box_px[1], other.box_px[1]) - min(self.box_px[3], other.box_px[3])
        across = min(self.box_px[2], other.box_px[2]) - max(self.box_px[0], other.box_px[0])
        return gap <= 0.8 * height and across > 0


class KeyOverlayReader:
    """Collects while the video runs, reads at the end. One reader for one video; frames in order of time."""

    def __init__(self) -> None:
        self._last: Image | None = None
        self._kept: list[_Kept] = []
        self._gone: list[tuple[int, BoxPx]] = []
        self._plates: list[tuple[int, BoxPx]] = []
        self._bytes = 0
        self._reads = 0
        self._unit = 1.0

    def offer(self, pts_ns: int, image: Image, changed_boxes_px: list[BoxPx]) -> None:
        """Look at what changed since the frame offered before; keeps copies, never `image` beyond the next call."""
        last, self._last = self._last, image
        if last is None or last.shape != image.shape:
            return
        height, width = image.shape[:2]
        unit = self._unit = max(width, height) / 1280
        boxes = [box for box in _joined(changed_boxes_px) if _plausible(box, (width, height), unit)]
        for box in boxes[:_MOST_BOXES]:
            left, top, right, bottom = box
            old, new = last[top:bottom, left:right], image[top:bottom, left:right]
            before, now = _edges(old), _edges(new)
            whole = float((np.abs(new.astype(np.int16) - old).max(axis=2) > 9).mean()) >= _WHOLE
            if now < 0.9 * before:
                self._gone.append((pts_ns, box))
            if now > (0.5 if whole else 2.0) and (
                whole or now >= 0.9 * before or self._on_plate(pts_ns, box, whole)[1]
            ):
                self._keep(pts_ns, image, box, unit, whole)

    def finish(self, ocr: Ocr) -> list[KeyAction]:
        """The keys shown, in order of time."""
        places = _places(self._kept)
        likely = [place for place in places if any(kept.whole for kept in place.kept)]
        likely.sort(key=self._text_height, reverse=True)
        others = sorted((p for p in places if p not in likely), key=lambda place: -len(place.kept))
        chosen = [place for place in likely if self._is_overlay(place, ocr)]
        if not chosen:
            chosen = [place for place in others[:_MOST_OTHERS] if len(place.kept) >= 3 and self._is_overlay(place, ocr)]
        chosen += [place for place in places if place not in chosen and any(place.beside(other) for other in chosen)]
        for place in chosen:
            self._read_all(place, ocr)
        _drop_strangers(chosen)
        actions = _told(chosen, self._gone)
        return sorted(actions, key=lambda action: (action.start_ns, action.end_ns))

    def _keep(self, pts_ns: int, image: Image, box: BoxPx, unit: float, whole: bool) -> None:
        if len(self._kept) >= _MOST_KEPT or self._bytes >= _MOST_BYTES:
            return
        box, known = self._on_plate(pts_ns, box, whole)
        if whole or known:
            self._plates = [*(p for p in self._plates[-_MOST_PLATES:] if not _inside(p[1], box)), (pts_ns, box)]
        else:
            box = _plate(image, box, unit)
        left, top, right, bottom = box
        crop = np.ascontiguousarray(image[top:bottom, left:right])
        packed = zlib.compress(crop.tobytes(), 1)
        self._bytes += len(packed)
        self._kept.append(_Kept(pts_ns, box, whole or known, 2 * top > len(image), ground_of(crop), crop.shape, packed))

    def _on_plate(self, pts_ns: int, box: BoxPx, whole: bool) -> tuple[BoxPx, bool]:
        """The whole plate that a change of a part of it, or at its end, belongs to, and whether there is one."""
        height = box[3] - box[1]
        for at, plate in reversed(self._plates):
            if pts_ns - at > _STATE_NS:
                break
            high = plate[3] - plate[1]
            if _inside(plate, box) and height <= 1.25 * high:
                return box, True
            if _inside(box, plate):
                return (box if whole and height >= 0.8 * high else plate), True
            overlap = min(box[3], plate[3]) - max(box[1], plate[1])
            gap = max(box[0], plate[0]) - min(box[2], plate[2])
            if overlap >= 0.8 * max(height, high) and gap <= 0.3 * high and box[0] > plate[0]:
                return (plate[0], min(box[1], plate[1]), max(box[2], plate[2]), max(box[3], plate[3])), True
        return box, False

    def _reading(self, place: _Place, number: int, ocr: Ocr, most: int = _MOST_READ) -> _Reading | None:
        if number not in place.readings:
            if self._reads >= most:
                return None
            row = _row(place.kept[number].image)
            if (
                row is None
                or not _LEAST_TEXT * self._unit <= row.height
                or row.ink.shape[1] > _LONGEST_ROW * row.height
            ):
                place.readings[number] = None
            else:
                self._reads += 1
                place.readings[number] = _read(row, ocr)
        return place.readings[number]

    def _is_overlay(self, place: _Place, ocr: Ocr) -> bool:
        """Whether what appears here reads as keys: chords, or several times names of keys and nothing else."""
        numbers = _resting(place)
        step = max(1, len(numbers) // _SAMPLES)
        readings = [r for n in numbers[::step] if (r := self._reading(place, n, ocr, _MOST_SAMPLED)) is not None]
        keys = [reading for reading in readings if reading.keys and reading.only_keys]
        if any(reading.chord for reading in keys):
            return len(keys) >= 0.25 * len(readings)
        sure = [reading for reading in keys if reading.confidence >= _VERY_SURE]
        low = place.kept[-1].low
        return low and len(sure) >= 2 and len(sure) >= 0.5 * len(readings)

    def _text_height(self, place: _Place) -> int:
        """How high the text of a place is: an overlay's is the largest."""
        rows = [_row(place.kept[number].image) for number in _resting(place)[-3:]]
        return max((row.height for row in rows if row is not None), default=0)

    def _read_all(self, place: _Place, ocr: Ocr) -> None:
        """Read the pictures of a place, less those in the middle of a steady growth (typing)."""
        if any(kept.whole for kept in place.kept):
            place.kept, place.readings = _only_whole(place)
        for number, kept in enumerate(place.kept):
            following = place.kept[number + 1] if number + 1 < len(place.kept) else None
            growing = (
                following is not None
                and following.pts_ns - kept.pts_ns < _GROWTH_NS
                and 0.1 * kept.height < following.width - kept.width < 1.6 * kept.height
                and number > 0
                and kept.pts_ns - place.kept[number - 1].pts_ns < _GROWTH_NS
                and kept.width > place.kept[number - 1].width
            )
            if not growing:
                self._reading(place, number, ocr)


# ----------------------------------------------------------------------------------------------- places


def _resting(place: _Place) -> list[int]:
    """The pictures that stood a while, which is how typing and fading end; those of whole plates if there are any."""
    numbers = [number for number, kept in enumerate(place.kept) if kept.whole] or list(range(len(place.kept)))
    return [
        number
        for number, following in itertools.zip_longest(numbers, numbers[1:])
        if following is None or place.kept[following].pts_ns - place.kept[number].pts_ns >= _GROWTH_NS // 2
    ]


def _only_whole(place: _Place) -> tuple[list[_Kept], dict[int, _Reading | None]]:
    """The pictures in which a plate is sure to be, and what was read in them already."""
    numbers = [number for number, kept in enumerate(place.kept) if kept.whole]
    readings = {new: place.readings[old] for new, old in enumerate(numbers) if old in place.readings}
    return [place.kept[number] for number in numbers], readings


def _drop_strangers(places: list[_Place]) -> None:
    """Forget what stands on another ground than the keys, and characters that are of another size or read badly."""
    read = [reading for place in places for reading in place.readings.values() if reading is not None]
    keys = [reading for reading in read if reading.keys and reading.only_keys and reading.confidence >= _SURE]
    for place in places:
        for number, reading in place.readings.items():
            if reading is None or not keys:
                continue
            strange = min(int(np.abs(reading.ground - key.ground).max()) for key in keys) > _GROUND_LEVELS
            unlike = not any(0.6 <= reading.height / key.height <= 1.7 for key in keys)
            if strange or (not reading.only_keys and (unlike or reading.confidence < _SURE)):
                place.readings[number] = None


def _joined(boxes: list[BoxPx]) -> list[BoxPx]:
    """Boxes of one row that nearly touch, taken together: key caps, words."""
    out: list[BoxPx] = []
    for box in sorted(boxes):
        for number, other in enumerate(out):
            height = min(box[3] - box[1], other[3] - other[1])
            overlap = min(box[3], other[3]) - max(box[1], other[1])
            if overlap >= 0.6 * height and box[0] - other[2] <= height:
                out[number] = (
                    min(box[0], other[0]), min(box[1], other[1]), max(box[2], other[2]), max(box[3], other[3]),
                )  # fmt: skip
                break
        else:
            out.append(box)
    return out


def _plausible(box: BoxPx, size_wh: tuple[int, int], unit: float) -> bool:
    """Whether an overlay's row may be here: of its size, in the lower part, at the top, or in a corner column."""
    width, height = (box[2] - box[0]) / unit, (box[3] - box[1]) / unit
    middle = (box[1] + box[3]) / 2 / size_wh[1]
    return _HEIGHTS[0] <= height <= _HEIGHTS[1] and _WIDTHS[0] <= width <= _WIDTHS[1] and not 0.25 < middle < 0.5


def _edges(image: Image) -> float:
    """How much fine structure a picture has: mean difference of neighbours in its green, in levels."""
    green = image[:, :, 1].astype(np.int16)
    return float(np.abs(np.diff(green, axis=1)).mean()) if green.shape[1] > 1 else 0.0


def _plate(image: Image, box: BoxPx, unit: float) -> BoxPx:
    """`box` widened to both ends of the plate it lies on: an overlay may change in a part of its row only."""
    left, top, right, bottom = box
    ground = ground_of(image[top:bottom, left:right])
    reach = round(420 * unit)
    first, end = max(0, left - reach), min(image.shape[1], right + reach)
    like = (np.abs(image[top:bottom, first:end].astype(np.int16) - ground).max(axis=2) < 28).mean(axis=0) > 0.3
    start = left
    while start > first and like[start - 1 - first]:
        start -= 1
    stop = right
    while stop < end and like[stop - first]:
        stop += 1
    return (start, top, stop, bottom) if (stop - start) * (bottom - top) <= _MOST_AREA * unit**2 else box


def _places(kept: list[_Kept]) -> list[_Place]:
    places: list[_Place] = []
    for picture in kept:
        for place in places:
            if place.takes(picture):
                place.box_px = picture.box_px if picture.height >= place.box_px[3] - place.box_px[1] else place.box_px
                place.kept.append(picture)
                break
        else:
            places.append(_Place(picture.box_px, [picture]))
    return places


# ------------------------------------------------------------------------------------------------- read


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """The glyphs of one row, `height` pixels high without the margin around them, their picture and its ground."""

    ink: Mask
    image: Image
    ground: Grey
    height: int


def _read(row: _Row, ocr: Ocr) -> _Reading | None:
    """One row of an overlay: by the recogniser, and where that finds no keys, by the shapes of signs."""
    line = ocr.read_line(row.image)
    words = None
    if line is not None and line.confidence >= _LEAST_CONFIDENCE:
        words = _Reading(tuple(overlay_elements(line.text)), line.text, line.confidence, row.ground, row.height)
        if words.keys and words.only_keys:
            return words
    signs = _with_signs(row, ocr)
    if signs is not None and signs.keys and (words is None or signs.only_keys or not words.keys):
        return signs
    return words


def _row(image: Image) -> _Row | None:
    """The glyphs of the largest row in `image`, None where there is none."""
    cv2 = load_extra("cv2", "see")
    ground = ground_of(image)
    ink = ink_of(image, ground)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(ink.astype(np.uint8), connectivity=8)
    for number in range(1, count):
        left, top, width, height, _ = stats[number]
        at_edge = left == 0 or top == 0 or left + width == ink.shape[1] or top + height == ink.shape[0]
        if at_edge:
            ink[labels == number] = False
    rows = runs(ink.any(axis=1), gap=max(1, len(ink) // 16))
    if not rows:
        return None
    top, bottom = max(rows, key=lambda band: int(ink[slice(*band)].sum()))
    columns = np.flatnonzero(ink[top:bottom].any(axis=0))
    margin = max(3, (bottom - top) // 4)
    left, right = max(0, int(columns[0]) - 2 * margin), int(columns[-1]) + 1 + 2 * margin
    above, below = max(0, top - margin), bottom + margin
    ink, image = ink[above:below, left:right], image[above:below, left:right]
    near = cv2.dilate(ink.astype(np.uint8), np.ones((5, 5), np.uint8)).astype(bool)
    return _Row(ink, np.where(near[:, :, None], image, ground.astype(np.uint8)), ground, bottom - top)


def _with_signs(row: _Row, ocr: Ocr) -> _Reading | None:
    """The row as signs told by shape and, between them, what the recogniser says; None where no sign is."""
    ink, picture = row.ink, row.image
    glyphs = runs(ink.any(axis=0))
    parts: list[tuple[str, float]] = []
    signs, number, begin, waiting = 0, 0, 0, False
    while number < len(glyphs):
        found = _sign_at(ink, glyphs, number, row.height)
        if found is None:
            number, waiting = number + 1, True
            continue
        if waiting:
            parts += _between(picture, (begin, glyphs[number][0]), ocr)
        sign, score, number = found
        parts.append((sign, score))
        signs, begin, waiting = signs + 1, glyphs[number - 1][1], False
    if not signs:
        return None
    if waiting:
        parts += _between(picture, (begin, picture.shape[1]), ocr)
    text = "".join(part for part, _ in parts)
    return _Reading(tuple(overlay_elements(text)), text, min(score for _, score in parts), row.ground, row.height)


def _sign_at(ink: Mask, glyphs: list[tuple[int, int]], number: int, height: int) -> tuple[str, float, int] | None:
    """The sign that begins with glyph `number`, of one to five pieces, and the number of the glyph behind it."""
    best: tuple[str, float, int] | None = None
    for end in range(number + 1, min(number + 5, len(glyphs)) + 1):
        left, right = glyphs[number][0], glyphs[end - 1][1]
        if right - left > 2.2 * height or (end > number + 1 and glyphs[end - 1][0] - glyphs[end - 2][1] > 0.3 * height):
            break
        sign = sign_of(ink[:, left:right])
        if sign is not None and (best is None or sign[1] > best[1]):
            best = (*sign, end)
    return best


def _between(picture: Image, span: tuple[int, int], ocr: Ocr) -> list[tuple[str, float]]:
    """What the recogniser says of the columns `span`, if anything is in them."""
    if span[1] <= span[0]:
        return []
    line = ocr.read_line(picture[:, slice(*span)])
    return [(line.text, line.confidence)] if line is not None else []


# ----------------------------------------------------------------------------------------------- events


@dataclass(slots=True)
class _State:
    """What a place shows since `changed_ns`."""

    elements: tuple[Element, ...] = ()
    changed_ns: int = 0


def _told(places: list[_Place], gone: list[tuple[int, BoxPx]]) -> list[KeyAction]:
    """What is new in the overlay's places from one picture to the next."""
    moments = sorted(
        (kept.pts_ns, number, index)
        for number, place in enumerate(places)
        for index, kept in enumerate(place.kept)
        if place.readings.get(index) is not None
    )
    states = [_State() for _ in places]
    actions: list[KeyAction] = []
    for pts_ns, moment in itertools.groupby(moments, key=lambda moment: moment[0]):
        earlier = list(states)
        for _, number, index in moment:
            place, kept = places[number], places[number].kept[index]
            reading = place.readings[index]
            if reading is None:
                continue
            shown = earlier[number]
            emptied = any(shown.changed_ns < at < pts_ns and _covers(box, kept.box_px) for at, box in gone)
            before = () if emptied or pts_ns - shown.changed_ns > _STATE_NS else shown.elements
            states[number] = _State(reading.elements, pts_ns)
            if any(
                place.above(places[other])
                and was.elements == reading.elements
                and _changes_at(places[other], gone, was, pts_ns)
                for other, was in enumerate(earlier)
            ):
                continue  # pushed up by what is new below it
            fresh = _fresh(before, reading.elements)
            actions += _as_actions(fresh, before, kept, reading, reading.confidence * _trust(place), actions)
    return actions


def _inside(box: BoxPx, plate: BoxPx) -> bool:
    width = min(box[2], plate[2]) - max(box[0], plate[0])
    height = min(box[3], plate[3]) - max(box[1], plate[1])
    return width > 0 and height > 0 and width * height >= 0.8 * (box[2] - box[0]) * (box[3] - box[1])


def _covers(box: BoxPx, place: BoxPx) -> bool:
    width = min(box[2], place[2]) - max(box[0], place[0])
    height = min(box[3], place[3]) - max(box[1], place[1])
    return width > 0 and height > 0 and width * height >= 0.5 * (place[2] - place[0]) * (place[3] - place[1])


def _changes_at(place: _Place, gone: list[tuple[int, BoxPx]], shown: _State, pts_ns: int) -> bool:
    """Whether this place was changed or emptied in the same moment: then its text may have moved elsewhere."""
    times = [kept.pts_ns for kept in place.kept] + [at for at, box in gone if _covers(box, place.box_px)]
    return shown.changed_ns < pts_ns and any(abs(at - pts_ns) <= _SAME_MOMENT_NS for at in times)


def _trust(place: _Place) -> float:
    """More for a place that often read as keys."""
    keys = sum(reading is not None and reading.keys for reading in place.readings.values())
    return 1.0 if keys >= 3 else 0.93 if keys == 2 else 0.85


def _fresh(before: tuple[Element, ...], after: tuple[Element, ...]) -> tuple[Element, ...]:
    """The elements of `after` behind those that stood there already; a row may have lost some at its start."""
    for dropped in range(len(before) + 1):
        rest = before[dropped:]
        if after[: len(rest)] == rest and (rest or dropped == len(before)):
            return after[len(rest) :]
    return after


def _as_actions(
    fresh: tuple[Element, ...],
    before: tuple[Element, ...],
    kept: _Kept,
    reading: _Reading,
    confidence: float,
    earlier: list[KeyAction],
) -> list[KeyAction]:
    out = []
    for element in fresh:
        if isinstance(element, Pressed):
            already = sum(b.times for b in before if isinstance(b, Pressed) and b.action == element.action)
            times = element.times - already if 0 < already < element.times else 1
            for _ in range(min(times, 20)):
                out.append(KeyAction(kept.pts_ns, kept.pts_ns, element.action, confidence, reading.text, kept.box_px))
        elif isinstance(element, Typed):
            _extend_typing(element.text, kept, reading, confidence, earlier, out)
    return out


def _extend_typing(
    text: str, kept: _Kept, reading: _Reading, confidence: float, earlier: list[KeyAction], out: list[KeyAction]
) -> None:
    """Typed characters go on from the typing before where they repeat it and add to it."""
    last = earlier[-1] if earlier and not out else None
    if last is not None and isinstance(last.action, TypeText) and kept.pts_ns - last.end_ns < _STATE_NS:
        was = last.action.text or ""
        if text in was:
            return
        for shared in range(min(len(was), len(text)), 0, -1):
            if was.endswith(text[:shared]) and (shared == len(was) or shared >= 4):
                grown = TypeText(was + text[shared:])
                earlier[-1] = KeyAction(
                    last.start_ns, kept.pts_ns, grown, min(confidence, last.confidence), reading.text, kept.box_px
                )
                return
    out.append(KeyAction(kept.pts_ns, kept.pts_ns, TypeText(text), confidence, reading.text, kept.box_px))
