"""Which caption track is taken."""

from __future__ import annotations

import pytest

from video2gui.fetch.tracks import choose_track
from video2gui.schema import Captions


def tracks(names: str) -> list[Captions]:
    """ "en fr* de-orig*": languages, a star for automatic ones, "?" for one without a language."""
    return [Captions(name, None if name.startswith("?") else name.rstrip("*"), "*" in name) for name in names.split()]


@pytest.mark.parametrize(
    ("offered", "languages", "chosen"),
    [
        ("en* en", ["en"], "en"),
        ("en* en-GB", ["en"], "en-GB"),
        ("en-GB en-US", ["en-US"], "en-US"),
        ("en-GB en", ["en"], "en"),
        ("fr* en-orig* en*", ["en"], "en-orig*"),
        ("fr en*", ["en"], "en*"),
        ("fr de", ["en"], None),
        ("fr de", ["es", "de", "fr"], "de"),
        ("de* fr", ["de", "fr"], "fr"),
        ("pt_BR", ["pt-br"], "pt_BR"),
        ("EN", ["en"], "EN"),
        ("? fr", ["en"], "?"),
        ("? en", ["en"], "en"),
        ("und en*", ["en"], "und"),
        ("english", ["en"], None),
        ("", ["en"], None),
        # the language is not known: not the hundredth translation
        ("fr en", [], "en"),
        ("fr de", [], "fr"),
        ("aa* ab* de* de-orig* en* zu*", [], "de-orig*"),
        ("aa* en* zu*", [], "en*"),
        ("aa* ab* zu*", [], None),
        ("de*", [], "de*"),
        ("aa* en-orig* fr", [], "fr"),
        ("?", [], "?"),
    ],
)
def test_choice(offered: str, languages: list[str], chosen: str | None) -> None:
    track = choose_track(tracks(offered), languages)
    assert (track.url if track else None) == chosen
