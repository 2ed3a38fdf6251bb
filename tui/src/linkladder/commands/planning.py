"""`linkladder plan`: checks a plan file, or shows a plan and everything that it would do."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

from linkladder import host, phrases, state, units
from linkladder import plan as plans
from linkladder.commands.named_plans import load
from linkladder.commands.read_documents import read_document
from linkladder.engine import generators
from linkladder.engine.command_lines import planned
from linkladder.engine.left_out import (
    refuse_absent_cores,
    refuse_too_many_cores,
    too_few_cores,
    without_effect,
    without_room,
    without_vain_steps,
)
from linkladder.engine.paths import PathUnknown, resolve
from linkladder.engine.ports import ports_for
from linkladder.errors import LinkladderError
from linkladder.host import programs
from linkladder.judge import judge_document
from linkladder.model import Document, End, Experiment, HostFacts, Path, Plan, Rung, RungName
from linkladder.peer import PeerLost, connect, near_end
from linkladder.run.expected import soonest
from linkladder.tools import ToolVersions
from linkladder.wire import PORTS, Facts, HelloReply


def add_parsers(commands: Any) -> None:
    parser = commands.add_parser("plan", help="check and show plans")
    kinds = parser.add_subparsers(required=True, metavar="check|show|follow-up|list")
    check = kinds.add_parser("check", help="is this plan file right?")
    check.add_argument("file", type=FilePath)
    check.set_defaults(handler=_check)
    show = kinds.add_parser("show", help="what a plan does: every command, and how long it takes")
    show.add_argument("plan", help="a built-in plan's name, or a file")
    show.add_argument("--toml", action="store_true", help="print the plan file itself, to start a new one from")
    show.set_defaults(handler=_show)
    more = kinds.add_parser("follow-up", help="what a run's verdict asks for next, as a plan file")
    more.add_argument("run", help="a run's id, the beginning of one, 'last', or a document's file")
    more.set_defaults(handler=_follow_up)
    kinds.add_parser("list", help="the built-in plans").set_defaults(handler=_list)


def follow_up(document: Document, rungs: tuple[str, ...] = ()) -> Plan:
    """A plan with what the document's verdict asks for next, over the paths that were measured."""
    return plans.follow_up(document.run.plan, judge_document(document), rungs, len(host.core_times()))


def describe(plan: Plan, hosts: dict[str, HostFacts] | None = None) -> None:
    """Print a plan's experiments, every exact command at both ends, and the time that they take.

    `hosts` has the facts of each peer; a peer that is not in it counts as having this machine's tools.
    """
    near = local_versions()
    facts = {"": replace(host.facts(), tools=dict(near.found)), **(hosts or {})}
    versions = {name: ToolVersions(one.tools, one.os) for name, one in facts.items()}
    begun = generators.planned(plan, facts, state.folder())
    refuse_absent_cores(begun.plan, facts)
    plan, vain = _without_vain(begun.plan, facts)
    searched = plans.surely_sought(plan.rungs, begun.known)
    print(f"plan {plan.name}" + (f": {plan.title}" if plan.title else ""))
    print(f"takes {_takes(plan, facts, searched)}, {units.plural(plans.trials(plan), 'trial')}{_and_more(plan)}")
    for line in _restarts(plan):
        print(line)
    for rung in plan.rungs:
        print(f"\n{rung.name}  ({_takes(rung, facts, searched)})")
        colon = "::" if plan.contract.ip_version == 6 else ""  # makes the tools' commands those for IPv6
        paths = [replace(p, local=p.local or f"NEAR{colon}", remote=p.remote or f"FAR{colon}") for p in rung.paths]
        known = [{End.NEAR: versions.get(p.origin, near), End.FAR: versions.get(p.peer, near)} for p in paths]
        for path in paths:
            print(f"  from {path.local}{at(path.origin)} to {path.remote}{at(path.peer)}{_way(path)}")
        if rung.name in begun.said:
            print(f"  {begun.said[rung.name]}")
        for exp in rung.experiments:
            bound = f" to {exp.at_most}" if exp.at_most > exp.repeats else ""
            print(f"  {exp.id}  x{exp.repeats}{bound}  {units.duration(plans.trial_seconds(exp))} each")
            if exp.discard_first:
                print(f"    each after {plans.DISCARDED:g} s of load that is not counted, as adapters start anew")
            for line in _commands(exp, paths, known, facts):
                print(f"    {line}")
        for stair in rung.stairs:
            for step in plans.to_try(stair):
                way, each = phrases.way(stair.first.direction), units.duration(plans.trial_seconds(stair.first))
                print(
                    f"  then {way}, each beside the best so far and undone after every trial  "
                    f"x{stair.first.repeats}  {each} each"
                )
                for exp in step:
                    print(f"    {phrases.difference(exp, stair.first)}")
                    for line in _commands(exp, paths, known, facts):
                        print(f"      {line}")
        for name, why in vain.get(rung.name, {}).items():
            print(f"  left out: {name}: {why}")
    if any(not path.remote for r in plan.rungs for path in r.paths):
        print("\nNEAR and FAR stand for addresses that a run takes from the link description, or asks the peer for.")


