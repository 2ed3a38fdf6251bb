"""Puts one rung's verdict into words: what it carries, what is not known, and whether the generator could show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkladder import units
from linkladder.model import Direction, Experiment, Path, Protocol, RungName
from linkladder.phrases.ways import loaded, way

_ADDS = {  # what is not excluded as a cause if the rung was not measured
    RungName.LOCALHOST: "the guest's own stack and CPU",
    RungName.SAME_HOST: "the guests' virtual cards and the virtual switch",
    RungName.SAME_VLAN: "the hosts' physical cards and the local switches",
}


def not_measured(rung: str, why: str) -> str:
    return f"{rung} was not measured: {why}"


def no_tcp(rung: str, paths: int = 1, of_pairs: bool = False) -> str:
    if of_pairs:  # any of their loads would do, but for both ways at once
        return f"No TCP throughput, one way at a time, was measured on {rung}."
    together = f" of all {paths} paths at once, without a setting on loan," if paths > 1 else ""
    return f"No TCP throughput{together} was measured on {rung}."


def too_few_cores(asked: int, end: str, has: int) -> str:
    return f"Nothing was measured: it is to run on {asked} cores, and {end} has {has}."


def no_load_asked(rung: str, lacking: str) -> str:
    """`lacking`: the sentence on what is not there of what was asked for; '' if nothing."""
    if lacking:
        return f"Of what was asked of {rung}, not all is there: {lacking} No rate was asked for."
    return f"What {rung} carries was not asked for: no throughput was measured on it."


def setting(p: Experiment, protocol: str, direction: str, paths: Sequence[Path]) -> str:
    """A setting's name for a sentence, such as 'TCP near to far' or 'UDP far to near at 500 Mb/s'."""
    kind = "UDP" if protocol == Protocol.UDP else "TCP"
    both = " of both at once" if p.direction is Direction.DUPLEX else ""
    offered = f" at {units.rate(p.udp_rate_bps)}" if protocol == Protocol.UDP and p.udp_rate_bps else ""
    return f"{kind} {loaded(p, paths, direction)}{both}{offered}"


def of_way(direction: str, sentence: str, paths: Sequence[Path]) -> str:
    return f"{way(direction, paths)}: {sentence}"


def strong_generator(shown: float, sold: float) -> str:
    return f"the generator is strong enough: it carries {_times(shown, sold)}."


def weak_generator(shown: float, sold: float, needed: float) -> str:
    """`needed`: how many times the rate bought is needed."""
    return (
        f"the generator is too weak: it carries {_times(shown, sold)}, and {needed} times is needed to judge the rungs "
        "above."
    )


def _times(shown: float, sold: float) -> str:
    return f"{units.rate(shown)}, {shown / sold:.2f} times the {units.rate(sold)} that was bought"


def little_headroom(below: str, shown: float, sold: float, needed: float) -> str:
    """`needed`: how many times the rate bought is needed."""
    return (
        f"The generator has too little headroom: {below} carried {units.rate(shown)}, {shown / sold:.2f} times the "
        f"{units.rate(sold)} that was bought, and {needed} times is needed."
    )


def below_alike(sentence: str, below: str) -> str:
    return f"{sentence} On {below} there is as much of it, so that it need not be the link."


def below_no_more(below: str, rate: float) -> str:
    return f"On {below} no more than {units.rate(rate)} was carried: what is too slow need not be the link."


def below_lost(below: str, share: float) -> str:
    return f"On {below} at least {units.share(share, 2)} of paced UDP was lost as well: it need not be the link."


def no_lower_rung() -> str:
    return "No lower rung was measured, so whether this generator can fill the link is not known."


def not_shown(ends: Sequence[str]) -> str:
    """`ends`: those that no trial has shown to send, or to receive, as much."""
    named = " and ".join(ends)
    return f"Nothing shows that {named} can carry as much this way: no other trial has asked it, or shown it."


def excludes(rung: RungName) -> bool:
    """Whether measuring the rung excludes something as a cause."""
    return rung in _ADDS


def not_excluded(rung: RungName) -> str:
    return f"{rung} was not measured: the verdict does not exclude {_ADDS[rung]}."


def one_way_only(direction: str, paths: Sequence[Path]) -> str:
    return f"Only {way(direction, paths)} was measured: the verdict says nothing of the other direction."


def below_need(median: float, needed: float, scattered: bool, limits: str) -> str:
    """`limits`: the sentence on what limits the rate; '' if that is not known."""
    short = "is too scattered to be sure of" if scattered else "is less than"
    said = f"{units.rate(median)} {short} the {units.rate(needed)} that the next rung needs."
    return f"{said} {limits}" if limits else said


def missing_trials(absent: int, planned: int) -> str:
    return f"{absent} of {planned} planned trials were not run."


def nothing_run() -> str:
    return "no trial was run."


def failed_trials(failed: int, of: int) -> str:
    return f"{failed} of {of} trials failed."


def rates(by_direction: Mapping[str, float], ceiling: float | None, paths: Sequence[Path]) -> str:
    """As '941 Mb/s near to far (98.4 % of the ceiling) and ...', without the share if no ceiling is given."""
    parts = [
        f"{units.rate(bps)} {way(direction, paths)}"
        + (f" ({100 * bps / ceiling:.1f} % of the ceiling)" if ceiling else "")
        for direction, bps in by_direction.items()
    ]
    return " and ".join(parts) or "nothing measured"


def carries(rung: str, rates_of_it: str) -> str:
    return f"{rung} carries {rates_of_it}."


def carried_but(rung: str, rates_of_it: str, missing: str) -> str:
    return f"{rung} carried {rates_of_it}, but {missing}"


def carried(rung: str, rates_of_it: str, reason: str) -> str:
    return f"{rung} carried {rates_of_it}. {reason}".rstrip()
