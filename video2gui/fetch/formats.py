"""Which of the offered formats is taken: one file that needs no merging, as sharp as allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from video2gui.errors import FetchError

#: Ways of transport that yt-dlp goes without another program.
_PROTOCOLS = frozenset({"http", "https", "m3u8", "m3u8_native", "http_dash_segments"})


def choose_format(formats: Sequence[Mapping[str, Any]], *, url: str, max_height_px: int, max_bytes: int) -> int:
    """The index of the best format; `formats` are in yt-dlp's order, best last.

    The sharpest one within `max_height_px` (of the shorter side) and `max_bytes`, with sound if there are two; a
    stream of pictures only is as good otherwise, because what is said is read from captions. A size or height
    that the site does not tell is no reason against a format.

    Raises:
        FetchError: `unsupported`, `not_a_video` (sound only) or `too_large`.
    """
    shown = [number for number, offered in enumerate(formats) if _is_video(offered)]
    if not shown:
        if any(offered.get("vcodec") == "none" and offered.get("acodec") != "none" for offered in formats):
            raise FetchError(f"{url} has sound only", kind="not_a_video", address=url)
        raise FetchError(f"{url} offers no format that can be fetched", kind="unsupported", address=url)
    low = [number for number in shown if (_height_px(formats[number]) or 0) <= max_height_px]
    if not low:
        least = min(_height_px(formats[number]) or 0 for number in shown)
        raise FetchError(
            f"{url} is offered from {least} lines up, more than {max_height_px}", kind="too_large", address=url
        )
    small = [number for number in low if (_size_bytes(formats[number]) or 0) <= max_bytes]
    if not small:
        least_mb = min(_size_bytes(formats[number]) or 0 for number in low) / 1e6
        raise FetchError(
            f"{url} has at least {least_mb:.0f} MB, more than {max_bytes / 1e6:.0f} MB", kind="too_large", address=url
        )
    return max(small, key=lambda number: (*_rank(formats[number]), number))


def _rank(offered: Mapping[str, Any]) -> tuple[int, bool]:
    return _height_px(offered) or 0, offered.get("acodec") != "none"


def _is_video(offered: Mapping[str, Any]) -> bool:
    return (
        offered.get("vcodec") != "none"
        and offered.get("protocol") in _PROTOCOLS
        and offered.get("ext") != "mhtml"
        and not offered.get("has_drm")
    )


def _height_px(offered: Mapping[str, Any]) -> int | None:
    sides = [side for name in ("width", "height") if isinstance(side := offered.get(name), int) and side > 0]
    return min(sides) if sides else None


def _size_bytes(offered: Mapping[str, Any]) -> int | None:
    for name in ("filesize", "filesize_approx"):
        if isinstance(size := offered.get(name), (int, float)):
            return int(size)
    return None
