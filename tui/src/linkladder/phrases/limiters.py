"""What limits, in words: a sentence from the figures of each rule of the judge, evidence, and what would tell more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkladder import units
from linkladder.model import CarrierLost
from linkladder.phrases.arms import streams
from linkladder.phrases.followups import Question
from linkladder.phrases.outages import carriers_lost
from linkladder.verdicts import LimiterKind


class Said(NamedTuple):
    sentence: str
    evidence: tuple[str, ...] = ()
    experiment: str = ""  # what would tell two candidates apart


_WITHOUT_TSO = "The same trial with TSO off: if it runs then, the large sends are what the card or its driver breaks."


def black_hole(goodput: float, mtu: int | None, failed: Sequence[int]) -> Said:
    works = f"; packets of {mtu} bytes pass" if mtu else ""
    return Said(
        f"Path MTU black hole: full-size packets vanish on the way without a word{works}, so a connection opens and "
        f"then carries {units.rate(goodput)}.",
        (_unanswered(failed),),
    )


def hole_above(goodput: float, mtu: int | None, failed: Sequence[int]) -> Said:
    works = f"packets of {mtu} bytes pass, " if mtu else ""
    return Said(
        f"A path MTU black hole, or large sends that a card or a driver breaks: {works}{_unanswered(failed)}, and no "
        f"system told how large the load's packets were; it carried {units.rate(goodput)}.",
        (_unanswered(failed),),
        _WITHOUT_TSO,
    )


def silent_at_hole(arrived: int, mtu: int | None, failed: Sequence[int]) -> Said:
    works = f" ({mtu} pass)" if mtu else ""
    return Said(
        f"The path went silent after {units.size(arrived)} had arrived: it was interrupted, or began to lose packets "
        f"of full size, as {_unanswered(failed)}{works}.",
        (f"{arrived} bytes arrived, then none", _unanswered(failed)),
        "DF probes right before and after the same trial tell a path that changes from one that was interrupted.",
    )


def _unanswered(failed: Sequence[int]) -> str:
    return f"DF probes of {', '.join(map(str, failed))} bytes got no answer"


def trickle(goodput: float, mtu: int) -> Said:
    return Said(
        f"Large sends that a card or a driver breaks: TCP trickles at {units.rate(goodput)}, though DF probes of {mtu} "
        "bytes pass.",
        (f"{units.rate(goodput)} arrived", f"packets of {mtu} bytes pass"),
        _WITHOUT_TSO,
    )


def no_connection() -> Said:
    return Said(
        "Nothing arrived, and no connection is on record: the link or the far end was down, or a filter is on the way.",
        ("no flow is on record",),
    )


def without_link(cards: Sequence[CarrierLost]) -> Said:
    said = carriers_lost(cards)
    return Said(f"Nothing arrived: {said}.", (said.partition(":")[0],))


def opened_only(arrived: int, mtu: int) -> Said:
    return Said(
        f"Large sends that a card or a driver breaks: the connection opened and then nothing arrived ({arrived} bytes "
        f"in all), though DF probes of {mtu} bytes pass.",
        (f"{arrived} bytes arrived", f"packets of {mtu} bytes pass"),
        _WITHOUT_TSO,
    )


def opened_unprobed(arrived: int) -> Said:
    return Said(
        f"The connection opened and then nothing arrived ({arrived} bytes in all): a path MTU black hole, or large "
        "sends that a card or a driver breaks.",
        (f"{arrived} bytes arrived",),
        "DF probes both ways tell a black hole; the same trial with TSO off tells broken large sends.",
    )


def went_silent(arrived: int) -> Said:
    return Said(
        f"The path went silent after {units.size(arrived)} had arrived: an interruption, not a limit.",
        (f"{arrived} bytes arrived, then none",),
    )


def link(goodput: float, ceiling: float, level: float | None) -> Said:
    """`level`: where most seconds run, of the ceiling, if single dips are what is short."""
    ratio = goodput / ceiling
    above = ", so the link is not what was entered" if ratio > 1.01 else ""
    above = (
        f"; most seconds run at {units.share(level, 1)} of it, the rest lose it in dips" if level is not None else above
    )
    return Said(
        f"The link itself: {units.rate(goodput)} is {units.share(ratio, 1)} of the ceiling of "
        f"{units.rate(ceiling)}{above}.",
        (f"{units.share(ratio, 1)} of the ceiling",),
    )


def starved(kind: LimiterKind, end: str, withheld: float, goodput: float) -> Said:
    return Said(
        f"The {kind} ({end} end): a CPU quota or the hypervisor withheld {units.share(withheld)} of its time, so "
        f"{units.rate(goodput)} says little of the path.",
        (f"{units.share(withheld)} of the {end} end's CPU time withheld",),
    )


def though_withheld(sentence: str, end: str, withheld: float, most: float, certain: bool) -> Said:
    """Of an end kept from its CPU beside what else limits; `most`: the share of the rate that this explains."""
    share = f"{units.share(withheld)} of the {end} end's CPU time was withheld"
    of_it = f"which explains {units.share(min(1.0, most))} of the rate at most"
    doubt = f"{share}, {of_it}" if certain else f"{share}, so that it may be that end"
    return Said(f"{sentence.rstrip('.')}; {doubt}.", (f"{share}, {of_it}",))


def window_held(share: float, window: float | None, round_trip: float) -> Said:
    return _window(f"the receiver's window held the sender for {units.share(share)} of the time", window, round_trip)


def window_full(window: float, round_trip: float, count: int, allowed: float, goodput: float) -> Said:
    said = (
        f"{units.size(window)} per stream over a round trip of {units.milliseconds(round_trip)} allows "
        f"{units.rate(allowed)} with {streams(count)}, and {units.rate(goodput)} was reached without loss"
    )
    return _window(said, window, round_trip)


def _window(said: str, window: float | None, round_trip: float) -> Said:
    return Said(
        f"The window: {said}.", (f"window {units.size(window)}", f"round trip {units.milliseconds(round_trip)}")
    )


def growth(goodput: float, first: float, last: float, round_trips: tuple[float, float]) -> Said:
    """`first`, `last`: the rates of the first and the last counted second."""
    grew = f"{units.rate(first)} in the first counted second, {units.rate(last)} in the last"
    return Said(
        f"TCP was still growing when the trial ended ({grew}), and had met neither loss nor a queue at "
        f"{units.rate(goodput)}: over a round trip of {units.milliseconds(round_trips[0])} that takes long.",
        (grew, "no segment was lost", _round_trips(*round_trips)),
        "The same trial with a warm-up so long that the rate no longer grows, or with more streams, which grow side "
        "by side.",
    )


def own_queue(
    idle: float, loaded: float, goodput: float, loss: float | None, end: LimiterKind, busy: float, calm: float | None
) -> Said:
    """`calm`: as in `queue_inside`, which is no more than part of the answer where it rises too."""
    return Said(
        f"A queue: under load the round trip rises from {units.milliseconds(idle)} to {units.milliseconds(loaded)} at "
        f"{units.rate(goodput)}{_lost(loss)}; a core of the {end} is {busy:.0f} % busy, so that it may be its own.",
        (_round_trips(idle, loaded), *((_from_idle_end(calm),) if calm is not None else ())),
        "Paced UDP just below this rate: if nothing of it is lost and pings stay quick, the queue is the path's.",
    )


def queue_inside(end: LimiterKind, idle: float, loaded: float, calm: float, goodput: float, busy: float) -> Said:
    """`calm`: the round trip under load as the end with idle cores sees it."""
    return Said(
        f"The {end}: a core of it is {busy:.0f} % busy at {units.rate(goodput)}, and what waits does so inside it: "
        f"its own pings rise from {units.milliseconds(idle)} to {units.milliseconds(loaded)}, those of the other end, "
        f"whose cores are idle, stay at {units.milliseconds(calm)}.",
        (_round_trips(idle, loaded), _from_idle_end(calm)),
    )


def queue(idle: float, loaded: float, held: float, goodput: float, loss: float | None) -> Said:
    """`held`: bytes that wait."""
    return Said(
        f"A shaper or queue: under load the round trip rises from {units.milliseconds(idle)} to "
        f"{units.milliseconds(loaded)}, about {units.size(held)} waiting at {units.rate(goodput)}{_lost(loss)}.",
        (_round_trips(idle, loaded),),
    )


def or_the_receiver(found: Said, times: int) -> Said:
    stem = found.sentence.rstrip(".")
    said = f"{stem}; but the receiver closed its window {units.plural(times, 'time')}, so that it may be what limits."
    return Said(said, (*found.evidence, stalls(times)), found.experiment)


def or_the_window(found: Said, share: float) -> Said:
    """A queue, while the receiver's window held the sender for that share of the time."""
    said = f"the receiver's window held the sender for {units.share(share)} of the time"
    return Said(
        f"{found.sentence} But {said}, so that it may be the window that limits.",
        (*found.evidence, said),
        "Paced UDP above this rate: if it gets through the path carries more, and the window was what limited.",
    )


