"""Puts a whole run into words: its verdict, where on the ladder throughput is lost, and what was assumed."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import units
from linkladder.model import Contract, Layer, RungName
from linkladder.verdicts import DocumentJudgement

_SUSPECT = {  # what each rung adds to the one below it
    RungName.LOCALHOST: "the guest's own stack",
    RungName.SAME_HOST: "the virtual cards and the virtual switch of the host",
    RungName.SAME_VLAN: "the physical cards, cables and switches of the data centre",
    RungName.DC_LINK: "the interconnect",
}


def no_rung() -> str:
    return "no rung was measured."


def planned_only(rung: str) -> str:
    return f"{rung} was planned and not measured."


def no_link(generator: bool, text: str) -> str:
    """`text`: the highest rung's verdict; `generator`: whether that rung is inside a single host."""
    what = "only the generator was measured, no link" if generator else "the link itself was not measured"
    return f"{what}. {text[:1].upper()}{text[1:]}"


def link_not_part(rung: str) -> str:
    return f"The link itself was not part of this run; its highest rung is {rung}."


def suspect(rung: RungName, elsewhere: bool, known: bool) -> str:
    """What to blame for the throughput that a rung loses.

    `elsewhere`: the rung's traffic took another path than it claims, so that its usual suspect cannot be blamed.
    `known`: whether the rung's verdict excludes the ends as the cause.
    """
    if elsewhere:
        return "a way that the rung does not claim (see its evidence)"
    return _SUSPECT[rung] if known else f"{_SUSPECT[rung]} or to an end (see its verdict)"


def look_at(rung: RungName) -> str:
    return f"look at {_SUSPECT[rung]}"


def end_may_hold_it() -> str:
    return "an end, not the path, may be what holds it: see its remedies"


def too_scattered() -> str:
    return "its repeats are too scattered to say more"


def went_elsewhere() -> str:
    return "its traffic went another way than the rung claims, see its evidence"


def first_below(needed: float, rung: str, where: str, direction: str = "") -> str:
    """`direction`: in words, if it is not so of all."""
    the = f"{direction[:1].upper()}{direction[1:]}, the" if direction else "The"
    return f"{the} first rung below the {units.rate(needed)} that is needed is {rung}: {where}."


def of_way(rung: str, direction: str) -> str:
    """A rung's name in the sentences below, of one direction alone."""
    return f"{rung}, {direction}"


def all_reach(needed: float, passed: bool) -> str:
    every = "Every rung measured carries" if passed else "The rate alone of every rung reaches"
    return f"{every} the {units.rate(needed)} that is needed."


def no_difference(low: str, high: str, before: float, after: float, noise: float) -> str:
    return f"{_step(low, high, before, after)}, no difference beyond the noise of ±{units.rate(noise)}."


def sure(noise: float | None, single: Sequence[str]) -> str:
    """`single`: which of the two rungs have a single repeat, if the noise is not known."""
    if noise is None:
        return f"one repeat {'each' if len(single) > 1 else f'at {single[0]}'}, so the noise is not known"
    return f"beyond the noise of ±{units.rate(noise)}"


def nothing_lost(low: str, high: str, before: float, after: float, sure: str) -> str:
    """`sure`: a text of `sure`, as in the sentences below."""
    return f"{_step(low, high, before, after)}, nothing is lost ({sure})."


def little_lost(low: str, high: str, before: float, after: float, sure: str) -> str:
    return f"{_step(low, high, before, after)}, less by {units.share(1 - after / before)} of it ({sure})."


def ceiling_reached(low: str, high: str, before: float, after: float, ceiling: float) -> str:
    return f"{_step(low, high, before, after)}, as much as the link's ceiling of {units.rate(ceiling)} allows."


def lost_of_ceiling(low: str, high: str, before: float, after: float, ceiling: float, to: str) -> str:
    """`to`: a text of `suspect`."""
    share = f"{units.share(1 - after / ceiling)} of the {units.rate(ceiling)} that the link can carry"
    return f"{_step(low, high, before, after)}; {share} is lost to {to}."


def lost(low: str, high: str, before: float, after: float, sure: str, to: str, enough: bool) -> str:
    """`enough`: whether what is left is still as much as needed; `to`: a text of `suspect`."""
    still = ", which still is enough" if enough else ""
    share = f"{units.share(1 - after / before)} of it is lost to {to}"
    return f"{_step(low, high, before, after)}, {share} ({sure}){still}."


def _step(low: str, high: str, before: float, after: float) -> str:
    return f"From {low} to {high}: {units.rate(before)} to {units.rate(after)}"


def assumptions(deal: Contract) -> dict[str, str]:
    """What was assumed about the link, for a table: names and values."""
    layer = f"{deal.layer}{' with FCS' if deal.fcs and deal.layer is Layer.L2 else ''}"
    rate = units.rate(deal.rate_bps) + f" counted in {layer}" if deal.rate_bps else "as the port"
    limits = {"delay at most": deal.delay_ms, "jitter at most": deal.jitter_ms}
    shared = (
        {"rate of all paths together": f"{units.rate(deal.shared_bps)} counted in {layer}"} if deal.shared_bps else {}
    )
    return {
        "port": units.rate(deal.port_bps),
        "contracted rate": rate,
        **shared,
        "MTU": str(deal.mtu),
        "VLAN tags": str(deal.vlan_tags),
        "encapsulation": f"{deal.encap_bytes} bytes",
        "IP version": str(deal.ip_version),
        "TCP timestamps": "on" if deal.timestamps else "off",
        "needed to pass": f"{100 * deal.pass_ratio:.4g} % of the ceiling",
        "loss at most": f"{deal.loss_percent:g} % of the packets",
        "availability at least": f"{deal.availability_percent:g} % of the time",
        **{name: units.milliseconds(most) for name, most in limits.items() if most is not None},
    }


def in_place(judged: DocumentJudgement) -> str:
    """The assumptions of a judgement that are not the plan's, such as 'MTU 9000'; '' if there are none."""
    return ", ".join(f"{name} {judged.assumptions.get(name, '')}".strip() for name in judged.overridden)


def judged_otherwise(assumed: str) -> str:
    """`assumed`: a text of `in_place`, of the judgement that a file carries."""
    return (
        f"This file carries a judgement under other assumptions than its plan's ({assumed}), which are not those here: "
        "give the options again to have it judged so."
    )


def abridged(seconds: int, most: int, levels: int, span: int, step: int) -> str:
    """How a page with rounded seconds was shortened; `step`: every `step`-th ping is kept."""
    pings = f"; of the round trips of pings one in {step} is kept" if step > 1 else ""
    return (
        f"{seconds:,} seconds were measured, more than the {most:,} that a page carries exactly. In long TCP trials "
        f"the bytes of a second are rounded, by less than a {levels}th of the usual second's, and what is over goes to "
        f"the next, so that sums stay; exact are the first and last {span}, one in {span} of the others, and all below "
        f"half of the usual one. The window and the round trip that a tool told of a second are their median over "
        f"{span} seconds, but for the smallest and the largest{pings}. All verdicts, causes and times without traffic "
        "are those of the exact seconds."
    )
