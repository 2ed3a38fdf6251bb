"""What the tools printed, read once more: a document's figures must be those of the output that it embeds.

Needs the output of a trial's server and clients, whole.  Where it is not there (or was shortened for a page) nothing is
said: the other rules hold the figures against seconds, clock and cards.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from linkladder import tools
from linkladder.judge.ceilings import measurement_error
from linkladder.judge.evidence import direction_bps, ways
from linkladder.model import (
    SHORTENED,
    Command,
    Document,
    Experiment,
    Leg,
    Outcome,
    Path,
    Protocol,
    RungResult,
    TrialResult,
)
from linkladder.phrases import accounts as say

AGREE = 0.02  # of a rate: what reading once more may differ
LOST = 0.001  # of the datagrams


def recount(t: TrialResult, p: Experiment, rung: RungResult, document: Document) -> str:
    """Why the output does not bear out the figures; empty where it does, or is not there."""
    loads = [leg for leg in t.legs if leg.role == "load"]
    if len(loads) != 1:
        return ""  # several paths at once: each leg would have to be asked by itself
    leg = loads[0]
    if said := _addressed(leg, rung):
        return said
    servers = [c for c in leg.commands if c.role == "server"]
    clients = [c for c in leg.commands if c.role == "client"]
    if not servers or not clients or not all(_whole(c) for c in (*servers, *clients)):
        return ""
    known = _versions(rung.paths[leg.path] if leg.path < len(rung.paths) else rung.path, document)
    if known is None:
        return ""
    first = next((i.start for i in t.intervals if i.counted), p.warmup)
    # A long way takes a longer warm-up than was asked for.
    asked = p if abs(first - p.warmup) < 1 else replace(p, warmup=float(round(first)))
    try:
        where = tools.layout(asked, *known)
    except tools.Unavailable:
        return ""
    if where.client != clients[0].end:
        return ""
    printed = _read(
        asked,
        where,
        (servers[0].output, ""),  # a server is ended by its end, which it may well complain about
        tuple((c.output, c.errors) for c in clients),
        tuple(c.exit_code or 0 for c in clients),
    )
    if not printed.ok:
        return say.no_measurement(printed.reason)
    return _compared(printed, t, p)


def _addressed(leg: Leg, rung: RungResult) -> str:
    """Whether the commands name the path's addresses, as those that were run here do."""
    path = rung.paths[leg.path] if leg.path < len(rung.paths) else rung.path
    for c in leg.commands:
        if (
            c.role == "client"
            and path.local
            and path.remote
            and not any(a in x for x in c.argv for a in (path.local, path.remote))
        ):
            return say.other_address(c.argv)
    return ""


def _compared(said: Outcome, t: TrialResult, p: Experiment) -> str:
    slack = AGREE + measurement_error(t, p)
    for way in ways(p):
        claimed = direction_bps(t, p, way)
        printed = said.by_direction.get(str(way), said.goodput_bps if len(ways(p)) == 1 else 0.0)
        if abs(claimed - printed) > slack * max(claimed, printed):
            return say.output_makes(claimed, way, printed)
    printed_flows = _flows(said)
    if printed_flows and (strange := sorted(_flows(t) - printed_flows)):
        return say.unknown_flow(*strange[0])
    if p.protocol is Protocol.UDP and said.datagrams and said.lost is not None and t.datagrams:
        printed, claimed = said.lost / said.datagrams, (t.lost or 0) / t.datagrams
        if abs(printed - claimed) > LOST:
            return say.other_loss_printed(claimed, printed)
    return ""


def _flows(t: TrialResult | Outcome) -> set[tuple[str, int]]:
    """Whence the flows came, where the tool told it."""
    return {(f.local, f.local_port) for f in t.flows if f.local and f.local_port}


def _whole(command: Command) -> bool:
    return bool(command.output.strip()) and SHORTENED not in command.output


def _versions(path: Path, document: Document) -> tuple[tools.ToolVersions, tools.ToolVersions] | None:
    hosts = document.run.hosts
    near = hosts.get("near")
    far = hosts.get(path.peer) if path.peer else near
    if near is None or far is None or not near.tools or not far.tools:
        return None
    return tools.ToolVersions(near.tools, near.os or "Linux"), tools.ToolVersions(far.tools, far.os or "Linux")


@lru_cache(maxsize=4096)
def _read(
    asked: Experiment,
    where: tools.Layout,
    server: tuple[str, str],
    clients: tuple[tuple[str, str], ...],
    codes: tuple[int, ...],
) -> Outcome:
    return tools.finish(asked, where, server, clients, tools.Expectation(exit_codes=codes))
