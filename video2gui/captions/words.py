"""Spoken words with times, whatever they come from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """One spoken word: half-open interval, `exact` when the track itself timed this word.

    Where only a cue was timed, its words share the cue's time by length and `exact` is False.
    """

    text: str
    start_ns: int
    end_ns: int
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Cue:
    """One caption line as shown: half-open interval and its words."""

    start_ns: int
    end_ns: int
    words: tuple[Word, ...]

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


@dataclass(frozen=True, slots=True)
class Transcript:
    """The cues of one track, in order of time; rolling automatic captions already de-rolled.

    `damaged` counts the cues that could not be read and were left out.
    """

    cues: tuple[Cue, ...]
    language: str | None = None
    automatic: bool = False
    damaged: int = 0

    def words(self) -> tuple[Word, ...]:
        return tuple(word for cue in self.cues for word in cue.words)
