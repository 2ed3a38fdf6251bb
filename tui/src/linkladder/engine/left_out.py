"""Finds experiments that are left out: their settings would change nothing here, because a machine lacks them or
already has them, or they load more paths at once than there are ports for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from linkladder import phrases, tools, units
from linkladder.errors import UsageError
from linkladder.model import (
    FEWEST_CARDS,
    MOST_CARDS,
    Affinity,
    End,
    Experiment,
    HostFacts,
    Path,
    Plan,
    Rung,
    RungName,
    Setting,
    Stair,
)
from linkladder.model.same_setting import identity, once_more
from linkladder.plan import next_step
from linkladder.tools import ToolVersions

NAME_CORES = "name cores that each end has, or say how many, such as cores = 2"


def refuse_absent_cores(plan: Plan, facts: Mapping[str, HostFacts]) -> None:
    """Raise UsageError if the plan names cores that one of these ends does not have; `facts` are by peer, '' being this
    end.
    """
    for rung in plan.rungs:
        for e in rung.experiments:
            for host in _hosts(rung, facts):
                if why := _no_core(e, host):
                    raise UsageError(f"{e.id} cannot be measured on {rung.name}", why, NAME_CORES)


def refuse_too_many_cores(plan: Plan, facts: Mapping[str, HostFacts]) -> None:
    """Raise UsageError if the plan asks for more cores than any end of a rung has whose ends are all known.

    A run leaves such trials out, as it does those for which one of its ends has too few.
    """
    for rung in plan.rungs:
        hosts = _hosts(rung, facts) if ends_known(rung, facts) else []
        most = max((host.cores for host in hosts), default=0)
        for e in rung.experiments:
            if most and e.cores and e.cores > most:
                has = " and ".join(f"{host.name} has {units.plural(host.cores, 'core')}" for host in hosts)
                raise UsageError(f"{e.id} cannot be measured on {rung.name}", f"{has}, not {e.cores}", NAME_CORES)


def _hosts(rung: Rung, facts: Mapping[str, HostFacts]) -> list[HostFacts]:
    ends = dict.fromkeys(name for path in rung.paths for name in (path.origin, path.peer) if name in facts)
    return [facts[name] for name in ends]


def ends_known(rung: Rung, facts: Mapping[str, HostFacts]) -> bool:
    """Whether the facts of each end of the rung's paths are known, and who these are."""
    named = rung.name is RungName.LOCALHOST or all(path.peer for path in rung.paths)
    return named and all(name in facts for path in rung.paths for name in (path.origin, path.peer))


def too_few_cores(experiments: Sequence[Experiment], hosts: Sequence[HostFacts]) -> dict[str, str]:
    """The experiments for which one of these ends has not as many cores as it may use, and which."""
    small = {e.id: next((host for host in hosts if e.cores and host.cores and e.cores > host.cores), None)
             for e in experiments}  # fmt: skip
    return {name: f"{host.name} has {units.plural(host.cores, 'core')}" for name, host in small.items() if host}


def without_effect(rung: Rung, paths: Sequence[Path], facts: Mapping[str, HostFacts]) -> dict[str, str]:
    """The rung's experiments that would change nothing on any of its paths; `facts` are by peer, '' being this end."""
    crowded = without_room(rung, paths)
    if not any(
        e.settings or e.cores or e.on_cores or e.affinity is not Affinity.FREE or e.baseline for e in rung.experiments
    ):
        return crowded
    each = [
        left_out(rung.experiments, path, {End.NEAR: facts[path.origin], End.FAR: facts[path.peer]})
        for path in paths
        if path.origin in facts and path.peer in facts
    ]
    found = {name: why for name, why in each[0].items() if all(name in one for one in each)} if each else {}
    cards = sum((path.origin, path.peer) == (paths[0].origin, paths[0].peer) for path in paths)
    if not FEWEST_CARDS <= cards <= MOST_CARDS:
        said = f"a bundle takes {FEWEST_CARDS} to {MOST_CARDS} cards, and this rung has {units.plural(cards, 'path')}"
        found |= {e.id: said for e in rung.experiments if e.bundled and e.id not in found}
    for e in rung.experiments:
        beyond = next((one for one in e.settings if one.of_member and e.bundled and int(one.value) > cards), None)
        if beyond and e.id not in found:
            found[e.id] = f"the bundle of this rung's {units.plural(cards, 'path')} has no member {beyond.value}"
    return found | crowded


