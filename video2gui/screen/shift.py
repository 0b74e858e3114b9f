"""How far the content of a changed place moved between two frames: the measure behind scrolling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from video2gui.errors import load_extra
from video2gui.screen.changes import Rect
from video2gui.video.frame import Image

_STRIPS = 12
#: The place must be this large to be measured, in units (pixels at 1280 wide).
_LEAST_LONG = 90
_LEAST_WIDE = 40
#: The shifted difference must fall under this share of the unshifted one.
_BETTER = 0.45
#: Lists repeat: of shifts that fit about as well as the best the shortest is taken.
_AS_GOOD = 0.03
#: So much of the place must still be in view after the shift.
_LEAST_OVERLAP = 0.35
#: So much of what there is to measure by must be: bare paper fits bare paper at any shift.
_LEAST_KEPT = 0.3
#: A place flatter than this (levels) has nothing to measure by.
_LEAST_TEXTURE = 3.0

Profile = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Shift:
    """Content moved by (dx, dy) pixels (positive: right, down) inside `rect_px`; `gain` 0..1 is how well it fits."""

    dx_px: float
    dy_px: float
    gain: float
    rect_px: Rect


def measure_shift(before: Image, after: Image, rect_px: Rect, unit_px: float) -> list[Shift]:
    """How the content of `rect_px` may have moved: up, down or both where that explains the change (lines repeat),
    else sideways; none where nothing explains it."""
    left, top, right, bottom = rect_px
    wide, long = (right - left) / unit_px, (bottom - top) / unit_px
    if min(wide, long) < _LEAST_WIDE or max(wide, long) < _LEAST_LONG:
        return []
    a, b = before[top:bottom, left:right], after[top:bottom, left:right]
    found = []
    if long >= _LEAST_LONG:
        pairs = _along(_profile(a, vertical=True), _profile(b, vertical=True))
        found = [Shift(0.0, float(shift), gain, rect_px) for shift, gain in pairs]
    best = max((s.gain for s in found), default=0.0)
    if wide >= _LEAST_LONG and best < 0.7:
        pairs = _along(_profile(a, vertical=False), _profile(b, vertical=False))
        found += [Shift(float(shift), 0.0, gain, rect_px) for shift, gain in pairs if gain > best + 0.1]
    return found


def _profile(image: Image, *, vertical: bool) -> Profile:
    """float32 (length, strips): brightness along the direction looked at, averaged across in a few strips."""
    cv2 = load_extra("cv2", "see")
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    h, w = grey.shape
    size = (_STRIPS, h) if vertical else (w, _STRIPS)
    strips = cv2.resize(grey, size, interpolation=cv2.INTER_AREA).astype(np.float32)
    return strips if vertical else np.ascontiguousarray(strips.T)


def _along(a: Profile, b: Profile) -> list[tuple[int, float]]:
    """(shift, gain) with b[i + shift] = a[i], the best of either sign that is good enough."""
    n = len(a)
    texture_a, texture_b = _texture(a), _texture(b)
    if max(texture_a[-1], texture_b[-1]) * 4 < _LEAST_TEXTURE * n:
        return []
    still = float(np.abs(a - b).mean())
    if still < 1.0:
        return []
    least = _LEAST_KEPT * max(texture_a[-1], texture_b[-1])
    most = int(n * (1 - _LEAST_OVERLAP))
    # coarse by every 2nd pixel, then fine around the best
    scores = {
        s: _cost(a, b, s)
        for s in range(-most, most + 1, 2)
        if s and _kept(texture_a, -s) >= least and _kept(texture_b, s) >= least
    }
    found = []
    for sign in (-1, 1):
        own = {s: cost for s, cost in scores.items() if s * sign > 0}
        if not own:
            continue
        good = min(own.values()) + _AS_GOOD * still
        near = min((s for s in own if own[s] <= good and _is_dip(own, s)), key=abs)
        fine = {s: _cost(a, b, s) for s in (near - 1, near, near + 1) if s * sign > 0}
        shift = min(fine, key=lambda s: fine[s])
        gain = 1 - fine[shift] / still
        if gain >= 1 - _BETTER and abs(shift) >= 2:
            found.append((shift, gain))
    return found


def _texture(a: Profile) -> npt.NDArray[np.float64]:
    """float64 (length,): how much the profile varies up to each of its places."""
    return np.concatenate([[0.0], np.cumsum(np.abs(np.diff(a, axis=0)).mean(axis=1, dtype=np.float64))])


def _kept(texture: npt.NDArray[np.float64], shift: int) -> float:
    """What of it lies in the part from `shift` on, or up to -`shift` from the end."""
    return float(texture[-1] - texture[shift] if shift >= 0 else texture[shift - 1])


def _is_dip(scores: dict[int, float], shift: int) -> bool:
    return scores[shift] <= min(scores.get(shift - 2, np.inf), scores.get(shift + 2, np.inf))


def _cost(a: Profile, b: Profile, shift: int) -> float:
    n = len(a)
    if shift > 0:
        return float(np.abs(a[: n - shift] - b[shift:]).mean())
    return float(np.abs(a[-shift:] - b[: n + shift]).mean())
