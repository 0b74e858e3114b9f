"""Expected failures. Anything that is not one of these is a bug and keeps its traceback.

    Video2GuiError
      InputError            the request is wrong: nothing was started            exit code 2
        RowError            one metadata row cannot be read
        ConfigError         a setting is unknown or out of range
      FetchError            a video could not be had; `kind` says why
      VideoError            a file could not be read as video
      CaptionError          a file could not be read as captions
      BackendError          a model or tool behind a protocol failed
        MissingExtraError   a package is not installed; the message is the install command
      SchemaError           a value does not fit `trajectory/1` or another schema; says where
      ShardError            a shard does not hold what its manifest says

A verdict ("looked at, not wanted") is not an error: see `schema.Verdict`.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import ClassVar, Literal

FetchKind = Literal[
    "gone",
    "private",
    "age_gated",
    "region_gated",
    "rate_limited",
    "network",
    "unsupported",
    "too_large",
    "not_a_video",
    "outside_root",
    "private_host",
]

#: Which fetch failures a later run may cure. `rate_limited` also asks for a pause.
RETRYABLE_FETCH: frozenset[FetchKind] = frozenset({"rate_limited", "network"})


class Video2GuiError(Exception):
    """Base of all expected failures. `str(error)` is one sentence fit for a user.

    `address` says what failed (a path, a URL, a row, a step); `retryable` whether the same request may
    succeed later without a change.
    """

    retryable: bool = False
    name: ClassVar[str] = "error"

    def __init__(self, message: str, *, address: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.address = address

    def __reduce__(self) -> tuple[object, ...]:
        # exceptions cross process borders: rebuild without calling __init__ with the wrong arguments
        return (_rebuild, (type(self), self.message, dict(self.__dict__)))


def _rebuild(kind: type[Video2GuiError], message: str, state: dict[str, object]) -> Video2GuiError:
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class InputError(Video2GuiError):
    """The request itself is wrong."""

    name = "input"


class RowError(InputError):
    """One metadata row cannot be read. `address` is ``file:line``."""

    name = "row"


class ConfigError(InputError):
    """A setting is unknown, of the wrong type or out of range."""

    name = "config"


class FetchError(Video2GuiError):
    """A video could not be had. `kind` is one of `FetchKind` and decides whether to try again."""

    name = "fetch"

    def __init__(self, message: str, *, kind: FetchKind, address: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message, address=address)
        self.kind: FetchKind = kind
        self.retryable = kind in RETRYABLE_FETCH
        self.retry_after_s = retry_after_s


class VideoError(Video2GuiError):
    """A file could not be read as video. `address` is its path."""

    name = "video"


class CaptionError(Video2GuiError):
    """A file could not be read as captions. `address` is its path."""

    name = "caption"


class BackendError(Video2GuiError):
    """A model or tool behind one of our protocols failed."""

    name = "backend"


class MissingExtraError(BackendError):
    """An optional package is missing."""

    name = "missing_extra"


class SchemaError(Video2GuiError):
    """A value does not fit its schema. `address` is the place, such as ``steps[3].action.kind``."""

    name = "schema"


class ShardError(Video2GuiError):
    """A shard or manifest is damaged. `address` is ``shard`` or ``shard#key``."""

    name = "shard"


def load_extra(module: str, extra: str) -> ModuleType:
    """Import `module`, or say which extra brings it.

    Raises:
        MissingExtraError: the package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        raise MissingExtraError(
            f"{module} is not installed: pip install 'video2gui[{extra}]'", address=module
        ) from error