def without_vain_steps(
    rung: Rung, paths: Sequence[Path], facts: Mapping[str, HostFacts]
) -> tuple[Rung, dict[str, str]]:
    """The rung whose staircases try nothing later that would change nothing here, or that the tool cannot do; and what
    that is, in words, with why.
    """
    found: dict[str, str] = {}

    def vain(e: Experiment, stair: Stair) -> bool:
        arms, _ = next_step(Stair(stair.first, ((e,),)), stair.first)
        gone = without_effect(replace(rung, experiments=arms), paths, facts)
        found.update(
            (f"{phrases.difference(e, stair.first)}, {phrases.way(e.direction)}", gone[arm.id])
            for arm in arms[1:]
            if arm.id in gone
        )
        return any(arm.id in gone for arm in arms)

    stairs = (
        replace(stair, steps=tuple(tuple(e for e in step if not vain(e, stair)) for step in stair.steps))
        for stair in rung.stairs
    )
    return replace(rung, stairs=tuple(stairs)), found


def without_room(rung: Rung, paths: Sequence[Path]) -> dict[str, str]:
    """The rung's experiments that load more paths at once than there are test ports for."""
    found, most = {}, len(tools.TEST_PORTS)
    for e in rung.experiments:
        several = len(e.paths or paths)
        if several > 1 and (needed := several * tools.ports_of(e)) > most:
            found[e.id] = f"{several} paths at once take {needed} ports, and there are {most}"
    return found


def left_out(experiments: Sequence[Experiment], path: Path, facts: Mapping[End, HostFacts]) -> dict[str, str]:
    """The ids of the experiments left out, with reasons; experiments that lose their baseline are left out too, and
    baselines that nothing is left for, except where so many cores are a question by themselves.
    """
    why = {e.id: said for e in experiments if (said := _why_no_effect(e, path, facts))}
    why |= _doubled([e for e in experiments if e.id not in why], path, facts)
    by_id = {e.id: e for e in experiments}
    compared = [(e, by_id[e.baseline]) for e in experiments if e.baseline in by_id]
    wanted = {base.id for e, base in compared if e.id not in why and base.id not in why and not once_more(e, base)}
    lone = {one.id for e, base in compared if base.id not in wanted for one in (e, *[base] * (not base.cores))}
    return dict.fromkeys(lone, "nothing is left to compare it with") | why


def _doubled(experiments: Sequence[Experiment], path: Path, facts: Mapping[End, HostFacts]) -> dict[str, str]:
    """Arms that would change no more than an earlier one does, as the rest of what they set is there already."""
    first: dict[tuple[object, ...], str] = {}
    found: dict[str, str] = {}
    for e in experiments:
        if not e.baseline or not e.settings:
            continue
        acts = frozenset(
            (setting.kind, end, setting.value, setting.since, setting.until)
            for setting in e.settings
            for end in setting.ends
            if setting.of_bundle or setting.of_member or _present(setting, end, path, facts[end])[1] != setting.value
        )
        other = first.setdefault((e.baseline, identity(replace(e, settings=())), acts), e.id)
        if other != e.id:
            found[e.id] = f"here it would change no more than {other} does"
    return found


