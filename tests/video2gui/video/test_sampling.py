"""Which instants to look at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from video2gui.video.sampling import around, even_grid


@given(st.integers(0, 10**12), st.integers(1, 10**12), st.integers(1, 50))
def test_an_even_grid_lies_inside_and_is_even(start: int, length: int, count: int) -> None:
    grid = even_grid(start, start + length, count)
    assert len(grid) == count and start <= grid[0] and grid[-1] < start + length
    for n, time in enumerate(grid):
        assert abs(time - (start + (2 * n + 1) * length / (2 * count))) <= max(1, length * 1e-9)


def test_around_an_instant() -> None:
    assert around(100, 20, 10) == [80, 90, 100, 110, 120]
    assert around(100, 25, 10) == [80, 90, 100, 110, 120]
    assert around(5, 20, 10) == [5, 15, 25]
    assert around(5, 0, 10) == [5]


def test_no_grid_without_room() -> None:
    with pytest.raises(ValueError, match="no grid"):
        even_grid(5, 5, 3)
    with pytest.raises(ValueError, match="no grid"):
        even_grid(0, 5, 0)
    with pytest.raises(ValueError, match="no steps"):
        around(5, 5, 0)
