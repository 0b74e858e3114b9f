"""Every command in the README runs, and what it shows is what comes out (numbers aside)."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


COMMANDS = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to run commands in: the examples, and nothing that an earlier run left."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "examples", folder / "examples")
    return folder


def run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=900)


def shape(text: str) -> list[str]:
    """Lines with every number as #: figures differ between processors, what is said does not."""
    return [re.sub(r"[\d.:]+", "#", line).strip() for line in text.strip().splitlines()]


def test_the_readme_has_the_two_commands() -> None:
    assert [command for command in COMMANDS if command.startswith("make")] == ["make mine", "make test"]


@pytest.mark.timeout(900)
def test_the_job_of_the_readme_and_what_it_leaves(checkout: Path) -> None:
    (command,) = (command for command in COMMANDS if "pipelines.mine_videos" in command)
    recipe = re.sub(r"\\\n|\s+", " ", run(["make", "-n", "mine"], ROOT).stdout)
    assert command.removeprefix("python ") in re.sub(r" +", " ", recipe), "make mine runs something else"
    done = run(shlex.split(command), checkout)
    assert done.returncode == 1, done.stderr  # some example rows are there to fail
    out = checkout / "out"
    for name in re.findall(r"`out/([\w.]+)`", README):
        assert (out / name).is_file(), f"{name} is missing"
    for code in blocks("python"):
        check = f"{code}\nassert 'instruction' in sample['json'] and steps and before.size\n"
        read = run([sys.executable, "-c", check], checkout, HF_HOME=str(checkout / "hf"))
        assert read.returncode == 0, read.stderr


@pytest.mark.timeout(600)
def test_the_commands_for_one_video(checkout: Path) -> None:
    shown = None
    for command in COMMANDS:
        if command.startswith("video2gui "):
            words = [sys.executable, "-m", *shlex.split(command)]
            done = run(words, checkout)
            # some example rows are there to fail
            assert done.returncode == (1 if " filter " in command else 0), f"{command}: {done.stderr}"
            shown = done.stdout if " show " in command else shown
    assert shown is not None
    (example,) = blocks("text")
    same = set(shape(shown)) & set(shape(example))
    # a decision that hangs on the last bit may fall otherwise on another processor
    assert len(same) >= 0.7 * len(shape(example)), shown


def test_every_named_benchmark_and_extra_exists() -> None:
    for name in re.findall(r"`benchmarks\.(\w+)`", README):
        assert (ROOT / "benchmarks" / f"{name}.py").is_file()
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    for extra in ("see", "fetch", "beam", "decord", "paddle", "gcp", "aws", "dev", "mine"):
        assert f"`{extra}`" in README or f".[{extra}]" in README
        assert re.search(rf"^{extra} = \[", pyproject, re.M)
