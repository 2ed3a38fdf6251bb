"""Leased changes to interfaces and kernel settings: on loan for an experiment, always put back.

    async with settings.lease([settings.mtu("vmx1", 9000), settings.flag("vmx1", "tso", False)]):
        ...

The old values are on disk before the first change is made, so whatever ends the lease (its end, an
error, a crash, a lost peer, a reboot) they are known to `recover()`, which every start calls first.  The
changes themselves go through the privileged helper; reading needs no privilege.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from linkladder import host, privilege, state
from linkladder.errors import EnvironmentFault, LinkladderError
from linkladder.journal import Entry, Journal, Record

FLAGS = ("tso", "tso6", "lro", "gso", "gro", "rxcsum", "txcsum", "rxcsum6", "txcsum6")
PASSES = 3  # putting back one offload can need another to be back first


@dataclass(frozen=True)
class Change:
    """One setting and the value wanted; make it with mtu(), flag() or sysctl()."""

    kind: str  # "mtu" | "flag" | "sysctl", as host.setting() knows them
    target: str
    value: str

    def __str__(self) -> str:
        return f"{self.kind} {self.target} {self.value}"


def mtu(interface: str, size: int) -> Change:
    return Change("mtu", interface, str(size))


def flag(interface: str, name: str, on: bool) -> Change:
    """An offload: tso, lro, rxcsum, txcsum; gso and gro on Linux."""
    return Change("flag", f"{interface}:{name}", "on" if on else "off")


def sysctl(name: str, value: str | int) -> Change:
    return Change("sysctl", name, " ".join(str(value).split()))


class SettingsError(EnvironmentFault):
    """A setting could not be changed or put back."""


class Lease:
    """Changes on loan; acquire() and release() as a pair, each harmless when repeated."""

    def __init__(self, changes: Sequence[Change], folder: Path | None = None) -> None:
        self.changes = tuple(changes)
        self._journal = Journal(folder or state.folder())
        self._held = False

    async def acquire(self) -> None:
        """Make every change, or none: what was done before a failure is put back before it is told."""
        if self._held:
            return
        if not self._journal.lock():
            raise SettingsError("settings are changed already", "another lease holds them", "end that experiment first")
        try:
            if leftover := self._journal.read():
                await _put_back(leftover.entries)
            entries = await asyncio.to_thread(_present, self.changes)
            self._journal.write(Record(host.boot_id(), entries))
        except BaseException:
            self._journal.unlock()
            raise
        self._held = True
        try:
            for change in self.changes:
                await _apply(change.kind, change.target, change.value)
            for change in self.changes:
                await _verify(change)
        except BaseException as error:
            try:
                await asyncio.shield(asyncio.ensure_future(self.release()))
            except LinkladderError as second:
                raise SettingsError(str(second.title), second.cause, second.hint) from error
            raise

    async def release(self) -> None:
        """Put everything back; what cannot be stays journalled for recover()."""
        if not self._held:
            return
        try:
            record = self._journal.read()
            if record:
                await _put_back(record.entries)
            self._journal.clear()
        finally:
            self._held = False
            self._journal.unlock()


@contextlib.asynccontextmanager
async def lease(changes: Sequence[Change], folder: Path | None = None) -> AsyncIterator[Lease]:
    """The changes hold inside the block and are gone after it, however it ends."""
    held = Lease(changes, folder)
    await held.acquire()
    try:
        yield held
    finally:
        await asyncio.shield(asyncio.ensure_future(held.release()))


async def recover(folder: Path | None = None) -> tuple[str, ...]:
    """Put back what a lease left behind when its process died; says what was put back, () if nothing was.

    Does nothing while a living process holds a lease.  After a reboot the kernel is already as it was
    configured, so only a value that is still the leased one is put back.
    """
    journal = Journal(folder or state.folder())
    if not journal.exists() or not journal.lock():
        return ()
    try:
        record = journal.read()
        if record is None:
            return ()
        entries = record.entries
        if record.boot != host.boot_id():
            kept = [e for e in entries if e.new is not None and await asyncio.to_thread(_read, e) == e.new]
            entries = tuple(kept)
        done = await _put_back(entries)
        journal.clear()
        return done
    finally:
        journal.unlock()


def left_behind(folder: Path | None = None) -> bool:
    """Is there something for recover() to put back?"""
    journal = Journal(folder or state.folder())
    if not journal.exists() or not journal.lock():
        return False
    journal.unlock()
    return True


def _present(changes: tuple[Change, ...]) -> tuple[Entry, ...]:
    """The present value of all that the changes touch, and of the offloads that change along with one."""
    wanted = {(c.kind, c.target): c.value for c in changes}
    if len(wanted) < len(changes):
        raise SettingsError("a setting is to be changed twice", ", ".join(map(str, changes)))
    entries = []
    for (kind, target), new in wanted.items():
        old = host.setting(kind, target)
        if old is None:
            raise SettingsError(f"{kind} {target} does not exist here", "", "linkladder facts shows what there is")
        entries.append(Entry(kind, target, old, new))
    for interface in dict.fromkeys(c.target.partition(":")[0] for c in changes if c.kind == "flag"):
        for name in FLAGS:
            key = ("flag", f"{interface}:{name}")
            if key not in wanted and (old := host.setting(*key)) is not None:
                entries.append(Entry(*key, old, None))
    return tuple(entries)


async def _apply(kind: str, target: str, value: str) -> None:
    done = await privilege.run(*_request(kind, target, value))
    if not done.ok:
        raise SettingsError(f"{kind} {target} could not be set to {value}", done.reason)


def _request(kind: str, target: str, value: str) -> tuple[str, ...]:
    """The helper's verb for a change."""
    if kind == "flag":
        interface, _, name = target.partition(":")
        return ("iface-flags", interface, name if value == "on" else f"-{name}")
    return ("mtu" if kind == "mtu" else "sysctl", target, value)


async def _verify(change: Change) -> None:
    found = await asyncio.to_thread(host.setting, change.kind, change.target)
    if found != change.value:
        raise SettingsError(
            f"{change.kind} {change.target} did not take {change.value}", f"it reads back as {found or 'nothing'}"
        )


def _read(entry: Entry) -> str | None:
    return host.setting(entry.kind, entry.target)


async def _put_back(entries: tuple[Entry, ...]) -> tuple[str, ...]:
    """Restore old values, last changed first; what already has its old value is not touched."""
    done: dict[tuple[str, str], str] = {}
    problems: dict[tuple[str, str], str] = {}
    for _ in range(PASSES):
        problems.clear()
        for entry in reversed(entries):
            found = await asyncio.to_thread(_read, entry)
            if found is None or found == entry.old:
                continue  # an interface that is gone took its settings with it
            key = (entry.kind, entry.target)
            try:
                await _apply(entry.kind, entry.target, entry.old)
                await _verify(Change(entry.kind, entry.target, entry.old))
                done[key] = f"{entry.kind} {entry.target}: {found} -> {entry.old}"
            except SettingsError as error:
                problems[key] = f"{error.title} ({error.cause})"
        if not problems:
            return tuple(done.values())
    raise SettingsError(
        "settings could not be put back", "; ".join(problems.values()), "run linkladder again as root, or reboot"
    )