def or_reordered(found: Said, out_of_order: float, again: float) -> Said:
    """A queue, while packets overtook each other and were sent again for nothing."""
    said = f"{100 * out_of_order:.2g} % of the segments came out of order, and {100 * again:.2g} % were sent again"
    words = f"{found.sentence} But {said}, so that it may be reordering that limits."
    return Said(words, (*found.evidence, said), found.experiment)


def _from_idle_end(calm: float) -> str:
    return f"round trip {units.milliseconds(calm)} under load by the pings of the end with idle cores"


def _lost(loss: float | None) -> str:
    """`loss`: where there was any to speak of."""
    return f", {units.share(loss, 2)} of the segments lost" if loss else ", hardly any loss"


def _round_trips(idle: float, loaded: float) -> str:
    return f"round trip {units.milliseconds(idle)} idle, {units.milliseconds(loaded)} under load"


def shallow(loss: float, retransmits: int | None, signs: Sequence[str]) -> Said:
    return Said(f"A shallow buffer or a small burst: {_again(loss)}; {signs[0]}.", (_count(loss, retransmits), *signs))


def policer(loss: float, retransmits: int | None, goodput: float, flat: bool | None, signs: Sequence[str]) -> Said:
    """`flat`: whether the round trip stayed so, where that is known."""
    said = f"A policer at about {units.rate(goodput)} of goodput: {_again(loss, flat)}; {signs[0]}."
    return Said(said, (_count(loss, retransmits), *signs))


