"""Puts findings about a bundle of links into words: one flow and many, the odds of hashing, reordering and loss."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import units
from linkladder.model import Setting, TcpCounters
from linkladder.phrases.arms import setting
from linkladder.phrases.limiters import held_each_flow
from linkladder.phrases.ways import way
from linkladder.verdicts import BundleJudgement, LimiterKind

NUMBERS = {2: "two", 3: "three", 4: "four"}


def _start(seen: BundleJudgement) -> str:
    where = way(seen.direction)
    return f"{where[:1].upper()}{where[1:]}: one flow gets {units.rate(seen.one_bps)}; {seen.most_flows} get "


def cannot_tell(seen: BundleJudgement, held: LimiterKind) -> str:
    """One flow was held by something of its own, and many flows get more whatever the way is."""
    what, remedy = held_each_flow(held)
    return (
        f"{_start(seen)}{units.rate(seen.most_bps)}. It cannot be told from that whether the way has several members: "
        f"the one flow was held by {what}. To tell, {remedy}."
    )


def cannot_tell_together(seen: BundleJudgement, held: LimiterKind) -> str:
    """Many flows get no more than one, but an end held them."""
    what, remedy = held_each_flow(held)
    return (
        f"{_start(seen)}{units.rate(seen.most_bps)}. It cannot be told from that whether the way has several members: "
        f"the flows together were held by {what}. To tell, {remedy}."
    )


def between(seen: BundleJudgement) -> str:
    """Many flows get more than one does, and clearly less than two members would carry."""
    return (
        f"{_start(seen)}{units.rate(seen.most_bps)}, {seen.most_bps / seen.one_bps:.2f} times as much: more than one "
        "flow got, and less than two such members carry. It cannot be told from that whether the way has several "
        "members."
    )


AT_CEILING = "that is all the link can carry, so at least {} members are at work"
BY_AN_END = "at least {} members are at work, and an end could do no more"
FEW_FLOWS = "at least {} members are at work; more flows tell how many"


def concluded(seen: BundleJudgement, least: str = "") -> str:
    """As 'Near to far: one flow gets 941 Mb/s; 16 get 1.74 Gb/s, 1.85 times as much: 2 members are likely (98 %).'

    `least`: one of the sentences above, where there may be more members than the flows used.
    """
    start = _start(seen)
    gain = seen.most_bps / seen.one_bps
    if seen.members == 1:
        return (
            f"{start}{units.rate(seen.most_bps)}: no more than one, so this is a single link, or a bundle that "
            "hashes by addresses only, in which one pair of machines never gets more."
        )
    used = 100 * seen.most_bps / (seen.members * seen.one_bps)
    likely = f"{seen.members} members are likely ({100 * seen.chance:.0f} %), {used:.0f} % of them used"
    found = least.format(seen.members) or likely
    return f"{start}{units.rate(seen.most_bps)}, {gain:.2f} times as much: {found}; one flow gets one member."


def uneven(seen: BundleJudgement, blocks: int, lopsided: float) -> str:
    """The flows were uneven in every block of ports; `seen.odds` are those of the share `lopsided` on one member."""
    return (
        f"With {seen.most_flows} flows the sum is {100 * seen.unused:.0f} % short of what {seen.members} members "
        f"carry, in each of {blocks} blocks of ports; by chance the fullest member gets "
        f"{100 * lopsided:.0f} % of them or more in {100 * seen.odds:.0f} of 100 draws."
    )


def one_block(seen: BundleJudgement) -> str:
    return (
        f"With {seen.most_flows} flows the sum is {100 * seen.unused:.0f} % short of what {seen.members} members "
        "carry; that may be these ports' luck: a second block of ports tells."
    )


def lent(
    kind: str,
    beside: Sequence[Setting],
    direction: str,
    cards: int,
    rates: Sequence[tuple[int, float]],
    *,
    one_card: bool,
    out_of_order: float | None,
    for_nothing: float | None,
    counted: str,
) -> str:
    """The rates over a bundle on loan.

    Such as 'Loadbalance bundle of 2 cards on loan, near to far: one flow gets one member: 941 Mb/s; 8 get 1.74 Gb/s,
    92 % of two.' or 'Roundrobin bundle ...: 1.24 Gb/s for one flow, 18 % out of order, 3 % sent again for nothing.'
    """
    with_it = "".join(f", {setting(one)}" for one in beside)
    sentence = f"{kind.capitalize()} bundle of {units.plural(cards, 'card')} on loan{with_it}, {way(direction)}: "
    (flows, first), *more = rates
    one = "one flow" if flows == 1 else f"{flows} flows"
    sentence += f"{one} gets one member: {units.rate(first)}" if one_card else f"{units.rate(first)} for {one}"
    sentence += f", {100 * out_of_order:.2g} % out of order" if out_of_order is not None else ""
    sentence += f", {100 * for_nothing:.2g} % sent again for nothing" if for_nothing is not None else ""
    for count, bps in more:
        sentence += f"; {count} get {units.rate(bps)}"
        sentence += f", {100 * bps / (cards * first):.0f} % of {NUMBERS.get(cards, cards)}" if one_card else ""
    return f"{sentence}. {counted}".rstrip()


def shares(end: str, sends: bool, flows: int, found: dict[str, float], chance: float | None) -> str:
    """Each card's share of what an end sent or received, such as 'near sent 16 flows 52 % by ix0, 48 % by ix1; ...'."""
    sentence = ", ".join(f"{100 * share:.0f} % by {name}" for name, share in found.items())
    draws = "fewer than 1" if (chance or 0) < 0.01 else f"{100 * (chance or 0):.0f}"
    luck = f"; hashing alone puts as much or more on one member in {draws} of 100 draws"
    luck = luck if flows > 1 and chance is not None else ""
    return f"{end} {'sent' if sends else 'received'} {units.plural(flows, 'flow')} {sentence}{luck}."


def counted(sender: str, sent: TcpCounters, receiver: str, heard: TcpCounters) -> str:
    """Such as 'Counted: near sent 1000 segments and 40 again, was told of 30 that came twice; far had 180 out of
    order.'
    """
    at_sender = [
        f"was told of {sent.dsacks} that came twice" if sent.dsacks is not None else "",
        f"noticed reordering {units.plural(sent.reorderings, 'time')}" if sent.reorderings is not None else "",
        f"got {units.plural(sent.duplicate_acks, 'duplicate ACK')}" if sent.duplicate_acks is not None else "",
    ]
    at_receiver = [
        f"had {heard.out_of_order} out of order" if heard.out_of_order is not None else "",
        f"got {heard.came_twice} twice" if heard.came_twice is not None else "",
    ]
    if sent.segments_sent is None or sent.retransmits is None:
        return ""
    first = [f"{sender} sent {sent.segments_sent} segments and {sent.retransmits} again", *filter(None, at_sender)]
    second = ", ".join(filter(None, at_receiver))
    return f"Counted: {', '.join(first)}{f'; {receiver} {second}' if second else ''}."


def disorder(kind: str, out_of_order: float, again: float, needless: float | None) -> str:
    sentence = f"{100 * out_of_order:.2g} % of the segments came out of order, {100 * again:.2g} % were sent again"
    sentence += f", {100 * needless:.0f} % of those for nothing" if needless is not None else ""
    end = {
        "reordering": "packets overtake each other: one flow goes over several ways at once",
        "loss": "packets are lost, not overtaken",
        "both": "packets are lost and overtaken",
    }[kind]
    return f"{sentence}: {end}."
