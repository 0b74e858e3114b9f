"""Which caption track is taken: one, a person's before a machine's, in the language that is spoken."""

from __future__ import annotations

from collections.abc import Sequence

from video2gui.schema import Captions


def choose_track(tracks: Sequence[Captions], languages: Sequence[str]) -> Captions | None:
    """The best track in one of `languages` (best first), manual before automatic; None where none fits.

    Without `languages`: a manual track, English first, else the automatic one that the site marks as the spoken
    language ("de-orig"), else an automatic one only if it is English or alone, because sites offer the same track
    translated into a hundred languages.
    """
    best: tuple[tuple[int, int, int], Captions] | None = None
    for track in tracks:
        alone = sum(other.automatic == track.automatic for other in tracks) == 1
        rank = _rank(track, languages) if languages else _rank_unknown(track, alone)
        if rank is not None and (best is None or (track.automatic, *rank) < best[0]):
            best = ((track.automatic, *rank), track)
    return best[1] if best else None


def _rank(track: Captions, languages: Sequence[str]) -> tuple[int, int] | None:
    found = _tag(track)
    if found in ("", "und"):
        return len(languages), 0  # may well be the one; any track that says so goes first
    for number, language in enumerate(languages):
        wanted = language.lower()
        if found in (wanted, f"{wanted}-orig"):
            return number, 0
        if found.partition("-")[0] == wanted.partition("-")[0]:
            return number, 1
    return None


def _rank_unknown(track: Captions, alone: bool) -> tuple[int, int] | None:
    found = _tag(track)
    english = found.partition("-")[0] == "en"
    if not track.automatic:
        return (0 if english else 1), 0
    if found.endswith("-orig"):
        return 0, 0
    return (1, 0) if english or alone else None


def _tag(track: Captions) -> str:
    return (track.language or "").lower().replace("_", "-")
