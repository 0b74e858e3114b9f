"""The table of failures, with the words that yt-dlp and YouTube really use."""

from __future__ import annotations

import ast
import inspect
import textwrap
from email.utils import formatdate
from typing import get_args

import pytest
import yt_dlp.extractor.common
import yt_dlp.extractor.youtube._video
import yt_dlp.YoutubeDL
from yt_dlp.networking.exceptions import HTTPError, IncompleteRead, NoSupportingHandlers, TransportError
from yt_dlp.utils import DownloadError, ExtractorError, GeoRestrictedError, UnsupportedError

from video2gui.errors import RETRYABLE_FETCH, FetchError, FetchKind
from video2gui.fetch.kinds import PrivateHostError, failure_of, meaning_of_message, meaning_of_status, retry_after_s

URL = "https://video.example/watch"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "unsupported"), (401, "private"), (402, "private"), (403, "private"), (404, "gone"), (405, "unsupported"),
        (408, "network"), (410, "gone"), (416, "network"), (429, "rate_limited"), (451, "region_gated"),
        (500, "network"), (502, "network"), (503, "network"), (504, "network"), (302, "unsupported"),
    ],
)  # fmt: skip
def test_statuses(status: int, kind: FetchKind) -> None:
    assert meaning_of_status(status).kind == kind


def test_a_busy_server_that_names_a_time_limits_the_rate() -> None:
    assert meaning_of_status(503, has_retry_after=True).kind == "rate_limited"


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        # YouTube's session limit stands behind "Video unavailable" and reads like a deletion
        ("Video unavailable. This content isn't available, try again later. The current session has been rate-limited "
         "by YouTube for up to an hour. It is recommended to use `-t sleep`", "rate_limited"),
        ("Video unavailable. This content isn’t available, try again later.", "rate_limited"),
        ("Sign in to confirm you’re not a bot. Use --cookies-from-browser or --cookies for the authentication. See  "
         "https://github.com/yt-dlp/yt-dlp/wiki/FAQ  for how to manually pass cookies.", "rate_limited"),
        ("Playback error. YouTube is requiring a captcha challenge before playback", "rate_limited"),
        ("HTTP Error 429: Too Many Requests", "rate_limited"),
        ("Sign in to confirm your age. This video may be inappropriate for some users. Use --cookies-from-browser",
         "age_gated"),
        ("This video is age-restricted and only available on YouTube", "age_gated"),
        ("Private video. Sign in if you've been granted access to this video. Use --cookies", "private"),
        ("This video is private", "private"),
        ("Join this channel to get access to members-only content like this video, and other exclusive perks.",
         "private"),
        ("This video is available to this channel's members on level: Pro (or any higher level).", "private"),
        ("This video is only available for registered users. Use --username and --password", "private"),
        ("This video is for premium members only", "private"),
        ("Login details are needed to download this content.", "private"),
        ("This video requires a subscription", "private"),
        ("Password protected video, use --video-password <password>", "private"),
        ("This video requires payment to watch", "private"),
        ("The uploader has not made this video available in your country", "region_gated"),
        ("Video unavailable. This video is not available in your country", "region_gated"),
        ("Video unavailable. This video contains content from UMG, who has blocked it in your country on copyright "
         "grounds", "region_gated"),
        ("This video is not available from your location due to geo restriction", "region_gated"),
        ("Video unavailable", "gone"),
        ("Video unavailable. This video is not available", "gone"),
        ("This video has been removed by the uploader", "gone"),
        ("This video has been removed for violating YouTube's policy on hate speech.", "gone"),
        ("Video unavailable. This video is no longer available because the YouTube account associated with this video "
         "has been terminated.", "gone"),
        ("Video unavailable. This video is no longer available due to a copyright claim by X", "gone"),
        ("This video does not exist.", "gone"),
        ("Unable to download webpage: HTTP Error 404: Not Found (caused by <HTTPError 404: Not Found>)", "gone"),
        ("This video is DRM protected", "unsupported"),
        ("No video formats found!", "unsupported"),
        ("Requested format is not available. Use --list-formats for a list of available formats", "unsupported"),
        ("Unsupported URL: https://video.example/private/removed/429", "unsupported"),
        ("Premieres in 3 hours", "unsupported"),
        ("This live event will begin in 2 days.", "unsupported"),
        ("The channel is not currently live", "unsupported"),
        ("We're processing this video. Check back later.", "unsupported"),
        ("An error occurred. Please try again later.", "network"),
        ("Unable to download webpage: <urlopen error timed out>", "network"),
        ("Unable to download webpage: [Errno -2] Name or service not known", "network"),
        ("Unable to download webpage: [Errno 111] Connection refused", "network"),
        ("Got error: [Errno 104] Connection reset by peer", "network"),
        ("Got error: 4096 bytes read, 98328 more expected", "network"),
        ("Got error: Downloaded 5000 bytes, expected 102424 bytes", "network"),
        ("Got error: HTTP Error 502: Bad Gateway", "network"),
        ("Did not get any data blocks", "network"),
        ("A network error has occurred.", "network"),
        ("unable to write data: [Errno 27] File too large", "too_large"),
        ("10.0.0.1 is not a public address", "private_host"),
        ("words that nobody has seen", "unsupported"),
    ],
)  # fmt: skip
def test_messages(message: str, kind: FetchKind) -> None:
    assert meaning_of_message(message).kind == kind


