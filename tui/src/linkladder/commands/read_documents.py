"""A document by name: from a JSON file, from a report, or from the store; what cannot be judged is refused here."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from linkladder import formats, state
from linkladder.codec import CodecError
from linkladder.errors import EnvironmentFault, UsageError
from linkladder.judge import flaws
from linkladder.laid_on_disk import Shelf, shelved
from linkladder.model import SCHEMA, Document, TrialResult
from linkladder.printable import one_line
from linkladder.store import Store

LARGE = 32 << 20  # characters; below, a day's seconds are at hand and take 150 MB
OF_A_TRIAL = {"id", "repeat", "legs", "ends"}  # keys that no other record has together


def read_document(name: str) -> Document:
    """A file's where there is such a file or the name looks like one, else a stored run's."""
    path = Path(name)
    if not is_file(name):
        return Store(state.folder()).load(name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EnvironmentFault(f"{name} cannot be read", str(error)) from None
    try:
        page = text.lstrip().startswith("<")
        document = _embedded(text) if page else _of_json(text)
    except (json.JSONDecodeError, CodecError, ValueError, RecursionError) as error:
        raise UsageError(f"{name} is no linkladder document", one_line(str(error)[:200])) from None
    if found := flaws(document):
        more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
        raise UsageError(f"{name} cannot be judged", one_line(f"{'; '.join(found[:3])}{more}"))
    return document


def _embedded(page: str) -> Document:
    from linkladder.report import page_data  # late: only a page has anything embedded

    return page_data.document(page, formats.document, partial(formats.record, TrialResult), **STRICT)[1]


def _of_json(text: str) -> Document:
    """A document whose trials become records one by one: their JSON values all at once would take a week's memory."""
    shelf = Shelf() if len(text) > LARGE else None

    def as_record(pairs: list[tuple[str, Any]]) -> Any:
        made = _once(pairs)
        if not made.keys() >= OF_A_TRIAL:
            return made
        try:
            trial = formats.record(TrialResult, made, SCHEMA)
        except CodecError:
            return made  # what holds it says where it stands
        return shelved(trial, shelf) if shelf else trial

    value = json.loads(text, **STRICT | {"object_pairs_hook": as_record})
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:  # a trial of another form is another record
        value = json.loads(text, **STRICT)
    return formats.document(value)


def is_file(name: str) -> bool:
    """Whether a name is a file's rather than a stored run's."""
    # isfile is False where the folder may not be looked into; is_file would raise.
    return Path(name).suffix in (".json", ".html") or "/" in name or os.path.isfile(name)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a key that is there twice another reader takes the other value."""
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {twice[:40]!r} is there twice in one record")
    return made


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is no number to judge by")
    return value


STRICT: dict[str, Any] = {"parse_float": _finite, "parse_constant": _finite, "object_pairs_hook": _once}
