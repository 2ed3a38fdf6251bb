"""Packs JSON values for the database and for pages: tables as columns, numbers as differences, compressed.

A list of records with the same keys, such as a trial's thousands of seconds, becomes {"~columns": {key: list}}, and a
list of lists of one length becomes {"~rows": [list of the first items, ...]}. A list of numbers whose differences are
shorter to write becomes {"~steps": [first, difference ...]}; decimals become whole numbers by multiplying them by ten
to the power of `~digits`. Data from before there were columns has none of these keys and can still be unpacked.
"""

from __future__ import annotations

import json
import lzma
import zlib
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

FEWEST = 8  # shorter lists are not changed
# For lzma: takes 15 MB of memory, where a dictionary of 8 << 20 takes 90.
XZ_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 20}]
DIGITS = 6  # the most decimals of numbers that are packed as differences
COLUMNS, ROWS, STEPS, PLACES = "~columns", "~rows", "~steps", "~digits"


def pack(value: Any) -> bytes:
    """A JSON value as compressed bytes."""
    return zlib.compress(text(value).encode(), 6)


def unpack(data: bytes) -> Any:
    """The JSON value of packed bytes; raises zlib.error or ValueError if they are damaged."""
    return json.loads(zlib.decompress(data), object_hook=restored)


def text(value: Any) -> str:
    """A JSON value as JSON text with columns and differences."""
    return _text(_columns(value))


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _columns(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _columns(part) for key, part in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) < FEWEST:
        return [_columns(part) for part in value]
    first = value[0]
    if isinstance(first, dict) and first and all(isinstance(one, dict) and one.keys() == first.keys() for one in value):
        return {COLUMNS: {key: _columns([one[key] for one in value]) for key in first}}
    if isinstance(first, list) and first and all(isinstance(one, list) and len(one) == len(first) for one in value):
        return {ROWS: [_columns(list(column)) for column in zip(*value, strict=True)]}
    return _steps(value) or [_columns(part) for part in value]


def _steps(values: list[Any]) -> Any:
    """A list of numbers as differences; None if it has other values or gets longer that way."""
    kinds = {type(one) for one in values}
    if kinds == {int}:
        made: dict[str, Any] = {STEPS: _differences(values)}
    elif kinds == {float}:
        places = next((n for n in range(DIGITS + 1) if all(one == round(one, n) for one in values)), None)
        if places is None or max(map(abs, values)) * 10**places >= 1 << 50:
            return None
        counts = [round(one * 10**places) for one in values]
        if any(count / 10**places != one for count, one in zip(counts, values, strict=True)):
            return None
        made = {STEPS: _differences(counts), PLACES: places}
    else:
        return None
    return made if len(_text(made)) < len(_text(values)) else None


def _differences(values: Sequence[int]) -> list[int]:
    return [values[0], *(after - before for before, after in pairwise(values))]


def restored(made: dict[str, Any]) -> Any:
    """The value for which a JSON object stands, with its parts restored already; raises ValueError if invalid."""
    try:
        return _restored(made)
    except (TypeError, AttributeError, KeyError, IndexError) as error:
        raise ValueError(f"columns that cannot be ({type(error).__name__})") from None


def _restored(made: dict[str, Any]) -> Any:
    if COLUMNS in made:
        columns = made[COLUMNS]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if ROWS in made:
        return [list(row) for row in zip(*made[ROWS], strict=True)]
    if STEPS in made:
        if not all(type(step) is int for step in made[STEPS]):
            raise ValueError("steps that are no whole numbers")
        counts = list(accumulate(made[STEPS]))
        if PLACES not in made:
            return counts
        if made[PLACES] not in range(DIGITS + 1):  # a huge power of ten in foreign data would take forever
            raise ValueError("more decimals than are ever written")
        return [count / 10 ** made[PLACES] for count in counts]
    return made
