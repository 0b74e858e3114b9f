"""Every way in which fetching fails, in one table: what a server or yt-dlp says, to a `FetchKind`."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Iterator
from typing import NamedTuple

from video2gui.errors import FetchError, FetchKind

#: A server that asks for a longer pause than a day has said no.
MAX_RETRY_AFTER_S = 86_400.0


class Meaning(NamedTuple):
    """What a status or a message means: the kind, and the words for a user."""

    kind: FetchKind
    words: str


_STATUS: dict[int, Meaning] = {
    401: Meaning("private", "needs a login"),
    402: Meaning("private", "has to be paid for"),
    403: Meaning("private", "may not be seen (access refused)"),
    404: Meaning("gone", "does not exist"),
    408: Meaning("network", "could not be had: the server gave up waiting"),
    410: Meaning("gone", "was removed"),
    416: Meaning("network", "could not be had: the server refused to go on where it stopped"),
    425: Meaning("network", "could not be had: the server is not ready"),
    429: Meaning("rate_limited", "could not be had: too many requests"),
    451: Meaning("region_gated", "is not available here for legal reasons"),
}

#: What sites say through yt-dlp, the first that fits. Order matters: "Video unavailable" stands in front of
#: most reasons, and a session that asked too often is told "try again later", not that the video is gone.
_MESSAGES: tuple[tuple[FetchKind, str, tuple[str, ...]], ...] = (
    (
        "rate_limited",
        "could not be had: the site limits how often it answers",
        (
            r"content isn.t available, try again later",
            r"rate.?limit",
            r"too many requests",
            r"confirm (that )?you.?re not a (ro)?bot",
            r"captcha",
        ),
    ),
    (
        "age_gated",
        "is for adults and needs a login",
        (r"confirm your age", r"age.restricted", r"inappropriate for some users", r"age.verification"),
    ),
    (
        "region_gated",
        "is not available in this region",
        (
            r"geo.?restrict",
            r"(in|from|to|for) (your|this) (country|region|location|area|territory)",
            r"your (country|region|location) ",
            r"blocked it (in|on)",
        ),
    ),
    (
        "private",
        "needs a login or a membership",
        (
            r"private (video|playlist)|is private|this is a private",
            r"members.only|members on level|join this channel",
            r"registered users|log ?in|sign in|logged.in|requires? authentication",
            r"account credentials|unverified account",
            r"only available (for|to) .{0,40}(members|subscribers|users)",
            r"subscription|subscribe to|premium|supporter.only",
            r"(requires?|need) .{0,12}(purchase|payment)|rental|is paid",
            r"password|not have access",
        ),
    ),
    (
        "unsupported",
        "is protected (DRM) or in a form that cannot be read",
        (r"\bdrm\b", r"requested format is not available", r"no video formats found", r"only images are available"),
    ),
    (
        "unsupported",
        "is live or not yet shown",
        (
            r"premieres? in",
            r"will (begin|start|be available)",
            r"scheduled for",
            r"not (currently |yet )?(live|started)",
            r"is offline",
            r"is processing|processing this video",
        ),
    ),
    (
        "network",
        "could not be had: the site has a problem",
        (r"try again|something went wrong|technical (difficult|problem)|temporar",),
    ),
    (
        "gone",
        "is no longer there",
        (
            r"removed",
            r"deleted",
            r"terminated",
            r"no longer (available|exists?)",
            r"does ?n.t exist|does not exist",
            r"not found",
            r"unavailable|not available|isn.t available",
            r"copyright",
            r"closed their",
            r"has ended",
            r"expired",
        ),
    ),
    (
        "network",
        "could not be had: the connection failed",
        (
            r"timed? ?out",
            r"connection (was )?(reset|refused|aborted|closed|broken)",
            r"network",
            r"name or service not known|name resolution|getaddrinfo|no address associated",
            r"unreachable",
            r"remote end closed|incomplete|content too short|bytes read|more expected|did not get any data",
            r"downloaded \d+ bytes, expected",
            r"fragment .{0,20}not found|unable to continue",
            r"ssl|handshake|eof occurred",
        ),
    ),
    ("private_host", "leads to this machine or a private network", (r"is not a public address",)),
    ("too_large", "is larger than allowed", (r"file too large",)),
)

_COMPILED = tuple(
    (re.compile(pattern), Meaning(kind, words)) for kind, words, patterns in _MESSAGES for pattern in patterns
)


def meaning_of_status(status: int, *, has_retry_after: bool = False) -> Meaning:
    """What an HTTP status means; a busy server that names a time to come back limits the rate."""
    if meaning := _STATUS.get(status):
        return meaning
    if status == 503 and has_retry_after:
        return Meaning("rate_limited", "could not be had: the server asks to come back later")
    if 500 <= status < 600:
        return Meaning("network", "could not be had: the server failed")
    return Meaning("unsupported", "could not be had: the server refuses the request")


def meaning_of_message(message: str) -> Meaning:
    """What a site's or yt-dlp's words mean; words that are in no table will not be other words tomorrow."""
    # an address in the message may hold any word
    text = re.sub(r"\bhttps?://\S+", "", message.lower())
    if match := re.search(r"http error (\d{3})", text):
        return meaning_of_status(int(match[1]))
    for pattern, meaning in _COMPILED:
        if pattern.search(text):
            return meaning
    return Meaning("unsupported", "could not be read by yt-dlp")


def retry_after_s(value: str | None, *, now_s: float | None = None) -> float | None:
    """The seconds that a ``Retry-After`` header asks for, given as a number or as a date; None where unreadable."""
    if value is None:
        return None
    text = value.strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text):
        return min(float(text), MAX_RETRY_AFTER_S)
    try:
        date_s = email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, date_s - (time.time() if now_s is None else now_s)), MAX_RETRY_AFTER_S)


class PrivateHostError(PermissionError):
    """A connection to an address that is not public."""


def failure_of(error: Exception, url: str, *, extracted: bool) -> FetchError:
    """The failure behind an exception of yt-dlp; `extracted` says that the page was read and its media failed."""
    chain = list(_causes(error))
    for cause in chain:
        if isinstance(cause, FetchError):
            return cause
        if isinstance(cause, PrivateHostError):
            meaning = Meaning("private_host", "leads to this machine or a private network")
            return _failure(url, meaning, f"{cause}; fetch.allow_private_hosts permits it")
        if isinstance(cause, MemoryError):
            return _failure(url, Meaning("too_large", "needs more memory to read than allowed"), "")
    for cause in chain:  # only then what yt-dlp made of it
        if _is(cause, "HTTPError"):
            return _of_status(cause, url, extracted=extracted)
        if _is(cause, "GeoRestrictedError"):
            return _failure(url, Meaning("region_gated", "is not available in this region"), _words(cause))
        if _is(cause, "UnsupportedError"):
            return _failure(url, Meaning("unsupported", "holds no video that yt-dlp knows of"), "")
        if _is(cause, "TransportError"):
            return _failure(url, Meaning("network", "could not be had: the connection failed"), _words(cause))
    said = _words(chain[min(1, len(chain) - 1)])
    return _failure(url, meaning_of_message(said), said)


def _is(error: BaseException, name: str) -> bool:
    # by name, because yt-dlp may be missing where this module is imported
    return any(kind.__name__ == name and kind.__module__.startswith("yt_dlp.") for kind in type(error).__mro__)


def _words(error: BaseException) -> str:
    """What was said, without yt-dlp's own frame around it ("ERROR: [site] id: ...; please report this")."""
    said = str(getattr(error, "orig_msg", None) or error)
    said = re.sub(r"\x1b\[[0-9;]*m|[\x00-\x1f]+", " ", said)
    return re.sub(r"^(\s*(ERROR: |\[download\] |Got error: |\[[\w:+-]{1,40}\] [^\s:]{1,40}: ))+", "", said).strip()


