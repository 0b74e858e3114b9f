"""Which format is taken."""

from __future__ import annotations

from typing import Any

import pytest

from video2gui.errors import FetchError, FetchKind
from video2gui.fetch.formats import choose_format


def offered(name: str, **more: Any) -> dict[str, Any]:
    """ "1080v" pictures only, "360va" both, "a" sound only; the shorter side in front."""
    side = name.rstrip("va")
    sides = {"width": round(int(side) * 16 / 9), "height": int(side)} if side else {}
    return {
        "format_id": name,
        "protocol": "https",
        "ext": "mp4",
        "vcodec": "avc1" if "v" in name else "none",
        "acodec": "mp4a" if "a" in name else "none",
        **sides,
        **more,
    }


def choose(formats: list[dict[str, Any]]) -> str:
    return str(formats[choose_format(formats, url="u", max_height_px=1080, max_bytes=1000)]["format_id"])


@pytest.mark.parametrize(
    ("formats", "chosen"),
    [
        ([offered("a"), offered("360va"), offered("1080v"), offered("2160v")], "1080v"),
        ([offered("720v"), offered("720va")], "720va"),
        ([offered("720va"), offered("720v")], "720va"),
        ([offered("1080v", format_id="old"), offered("1080v", format_id="new")], "new"),
        ([offered("480va"), offered("1080v", filesize=1001)], "480va"),
        ([offered("480va"), offered("1080v", filesize_approx=1001.5)], "480va"),
        ([offered("480va"), offered("1080v", filesize=None)], "1080v"),
        # a phone's upright picture is called by its shorter side
        ([offered("360va"), offered("v", format_id="up", width=1080, height=1920)], "up"),
        ([offered("720va"), offered("1080v", has_drm=True)], "720va"),
        ([offered("720va"), offered("1080v", protocol="rtmp")], "720va"),
        ([offered("720va"), offered("1080v", protocol="websocket_frag")], "720va"),
        ([offered("720va"), offered("1080v", protocol="m3u8_native")], "1080v"),
        ([offered("v", ext="mhtml", format_id="storyboard"), offered("240v")], "240v"),
        # a bare link: nothing is known of it
        ([{"format_id": "link", "protocol": "http", "ext": "mp4"}], "link"),
    ],
)
def test_choice(formats: list[dict[str, Any]], chosen: str) -> None:
    assert choose(formats) == chosen


@pytest.mark.parametrize(
    ("formats", "kind", "says"),
    [
        ([offered("a")], "not_a_video", "sound only"),
        ([offered("v", ext="mhtml")], "unsupported", "no format"),
        ([], "unsupported", "no format"),
        ([offered("1440v"), offered("2160v")], "too_large", "from 1440 lines up"),
        ([offered("360va", filesize=5_000_000), offered("720v", filesize=9_000_000)], "too_large", "at least 5 MB"),
    ],
)
def test_nothing_fits(formats: list[dict[str, Any]], kind: FetchKind, says: str) -> None:
    with pytest.raises(FetchError, match=says) as caught:
        choose(formats)
    assert caught.value.kind == kind
