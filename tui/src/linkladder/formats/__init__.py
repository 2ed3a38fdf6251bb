"""Reads the published forms of data that later versions must read: documents, and the records of a run in a database.

Each form has a name, `schema` ("linkladder/1"), and stays readable: data in an older form is converted as JSON to the
present form, by one pure step for each version, and only then made into records. A key that a later linkladder of the
same schema has added is ignored; an unknown schema is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from linkladder.codec import CodecError, from_json
from linkladder.errors import EnvironmentFault
from linkladder.model import SCHEMA, Document

T = TypeVar("T")
Step = Callable[[type[Any], Any], Any]  # (kind of record, JSON in one form) -> JSON in the next form


# Imported late, as hardly anything that is read is so old.
def _from_1(kind: type[Any], value: Any) -> Any:
    from linkladder.formats import v1

    return v1.upgrade(kind, value)


def _from_2(kind: type[Any], value: Any) -> Any:
    from linkladder.formats import v2

    return v2.upgrade(kind, value)


STEPS: dict[str, Step] = {  # schema -> the step that converts it to the next schema
    "linkladder/1": _from_1,
    "linkladder/2": _from_2,
}


class NewerSchema(EnvironmentFault):
    """The data is in a form that only a newer linkladder knows."""

    def __init__(self, schema: str) -> None:
        known = ", ".join((*STEPS, SCHEMA))
        super().__init__(
            f"this was written by a newer linkladder, in the form {schema}",
            f"this linkladder reads {known}",
            "update linkladder, or read it with the linkladder that wrote it",
        )


def document(value: Any) -> Document:
    """A run's document from JSON of any published form; raises CodecError, or NewerSchema if the form is newer."""
    if not isinstance(value, dict):
        raise CodecError("Document: expected an object")
    return record(Document, value, value.get("schema"))


def record(kind: type[T], value: Any, schema: Any) -> T:
    """A document, or a part of one as a database stores it, from JSON in the form `schema`."""
    version = _version(schema)
    for name, step in STEPS.items():
        if version <= _version(name):
            value = step(kind, value)
    return from_json(kind, value, extra=True)


def _version(schema: Any) -> int:
    """The number of a known form; raises NewerSchema or CodecError for others."""
    if schema in (SCHEMA, *STEPS):
        return int(schema.partition("/")[2])
    if isinstance(schema, str) and (later := re.fullmatch(r"linkladder/([1-9][0-9]{0,3})", schema)):
        raise NewerSchema(later[0])
    raise CodecError(f"Document.schema: expected {SCHEMA}, got {str(schema)[:60]!r}")
