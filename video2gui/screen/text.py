"""Typed text, by reading what is new in a line: the same place before and after the typing.

Which columns of a line are new is decided on pixels (what stands left of the change stays, what was pushed aside is
found again at the line's end, what was selected is gone); only those columns are read. Pixels (``_px``) are those
of the frame, a box is (left, top, right, bottom), half-open.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from video2gui.errors import load_extra
from video2gui.ocr.base import Ocr, TextLine
from video2gui.screen.ink import INK_LEVELS, Grey, Mask, Span, ground_of, ink_of, runs, widened
from video2gui.video.frame import Image

BoxPx = tuple[int, int, int, int]

#: read: `text` is what was typed. hidden: dots or stars stand for it. deleted: text only went away.
#: nothing: no glyph is new. unreadable: something is new that the reader could not read.
Outcome = Literal["read", "hidden", "deleted", "nothing", "unreadable"]

_CHANGED = 36  # of 255: noise of codecs around text stays below
_SAME = 64  # of 255: columns of two pictures that differ less are the same
_PAD_PX = 6  # what is looked at around the changed place
_FEWEST_PX = 6  # fewer pixels of ink are no glyph
_LEAST_CONFIDENCE = 0.4
_SURE = 0.85
_MOST_CLUSTERS = 4
_READ_HEIGHT_PX = 48  # what the recognisers work at
_BULLETS = frozenset("•●∙·⬤○◦*∗＊")
_LOOK_ALIKE = str.maketrans("Il|O oSXCVWZUKP", "111000sxcvwzukp", " ")


@dataclass(frozen=True, slots=True)
class TypedText:
    """What was entered between two pictures. `text` is None unless `outcome` is "read": nothing is guessed.

    `box_px` is where the new text stands in the picture after. `replaced` says that other text made way for it.
    """

    text: str | None
    confidence: float
    outcome: Outcome
    box_px: BoxPx | None = None
    replaced: bool = False


def typed_text(
    before: Image, after: Image, box_px: BoxPx, ocr: Ocr, *, caret_px: tuple[int, int] | None = None
) -> TypedText:
    """The text entered between `before` and `after` in the region `box_px` that changed.

    Both are whole frames of one size, uint8 (H, W, 3) RGB: the last one without and the first one with all of the
    text. `caret_px` is the text cursor's place (x, y) in `after` where it is known; new text behind it was completed
    by the program and isn't typed. Several lines are joined by a line break, or by a space where a line was full.
    """
    if before.shape != after.shape:
        raise ValueError(f"two pictures of one size are needed, not {before.shape} and {after.shape}")
    region = _Region.cut(before, after, box_px)
    written = [line for rows in _bands(region) if (line := _typed_line(region, rows, ocr, caret_px)) is not None]
    if not written:
        gone = int((region.ink_before & region.changed).sum()) >= _FEWEST_PX
        return TypedText(None, 0.0, "deleted" if gone else "nothing")
    return written[0] if len(written) == 1 else _joined(written, after)


# ------------------------------------------------------------------------------------------------ where


@dataclass(frozen=True, slots=True, eq=False)
class _Region:
    """The changed place in both pictures; `left_px` and `top_px` are its corner in the frame.

    `changed` says which pixels differ, `ink_before` and `ink_after` which belong to glyphs.
    """

    frames: tuple[Image, Image]
    before: Image
    after: Image
    ground_before: Grey
    ground: Grey
    changed: Mask
    ink_before: Mask
    ink_after: Mask
    left_px: int
    top_px: int

    @staticmethod
    def cut(before: Image, after: Image, box_px: BoxPx) -> _Region:
        height, width = after.shape[:2]
        left, top = max(0, box_px[0] - _PAD_PX), max(0, box_px[1] - _PAD_PX)
        right, bottom = min(width, box_px[2] + _PAD_PX), min(height, box_px[3] + _PAD_PX)
        if right - left < 2 or bottom - top < 2:
            raise ValueError(f"the box {box_px} lies outside a frame of {width}x{height}")
        old, new = before[top:bottom, left:right], after[top:bottom, left:right]
        changed = np.abs(old.astype(np.int16) - new).max(axis=2) > _CHANGED
        grounds = ground_of(old), ground_of(new)
        inks = ink_of(old, grounds[0]), ink_of(new, grounds[1])
        return _Region((before, after), old, new, *grounds, changed, *inks, left, top)


def _bands(region: _Region) -> list[Span]:
    """The rows of each line with new ink, without lines that only moved up or down."""
    new = region.changed & region.ink_after
    bands = [band for band in runs(new.any(axis=1), gap=1) if int(new[slice(*band)].sum()) >= _FEWEST_PX]
    bands = [band for band in bands if band[1] - band[0] >= 5] or bands[:1]
    if len(bands) < 2:
        return bands
    return [band for band in bands if not _elsewhere(region.after, region.ink_after, region.before, band)]


def _elsewhere(image: Image, ink: Mask, other: Image, rows: Span) -> bool:
    """Whether the line `rows` of `image` stands in other rows of `other`."""
    height, line, mask = rows[1] - rows[0], image[slice(*rows)].astype(np.int16), ink[slice(*rows)]
    if int(mask.sum()) < _FEWEST_PX:
        return False
    return any(
        np.abs(other[start : start + height] - line).max(axis=2)[mask].max() < _SAME
        for start in range(len(other) - height + 1)
        if start != rows[0]
    )


# ------------------------------------------------------------------------------------------------- what


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """One line of the region: its rows, its glyphs in both pictures (no cursors, no rules), what of them is new.

    `old_selected` are the columns of a selection in the picture before, which goes away with the first key;
    `contrast` is how far each pixel after lies from the background, `caret` the text cursor's column, where known.
    """

    region: _Region
    rows: Span
    ink: Mask
    old_ink: Mask
    old_selected: Mask
    changed: Mask
    contrast: Grey
    caret: int | None
    caret_told: bool


def _typed_line(region: _Region, rows: Span, ocr: Ocr, caret_px: tuple[int, int] | None) -> TypedText | None:
    """What is new in one line, or None where no glyph is."""
    strip = slice(*rows)
    selected, old_selected = (_selected(mask[strip]) for mask in (region.ink_after, region.ink_before))
    ink, bars = _without_bars(region.ink_after[strip] & ~selected)  # selected now: the program put it there
    old_ink, old_bars = _without_bars(region.ink_before[strip] & ~old_selected)
    changed = region.changed[strip].copy()
    changed[:, old_bars] = True  # a glyph may cover the place where the text cursor stood
    if _elsewhere(region.before, region.ink_before, region.after, rows):
        old_ink, changed = np.zeros_like(old_ink), np.ones_like(changed)  # what stood here was pushed to another line
    contrast = np.abs(region.after[strip].astype(np.int16) - region.ground).max(axis=2)
    told = caret_px is not None and rows[0] - 3 <= caret_px[1] - region.top_px < rows[1] + 3
    if caret_px is not None:
        caret = caret_px[0] - region.left_px if told else None
    else:
        caret = _found_caret(bars & (changed.mean(axis=0) > 0.5), contrast, ink)
    line = _Line(region, rows, ink, old_ink, old_selected, changed, contrast, caret, told)
    span = _new_columns(line)
    best: TypedText | None = None
    for cluster in [] if span is None else _clusters(line, span):
        typed = _read_columns(line, _until_completion(line, cluster), ocr)
        if typed is not None and typed.confidence >= _SURE:
            return typed
        if typed is not None and (best is None or typed.confidence > best.confidence):
            best = typed
    return best


def _read_columns(line: _Line, span: Span, ocr: Ocr) -> TypedText | None:
    """The glyphs of `span`, read; None where there are none."""
    columns = slice(*span)
    if int(line.ink[:, columns].sum()) < _FEWEST_PX // 2:
        return None
    replaced = int(((line.old_ink | line.old_selected) & line.changed)[:, columns].sum()) >= _FEWEST_PX
    pictures = [_picture(line, line.ink, span)]
    still = line.ink & line.old_ink & ~line.changed
    if not replaced and still[:, columns].any():  # a resting pointer, a rule: what was there is no typed text
        pictures.append(_picture(line, line.ink & ~still, span))
    readings = [reading for picture in pictures if (reading := ocr.read_line(picture)) is not None]
    left, top = line.region.left_px, line.region.top_px
    box = (left + span[0], top + line.rows[0], left + span[1], top + line.rows[1])
    if _dotted(line.ink[:, columns], readings):
        return TypedText(None, 0.9, "hidden", box, replaced)
    best = max(readings, key=lambda reading: reading.confidence, default=None)
    if best is None or best.confidence < _LEAST_CONFIDENCE:
        return TypedText(None, best.confidence if best else 0.0, "unreadable", box, replaced)
    text = _less_pushed(line, span, best.text, ocr) if replaced else best.text
    text = text if len(text) > 2 else _in_context(line, span, text, ocr)
    return TypedText(text, best.confidence, "read", box, replaced)


def _selected(ink: Mask) -> Mask:
    """The columns of selected text, as a mask like `ink`: a solid block with the text left out of it."""
    cv2 = load_extra("cv2", "see")
    height = len(ink)
    level = cv2.morphologyEx(ink.astype(np.uint8), cv2.MORPH_OPEN, np.ones((1, max(10, 3 * height // 2)), np.uint8))
    selected = np.zeros_like(ink)
    for left, right in runs(level.any(axis=0)):
        block = ink[:, left:right]
        rows = np.flatnonzero(block.any(axis=1))
        block = block[rows[0] : rows[-1] + 1]
        if len(block) >= 0.5 * height and float(block.mean()) >= 0.55:
            selected[:, left:right] = True
    return selected


def _without_bars(ink: Mask) -> tuple[Mask, Mask]:
    """`ink` of a line without text cursors, resting text pointers and upright rules, and the columns they stood in.

    These are thin, straight and reach beyond the glyphs' body above and below; a bracket does so too, but has its
    ends on one side only.
    """
    height, width = ink.shape
    columns = np.zeros(width, bool)
    strokes = np.count_nonzero(np.diff(ink.astype(np.int8), axis=1, prepend=0) == 1, axis=1)
    body = np.flatnonzero(strokes >= max(2, 0.3 * strokes.max(initial=0)))
    if not len(body):
        lone = runs(ink.any(axis=0))
        if len(lone) == 1 and lone[0][1] - lone[0][0] <= min(3, height // 5):
            columns[slice(*lone[0])] = True
            return np.zeros_like(ink), columns
        return ink, columns
    top, bottom = int(body[0]), int(body[-1]) + 1
    ink = ink.copy()
    for left, right in runs(ink[top:bottom].mean(axis=0) >= 0.9):
        above, below = _reach(np.asarray(ink[:, left:right].all(axis=1)), top, bottom)
        if above < 1 or below < 1 or above + below < 3 or (right - left > 3 and left > 0 and right < width):
            continue
        ends = [top - above, bottom + below - 1]
        sides = [bool(ink[ends, max(0, left - 1)].all()) and left > 0, bool(ink[ends, min(width - 1, right)].all())]
        if sides[0] != sides[1]:
            continue
        columns[left:right] = True
        ink[:, left:right] = False
        beyond = np.ones(height, bool)
        beyond[max(0, top - above + 1) : bottom + below - 1] = False
        ink[np.ix_(beyond, np.arange(max(0, left - 5), min(width, right + 5)))] = False
    return ink, columns


def _reach(rows: Mask, top: int, bottom: int) -> tuple[int, int]:
    """How many rows a stroke goes on above `top` and below `bottom`."""
    above, below = np.flatnonzero(~rows[:top][::-1]), np.flatnonzero(~rows[bottom:])
    return int(above[0]) if len(above) else top, int(below[0]) if len(below) else len(rows) - bottom


def _new_columns(line: _Line) -> Span | None:
    """The columns of new glyphs: those that changed, less what was pushed aside and stands at either end still."""
    ink, old_ink = line.ink, line.old_ink
    changed = np.flatnonzero((line.changed & (ink | old_ink)).any(axis=0))
    if not len(changed):
        return None
    first, end = int(changed[0]), int(changed[-1]) + 1
    columns, old = (np.flatnonzero(mask[:, first:end].any(axis=0)) + first for mask in (ink, old_ink))
    if not len(columns):
        return None
    left, right = int(columns[0]), int(columns[-1]) + 1
    if len(old):
        strip = slice(*line.rows)
        new_grey = _grey(line.region.after[strip], ink, line.region.ground)
        old_grey = _grey(line.region.before[strip], old_ink, line.region.ground_before)
        left += _same_columns(new_grey[:, left:right], old_grey[:, old[0] :], ink[:, left:right])
        backwards = new_grey[:, left:right][:, ::-1], old_grey[:, : old[-1] + 1][:, ::-1], ink[:, left:right][:, ::-1]
        right -= _same_columns(*backwards)
    return (left, right) if right > left else None


def _grey(image: Image, ink: Mask, ground: Grey) -> Grey:
    """Grey levels with everything but glyphs and their soft edges set to the background."""
    grey: Grey = image.astype(np.int16).mean(axis=2).astype(np.int16)
    grey[~widened(ink)] = int(ground.mean())
    return grey


def _same_columns(new: Grey, old: Grey, ink: Mask) -> int:
    """How many leading columns are the same in both, where that is a glyph or more (else 0).

    It ends behind a gap: half a glyph that happens to be equal is a part of another one.
    """
    width = min(new.shape[1], old.shape[1])
    differs = np.flatnonzero(np.abs(new[:, :width] - old[:, :width]).max(axis=0) >= _SAME)
    same = int(differs[0]) if len(differs) else width
    if same < new.shape[1]:
        gaps = np.flatnonzero(~ink[:, :same].any(axis=0))
        same = int(gaps[-1]) + 1 if len(gaps) else 0
    return same if int(ink[:, :same].any(axis=0).sum()) >= 3 else 0


def _found_caret(new_bars: Mask, contrast: Grey, ink: Mask) -> int | None:
    """The last new bar that is as strong as the glyphs left of it."""
    for left, right in runs(new_bars)[::-1]:
        glyphs = contrast[:, :left][ink[:, :left]]
        if len(glyphs) and int(contrast[:, left:right].max()) >= 0.8 * int(glyphs.max()):
            return left
    return None


def _clusters(line: _Line, span: Span) -> list[Span]:
    """The groups of new glyphs that stand more than a line's height apart, left to right; only that at a told caret."""
    new = (line.ink & line.changed)[:, slice(*span)]
    clusters = [(span[0] + left, span[0] + right) for left, right in runs(new.any(axis=0), gap=13 * len(new) // 10)]
    if line.caret_told and line.caret is not None:
        clusters = [cluster for cluster in clusters if cluster[0] < line.caret][-1:]
    return [span] if len(clusters) < 2 else clusters[:_MOST_CLUSTERS]


def _until_completion(line: _Line, span: Span) -> Span:
    """`span` cut where the program's own completion begins: behind the caret, or paler."""
    (left, right), ink, height = span, line.ink, len(line.ink)
    # a caret that was merely found may be a resting pointer: behind it, no more than a closing bracket is cut off
    if line.caret is not None and left < line.caret < right and (line.caret_told or right - line.caret <= height):
        return left, line.caret
    words = [(left + a, left + b) for a, b in runs(ink[:, left:right].any(axis=0), gap=max(2, height // 8))]
    strength = [int(np.percentile(line.contrast[:, a:b][ink[:, a:b]], 90)) for a, b in words]
    for number in range(1, len(words)):
        if right - words[number][0] >= height and max(strength[number:]) < 0.65 * min(strength[:number]):
            return left, words[number][0]
    return span


# ------------------------------------------------------------------------------------------------- read


def _picture(line: _Line, ink: Mask, span: Span, *, of_before: bool = False) -> Image:
    """The glyphs `ink` of `span` on a plain ground, as large as recognisers like them."""
    region, rows = line.region, line.rows
    source, level, all_ink = (
        (region.before, region.ground_before, region.ink_before)
        if of_before
        else (region.after, region.ground, region.ink_after)
    )
    cv2 = load_extra("cv2", "see")
    glyphs, dropped = np.zeros_like(all_ink), np.zeros_like(all_ink)
    glyphs[slice(*rows), slice(*span)] = ink[:, slice(*span)]
    dropped[slice(*rows)] = all_ink[slice(*rows)] & ~ink
    kept = widened(widened(glyphs)) & ~dropped
    image = np.where(kept[:, :, None], source, level.astype(np.uint8))
    image = image[max(0, rows[0] - 2) : rows[1] + 2, max(0, span[0] - 2) : span[1] + 2]
    margin = max(2, (rows[1] - rows[0]) // 5)
    ground = [int(value) for value in level]
    image = cv2.copyMakeBorder(image, margin, margin, 2 * margin, 2 * margin, cv2.BORDER_CONSTANT, value=ground)
    scale = max(1.0, _READ_HEIGHT_PX / len(image))
    larger: Image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
    return larger


def _dotted(ink: Mask, readings: list[TextLine]) -> bool:
    """Whether the glyphs are the dots or stars that stand for a password: all alike, and no letter or digit."""
    if any(set(line.text) <= _BULLETS for line in readings):
        return True
    cells = runs(ink.any(axis=0))
    glyphs = [ink[:, left:right] for left, right in cells]
    if len(cells) < 3 or len({glyph.shape for glyph in glyphs}) > 2:
        return False
    width = min(glyph.shape[1] for glyph in glyphs)
    alike = all(float((glyph[:, :width] == glyphs[0][:, :width]).mean()) > 0.85 for glyph in glyphs)
    rows = np.flatnonzero(ink.any(axis=1))
    height = int(rows[-1] - rows[0]) + 1
    solid = float(ink[rows[0] : rows[-1] + 1, slice(*cells[0])].mean()) > 0.7 and 0.6 < width / height < 1.6
    sure = [line.text for line in readings if line.confidence >= _SURE and len(set(line.text)) == 1]
    return alike and (solid or not any(len(text) == len(cells) for text in sure))


def _less_pushed(line: _Line, span: Span, text: str, ocr: Ocr) -> str:
    """`text` without its end that stood there before: pushed on by less than a whole pixel, it was not recognised."""
    columns = slice(span[0], None)
    old = line.old_ink[:, columns]
    if not old.any() or line.old_selected.any():
        return text
    strip = line.region.before[slice(*line.rows), columns].astype(np.int16)
    contrast = np.abs(strip - line.region.ground_before).max(axis=2)
    other_ground = np.abs(line.region.ground_before - line.region.ground).max() > INK_LEVELS
    if other_ground or int(contrast[old].max()) < 0.65 * int(line.contrast[line.ink].max()):
        return text  # a selection or a hint: gone with the first key
    last = int(np.flatnonzero(line.old_ink.any(axis=0))[-1]) + 1
    was = ocr.read_line(_picture(line, line.old_ink, (span[0], last), of_before=True))
    if was is None or was.confidence < _LEAST_CONFIDENCE:
        return text
    same = _common(was.text[::-1], text[::-1])
    return text[: len(text) - same].strip() if same == len(was.text) or same >= 3 else text


def _in_context(line: _Line, span: Span, text: str, ocr: Ocr) -> str:
    """One or two characters, read again within their line: alone, 1, l and I look alike."""
    strips = [_line_around(line, frame, span) for frame in line.region.frames]
    old, new = (ocr.read_line(strip) if strip is not None else None for strip in strips)
    if new is None or old is None or new.confidence < _LEAST_CONFIDENCE:
        return text
    head = _common(old.text, new.text)
    tail = _common(old.text[head:][::-1], new.text[head:][::-1])
    entered = new.text[head : len(new.text) - tail].strip()
    return entered if entered.translate(_LOOK_ALIKE) == text.translate(_LOOK_ALIKE) else text


def _common(one: str, other: str) -> int:
    """How many leading characters are the same."""
    for number, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return number
    return min(len(one), len(other))


def _line_around(line: _Line, frame: Image, span: Span) -> Image | None:
    """The words left and right of `span` in `frame`, up to the next wide gap."""
    region, rows, height = line.region, line.rows, len(line.ink)
    top, bottom = max(0, region.top_px + rows[0] - 2), region.top_px + rows[1] + 2
    left, right = (max(0, region.left_px + edge) for edge in span)
    strip = frame[top:bottom]
    columns = (np.abs(strip.astype(np.int16) - region.ground).max(axis=2) > INK_LEVELS).any(axis=0)
    for start, end in runs(columns, gap=height):
        if start <= right + height and end >= left - height:
            strip = strip[:, max(0, start - height // 2) : end + height // 2]
            return strip if strip.shape[1] > right - left + height else None
    return None


def _joined(lines: list[TypedText], after: Image) -> TypedText:
    """Several lines as one text. One line that is hidden or unreadable makes the whole so."""
    boxes = [line.box_px for line in lines if line.box_px is not None]
    box = (
        min(box[0] for box in boxes), min(box[1] for box in boxes),
        max(box[2] for box in boxes), max(box[3] for box in boxes),
    )  # fmt: skip
    confidence = min(line.confidence for line in lines)
    replaced = any(line.replaced for line in lines)
    for line in lines:
        if line.text is None:
            return TypedText(None, confidence, line.outcome, box, replaced)
    text = lines[0].text or ""
    for line, following in itertools.pairwise(lines):
        text += ("\n" if _had_room(line, following, after) else " ") + (following.text or "")
    return TypedText(text, confidence, "read", box, replaced)


def _had_room(line: TypedText, following: TypedText, after: Image) -> bool:
    """Whether the next line's first word would have fit on this line: then the break was typed."""
    if line.box_px is None or following.box_px is None or not following.text:
        return True
    left, top, right, bottom = line.box_px
    ground = ground_of(after[top:bottom, left:right])
    beside = np.abs(after[top:bottom, right + 4 :].astype(np.int16) - ground).max(axis=2) > _CHANGED
    edge = np.flatnonzero(beside.any(axis=0))
    room = int(edge[0]) if len(edge) else after.shape[1] - right
    word = len(following.text.split(" ")[0]) + 1
    return room > word * (following.box_px[2] - following.box_px[0]) / len(following.text)