def random_loss(loss: float, retransmits: int | None, flat: bool | None, signs: Sequence[str]) -> Said:
    return Said(f"Loss: {_again(loss, flat)}; {signs[0]}.", (_count(loss, retransmits), *signs))


def loss_or_policer(loss: float, retransmits: int | None, flat: bool | None, signs: Sequence[str]) -> Said:
    return Said(
        f"Loss or a policer: {_again(loss, flat)}.",
        (_count(loss, retransmits), *signs),
        "Paced UDP below and above this rate: random loss takes the same share of each, a policer takes nothing below "
        "its own.",
    )


def reordered(out_of_order: float, again: float, needless: float, others: Sequence[LimiterKind]) -> Said:
    """`needless`: of what was sent again, as far as the receiver told that it had it already."""
    mixed = f"{100 * out_of_order:.2g} % of the segments came out of order"
    twice = f"{100 * again:.2g} % were sent again, at least {units.share(needless)} of them for nothing"
    said = [
        f"Reordering: packets overtake each other on the way, which TCP takes for loss; {mixed}",
        *("some may be lost as well" for kind in others if kind is LimiterKind.LOSS),
        *("a queue stands as well, so that a shaper may limit it too" for kind in others if kind is LimiterKind.SHAPER),
        *(
            f"a core of the {kind} is busy, so that it may be what limits"
            for kind in others
            if kind not in (LimiterKind.LOSS, LimiterKind.SHAPER)
        ),
    ]
    return Said(
        f"{'; '.join(said)}.",
        (mixed, twice),
        "Whether the way is spread packet by packet (round robin, or no flow hashing): spread flow by flow, each keeps "
        "its order.",
    )


def or_a_burst(sentence: str, experiment: str, uneven: bool) -> Said:
    """`uneven`: what was seen was the loss of datagrams that a busy end did not pace."""
    stem, small = sentence.rstrip("."), "a buffer or bucket too small for bursts"
    if not uneven:
        return Said(f"{stem}; {small} would look alike.", experiment=experiment)
    return Said(
        f"{stem}; the sender was too busy to pace its datagrams evenly, so that {small} may have dropped them.",
        experiment="The same paced UDP from an end whose cores are idle: what only drops bursts then loses nothing.",
    )


def or_the_end(sentence: str, end: LimiterKind, busiest: float) -> str:
    return f"{sentence.rstrip('.')}; a core of the {end} is {busiest:.0f} % busy, so that it may be what limits."


def _again(loss: float, flat: bool | None = None) -> str:
    rose = "" if flat is None else f" while the round trip {'stayed flat' if flat else 'rose only in bursts'}"
    return f"{units.share(loss, 2)} of the segments had to be sent again{rose}"


