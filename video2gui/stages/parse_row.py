"""One line of metadata, in any of the usual shapes, to one `VideoMeta`.

Read are yt-dlp's info-json (full and flat), items of the YouTube Data API v3, rows of our own
``failures.jsonl`` (the row stands inside) and plain JSON objects with common column names. One table of
names (`_NAMES`) serves all of them; a dotted name looks inside an object.

A field that is absent, null, blank or a dump's word for nothing ("NA") is None. A field that is used and
has the wrong type is a `RowError`; fields that are not used are not looked at.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from video2gui.errors import RowError
from video2gui.schema import SAFE_KEY, Captions, Chapter, VideoMeta
from video2gui.timebase import NS_PER_S, ns_from_s

#: A line beyond this is refused unread. An info-json with all its formats and translated captions has 1 to 2 MB.
MAX_LINE_BYTES = 4 << 20

#: Longer ids get a stem and a digest, so that a trajectory's key (id and number) still fits `SAFE_KEY`.
MAX_ID_CHARS = 64

_MAX_TITLE, _MAX_DESCRIPTION, _MAX_WORD, _MAX_URL = 500, 20_000, 200, 4096
_MAX_TAGS, _MAX_CHAPTERS, _MAX_CAPTIONS = 100, 500, 50

_NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "video_id", "videoId", "youtube_id", "display_id", "id.videoId", "contentDetails.videoId"),
    "url": ("webpage_url", "original_url", "url", "video_url", "link"),
    "extractor": ("extractor_key", "ie_key", "extractor", "platform_name"),
    "title": ("title", "fulltitle", "video_title", "snippet.title", "name"),
    "description": ("description", "video_description", "snippet.description", "desc"),
    "tags": ("tags", "keywords", "snippet.tags"),
    "channel": ("channel", "uploader", "channel_title", "channel_name", "snippet.channelTitle", "author", "creator"),
    "category": ("categories", "category", "category_name", "genre", "snippet.categoryId", "category_id"),
    "language": (
        "language",
        "audio_language",
        "snippet.defaultAudioLanguage",
        "default_language",
        "snippet.defaultLanguage",
        "lang",
    ),
    "licence": ("license", "licence", "status.license"),
    "duration": ("duration", "duration_s", "duration_seconds", "contentDetails.duration", "length_seconds",
                 "lengthSeconds", "duration_sec", "duration_string", "length"),
    "live": ("live_status", "snippet.liveBroadcastContent", "liveBroadcastContent"),
    "is_live": ("is_live",),
    "was_live": ("was_live",),
    "availability": ("availability", "status.privacyStatus", "privacy_status", "privacyStatus"),
    "upload": ("status.uploadStatus",),
    "age_limit": ("age_limit",),
    "yt_rating": ("contentDetails.contentRating.ytRating",),
    "subtitles": ("subtitles",),
    "automatic_captions": ("automatic_captions",),
    "chapters": ("chapters",),
}  # fmt: skip
_PATHS = {field: tuple((name, tuple(name.split("."))) for name in names) for field, names in _NAMES.items()}
_PLAYLIST_ITEM_ID = "snippet.resourceId.videoId"

#: What dumps write where they have nothing. Never applied to titles and descriptions: "None" can be a title.
_NOTHING = frozenset({"", "na", "n/a", "nan", "none", "null", "-", "und", "unknown"})

_LIVE_WORDS = {"none": "not_live", "live": "is_live", "upcoming": "is_upcoming"}
_LOST_UPLOADS = frozenset({"deleted", "failed", "rejected"})

_YOUTUBE_ID = re.compile(r"[A-Za-z0-9_-]{11}")
_YOUTUBE_HOSTS = frozenset({"youtube.com", "www.youtube.com", "m.youtube.com", "music.youtube.com"})
_YOUTUBE_WATCH = "https://www.youtube.com/watch?v="

#: YouTube's numbers of categories that a video can be filed under.
_CATEGORIES = {
    "1": "Film & Animation",
    "2": "Autos & Vehicles",
    "10": "Music",
    "15": "Pets & Animals",
    "17": "Sports",
    "19": "Travel & Events",
    "20": "Gaming",
    "22": "People & Blogs",
    "23": "Comedy",
    "24": "Entertainment",
    "25": "News & Politics",
    "26": "Howto & Style",
    "27": "Education",
    "28": "Science & Technology",
    "29": "Nonprofits & Activism",
}

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]+")
_ISO_DURATION = re.compile(
    r"P(?:(?P<w>\d{1,6})W)?(?:(?P<d>\d{1,6})D)?(?:T(?:(?P<h>\d{1,6})H)?(?:(?P<m>\d{1,6})M)?"
    r"(?:(?P<s>\d{1,9}(?:\.\d{1,9})?)S)?)?"
)
_CLOCK = re.compile(r"(?:(\d{1,4}):)?(\d{1,4}):(\d{2}(?:\.\d{1,9})?)")
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,9})?")
_MADE_ID = re.compile(r".*--[0-9a-f]{16}")


def parse_row(line: bytes | str, address: str) -> VideoMeta:
    """Read one line of JSON; `address` (``file:line``) goes into the result and into every message.

    Raises:
        RowError: not one JSON object, too long, without an id and a URL, or a used field has the wrong type.
    """
    return parse_object(_load(line, address), address)


def parse_object(data: Mapping[str, Any], address: str) -> VideoMeta:
    """Read one row that is already plain JSON data.

    Raises:
        RowError: as `parse_row`.
    """
    row = _Row(_unwrap(data, address), address)
    source_id, url = _identity(row)
    text = row.text("extractor", _MAX_WORD)
    generic = text is not None and text.lower() == "generic"  # whose id is just the name of a file
    return VideoMeta(
        video_id=safe_id(f"{source_id} {url}" if generic else source_id),
        source_id=_clean(source_id)[:_MAX_TITLE],
        url=url,
        row=address,
        title=row.text("title", _MAX_TITLE),
        description=row.text("description", _MAX_DESCRIPTION),
        tags=_tags(row),
        channel=row.word("channel"),
        category=_category(row),
        language=row.word("language"),
        licence=row.word("licence"),
        duration_ns=_duration(row),
        live_status=_live_status(row),
        availability=_availability(row),
        age_limit=_age_limit(row),
        captions=_captions(row),
        chapters=_chapters(row),
    )


def safe_id(source_id: str) -> str:
    """An id that is safe as a file name and a shard key; different ids stay different.

    A safe id stays as it is. Any other gets its readable part and a digest of the whole; so does a safe id
    that looks like one made here, and one of more than `MAX_ID_CHARS`.
    """
    if SAFE_KEY.fullmatch(source_id) and len(source_id) <= MAX_ID_CHARS and not _MADE_ID.fullmatch(source_id):
        return source_id
    digest = hashlib.sha256(source_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    stem = re.sub(r"[^A-Za-z0-9_]+", "-", source_id[:200]).strip("-")[:40].strip("-")
    return f"{stem or 'id'}--{digest}"


# ----------------------------------------------------------------------------------------------- a line


def _load(line: bytes | str, address: str) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise _error(address, "", f"a line of more than {MAX_LINE_BYTES >> 20} MB")
    try:
        text = line.decode("utf-8-sig") if isinstance(line, bytes) else line.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise _error(address, "", f"not UTF-8 at byte {error.start}") from error
    try:
        data = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except RecursionError as error:
        raise _error(address, "", "nested too deeply") from error
    except json.JSONDecodeError as error:
        raise _error(address, "", f"not JSON at character {error.pos}: {error.msg}") from error
    except ValueError as error:
        raise _error(address, "", f"not JSON: {_show(str(error))}") from error
    return _object(data, address)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"field {next(n for n in names if names.count(n) > 1)[:60]!r} stands twice")
    return out


def _object(data: object, address: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise _error(address, "", f"expected an object, found {_show(data)}")
    return data


def _unwrap(data: Mapping[str, Any], address: str) -> Mapping[str, Any]:
    """The row inside a row of ``failures.jsonl``; any other row as it is."""
    for _ in range(8):
        if not ("row" in data and "error" in data and "stage" in data):
            return data
        inner = data["row"]
        data = _load(inner, address) if isinstance(inner, str) else _object(inner, address)
    raise _error(address, "row", "failures inside failures, more than eight deep")


def _show(data: object) -> str:
    if isinstance(data, (dict, list)):
        return f"{'an object' if isinstance(data, dict) else 'a list'} of {len(data)}"
    text = ascii(data[:60]) if isinstance(data, str) else str(data) if isinstance(data, (bool, float)) else repr(data)
    return text if len(text) <= 60 else text[:57] + "..."


def _error(address: str, field: str, message: str) -> RowError:
    place = f"{address}: {field}: " if field else f"{address}: "
    return RowError(place + message, address=address)


def _clean(text: str) -> str:
    """Without control characters, and without lone surrogates, which no file can hold."""
    return _CONTROL.sub(" ", text.encode("utf-8", "replace").decode("utf-8")).strip()


# --------------------------------------------------------------------------------------------- a field


class _Row:
    """A row's data with typed access by field; each error says which of a field's names stood there."""

    def __init__(self, data: Mapping[str, Any], address: str) -> None:
        self.data = data
        self.address = address

    def get(self, field: str) -> tuple[str, Any]:
        """The first of the field's names that has a value, and the value; ("", None) where none has."""
        for name, path in _PATHS[field]:
            value = self._at(path)
            if value is not None and not (field == "id" and isinstance(value, dict)):
                return name, value
        return "", None

    def _at(self, path: tuple[str, ...]) -> Any:
        value: Any = self.data
        for part in path:
            if not isinstance(value, Mapping):  # another dialect's field of that name
                return None
            value = value.get(part)
        return value

    def wrong(self, name: str, wanted: str, found: object) -> RowError:
        return _error(self.address, name, f"expected {wanted}, found {_show(found)}")

    def raw_text(self, field: str) -> str | None:
        """A text as it stands, or a whole number as text."""
        name, value = self.get(field)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**30:
            return str(value)
        if value is None or isinstance(value, str):
            return value if value is None or value.strip() else None
        raise self.wrong(name, "text", value)

    def text(self, field: str, limit: int) -> str | None:
        """A text, cleaned and cut to `limit` characters; None for blank."""
        name, value = self.get(field)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.wrong(name, "text", value)
        return _clean(value[: limit * 2])[:limit] or None

    def word(self, field: str) -> str | None:
        """A short text; None also for a dump's words for nothing."""
        value = self.text(field, _MAX_WORD)
        return None if value is None or value.lower() in _NOTHING else value

    def flag(self, field: str) -> bool | None:
        name, value = self.get(field)
        if isinstance(value, str):
            word = value.strip().lower()
            value = {"true": True, "1": True, "false": False, "0": False}.get(word, None if word in _NOTHING else value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int) and value in (0, 1):
            return value == 1
        raise self.wrong(name, "true or false", value)


