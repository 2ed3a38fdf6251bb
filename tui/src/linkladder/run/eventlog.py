"""Keeps a run's events as JSON lines: written during the run, followed by whoever watches, and replayed by tests.

The first line is {"form": "linkladder-events/1"}, every other one {"event": "TrialStarted", "data": {...}, "at":
seconds since the log began}. Logs from before 0.2 lack the first line and are read all the same. Keys that a later
linkladder has added to the same form are ignored; a log of another form is refused, and the error names that form.

Per-second events matter only while their trial runs. When they take up much space, the log is replaced before the next
trial by a copy without them. The old file then ends with the line {"renewed": N}: the first N events of the new file
are those that its readers have seen already.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
import typing
from collections import Counter
from collections.abc import Callable
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
PASSING = tuple(f'{{"event":"{kind.__name__}"' for kind in FLEETING)  # how the lines of per-second events begin
DENSE, SPARSE = 3600, 64
MOST = 8 << 20  # bytes of per-second events after which those of earlier trials are dropped
BUFFER = 256 * 1024  # holds more than a line, so that a full disk does not leave part of one
log = logging.getLogger("linkladder.eventlog")


def dump(event: Event, at: float) -> str:
    """The event as one line of the log, without the line break."""
    return codec.text({"event": type(event).__name__, "data": event, "at": round(at, 3)})


def _in_short(event: Event) -> Event:
    """The event without what the log need not repeat: a trial's stored details."""
    return replace(event, result=event.result.figures) if isinstance(event, events.TrialFinished) else event


def parse(line: str) -> Entry:
    """The event in a line and its time; raises CodecError if the line holds no event."""
    try:
        record = json.loads(line)
    except ValueError as error:
        raise codec.CodecError(f"not a JSON line: {error}") from None
    if not isinstance(record, dict) or record.get("event") not in KINDS:
        raise codec.CodecError(f"not an event of a run: {line[:60]!r}")
    event = codec.from_json(KINDS[record["event"]], record.get("data"), extra=True)
    return codec.from_json(float, record.get("at"), "at"), event


class Recorder:
    """Writes each event as it comes and flushes it, so that watchers see it and a crash does not lose it.

    A file of `spare` bytes lies beside the log; it is deleted when the disk is full, to make room for the last events.
    A failed write raises nothing but sets `fault`; the measuring process checks that and ends the run.

    Of each kind of per-second event a trial's first DENSE are all written, then every second one, then every fourth,
    and so on down to one in SPARSE, so that a trial of a week leaves some ten thousand lines.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic, spare: int = 0) -> None:
        self._clock = clock
        self._began = clock()
        self._path = path
        self._file = path.open("x", BUFFER, encoding="utf-8")
        self._file.write(json.dumps({"form": FORM}) + "\n")
        self._of_seconds = 0  # bytes of per-second events in the log
        self._seen: Counter[tuple[str, str]] = Counter()  # how many of each kind this trial had
        self.fault: OSError | None = None  # set once a write failed; only the spare room is left then
        self._spare = path.with_suffix(".spare") if spare else None
        if self._spare:
            with contextlib.suppress(OSError):  # the disk is full already, and the first write will report it
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
                self._file.flush()  # the buffer still holds what was not written

    def _renew(self) -> None:
        """Replace the log by a copy without the per-second events; without room for both, keep it as it is."""
        draft, kept = self._path.with_suffix(".new"), -1  # -1, as the line with the form does not count
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
        with contextlib.suppress(OSError), old:  # last, so that its readers then find the new file in place
            old.write(json.dumps({"renewed": kept}) + "\n")

    def close(self) -> None:
        with contextlib.suppress(OSError):  # its fault is already known
            self._give_up_spare()
        with contextlib.suppress(OSError):
            self._file.close()

    def _give_up_spare(self) -> None:
        spare, self._spare = self._spare, None
        if spare:
            spare.unlink(missing_ok=True)


def _readable(line: str) -> list[Entry]:
    """The event of the line, as a list. A spoilt line gives none, so that the lines after it can still be read."""
    try:
        return [parse(line)]
    except codec.CodecError as error:
        log.warning("a line of the run's log is left out: %s", error)
        return []


def _form(line: str) -> str:
    """The form that a log's first line states; '' if that line is an event already."""
    try:
        record = json.loads(line)
    except ValueError:
        return ""
    return str(record["form"])[:60] if isinstance(record, dict) and "form" in record else ""


def _renewed(line: str) -> int | None:
    """How many events of the log's new file its readers have seen already; None if the line does not say."""
    return int(json.loads(line)["renewed"]) if line.startswith('{"renewed": ') else None


class Tail:
    """Reads what was added to a log since the last poll; the file need not exist yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None
        self._rest = ""
        self._first = True  # whether the log's first line is still to be read
        self._known = 0  # how many of the next lines were already seen in the replaced file

    def poll(self) -> list[Entry]:
        """The new events; raises EnvironmentFault if this linkladder does not know the log's form."""
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
