"""Defines what each key of a plan file may hold, and the error text that says what was expected."""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from linkladder import units
from linkladder.model import (
    LONGEST_NAME,
    Affinity,
    Company,
    Direction,
    End,
    Layer,
    Path,
    Protocol,
    RungName,
    Setting,
    SettingKind,
)
from linkladder.model.asked import BOUNDS, KERNEL_NAME, MOST
from linkladder.model.settings import LONGEST_TRIAL, SWITCH
from linkladder.tools import TOOLS
from linkladder.verdicts import MOST_LOOKS

Check = Callable[[Any], Any]
ENDS = {"near": (End.NEAR,), "far": (End.FAR,), "both": (End.NEAR, End.FAR)}


def line(longest: int) -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str) or len(value) > longest or any(ord(c) < 32 or ord(c) == 127 for c in value):
            raise ValueError(f"expected a line of text of at most {longest} characters")
        return value

    return check


text = line(200)


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def whole(low: int, high: int) -> Check:
    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"expected a whole number from {low} to {high}")
        return value

    return check


def number(low: float, high: float) -> Check:
    def check(value: Any) -> float:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not fits or not low <= value <= high:
            raise ValueError(f"expected a number from {low:g} to {high:g}")
        return float(value)

    return check


def counted(key: str) -> Check:
    """A whole number within the bounds of an experiment's key."""
    low, high = BOUNDS[key]
    return whole(int(low), int(high))


def choice(kind: type[StrEnum]) -> Check:
    def check(value: Any) -> Any:
        try:
            return kind(value)
        except ValueError:
            raise ValueError("expected one of " + ", ".join(kind)) from None

    return check


def tool(value: Any) -> str:
    if value not in tuple(TOOLS):
        raise ValueError("expected one of " + ", ".join(TOOLS))
    return str(value)


def rate(value: Any, low: float = 1e3, high: float = 1e13) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError("expected a rate such as 10G or 950M")
    got = units.parse_rate(value)
    if not low <= got <= high:
        raise ValueError(f"expected a rate from {low / 1e3:g}k to {high / 1e12:g}T")
    return got


def udp_rate(value: Any) -> float:
    return rate(value, *BOUNDS["udp_rate_bps"])


def size(key: str) -> Check:
    """A size within the bounds of an experiment's key."""
    low, high = BOUNDS[key]

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise ValueError("expected a size such as 800k or 8M")
        got = units.parse_size(value)
        if not low <= got <= high:
            raise ValueError(f"expected a size from {units.size(low)} to {units.size(high)}")
        return got

    return check


def window(value: Any) -> int | None:
    return None if value == "default" else int(size("window")(value))


def streams(value: Any) -> int | str:
    return "auto" if value == "auto" else int(counted("streams")(value))


def two_ends(local: str, remote: str) -> None:
    """Raise ValueError if a path's two addresses, where both are known, are one, or not of one IP version."""
    if local and remote and (":" in local) != (":" in remote):
        raise ValueError(f"expected an address of the IP version of {local}, its local one")
    if local and local == remote:
        raise ValueError("expected another address than the local one")


def once_each(paths: Sequence[Path]) -> None:
    """Raise ValueError if the last of a rung's paths is one before it, which would be told as two that share it."""
    known = [_ends(path) for path in paths]
    if known and known.index(known[-1]) < len(known) - 1:
        raise ValueError(f"expected another path than path {known.index(known[-1]) + 1}, between the same addresses")


def _ends(path: Path) -> tuple[str, ...]:
    near, far = path.local or path.local_interface, path.remote or path.remote_interface
    return path.origin, near, path.peer, far


def address(value: Any) -> str:
    try:
        return str(ipaddress.ip_address(str(value)))
    except ValueError:
        raise ValueError("expected an IP address") from None


def interface(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,14}", value):
        raise ValueError("expected an interface name such as vmx1")
    return value


def cores(value: Any) -> int | str | tuple[int, ...]:
    """How many: a number or "auto". Or which ones, by number, in one text: "2,3"."""
    return "auto" if value == "auto" else some_cores(value)


