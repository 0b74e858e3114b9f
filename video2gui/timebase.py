"""Time is an integer number of nanoseconds. Seconds exist at the rim only, and the round trip is exact."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000

#: Up to here a float of seconds holds every nanosecond (2**52 ns, about 52 days).
MAX_NS = 1 << 52


def ns_from_s(seconds: float | int | str | Decimal) -> int:
    """Seconds to nanoseconds, rounded to the nearest (half to even).

    Raises:
        ValueError: not a finite number, or beyond `MAX_NS` either way.
    """
    try:
        ns = round(Fraction(seconds) * NS_PER_S)
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        raise ValueError(f"not a number of seconds: {seconds!r}") from error
    if abs(ns) > MAX_NS:
        raise ValueError(f"{seconds} seconds is more than {MAX_NS // NS_PER_S // 86400} days")
    return ns


def s_from_ns(ns: int) -> float:
    """Nanoseconds to seconds; `ns_from_s` gives `ns` back for every instant within `MAX_NS`."""
    return ns / NS_PER_S


def ns_from_ticks(ticks: int, time_base: Fraction) -> int:
    """A container's timestamp in units of `time_base` seconds to nanoseconds, rounded to the nearest."""
    return round(ticks * time_base * NS_PER_S)


def clock(ns: int) -> str:
    """``h:mm:ss.mmm`` (hours only when there are any), for people.

    >>> clock(83_250_000_000)
    '1:23.250'
    """
    sign, ms = ("-" if ns < 0 else ""), round(abs(ns) / NS_PER_MS)
    minutes, ms = divmod(ms, 60_000)
    hours, minutes = divmod(minutes, 60)
    tail = f"{ms // 1000:02d}.{ms % 1000:03d}"
    return f"{sign}{hours}:{minutes:02d}:{tail}" if hours else f"{sign}{minutes}:{tail}"