def _restarts(plan: Plan) -> list[str]:
    """Lines on each restart that the plan needs, in order, and how it is undone."""
    boots = plans.boots(plan)
    if not boots:
        return []
    order = ", ".join(boot.kernel for boot in boots)
    undo = "undo: none is needed, as each kernel is booted once; any further restart brings the machine's own back"
    back = ", then back to its own" if plans.restarts(plan) > len(boots) else ""
    return [
        f"restarts this machine {plans.restarts(plan)} times, {units.duration(plans.BOOT)} each: {order}{back}",
        f"  near: linkladder-priv kernel-next NAME, then reboot, before each; {undo}",
    ]


def _without_vain(plan: Plan, facts: dict[str, HostFacts]) -> tuple[Plan, dict[RungName, dict[str, str]]]:
    """The plan without what would change nothing on these machines, and why; all of it where a peer is not known."""
    rungs, found = [], {}
    for rung in plan.rungs:
        known = all(path.peer and path.peer in facts for path in rung.paths)
        gone = found[rung.name] = without_effect(rung, rung.paths, facts) if known else _surely_gone(rung, facts)
        gone |= _without_kernels(rung)
        left, later = without_vain_steps(rung, rung.paths, facts) if known else (rung, {})
        rungs.append(replace(left, experiments=tuple(e for e in rung.experiments if e.id not in gone)))
        gone |= later
    return replace(plan, rungs=tuple(rungs)), found


def _surely_gone(rung: Rung, facts: dict[str, HostFacts]) -> dict[str, str]:
    """What is left out whoever the peers are that cannot be asked, and why."""
    here = [facts[name] for name in dict.fromkeys(path.origin for path in rung.paths) if name in facts]
    return too_few_cores(rung.experiments, here) | without_room(rung, rung.paths)


def _without_kernels(rung: Rung) -> dict[str, str]:
    """Experiments that need a kernel which this machine cannot boot, and why."""
    if not plans.boots(rung):
        return {}
    from linkladder.engine.kernels import Boots  # imported late, as hardly any plan needs it
    from linkladder.run import restarting

    return Boots(restarting.kernels()).lacking(rung)


def _commands(
    exp: Experiment, paths: Sequence[Path], known: Sequence[dict[End, ToolVersions]], facts: Mapping[str, HostFacts]
) -> tuple[str, ...]:
    """Every change and command of a trial over those of the rung's paths that it loads."""
    mine = exp.paths or range(len(paths))
    ports = ports_for(iter(PORTS), exp, len(mine))
    return planned(exp, [paths[n] for n in mine], [known[n] for n in mine], ports, "KEY", facts)


