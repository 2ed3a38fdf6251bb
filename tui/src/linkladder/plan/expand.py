"""Multiplies experiments out, puts their trials in order and estimates how long they take."""

from __future__ import annotations

import math
import random
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from linkladder import tools
from linkladder.model import (
    Affinity,
    Company,
    Contract,
    Direction,
    Experiment,
    Plan,
    Protocol,
    Rung,
    RungName,
    Setting,
    SettingKind,
    Stair,
)
from linkladder.model.asked import BOTH_WAYS, BOUNDS
from linkladder.model.settings import SWITCH
from linkladder.plan.fields import of_experiment
from linkladder.plan.naming import name_of, named_apart
from linkladder.plan.stairs import next_step

FIRST = {Protocol.DF: 0, Protocol.ECHO: 1}  # a lost large packet and the idle round trip are looked at before any load
SEARCH, MOST_SEARCHES = 20.0, 2  # seconds to find a generator's strongest settings if they are not known
HOUR = 3600.0  # the longest trial in seconds, so that its results in memory stay small even in a soak
DISCARDED = 1.0  # seconds of uncounted load before a trial whose adapters have just restarted
AGAIN = "again"  # label of a comparison's first arm measured a second time
OTHER = "other"  # than what is asked for
BOOT = 90.0  # seconds that a restart is expected to take
ORDINARY = "kernel"  # the appliance's own, which runs after every boot for which no other is asked
MOST_STREAMS = int(BOUNDS["streams"][1])
LONG_WAY_MS, LONG_WARMUP = 20.0, 5.0  # round trip above which the warm-up takes so many seconds
OVERHEAD = 1.0  # seconds that a trial needs besides its tool: start, probe, collect


# If an experiment has one of these, it states its own load or compares loads, and no strongest settings are sought.
PINNED = frozenset(
    {"tool", "window", "write_size", "zero_copy", "cores", "affinity", "client_port", "settings", "baseline", "kernel"}
)


def _shares(contract: Contract, values: dict[str, Any]) -> list[float]:
    """The UDP rates that are asked for as percentages of what fits into the contract."""
    percents = values.pop("udp_percent", [])
    if not percents:
        return []
    from linkladder.judge import ceiling  # imported late, as loading the judge takes long

    full = ceiling(contract, Protocol.UDP, values.get("write_size")).bps
    return [full * percent / 100 for percent in percents]


def multiply(
    values: dict[str, Any], contract: Contract, cores: int, rung: RungName, to_climb: bool = False
) -> list[Experiment]:
    """One experiment for each combination of the list values, with a readable id.

    `to_climb`: each begins a staircase, which finds the best number of streams by itself.
    """
    if rung == RungName.LOCALHOST and (values.get("settings") or _lent_by_baseline(values)):
        return []  # settings of the loopback would change the whole machine
    values = dict(values)
    values["strongest"] = values.get("streams") == ["auto"] and PINNED.isdisjoint(values) and _asks_for_tcp(values)
    cores = min(cores, int(BOUNDS["cores"][1]))
    streams = values.pop("streams", [1])
    windows = values.pop("window", [None])
    sessions = values.pop("sessions", [1])
    companies = values.pop("company", [Company.ALL])
    blocks = values.pop("client_port", [None])
    confined = [n for asked in values.pop("cores", [None]) for n in (_doubling(cores) if asked == "auto" else [asked])]
    lent = values.pop("settings", [()])
    places = values.pop("affinity", [Affinity.FREE])
    if values.get("protocol") == Protocol.UDP and "write_size" not in values:
        from linkladder.judge import whole_datagram  # imported late, for the same reason

        values["write_size"] = whole_datagram(contract)  # one that is split into fragments would make no even stream
    rates = [*values.pop("udp_rate", []), *_shares(contract, values)] or [None]
    ways = _directions(values.pop("direction", [Direction.FORWARD]), rung)
    values.setdefault("dscp", contract.dscp)
    if "sizes" in values:
        values["sizes"] = tuple(values["sizes"])
    elif values.get("protocol") == Protocol.DF:
        values["sizes"] = tools.default_mtus(contract.mtu)
    long_way = rung == RungName.DC_LINK and (contract.expected_rtt_ms or 0.0) > LONG_WAY_MS
    values.setdefault("warmup", LONG_WARMUP if long_way else Experiment.warmup)
    values["contends"] = values.pop("contend", False)
    compared, control = values.pop("baseline", False), values.pop("control", False)
    instead = of_experiment({"settings": ()} if compared is True else compared or {})
    made: list[Experiment] = []
    for stream, window, session, rate, core, place, change, way, company, block in product(
        streams, windows, sessions, rates, confined, places, lent, ways, companies, blocks
    ):
        usual = usual_streams(cores, Direction.FORWARD if to_climb else way)
        load = {
            "streams": usual if stream == "auto" else stream,
            "window": window,
            "sessions": session,
            "udp_rate_bps": rate,
            "cores": core,
        }
        load |= {"client_port": block, "affinity": place}
        one = Experiment(id="", settings=change, direction=way, company=company, **of_experiment(load), **values)
        made += _arms(one, instead, control) if instead else [_divided(replace(one, id=name_of(one)))]
    return [*named_apart((), made)]


