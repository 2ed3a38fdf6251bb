"""Experiments whose settings would change nothing here: a machine does not have them, or has them already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkladder import units
from linkladder.model import End, Experiment, HostFacts, Path, Rung, Setting, SettingKind
from linkladder.model.same_setting import once_more


def in_vain(rung: Rung, paths: Sequence[Path], facts: Mapping[str, HostFacts]) -> dict[str, str]:
    """The rung's experiments that would change nothing on any of its paths; `facts` by peer, of this end under ''."""
    if not any(e.settings or e.cores for e in rung.experiments):
        return {}
    each = [
        left_out(rung.experiments, path, {End.NEAR: facts[path.origin], End.FAR: facts[path.peer]})
        for path in paths
        if path.origin in facts and path.peer in facts
    ]
    return {name: why for name, why in each[0].items() if all(name in one for one in each)} if each else {}


def left_out(experiments: Sequence[Experiment], path: Path, facts: Mapping[End, HostFacts]) -> dict[str, str]:
    """Which experiments are left out, by id, and why; those that then have nothing to be compared with go too."""
    why = {e.id: said for e in experiments if (said := _in_vain(e, path, facts))}
    by_id = {e.id: e for e in experiments}
    compared = [(e, by_id[e.baseline]) for e in experiments if e.baseline in by_id]
    wanted = {base.id for e, base in compared if e.id not in why and base.id not in why and not once_more(e, base)}
    lone = {one.id for pair in compared for one in pair if pair[1].id not in wanted}
    return dict.fromkeys(lone, "nothing is left to compare it with") | why


def _in_vain(exp: Experiment, path: Path, facts: Mapping[End, HostFacts]) -> str:
    """Why a setting cannot change anything: too few cores, no such setting, or it has that value everywhere already."""
    small = next((host for host in facts.values() if exp.cores and host.cores and exp.cores > host.cores), None)
    if small:
        return f"{small.name} has {units.plural(small.cores, 'core')}"
    settings = exp.settings
    there: list[str] = []
    acts = False
    for setting in settings:
        for end in setting.ends:
            host = facts[end]
            adapter, present = _present(setting, end, path, host)
            if present is None:
                return f"{adapter} of {host.name} has no {setting.kind}"
            acts = acts or present != setting.value
            there.append(f"{setting.kind} of {adapter} at {host.name} is {present} already")
    return "" if acts or not settings else "; ".join(there)


def _present(setting: Setting, end: End, path: Path, host: HostFacts) -> tuple[str, str | None]:
    """The adapter of the path at this end, and what it has; an adapter that is not told of is left to the lease."""
    name, address = (path.local_interface, path.local) if end is End.NEAR else (path.remote_interface, path.remote)
    nic = next((n for n in host.nics if n.name == name or address in n.addresses), None)
    if nic is None:
        return name or address, ""
    if setting.kind is SettingKind.MTU:
        return nic.name, str(nic.mtu)
    switch = nic.offloads.get(setting.kind)
    return nic.name, None if switch is None else "on" if switch else "off"
