"""Puts what a rate alone does not show into words: jitter, repeated segments, starved flows, long queues."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import units
from linkladder.model import End, Experiment, Path
from linkladder.phrases.arms import arm, one_way, streams, trial
from linkladder.phrases.ways import way


def no_ping(sent: int) -> str:
    return f"None of {sent} pings was answered: they may be filtered, and say nothing of loss then."


def no_idle_ping(sent: int, beside: int, limit: float) -> str:
    """`beside`: how many pings beside the loads were answered on that path."""
    return (
        f"None of {sent} pings on the idle link was answered, more than the {limit:g} % of loss that the contract "
        f"allows; they are not filtered, as {beside} beside TCP were answered."
    )


def loss_unknown(sent: int, limit: float) -> str:
    return (
        f"None of {sent} pings was answered. They may be filtered, and no paced UDP tells of loss either: whether it "
        f"stays within {limit:g} % is not known."
    )


def failed_and_answered() -> str:
    return "A series of pings is said to have failed on the path, and each of its pings was answered."


def pings_failed(reason: str, limit: float) -> str:
    why = f" ({reason})" if reason else ""
    return f"Loss on the idle link was not measured{why}: whether it stays within {limit:g} % is not known."


def pings_lost(lost: int, sent: int, limit: float | None = None) -> str:
    """`limit`: the contract's limit in percent, if it is exceeded."""
    beyond = "" if limit is None else f", more than the {limit:g} % of loss that the contract allows"
    return f"{lost} of {sent} pings on the idle link were not answered{beyond}."


def pings_beside_lost(lost: int, sent: int, by: str) -> str:
    """`by`: the end that sent them."""
    return f"{lost} of {sent} pings of the {by} end beside TCP were not answered."


def none_beside(p: Experiment, by: str, series: int, sent: int, paths: Sequence[Path]) -> str:
    """`by`: the end that sent them; `sent`: how many, 0 if that is not known."""
    which = f"None of {sent} pings" if sent else f"No ping in {units.plural(series, 'series')}"
    said = arm(p, paths=paths)
    return f"{which} of the {by} end was answered beside a load ({said}), though pings are answered otherwise."


def ends_apart(
    p: Experiment, repeat: int, slow: str, slow_ms: float, quick_ms: float, limit_ms: float, paths: Sequence[Path]
) -> str:
    """`slow`: the end whose pings took longer."""
    return (
        f"The pings of the {slow} end took {units.milliseconds(slow_ms)} beside a load "
        f"({trial(p, repeat, paths=paths)}), those of the other end "
        f"{units.milliseconds(quick_ms)} at the same time: no queue makes that difference, and whether the delay "
        f"stays within {units.milliseconds(limit_ms)} is not sure."
    )


def loss_unmeasured(limit: float, which: str) -> str:
    """`which`: a direction, or one of several paths."""
    return (
        f"Loss {which} was measured neither by pings nor by paced UDP: whether it stays within the {limit:g} % of "
        "loss that the contract allows is not known."
    )


def loss_up_to(kind: str, sent: int, lost: int, share: float, which: str, limit: float) -> str:
    """`kind`: of packets: "pings", "datagrams", "segments"; `lost`: of segments those sent again."""
    one = {"pings": "ping", "datagrams": "datagram", "segments": "segment"}[kind]
    if not lost:
        leave = "leaves" if sent == 1 else "leave"
        seen = f"{units.plural(sent, one)} without {'one sent again' if kind == 'segments' else 'a loss'} {leave}"
    else:
        seen = f"{lost} of {units.plural(sent, one)} {'sent again' if kind == 'segments' else 'lost'} leave"
    return (
        f"{seen} up to {100 * share:.3g} % of loss possible {which}: whether it stays within the {limit:g} % of loss "
        "that the contract allows is not shown; paced UDP would tell."
    )


def lost_early(
    p: Experiment, direction: str, lost: int, sent: int, later: float, limit: float, paths: Sequence[Path]
) -> str:
    """`later`: the share lost in the seconds that count; `limit`: the contract's, in percent."""
    return (
        f"{one_way(p, direction, paths=paths)}: in the warm-up, which counts for no figure, {lost} of "
        f"{units.plural(sent, 'datagram')} were lost, {units.share(lost / sent, 2)} of them, on the link or at an "
        f"end: more than the {limit:g} % of loss that the contract allows; afterwards {units.share(later, 2)} of them."
    )


