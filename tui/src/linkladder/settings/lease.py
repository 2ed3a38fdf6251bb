"""A lease: makes changes that last from acquire() to release(), and restores settings that a dead lease left."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

from linkladder import host, privilege, state
from linkladder.errors import EnvironmentFault, LinkladderError
from linkladder.settings.arming import Undo
from linkladder.settings.journal import Entry, Journal, Record
from linkladder.settings.reversible import (
    UP,
    Change,
    NotPutBack,
    SettingsError,
    make,
    missing,
    present,
    put_back,
    read,
    verify,
)

T = TypeVar("T")
OFTEN = 4  # how many times within the undo's seconds a lease is renewed while one change takes long
BUSY = 5.0  # seconds to wait for another process to restore its settings
UNLOCKED = 30.0  # seconds to wait for the undo process of the loan before, which reads back; less than a caller waits
LOOK = 0.1  # seconds until it is looked again whether that one has ended
HEARD = 0.1  # seconds within which it is heard that the undo acts, which it says before it changes anything


class StillLent(SettingsError):
    """Another process has settings on loan, or is still putting them back: that passes by itself."""


class Lease:
    """Changes on loan, for `async with` or for acquire() and release(), which may both be repeated."""

    def __init__(
        self,
        changes: Sequence[Change],
        undo: Undo | None = None,
        folder: Path | None = None,
        later: Sequence[Change] = (),  # members of a bundle, which `turn` takes down and up
    ) -> None:
        self.changes, self.later = tuple(changes), tuple(later)
        self._undo = undo
        self._journal = Journal(folder or state.measuring())
        self._entries: tuple[Entry, ...] = ()
        self._record = Record("", ())
        self._held = False

    async def acquire(self) -> tuple[str, ...]:
        """Make all changes and return them in words; on failure everything is restored before the error is raised."""
        if self._held:
            return self._changes_made()
        await self._lock()
        try:
            if leftover := self._journal.read():
                await restore(self._journal, leftover)
            before = await asyncio.to_thread(present, self.changes)
            self._entries = (*before, *(Entry(one.kind, one.target, UP, one.value) for one in self.later))
            seconds = self._undo.seconds if self._undo else 0.0
            self._record = Record(host.boot_id(), self._entries, seconds)
            self._journal.write(self._record)
            if self._undo:
                await self._arm(self._undo)
        except BaseException:
            self._journal.unlock()
            raise
        self._held = True
        try:
            for change in self.changes:
                await self._renewed_beside(make(change))
                await self.renew()  # each may take seconds on a slow machine, and nothing else renews meanwhile
            for change in self.changes:
                await verify(change)
        except BaseException as error:
            try:
                await asyncio.shield(asyncio.ensure_future(self.release()))
            except LinkladderError as second:
                raise SettingsError(str(second.title), second.cause, second.hint) from error
            raise
        return self._changes_made()

    async def _lock(self) -> None:
        """Take the journal's lock; raises SettingsError if another lease holds it, and not only its undo process."""
        deadline = time.monotonic() + UNLOCKED
        while not self._journal.lock():
            while self._journal.lent() and time.monotonic() < deadline:
                await asyncio.sleep(LOOK)
            if time.monotonic() >= deadline:
                fault = "settings are changed already"
                raise SettingsError(fault, "another lease holds them", "end that experiment first")

    async def renew(self) -> None:
        """Renew the lease; raises SettingsError if it has run out, as everything has then been restored already."""
        if not self._held:
            raise SettingsError("there is no lease to renew")
        if self._undo:
            await self._undo.renew()
            self._journal.renewed()

    async def check(self) -> None:
        """Raise SettingsError if a change is no longer in force: the lease ran out, or something else changed it."""
        for change in self.changes:
            found = await asyncio.to_thread(host.setting, change.kind, change.target)
            if found != change.value:
                await asyncio.sleep(HEARD)
                await self.renew()
                old = next(e.old for e in self._entries if (e.kind, e.target) == (change.kind, change.target))
                raise SettingsError(
                    f"{change.kind} {change.target} was changed by something else while it was on loan",
                    f"it is {found or 'gone'} and not {change.value}; it goes back to {old}, as before the loan",
                )

    async def turn(self, down: bool) -> float:
        """Take the members in `later` down, or bring them up again, and read that back.

        Returns the monotonic time of the change itself, as reading back takes seconds on a slow machine.
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
        """Restore everything, and return it in words; what cannot be restored stays in the journal for recover()."""
        if not self._held:
            return ()
        ended = False
        try:
            await self._renewed_beside(_no_change_under_way())
            try:
                done = await self._renewed_beside(restore(self._journal, self._record))
                ended = True
            except LinkladderError:
                ended = True  # it was tried in vain, and the journal says so
                raise
        finally:
            self._held = False
            try:
                if self._undo and ended:
                    await self._undo.stand_down()
                elif self._undo:
                    self._undo.leave()  # interrupted, as an agent whose caller is gone, or a change is still under way
            finally:
                self._journal.unlock()
        return done

    async def __aenter__(self) -> Self:
        await self.acquire()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(asyncio.ensure_future(self.release()))

    async def _renewed_beside(self, work: Coroutine[Any, Any, T]) -> T:
        """Do some work and renew the lease meanwhile, as a bundle may take longer than the undo waits."""
        task = asyncio.create_task(work)
        try:
            await self._renewed_until(task)
        except BaseException:
            task.cancel()
            await self._renewed_until(task)  # a helper that is let go may take long to end
            raise
        return task.result()

    async def _renewed_until(self, task: asyncio.Task[Any]) -> None:
        pause = self._undo.seconds / OFTEN if self._undo else None
        while not (await asyncio.wait({task}, timeout=pause))[0]:
            with contextlib.suppress(SettingsError):  # the undo has acted; the next renewal will report it
                await self.renew()

    async def _arm(self, undo: Undo) -> None:
        try:
            await undo.arm(self._journal, self._entries)
        except BaseException:
            self._journal.clear()  # nothing has been changed yet
            raise

    def _changes_made(self) -> tuple[str, ...]:
        made = self._entries[: len(self._entries) - len(self.later)]
        return tuple(f"{e.kind} {e.target}: {e.old} -> {e.new}" for e in made if e.new is not None)


async def _no_change_under_way() -> None:
    """Wait until nothing more can be changed; raises SettingsError if a use of the helper does not end.

    What is read before that may be changed after it, and nobody would know of it once the journal is cleared.
    """
    if not await privilege.all_ended():
        raise SettingsError(
            "a change of a setting does not end",
            "the privileged helper was let go and is still there; the undo process puts back in its place",
            "linkladder doctor shows what is still changed",
        )


async def recover(folder: Path | None = None) -> tuple[str, ...]:
    """Restore the settings that a lease left changed when its process died; returns what was restored, in words.

    Does nothing while a living process holds a lease.
    """
    journal = Journal(folder or state.measuring())
    if not journal.exists() or not journal.lock():
        return ()
    try:
        record = journal.read()
        return await restore(journal, record) if record else ()
    finally:
        journal.unlock()


async def settle(folder: Path | None = None) -> None:
    """Make sure that no setting is changed; raises NotPutBack if one cannot be restored, StillLent if it is on loan.

    An undo process clears the journal a moment before it ends: until then its lock would refuse the next lease.
    """
    journal = Journal(folder or state.measuring())
    deadline = asyncio.get_running_loop().time() + BUSY
    while journal.exists() or journal.lent():
        await recover(folder)
        if not (journal.exists() or journal.lent()):
            return
        if asyncio.get_running_loop().time() > deadline:
            raise StillLent("settings are changed", "another process has them on loan", "end that experiment first")
        await asyncio.sleep(LOOK)


async def restore(journal: Journal, record: Record) -> tuple[str, ...]:
    """Restore old values, read them back and clear the journal; returns what was restored, in words.

    If a value is not restored, or cannot be read, raises NotPutBack: the journal stays and has the reason.
    """
    entries, after_restart = record.entries, record.boot != host.boot_id()
    try:
        if not after_restart:
            await note_others(journal, record)
        else:
            entries = await _left_by_restart(record)
        done = await put_back(entries)
        if after_restart:
            journal.tell(await _after_restart(record))
    except NotPutBack as error:
        journal.mark(record, error.cause)
        raise
    journal.clear()
    return done


async def note_others(journal: Journal, record: Record) -> None:
    """Keep a sentence on settings that something else changed while they were on loan, as they are put back too."""
    noted, said = journal.notice(), list[str]()
    for one in record.entries:
        found = await read(one) if one.new is not None else None
        if found is not None and found not in (one.old, one.new):
            said.append(
                f"{one.kind} {one.target} was changed to {found} by something else while it was on loan as {one.new}; "
                f"it went back to {one.old}, as before the loan"
            )
    if said:
        new = [sentence for sentence in said if sentence not in noted]  # putting back may be tried again and again
        with contextlib.suppress(EnvironmentFault):  # on a full disk putting back goes before
            journal.tell("; ".join(filter(None, (noted, *new))))


async def _left_by_restart(record: Record) -> tuple[Entry, ...]:
    """The entries whose leased value is in force although the kernel should have its configured ones.

    Raises NotPutBack if a value cannot be read: nobody can tell then that the restart has ended the loan.
    """
    left, unread = [], {}
    for entry in record.entries:
        if entry.new is None:
            continue  # may only have changed beside another one, and a restart has ended that
        found = await read(entry)
        if found is None:
            gone = missing(entry)
            why = f"{gone} is not there" if gone else f"{entry.kind} {entry.target} cannot be read"
            unread[why] = f"{why}: nobody can tell whether the restart has ended its loan"
        elif found == entry.new:
            left.append(entry)
    if unread:
        raise NotPutBack("; ".join(unread.values()))
    return tuple(left)


async def _after_restart(record: Record) -> str:
    now = [f"{e.kind} {e.target} is {await read(e)}" for e in record.entries if e.new is not None]
    before = f"before it, this could not be put back: {record.failed}" if record.failed else "it ended a loan"
    return f"this machine was restarted, and {before}; after the restart {', '.join(now)}, as configured"
