"""A run's events as JSON lines: recorded while it goes on, tailed by whoever watches, replayed by tests.

The first line is {"form": "linkladder-events/1"}, every other one {"event": "TrialStarted", "data": {...}, "at":
seconds since the log began}.  Logs of before 0.2 have no first line of that kind and are read all the same; keys that a
later linkladder of the same form has added are passed over, and another form is refused by its name.

What is seen each second is of use while its trial goes on.  Once there is much of it, another file takes the place of
the log before a trial begins, with all but that; the last line of the one before, {"renewed": N}, says how many of the
new one's lines are known to whoever followed it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
import typing
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from linkladder import codec, events
from linkladder.errors import EnvironmentFault
from linkladder.events import Event

FORM = "linkladder-events/1"
KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in typing.get_args(events.Event)}
Entry = tuple[float, Event]
FLEETING = (events.IntervalSeen, events.RoundTripSeen, events.Sampled)
PASSING = tuple(f'{{"event":"{kind.__name__}"' for kind in FLEETING)  # how their lines begin
DENSE, SPARSE = 3600, 64
MOST = 8 << 20  # bytes of seconds, from which on those of earlier trials are dropped
BUFFER = 256 * 1024  # more than a line: a disk that takes only a part of one would spoil the next as well
log = logging.getLogger("linkladder.eventlog")


def dump(event: Event, at: float) -> str:
    """One line, without its end."""
    record = {"event": type(event).__name__, "data": codec.to_json(event), "at": round(at, 3)}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def _in_short(event: Event) -> Event:
    """Of a trial its figures, as its seconds were told and its output is stored; of a sample what front ends show."""
    if isinstance(event, events.TrialFinished):
        return replace(event, result=event.result.figures)
    if isinstance(event, events.Sampled):
        return replace(event, sample=replace(event.sample, nics=()))
    return event


def parse(line: str) -> Entry:
    """The event of a line and its time; CodecError where it is none."""
    try:
        record = json.loads(line)
    except ValueError as error:
        raise codec.CodecError(f"not a JSON line: {error}") from None
    if not isinstance(record, dict) or record.get("event") not in KINDS:
        raise codec.CodecError(f"not an event of a run: {line[:60]!r}")
    event = codec.from_json(KINDS[record["event"]], record.get("data"), extra=True)
    return codec.from_json(float, record.get("at"), "at"), event


def read(path: Path) -> Iterator[Entry]:
    """Every event of a log; a half-written last line, as a power cut leaves it, is left out."""
    tail = Tail(path)
    try:
        yield from tail.poll()
    finally:
        tail.close()


class Recorder:
    """Writes events as they come, each line flushed so that a watcher and a crash see it.

    Beside the log lies a file of `spare` bytes that is given up when the disk is full, so that the log can say so.  A
    log that cannot be written raises nothing: its `fault` is for whoever measures, to end the run by.
    What is seen each second (by whom, a kind each) is written in full for DENSE times of a trial, then every second
    time for as many, then every fourth, down to one in SPARSE: a trial of a week leaves some ten thousand lines.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic, spare: int = 0) -> None:
        self._clock = clock
        self._began = clock()
        self._path = path
        self._file = path.open("x", BUFFER, encoding="utf-8")
        self._file.write(json.dumps({"form": FORM}) + "\n")
        self._of_seconds = 0  # bytes
        self._seen: Counter[tuple[str, str]] = Counter()  # of this trial
        self.fault: OSError | None = None  # since when there is room for the last words at most
        self._spare = path.with_suffix(".spare") if spare else None
        if self._spare:
            with contextlib.suppress(OSError):  # no room for it already: then the run will say so
                self._spare.write_bytes(bytes(spare))

    def write(self, event: Event) -> None:
        if isinstance(event, events.TrialStarted):
            self._seen.clear()
            if self._of_seconds > MOST:
                self._renew()
        elif isinstance(event, FLEETING):
            kind = type(event).__name__, event.end if isinstance(event, events.Sampled) else ""
            before = self._seen[kind]
            self._seen[kind] += 1
            if before % min(SPARSE, 1 << min(before // DENSE, 10)):
                return
        line = dump(_in_short(event), self._clock() - self._began) + "\n"
        self._of_seconds += len(line) * isinstance(event, FLEETING)
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            self.fault = self.fault or error
            with contextlib.suppress(OSError):
                self._give_up_spare()
                self._file.flush()  # what was not written yet is in the buffer still

    def _renew(self) -> None:
        """The same log without seconds, in place of this one; where there is no room for both it goes on as it is."""
        draft, kept = self._path.with_suffix(".new"), -1  # the line of the form is none
        try:
            with self._path.open(encoding="utf-8") as before, draft.open("w", encoding="utf-8") as after:
                for line in before:
                    if not line.startswith(PASSING):
                        after.write(line)
                        kept += 1
            old, self._file = self._file, draft.open("a", BUFFER, encoding="utf-8")
        except OSError:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            return
        os.replace(draft, self._path)
        self._of_seconds = 0
        with contextlib.suppress(OSError), old:  # last, so that whoever reads it finds the new one
            old.write(json.dumps({"renewed": kept}) + "\n")

    def close(self) -> None:
        with contextlib.suppress(OSError):  # its fault is known
            self._give_up_spare()
        with contextlib.suppress(OSError):
            self._file.close()

    def _give_up_spare(self) -> None:
        spare, self._spare = self._spare, None
        if spare:
            spare.unlink(missing_ok=True)


def _readable(line: str) -> list[Entry]:
    """A line that a full disk or a crash has spoilt must not take those after it along."""
    try:
        return [parse(line)]
    except codec.CodecError as error:
        log.warning("a line of the run's log is left out: %s", error)
        return []


def _form(line: str) -> str:
    """What a first line says of the lines after it; '' where it is an event's."""
    try:
        record = json.loads(line)
    except ValueError:
        return ""
    return str(record["form"])[:60] if isinstance(record, dict) and "form" in record else ""


def _renewed(line: str) -> int | None:
    """How many lines of the file that took this one's place are known; None of any other line."""
    return int(json.loads(line)["renewed"]) if line.startswith('{"renewed": ') else None


class Tail:
    """What a log has gained since the last look; the file need not exist yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None
        self._rest = ""
        self._first = True  # is the line that may tell the form still to come?
        self._known = 0  # lines to come that were seen in the file before

    def poll(self) -> list[Entry]:
        """EnvironmentFault where it is of a form that this linkladder does not know."""
        if self._file is None:
            try:
                self._file = self._path.open(encoding="utf-8", errors="replace")
            except FileNotFoundError:
                return []
        text = self._rest + self._file.read()
        *lines, self._rest = text.split("\n")
        if lines and self._first:
            self._first = False
            if form := _form(lines[0]):
                del lines[0]
                if form != FORM:
                    raise EnvironmentFault(
                        "the log of this run is of another linkladder",
                        f"its form is {form}, this linkladder reads {FORM}",
                        "watch it with the linkladder that measures",
                    )
        renewed = _renewed(lines[-1]) if lines else None
        news, self._known = lines[self._known : -1 if renewed is not None else None], max(0, self._known - len(lines))
        entries = [entry for line in news if line.strip() for entry in _readable(line)]
        if renewed is None:
            return entries
        self.close()
        self._first, self._rest, self._known = True, "", renewed
        return [*entries, *self.poll()]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
