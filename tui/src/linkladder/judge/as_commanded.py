"""Compares the commands that were run with what was asked for: a class that no command set was not measured.

Needs a load's commands and the versions of both ends' tools, from which the expected commands are made; only options
that determine what is measured are compared. A load without commands is skipped, as other rules check its figures.
"""

from __future__ import annotations

from collections.abc import Mapping

from linkladder import tools
from linkladder.judge.recount import asked_of, layout_of, versions_of
from linkladder.model import Command, Document, End, Experiment, Leg, Protocol, Role, RungResult, TrialResult
from linkladder.phrases import as_sold as say
from linkladder.verdicts import Cause

Said = tuple[Cause, str]
NEAR_ENOUGH = 0.01  # share by which numbers may differ, since a rate is split among the streams and rounded


def as_commanded(t: TrialResult, p: Experiment, rung: RungResult, document: Document) -> Said | None:
    """The first option in a trial's commands that differs from what was asked for; None if there is none."""
    if p.protocol not in (Protocol.TCP, Protocol.UDP):
        return None
    asked = asked_of(t, p)
    loads = (leg for leg in t.legs if leg.role is Role.LOAD and leg.commands)
    return next((said for leg in loads if (said := _leg(leg, asked, rung, document))), None)


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
