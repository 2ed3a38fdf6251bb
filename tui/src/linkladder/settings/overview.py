"""Tells what is on loan, what a loan left behind, and what nobody has seen yet of earlier ones; changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from linkladder import state
from linkladder.settings.journal import ACCEPT, Damaged, Journal


@dataclass(frozen=True)
class OnLoan:
    """What a loan has changed on this machine, and what is to be told of earlier ones, in words for people."""

    changes: tuple[str, ...]
    seconds_left: float | None = None  # until it is restored if the lease is not renewed; None if it has no end
    left_behind: bool = False  # no process holds the lease any more, and the settings were not restored
    failed: str = ""  # what could not be restored, and why, or why the record cannot be read
    notice: str = ""  # what a restart, or something else, did to an earlier loan, until a person has seen it


def on_loan(folder: Path | None = None) -> OnLoan | None:
    """What is on loan, left behind, or to be told of an earlier loan; None if there is nothing of it."""
    journal = Journal(folder or state.measuring())
    notice, lent = journal.notice(), journal.lent()
    try:
        record = journal.read()
    except Damaged as error:
        return OnLoan((), left_behind=True, failed=f"{error.title}: {error.cause}", notice=notice)
    if record is None:
        return OnLoan((), notice=notice) if notice else None
    from linkladder.printable import one_line  # imported late, so that agents start faster

    changes = tuple(one_line(f"{e.kind} {e.target}: {e.old} -> {e.new}") for e in record.entries if e.new is not None)
    left = max(0.0, record.seconds - journal.age()) if record.seconds else None
    return OnLoan(changes, left, not lent, one_line(record.failed), notice)


def findings(folder: Path | None = None) -> tuple[tuple[bool, str, str], ...]:
    """For the doctor: whether it keeps runs from starting, what it is, and what to do."""
    seen, found = on_loan(folder), []
    if seen and seen.left_behind:
        what = seen.failed or f"an experiment that ended abruptly has left them changed: {', '.join(seen.changes)}"
        remedy = f"the next run puts them back; where it cannot, bring back what is missing or restart, or say {ACCEPT}"
        found.append((True, what, remedy))
    if seen and seen.notice:
        found.append((False, seen.notice, f"when you have seen this: {ACCEPT}"))
    return tuple(found)