# ----------------------------------------------------------------------------------------- id and address


def _identity(row: _Row) -> tuple[str, str]:
    """The row's own id, and where the video is.

    A row with an id and no address that can be made from it gets ``id:...``: it can be filtered, and fetching
    it fails as unsupported.
    """
    url = _url(row)
    source_id = _source_id(row)
    if source_id is None:
        if url is None:
            raise _error(row.address, "id", "missing, and there is no url either")
        return _youtube_id(url) or url, url
    if url is not None and not (url == source_id and _YOUTUBE_ID.fullmatch(url)):
        return source_id, url
    extractor = (row.text("extractor", _MAX_WORD) or "").lower()
    kind = row.data.get("kind")
    named = extractor.startswith("youtube") or (isinstance(kind, str) and kind.startswith("youtube#"))
    bare = re.sub(r"^(yt|youtube):", "", source_id, flags=re.IGNORECASE)
    if _YOUTUBE_ID.fullmatch(bare) and (named or bare != source_id or not extractor):
        return source_id, _YOUTUBE_WATCH + bare
    if extractor == "vimeo" and source_id.isascii() and source_id.isdigit():
        return source_id, f"https://vimeo.com/{source_id}"
    return source_id, f"id:{quote(source_id.encode('utf-8', 'replace'), safe='')}"[:_MAX_URL]