def _count(loss: float, retransmits: int | None) -> str:
    if retransmits is None:
        return f"{units.share(loss, 3)} of the segments sent again"
    return f"{units.plural(retransmits, 'segment')} sent again, {units.share(loss, 3)} of all"


def busy(kind: LimiterKind, end: str, sender: float, receiver: float, full: float, goodput: float,
         signs: Sequence[str]) -> Said:  # fmt: skip
    """`full`: percent of a core from which it is saturated."""
    core = receiver if kind is LimiterKind.RECEIVER else sender
    only = "" if core >= full else "only "
    also = "; " + ", ".join(signs) if signs else ""
    return Said(
        f"The {kind} ({end} end): its busiest core is {only}{core:.0f} % busy at {units.rate(goodput)}{also}.",
        (_cores(sender, receiver), *signs),
    )


def both_busy(sender: float, receiver: float) -> Said:
    return Said(
        f"Sender or receiver: a core of each is saturated ({sender:.0f} % and {receiver:.0f} % busy).",
        (_cores(sender, receiver),),
        "More streams or vCPUs at one end, then at the other.",
    )


def _cores(sender: float, receiver: float) -> str:
    return f"busiest core {sender:.0f} % busy at the sender, {receiver:.0f} % busy at the receiver"


def stalls(count: int) -> str:
    return f"the receiver closed its window {units.plural(count, 'time')}"


def card_drops(dropped: int, packets: int) -> str:
    return f"its card dropped {dropped} of {packets} packets"


def unknown(
    goodput: float, cores: tuple[float, float] | None, loss: float | None, round_trips: tuple[float, float] | None
) -> Said:
    """Of each figure what is known of it; `cores` are the busiest of sender and receiver."""
    known = []
    if cores is not None:
        known.append(f"busiest cores {cores[0]:.0f} % and {cores[1]:.0f} % busy")
    if loss is not None:
        known.append(f"{units.share(loss, 3)} of the segments sent again")
    if round_trips is not None:
        known.append(_round_trips(*round_trips))
    seen = f" ({'; '.join(known)})" if known else " (neither CPU nor TCP counters nor round trips were recorded)"
    return Said(
        f"What limits {units.rate(goodput)} is not known{seen}.",
        tuple(known),
        "More streams, then a larger window: more of either shows whether one flow was the limit.",
    )


# What a further measurement is to answer.
ONE_CORE = Question("what limits", "more throughput means that one core held it")
LARGE_SENDS = Question("large sends", "if it runs with TSO off, the large sends are what a card or its driver breaks")
HOLE_OR_SENDS = Question("a path MTU black hole or broken large sends", "silence above a size tells a black hole")
ONE_FLOW = Question("what limits", "more of either shows whether one flow was the limit")
WINDOW = Question("what the path carries when the window does not hold it", "windows add up")
LOSS_BY_RATES = Question(
    "loss or a policer", "random loss takes the same share of each rate, a policer takes nothing below its own"
)
LOSS_BY_STREAMS = Question(
    "loss or a policer", "more streams carry more through random loss, and no more through a policer"
)


def more_cores(end: str) -> Question:
    """`end`: 'sender' or 'receiver', '' where it may be either."""
    text = f"whether more cores help the {end}" if end else "sender or receiver"
    return Question(
        text, "more throughput means that one core held it, and the core still saturated then names the end"
    )


# What holds each flow by itself, and what to do to see the way behind it.
EACH_FLOW = {
    LimiterKind.WINDOW: (
        "its own window, and the windows of many flows add up, over a single link too",
        'give every flow a larger one (window = "8M"; linkladder doctor tells the system\'s limit)',
    ),
    LimiterKind.GROWTH: (
        "the slow growth of TCP on this long way, which ended only with the trial",
        "measure longer (duration = 60)",
    ),
    LimiterKind.SENDER: ("a busy core of the sender", "use faster cores, MTU 9000 or TSO"),
    LimiterKind.RECEIVER: ("a busy core of the receiver", "use faster cores, MTU 9000 or LRO"),
}
ANOTHER = ("{} rather than by the rate of a link", "find that first (the rung's findings say more)")
NOT_KNOWN = ("something that is not known: cores and round trips were not all measured", "run the plan bundle again")


def held_each_flow(kind: LimiterKind) -> tuple[str, str]:
    """What held a flow by itself, and what to do to see the way behind it."""
    if kind is LimiterKind.UNKNOWN:
        return NOT_KNOWN
    what, remedy = EACH_FLOW.get(kind, ANOTHER)
    return what.format(kind), remedy
