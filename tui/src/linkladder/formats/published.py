"""Makes the published JSON Schema of a run's document from the records themselves, so that they always agree.

`python -m linkladder.formats.published >docs/document.schema.json` writes it again.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from enum import Enum
from typing import Any

from linkladder.model import SCHEMA, Document

_PLAIN = {str: {"type": "string"}, int: {"type": "integer"}, float: {"type": "number"}, bool: {"type": "boolean"}}


def document_schema() -> dict[str, Any]:
    """The schema of a run's document, in JSON Schema draft 2020-12."""
    definitions: dict[str, Any] = {}
    top = _schema(Document, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A run's document ({SCHEMA})",
        **top,
        "$defs": dict(sorted(definitions.items())),
    }


def _schema(kind: Any, found: dict[str, Any]) -> dict[str, Any]:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return {}
    if origin in (types.UnionType, typing.Union):
        options = [_schema(a, found) for a in args if a is not type(None)]
        return {"anyOf": [*options, {"type": "null"}]}
    if origin is typing.Literal:
        return {"enum": list(args)}
    if origin is tuple:
        return {"type": "array", "items": _schema(args[0], found)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(args[1], found)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        if "_missing_" in vars(kind):  # values may be added without a new form
            return {"type": "string"}
        return {"enum": [m.value for m in kind]}
    if dataclasses.is_dataclass(kind):
        return _record(typing.cast(type, kind), found)
    return dict(_PLAIN[kind])


def _record(kind: type, found: dict[str, Any]) -> dict[str, Any]:
    name = kind.__name__
    if name not in found:
        found[name] = {}  # reserves the name before recursion
        hints = typing.get_type_hints(kind)
        required = [
            f.name
            for f in dataclasses.fields(kind)
            if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        ]
        found[name] = {
            "type": "object",
            "description": (kind.__doc__ or name).strip().split("\n")[0],
            "properties": {f.name: _schema(hints[f.name], found) for f in dataclasses.fields(kind)},
            "required": required,
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}


if __name__ == "__main__":
    print(json.dumps(document_schema(), indent=1))
