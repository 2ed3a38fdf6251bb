"""Names experiments: readable, and different for any two that differ in more than a label or how often they run."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from itertools import count
from typing import Any

from linkladder import phrases, tools, units
from linkladder.model import LONGEST_NAME, Affinity, Company, Direction, Experiment, Protocol

_LONGEST_DIFFERENCE = 40  # beyond it a number says that two are different ones
_READABLE = 80  # beyond it a number says how many settings there are; the rest is for what tells paths and alike apart
_OF_A_NAME = {"id", "repeats", "begins"}  # what two experiments may differ in and still be one
_FIELDS = tuple(f.name for f in fields(Experiment) if f.name not in _OF_A_NAME)


def name_of(exp: Experiment) -> str:
    """A readable name from the keys that usually differ; `named_apart` adds what else differs if two get the same."""
    settings = [setting.label for setting in exp.settings]
    name = _joined(exp, settings)
    return name if len(name) <= _READABLE or len(settings) < 2 else _joined(exp, [f"{len(settings)}-settings"])


def fitting(name: str) -> str:
    """The name, or its beginning and eight digits made of the whole of it if it is longer than an end accepts."""
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}-{zlib.crc32(name.encode()):08x}"


def _joined(exp: Experiment, settings: list[str]) -> str:
    parts = list(tools.named(exp.tool).label(exp))
    if exp.udp_rate_bps:
        parts.append(units.rate(exp.udp_rate_bps).replace("b/s", "").replace(" ", ""))
    elif exp.protocol == Protocol.TCP:
        parts.append(phrases.window(exp.window))
    if exp.write_size and exp.protocol == Protocol.TCP:
        parts.append(f"writes{phrases.window(exp.write_size)}")
    if exp.zero_copy:
        parts.append("zerocopy")
    if exp.cores:
        parts.append(f"{exp.cores}c")
    if exp.on_cores:
        parts.append("cores" + units.core_list(exp.on_cores).replace(",", "+"))
    if exp.affinity is not Affinity.FREE:
        parts.append(exp.affinity.value)
    if exp.kernel:
        parts.append(f"kernel-{exp.kernel}")
    if exp.client_port:
        parts.append(f"from{exp.client_port}")
    if exp.incompressible:
        parts.append("incompressible")
    if exp.label:
        parts.append(exp.label.replace(" ", "-").replace("/", "-"))
    parts += settings
    if exp.protocol != Protocol.ECHO or exp.direction != Direction.FORWARD:
        parts.append(exp.direction.value)
    if exp.company is not Company.ALL:
        parts.append(exp.company.value)
    return "-".join(parts)


def named_apart(
    known: Iterable[Experiment],
    more: Iterable[Experiment],
    same: Callable[[Experiment, Experiment], Experiment] = lambda _, new: new,
) -> tuple[Experiment, ...]:
    """The experiments `known`, whose names stay, then `more`; a name that is taken gets what differs added to it.

    An experiment of `more` that is known already is not added again: `same` makes one of the two. An arm in `more`
    comes after its baseline, and names it by the name that the baseline gets. An end accepts all the names.
    """
    found = {e.id: e for e in known}
    there = {_asked(e): e.id for e in found.values()}
    renamed: dict[str, str] = {}
    for e in more:
        e = replace(e, baseline=renamed.get(e.baseline, e.baseline))
        wish, e = e.id, replace(e, id=fitting(e.id))
        name = there.get(_asked(e)) or next(n for n in map(fitting, _names(e, found)) if n not in found)
        renamed[wish] = there[_asked(e)] = name
        e = replace(e, id=name)
        found[name] = same(found[name], e) if name in found else e
    return tuple(found.values())


def _names(e: Experiment, found: dict[str, Experiment]) -> Iterable[str]:
    """Names to try, the shortest first."""
    yield e.id
    keys = (key for key in _FIELDS if key != "baseline" and getattr(e, key) != getattr(found[e.id], key))
    differs = "-".join(_words(key, getattr(e, key)) for key in keys)
    if differs and len(differs) <= _LONGEST_DIFFERENCE:
        yield f"{e.id}-{differs}"
    yield from (f"{e.id}-{number}" for number in count(2))


def _asked(e: Experiment) -> tuple[object, ...]:
    return tuple(getattr(e, key) for key in _FIELDS)


def _words(key: str, value: Any) -> str:
    """Such as '60s', 'dscp46', 'response7000', 'no-ping-under-load', 'default-write-size'."""
    word = key.removesuffix("_bps").replace("_", "-")
    if key == "duration":
        return f"{value:.12g}s"
    if value is None:
        return f"default-{word}"
    if value is False or value in ((), ""):
        return f"no-{word}"
    if value is True:
        return word
    if isinstance(value, tuple):
        return "-".join((word, *(getattr(one, "label", str(one)) for one in value)))
    if key in ("window", "write_size"):
        return word + phrases.window(value)
    return word + (f"{value:.12g}" if isinstance(value, float) else str(value).replace(" ", "-").replace("/", "-"))
