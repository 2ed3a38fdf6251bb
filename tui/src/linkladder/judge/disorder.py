"""Tells reordering from loss: an overtaken segment is sent again needlessly, which its receiver reports (DSACK)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linkladder.model import Direction, EndRecord, Protocol, RungResult, TrialResult
from linkladder.phrases import arm
from linkladder.phrases import bundles as say

LARGEST = 1514  # bytes of a usual segment on the wire, where only the number of those sent again is told
FILLS = 0.2  # share of segments sent again for nothing that fills a way so that a queue stands before it
SOME = 0.001  # share of segments out of order or sent again; nothing is said below it
NEEDLESS, NEEDED = 0.5, 0.2  # share of repeated segments received twice: reordering from the first, loss to the second
NEARLY_ALL = 0.8
MIXED = 0.01  # share of segments out of order; so high, as a loss puts the segments behind it out of order too


@dataclass(frozen=True)
class Disorder:
    """Shares of the segments sent; `needless` is a share of those sent again, None if that was not counted."""

    kind: str  # "reordering", "loss", "both"; "" where too little came out of order
    out_of_order: float
    again: float
    needless: float | None

    @property
    def certain(self) -> bool:
        """Whether there is any, and its kind is known: where something was sent again it takes the receiver's word."""
        return bool(self.kind) and (self.needless is not None or self.again == 0)

    @property
    def slows_tcp(self) -> bool:
        """Whether so much was overtaken and needlessly sent again that it slows TCP as loss would."""
        mixed = self.out_of_order >= MIXED and self.again >= SOME
        return mixed and self.needless is not None and self.needless > NEEDED

    @property
    def fills_the_way(self) -> bool:
        """Whether what was sent again for nothing takes so much of the way that it makes a queue by itself."""
        return self.slows_tcp and self.nothing_lost and self.again >= FILLS

    @property
    def nothing_lost(self) -> bool:
        """Whether nearly everything that was sent again had already arrived."""
        return self.needless is not None and self.needless >= NEARLY_ALL


def disorder(trial: TrialResult, way: Direction) -> Disorder | None:
    """The disorder in one direction of a TCP trial; None if its ends did not count it."""
    sent, heard = trial.sender(way).tcp, trial.receiver(way).tcp
    if not sent or not heard or not sent.segments_sent or sent.retransmits is None or heard.out_of_order is None:
        return None
    needless = sent.dsacks
    if sent.needless_bytes is not None and sent.retransmitted_bytes:
        needless = round(sent.retransmits * sent.needless_bytes / sent.retransmitted_bytes)
    if not needless and heard.came_twice:
        needless = heard.came_twice  # its receiver does not report them
    return reordered_or_lost(heard.out_of_order, sent.segments_sent, sent.retransmits, needless)


def counted(trial: TrialResult, way: Direction) -> str:
    """The counters behind it, in words; '' if the ends counted nothing of the kind."""
    sender, receiver = trial.sender(way), trial.receiver(way)
    if not sender.tcp or not receiver.tcp:
        return ""
    return say.counted(sender.name, sender.tcp, receiver.name, receiver.tcp)


def sent_again(ends: Iterable[EndRecord]) -> float:
    """The bytes that these ends sent once more, by their own counters; what takes turns may be half of all."""
    counted = [end.tcp for end in ends if end.tcp is not None]
    return sum(tcp.retransmitted_bytes or LARGEST * (tcp.retransmits or 0) for tcp in counted)


def reordered_or_lost(out_of_order: int, segments: int, again: int, dsacks: int | None) -> Disorder:
    mixed, repeated = out_of_order / segments, again / segments
    needless = None if dsacks is None or again == 0 else min(1.0, dsacks / again)
    if max(mixed, repeated) < SOME:
        kind = ""
    elif needless is None:
        kind = "" if again else "reordering"  # if nothing was sent again, nothing was lost
    elif needless >= NEEDLESS:
        kind = "reordering"
    else:
        kind = "loss" if needless <= NEEDED else "both"
    return Disorder(kind, mixed, repeated, needless)


def findings(rung: RungResult) -> list[str]:
    """A sentence on each setting in which packets came out of order and both ends counted them."""
    said: list[str] = []
    for e in rung.experiments:
        way = e.parameters.direction
        if e.parameters.protocol is not Protocol.TCP or way is Direction.DUPLEX:
            continue
        seen = [(d, t) for t in e.trials if t.ok and (d := disorder(t, way)) is not None and d.certain]
        if seen:
            d, trial = seen[len(seen) // 2]
            words = say.disorder(d.kind, d.out_of_order, d.again, d.needless)
            said.append(f"{arm(e.parameters, paths=rung.paths)}: {words} {counted(trial, way)}".rstrip())
    return said