def _why_no_effect(exp: Experiment, path: Path, facts: Mapping[End, HostFacts]) -> str:
    """Why an arm cannot change anything: no tool does it, too few cores, no such setting, or it is so already."""
    if exp.baseline and (said := _impossible(exp, facts)):
        return said
    if said := too_few_cores([exp], [*facts.values()]).get(exp.id, ""):
        return said
    if said := next((said for host in facts.values() if (said := _no_core(exp, host))), ""):
        return said
    if exp.affinity is Affinity.SIBLINGS_IDLE and (said := _no_siblings(facts)):
        return said
    if exp.affinity in (Affinity.BESIDE, Affinity.AWAY) and (said := _nowhere(exp.affinity, path, facts)):
        return said
    settings = exp.settings
    there: list[str] = []
    acts = False
    for setting in settings:
        for end in setting.ends:
            host = facts[end]
            if said := setting.refused(host):
                return said
            if setting.of_bundle or setting.of_member:
                acts = True
                if setting.of_member and not exp.bundled and (said := _no_member(setting, end, path, host)):
                    return said
                continue
            adapter, present = _present(setting, end, path, host)
            if present is None:
                return f"{adapter} of {host.name} has no {setting.lacked}"
            acts = acts or present != setting.value
            there.append(f"{setting.kind} of {adapter} at {host.name} is {present} already")
    return "" if acts or not settings else "; ".join(there)


def _no_core(exp: Experiment, host: HostFacts) -> str:
    """Which named cores a host lacks; '' where it has them all, or does not tell which it has."""
    there = tuple(sorted(core for threads in host.threads for core in threads))
    lacking = tuple(core for core in exp.on_cores if core not in there) if there else ()
    has = f"core{'' if len(there) == 1 else 's'} {units.core_list(there)}"
    return f"{host.name} has {has}, not {units.core_list(lacking)}" if lacking else ""


def _no_siblings(facts: Mapping[End, HostFacts]) -> str:
    """Why no hyperthread can be left idle; '' where at least one end has some."""
    silent = next((host for host in facts.values() if not host.threads), None)
    if silent:
        return f"{silent.name} does not tell which of its cores are hyperthreads"
    without = [host.name for host in facts.values() if all(len(threads) < 2 for threads in host.threads)]
    return (
        "; ".join(f"{name} has no hyperthreads" for name in dict.fromkeys(without))
        if len(without) == len(facts)
        else ""
    )


def _impossible(exp: Experiment, facts: Mapping[End, HostFacts]) -> str:
    """Why the tool cannot do an arm at these ends; '' where it can, or where nothing is known of its versions."""
    near, far = (ToolVersions(facts[end].tools, facts[end].os) for end in (End.NEAR, End.FAR))
    if not near.found or not far.found:
        return ""
    try:
        tools.layout(exp, near, far)
    except tools.Unavailable as error:
        return str(error)
    return ""


def _no_member(setting: Setting, end: End, path: Path, host: HostFacts) -> str:
    """Why no bundle member can be taken down there while others stand in; unknown adapters are left to the lease to
    check.
    """
    nic = host.card(*path.side(end))
    if nic is None or (nic.bundle and int(setting.value) <= len(nic.bundle.members)):
        return ""
    has = units.plural(len(nic.bundle.members), "member") if nic.bundle else "no members: it is no bundle"
    return f"{nic.name} of {host.name} has {has}"


def _nowhere(affinity: Affinity, path: Path, facts: Mapping[End, HostFacts]) -> str:
    """Why a tool cannot be pinned there: the cores that serve the adapter are unknown, or they are all cores."""
    full = []
    for end, host in facts.items():
        nic = host.card(*path.side(end))
        if nic is None or not nic.queue_cores:
            return f"{nic.name if nic else 'the adapter'} of {host.name} does not tell which cores serve its queues"
        if len(nic.queue_cores) >= host.cores:
            full.append(f"every core of {host.name} serves a queue of {nic.name}")
    # Beside the queues at one end alone is a place; where all cores are beside them at both, it is the tool left free.
    return "; ".join(full) if affinity is Affinity.AWAY or len(full) == len(facts) else ""


def _present(setting: Setting, end: End, path: Path, host: HostFacts) -> tuple[str, str | None]:
    """The adapter of the path at this end, and what it has; unknown adapters are left to the lease to check."""
    if setting.of_machine:
        return "the kernel", setting.in_force(host)
    nic = host.card(*path.side(end))
    return ("the adapter", "") if nic is None else (nic.name, setting.on(nic))
