"""Compares the settings that an appliance ships with those in force; `linkladder.doctor` explains the file's form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkladder import host
from linkladder.model import Nic

FILE = Path("/usr/local/share/linkladder/tunables.json")
SCHEMA = "linkladder-tunables/1"
KINDS = ("sysctl", "loader", "kernel", "rc", "ifconfig")
UNSEEN = "given to the kernel, which does not show it"
CHOSEN = "this machine's own choice"
CONGESTION = "net.inet.tcp.cc.algorithm"
# Later files win; the second and the third belong to this machine.
RC_FILES = (Path("/etc/rc.conf"), Path("/etc/rc.conf.local"), Path("/state/system/rc.conf"))
RC_LINE = re.compile(r"""^(\w+)=(["']?)(.*?)\2\s*(?:#.*)?$""", re.MULTILINE)
MOST_BUCKETS = 128  # RSS_MAXBITS in sys/net/rss_config.h; if there are more cores, they share buckets
SAME_FLAG = {"tso4": "tso"}  # ifconfig's name -> the name in facts


@dataclass(frozen=True)
class Tunable:
    """One entry of the file."""

    name: str
    kind: str
    value: str
    nic: str = ""
    why: str = ""
    memory: int = 0  # the entry is for machines with at least so many gigabytes


@dataclass(frozen=True)
class InForce:
    """A shipped setting on this machine; in_force is None if it does not apply here."""

    name: str
    shipped: str
    current: str
    in_force: bool | None
    status: (
        str  # "in force" | "refused: ..." | "not on this NIC" | "kernel lacks it" | UNSEEN | CHOSEN | "needs ... GB"
    )
    why: str = ""


def parse(text: str) -> tuple[Tunable, ...]:
    """The file's entries; raises ValueError that says which is wrong."""
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    return tuple(_entry(one, place) for place, one in enumerate(document.get("tunables", ()), 1))


def _entry(one: Any, place: int) -> Tunable:
    if not isinstance(one, dict):
        raise ValueError(f"entry {place} is no object")
    words = {key: str(one.get(key, "")) for key in ("name", "kind", "value", "nic", "why")}
    if not words["name"] or words["kind"] not in KINDS:
        raise ValueError(f"entry {place} needs a name, and a kind of {', '.join(KINDS)}")
    memory = one.get("memory", 0)
    if not isinstance(memory, int):
        raise ValueError(f"entry {place}: memory is a number of gigabytes")
    return Tunable(**words, memory=memory)


def settings_in_force(path: Path = FILE) -> tuple[InForce, ...]:
    """Whether each shipped setting is in force; () if there is no file of them."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return ()
    try:
        shipped = parse(text)
    except ValueError as error:
        return (InForce(path.name, "", "", False, f"refused: {error}"),)
    facts = host.facts()
    machine = _Machine(
        nics=tuple(nic for nic in facts.nics if not nic.loopback),
        cores=facts.cores,
        gigabytes=(facts.memory + (1 << 29)) >> 30,  # rounded as in rc.d/lltune, as 8 GB appear as a little less
        rc=_rc(),
    )
    return tuple(found for one in _meant(shipped, machine.gigabytes) for found in machine.find(one))


def _rc() -> dict[str, str]:
    """The variables in the files that rc(8) reads."""
    found: dict[str, str] = {}
    for file in RC_FILES:
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        found |= {name: value for name, _, value in RC_LINE.findall(text)}
    return found


def _meant(shipped: tuple[Tunable, ...], gigabytes: int) -> Iterator[Tunable]:
    """One entry for each name: the one for this much memory, or else the one for the least memory."""
    by_name: dict[str, list[Tunable]] = {}
    for one in shipped:
        by_name.setdefault(f"{one.kind} {one.name} {one.nic}", []).append(one)
    for alike in by_name.values():
        alike.sort(key=lambda one: one.memory)
        yield max((one for one in alike if one.memory <= gigabytes), key=lambda one: one.memory, default=alike[0])


@dataclass(frozen=True)
class _Machine:
    """What the checks need to know about this machine."""

    nics: tuple[Nic, ...]
    cores: int
    gigabytes: int
    rc: dict[str, str]

    def find(self, one: Tunable) -> Iterator[InForce]:
        if one.kind == "ifconfig" or "*" in one.name:
            on = [nic for nic in self.nics if one.nic in ("*", nic.driver)]
            if not on:
                yield InForce(one.name, one.value, "", None, "not on this NIC", one.why)
            for nic in on:
                yield self._on(nic, one)
        elif one.kind == "rc":
            yield self._chosen(one, self.rc.get(one.name))
        else:
            yield self._kernel(one)

    def _on(self, nic: Nic, one: Tunable) -> InForce:
        """Check a setting of one adapter."""
        if one.kind != "ifconfig":
            name = one.name.replace("*", nic.name.removeprefix(nic.driver), 1)
            return self._judged(one, name, host.setting("sysctl", name), "not on this NIC")
        if one.name == "mtu":
            return self._judged(one, f"{nic.name} mtu", str(nic.mtu), "not on this NIC")
        state = nic.offloads.get(SAME_FLAG.get(one.name, one.name))
        current = None if state is None else ("on" if state else "off")
        kept = self.rc.get(f"linkladder_offloads_{nic.name}", "").replace("-", "").split()
        if current and one.name.rstrip("46") in kept:
            return InForce(f"{nic.name} {one.name}", one.value, current, None, CHOSEN, one.why)
        return self._judged(one, f"{nic.name} {one.name}", current, "not on this NIC")

    def _kernel(self, one: Tunable) -> InForce:
        """Check a sysctl, or a variable that only the loader knows."""
        current = host.setting("sysctl", one.name) if "." in one.name else None
        absent = "not on this NIC" if one.nic else "kernel lacks it"
        if current is None and one.kind == "loader":
            given = host.setting("kenv", one.name)
            if given is None or "." not in one.name:
                return self._judged(one, one.name, given, absent)
            if not one.nic and self._matches(one, given):
                return InForce(one.name, one.value, given, None, UNSEEN, one.why)
        if one.memory > self.gigabytes and current is not None:
            return InForce(one.name, one.value, current, None, f"needs {one.memory} GB of memory", one.why)
        if one.name == CONGESTION and current and current == self.rc.get("linkladder_congestion"):
            return InForce(one.name, one.value, current, None, CHOSEN, one.why)
        return self._judged(one, one.name, current, absent)

    def _chosen(self, one: Tunable, current: str | None) -> InForce:
        """Check a variable of rc.conf; another value is this machine's own choice, which its own files are for."""
        if current is None or self._matches(one, current):
            return self._judged(one, one.name, current, "refused: it is in no rc.conf")
        return InForce(one.name, one.value, current, None, CHOSEN, one.why)

    def _judged(self, one: Tunable, name: str, current: str | None, absent: str) -> InForce:
        if current is None:
            return InForce(name, one.value, "", None, absent, one.why)
        if self._matches(one, current):
            return InForce(name, one.value, current, True, "in force", one.why)
        return InForce(name, one.value, current, False, f"refused: {_reason(one, name)}", one.why)

    def _matches(self, one: Tunable, current: str) -> bool:
        wanted, have = one.value.strip().strip('"'), current.strip().strip('"')
        if wanted.startswith(">="):
            least = wanted[2:].strip().replace("cores", str(min(self.cores, MOST_BUCKETS)))
            return have.isdecimal() and least.isdigit() and int(have) >= int(least)
        return wanted == have


def _reason(one: Tunable, name: str) -> str:
    """Why the shipped value is not in force, as far as that can be known."""
    if one.kind == "loader":
        given = host.setting("kenv", name)
        if given is None:
            return "the loader was not told"
        if given == one.value:
            return "the kernel or the driver took another value"
        return f"the loader was told {given}"
    if one.kind == "kernel":
        return "the kernel made fewer"
    if one.kind == "ifconfig":
        return "the driver will not, or it was switched since the boot"
    return "the kernel would not take it, or it was changed since the boot"
