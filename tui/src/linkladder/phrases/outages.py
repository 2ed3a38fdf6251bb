"""Puts interruptions into words: seconds without traffic, unanswered pings, a far end that was out of reach."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from linkladder import units
from linkladder.model import CarrierLost, Direction, Experiment, Path
from linkladder.phrases.arms import trial
from linkladder.phrases.ways import listed, path_name, way


def when(p: Experiment, repeat: int, second: float, paths: Sequence[Path]) -> str:
    """When something happened, as 'TCP, 4 streams, default window, repeat 2, from 7 s on'."""
    return f"{trial(p, repeat, False, paths)}, from {second:.0f} s on"


def of_path(paths: Sequence[Path], numbers: Collection[int], direction: Direction) -> str:
    """'near to far', or of one of several paths as 'gamma to delta'."""
    names = [path_name(paths, n, direction) for n in numbers if 0 <= n < len(paths)]
    return listed(names) if len(paths) > 1 and names else way(direction, paths)


def brief(which: str, dead: float, where: str) -> str:
    """`which`: a text of `of_path`, `where`: one of `when`."""
    return f"{dead:.1f} s carried nothing, {which} ({where})."


def brief_beyond(measured: float, available: float, sold: float) -> str:
    return (
        f"It was available for {available:.2f} % of the {units.duration(measured)} measured, where {sold:g} % of it is "
        "needed; a time so short may also be an accident of a machine."
    )


def outage(which: str, dead: float, measured: float, longest: float, where: str, available: float) -> str:
    return f"{_outage(which, dead, measured, longest, where, available)}."


def outage_excused(
    which: str, dead: float, measured: float, longest: float, where: str, available: float, excuse: str
) -> str:
    """`excuse`: a clause of one of the functions below."""
    return f"{_outage(which, dead, measured, longest, where, available)}, but {excuse}."


def stopped_meanwhile() -> str:
    return "a quota or the hypervisor stopped an end meanwhile"


def more_than_sold() -> str:
    return "more was offered than the contract carries"


def receiver_closed(seconds: float, times: int) -> str:
    return f"the receiver held the sender up for {seconds:.1f} s and closed its window {units.plural(times, 'time')}"


def sender_stopped() -> str:
    return "no datagram of that time is missing: the sender sent none"


def broken_off(p: Experiment, repeat: int, reason: str, paths: Sequence[Path]) -> str:
    return f"{trial(p, repeat, paths=paths)} broke off{f': {reason}' if reason else ''}."


def stood_still(seconds: float, longest: float) -> str:
    """`longest`: the longest time in seconds that the end stood still, in any trial."""
    looked = f"once it did not even look at its own load for {longest:.1f} s"
    return f"for {seconds:.0f} s of it an end stood still itself: {looked}; look for other work there, or at its host"


def carriers_lost(cards: Iterable[CarrierLost]) -> str:
    """As 'dc0 of the far end lost its link meanwhile: look at that card, its cable and the port at the other ...'."""
    named = list(dict.fromkeys(f"{c.card} of the {c.end} end" for c in cards))
    if len(named) > 1:
        where = "look at these cards, their cables and the ports at the other ends of the cables"
        return f"{' and '.join(named)} lost their links meanwhile: {where}"
    return (
        f"{named[0]} lost its link meanwhile: look at that card, its cable and the port at the other end of the cable"
    )


def carrier_in_rung(rung: str, card: CarrierLost, trials: int) -> str:
    return f"{rung}, {units.plural(trials, 'trial')}: {carriers_lost([card])}."


def in_trials(p: Experiment, repeat: int, trials: int, paths: Sequence[Path]) -> str:
    """The first of so many trials, and how many more: 'TCP, 4 streams, ..., repeat 1, and 11 more trials'."""
    more = f", and {units.plural(trials - 1, 'more trial')}" if trials > 1 else ""
    return f"{trial(p, repeat, paths=paths)}{more}"


def carriers_in_trials(cards: Iterable[CarrierLost], where: str) -> str:
    """`where`: a text of `in_trials`."""
    return units.sentence(f"{carriers_lost(cards)} ({where})")


def carried_without_link(cards: Iterable[CarrierLost], where: str, least: float, usual: float) -> str:
    """`where`: a text of `in_trials`; `least` and `usual`: of its slowest second and median one in bit/s."""
    return units.sentence(
        f"{carriers_lost(cards)}. But no second meanwhile ({where}) carried less than {units.rate(least)}, the usual "
        f"one {units.rate(usual)}: the link was back at once, or was not lost at all."
    )


def with_carriers(sentence: str, cards: Iterable[CarrierLost]) -> str:
    return f"{sentence} {units.sentence(carriers_lost(cards))}."


def outage_beyond(
    which: str, dead: float, measured: float, longest: float, where: str, available: float, needed: float
) -> str:
    said = _outage(which, dead, measured, longest, where, available)
    return f"{said} where {needed:g} % of it is needed."


def _outage(which: str, dead: float, measured: float, longest: float, where: str, available: float) -> str:
    return (
        f"Outage, {which}: {units.duration(dead)} of {units.duration(measured)} carried nothing, "
        f"{longest:.0f} s of it in a row ({where}); available for {available:.2f} % of that time"
    )


def peer_lost(
    attempts: int, started: str, p: Experiment, repeat: int, reason: str, shared: bool, paths: Sequence[Path]
) -> str:
    """`shared`: whether control goes over the card under test."""
    card = "; control goes over the card under test, so that the path itself may have been interrupted"
    return (
        f"The far end was lost in {units.plural(attempts, 'attempt')}, at {started} "
        f"({trial(p, repeat, paths=paths)}: {reason}){card if shared else ''}."
    )
