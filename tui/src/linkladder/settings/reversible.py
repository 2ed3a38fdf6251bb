"""Reads, makes and reverses changes; reading needs no privilege, the rest goes through the privileged helper."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from linkladder import host, privilege
from linkladder.errors import EnvironmentFault
from linkladder.model import BUNDLES, Setting, SettingKind
from linkladder.model.settings import FREEBSD, moderation
from linkladder.settings.journal import ACCEPT, Entry

FLAGS = ("tso", "tso6", "lro", "gso", "gro", "rxcsum", "txcsum", "rxcsum6", "txcsum6")
OF_QUEUES = ("queues", "ring", "queue-core")
OF_ADAPTERS = ("mtu", "moderation", *OF_QUEUES, "flag", "member", "lagg")
UP, DOWN = "up", "down"
PASSES = 4  # rounds of restoring, as one setting may need another or change it; the last one finds all as before


@dataclass(frozen=True)
class Change:
    """One setting and its wanted value; made by mtu(), flag(), bundle(), member_down() or sysctl()."""

    kind: str  # of OF_ADAPTERS, "sysctl" or "module", as in host.setting()
    target: str
    value: str

    def __str__(self) -> str:
        return f"{self.kind} {self.target} {self.value}"


def mtu(interface: str, size: int) -> Change:
    return Change("mtu", interface, str(size))


def flag(interface: str, name: str, on: bool) -> Change:
    """The change of an offload: tso, lro, rxcsum, txcsum, and gso and gro on Linux."""
    return Change("flag", f"{interface}:{name}", "on" if on else "off")


def on_adapter(setting: Setting, interface: str) -> Change:
    """The change that an experiment's setting means for one adapter of a path."""
    if setting.kind in (SettingKind.MODERATION, *OF_QUEUES):
        return Change(setting.kind.value, interface, setting.value)
    return mtu(interface, setting.mtu) if setting.mtu else flag(interface, setting.kind, setting.value == "on")


def bundle(setting: Setting, interfaces: Sequence[str]) -> Change:
    """Make the adapters one bundle. This must be their last change, as a bundle fixes their MTU."""
    return Change("lagg", ",".join(interfaces), setting.value)


def member_down(interface: str) -> Change:
    """Take a member of a bundle down, which is done during a trial."""
    return Change("member", interface, DOWN)


def of_machine(setting: Setting) -> tuple[Change, ...]:
    """The changes that an experiment's setting means for this machine's kernel, which may need a module first."""
    system = host.system()
    if not (name := setting.sysctl(system)):
        raise SettingsError(f"{system} has no {setting.kind} that could be set", "", "leave that setting out")
    change = sysctl(name, setting.in_kernel(system, host.setting("sysctl", name) or ""))
    module = setting.module(system)
    if module and host.setting("module", module) == "off":
        return Change("module", module, "on"), change
    return (change,)


def sysctl(name: str, value: str | int) -> Change:
    return Change("sysctl", name, " ".join(str(value).split()))


class SettingsError(EnvironmentFault):
    """A setting could not be changed or restored."""


class NotPutBack(SettingsError):
    """Settings that a loan changed are not as before, or nobody can tell; no run starts until they are."""

    def __init__(self, why: str) -> None:
        hint = f"bring back what is missing, or restart; if they are right as they are: {ACCEPT}"
        super().__init__("settings could not be put back", why, hint)


def present(changes: Sequence[Change]) -> tuple[Entry, ...]:
    """The present values of all settings to change, and of the other offloads that may change with one."""
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


async def make(change: Change) -> None:
    await _set(change.kind, change.target, change.value)


async def verify(change: Change) -> None:
    """Read a change back; raises SettingsError if it is not in force."""
    found = await asyncio.to_thread(host.setting, change.kind, change.target)
    if found != change.value:
        raise SettingsError(
            f"{change.kind} {change.target} did not take {change.value}", f"it reads back as {found or 'nothing'}"
        )


async def put_back(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Restore old values in reverse order, except those that are in force already; returns what was restored.

    It is over when every value is found as before in one round, as restoring one may change another that was right.
    What cannot be read is not taken for restored, whatever is the reason.
    """
    done: dict[tuple[str, str], str] = {}
    problems: dict[tuple[str, str], str] = {}
    for _ in range(PASSES):
        problems.clear()
        for entry in reversed(entries):
            found = await read(entry)
            if found == entry.old:
                continue
            if found is None and (gone := missing(entry)):
                problems["gone", gone] = f"{gone} is not there, so nobody can tell what its settings are"
                continue
            key = (entry.kind, entry.target)
            try:
                await _set(entry.kind, entry.target, entry.old)
                await verify(Change(entry.kind, entry.target, entry.old))
                done.setdefault(key, f"{entry.kind} {entry.target}: {found} -> {entry.old}")
                problems[key] = f"{entry.kind} {entry.target} does not stay {entry.old}: it was {found} again"
            except SettingsError as error:
                problems[key] = f"{error.title} ({error.cause})"
        if not problems:
            return tuple(done.values())
    raise NotPutBack("; ".join(problems.values()))


async def read(entry: Entry) -> str | None:
    return await asyncio.to_thread(host.setting, entry.kind, entry.target)


def missing(entry: Entry) -> str:
    """The adapter of a setting that is not there; '' if all are, or if it is no adapter's setting.

    One whose queues were changed may be detached, and is brought back by the same verb that changed them.
    """
    detached = entry.kind in OF_QUEUES and host.system() == FREEBSD
    names = entry.target.partition(":")[0].split(",") if entry.kind in OF_ADAPTERS and not detached else []
    there = {name for _, name in socket.if_nameindex()}
    return next((name for name in names if name not in there), "")


async def _set(kind: str, target: str, value: str) -> None:
    done = await privilege.run(*request(kind, target, value))
    if not done.ok:
        raise SettingsError(f"{kind} {target} could not be set to {value}", done.reason)


def request(kind: str, target: str, value: str) -> tuple[str, ...]:
    """The helper's verb and arguments for a change."""
    if kind == "flag":
        interface, _, name = target.partition(":")
        return ("iface-flags", interface, name if value == "on" else f"-{name}")
    if kind == "lagg":
        return ("lagg", "join", value, *target.split(",")) if value in BUNDLES else ("lagg", "part")
    if kind == "moderation" and (found := moderation(target)) and host.system() == FREEBSD:
        return ("sysctl", found.name, found.value(value))
    return (kind, target, value)