def discarded_load(p: Experiment, stalled: int, trials: int, loads: int, why: str, paths: Sequence[Path]) -> str:
    """`stalled`: of how many of the trials the load before it failed, `loads`: how many such loads in all."""
    reason = f": {why.rstrip('.')}" if why else ""
    return (
        f"{arm(p, paths=paths)}: before {stalled} of {units.plural(trials, 'trial')} the short load that counts for no "
        f"figure failed on the path ({units.plural(loads, 'time')}{reason}); adapters that had just "
        "started anew may be why."
    )


def size_unanswered(p: Experiment, size: int, trials: int, probes: int, paths: Sequence[Path]) -> str:
    """None of the `probes` that were sent before the trials was answered."""
    before = f"before any of its {units.plural(trials, 'trial')}, {probes} were sent"
    return (
        f"{arm(p, paths=paths)}: no packet of {size} bytes was answered ({before}): look at the MTU of what lies "
        "between the two ends."
    )


def jitter_unknown(limit_ms: float, direction: str = "", paths: Sequence[Path] = ()) -> str:
    limit, which = units.milliseconds(limit_ms), f" {way(direction, paths)}" if direction else ""
    return f"Jitter{which} was not measured: whether it stays within {limit} is not known."


def jitter_above(jitter_ms: float, limit_ms: float, weak: str = "") -> str:
    said = (
        f"The jitter of paced UDP is {units.milliseconds(jitter_ms)} where the contract allows "
        f"{units.milliseconds(limit_ms)}."
    )
    return f"{said} But {weak}: whether the path or that end made it is not known." if weak else said


def sent_again(p: Experiment, direction: str, share: float, paths: Sequence[Path]) -> str:
    return f"{one_way(p, direction, paths=paths)}: {units.share(share, 2)} of the segments had to be sent again."


def out_of_order(p: Experiment, direction: str, share: float, paths: Sequence[Path]) -> str:
    return f"{one_way(p, direction, paths=paths)}: {units.share(share, 1)} of the segments arrived out of order."


def starved_flow(
    p: Experiment, direction: str, repeat: int, flows: int, least: float, usual: float, paths: Sequence[Path]
) -> str:
    return (
        f"{one_way(p, direction, repeat, paths)}: one of {flows} flows got {units.rate(least)} where "
        f"{units.rate(usual)} is usual."
    )


def long_queue(idle_ms: float, loaded_ms: float) -> str:
    return (
        f"Under load the round trip rises from {units.milliseconds(idle_ms)} to {units.milliseconds(loaded_ms)} "
        "(median): a long queue, in which calls and transactions wait as well."
    )


def more_carry_less(direction: str, many: int, carried: float, few: int, before: float, paths: Sequence[Path]) -> str:
    which = way(direction, paths)
    return (
        f"{which[:1].upper()}{which[1:]}: {streams(many)} carry {units.rate(carried)}, {streams(few)} "
        f"{units.rate(before)}."
    )


def duplex_untried() -> str:
    return "Both ways at once were not tried."


def other_way_back(hops: list[int]) -> str:
    seen = " and ".join(str(n) for n in hops)
    return f"Answers to pings came with a TTL of {seen} left: the way between the ends changed while it was measured."


def answered_twice(trials: int) -> str:
    return (
        f"Pings of {units.plural(trials, 'trial')} were answered more than once: something on the way doubles packets."
    )


def pings_sent(trial_name: str, sent: int, asked: int) -> str:
    return f"{trial_name}: {sent} pings were sent where {asked} were asked for: what became of the others is not known."


def more_pings_lost(trial_name: str, lost: int, sent: int, by: End) -> str:
    near = "the near end's" if by is End.NEAR else "the far end's"
    return (
        f"{trial_name}: {lost} of {sent} of {near} pings beside the load were lost, and far less of the load itself:"
        " something loses what is not TCP."
    )
