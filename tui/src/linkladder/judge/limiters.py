"""What kept a trial from more: one answer with its figures, or two with what would tell them apart.

The rules go from what settles the question alone (nothing arrived, the ceiling was reached, a quota withheld the CPU)
to what has to be weighed (a full window, lost segments, a growing queue, a busy core).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

from linkladder import units
from linkladder.judge.evidence import BUSY, STARVED, Evidence, gather
from linkladder.judge.loss_signs import REAL_LOSS, burst_signs, bursts, loss_signs, policer_signs, rising
from linkladder.model import Contract, Direction, Experiment, RungResult, TrialResult
from linkladder.verdicts import Limiter, LimiterKind

AT_CEILING = 0.97
NEAR_CEILING = 0.93  # enough where most seconds run at the ceiling: what is short is lost in single dips
SOME_LOSS = 1e-5
SOME_STALLS = 5  # closed windows in a trial; one or two happen at its end
QUEUE_MS = 3.0  # a round trip that rises by more waits in a queue, however busy the ends are
HELD = 0.5  # of the time that a sender waited for the receiver's window
ROOMY = 4.0  # times the rate: loss that would allow so much more does not limit it
TRICKLE = 0.002  # of the ceiling: what crawls through where large sends vanish
DROPS = 5e-4  # of the packets that a card must have dropped before it is named
CLOSE = 85.0  # percent of a core from which a queue may be the end's own
MATHIS = 1.22  # times MSS / (RTT * sqrt(loss)): the rate of one flow under random loss (Mathis et al. 1997)

_Rule = Callable[[Evidence], Limiter | None]


def limiter(
    trial: TrialResult,
    experiment: Experiment,
    contract: Contract,
    rung: RungResult | None = None,
    direction: Direction | None = None,
    bounded: bool = True,
) -> Limiter:
    """The limiter of one direction; `rung` lends its idle round trip, DF probes and paced UDP as further witnesses."""
    way = direction or (Direction.FORWARD if experiment.direction is not Direction.REVERSE else Direction.REVERSE)
    evidence = gather(trial, experiment, contract, way, rung, bounded)
    rules: tuple[_Rule, ...] = (_nothing_arrived, _link, _starved, _window, _queue, _lossy, _busy)
    if not bounded and _too_busy(evidence):
        rules = (_nothing_arrived, _starved, _busy)  # inside a host a saturated core is the expected end of all
    for rule in rules:
        if found := rule(evidence):
            return found
    return _unknown(evidence)


def host_bound(evidence_limiter: Limiter | None) -> bool:
    """Whether an end, not the path, is or may be what limits."""
    ends = {LimiterKind.SENDER, LimiterKind.RECEIVER}
    return evidence_limiter is not None and bool(ends & {evidence_limiter.kind, *evidence_limiter.candidates})


def _nothing_arrived(e: Evidence) -> Limiter | None:
    probed = e.path_mtu
    if probed is not None and probed.black_hole and e.goodput < 0.01 * (e.ceiling or math.inf):
        works = f"; packets of {probed.mtu} bytes pass" if probed.mtu else ""
        return Limiter(
            LimiterKind.PATH_MTU,
            f"Path MTU black hole: full-size packets vanish on the way without a word{works}, so a connection opens "
            f"and then carries {units.rate(e.goodput)}.",
            (LimiterKind.PATH_MTU,),
            (f"DF probes of {', '.join(map(str, probed.failed))} bytes got no answer",),
        )
    passes = probed is not None and not probed.black_hole and probed.mtu is not None
    trickles = e.goodput <= TRICKLE * (e.ceiling or 0.0)
    if passes and probed is not None and trickles and e.goodput > 0:
        return Limiter(
            LimiterKind.LARGE_SENDS,
            f"Large sends that a card or a driver breaks: TCP trickles at {units.rate(e.goodput)}, though DF probes of "
            f"{probed.mtu} bytes pass.",
            (LimiterKind.LARGE_SENDS,),
            (f"{units.rate(e.goodput)} arrived", f"packets of {probed.mtu} bytes pass"),
            "The same trial with TSO off: if it runs then, the large sends are what the card or its driver breaks.",
        )
    if e.goodput > 0:
        return None
    if e.flows == 0:
        return Limiter(
            LimiterKind.UNKNOWN,
            "Nothing arrived, and no connection is on record: the link or the far end was down, or a filter is on the "
            "way.",
            evidence=("no flow is on record",),
        )
    if e.total_bytes < 20 * e.mss and passes and probed is not None:
        return Limiter(
            LimiterKind.LARGE_SENDS,
            f"Large sends that a card or a driver breaks: the connection opened and then nothing arrived "
            f"({e.total_bytes} bytes in all), though DF probes of {probed.mtu} bytes pass.",
            (LimiterKind.LARGE_SENDS,),
            (f"{e.total_bytes} bytes arrived", f"packets of {probed.mtu} bytes pass"),
            "The same trial with TSO off: if it runs then, the large sends are what the card or its driver breaks.",
        )
    if e.total_bytes < 20 * e.mss:
        return Limiter(
            LimiterKind.PATH_MTU,
            f"The connection opened and then nothing arrived ({e.total_bytes} bytes in all): a path MTU black hole, or "
            "large sends that a card or a driver breaks.",
            (LimiterKind.PATH_MTU, LimiterKind.LARGE_SENDS),
            (f"{e.total_bytes} bytes arrived",),
            "DF probes both ways tell a black hole; the same trial with TSO off tells broken large sends.",
        )
    return Limiter(
        LimiterKind.OUTAGE,
        f"The path went silent after {units.size(e.total_bytes)} had arrived: an interruption, not a limit.",
        evidence=(f"{e.total_bytes} bytes arrived, then none",),
    )


def _link(e: Evidence) -> Limiter | None:
    if e.ratio is None or e.ceiling is None:
        return None
    level = statistics.median(e.seconds) / e.ceiling if e.seconds else 0.0
    dips = e.ratio < AT_CEILING
    if dips and (e.ratio < NEAR_CEILING or level < 0.985):
        return None
    above = ", so the link is not what was entered" if e.ratio > 1.01 else ""
    above = f"; most seconds run at {level:.1%} of it, the rest lose it in dips" if dips else above
    return Limiter(
        LimiterKind.LINK,
        f"The link itself: {units.rate(e.goodput)} is {e.ratio:.1%} of the ceiling of {units.rate(e.ceiling)}{above}.",
        (LimiterKind.LINK,),
        (f"{e.ratio:.1%} of the ceiling",),
    )


def _starved(e: Evidence) -> Limiter | None:
    worst = max(e.sender_starved, e.receiver_starved)
    if worst < STARVED:
        return None
    kind = LimiterKind.SENDER if e.sender_starved >= e.receiver_starved else LimiterKind.RECEIVER
    end = e.sender if kind is LimiterKind.SENDER else e.receiver
    return Limiter(
        kind,
        f"The {kind} ({end} end): a CPU quota or the hypervisor withheld {worst:.0%} of its time, so "
        f"{units.rate(e.goodput)} says little of the path.",
        (kind,),
        (f"{worst:.0%} of the {end} end's CPU time withheld",),
    )


def _window(e: Evidence) -> Limiter | None:
    """A window limits where it stands at its bound for the counted seconds while nothing is lost.

    Needs a bound: the buffer that was asked for, the one that the systems granted, or how long the receiver's window
    held the sender.  A congestion window over a round trip is none: it always makes the rate, whatever limits.
    """
    round_trip = e.loaded_ms or e.idle_ms
    if not round_trip or round_trip < 1.0 or rising(e) or _lost_some(e):
        return None
    if e.held is not None and e.held >= HELD:
        return _window_said(
            e, f"the receiver's window held the sender for {e.held:.0%} of the time", round_trip, e.window
        )
    if e.window is None:
        return None
    allowed = e.window * 8 * max(e.streams, e.flows) / (round_trip / 1000)
    # The kernel may grant up to twice what was asked for, and counts bookkeeping in it.
    if not 0.4 <= e.goodput / allowed <= 2.2:
        return None
    if not e.window_fixed and not (e.steady and 0.75 <= e.goodput / allowed <= 1.3):
        return None
    with_streams = f"with {e.streams} stream{'s' if e.streams > 1 else ''}"
    said = (
        f"{units.size(e.window)} per stream over a round trip of {units.milliseconds(round_trip)} allows "
        f"{units.rate(allowed)} {with_streams}, and {units.rate(e.goodput)} was reached without loss"
    )
    return _window_said(e, said, round_trip, e.window)


def _window_said(e: Evidence, said: str, round_trip: float, window: float | None) -> Limiter:
    return Limiter(
        LimiterKind.WINDOW,
        f"The window: {said}.",
        (LimiterKind.WINDOW,),
        (f"window {units.size(window)}", f"round trip {units.milliseconds(round_trip)}"),
    )


def _lost_some(e: Evidence) -> bool:
    """Whether so much was lost that it may be what holds the rate: then the window follows, and does not lead."""
    if not e.loss or (e.retransmits or 0) < 3:
        return False
    round_trip = max(0.05, e.loaded_ms or e.idle_ms or 0.0)
    possible = e.streams * MATHIS * e.mss * 8 / (round_trip / 1000 * math.sqrt(e.loss))
    return possible < ROOMY * e.goodput or not e.window_fixed


def _queue(e: Evidence) -> Limiter | None:
    if not rising(e) or e.rise_ms is None or e.idle_ms is None or e.loaded_ms is None:
        return None
    if _too_busy(e) and not (e.loss or 0.0) > REAL_LOSS and e.rise_ms < QUEUE_MS:
        return None  # a saturated core makes pings wait a little as well
    if bursts(e) and policer_signs(e):
        return None  # what a policer lets through in bursts waits behind it, though nothing is shaped
    held = e.rise_ms / 1000 * e.goodput / 8
    lost = f", {e.loss:.2%} of the segments lost" if e.loss and e.loss > SOME_LOSS else ", hardly any loss"
    busiest = max(e.sender_busy or 0.0, e.receiver_busy or 0.0)
    if busiest >= CLOSE and not _rate_shown(e):
        # In a machine whose cores are that busy a standing queue is its own until something shows otherwise.
        end = LimiterKind.SENDER if (e.sender_busy or 0.0) >= (e.receiver_busy or 0.0) else LimiterKind.RECEIVER
        return Limiter(
            LimiterKind.SHAPER,
            f"A queue: under load the round trip rises from {units.milliseconds(e.idle_ms)} to "
            f"{units.milliseconds(e.loaded_ms)} at {units.rate(e.goodput)}{lost}; a core of the {end} is "
            f"{busiest:.0f} % busy, so that it may be its own.",
            (LimiterKind.SHAPER, end),
            (f"round trip {units.milliseconds(e.idle_ms)} idle, {units.milliseconds(e.loaded_ms)} under load",),
            "Paced UDP just below this rate: if nothing of it is lost and pings stay quick, the queue is the path's.",
        )
    return Limiter(
        LimiterKind.SHAPER,
        f"A shaper or queue: under load the round trip rises from {units.milliseconds(e.idle_ms)} to "
        f"{units.milliseconds(e.loaded_ms)}, about {units.size(held)} waiting at {units.rate(e.goodput)}{lost}.",
        (LimiterKind.SHAPER,),
        (f"round trip {units.milliseconds(e.idle_ms)} idle, {units.milliseconds(e.loaded_ms)} under load",),
    )


def _rate_shown(e: Evidence) -> bool:
    """Whether paced UDP met a rate above which the path takes no more."""
    offers = sorted(e.paced, key=lambda p: p.offered_bps)
    return len(offers) > 1 and offers[-1].loss > 0.01 and offers[0].loss < 0.2 * offers[-1].loss


def _lossy(e: Evidence) -> Limiter | None:
    if e.loss is None or e.loss <= SOME_LOSS or (e.retransmits or 0) < 3:
        return None
    again = f"{e.loss:.2%} of the segments had to be sent again"
    if shallow := burst_signs(e):
        return Limiter(
            LimiterKind.BURST,
            f"A shallow buffer or a small burst: {again}; {shallow[0]}.",
            (LimiterKind.BURST,),
            (f"{e.retransmits} segments sent again, {e.loss:.3%} of all", *shallow),
        )
    policed = policer_signs(e)
    random = loss_signs(e)
    if not (policed or random or _loss_explains(e)):
        return None
    figures = (f"{e.retransmits} segments sent again, {e.loss:.3%} of all", *policed, *random)
    if e.rise_ms is not None:
        again += " while the round trip " + ("rose only in bursts" if rising(e) else "stayed flat")
    if policed and not random:
        return Limiter(
            LimiterKind.POLICER,
            f"A policer at about {units.rate(e.goodput)} of goodput: {again}; {policed[0]}.",
            (LimiterKind.POLICER,),
            figures,
        )
    if random and not policed:
        return Limiter(LimiterKind.LOSS, f"Loss: {again}; {random[0]}.", (LimiterKind.LOSS,), figures)
    kind = LimiterKind.POLICER if len(policed) > len(random) else LimiterKind.LOSS
    return Limiter(
        kind,
        f"Loss or a policer: {again}.",
        (LimiterKind.LOSS, LimiterKind.POLICER),
        figures,
        "Paced UDP below and above this rate: random loss takes the same share of each, a policer takes nothing below "
        "its own.",
    )


def _loss_explains(e: Evidence, share: float = 0.15) -> bool:
    """Whether so much loss would hold TCP near this rate at all: is it at least this share of Mathis's?"""
    if not e.loss:
        return True
    # With many losses on a short path the kernel's timers, not the round trips, set the pace.
    least = 1.0 if e.loss > 0.005 else 0.05
    round_trip = max(least, e.loaded_ms or e.idle_ms or 0.0)
    return e.goodput > share * e.streams * MATHIS * e.mss * 8 / (round_trip / 1000 * math.sqrt(e.loss))


