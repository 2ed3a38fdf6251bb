"""Converts frozen dataclasses to JSON values and back; wrong types, non-finite numbers and unknown keys are refused.

Only documents and databases, which a later linkladder of the same schema may have written, are read with `extra`, which
ignores unknown keys.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import cache, partial
from typing import Any, TypeVar

T = TypeVar("T")
_PLAIN = (str, int, bool)
_AS_IT_IS = frozenset((*_PLAIN, type(None)))
_NUMBERS = (int, float)
MOST = 1 << 64  # integers from here on are refused


class CodecError(ValueError):
    """A value does not fit; the message names the place."""


def to_json(value: Any) -> Any:
    """The JSON value (dict, list, str, number, bool, None) of a record."""
    kind: Any = type(value)
    if kind in _AS_IT_IS:
        return value  # checked first, as most values of a document are such
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is tuple or kind is list:
        return [to_json(v) for v in value]
    if (names := _names(kind)) is not None:
        made: dict[str, Any] = {}
        for name in names:
            part = getattr(value, name)
            made[name] = part if type(part) in _AS_IT_IS else to_json(part)
        return made
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def text(value: Any) -> str:
    """The JSON text, in one line, of a value with records; the same as of `to_json`, but without building its dicts."""
    try:
        return _ENCODER.encode(value)
    except ValueError:  # such as NaN, which JSON does not have
        return _ENCODER.encode(to_json(value))


def _shallow(value: Any) -> Any:
    """One record as a dictionary whose values are not converted."""
    kind: Any = type(value)
    if (names := _names(kind)) is not None:
        return {name: getattr(value, name) for name in names}
    return to_json(value)


_ENCODER = json.JSONEncoder(default=_shallow, allow_nan=False, separators=(",", ":"))  # once, as lines come each second


@cache
def _names(kind: Any) -> tuple[str, ...] | None:
    """The names of a record's fields; None if the type is not a record."""
    return tuple(f.name for f in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None


def pieces(record: Any) -> Iterator[str]:
    """Yield a record as indented JSON text; a part with plain values only, such as a second, is one line.

    It is yielded in pieces, as the seconds of a week are 200 MB of text, and their JSON values would take gigabytes.
    """
    yield from _pieces(record, "\n")
    yield "\n"


def _pieces(value: Any, line: str) -> Iterator[str]:
    """Yield the text of a value; `line` is a line break with the indentation of the value."""
    names: Iterable[Any] = ()
    parts: Iterable[Any] = ()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = _hints(type(value))
        parts = [getattr(value, name) for name in names]
    elif isinstance(value, dict):
        names, parts = value, value.values()
    elif isinstance(value, (list, tuple)):
        parts = value
    if not any(isinstance(part, (dict, list, tuple)) or dataclasses.is_dataclass(part) for part in parts):
        yield json.dumps(to_json(value))
        return
    heads = [f"{json.dumps(str(name))}: " for name in names]
    opens, closes = "{}" if heads else "[]"
    for number, part in enumerate(parts):
        yield f"{',' if number else opens}{line} {heads[number] if heads else ''}"
        yield from _pieces(part, f"{line} ")
    yield f"{line}{closes}"


def from_json(kind: type[T], value: Any, where: str = "", extra: bool = False) -> T:
    """A record of `kind` from a JSON value; raises CodecError that names the place where it does not fit."""
    known: Any = kind
    return typing.cast(T, _decoder(known, extra)(value, (None, where or kind.__name__)))


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {f.name: hints[f.name] for f in dataclasses.fields(kind)}


# A place is the place around it and the last step to it; it is put into words only for an error.
_Place = tuple[Any, str]
_Decoder = Callable[[Any, _Place], Any]


def _wrong(place: _Place, what: str) -> CodecError:
    steps: list[str] = []
    around: Any = place
    while around:
        around, step = around
        steps.append(step)
    return CodecError(f"{''.join(reversed(steps))}: {what}")


@cache
def _decoder(kind: Any, extra: bool) -> _Decoder:
    """The decoder of this type, built only once, as a document has thousands of records of the same few types."""
    if kind is Any:
        return lambda value, place: value
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType or origin is typing.Union:
        return _optional(args, extra)
    if origin is typing.Literal:
        return _literal(args)
    if origin is tuple:
        return _tuple(_decoder(args[0], extra))
    if origin is dict:
        return _dict(_decoder(args[1], extra))
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _record(kind, extra)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum(kind)
    return {float: _float, int: _int, str: _text, bool: _bool}.get(kind, _never(kind))


def _optional(args: tuple[Any, ...], extra: bool) -> _Decoder:
    inner = _decoder(next(k for k in args if k is not type(None)), extra)
    if type(None) not in args:
        return inner
    return lambda value, place: None if value is None else inner(value, place)


def _literal(args: tuple[Any, ...]) -> _Decoder:
    def decode(value: Any, place: _Place) -> Any:
        if isinstance(value, (list, dict)) or value not in args:
            raise _wrong(place, f"expected one of {', '.join(map(str, args))}")
        return value

    return decode


def _tuple(inner: _Decoder) -> _Decoder:
    def decode(value: Any, place: _Place) -> Any:
        if not isinstance(value, list):
            raise _wrong(place, f"expected a list, got {_name(value)}")
        return tuple([inner(v, (place, f"[{i}]")) for i, v in enumerate(value)])

    return decode


def _dict(inner: _Decoder) -> _Decoder:
    def decode(value: Any, place: _Place) -> Any:
        if not isinstance(value, dict):
            raise _wrong(place, f"expected an object, got {_name(value)}")
        return {str(k): inner(v, (place, f".{k}")) for k, v in value.items()}

    return decode


def _record(kind: type, extra: bool) -> _Decoder:
    fields = [(name, _as_they_are(hint), _decoder(hint, extra), f".{name}") for name, hint in _hints(kind).items()]
    defaults, make = _defaults(kind), _maker(kind)
    absent = dataclasses.MISSING

    def decode(value: Any, place: _Place) -> Any:
        if not isinstance(value, dict):
            if type(value) is kind:
                return value  # already decoded
            raise _wrong(place, f"expected an object, got {_name(value)}")
        parts = []
        unread = len(value)
        missing = ""
        for name, as_it_is, inner, step in fields:
            part = value.get(name, absent)
            found = type(part)
            if found in as_it_is and (found not in _NUMBERS or -MOST < part < MOST):
                parts.append(part)  # as most values of a document are such, they cost no call and no place
            elif part is not absent:
                parts.append(inner(part, (place, step)))
            else:
                unread += 1
                if name in defaults:
                    parts.append(defaults[name]())
                else:
                    missing = missing or name
            unread -= 1
        if unread and not extra:
            names = [name for name, *_ in fields]
            raise _wrong(place, f"unknown key {str(next(key for key in value if key not in names))[:60]!r}")
        if missing:
            raise _wrong(place, f"{missing} is missing")
        return make(parts)

    return decode


def _defaults(kind: type) -> dict[str, Callable[[], Any]]:
    """For each field with a default, a function that makes its value."""
    made: dict[str, Callable[[], Any]] = {}
    for field in dataclasses.fields(kind):
        if field.default is not dataclasses.MISSING:
            made[field.name] = partial(_same, field.default)
        elif field.default_factory is not dataclasses.MISSING:
            made[field.name] = field.default_factory
    return made


def _same(value: Any) -> Any:
    return value


def _maker(kind: type) -> Callable[[list[Any]], Any]:
    """A function that makes a record from the checked values of its fields without calling __init__, which sets the
    fields of a frozen record one by one and costs twice as much as all the rest."""
    names = tuple(f.name for f in dataclasses.fields(kind))
    own = set(vars(kind).get("__slots__", ())) == set(names)
    if hasattr(kind, "__post_init__") or (hasattr(kind, "__slots__") and not own):
        return lambda parts: kind(**dict(zip(names, parts, strict=True)))
    new = object.__new__
    if own:
        slots = [getattr(kind, name).__set__ for name in names]

        def fill(parts: list[Any]) -> Any:
            made: Any = new(kind)
            for put, part in zip(slots, parts, strict=True):
                put(made, part)
            return made

        return fill

    def make(parts: list[Any]) -> Any:
        made: Any = new(kind)
        made.__dict__.update(zip(names, parts, strict=True))
        return made

    return make


def _as_they_are(hint: Any) -> tuple[type, ...]:
    """The types of this hint whose JSON values need no decoding."""
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    return tuple(kind for kind in kinds if kind is float or kind in _AS_IT_IS)


def _enum(kind: type[Enum]) -> _Decoder:
    words = ", ".join(str(m.value) for m in kind)
    members = {m.value: m for m in kind if type(m.value) is str}

    def decode(value: Any, place: _Place) -> Any:
        if type(value) is str and value in members:
            return members[value]
        try:
            return kind(value)
        except ValueError:
            raise _wrong(place, f"expected one of {words}, got {str(value)[:60]!r}") from None

    return decode


def _float(value: Any, place: _Place) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            raise _wrong(place, "the number is too large") from None
        if not math.isfinite(number):
            raise _wrong(place, "expected a finite number")
        return number
    raise _wrong(place, f"expected float, got {_name(value)}")


def _int(value: Any, place: _Place) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) >= MOST:
            raise _wrong(place, "the number is too large")  # for anything that is counted here
        return value
    raise _wrong(place, f"expected int, got {_name(value)}")


def _text(value: Any, place: _Place) -> str:
    if isinstance(value, str):
        return value
    raise _wrong(place, f"expected str, got {_name(value)}")


def _bool(value: Any, place: _Place) -> bool:
    if isinstance(value, bool):
        return value
    raise _wrong(place, f"expected bool, got {_name(value)}")


def _never(kind: Any) -> _Decoder:
    def decode(value: Any, place: _Place) -> Any:
        raise _wrong(place, f"expected {getattr(kind, '__name__', kind)}, got {_name(value)}")

    return decode


def _name(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__
