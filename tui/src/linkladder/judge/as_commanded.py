"""Compares the commands that were run with what was asked for: a class that no command set was not measured.

Needs a load's commands and the versions of both ends' tools, from which the expected commands are made; only options
that determine what is measured are compared. A load without commands is skipped, as other rules check its figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from linkladder import tools
from linkladder.judge.recount import asked_of, layout_of, name_of_side, path_of, versions_of
from linkladder.model import Command, Document, End, Experiment, Leg, Protocol, Role, RungResult, TrialResult
from linkladder.phrases import as_sold as say
from linkladder.verdicts import Cause

Said = tuple[Cause, str]
PINGS = {Protocol.ECHO: ("-c",), Protocol.DF: ("-s", "-M", "-D")}  # the options that tell what a ping shows
NEAR_ENOUGH = 0.01  # share by which numbers may differ, since a rate is split among the streams and rounded


def as_commanded(t: TrialResult, p: Experiment, rung: RungResult, document: Document) -> Said | None:
    """The first option in a trial's commands that differs from what was asked for; None if there is none."""
    if p.protocol not in (Protocol.TCP, Protocol.UDP):
        return None
    asked = asked_of(t, p)
    loads = (leg for leg in t.legs if leg.role is Role.LOAD and leg.commands)
    return next((said for leg in loads if (said := _leg(leg, asked, rung, document))), None)


def ran_elsewhere(t: TrialResult, p: Experiment, rung: RungResult, document: Document) -> str:
    """What is wrong if a load's client is said to have run at the end of its server; '' if it is not.

    Where a class is asked for, the clients of a tool may run at the other end, which marks the packets.
    """
    for leg in (g for g in t.legs if g.role is Role.LOAD):
        made = [layout_of(leg, replace(p, dscp=mark), rung, document) for mark in (p.dscp, 0)]
        known = {name_of_side(t, leg, where.client) for where in made if where is not None}
        ran_at = next((c.end for c in leg.commands if c.role == "client"), "")
        if known and ran_at and ran_at not in known:
            return say.ran_elsewhere(ran_at)
    return ""


def pings_as_commanded(t: TrialResult, p: Experiment, rung: RungResult, document: Document) -> Said | None:
    """The first word in the commands of idle pings or probes of the path MTU that was asked for and is not there.

    A probe that may be cut on its way, or is smaller than it is said to be, shows nothing.
    """
    telling = PINGS.get(p.protocol)
    for leg in t.legs if telling else ():
        path = path_of(leg, rung)
        where, versions = layout_of(leg, p, rung, document), versions_of(path, document)
        ran = [c for c in leg.commands if c.role == "client"]
        if leg.role is not Role.LOAD or where is None or versions is None or len(ran) != where.clients:
            continue
        version, local, remote = versions[0], path.local, path.remote
        if where.client is End.FAR:
            version, local, remote = versions[1], path.remote, path.local
        for number, command in enumerate(ran):
            made = tools.client_argv(p, version, where, local, remote, tools.TEST_PORTS.start, number)
            for option, following in pairwise(made):
                if option in (telling or ()) and (option, following) not in pairwise(command.argv):
                    return Cause.RAW_OUTPUT, say.other_ping(option, following)
    return None


def _leg(leg: Leg, asked: Experiment, rung: RungResult, document: Document) -> Said | None:
    path = rung.paths[leg.path] if 0 <= leg.path < len(rung.paths) else rung.path
    where, versions = layout_of(leg, asked, rung, document), versions_of(path, document)
    if where is None or versions is None or where.server is None:
        return None
    telling = tools.named(asked.tool).telling
    ends = {End.NEAR: (versions[0], path.local), End.FAR: (versions[1], path.remote)}
    here, there = ends[where.client], ends[where.server]
    client = tools.client_argv(asked, here[0], where, here[1], there[1], tools.TEST_PORTS.start)
    server = tools.server_argv(asked, there[0], there[1], tools.TEST_PORTS.start)
    for command in leg.commands:
        made = {"client": client, "server": server}.get(command.role)
        if made and (other := _other(command, made, telling)):
            return other
    return None


def _other(command: Command, made: tuple[str, ...], telling: Mapping[str, str]) -> Said | None:
    program = next((n for n, word in enumerate(command.argv) if word.rpartition("/")[2] == made[0]), None)
    if program is None:
        return Cause.RAW_OUTPUT, say.other_program(command.argv, made[0])
    ran, asked = _options(command.argv[program:], telling), _options(made, telling)
    for option, what in telling.items():
        one, other = ran.get(option), asked.get(option)
        if one != other and not _alike(one, other):
            return Cause.NOT_AS_SOLD, say.other_option(command.role, option, what, one, other)
    return None


def _options(argv: tuple[str, ...], telling: Mapping[str, str]) -> dict[str, str]:
    """The value of each of these options in the command; '' for an option without a value."""
    found, prefix = {}, ""
    for word, following in zip(argv, (*argv[1:], "-"), strict=True):
        if word == "--":
            prefix = "-- "
        elif prefix + word in telling:
            found[prefix + word] = "" if following.startswith("-") else following
    return found


def _alike(one: str | None, other: str | None) -> bool:
    try:
        a, b = float(one or ""), float(other or "")
    except ValueError:
        return False
    return abs(a - b) <= NEAR_ENOUGH * max(abs(a), abs(b))