def some_cores(value: Any) -> int | tuple[int, ...]:
    return units.parse_cores(value) if isinstance(value, str) else int(counted("cores")(value))


def kernel(value: Any) -> str:
    if not isinstance(value, str) or not KERNEL_NAME.fullmatch(value):
        raise ValueError("expected a kernel's name, such as generic")
    return value


def of_experiment(values: dict[str, Any]) -> dict[str, Any]:
    """The fields of an experiment for keys of INSTEAD: `cores` may say how many or which ones."""
    if "cores" not in values:
        return values
    asked = values["cores"]
    named = isinstance(asked, tuple)
    return values | {"cores": None if named else asked, "on_cores": asked if named else ()}


def many(check: Check, most: int = 0) -> Check:
    """A check that takes one value or a list of them and always returns a list, of at most `most` if that is set."""

    def inner(value: Any) -> list[Any]:
        values = value if isinstance(value, list) else [value]
        if not values:
            raise ValueError("expected at least one value")
        if most and len(values) > most:
            raise ValueError(f"expected at most {most} values, got {len(values)}")
        return [check(v) for v in values]

    return inner


def variants(value: Any) -> list[tuple[Setting, ...]]:
    """One list of settings, or several lists, each of which makes an experiment of its own."""
    several = isinstance(value, list) and value and all(isinstance(one, list) for one in value)
    return [settings(one) for one in value] if several else [settings(value)]


def steps(value: Any) -> list[dict[str, list[Any]]]:
    """The steps of a staircase in order, such as [{settings = ...}, {window = ["800k", "8M"]}, {streams = [2, 4]}]."""
    tables = value if isinstance(value, list) else [value]
    if not tables or not all(isinstance(one, dict) and one and set(one) <= set(STEPPED) for one in tables):
        raise ValueError(f'expected tables of {", ".join(STEPPED)}, such as [{{window = ["800k", "8M"]}}]')
    return [{k: variants(v) if k == "settings" else many(INSTEAD[k])(v) for k, v in one.items()} for one in tables]


def also(text: str) -> dict[str, list[Any]]:
    """One more step of a staircase, such as 'lro', 'congestion=htcp,cubic': a switch is tried on and off."""
    kind, _, values = text.partition("=")
    return {
        "settings": [settings({"kind": kind, "value": value}) for value in (values.split(",") if values else SWITCH)]
    }