def _source_id(row: _Row) -> str | None:
    if row.data.get("kind") == "youtube#playlistItem":  # whose own id is the entry's, not the video's
        value = row._at(tuple(_PLAYLIST_ITEM_ID.split(".")))
        if not isinstance(value, str):
            raise row.wrong(_PLAYLIST_ITEM_ID, "text", value)
        return value
    return row.raw_text("id")


def _url(row: _Row) -> str | None:
    name, value = row.get("url")
    if value is None:
        return None
    if not isinstance(value, str):
        raise row.wrong(name, "text", value)
    url = value.strip()
    if url.lower() in _NOTHING:
        return None
    if len(url) > _MAX_URL:
        raise _error(row.address, name, f"more than {_MAX_URL} characters")
    if _CONTROL.search(url) or any(0xD800 <= ord(c) < 0xE000 for c in url) or "\n" in url or "\t" in url:
        raise _error(row.address, name, f"holds control characters: {_show(url)}")
    if url.startswith(("/watch?v=", "watch?v=")):
        return "https://www.youtube.com/" + url.lstrip("/")
    return url


def _youtube_id(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:  # such as "http://[": fetching will say so
        return None
    if host == "youtu.be":
        found = parts.path.lstrip("/")
    elif host in _YOUTUBE_HOSTS:
        first, _, rest = parts.path.lstrip("/").partition("/")
        query = parse_qs(parts.query[:2000]).get("v", [""])
        found = query[0] if first == "watch" else rest if first in ("shorts", "embed", "live") else ""
    else:
        return None
    return found if _YOUTUBE_ID.fullmatch(found) else None


# ------------------------------------------------------------------------------------- the other fields


def _tags(row: _Row) -> tuple[str, ...] | None:
    name, value = row.get("tags")
    if value is None:
        return None
    if isinstance(value, str):
        if value.strip().lower() in _NOTHING or value.strip().lower() == "[none]":
            return None
        value = [part.strip(" \"'[]") for part in re.split(r"[|,]", value[:_MAX_DESCRIPTION])]
    if not isinstance(value, (list, tuple)):
        raise row.wrong(name, "a list of texts or one text", value)
    for part in value:
        if not isinstance(part, str):
            raise row.wrong(name, "a list of texts", part)
    return tuple(tag for part in value[:_MAX_TAGS] if (tag := _clean(part[:_MAX_WORD])))


def _category(row: _Row) -> str | None:
    name, value = row.get("category")
    if isinstance(value, (list, tuple)):
        value = value[0] if value else None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if 0 <= value < 1000 else None
    if value is None:
        return None
    if not isinstance(value, str):
        raise row.wrong(name, "text", value)
    word = _clean(value[:_MAX_WORD])
    return None if word.lower() in _NOTHING else _CATEGORIES.get(word, word)


def _duration(row: _Row) -> int | None:
    """Nanoseconds. Zero is None: services write it where they do not know (a stream that has not begun)."""
    name, value = row.get("duration")
    if isinstance(value, str):
        word = value.strip()
        if word.lower() in _NOTHING:
            return None
        return _duration_text(word, name, row) or None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise row.wrong(name, "a number of seconds, h:mm:ss or an ISO 8601 duration", value)
    return _seconds(value, name, row) or None


def _seconds(value: float | int | str, name: str, row: _Row) -> int:
    try:
        ns = ns_from_s(value)
    except ValueError as error:
        raise _error(row.address, name, f"not a duration: {_show(value)}") from error
    if ns < 0:
        raise row.wrong(name, "a time that is not negative", value)
    return ns


def _duration_text(word: str, name: str, row: _Row) -> int:
    if _NUMBER.fullmatch(word):
        return _seconds(word, name, row)
    if match := _CLOCK.fullmatch(word):
        hours, minutes, seconds = match.groups()
        return (int(hours or 0) * 3600 + int(minutes) * 60) * NS_PER_S + _seconds(seconds, name, row)
    if len(word) > 1 and (match := _ISO_DURATION.fullmatch(word)) and not word.endswith("T"):
        whole = sum(int(match[k] or 0) * s for k, s in (("w", 604_800), ("d", 86_400), ("h", 3600), ("m", 60)))
        return _seconds(whole, name, row) + _seconds(match["s"] or 0, name, row)
    raise row.wrong(name, "a number of seconds, h:mm:ss or an ISO 8601 duration", word)


def _live_status(row: _Row) -> str | None:
    word = row.word("live")
    if word is None and row.get("live")[1] == "none":  # the API's word for "not a broadcast"
        word = "none"
    if word is not None:
        return _LIVE_WORDS.get(word.lower(), word.lower())
    if row.flag("is_live"):
        return "is_live"
    if row.flag("was_live"):
        return "was_live"
    return None


def _availability(row: _Row) -> str | None:
    upload = row.word("upload")
    if upload is not None and upload.lower() in _LOST_UPLOADS:
        return "removed"
    word = row.word("availability")
    return None if word is None else word.lower()


def _age_limit(row: _Row) -> int | None:
    name, value = row.get("age_limit")
    if value is None:
        return 18 if row.word("yt_rating") == "ytAgeRestricted" else None
    if isinstance(value, str):
        if value.strip().lower() in _NOTHING:
            return None
        if re.fullmatch(r"[0-9]{1,3}", value.strip()):
            value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 150:
        raise row.wrong(name, "an age in years", value)
    return value


def _captions(row: _Row) -> tuple[Captions, ...] | None:
    manual, automatic = row.get("subtitles")[1], row.get("automatic_captions")[1]
    if manual is None and automatic is None:
        return None
    tracks = [*_tracks(row, "subtitles", manual), *_tracks(row, "automatic_captions", automatic)]
    return tuple(tracks[:_MAX_CAPTIONS])


def _tracks(row: _Row, name: str, value: object) -> Iterable[Captions]:
    """One track a language. Of automatic captions only those of the spoken language, not their translations."""
    if value is None:
        return
    if not isinstance(value, dict):
        raise row.wrong(name, "an object of languages", value)
    for language, files in value.items():
        if not isinstance(files, list):
            raise row.wrong(f"{name}.{_show(language)}", "a list of files", files)
        url = _caption_url(row, f"{name}.{_show(language)}", files)
        if url is None or language == "live_chat":
            continue
        automatic = name == "automatic_captions"
        if not (automatic and "tlang=" in url):
            word = _clean(language[:_MAX_WORD]).removesuffix("-orig") or None
            yield Captions(url=url, language=word, automatic=automatic)


def _caption_url(row: _Row, name: str, files: list[Any]) -> str | None:
    """The WebVTT file of a language, else the SRT one, else one that does not say what it is."""
    found: dict[str, str] = {}
    for file in files:
        if not isinstance(file, dict):
            raise row.wrong(name, "a list of objects", file)
        url, kind = file.get("url"), file.get("ext")
        if url is None:
            continue
        if not isinstance(url, str) or not (kind is None or isinstance(kind, str)):
            raise row.wrong(name, "a url and an ext of text", url if not isinstance(url, str) else kind)
        if url.strip() and len(url) <= _MAX_URL and _clean(url) == url:
            found.setdefault(kind or "", url)
    return found.get("vtt") or found.get("srt") or found.get("")


def _chapters(row: _Row) -> tuple[Chapter, ...] | None:
    """Chapters with a name; one without an end lasts to the next, or to the end of the video."""
    name, value = row.get("chapters")
    if value is None:
        return None
    if not isinstance(value, list):
        raise row.wrong(name, "a list of chapters", value)
    starts: list[tuple[int, int | None, str | None]] = []
    for number, part in enumerate(value[:_MAX_CHAPTERS]):
        place = f"{name}[{number}]"
        if not isinstance(part, dict):
            raise row.wrong(place, "an object", part)
        title = part.get("title")
        if title is not None and not isinstance(title, str):
            raise row.wrong(f"{place}.title", "text", title)
        start = _chapter_time(row, f"{place}.start_time", part.get("start_time"))
        end = _chapter_time(row, f"{place}.end_time", part.get("end_time"))
        starts.append((0 if start is None else start, end, _clean((title or "")[:_MAX_TITLE]) or None))
    out = []
    for number, (start, end, text) in enumerate(starts):
        if end is None:
            end = starts[number + 1][0] if number + 1 < len(starts) else _duration(row)
        if text is not None and end is not None and end > start:
            out.append(Chapter(title=text, start_ns=start, end_ns=end))
    return tuple(out)


def _chapter_time(row: _Row, place: str, value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise row.wrong(place, "a number of seconds", value)
    return _seconds(value, place, row)
