"""The settings that an appliance ships, held against what is in force; the file's form is in `linkladder.doctor`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkladder import host
from linkladder.model import Nic

FILE = Path("/usr/local/share/linkladder/tunables.json")
SCHEMA = "linkladder-tunables/1"
KINDS = ("sysctl", "loader", "ifconfig")
UNSEEN = "given to the kernel, which does not show it"
SAME_FLAG = {"tso4": "tso"}  # ifconfig's word, and the one that facts use


@dataclass(frozen=True)
class Tunable:
    """One entry of the file."""

    name: str
    kind: str
    value: str
    nic: str = ""
    why: str = ""


@dataclass(frozen=True)
class InForce:
    """A shipped setting on this machine; in_force is None where it does not apply."""

    name: str
    shipped: str
    current: str
    in_force: bool | None
    status: str  # "in force" | "refused: ..." | "not on this NIC" | "kernel lacks it" | UNSEEN
    why: str = ""


def parse(text: str) -> tuple[Tunable, ...]:
    """The file's entries; ValueError says which is wrong."""
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
    return Tunable(**words)


def settings_in_force(path: Path = FILE) -> tuple[InForce, ...]:
    """What has become of each shipped setting; () where nothing ships any."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return ()
    try:
        shipped = parse(text)
    except ValueError as error:
        return (InForce(path.name, "", "", False, f"refused: {error}"),)
    nics = tuple(nic for nic in host.facts().nics if not nic.loopback)
    return tuple(found for one in shipped for found in _find(one, nics))


def _find(one: Tunable, nics: tuple[Nic, ...]) -> Iterator[InForce]:
    if one.kind == "ifconfig" or "*" in one.name:
        on = [nic for nic in nics if one.nic in ("*", nic.driver)]
        if not on:
            yield InForce(one.name, one.value, "", None, "not on this NIC", one.why)
        for nic in on:
            yield _compare(one, nic)
    else:
        current = host.setting("sysctl", one.name)
        if current is None and one.kind == "loader" and not one.nic and host.setting("kenv", one.name) is not None:
            yield InForce(one.name, one.value, "", None, UNSEEN, one.why)
        else:
            yield _judged(one, one.name, current, "not on this NIC" if one.nic else "kernel lacks it")


def _compare(one: Tunable, nic: Nic) -> InForce:
    if one.kind != "ifconfig":
        name = one.name.replace("*", nic.name.removeprefix(nic.driver), 1)
        return _judged(one, name, host.setting("sysctl", name), "not on this NIC")
    if one.name == "mtu":
        return _judged(one, f"{nic.name} mtu", str(nic.mtu), "not on this NIC")
    state = nic.offloads.get(SAME_FLAG.get(one.name, one.name))
    current = None if state is None else ("on" if state else "off")
    return _judged(one, f"{nic.name} {one.name}", current, "not on this NIC")


def _judged(one: Tunable, name: str, current: str | None, absent: str) -> InForce:
    if current is None:
        return InForce(name, one.value, "", None, absent, one.why)
    if _matches(one.value, current):
        return InForce(name, one.value, current, True, "in force", one.why)
    return InForce(name, one.value, current, False, f"refused: {current} is in force", one.why)


def _matches(shipped: str, current: str) -> bool:
    wanted, have = shipped.strip().strip('"'), current.strip().strip('"')
    if wanted.startswith(">="):
        least = wanted[2:].strip()
        return have.isdigit() and least.isdigit() and int(have) >= int(least)
    return wanted == have