def _too_busy(e: Evidence) -> bool:
    return max(e.sender_busy or 0.0, e.receiver_busy or 0.0) >= BUSY


def _busy(e: Evidence) -> Limiter | None:
    sender, receiver = e.sender_busy or 0.0, e.receiver_busy or 0.0
    signs = []
    if e.zero_windows >= SOME_STALLS:
        signs.append(f"the receiver closed its window {e.zero_windows} times")
    if e.receiver_drops > DROPS * max(1, e.receiver_packets):
        signs.append(f"its card dropped {e.receiver_drops} of {e.receiver_packets} packets")
    if receiver >= BUSY and (signs or receiver > sender + 2 or sender < BUSY):
        kind, end, busy = LimiterKind.RECEIVER, e.receiver, receiver
    elif sender >= BUSY:
        kind, end, busy, signs = LimiterKind.SENDER, e.sender, sender, []
    elif signs:
        kind, end, busy = LimiterKind.RECEIVER, e.receiver, receiver
    else:
        return None
    both = sender >= BUSY and receiver >= BUSY and abs(sender - receiver) <= 2 and not signs
    candidates = (LimiterKind.SENDER, LimiterKind.RECEIVER) if both else (kind,)
    core = f"its busiest core is {busy:.0f} % busy" if busy >= BUSY else f"its busiest core is only {busy:.0f} % busy"
    also = "; " + ", ".join(signs) if signs else ""
    text = f"The {kind} ({end} end): {core} at {units.rate(e.goodput)}{also}."
    if both:
        text = f"Sender or receiver: a core of each is saturated ({sender:.0f} % and {receiver:.0f} % busy)."
    return Limiter(
        kind,
        text,
        candidates,
        (f"busiest core {sender:.0f} % busy at the sender, {receiver:.0f} % busy at the receiver", *signs),
        "More streams or vCPUs at one end, then at the other." if both else "",
    )


def _unknown(e: Evidence) -> Limiter:
    known = []
    if e.sender_busy is not None and e.receiver_busy is not None:
        known.append(f"busiest cores {e.sender_busy:.0f} % and {e.receiver_busy:.0f} % busy")
    if e.loss is not None:
        known.append(f"{e.loss:.3%} of the segments sent again")
    if e.idle_ms is not None and e.loaded_ms is not None:
        known.append(f"round trip {units.milliseconds(e.idle_ms)} idle, {units.milliseconds(e.loaded_ms)} under load")
    seen = f" ({'; '.join(known)})" if known else " (neither CPU nor TCP counters nor round trips were recorded)"
    return Limiter(
        LimiterKind.UNKNOWN,
        f"What limits {units.rate(e.goodput)} is not known{seen}.",
        evidence=tuple(known),
        experiment="More streams, then a larger window: more of either shows whether one flow was the limit.",
    )
