"""Frozen dataclasses to JSON values and back, strictly: unknown keys, wrong types, non-finite numbers are refused."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from enum import Enum
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")
MAX_DEPTH = 32
_PLAIN = (str, int, bool)


class CodecError(ValueError):
    """A value does not fit; the message names the place."""


def to_json(value: Any) -> Any:
    """A JSON value (dict, list, str, number, bool, None) for a record."""
    if value is None or type(value) in _PLAIN:
        return value  # most of a document, so asked first
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: to_json(getattr(value, name)) for name in _hints(type(value))}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def from_json(kind: type[T], value: Any, where: str = "") -> T:
    """A record of `kind` from a JSON value; raises CodecError naming where it does not fit."""
    return typing.cast(T, _decode(kind, value, where or kind.__name__, 0))


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {f.name: hints[f.name] for f in dataclasses.fields(kind)}


def _decode(kind: Any, value: Any, where: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise CodecError(f"{where}: nested too deeply")
    if kind is Any:
        return value
    origin = typing.get_origin(kind)
    if origin is types.UnionType or origin is typing.Union:
        return _decode_optional(kind, value, where, depth)
    if origin is typing.Literal:
        if value not in typing.get_args(kind) or isinstance(value, (list, dict)):
            raise CodecError(f"{where}: expected one of {', '.join(map(str, typing.get_args(kind)))}")
        return value
    if origin is tuple:
        if not isinstance(value, list):
            raise CodecError(f"{where}: expected a list, got {_name(value)}")
        item = typing.get_args(kind)[0]
        return tuple(_decode(item, v, f"{where}[{i}]", depth + 1) for i, v in enumerate(value))
    if origin is dict:
        if not isinstance(value, dict):
            raise CodecError(f"{where}: expected an object, got {_name(value)}")
        item = typing.get_args(kind)[1]
        return {str(k): _decode(item, v, f"{where}.{k}", depth + 1) for k, v in value.items()}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _decode_record(kind, value, where, depth)
    return _decode_scalar(kind, value, where)


def _decode_optional(kind: Any, value: Any, where: str, depth: int) -> Any:
    choices = [k for k in typing.get_args(kind) if k is not type(None)]
    if value is None and len(choices) < len(typing.get_args(kind)):
        return None
    return _decode(choices[0], value, where, depth)


def _decode_record(kind: type, value: Any, where: str, depth: int) -> Any:
    if not isinstance(value, dict):
        raise CodecError(f"{where}: expected an object, got {_name(value)}")
    hints = _hints(kind)
    for key in value:
        if key not in hints:
            raise CodecError(f"{where}: unknown key {str(key)[:60]!r}")
    given = {n: _decode(h, value[n], f"{where}.{n}", depth + 1) for n, h in hints.items() if n in value}
    for f in dataclasses.fields(kind):
        has_default = f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING
        if f.name not in given and not has_default:
            raise CodecError(f"{where}: {f.name} is missing")
    return kind(**given)


def _decode_scalar(kind: Any, value: Any, where: str) -> Any:
    if isinstance(kind, type) and issubclass(kind, Enum):
        try:
            return kind(value)
        except ValueError:
            words = ", ".join(str(m.value) for m in kind)
            raise CodecError(f"{where}: expected one of {words}, got {str(value)[:60]!r}") from None
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            raise CodecError(f"{where}: the number is too large") from None
        if not math.isfinite(number):
            raise CodecError(f"{where}: expected a finite number")
        return number
    if kind is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind in (str, bool) and isinstance(value, kind):
        return value
    raise CodecError(f"{where}: expected {getattr(kind, '__name__', kind)}, got {_name(value)}")


def _name(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__