def _lent_by_baseline(values: dict[str, Any]) -> bool:
    compared = values.get("baseline")
    return isinstance(compared, dict) and bool(compared.get("settings"))


def _divided(one: Experiment) -> Experiment:
    """Split a trial that is too long, or would print more than is kept, into shorter ones that last as long in all."""
    parts = math.ceil(one.duration / min(HOUR, tools.longest(one)))
    if parts < 2 or one.member_down:  # a member goes down at one moment of a whole trial
        return one
    return replace(one, duration=one.duration / parts, repeats=one.repeats * parts, at_most=one.at_most * parts)


def _asks_for_tcp(values: dict[str, Any]) -> bool:
    return bool(values.get("protocol", Protocol.TCP) == Protocol.TCP)


def usual_streams(cores: int, way: Direction = Direction.FORWARD) -> int:
    """The rule of thumb: a stream for every second core, within what an end accepts.

    Both ways at once takes several (see BOTH_WAYS).
    """
    return min(max(BOTH_WAYS if way is Direction.DUPLEX else 1, cores // 2), MOST_STREAMS)


def _doubling(cores: int) -> list[int]:
    """The powers of two up to `cores`, and `cores` itself."""
    return sorted({*(1 << n for n in range(cores.bit_length()) if 1 << n <= cores), cores})


def _arms(changed: Experiment, instead: dict[str, Any], control: bool) -> list[Experiment]:
    """The experiment without its change and with it, as the arms of a comparison; chance decides which of them begins.

    `control` adds the first arm a second time: the difference between the two shows the comparison's noise.
    """
    plain = replace(changed, **instead)
    if plain == changed:
        return []  # a combination that equals its baseline needs no comparison
    as_it_is = "-as-it-is" if plain.settings != changed.settings else ""
    plain = replace(plain, id=f"{name_of(plain)}{as_it_is}", begins=random.random() < 0.5)
    made = [plain, replace(changed, id=name_of(changed), baseline=plain.id, begins=not plain.begins)]
    again = replace(plain, id=f"{plain.id}-{AGAIN}", label=AGAIN, baseline=plain.id, begins=False)
    return alike([*made, again] if control else made)


def alike(arms: Sequence[Experiment]) -> list[Experiment]:
    """Give all arms the same start: if one restarts adapters, each has a short uncounted load before it."""
    restarts = any(setting.restarts for arm in arms for setting in arm.settings)
    return [replace(arm, discard_first=restarts) for arm in arms]


def _directions(asked: list[Direction], rung: RungName) -> list[Direction]:
    ways: list[Direction] = []
    for way in asked:
        ways += [Direction.FORWARD, Direction.REVERSE] if way == Direction.BOTH else [way]
    if rung == RungName.LOCALHOST:  # both ends are one machine, so both directions are the same
        ways = [Direction.FORWARD if w == Direction.REVERSE else w for w in ways]
    return list(dict.fromkeys(ways))


def with_longer_warmup(plan: Plan, rung: RungName, round_trip_ms: float) -> Plan:
    """The plan with the warm-ups that the rung's round trip asks for, once pings have shown how long it is."""
    if round_trip_ms <= LONG_WAY_MS:
        return plan
    rungs = (
        replace(r, experiments=tuple(map(_warmed_longer, r.experiments))) if r.name is rung else r for r in plan.rungs
    )
    return replace(plan, rungs=tuple(rungs))


def _warmed_longer(exp: Experiment) -> Experiment:
    loads = exp.protocol in (Protocol.TCP, Protocol.UDP)
    return replace(exp, warmup=max(exp.warmup, LONG_WARMUP)) if loads else exp


def trial_seconds(exp: Experiment) -> float:
    return float(tools.expected_seconds(exp)) + OVERHEAD + (DISCARDED + OVERHEAD) * exp.discard_first


def seconds(plan: Plan | Rung) -> float:
    """The expected time for everything; the shortest one if the number of repeats is left open."""
    return sum(trial_seconds(e) * e.repeats for e in _all(plan)) + BOOT * restarts(plan)


def _rungs(plan: Plan | Rung) -> tuple[Rung, ...]:
    return plan.rungs if isinstance(plan, Plan) else (plan,)


def _all(plan: Plan | Rung) -> Iterator[Experiment]:
    """All experiments, including those of later steps of a staircase as if no step won."""
    for rung in _rungs(plan):
        yield from rung.experiments
        for stair in rung.stairs:
            for step in to_try(stair):
                yield from (stair.first, *step)


def to_try(stair: Stair) -> tuple[tuple[Experiment, ...], ...]:
    """The steps still to come, without what the staircase begins with anyway; steps with nothing left go."""
    steps = (tuple(e for e in step if replace(e, step=stair.first.step) != stair.first) for step in stair.steps)
    return tuple(step for step in steps if step)


def sought(rung: Rung) -> bool:
    """Whether the generator's strongest setting is looked for, unless it is known: over a single path, as what is
    strongest over one may be too much for machines that load several at once.
    """
    return len(rung.paths) == 1 and generator_open(rung)


def generator_open(rung: Rung) -> bool:
    """Whether experiments or staircases of the rung leave open how the load is made."""
    open_ones = (*(e for e in rung.experiments if not e.step), *(stair.first for stair in rung.stairs))
    return any(e.strongest for e in open_ones)


def longest(plan: Plan | Rung, known: Container[RungName] = ()) -> float:
    """The longest time: every setting needs all its repeats, and the strongest generator settings are searched for
    first, but on the rungs of which they are `known`.
    """
    return (
        SEARCH * min(MOST_SEARCHES, sum(sought(rung) and rung.name not in known for rung in _rungs(plan)))
        + sum(trial_seconds(e) * max(e.repeats, e.at_most) for e in _all(plan))
        + BOOT * restarts(plan)
    )


def soonest(plan: Plan | Rung, known: Container[RungName] = ()) -> float:
    """The shortest time, between ends that have the plan's switches, each the same at both: what is so already is left
    out. `known`: rungs of which the generator's strongest setting is known, so that it is not looked for.
    """
    rungs = _rungs(plan)
    return at_best(plan) - sum(map(_spared, rungs)) + SEARCH * len(surely_sought(rungs, known))


def at_best(plan: Plan | Rung) -> float:
    """The time for all of this, if every probe is answered and no repeat beyond the least is needed."""
    waits = ((tools.expected_seconds(e) - tools.soonest_seconds(e)) * e.repeats for e in _all(plan))
    return seconds(plan) - sum(waits)


def surely_sought(rungs: Iterable[Rung], known: Container[RungName] = ()) -> frozenset[RungName]:
    """The rungs on which the generator's strongest setting has to be looked for, as none before tells it: between two
    machines and within this one it is looked for once each, and the link itself takes either.
    """
    asked = [rung.name for rung in rungs if sought(rung) and rung.name not in known]
    within = [name for name in asked if name is RungName.LOCALHOST]
    between = [name for name in asked if name not in (RungName.LOCALHOST, RungName.DC_LINK)]
    return frozenset((*within, *between[:1]) or asked)


def _spared(rung: Rung) -> float:
    """The most seconds of arms that change nothing, or no more than an earlier one, whatever the ends have already."""
    arms = [*rung.experiments, *(e for stair in rung.stairs for e in _later(stair))]
    changed = [e for e in arms if e.baseline and e.settings]
    there = [e for e in changed if all(_may_be_there(s, e, changed) for s in e.settings)]
    kinds = tuple(dict.fromkeys(s.kind for e in there for s in e.settings))
    values = (dict.fromkeys((*(s.value for e in there for s in e.settings if s.kind is kind), OTHER)) for kind in kinds)
    return max(_vain(arms, there, dict(zip(kinds, present, strict=True))) for present in product(*values))


def _later(stair: Stair) -> Iterator[Experiment]:
    """The arms of the steps still to come as if no step won."""
    best = stair.first
    for step in to_try(stair):
        arms, _ = next_step(Stair(stair.first, (step,)), best)
        yield from arms
        best = arms[0]


def _may_be_there(setting: Setting, exp: Experiment, among: list[Experiment]) -> bool:
    """Whether ends are often found with it: an MTU, or one of a switch's two states where both are asked for."""
    asked = {s.value for e in among if e.baseline == exp.baseline for s in e.settings if s.kind == setting.kind}
    return setting.kind is SettingKind.MTU or asked == set(SWITCH)


def _vain(arms: list[Experiment], there: list[Experiment], present: dict[SettingKind, str]) -> float:
    """The seconds of the arms that are left out where both ends have that at present, with baselines of nothing else;
    those of so many cores stay.
    """
    seen: set[tuple[object, ...]] = set()
    vain: set[str] = set()
    for e in there:
        acts = frozenset((s.kind, s.ends, s.value) for s in e.settings if s.value != present[s.kind])
        if not acts or (e.baseline, acts) in seen:
            vain.add(e.id)
        seen.add((e.baseline, acts))
    compared = {e.baseline for e in arms if e.baseline and e.id not in vain and e.label != AGAIN}
    lone = {e.baseline for e in arms if e.id in vain} - compared
    gone = (e for e in arms if e.id in vain or e.baseline in lone or (e.id in lone and not e.cores))
    return sum(trial_seconds(e) * e.repeats for e in gone)


def trials(plan: Plan | Rung) -> int:
    return sum(e.repeats for e in _all(plan))


def only_pings(plan: Plan | Rung) -> bool:
    """Whether only pings are left, as in a plan for several paths when there is just one."""
    protocols = {e.protocol for e in _all(plan)}
    return bool(protocols) and protocols <= {Protocol.ECHO, Protocol.DF}


def measured(plan: Plan | Rung, stored: set[tuple[str, str, int]]) -> tuple[int, float]:
    """How many of the plan's trials are among the stored (rung, experiment, repeat), and the time expected for them."""
    rungs = plan.rungs if isinstance(plan, Plan) else (plan,)
    over = [(r.name, e, repeat) for r in rungs for e, repeat in order(r) if (r.name.value, e.id, repeat) in stored]
    boots = {Boot(name, e.kernel, repeat) for name, e, repeat in over if e.kernel}
    return len(over), sum(trial_seconds(e) for _, e, _ in over) + BOOT * len(boots)


def peers_left(plan: Plan, stored: set[tuple[str, str, int]]) -> tuple[str, ...]:
    """The peers that trials need which are not among the stored: without one of a mesh, all that it takes part in fails
    and is not measured again.
    """
    left = [rung for rung in plan.rungs if measured(rung, stored)[0] < trials(rung)]
    return tuple(dict.fromkeys(name for rung in left for name in rung.peers))


def order(rung: Rung) -> Iterator[tuple[Experiment, int]]:
    """The trials in the order in which they run: pings before loads, and repeats interleaved to even out slow changes.

    The arms of a comparison run next to each other, with their order reversed every other time: A B, B A, A B ...
    Those that need a kernel come last, boot by boot.
    """
    first = sorted(rung.experiments, key=lambda e: FIRST.get(e.protocol, len(FIRST)))
    booted, first = [e for e in first if e.kernel], [e for e in first if not e.kernel]
    groups = _compared(first)
    for repeat in range(max((e.repeats for e in first), default=0)):
        for arms in groups:
            for exp in arms if repeat % 2 == 0 else reversed(arms):
                if repeat < exp.repeats:
                    yield exp, repeat
    yield from _by_boot(booted)


def _compared(experiments: list[Experiment]) -> list[list[Experiment]]:
    """The experiments in groups that are compared with each other; in each group the one that begins comes first."""
    groups: dict[str, list[Experiment]] = {}
    for exp in experiments:
        groups.setdefault(exp.baseline or exp.id, []).append(exp)
    return [sorted(arms, key=lambda e: not e.begins) for arms in groups.values()]


@dataclass(frozen=True)
class Boot:
    """One boot of a plan: the kernel that must run, for which repeat on which rung."""

    rung: RungName
    kernel: str
    repeat: int


def _by_boot(experiments: Sequence[Experiment]) -> Iterator[tuple[Experiment, int]]:
    """The trials of these experiments, all of which need a kernel, in the order of their boots.

    The kernel that the coin chose is first, and the order is mirrored every other time: A B, B A, A B ... Every boot
    is a new one, also where two of a kernel follow each other: what differs from boot to boot is the noise that counts.
    """
    first = min((e for e in experiments if e.begins), key=lambda e: e.id, default=None)  # one coin for all loads
    kernels = sorted(
        {e.kernel for e in experiments}, key=lambda kernel: (first is None or kernel != first.kernel, kernel)
    )
    for repeat in range(max((e.repeats for e in experiments), default=0)):
        for kernel in kernels if repeat % 2 == 0 else reversed(kernels):
            yield from ((e, repeat) for e in experiments if e.kernel == kernel and repeat < e.repeats)


def boots(plan: Plan | Rung) -> tuple[Boot, ...]:
    """All boots that a plan needs, in order; none where it runs on whichever kernel is there."""
    rungs = plan.rungs if isinstance(plan, Plan) else (plan,)
    return tuple(
        dict.fromkeys(
            Boot(rung.name, e.kernel, repeat)
            for rung in rungs
            for e, repeat in _by_boot([e for e in rung.experiments if e.kernel])
        )
    )


def restarts(plan: Plan | Rung) -> int:
    """How often the machine restarts for a plan at most: for each boot, and back to its own kernel."""
    needed = boots(plan)
    return len(needed) + (needed[-1].kernel != ORDINARY) if needed else 0
