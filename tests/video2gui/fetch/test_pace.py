"""Turns at a host, on a clock that the test moves."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from video2gui.errors import FetchError
from video2gui.fetch.pace import Clock, Pace
from video2gui.timebase import NS_PER_S

URL = "https://User@Video.Example:8443/watch?v=1"
S = NS_PER_S


@dataclass
class Hand:
    """A clock whose sleepers move it; `on_sleep` is what happens to others meanwhile."""

    now_ns: int = 1_000 * S
    slept_ns: list[int] = field(default_factory=list)
    on_sleep: list[object] = field(default_factory=list)

    def sleep(self, ns: int) -> None:
        self.slept_ns.append(ns)
        self.now_ns += ns
        if self.on_sleep:
            self.on_sleep.pop(0)()  # type: ignore[operator]

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now_ns, self.sleep)


def test_turns_at_one_host_are_a_pause_apart_and_others_do_not_wait(tmp_path: Path) -> None:
    hand = Hand()
    first, second = (Pace(tmp_path, 2 * S, hand.clock) for _ in range(2))  # as two processes would
    first.wait_turn(URL, 9_999 * S)
    second.wait_turn("https://video.example/other", 9_999 * S)
    assert hand.slept_ns == [2 * S]
    first.wait_turn("https://elsewhere.example/", 9_999 * S)
    hand.now_ns += 60 * S
    first.wait_turn(URL, 9_999 * S)
    assert hand.slept_ns == [2 * S]


def test_those_who_wait_stand_in_line(tmp_path: Path) -> None:
    hand = Hand()
    pace = Pace(tmp_path, 2 * S, hand.clock)
    pace.wait_turn(URL, 9_999 * S)
    hand.on_sleep = [lambda: None]
    starts = []
    for _ in range(3):
        pace.wait_turn(URL, 9_999 * S)
        starts.append(hand.now_ns)
    assert starts == [1_002 * S, 1_004 * S, 1_006 * S]


def test_a_cool_down_holds_and_a_shorter_one_does_not_end_it(tmp_path: Path) -> None:
    hand = Hand()
    pace = Pace(tmp_path, S, hand.clock)
    pace.cool_down(URL, 60 * S)
    pace.cool_down(URL, 5 * S)
    pace.wait_turn(URL, 9_999 * S)
    assert hand.slept_ns == [60 * S]


def test_a_cool_down_that_begins_while_one_sleeps_is_kept_too(tmp_path: Path) -> None:
    hand = Hand()
    pace = Pace(tmp_path, 2 * S, hand.clock)
    pace.wait_turn(URL, 9_999 * S)
    hand.on_sleep = [lambda: pace.cool_down(URL, 30 * S)]
    pace.wait_turn(URL, 9_999 * S)
    assert hand.slept_ns == [2 * S, 30 * S]


def test_a_turn_that_comes_too_late_is_not_waited_for_and_not_taken(tmp_path: Path) -> None:
    hand = Hand()
    pace = Pace(tmp_path, S, hand.clock)
    pace.cool_down(URL, 3_600 * S)
    with pytest.raises(FetchError, match=r"video\.example has to be left alone for another 3600 s") as caught:
        pace.wait_turn(URL, hand.now_ns + 600 * S)
    assert (caught.value.kind, caught.value.retry_after_s, hand.slept_ns) == ("rate_limited", 3600, [])
    pace.wait_turn(URL, 9_999 * S)
    assert hand.slept_ns == [3_600 * S]


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"boot": "x"}', "\0\0\0", "null"])
def test_a_damaged_state_is_no_state(tmp_path: Path, content: str) -> None:
    hand = Hand()
    pace = Pace(tmp_path, S, hand.clock)
    pace.cool_down(URL, 60 * S)
    (state,) = tmp_path.iterdir()
    state.write_text(content)
    pace.wait_turn(URL, 9_999 * S)
    assert hand.slept_ns == []


def test_a_state_from_before_the_machine_s_start_is_void(tmp_path: Path) -> None:
    hand = Hand()
    pace = Pace(tmp_path, S, hand.clock)
    pace.cool_down(URL, 60 * S)
    (state,) = tmp_path.iterdir()
    state.write_text(json.dumps(json.loads(state.read_text()) | {"boot": "another"}))
    pace.wait_turn(URL, 9_999 * S)
    assert hand.slept_ns == []


def test_processes_take_their_turns_one_by_one(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from video2gui.fetch.pace import Clock, Pace\n"
        "waits = []\n"
        f"pace = Pace(Path({str(tmp_path)!r}), 10**12, Clock(lambda: 10**15, waits.append))\n"
        f"turns = [pace._turn({URL!r}, 10**18) for _ in range(20)]\n"
        "print(*turns)"
    )
    children = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    turns = [int(turn) for child in children for turn in child.communicate()[0].split()]
    assert sorted(turns) == [10**15 + n * 10**12 for n in range(60)]


def test_a_host_s_name_is_no_path(tmp_path: Path) -> None:
    Pace(tmp_path / "work", S).cool_down("http://..%2f..%2fetc/passwd", S)
    assert [path.parent for path in tmp_path.rglob("*.json")] == [tmp_path / "work"]