def _way(path: Path) -> str:
    """By which card packets of this path leave this machine, with a warning if that is not the path's own; '' if not
    known.
    """
    if path.origin or not path.peer or path.local.startswith("NEAR") or path.remote.startswith("FAR"):
        return ""
    leaves, gateway = host.route(path.remote, path.local)
    owner = path.local_interface or host.interface_of(path.local)
    if not leaves or not owner:
        return ""
    via = f" to {gateway}" if gateway else ""
    return f", by {leaves}{via}" + (f" and NOT by {owner}: give it a route of its own" if leaves != owner else "")


def at(peer: str) -> str:
    return f" at {peer}" if peer else ""


def _takes(of: Plan | Rung, facts: Mapping[str, HostFacts], searched: Container[RungName]) -> str:
    """The time; `searched`: the rungs on which the generator's strongest setting has to be looked for."""
    rungs = of.rungs if isinstance(of, Plan) else (of,)
    known = all(_known(rung, facts) for rung in rungs)
    least = plans.at_best(of) if known else plans.soonest(of, tuple(RungName))
    return units.at_best(least + plans.SEARCH * sum(rung.name in searched for rung in rungs), plans.longest(of))


def _at_best(plan: Plan) -> str:
    """The time that a plan takes where nobody has asked its ends."""
    return units.at_best(soonest(plan, state.folder()), plans.longest(plan))


def _known(rung: Rung, facts: Mapping[str, HostFacts]) -> bool:
    return all(path.peer and path.peer in facts for path in rung.paths)


def _and_more(plan: Plan) -> str:
    """Words after the number of trials for a plan that leaves the number of repeats open; else ''."""
    left_open = any(e.at_most > e.repeats for r in plan.rungs for e in r.experiments)
    return ", and more where the verdict is not settled" if left_open else ""


def local_versions() -> ToolVersions:
    found = programs.tool_versions()
    return ToolVersions(found, host.system())


async def asked(plan: Plan) -> tuple[Plan, dict[str, HostFacts]]:
    """The plan with the addresses that the peers announce now, and their facts; prints which peers cannot be asked."""
    near = await near_end()
    found: dict[str, HelloReply] = {}
    facts: dict[str, HostFacts] = {}
    try:
        for peer in dict.fromkeys(name for r in plan.rungs for name in r.peers):
            try:
                far = await connect(peer)
            except (PeerLost, LinkladderError) as error:
                print(f"linkladder: {peer} cannot be asked, and is taken to have this machine's tools: "
                      f"{str(error).splitlines()[0]}", file=sys.stderr)  # fmt: skip
                continue
            found[peer], facts[peer] = far.hello, await far.ask(Facts())
            await far.close()
    finally:
        await near.close()

    def over(path: Path) -> Path:
        with contextlib.suppress(PathUnknown, KeyError):
            return resolve(path, found[path.origin] if path.origin else near.hello, found[path.peer])
        return path

    rungs = tuple(replace(r, paths=tuple(over(path) for path in r.paths)) for r in plan.rungs)
    return replace(plan, rungs=rungs), facts


def _check(args: argparse.Namespace) -> int:
    plan = load(os.path.join(".", args.file))  # a built-in plan's name is a file's here
    here = {"": host.facts()}
    refuse_absent_cores(plan, here)
    refuse_too_many_cores(plan, here)
    print(f"{args.file}: right: {units.plural(plans.trials(plan), 'trial')}{_and_more(plan)}, {_at_best(plan)}\n")
    describe(plan)
    return 0


def _show(args: argparse.Namespace) -> int:
    if args.toml and args.plan in plans.BUILTIN:
        print(plans.builtin_text(args.plan), end="")
    else:
        describe(load(args.plan))
    return 0


def _follow_up(args: argparse.Namespace) -> int:
    document = read_document(args.run)
    text = plans.follow_up_text(judge_document(document))
    print(text or "# the verdict asks for nothing more", end="" if text else "\n")
    return 0


def _list(args: argparse.Namespace) -> int:
    for name in plans.BUILTIN:
        plan = load(name)
        print(f"{name:8} {_at_best(plan):>41}  {plan.title}")
    return 0
