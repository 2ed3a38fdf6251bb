"""A lease: changes that hold from acquire() to release(), and what puts back those that were left behind."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from linkladder import host, state
from linkladder.errors import LinkladderError
from linkladder.settings.journal import Entry, Journal, Record
from linkladder.settings.reversible import UP, Change, SettingsError, make, present, put_back, verify
from linkladder.settings.undo import Undo

T = TypeVar("T")
OFTEN = 4  # times in the seconds that the undo waits, while one change takes long
BUSY = 5.0  # seconds that another process may take to put its own back


class Lease:
    """Changes on loan, for an `async with` or acquire() and release() as a pair, each harmless when repeated."""

    def __init__(
        self,
        changes: Sequence[Change],
        undo: Undo | None = None,
        folder: Path | None = None,
        later: Sequence[Change] = (),  # members that are up, go down when told, and come up again
    ) -> None:
        self.changes, self.later = tuple(changes), tuple(later)
        self._undo = undo
        self._journal = Journal(folder or state.measuring())
        self._entries: tuple[Entry, ...] = ()
        self._held = False

    async def acquire(self) -> tuple[str, ...]:
        """Make every change, or none: what was done before a failure is put back before it is told."""
        if self._held:
            return self._changes_made()
        if not self._journal.lock():
            raise SettingsError("settings are changed already", "another lease holds them", "end that experiment first")
        try:
            if leftover := self._journal.read():
                await put_back(leftover.entries)
            before = await asyncio.to_thread(present, self.changes)
            self._entries = (*before, *(Entry(one.kind, one.target, UP, one.value) for one in self.later))
            seconds = self._undo.seconds if self._undo else 0.0
            self._journal.write(Record(host.boot_id(), self._entries, seconds))
            if self._undo:
                await self._arm(self._undo)
        except BaseException:
            self._journal.unlock()
            raise
        self._held = True
        try:
            for change in self.changes:
                await self._renewed_beside(make(change))
                await self.renew()  # on a slow machine each takes seconds, and so long nobody else renews
            for change in self.changes:
                await verify(change)
        except BaseException as error:
            try:
                await asyncio.shield(asyncio.ensure_future(self.release()))
            except LinkladderError as second:
                raise SettingsError(str(second.title), second.cause, second.hint) from error
            raise
        return self._changes_made()

    async def renew(self) -> None:
        """SettingsError where it has run out: then everything has been put back already."""
        if not self._held:
            raise SettingsError("there is no lease to renew")
        if self._undo:
            await self._undo.renew()
            self._journal.renewed()

    async def turn(self, down: bool) -> float:
        """What was left for later goes down, or comes up again, read back; its undo is armed since `acquire`.

        The moment when it was done: reading it back takes a slow machine seconds.
        """
        await self.renew()
        wanted = [change if down else replace(change, value=UP) for change in self.later]
        for change in wanted:
            await self._renewed_beside(make(change))
        done = time.monotonic()
        for change in wanted:
            await verify(change)
        return done

    async def release(self) -> tuple[str, ...]:
        """Put everything back, and say what was; what cannot be stays journalled for recover()."""
        if not self._held:
            return ()
        try:
            done = await self._renewed_beside(put_back(self._entries))
            self._journal.clear()
        finally:
            self._held = False
            if self._undo:
                await self._undo.stand_down()
            self._journal.unlock()
        return done

    async def __aenter__(self) -> Self:
        await self.acquire()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(asyncio.ensure_future(self.release()))

    async def _renewed_beside(self, work: Coroutine[Any, Any, T]) -> T:
        """A bundle takes a slow machine longer than the undo waits: it hears of us until that is done."""
        task = asyncio.create_task(work)
        pause = self._undo.seconds / OFTEN if self._undo else None
        try:
            while not (await asyncio.wait({task}, timeout=pause))[0]:
                with contextlib.suppress(SettingsError):  # it has acted; who renews next is told
                    await self.renew()
        except BaseException:
            task.cancel()
            await asyncio.wait({task})
            raise
        return task.result()

    async def _arm(self, undo: Undo) -> None:
        try:
            await undo.arm(self._journal)
        except BaseException:
            self._journal.clear()  # nothing has been changed yet
            raise

    def _changes_made(self) -> tuple[str, ...]:
        made = self._entries[: len(self._entries) - len(self.later)]
        return tuple(f"{e.kind} {e.target}: {e.old} -> {e.new}" for e in made if e.new is not None)


async def recover(folder: Path | None = None) -> tuple[str, ...]:
    """Put back what a lease left behind when its process died; says what was put back, () if nothing was.

    Does nothing while a living process holds a lease.  After a reboot the kernel is already as it was
    configured, so only a value that is still the leased one is put back.
    """
    journal = Journal(folder or state.measuring())
    if not journal.exists() or not journal.lock():
        return ()
    try:
        record = journal.read()
        if record is None:
            return ()
        entries = record.entries
        if record.boot != host.boot_id():
            kept = [e for e in entries if e.new is not None and await asyncio.to_thread(_present, e) == e.new]
            entries = tuple(kept)
        done = await put_back(entries)
        journal.clear()
        return done
    finally:
        journal.unlock()


async def settle(folder: Path | None = None) -> None:
    """No setting is changed when this returns; SettingsError where one cannot be put back, or still is lent."""
    journal = Journal(folder or state.measuring())
    deadline = asyncio.get_running_loop().time() + BUSY
    while journal.exists():
        await recover(folder)
        if not journal.exists():
            return
        if asyncio.get_running_loop().time() > deadline:
            raise SettingsError("settings are changed", "another process has them on loan", "end that experiment first")
        await asyncio.sleep(0.1)


def left_behind(folder: Path | None = None) -> bool:
    """Is there something for recover() to put back?"""
    journal = Journal(folder or state.measuring())
    return journal.exists() and not journal.lent()


@dataclass(frozen=True)
class OnLoan:
    """What is changed on this machine now, as people are told it."""

    changes: tuple[str, ...]
    left: float | None = None  # seconds until it is put back if nobody renews it; None where it has no such end
    left_behind: bool = False  # nobody holds it any more, and it was not put back


def on_loan(folder: Path | None = None) -> OnLoan | None:
    """None where nothing is changed; it only looks."""
    journal = Journal(folder or state.measuring())
    if not (seen := journal.peek()):
        return None
    record, ago = seen
    changes = tuple(f"{e.kind} {e.target}: {e.old} -> {e.new}" for e in record.entries if e.new is not None)
    left = max(0.0, record.seconds - ago) if record.seconds else None
    return OnLoan(changes, left, left_behind=not journal.lent())


def _present(entry: Entry) -> str | None:
    return host.setting(entry.kind, entry.target)
