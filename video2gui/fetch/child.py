"""Run the fetching process: with a deadline, its own small environment, and nothing left running."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

from video2gui import codec
from video2gui.errors import FetchError, SchemaError, load_extra
from video2gui.fetch.messages import LOG_FILE, REPLY_FILE, Bug, Failed, Fetched, Reply, Request
from video2gui.timebase import NS_PER_S, s_from_ns

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def fetch_in_child(request: Request, deadline_ns: int) -> Fetched:
    """Fetch in a process of its own, which is killed after `deadline_ns`.

    Raises:
        FetchError: what the process found, or `network` when it was killed.
        MissingExtraError: yt-dlp is not installed.
        RuntimeError: a bug in the process, with its traceback.
    """
    if importlib.util.find_spec("yt_dlp") is None:
        load_extra("yt_dlp", "fetch")
    folder = Path(request.folder)
    (folder / REPLY_FILE).unlink(missing_ok=True)
    log = folder / LOG_FILE
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "video2gui.fetch.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=folder,
            env=_environment(folder),
            start_new_session=True,
        )
        try:
            assert process.stdin is not None
            process.stdin.write(codec.dumps(request).encode() + b"\n")
            process.stdin.flush()
            status = process.wait(s_from_ns(deadline_ns))
        except subprocess.TimeoutExpired as error:
            raise FetchError(
                f"{request.url} took longer than {deadline_ns / NS_PER_S:.0f} s", kind="network", address=request.url
            ) from error
        except BrokenPipeError:
            status = process.wait()  # it ended before it read: its log says why
        finally:
            _end(process)
    return _read_reply(folder, request.url, log, status)


def _environment(folder: Path) -> dict[str, str]:
    """No settings, keys or home of the user; the same modules as here; temporary files in the folder."""
    names = (*_PASSED_ON, *_PROXIES, *(name.upper() for name in _PROXIES))
    passed = {name: value for name in names if (value := os.environ.get(name)) is not None}
    modules = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    home = str(folder)
    return passed | {
        "PYTHONPATH": modules,
        "HOME": home,
        "XDG_CONFIG_HOME": home,
        "XDG_CACHE_HOME": home,
        "TMPDIR": home,
        "YTDLP_NO_PLUGINS": "1",
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that still runs, and all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        process.stdin.close()
    process.wait()


def _read_reply(folder: Path, url: str, log: Path, status: int) -> Fetched:
    try:
        answer = codec.loads(Reply, (folder / REPLY_FILE).read_bytes()).answer
    except FileNotFoundError:
        said = log.read_bytes()[-2000:].decode("utf-8", "replace").strip()
        if "MemoryError" in said:
            raise FetchError(f"{url} needs more memory to read than allowed", kind="too_large", address=url) from None
        if status < 0:
            text = f"{url} could not be read: the process that fetched it died of {signal.strsignal(-status)}"
            raise FetchError(text, kind="unsupported", address=url) from None
        raise RuntimeError(f"the process that fetched {url} died:\n{said}") from None
    except SchemaError as error:
        raise RuntimeError(f"the process that fetched {url} gave a reply that does not fit: {error}") from error
    if isinstance(answer, Bug):
        raise RuntimeError(f"fetching {url} met a bug:\n{answer.traceback}")
    if isinstance(answer, Failed):
        raise FetchError(answer.message, kind=answer.failure, address=url, retry_after_s=answer.retry_after)
    return answer
