"""Values to JSON and back, and the JSON Schema of a value type: one table of rules for all three.

The rules, applied to standard-library dataclasses:

- a field ``start_ns: int`` is ``start_s`` in JSON, a number of seconds that holds every nanosecond;
- ``None`` is written as ``null``; a field with a default may be absent when read;
- a union of classes that have a ``kind`` is an object whose ``kind`` names the class;
- unknown fields, unknown kinds, wrong types and non-finite numbers are refused with their place.

Nothing is coerced: ``"3"`` is not 3, ``1.0`` is not an int, ``true`` is not a number.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from video2gui.errors import SchemaError
from video2gui.timebase import MAX_NS, ns_from_s, s_from_ns

T = TypeVar("T")
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def to_json(value: object) -> Any:
    """A dataclass, tuple, mapping or scalar as plain JSON data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        out: dict[str, Any] = {}
        if (kind := _kind(type(value))) is not None:
            out["kind"] = kind
        for field in _fields(type(value)):
            part = getattr(value, field.name)
            out[field.key] = s_from_ns(part) if field.is_time and part is not None else to_json(part)
        return out
    if isinstance(value, (tuple, list)):
        return [to_json(part) for part in value]
    if isinstance(value, Mapping):
        return {str(key): to_json(part) for key, part in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{type(value).__name__} has no JSON form")


def dumps(value: object) -> str:
    """One line of JSON, the same bytes for the same value: keys in field order, no spaces, UTF-8 kept."""
    return json.dumps(to_json(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def loads(kind: type[T], text: str | bytes) -> T:
    """Read one JSON text as a value of `kind`.

    Raises:
        SchemaError: not JSON, or not a `kind`; `address` is the place.
    """
    try:
        data = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"not JSON: {error}") from error
    return from_json(kind, data)


def from_json(kind: type[T], data: object, *, place: str = "") -> T:
    """Read plain JSON data as a value of `kind`.

    Raises:
        SchemaError: it does not fit; the message and `address` name the place.
    """
    return typing.cast(T, _read(kind, data, place))


def json_schema(kind: type, *, name: str, title: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of `kind`; what it accepts is what `from_json` accepts by shape."""
    defs: dict[str, Any] = {}
    body = _schema_of(kind, defs)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:video2gui:{name}",
        "title": title,
        **body,
        "$defs": dict(sorted(defs.items())),
    }


# ---------------------------------------------------------------------------------------------- fields


@dataclasses.dataclass(frozen=True, slots=True)
class _Field:
    name: str
    key: str
    type: Any
    is_time: bool
    required: bool


@functools.cache
def _fields(kind: type) -> tuple[_Field, ...]:
    hints = typing.get_type_hints(kind)
    out = []
    for field in dataclasses.fields(kind):
        is_time = field.name.endswith("_ns")
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        key = field.name[:-3] + "_s" if is_time else field.name
        out.append(_Field(field.name, key, hints[field.name], is_time, required))
    return tuple(out)


def _kind(kind: type) -> str | None:
    value = getattr(kind, "kind", None)
    return value if isinstance(value, str) else None


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")


def _no_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"field {key!r} stands twice")
            seen.add(key)
    return out


# ------------------------------------------------------------------------------------------------ read


def _fail(place: str, message: str) -> SchemaError:
    return SchemaError(f"{place or 'the value'}: {message}", address=place)


def _nearest(word: str, known: Iterable[str]) -> str:
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(names)}"


def _show(data: object) -> str:
    text = repr(data)
    return text if len(text) <= 60 else text[:57] + "..."


def _read(kind: Any, data: object, place: str) -> object:
    origin = get_origin(kind)
    if kind is Any:
        return data
    if origin in (Union, types.UnionType):
        return _read_union(get_args(kind), data, place)
    if origin is Literal:
        options = get_args(kind)
        if not any(data == option and type(data) is type(option) for option in options):
            hint = _nearest(data, [str(o) for o in options]) if isinstance(data, str) else ""
            raise _fail(place, f"{_show(data)} is not one of the allowed words{hint}")
        return data
    if origin is tuple:
        return _read_tuple(get_args(kind), data, place)
    if origin is dict:
        if not isinstance(data, dict):
            raise _fail(place, f"expected an object, found {_show(data)}")
        return {key: _read(get_args(kind)[1], part, f"{place}.{key}") for key, part in data.items()}
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(typing.cast(type, kind), data, place)
    return _read_scalar(kind, data, place)


def _read_scalar(kind: Any, data: object, place: str) -> object:
    if kind is float and isinstance(data, (int, float)) and not isinstance(data, bool):
        number = float(data) if abs(data) < 1e308 else math.inf
        if math.isfinite(number):
            return number
    elif kind is type(None):
        if data is None:
            return None
    elif isinstance(kind, type) and type(data) is kind:
        return data
    wanted = {str: "text", int: "a whole number", float: "a finite number", bool: "true or false"}
    raise _fail(place, f"expected {wanted.get(kind, getattr(kind, '__name__', 'null'))}, found {_show(data)}")


def _read_union(options: tuple[Any, ...], data: object, place: str) -> object:
    if data is None and type(None) in options:
        return None
    rest = [option for option in options if option is not type(None)]
    if len(rest) == 1:
        return _read(rest[0], data, place)
    if not isinstance(data, dict):
        raise _fail(place, f"expected an object with a kind, found {_show(data)}")
    by_kind = {_kind(option): option for option in rest}
    word = data.get("kind")
    if word not in by_kind:
        shown = _nearest(word, [k for k in by_kind if k]) if isinstance(word, str) else ""
        raise _fail(f"{place}.kind" if place else "kind", f"unknown kind {_show(word)}{shown}")
    return _read(by_kind[word], data, place)


def _read_tuple(args: tuple[Any, ...], data: object, place: str) -> tuple[object, ...]:
    if not isinstance(data, (list, tuple)):
        raise _fail(place, f"expected a list, found {_show(data)}")
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(_read(args[0], part, f"{place}[{i}]") for i, part in enumerate(data))
    if len(data) != len(args):
        raise _fail(place, f"expected {len(args)} entries, found {len(data)}")
    return tuple(_read(args[i], part, f"{place}[{i}]") for i, part in enumerate(data))


def _read_dataclass(kind: type, data: object, place: str) -> object:
    if not isinstance(data, dict):
        raise _fail(place, f"expected an object, found {_show(data)}")
    tag = _kind(kind)
    known = {field.key: field for field in _fields(kind)}
    values: dict[str, object] = {}
    dot = f"{place}." if place else ""
    for key, part in data.items():
        if key == "kind" and tag is not None:
            if part != tag:
                raise _fail(f"{dot}kind", f"expected {tag!r}, found {_show(part)}")
        elif key not in known:
            raise _fail(f"{dot}{key}", f"unknown field{_nearest(str(key), known)}")
        else:
            field = known[key]
            values[field.name] = (
                _read_time(field.type, part, f"{dot}{key}") if field.is_time else _read(field.type, part, f"{dot}{key}")
            )
    if tag is not None and "kind" not in data:
        raise _fail(f"{dot}kind", "missing")
    for field in known.values():
        if field.required and field.name not in values:
            raise _fail(f"{dot}{field.key}", "missing")
    try:
        return kind(**values)
    except ValueError as error:
        raise _fail(place, str(error)) from error


def _read_time(kind: Any, data: object, place: str) -> int | None:
    if data is None and type(None) in get_args(kind):
        return None
    if isinstance(data, bool) or not isinstance(data, (int, float)):
        raise _fail(place, f"expected a number of seconds, found {_show(data)}")
    try:
        return ns_from_s(data)
    except ValueError as error:
        raise _fail(place, str(error)) from error


# ---------------------------------------------------------------------------------------------- schema


def _schema_of(kind: Any, defs: dict[str, Any]) -> dict[str, Any]:
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return {}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema_of(option, defs) for option in args]}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return {"type": "array", "items": _schema_of(args[0], defs)}
    if origin is tuple:
        entries = [_schema_of(arg, defs) for arg in args]
        return {"type": "array", "prefixItems": entries, "minItems": len(args), "maxItems": len(args)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema_of(args[1], defs)}
    if dataclasses.is_dataclass(kind):
        name = typing.cast(type, kind).__name__
        if name not in defs:
            defs[name] = {}  # a place holder, so that a type may hold itself
            defs[name] = _schema_of_dataclass(typing.cast(type, kind), defs)
        return {"$ref": f"#/$defs/{name}"}
    return {"type": {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}[kind]}


def _schema_of_dataclass(kind: type, defs: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    if (tag := _kind(kind)) is not None:
        properties["kind"] = {"const": tag}
        required.append("kind")
    for field in _fields(kind):
        if field.is_time:
            limit = s_from_ns(MAX_NS)
            seconds: dict[str, Any] = {"type": "number", "minimum": -limit, "maximum": limit}
            optional = type(None) in get_args(field.type)
            properties[field.key] = {"anyOf": [seconds, {"type": "null"}]} if optional else seconds
        else:
            properties[field.key] = _schema_of(field.type, defs)
        if field.required:
            required.append(field.key)
    out: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    out["additionalProperties"] = False
    if kind.__doc__:
        out["description"] = " ".join(kind.__doc__.split("\n\n")[0].split())
    refine: Callable[[dict[str, Any]], None] | None = getattr(kind, "__json_schema__", None)
    if refine is not None:
        refine(out)
    return out
