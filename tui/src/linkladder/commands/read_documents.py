"""Reads a document by name, from a JSON file, a report or the store, and refuses one that cannot be judged."""

from __future__ import annotations

import json
import math
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from linkladder import formats, state
from linkladder.codec import CodecError
from linkladder.errors import EnvironmentFault, UsageError, why_no_file
from linkladder.judge import flaws
from linkladder.laid_on_disk import Shelf, shelved
from linkladder.model import SCHEMA, Document, TrialResult
from linkladder.phrases.documents import in_place, judged_otherwise
from linkladder.printable import one_line
from linkladder.store import Store
from linkladder.verdicts import DocumentJudgement

WHOLE = "give a file as `linkladder run --json` or `linkladder report` wrote it, or a stored run's id"
AS_WRITTEN = "judge the file as linkladder wrote it: this one was changed afterwards, or damaged"
LARGE = 32 << 20  # characters; the trials of a larger file are put on disk, as a day's seconds take 150 MB
LARGEST = 1e30  # of any number; counters that wrapped are still smaller
Number = TypeVar("Number", int, float)
OF_A_TRIAL = {"id", "repeat", "legs", "ends"}  # keys that only a trial's record has together


def read_document(name: str) -> Document:
    """The document in the file of that name if there is one or the name looks like a file, else of a stored run."""
    path = Path(name)
    if not is_file(name):
        return Store(state.folder()).load(name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EnvironmentFault(f"{name} cannot be read", why_no_file(error), WHOLE) from None
    try:
        page = text.lstrip().startswith("<")
        document = _embedded(text) if page else _of_json(text)
    except (json.JSONDecodeError, CodecError, ValueError, RecursionError) as error:
        raise UsageError(f"{name} is no linkladder document", one_line(str(error)[:200]), WHOLE) from None
    if found := flaws(document):
        more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
        raise UsageError(f"{name} cannot be judged", one_line(f"{'; '.join(found[:3])}{more}"), AS_WRITTEN)
    return document


def _embedded(page: str) -> Document:
    from linkladder.report import page_data  # imported late, as only a page needs it

    return page_data.document(page, formats.document, partial(formats.record, TrialResult), **STRICT)[1]


def _of_json(text: str) -> Document:
    """A document whose trials are converted one by one, as the JSON of a long run would take too much memory."""
    shelf = Shelf() if len(text) > LARGE else None

    def as_record(pairs: list[tuple[str, Any]]) -> Any:
        made = _once(pairs)
        if not made.keys() >= OF_A_TRIAL:
            return made
        try:
            trial = formats.record(TrialResult, made, SCHEMA)
        except CodecError:
            return made  # the error comes later, with the record's place
        return shelved(trial, shelf) if shelf else trial

    value = json.loads(text, **STRICT | {"object_pairs_hook": as_record})
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:  # trials of another schema differ
        value = json.loads(text, **STRICT)
    return formats.document(value)


def reservations(document: Document, judged: DocumentJudgement) -> Iterator[str]:
    """What a reader must know of a file besides its judgement: what it lacks, and that it carried another judgement."""
    before = document.judgement
    if before and any(before.assumptions.get(k) != judged.assumptions.get(k) for k in before.overridden):
        yield one_line(judged_otherwise(in_place(before)))
    if document.abridged:
        yield one_line(document.abridged)


def tell(said: Iterable[str]) -> None:
    """Print lines on standard error, where another program reads the output."""
    for text in said:
        print(f"linkladder: {text}", file=sys.stderr)


def is_file(name: str) -> bool:
    """Whether the name is that of a file rather than of a stored run."""
    # os.path.isfile returns False if the folder may not be read; Path.is_file would raise an error.
    return Path(name).suffix in (".json", ".html") or "/" in name or os.path.isfile(name)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a dict; raises ValueError if a key is there twice, as other readers may take the other value."""
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {twice[:40]!r} is there twice in one record")
    return made


def _number(text: str) -> float:
    return _within(float(text), text)


def _integer(text: str) -> int:
    return _within(int(text), text)


def _within(value: Number, text: str) -> Number:
    """The value; raises ValueError if it is none, or so large that sums and products of it would be infinite."""
    if not (math.isfinite(value) and abs(value) <= LARGEST):
        raise ValueError(f"{text[:20]} is no number to judge by")
    return value


STRICT: dict[str, Any] = {
    "parse_float": _number,
    "parse_int": _integer,
    "parse_constant": _number,
    "object_pairs_hook": _once,
}
