"""Which instants to look at."""

from __future__ import annotations


def even_grid(start_ns: int, end_ns: int, count: int) -> list[int]:
    """`count` instants in [start_ns, end_ns), each in the middle of its share.

    Raises:
        ValueError: the interval is empty, or `count` is less than one.
    """
    if end_ns <= start_ns or count < 1:
        raise ValueError(f"no grid of {count} in [{start_ns}, {end_ns})")
    return [start_ns + (2 * i + 1) * (end_ns - start_ns) // (2 * count) for i in range(count)]


def around(time_ns: int, reach_ns: int, step_ns: int) -> list[int]:
    """Instants from `time_ns` - `reach_ns` to `time_ns` + `reach_ns`, `step_ns` apart, `time_ns` among them;
    none before 0.

    Raises:
        ValueError: `step_ns` is not positive, or `reach_ns` is negative.
    """
    if step_ns <= 0 or reach_ns < 0:
        raise ValueError(f"no steps of {step_ns} within {reach_ns}")
    steps = reach_ns // step_ns
    return [t for i in range(-steps, steps + 1) if (t := time_ns + i * step_ns) >= 0]
