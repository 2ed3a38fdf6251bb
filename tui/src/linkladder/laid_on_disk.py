"""Keeps the seconds of long trials on disk: a soak of days has hundreds of thousands of them, and few are used at once.

In a loaded document, special tuples take their places that behave like ordinary ones. Their items are in an unnamed
file, which disappears with the last of them, and are read when needed. Only those used last stay in memory.
"""

from __future__ import annotations

import errno
import os
import pickle
import tempfile
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import IO, Any, TypeVar

from linkladder.model import LONG, Leg, TrialResult

RECENT = 3  # how many tuples stay in memory, as one rule after the other reads the same ones of a trial
FEWEST = 16  # shorter tuples stay in memory
T = TypeVar("T")


class Shelved(tuple[T, ...]):
    """A tuple whose items are on a shelf; it behaves like a plain tuple of them."""

    _shelf: Shelf
    _number: int  # its place on the shelf
    _count: int

    def _items(self) -> tuple[T, ...]:
        return self._shelf.items(self._number)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        return iter(self._items())

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._items())

    def __getitem__(self, index: Any) -> Any:
        return self._items()[index]

    def __contains__(self, one: object) -> bool:
        return one in self._items()

    def index(self, *asked: Any) -> int:
        return self._items().index(*asked)

    def count(self, one: Any) -> int:
        return self._items().count(one)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Shelved):
            return self is other or self._items() == other._items()
        return isinstance(other, tuple) and self._items() == other

    def __hash__(self) -> int:
        return hash(self._items())

    def __add__(self, other: Any) -> Any:
        return (*self, *other)

    def __radd__(self, other: Any) -> Any:
        return (*other, *self)

    def __repr__(self) -> str:
        return repr(self._items())

    def __reduce__(self) -> Any:
        return tuple, (list(self),)


class Shelf:
    """A file for items in a folder; without a folder, or if the file cannot be written, they stay packed in memory.

    The file has no name and no other process reads or writes it, so unpickling its data is safe.
    """

    def __init__(
        self, folder: Path | None = None, explained: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        self._folder = folder
        self._explained = explained  # turns an error of the disk into one for people
        self._file: IO[bytes] | None = None
        self._end = 0
        self._places: list[tuple[int, int] | bytes] = []  # begin and length in the file, or data not written
        self._recent: OrderedDict[int, tuple[Any, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, ones: tuple[T, ...]) -> tuple[T, ...]:
        """Put items on the shelf; returns a tuple that stands for them."""
        if len(ones) < FEWEST or isinstance(ones, Shelved):
            return ones
        made: Shelved[T] = Shelved()
        made._shelf, made._number, made._count = self, len(self._places), len(ones)
        self._places.append(self._written(zlib.compress(pickle.dumps(_columns(ones), pickle.HIGHEST_PROTOCOL), 1)))
        return made

    def _written(self, data: bytes) -> tuple[int, int] | bytes:
        if self._folder is None:
            return data
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (open as long as its tuples are)
            if os.pwrite(self._file.fileno(), data, self._end) < len(data):
                return data
        except OSError:
            return data
        self._end += len(data)
        return self._end - len(data), len(data)

    def items(self, number: int) -> tuple[Any, ...]:
        """The items that were put there under this number."""
        with self._lock:
            found = self._recent.pop(number, None)
            if found is None:
                found = _records(*pickle.loads(zlib.decompress(self._read(self._places[number]))))
            self._recent[number] = found
            if len(self._recent) > RECENT:
                self._recent.popitem(last=False)
            return found

    def _read(self, place: tuple[int, int] | bytes) -> bytes:
        if isinstance(place, bytes) or self._file is None:
            return bytes(place)
        begin, length = place
        with self._explained():
            if len(data := os.pread(self._file.fileno(), length, begin)) < length:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return data


def shelved(trial: TrialResult, shelf: Shelf) -> TrialResult:
    """The trial with its seconds on the shelf if it is a long one."""
    if all(len(leg.outcome.intervals) <= LONG for leg in trial.legs):
        return trial
    made = replace(
        trial,
        legs=tuple(_leg(leg, shelf) for leg in trial.legs),
        ends=tuple(replace(end, samples=shelf.put(end.samples), windows=shelf.put(end.windows)) for end in trial.ends),
    )
    if len(made.loads) > 1:  # or the sum over its loads would stay in memory
        vars(made)["intervals"] = shelf.put(trial.intervals)
    return made


def _leg(leg: Leg, shelf: Shelf) -> Leg:
    outcome = leg.outcome
    rtt = outcome.rtt and replace(outcome.rtt, samples_ms=shelf.put(outcome.rtt.samples_ms))
    flows = tuple(replace(flow, intervals=shelf.put(flow.intervals)) for flow in outcome.flows)
    return replace(leg, outcome=replace(outcome, intervals=shelf.put(outcome.intervals), flows=flows, rtt=rtt))


def _columns(ones: tuple[Any, ...]) -> tuple[type[Any] | None, list[Any]]:
    """Records as a list of values for each field, which compresses better."""
    if not is_dataclass(ones[0]):
        return None, list(ones)
    kind: Any = type(ones[0])
    return kind, [[getattr(one, field.name) for one in ones] for field in fields(kind)]


def _records(kind: type[Any] | None, columns: list[Any]) -> tuple[Any, ...]:
    return tuple(columns) if kind is None else tuple(map(kind, *columns))
