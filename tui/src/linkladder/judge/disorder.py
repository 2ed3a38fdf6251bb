"""Reordering or loss?  What was only overtaken is sent again for nothing, and its receiver says so (DSACK)."""

from __future__ import annotations

from dataclasses import dataclass

from linkladder.model import Direction, Protocol, RungResult, TrialResult
from linkladder.phrases import bundles as say

SOME = 0.001  # of the segments, out of order or sent again: below it nothing is said
NEEDLESS, NEEDED = 0.5, 0.2  # of what was sent again, reported as received twice
NEARLY_ALL = 0.8
MIXED = 0.01  # of the segments out of order: one loss puts those behind it out of order as well


@dataclass(frozen=True)
class Disorder:
    """Shares of the segments sent, and of those sent again what was needless; None where nobody counts that."""

    kind: str  # "reordering", "loss", "both"; "" where too little came out of order
    out_of_order: float
    again: float
    needless: float | None

    @property
    def slows_tcp(self) -> bool:
        """Whether so much was overtaken, and sent again for nothing, that it holds TCP as loss would."""
        mixed = self.out_of_order >= MIXED and self.again >= SOME
        return mixed and self.needless is not None and self.needless > NEEDED

    @property
    def nothing_lost(self) -> bool:
        """Whether nearly all that was sent again was there already."""
        return self.needless is not None and self.needless >= NEARLY_ALL


def disorder(trial: TrialResult, way: Direction) -> Disorder | None:
    """Of a TCP trial whose ends told; None where they did not."""
    sent, heard = trial.sender(way).tcp, trial.receiver(way).tcp
    if not sent or not heard or not sent.segments_sent or sent.retransmits is None or heard.out_of_order is None:
        return None
    return reordered_or_lost(heard.out_of_order, sent.segments_sent, sent.retransmits, sent.dsacks)


def reordered_or_lost(out_of_order: int, segments: int, again: int, dsacks: int | None) -> Disorder:
    mixed, repeated = out_of_order / segments, again / segments
    needless = None if dsacks is None or again == 0 else min(1.0, dsacks / again)
    if max(mixed, repeated) < SOME:
        kind = ""
    elif needless is None:
        kind = "" if again else "reordering"  # who sent nothing again has lost nothing
    elif needless >= NEEDLESS:
        kind = "reordering"
    else:
        kind = "loss" if needless <= NEEDED else "both"
    return Disorder(kind, mixed, repeated, needless)


def findings(rung: RungResult) -> list[str]:
    """Of each setting in which packets came out of order and both ends counted."""
    said: list[str] = []
    for e in rung.experiments:
        way = e.parameters.direction
        if e.parameters.protocol is not Protocol.TCP or way is Direction.DUPLEX:
            continue
        seen = [
            d for t in e.trials if t.ok and (d := disorder(t, way)) is not None and d.kind and d.needless is not None
        ]
        if seen:
            d = seen[len(seen) // 2]
            said.append(f"{e.parameters.id}: {say.disorder(d.kind, d.out_of_order, d.again, d.needless)}")
    return said