def baseline(value: Any) -> bool | dict[str, Any]:
    """What to compare with: true means without the settings, {streams = 1} means with these values instead."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, dict) or not value or not set(value) <= set(INSTEAD):
        raise ValueError(f"expected true, or a table of {', '.join(INSTEAD)}, such as {{streams = 1}}")
    return {key: INSTEAD[key](one) for key, one in value.items()}


def settings(value: Any) -> tuple[Setting, ...]:
    """Settings such as [{kind = "mtu", value = 9000, ends = "both"}]; only kinds that can be restored are allowed."""
    found = tuple(_setting(one) for one in (value if isinstance(value, list) else [value]))
    touched = [(setting.kind, end) for setting in found for end in setting.ends]
    if len(touched) != len(set(touched)) or not found:
        raise ValueError("expected each kind once an end")
    if len(found) > MOST["settings"]:
        raise ValueError(f"expected at most {MOST['settings']} settings at once, got {len(found)}")
    return found


def _setting(value: Any) -> Setting:
    timed = {"from", "until"} if isinstance(value, dict) and value.get("kind") == SettingKind.MEMBER else set()
    if not isinstance(value, dict) or not {"kind", "value"} | timed <= set(value) <= {"kind", "value", "ends"} | timed:
        if timed:
            raise ValueError('expected tables such as {kind = "member", value = 2, from = 5, until = 9}')
        raise ValueError('expected tables such as {kind = "mtu", value = 9000, ends = "both"}')
    if value["kind"] not in tuple(SettingKind):
        raise ValueError(f"kind: expected one of {', '.join(SettingKind)}, as only those are sure to be put back")
    if value.get("ends", "both") not in tuple(ENDS):  # compared one by one, as a list has no place in a table
        raise ValueError(f"ends: expected one of {', '.join(ENDS)}")
    switch = {True: "on", False: "off"}.get(value["value"]) if isinstance(value["value"], bool) else None
    when = [number(0, LONGEST_TRIAL)(value[key]) for key in ("from", "until") if key in timed]
    made = Setting(SettingKind(value["kind"]), switch or str(value["value"]), ENDS[value.get("ends", "both")], *when)
    if made.wrong:
        raise ValueError(f"value: {made.wrong} for {made.kind}")
    return made


CONTRACT: dict[str, tuple[str, Check]] = {
    "port": ("port_bps", rate),
    "rate": ("rate_bps", rate),
    "shared": ("shared_bps", rate),
    "layer": ("layer", choice(Layer)),
    "fcs": ("fcs", flag),
    "mtu": ("mtu", whole(576, 65535)),
    "vlan_tags": ("vlan_tags", whole(0, 2)),
    "encapsulation_bytes": ("encap_bytes", whole(0, 200)),
    "ip_version": ("ip_version", whole(4, 6)),
    "dscp": ("dscp", counted("dscp")),
    "timestamps": ("timestamps", flag),
    "pass": ("pass_ratio", number(0.5, 1.0)),
    "circuit": ("circuit", text),
    "expected_rtt_ms": ("expected_rtt_ms", number(0.001, 10_000)),
    "loss_percent": ("loss_percent", number(0, 100)),
    "delay_ms": ("delay_ms", number(0.001, 10_000)),
    "jitter_ms": ("jitter_ms", number(0.001, 10_000)),
    "availability_percent": ("availability_percent", number(0, 100)),
}

PATH: dict[str, tuple[str, Check]] = {
    "local": ("local", address),
    "remote": ("remote", address),
    "peer": ("peer", text),
    "interface": ("local_interface", interface),
    "remote_interface": ("remote_interface", interface),
    "from": ("origin", text),
}

SIDE: dict[str, tuple[str, Check]] = {
    "address": ("address", address),
    "interface": ("interface", interface),
    "site": ("site", text),
}

EXPERIMENT: dict[str, Check] = {
    "rungs": many(choice(RungName)),
    "tool": tool,
    "protocol": choice(Protocol),
    "streams": many(streams),
    "window": many(window),
    "write_size": size("write_size"),
    "direction": many(choice(Direction)),
    "duration": number(*BOUNDS["duration"]),
    "warmup": number(*BOUNDS["warmup"]),
    "repeats": whole(1, 100),
    "at_most": whole(2, MOST_LOOKS),
    "contend": flag,
    "udp_rate": many(udp_rate),
    "udp_percent": many(number(1, 200)),
    "request": counted("request"),
    "response": counted("response"),
    "sessions": many(counted("sessions")),
    "count": whole(1, 10_000),
    "interval": number(*BOUNDS["interval"]),
    "sizes": many(counted("sizes"), MOST["sizes"]),
    "dscp": counted("dscp"),
    "ping_under_load": flag,
    "label": line(LONGEST_NAME),
    "incompressible": flag,
    "zero_copy": flag,
    "cores": many(cores),
    "affinity": many(choice(Affinity)),
    "kernel": kernel,
    "settings": variants,
    "client_port": many(counted("client_port")),
    "baseline": baseline,
    "control": flag,
    "steps": steps,
    "company": many(choice(Company)),
}

INSTEAD: dict[str, Check] = {
    "tool": tool,
    "streams": counted("streams"),
    "window": window,
    "write_size": size("write_size"),
    "sessions": counted("sessions"),
    "cores": some_cores,
    "affinity": choice(Affinity),
    "kernel": kernel,
    "settings": lambda value: settings(value) if value else (),
}

STEPPED = tuple(key for key in INSTEAD if key != "kernel")  # a step is tried beside the best so far, within one boot

EVERY_TOOLS = frozenset({"rungs", "tool", "protocol", "direction", "repeats", "at_most", "dscp", "label", "cores"})
EVERY_TOOLS |= {"affinity", "kernel"}
EVERY_TOOLS |= {"settings", "baseline", "control", "company", "steps", "contend"}
