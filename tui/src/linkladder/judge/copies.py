"""One trial that was written down more than once is found by its seconds."""

from __future__ import annotations

from collections import Counter
from heapq import nsmallest

from linkladder import phrases
from linkladder.model import CpuUse, Document, Protocol, RungResult, TrialResult
from linkladder.phrases import accounts as say
from linkladder.verdicts import Cause

MOSTLY = 0.7  # of its odd seconds
ALIKE = 4  # odd seconds that no two trials have in common by chance
ODD = 3  # different values at least, for trials that are alike all through
MANY = 400  # seconds; of a longer trial not every one is looked for in all the others
SOME = 64  # of its odd seconds are


def copies(rung: RungResult, document: Document) -> dict[tuple[str, int], tuple[Cause, str]]:
    """Trials of this rung whose seconds are those of an earlier one of the run: one trial, written down more than once.

    No two trials have the same odd seconds by chance.  A shaper gives many seconds the very same bytes, and paced UDP
    does so itself: a value that a trial has more than once is no sign.  In short trials all must be the same; where few
    odd ones are left the loads of the ends' cores as well: a bucket's first and last second may be alike in any two.
    Of a long trial some of these, picked by what they are, tell which earlier ones it is held against second by second.
    """
    found: dict[tuple[str, int], tuple[Cause, str]] = {}
    names: list[str] = []
    carried: list[TrialResult] = []
    loads: list[list[CpuUse | None]] = []
    long_ones: set[int] = set()
    had: dict[tuple[int, int], list[int]] = {}  # a second and its bytes -> the trials that had it
    for r, e in [(one, e) for one in document.rungs for e in one.experiments]:
        p = e.parameters
        if p.protocol not in (Protocol.TCP, Protocol.UDP):
            continue
        for t in e.trials:
            seconds = _bytes(t)
            paced = p.protocol is Protocol.UDP
            if not t.ok or len(seconds) < ALIKE or len(set(seconds)) < (ALIKE if paced else ODD):
                continue
            name = phrases.trial(p, t.repeat)
            times = Counter(seconds)
            signs = [(n, size) for n, size in enumerate(seconds) if times[size] == 1]
            wanted = MOSTLY * len(signs)
            few = len(signs) < ALIKE
            if few or paced or len(seconds) < 2 * ALIKE:
                signs, wanted = list(enumerate(seconds)), len(seconds)
            load = [end.cpu for end in t.ends]
            long = len(seconds) > MANY
            asked = _some(signs) if long else signs
            met = Counter(n for second in asked for n in had.get(second, ()))
            least = len(asked) if long and wanted == len(seconds) else 1
            same = {
                n: _shared(signs, carried[n]) if long or n in long_ones else count
                for n, count in met.items()
                if count >= least
            }
            alike = (n for n, count in same.items() if count >= wanted and not (few and loads[n] != load))
            first = next(alike, None)
            if first is not None and r.name is rung.name:
                found[p.id, t.repeat] = Cause.COPIED, say.copied(name, names[first])
            if first is not None and _bytes(carried[first]) == seconds:
                continue  # a third that is like it is like the first: else a hundred copies are held against each other
            if long:
                long_ones.add(len(names))
            for second in asked if long else enumerate(seconds):
                had.setdefault(second, []).append(len(names))
            carried.append(t)
            loads.append(load)
            names.append(name if r.name is rung.name else say.of_rung(r.name, name))
    return found


def _bytes(t: TrialResult) -> list[int]:
    return [i.bytes for i in t.intervals]


def _some(signs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same of any two trials that have most of their odd seconds in common, but for a few."""
    return nsmallest(SOME, signs, key=hash)


def _shared(signs: list[tuple[int, int]], t: TrialResult) -> int:
    """How many of the signs are that trial's, too."""
    there = _bytes(t)
    return sum(at < len(there) and there[at] == size for at, size in signs)