def _of_status(error: BaseException, url: str, *, extracted: bool) -> FetchError:
    status = int(getattr(error, "status", 0))
    if getattr(error, "redirect_loop", False):
        return _failure(url, Meaning("unsupported", "is sent round in a circle by its server"), "")
    headers = getattr(getattr(error, "response", None), "headers", None)
    pause_s = retry_after_s(headers.get("Retry-After") if headers is not None else None)
    meaning = meaning_of_status(status, has_retry_after=pause_s is not None)
    if status == 403 and extracted:
        # the page was open: its media addresses run out, and a fresh look at the page gives new ones
        meaning = Meaning("network", "could not be had: the media address is refused")
    return FetchError(f"{url} {meaning.words} (HTTP {status})", kind=meaning.kind, address=url, retry_after_s=pause_s)


def _failure(url: str, meaning: Meaning, said: str) -> FetchError:
    # yt-dlp's advice on its own command line is no use to a user of ours
    said = re.split(r"[.;] *(?:Use --|See |Also see|You might want|please report|It is recommended to use)", said)[0]
    tail = f" ({' '.join(said.split())[:300]})" if said.strip() else ""
    return FetchError(f"{url} {meaning.words}{tail}", kind=meaning.kind, address=url)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and those that it names as its cause; what merely happened before it is no cause."""
    todo, seen = [error], set[int]()
    while todo and len(seen) < 50:
        current = todo.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        linked: list[object] = [
            getattr(current, "cause", None),
            getattr(current, "reason", None),
            current.__cause__,
            *(getattr(current, "unexpected_errors", None) or ()),
        ]
        if _is(current, "DownloadError"):  # raised while another is handled, without saying so
            linked.append(current.__context__)
        todo.extend(cause for cause in linked if isinstance(cause, BaseException))
