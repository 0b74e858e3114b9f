"""An observed action as one row of plain data: seconds and pixels, for files and other programs."""

from __future__ import annotations

from typing import Any

from video2gui.schema import Hotkey, Press, Scroll, TypeText
from video2gui.screen.observed import ObservedAction
from video2gui.timebase import s_from_ns


def event_row(action: ObservedAction, size_wh: tuple[int, int]) -> dict[str, Any]:
    """Keys: t_start, t_end (s), type, confidence; where known x, y, x2, y2 (px), text, key, dx, dy (px, down > 0)."""
    row: dict[str, Any] = {
        "t_start": round(s_from_ns(action.start_ns), 3),
        "t_end": round(s_from_ns(action.end_ns), 3),
        "type": "hotkey" if isinstance(action.action, Press) else action.action.kind,
        "confidence": round(action.evidence.confidence, 3),
    }
    for point, names in ((action.point, ("x", "y")), (action.end_point, ("x2", "y2"))):
        if point is not None:
            row |= dict(zip(names, (round(v, 1) for v in point.to_px(size_wh)), strict=True))
    match action.action:
        case TypeText(text=text):
            row["text"] = text
        case Press(key=key):
            row["key"] = key
        case Hotkey(keys=keys):
            row["key"] = "+".join(keys)
        case Scroll() as scroll:
            row |= _scrolled(scroll, size_wh)
        case _:
            pass
    return row


def _scrolled(scroll: Scroll, size_wh: tuple[int, int]) -> dict[str, float | None]:
    if scroll.direction in ("up", "down"):
        amount = None if scroll.distance is None else round(scroll.distance * size_wh[1], 1)
        return {"dx": 0, "dy": amount if scroll.direction == "down" or amount is None else -amount}
    amount = None if scroll.distance is None else round(scroll.distance * size_wh[0], 1)
    return {"dx": amount if scroll.direction == "right" or amount is None else -amount, "dy": 0}
