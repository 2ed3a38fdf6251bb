"""One trial that was written down more than once is found by its seconds."""

from __future__ import annotations

from collections import Counter

from linkladder import phrases
from linkladder.model import Document, Protocol, RungResult
from linkladder.phrases import accounts as say
from linkladder.verdicts import Cause

MOSTLY = 0.7  # of its odd seconds
ALIKE = 4  # odd seconds that no two trials have in common by chance
ODD = 3  # different values at least, for trials that are alike all through


def copies(rung: RungResult, document: Document) -> dict[tuple[str, int], tuple[Cause, str]]:
    """Trials of this rung whose seconds are those of an earlier one of the run: one trial, written down more than once.

    No two trials have the same odd seconds by chance.  A shaper gives many seconds the very same bytes, and paced UDP
    does so itself: a value that a trial has more than once is no sign, and where few are left all must be the same.
    """
    found: dict[tuple[str, int], tuple[Cause, str]] = {}
    names: list[str] = []
    carried: list[list[int]] = []
    had: dict[tuple[int, int], list[int]] = {}  # a second and its bytes -> the trials that had it
    for r, e in [(one, e) for one in document.rungs for e in one.experiments]:
        p = e.parameters
        if p.protocol not in (Protocol.TCP, Protocol.UDP):
            continue
        for t in e.trials:
            seconds = [i.bytes for i in t.intervals]
            paced = p.protocol is Protocol.UDP
            if not t.ok or len(seconds) < ALIKE or len(set(seconds)) < (ALIKE if paced else ODD):
                continue
            name = phrases.trial(p, t.repeat)
            times = Counter(seconds)
            signs = [(n, size) for n, size in enumerate(seconds) if times[size] == 1]
            wanted = MOSTLY * len(signs)
            if paced or len(seconds) < 2 * ALIKE or len(signs) < ALIKE:
                signs, wanted = list(enumerate(seconds)), len(seconds)
            same = Counter(n for second in signs for n in had.get(second, ()))
            first = next((n for n, count in same.items() if count >= wanted), None)
            if first is not None and r.name is rung.name:
                found[p.id, t.repeat] = Cause.COPIED, say.copied(name, names[first])
            if first is not None and carried[first] == seconds:
                continue  # a third that is like it is like the first: else a hundred copies are held against each other
            for second in enumerate(seconds):
                had.setdefault(second, []).append(len(names))
            carried.append(seconds)
            names.append(name if r.name is rung.name else say.of_rung(r.name, name))
    return found
