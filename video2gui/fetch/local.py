"""Local files: used where they lie, and only below the folder that the user named."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

from video2gui.errors import FetchError


def is_local(address: str) -> bool:
    """Whether an address is a path or a ``file:`` URL."""
    return scheme_of(address) in ("", "file")


def scheme_of(address: str) -> str | None:
    """The scheme of an address in lower case, "" for a path, None where it cannot be split."""
    try:
        return urlsplit(address).scheme
    except ValueError:
        return None


def resolve_local(address: str, local_root: Path | None) -> Path:
    """The file that a path or ``file:`` URL names, with all links followed. Relative ones start at `local_root`.

    Raises:
        FetchError: `outside_root`, `gone`, or `not_a_video` for what is not a regular file.
    """
    if local_root is None:
        raise FetchError(
            f"{address} is a local file, and no folder for local files was named", kind="outside_root", address=address
        )
    try:
        root = local_root.resolve(strict=True)
        path = (root / _path_of(address)).resolve()
        if not path.is_relative_to(root):
            raise FetchError(f"{address} lies outside {local_root}", kind="outside_root", address=address)
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise FetchError(f"there is no file {address} in {local_root}", kind="gone", address=address) from error
    except (OSError, ValueError, RuntimeError) as error:
        # a loop of links, a name too long or with a zero byte, a folder that may not be entered
        raise FetchError(f"{address} cannot be opened: {error}", kind="gone", address=address) from error
    if not stat.S_ISREG(mode):
        raise FetchError(f"{address} is not a regular file", kind="not_a_video", address=address)
    return path


def _path_of(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme != "file":
        return address  # "#" and "?" are letters of a path
    if parts.netloc not in ("", "localhost"):
        raise FetchError(f"{address} names another machine", kind="outside_root", address=address)
    return unquote(parts.path)


def check_is_video(path: Path, address: str, max_bytes: int) -> None:
    """Refuse what is empty, too large, or text: a page, a playlist, an error message.

    Raises:
        FetchError: `not_a_video` or `too_large`.
    """
    size = path.stat().st_size
    if size > max_bytes:
        raise FetchError(
            f"{address} has {size / 1e6:.0f} MB, more than {max_bytes / 1e6:.0f} MB", kind="too_large", address=address
        )
    with path.open("rb") as file:
        head = file.read(1024)
    if not head:
        raise FetchError(f"{address} is empty", kind="not_a_video", address=address)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] == b"<":
        raise FetchError(f"{address} is a web page, not a video", kind="not_a_video", address=address)
    # every container of video has a byte in its head that no text has
    if not any(byte < 0x20 and byte not in b"\t\n\r\f" for byte in head):
        raise FetchError(f"{address} is text, not a video", kind="not_a_video", address=address)


def sha256_of(path: Path) -> str:
    """The digest of a file's content, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
