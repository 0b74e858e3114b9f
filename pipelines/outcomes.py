"""What each costly stage found, kept under a fingerprint of all that it depends on, so that nothing is done twice.

``OUT/outcomes/STAGE/AB/FINGERPRINT.json``: one line with the length and digest of what follows, then JSON. A file
that does not fit its first line is as good as none. Samples lie beside the outcomes of ``pack``, named by their
own digest.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import video2gui
from pipelines.files import Folder
from video2gui import codec
from video2gui.errors import FetchError, Video2GuiError

MAX_OUTCOME_BYTES = 64 << 20

_ROOT = Path(video2gui.__file__).parents[1]

#: Failures that say something about this machine or this command, not about the video.
_NEVER_KEPT = frozenset({"backend", "missing_extra", "input", "config", "outside_root"})


@dataclass(frozen=True, slots=True)
class Failed:
    """An expected failure as kept: `error` is its kind in one word."""

    error: str
    message: str
    address: str
    retryable: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a stage gave: a JSON value, or a failure. `digest` stands for the value."""

    fingerprint: str
    value: Any
    failed: Failed | None
    digest: str


def failed_of(error: Video2GuiError) -> Failed:
    word = error.kind if isinstance(error, FetchError) else error.name
    return Failed(word, error.message, error.address, error.retryable)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The store below `folder`. `retry` are the kinds of kept failures that are to be tried again."""

    folder: Folder
    retry: frozenset[str] = frozenset()

    def load(self, stage: str, fingerprint: str) -> Outcome | None:
        """The kept outcome, or None: not there, not whole, or a failure that is to be tried again."""
        data = self.folder.read(_name(stage, fingerprint), MAX_OUTCOME_BYTES)
        body = None if data is None else _unsealed(data)
        if body is None:
            return None
        content = json.loads(body)
        failed = content.get("failed")
        if failed is None:
            return Outcome(fingerprint, content["value"], None, hashlib.sha256(body).hexdigest())
        return None if failed["error"] in self.retry else Outcome(fingerprint, None, Failed(**failed), "")

    def keep(self, stage: str, fingerprint: str, value: Any) -> Outcome:
        """Keep what a stage found and give it back as `load` would."""
        body = _json({"value": value})
        self.folder.write(_name(stage, fingerprint), _sealed(body))
        return Outcome(fingerprint, json.loads(body)["value"], None, hashlib.sha256(body).hexdigest())

    def keep_failure(self, stage: str, fingerprint: str, failed: Failed) -> None:
        """Keep a failure, unless another run may cure it."""
        if not failed.retryable and failed.error not in _NEVER_KEPT:
            self.folder.write(_name(stage, fingerprint), _sealed(_json({"failed": codec.to_json(failed)})))

    def keep_sample(self, data: bytes) -> str:
        """Keep an encoded sample; gives its sha256, which is also its name."""
        digest = hashlib.sha256(data).hexdigest()
        if not self.has_sample(digest):
            self.folder.write(_sample_name(digest), data)
        return digest

    def has_sample(self, digest: str) -> bool:
        """Whether a sample is there and whole."""
        return self.folder.exists(_sample_name(digest)) and self._digest(_sample_name(digest)) == digest

    def sample(self, digest: str) -> bytes:
        """The bytes of a kept sample.

        Raises:
            RuntimeError: it went away or was damaged since it was checked.
        """
        with self.folder.open(_sample_name(digest)) as file:
            data = file.read()
        if hashlib.sha256(data).hexdigest() != digest:
            raise RuntimeError(f"{self.folder.path(_sample_name(digest))} was changed while the job ran")
        return data

    def _digest(self, name: str) -> str:
        with self.folder.open(name) as file:
            digest = hashlib.sha256()
            while part := file.read(1 << 20):
                digest.update(part)
        return digest.hexdigest()


def _name(stage: str, fingerprint: str) -> str:
    return f"outcomes/{stage}/{fingerprint[:2]}/{fingerprint}.json"


def _sample_name(digest: str) -> str:
    return f"outcomes/pack/{digest[:2]}/{digest}.sample"


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _sealed(body: bytes) -> bytes:
    return f"{len(body)} {hashlib.sha256(body).hexdigest()}\n".encode() + body


def _unsealed(data: bytes) -> bytes | None:
    head, _, body = data.partition(b"\n")
    return body if head == _sealed(body).partition(b"\n")[0] else None


# ------------------------------------------------------------------------------------------- fingerprints


def fingerprint(stage: str, *parts: object) -> str:
    """A name for "this stage on this input": 40 hex digits over JSON values."""
    text = "\n".join([stage, *(codec.dumps(part) for part in parts)])
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def code_digest(module: str, packages: Iterable[str] = ()) -> str:
    """A digest of a module of ours, of all ours that it imports at any depth (and data beside them), and of the
    versions of `packages`. It changes whenever what the module computes may change."""
    digest = hashlib.sha256()
    for path in sorted(_files(module)):
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    for package in sorted(packages):
        digest.update(f"{package} {_version(package)}\n".encode())
    return digest.hexdigest()[:16]


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def _files(module: str) -> set[Path]:
    todo, seen, files = [module], set[str](), set[Path]()
    while todo:
        name = todo.pop()
        if name in seen or (source := _source(name)) is None:
            continue
        seen.add(name)
        files.add(source)
        files.update(p for p in source.parent.glob("*") if p.is_file() and p.suffix != ".py")
        files.update(p for p in source.parent.glob("models/*") if p.is_file() and p.suffix != ".py")
        todo += [name.rpartition(".")[0], *_imports(source)] if "." in name else _imports(source)
    return files


def _source(name: str) -> Path | None:
    """The file of a module of ours; None for any other, and for what is a value in a module."""
    if name.partition(".")[0] != "video2gui":
        return None
    path = _ROOT.joinpath(*name.split("."))
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


def _imports(source: Path) -> list[str]:
    return list(_names(ast.parse(source.read_text("utf-8"))))


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
