"""Finds trials that were recorded more than once, by comparing the bytes of their seconds.

`copies` needs the same bytes in the same seconds. `moved_or_changed` finds the same bytes in other seconds, and bytes
that are so near to another trial's, second by second, that chance does not make them so.
"""

from __future__ import annotations

from collections import Counter
from heapq import nsmallest
from itertools import pairwise
from math import comb, gcd
from statistics import median

from linkladder import phrases
from linkladder.model import CpuUse, Document, Protocol, RungName, RungResult, TrialResult
from linkladder.phrases import accounts as say
from linkladder.verdicts import Cause

MOSTLY = 0.7  # share of a trial's odd seconds that a copy has too
ALIKE = 4  # so many odd seconds are never equal in two trials by chance
ODD = 3  # different values that a trial must have at least to be compared
MANY = 400  # seconds; of a longer trial only SOME odd seconds are looked up in the others
LAST = 8  # repeats with which one is compared
SPREAD = 1.4  # times the usual distance of neighbouring seconds: between the quartiles of seconds by chance
BY_CHANCE = 1e-7  # probability of seconds so near to those of another trial
NEXT_TO_EQUAL = 1e-5  # of a second's bytes
SOME = 64  # how many odd seconds of a long trial are looked up


def copies(document: Document) -> dict[RungName, dict[tuple[str, int], tuple[Cause, str]]]:
    """Trials of each rung with the same seconds as an earlier trial of the run, so that one is a copy of the other.

    A second is odd if its number of bytes occurs only once in its trial; two trials never share most odd seconds by
    chance. Other seconds are no sign, since a shaper or paced UDP gives many of them equal bytes. In short trials all
    seconds must be equal and, if few are odd, also the ends' CPU use, since a token bucket may make the first and last
    second of any two trials alike. Some odd seconds of a long trial, chosen by their hash, find the earlier trials with
    which it is compared in full.
    """
    found: dict[RungName, dict[tuple[str, int], tuple[Cause, str]]] = {}
    names: list[tuple[str, RungName]] = []
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
            name = phrases.trial(p, t.repeat, paths=r.paths)
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
            if first is not None:
                said = say.copied(name, say.named(*names[first], r.name))
                found.setdefault(r.name, {})[p.id, t.repeat] = Cause.COPIED, said
            if first is not None and _bytes(carried[first]) == seconds:
                continue  # a further copy equals the first as well, so copies need not be compared with each other
            if long:
                long_ones.add(len(names))
            for second in asked if long else enumerate(seconds):
                had.setdefault(second, []).append(len(names))
            carried.append(t)
            loads.append(load)
            names.append((name, r.name))
    return found


def moved_or_changed(rung: RungResult, document: Document) -> dict[tuple[str, int], tuple[Cause, str]]:
    """Trials of this rung whose seconds are those of another one in another order, or with a few bytes changed.

    In another order: of all loads of the run, if at least half of the counted seconds differ from each other. A few
    bytes changed: of the last repeats of the same setting.
    """
    found: dict[tuple[str, int], tuple[Cause, str]] = {}
    had: dict[tuple[int, ...], str] = {}
    for r, e in [(one, e) for one in document.rungs for e in one.experiments]:
        p, before = e.parameters, list[tuple[str, list[int]]]()
        for t in e.trials if p.protocol in (Protocol.TCP, Protocol.UDP) else ():
            counted = [i.bytes for i in t.intervals if i.counted]
            if not t.ok or not any(counted) or not 2 * ALIKE <= len(counted) <= MANY:
                continue
            name = phrases.trial(p, t.repeat, paths=r.paths)
            mine = r.name is rung.name
            if 2 * len(set(counted)) >= len(counted):
                first = had.setdefault(tuple(sorted(counted)), name if mine else say.of_rung(r.name, name))
                if mine and first != name:
                    found[p.id, t.repeat] = Cause.COPIED, say.copied_otherwise(name, first)
            near = next((other for other, its in before if _nearly(counted, its)), "")
            if near and mine and p.protocol is Protocol.TCP:
                found.setdefault((p.id, t.repeat), (Cause.COPIED, say.copied_changed(name, near)))
            before = [(name, counted), *before][:LAST]
    return found


def _nearly(one: list[int], other: list[int]) -> bool:
    """Whether more than half of the seconds are nearer to each other than chance makes them, and next to equal.

    Two seconds of one level lie as far apart as a trial's neighbouring seconds do, in steps of what is counted at once:
    a link that carries a few segments more or less each second repeats itself by chance. A shape that trials have in
    common, as of a window that grows, is no copy: that is next to equal.
    """
    if len(one) != len(other):
        return False
    step = gcd(*(a - one[0] for a in (*one, *other)))
    usual = median(abs(a - b) for a, b in pairwise(other))
    apart = sorted(abs(a - b) for a, b in zip(one, other, strict=True))
    count = len(apart) // 2 + 1
    within = (2 * apart[count - 1] + step) / max(1.0, SPREAD * usual)
    chance = comb(len(apart), count) * within**count if within < 1 else 1.0
    return chance < BY_CHANCE and apart[count - 1] <= NEXT_TO_EQUAL * median(other)


def _bytes(t: TrialResult) -> list[int]:
    return [i.bytes for i in t.intervals]


def _some(signs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """SOME of the signs, chosen by hash, so that mostly the same ones are chosen in two trials that are alike."""
    return nsmallest(SOME, signs, key=hash)


def _shared(signs: list[tuple[int, int]], t: TrialResult) -> int:
    """How many of the signs the trial `t` has as well."""
    there = _bytes(t)
    return sum(at < len(there) and there[at] == size for at, size in signs)