def sentences_in(function: object) -> set[str]:
    """All string literals of a function of the installed yt-dlp."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))  # type: ignore[arg-type]
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_the_words_in_the_table_are_still_those_of_the_installed_yt_dlp() -> None:
    youtube = sentences_in(yt_dlp.extractor.youtube._video.YoutubeIE._real_extract)
    assert any("This content isn't available, try again later" in text for text in youtube)
    assert any("has been rate-limited by YouTube" in text for text in youtube)
    assert any("The uploader has not made this video available in your country" in text for text in youtube)
    common = yt_dlp.extractor.common.InfoExtractor
    assert "This video is DRM protected" in sentences_in(common.report_drm)
    assert any("This video is not available from your location" in t for t in sentences_in(common.raise_geo_restricted))
    assert any("only available for registered users" in t for t in sentences_in(common.raise_login_required))
    assert any("No video formats found" in t for t in sentences_in(yt_dlp.YoutubeDL.raise_no_formats))


def reported(error: Exception) -> DownloadError:
    """The exception as a caller of yt-dlp gets it."""
    with yt_dlp.YoutubeDL({"quiet": True, "logger": Quiet()}) as downloader, pytest.raises(DownloadError) as caught:
        try:
            raise error
        except ExtractorError as raised:
            downloader.report_error(str(raised), raised.format_traceback())
    return caught.value


class Quiet:
    def debug(self, message: str) -> None: ...

    warning = error = debug


class Answered:
    """What yt-dlp's HTTPError is made from."""

    def __init__(self, status: int, **headers: str) -> None:
        self.status, self.reason, self.headers = status, "reason", headers


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (ExtractorError("page", cause=HTTPError(Answered(404))), "gone", "does not exist"),
        (ExtractorError("page", cause=HTTPError(Answered(200), redirect_loop=True)), "unsupported", "circle"),
        (ExtractorError("page", cause=TransportError("Connection refused")), "network", "Connection refused"),
        (ExtractorError("page", cause=IncompleteRead(3, 5)), "network", "3 bytes read"),
        (GeoRestrictedError("Not for you", countries=["DE"]), "region_gated", "Not for you"),
        (UnsupportedError(URL), "unsupported", "no video"),
        (ExtractorError("Private video", expected=True, video_id="x", ie="youtube"), "private", "Private video"),
        (ExtractorError("p", cause=TransportError(cause=PrivateHostError("::1 is not a public address"))),
         "private_host", "allow_private_hosts"),
        (ExtractorError("p", cause=NoSupportingHandlers([], [MemoryError()])), "too_large", "memory"),
    ],
)  # fmt: skip
def test_exceptions_as_yt_dlp_raises_them(error: Exception, kind: FetchKind, says: str) -> None:
    failure = failure_of(reported(error), URL, extracted=False)
    assert (failure.kind, failure.address, failure.retryable) == (kind, URL, kind in RETRYABLE_FETCH)
    assert str(failure).startswith(URL)
    assert says in str(failure)


def test_advice_on_yt_dlp_s_command_line_is_left_out() -> None:
    error = reported(ExtractorError("Private video. Sign in. Use --cookies-from-browser", video_id="x", ie="youtube"))
    assert (
        str(failure_of(error, URL, extracted=False)) == f"{URL} needs a login or a membership (Private video. Sign in)"
    )


def test_what_merely_happened_before_is_no_cause() -> None:
    try:
        try:
            raise HTTPError(Answered(429))
        except HTTPError:
            raise ExtractorError("Private video", expected=True)  # noqa: B904
    except ExtractorError as error:
        assert failure_of(error, URL, extracted=False).kind == "private"


def test_a_refused_media_address_is_worth_another_look_at_the_page() -> None:
    assert failure_of(HTTPError(Answered(403)), URL, extracted=False).kind == "private"
    assert failure_of(HTTPError(Answered(403)), URL, extracted=True).kind == "network"


def test_an_exception_that_is_ours_stays_as_it_is() -> None:
    ours = FetchError("too big", kind="too_large")
    assert failure_of(ours, URL, extracted=True) is ours


def test_a_chain_that_bites_its_tail_ends() -> None:
    first, second = ExtractorError("one"), ExtractorError("two")
    first.cause, second.cause = second, first
    assert failure_of(first, URL, extracted=False).kind == "unsupported"


def test_retry_after_is_seconds_or_a_date() -> None:
    assert retry_after_s("7") == 7
    assert retry_after_s(" 2.5 ") == 2.5
    assert retry_after_s(formatdate(1_000_030, usegmt=True), now_s=1_000_000) == 30
    assert retry_after_s(formatdate(999_000, usegmt=True), now_s=1_000_000) == 0
    assert retry_after_s("99999999") == 86_400
    assert [retry_after_s(text) for text in (None, "", "soon", "-3", "1" * 400, "Mon, 99 Foo")] == [None] * 6


def test_every_kind_of_failure_is_known_to_decide_on_trying_again() -> None:
    assert set(get_args(FetchKind)) >= RETRYABLE_FETCH
