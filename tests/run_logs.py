"""Reads the log of a run at once; the product follows one while it grows."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from linkladder.run.eventlog import Entry, Tail


def whole(path: Path) -> list[Entry]:
    """Every event of a log, without a last line that a power cut left unfinished."""
    with closing(Tail(path)) as tail:
        return tail.poll()
