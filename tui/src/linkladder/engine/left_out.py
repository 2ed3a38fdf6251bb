"""Experiments whose settings would change nothing here: a machine does not have them, or has them already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkladder.model import End, Experiment, HostFacts, Path, Rung, Setting, SettingKind


def in_vain(rung: Rung, paths: Sequence[Path], facts: Mapping[str, HostFacts]) -> dict[str, str]:
    """The rung's experiments that would change nothing on any of its paths; `facts` by peer, of this end under ''."""
    if not any(e.settings for e in rung.experiments):
        return {}
    each = [
        left_out(rung.experiments, path, {End.NEAR: facts[path.origin], End.FAR: facts[path.peer]})
        for path in paths
        if path.origin in facts and path.peer in facts
    ]
    return {name: why for name, why in each[0].items() if all(name in one for one in each)} if each else {}


def left_out(experiments: Sequence[Experiment], path: Path, facts: Mapping[End, HostFacts]) -> dict[str, str]:
    """By id, why; a baseline with which nothing is compared any more goes with what it was for."""
    why = {e.id: said for e in experiments if (said := _in_vain(e.settings, path, facts))}
    baselines = {e.baseline for e in experiments if e.baseline}
    wanted = {e.baseline for e in experiments if e.baseline and e.id not in why}
    return why | dict.fromkeys(baselines - wanted, "nothing is left to compare it with")


def _in_vain(settings: Sequence[Setting], path: Path, facts: Mapping[End, HostFacts]) -> str:
    """Why these cannot act: the first that an end lacks, or that all of them are so already."""
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
    return "" if acts else "; ".join(there)


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
