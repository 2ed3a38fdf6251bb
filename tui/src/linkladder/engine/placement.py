"""Checks, where possible, that the machines stand where the operator says; the findings are kept with that claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from linkladder import host, tools, units
from linkladder.model import Contract, Evidence, Experiment, Path, Protocol, Rung, RungName, TrialResult

SURVEY = Experiment("survey", "ping", Protocol.ECHO, count=5, interval=0.02)
CLAIMS = {
    RungName.SAME_HOST: "both appliances are on one host",
    RungName.SAME_VLAN: "the appliances are on two hosts in one VLAN",
    RungName.DC_LINK: "the link lies between the appliances",
}
NEAR_BY = (RungName.SAME_HOST, RungName.SAME_VLAN)  # where no long link is between the machines
FAR_AWAY_MS = 10.0  # ms; round trips within one room are always shorter
CLEAR_MS = 0.5  # ms; below this, a round trip that halves means nothing
HALF = 0.5


@dataclass(frozen=True)
class Survey:
    """What a few pings showed; values are None if no ping was answered."""

    rtt_ms: float | None = None  # the smallest one, which load disturbs least
    hops: int | None = None


def survey(result: TrialResult) -> Survey:
    """The least round trip, and the routers between, from the TTL left in the answers."""
    ttl = next((found for c in result.commands if (found := tools.ping_ttl(c.output)) is not None), None)
    return Survey(result.rtt.min_ms if result.rtt else None, None if ttl is None else host.hops_from_ttl(ttl))


def evidence(
    rung: Rung,
    path: Path,
    seen: Survey,
    earlier: Mapping[RungName, float],
    contract: Contract,
    asked: str = "",
    word: str = "",
) -> Evidence:
    """Findings for and against the rung's claim, from what this end can see without asking anybody."""
    near_by = rung.name in NEAR_BY
    good: list[str] = []
    bad: list[str] = []

    def add(text: str, against: bool = False) -> None:
        (bad if against else good).append(text)

    if host.same_subnet(path.local, path.remote):
        add(f"{path.remote} is in the subnet of {path.local}")
    else:
        add(f"{path.remote} is behind a router, as seen from {path.local}", near_by)
    direct = host.arp_direct(path.remote)
    if direct is not None:
        add(f"{path.remote} {'answers ARP itself' if direct else 'does not answer ARP itself'}", near_by and not direct)
    if seen.hops is not None:
        routers = units.plural(seen.hops, "router") if seen.hops else "no router"
        add(f"{routers} between, by the TTL of its answers", near_by and seen.hops > 0)
    if seen.rtt_ms is None:
        add(f"{path.remote} answers no ping")
    else:
        _round_trip(rung.name, seen.rtt_ms, earlier, contract, add)
    return Evidence(CLAIMS.get(rung.name, ""), (*bad, *good), bool(bad), asked, word, tuple(bad), seen.rtt_ms)


def together(found: Sequence[Evidence]) -> Evidence:
    """The evidence of all paths of a rung as one; what contradicts comes first."""
    bad = tuple(text for one in found for text in one.against)
    good = tuple(text for one in found for text in one.findings if text not in one.against)
    longest = max((one.rtt_ms for one in found if one.rtt_ms is not None), default=None)
    said = tuple(dict.fromkeys((*bad, *good)))
    return replace(found[0], findings=said, contradicts=bool(bad), against=bad, rtt_ms=longest)


def _round_trip(
    rung: RungName, rtt: float, earlier: Mapping[RungName, float], contract: Contract, add: Callable[..., None]
) -> None:
    """Compare the round trip with what the rung allows, with the rung before, and with what was expected."""
    now = f"the round trip is {units.milliseconds(rtt)}"
    below = [name for name in RungName if name in earlier and name != rung]
    before = below[-1] if below else None
    held = f", on {before} it was {units.milliseconds(earlier[before])}" if before else ""
    expected = contract.expected_rtt_ms
    if rung in NEAR_BY and rtt > FAR_AWAY_MS:
        add(f"{now}, far too long for one site{held}", True)
    elif rung is RungName.DC_LINK and expected and rtt < HALF * expected:
        add(f"{now} where {units.milliseconds(expected)} was expected: this is not across the link{held}", True)
    elif before and earlier[before] > CLEAR_MS and rtt < HALF * earlier[before]:
        add(f"{now}{held}: the way has become shorter, not longer", True)
    else:
        add(f"{now}{held}")


def answered(before: str) -> str:
    """That the operator says that the machines stand where they should, and when, after what was said before."""
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"{before}, and again at {now} after the facts had been shown" if before else f"done, at {now}"
