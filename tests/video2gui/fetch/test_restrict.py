"""What a fetching process may not do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from video2gui.fetch.restrict import Reach, is_allowed, reach_of


@pytest.mark.parametrize(
    ("address", "public", "loopback"),
    [
        ("93.184.216.34", True, True),
        ("2606:2800:220:1::1", True, True),
        ("127.0.0.1", False, True),
        ("127.9.9.9", False, True),
        ("::1", False, True),
        ("::ffff:127.0.0.1", False, True),
        ("::ffff:93.184.216.34", True, True),
        ("10.0.0.1", False, False),
        ("172.16.0.1", False, False),
        ("192.168.1.1", False, False),
        ("169.254.169.254", False, False),
        ("100.64.0.1", False, False),
        ("0.0.0.0", False, False),
        ("::", False, False),
        ("fe80::1%eth0", False, False),
        ("fd00::1", False, False),
        ("2002:0a00:0001::1", False, False),
        ("::ffff:169.254.169.254", False, False),
        ("224.0.0.1", False, False),
        ("255.255.255.255", False, False),
        ("not an address", False, False),
    ],
)
def test_reach(address: str, public: bool, loopback: bool) -> None:
    assert [is_allowed(address, reach) for reach in ("public", "loopback")] == [public, loopback]
    assert is_allowed(address, "all")


@pytest.mark.parametrize(
    ("url", "reach"),
    [
        ("http://127.0.0.1:8000/a", "loopback"),
        ("http://[::1]/a", "loopback"),
        ("http://LOCALHOST/a", "loopback"),
        ("http://app.localhost/a", "loopback"),
        ("http://user@127.0.0.1/a", "loopback"),
        ("http://video.example/127.0.0.1", "public"),
        ("http://localhost.example/a", "public"),
        ("http://10.0.0.1/a", "public"),
        ("http:///a", "public"),
    ],
)
def test_only_a_row_that_names_this_machine_reaches_it(url: str, reach: Reach) -> None:
    assert reach_of(url, allow_private_hosts=False) == reach
    assert reach_of(url, allow_private_hosts=True) == "all"


def run_restricted(code: str, reach: Reach = "public", program: str | None = None) -> str:
    """What is printed by `code` in a restricted interpreter."""
    start = f"from video2gui.fetch.restrict import restrict\nrestrict({reach!r}, program={program!r}, proxies=())\n"
    body = f"try:\n    {code}\nexcept Exception as error:\n    print(type(error).__name__, error)\n"
    done = subprocess.run([sys.executable, "-c", start + body], capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "import socket; socket.create_connection(('localhost', 9))",
        "import socket; socket.socket(socket.AF_UNIX).connect('/tmp/none')",
        "import urllib.request; urllib.request.build_opener().open('http://169.254.169.254/latest', timeout=1)",
    ],
)
def test_connections_that_lead_inside_are_refused_before_they_are_made(code: str) -> None:
    assert "is not a public address" in run_restricted(code)


def test_what_is_within_reach_is_tried() -> None:
    code = "import socket; socket.create_connection(('127.0.0.1', 9), timeout=1)"
    assert "ConnectionRefusedError" in run_restricted(code, "loopback")


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess; subprocess.run(['true'])",
        "import os; os.system('true')",
        "import os; os.execv('/bin/true', ['true'])",
        "import os; os.posix_spawn('/bin/true', ['true'], {})",
    ],
)
def test_no_program_is_started(code: str) -> None:
    assert run_restricted(code).startswith("PermissionError fetching starts no program")


def test_the_one_program_that_the_user_names_is_started() -> None:
    code = "import subprocess; print(subprocess.run(['/bin/true']).returncode)"
    assert run_restricted(code, program="true") == "0"
    assert run_restricted(code, program="deno").startswith("PermissionError")
