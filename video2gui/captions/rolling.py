"""Automatic captions roll: each row is shown two or three times. Here every word is kept once, at its time.

YouTube's form shows two rows. In a spoken cue the lower row is new and carries word times; between two of them
stands a cue of 10 ms that only holds the last row on the screen:

    0.16 --> 2.39   [ ]                        [hello<0.40> everyone<1.00> welcome]
    2.39 --> 2.40   [hello everyone welcome]   [ ]
    2.40 --> 4.71   [hello everyone welcome]   [to<2.56> this]

Converted forms lose the word times, join the rows or show the words one by one; there the overlap of successive
cues says what is new.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from video2gui.captions.parse import Piece, Row, TimedRows
from video2gui.captions.words import Cue, Word
from video2gui.timebase import NS_PER_S

#: Cues further apart than this do not hold each other's whole text: the same words were said again.
_HOLD_NS = 1 * NS_PER_S

#: No form seen carries more words than this from one cue to the next; it also bounds the search.
_MAX_CARRIED = 100

#: What recognisers write between the words: "[Music]", "[ __ ]", ">>".
_SOUND = re.compile(r"\[[^\[\]]{0,40}\]|♪|>>+")


def rolls(cues: Sequence[TimedRows], *, sure_automatic: bool) -> bool:
    """Whether the track repeats its rows: at least half of the cues that bring a word also carry some over.

    One such cue is enough in a track said to be automatic; any other needs three, because people repeat themselves.
    """
    carried = changed = 0
    for before, after in pairwise(cue for cue in cues if _words(cue)):
        kept = _carried(before, after)
        if kept < len(_words(after)):
            changed += 1
            carried += kept > 0
    return carried >= (1 if sure_automatic else 3) and 2 * carried >= changed


def spoken_cues(cues: Sequence[TimedRows], *, rolling: bool) -> tuple[Cue, ...]:
    """The words of an automatic track, each once; `cues` are in order of start.

    No word starts before an earlier one or ends behind the start of the next.
    """
    timed = any(row.timed for cue in cues for row in cue.rows)
    groups: list[list[Word]] = []
    before: TimedRows | None = None
    for cue in map(_without_sounds, _without_overlaps(cues)):
        if not _words(cue):
            continue
        if new := _new_words(before if rolling else None, cue, timed):
            groups.append(new)
        before = cue
    return _monotone(groups)


def timed_words(rows: Sequence[Row], start_ns: int, end_ns: int) -> list[Word]:
    """The words of some rows within their cue's interval.

    Inline times split the interval; the words between two of them share that part by length.
    """
    groups: list[tuple[int, list[str]]] = []
    for piece in (piece for row in rows for piece in row.pieces):
        if not groups or piece.start_ns is not None:
            at_ns = start_ns if piece.start_ns is None else piece.start_ns
            groups.append((min(max(at_ns, groups[-1][0] if groups else start_ns), end_ns), []))
        groups[-1][1].extend(piece.text.split())
    exact = any(row.timed for row in rows)
    words: list[Word] = []
    for (from_ns, texts), (to_ns, _) in pairwise([*groups, (end_ns, [])]):
        words.extend(_share(texts, from_ns, to_ns, exact=exact and len(texts) == 1))
    return words


def _share(texts: list[str], start_ns: int, end_ns: int, *, exact: bool) -> list[Word]:
    total = sum(len(text) + 1 for text in texts)
    words, done = [], 0
    for text in texts:
        from_ns = start_ns + (end_ns - start_ns) * done // total
        done += len(text) + 1
        words.append(Word(text, from_ns, start_ns + (end_ns - start_ns) * done // total, exact))
    return words


def _words(cue: TimedRows) -> list[str]:
    return [word for row in cue.rows for word in row.words]


def _without_sounds(cue: TimedRows) -> TimedRows:
    rows = (Row(tuple(replace(piece, text=_SOUND.sub(" ", piece.text)) for piece in row.pieces)) for row in cue.rows)
    return replace(cue, rows=tuple(rows))


def _without_overlaps(cues: Sequence[TimedRows]) -> list[TimedRows]:
    """A row stays on the screen while the next is spoken; its own words end where that begins."""
    cut = [
        replace(cue, end_ns=min(cue.end_ns, after.start_ns)) if after.start_ns > cue.start_ns else cue
        for cue, after in pairwise(cues)
    ]
    return [*cut, *cues[-1:]]


def _new_words(before: TimedRows | None, cue: TimedRows, timed: bool) -> list[Word]:
    rows: Sequence[Row] = cue.rows
    first_timed = next((number for number, row in enumerate(rows) if row.timed), None)
    if first_timed is not None and before is not None:
        # only a row that is being spoken carries word times; what stands above it was said before
        rows = rows[first_timed:]
    elif before is not None:
        rows = _skip_words(rows, _carried(before, cue))
    words = timed_words(rows, cue.start_ns, cue.end_ns)
    if timed and len(words) == 1:
        # in a track that times its words, a row of one word is timed by its cue
        return [replace(words[0], exact=True)]
    return words


def _carried(before: TimedRows, after: TimedRows) -> int:
    """How many of the first words of `after` were shown by `before` already: whole rows, or else words."""
    shown = [(key, len(row.words)) for row in before.rows if (key := "".join(row.words))]
    found = [(key, len(row.words)) for row in after.rows if (key := "".join(row.words))]
    keys_shown, keys_found = [key for key, _ in shown], [key for key, _ in found]
    rows = _overlap(keys_shown, keys_found)
    count = sum(words for _, words in found[:rows])
    if count == 0:
        texts_shown, texts_found = _words(before), _words(after)
        count = _overlap(texts_shown, texts_found)
        if count == 1 < len(texts_shown):
            return 0  # one common word at the seam is speech, not rolling
    again = count == len(_words(after)) and after.start_ns - before.end_ns > _HOLD_NS
    return 0 if again else count


def _overlap(first: list[str], second: list[str]) -> int:
    """The greatest k for which the last k of `first` are the first k of `second`."""
    longest = min(len(first), len(second), _MAX_CARRIED)
    return next((k for k in range(longest, 0, -1) if first[-k:] == second[:k]), 0)


def _skip_words(rows: Sequence[Row], count: int) -> list[Row]:
    rest: list[Row] = []
    for row in rows:
        words = row.words
        if count < len(words):
            rest.append(row if count == 0 else Row((Piece(" ".join(words[count:]), None),)))
        count = max(0, count - len(words))
    return rest


def _monotone(groups: list[list[Word]]) -> tuple[Cue, ...]:
    cues: list[Cue] = []
    starts = [word.start_ns for group in groups for word in group]
    latest, number = 0, 0
    for number, start_ns in enumerate(starts):
        latest = starts[number] = max(latest, start_ns)
    number = 0
    for group in groups:
        words = []
        for word in group:
            start_ns = starts[number]
            limit_ns = starts[number + 1] if number + 1 < len(starts) else word.end_ns
            words.append(replace(word, start_ns=start_ns, end_ns=max(start_ns, min(word.end_ns, limit_ns))))
            number += 1
        cues.append(Cue(words[0].start_ns, words[-1].end_ns, tuple(words)))
    return tuple(cues)
