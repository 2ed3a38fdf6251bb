"""Compares two runs: whether they are the same or differ beyond the noise, and what else differs between them.

A difference is reported only if neither run's figures are doubtful, and CPU withheld from an end of the slower run
cannot explain it, since an end that stood still tells nothing about the link.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from linkladder import phrases, units
from linkladder.judge.accounts import doubted
from linkladder.judge.compared_figures import compared_figures
from linkladder.judge.evidence import direction_bps, ways
from linkladder.judge.stats import difference
from linkladder.judge.withheld import explained, lacked, most_explained
from linkladder.model import Document, Fault, HostFacts, Protocol, Rung
from linkladder.model.same_setting import Identity, between
from linkladder.phrases import comparison as say
from linkladder.verdicts import Answer, Comparison, Difference

BAND = 0.02  # share of the rate; changes within it do not matter
APART = 0.2  # share of the rate; repeats that lie so far apart are told of, even if they are too few to be sure
OF_A_CARD = ("driver", "mtu", "speed_bps", "offloads", "flow_control", "rx_queues", "tx_queues")
OF_MEMORY = ("memory", "kern.ipc.nmbclusters", "kern.ipc.nmbjumbop")  # what a boot leaves, and limits by it
AS_MUCH = 0.001  # share by which they vary from boot to boot at most
SUSPECTS = ("cores", "kernel", *OF_A_CARD)  # facts that may be why results differ
SHOWN = 3
_Key = tuple[str, Identity]  # rung, setting with its direction


@dataclass(frozen=True)
class _Side:
    """One setting of one run, in one direction."""

    rung: str
    words: str
    way: str
    values: tuple[float, ...]
    lacked: tuple[float, ...]  # largest share of each trial's rate that an end may lack for CPU withheld from it
    end: str  # the end that lacked most
    doubt: str  # why the first doubtful trial is doubtful; '' if none is
    pair: str  # the ends that it loads, in words, where there are more than two
    silent: int  # trials in which the path carried nothing or stalled

    @property
    def at_most(self) -> float:
        """The highest mean rate that it may have had with all its CPU."""
        return statistics.fmean(
            v / (1 - share) if share < 1 else float("inf") for v, share in zip(self.values, self.lacked, strict=True)
        )


def compare(a: Document, b: Document) -> Comparison:
    """Compare each setting that both runs measured: it differs, is the same within 2 %, or cannot be told.

    The intervals are at 95 % for all settings together, as otherwise some of many would seem to differ by chance.
    """
    tried_left, tried_right = _settings(a), _settings(b)
    left, right = ({k: one for k, one in tried.items() if one.values} for tried in (tried_left, tried_right))
    both = [k for k in left if k in right]
    confidence = 1 - 0.05 / max(1, len(both))
    differences = tuple(_difference(left[k], right[k], confidence) for k in both)
    causes = [_both(f) for f in _facts(a, b) if f.differs and f.suspect]
    alone = [say.only_in(_name(left[k]), "first", k in tried_right) for k in left if k not in right]
    alone += [say.only_in(_name(right[k]), "second", k in tried_left) for k in right if k not in left]
    figures = compared_figures(a, b)
    repeats = [(len(left[k].values), len(right[k].values)) for k in both]
    said, quoted = _sentence(differences, repeats, causes)
    silent = [
        say.carried_nothing(runs, _name(left[k]))
        for k, d in zip(both, differences, strict=True)
        if (runs := _silent(left[k], right[k])) and d is not quoted
    ]
    said = say.with_silent(said, silent, SHOWN)
    if moved := [phrases.compared(f) for f in figures if f.answer is Answer.DIFFERS]:
        said = say.besides(said, moved, SHOWN)
    return Comparison(a.run.id, b.run.id, said, differences, environment(a, b), tuple(alone), figures)


def _sentence(
    differences: tuple[Difference, ...], repeats: list[tuple[int, int]], causes: list[str]
) -> tuple[str, Difference | None]:
    """What the runs come to, and the setting whose own sentence it quotes, if any."""
    changed = [d for d in differences if d.answer is Answer.DIFFERS]
    same = sum(d.answer is Answer.SAME for d in differences)
    if not differences:
        return say.nothing_in_common(), None
    if changed:
        worst = max(changed, key=lambda d: abs(d.change_percent))
        return say.differ(len(changed), len(differences), worst.sentence, causes[:SHOWN]), worst
    if apart := [d for d in differences if d.apart]:
        worst = max(apart, key=lambda d: abs(d.change_percent))
        return say.far_apart(len(apart), len(differences), worst.sentence, causes[:SHOWN]), worst
    if doubtful := [d for d in differences if d.doubt]:
        worst = max(doubtful, key=lambda d: abs(d.change_percent))
        return say.doubtful(len(doubtful), len(differences), worst.sentence), worst
    noise = [d.detectable_percent for d in differences if d.detectable_percent is not None]
    if not noise:
        return say.single_repeats(repeats), None
    if same == len(differences):
        return say.all_the_same(same, BAND), None
    said = say.no_difference(len(noise), len(differences), same, BAND, max(noise))
    if unknown := [d for d in differences if d.detectable_percent is None]:
        most = max(unknown, key=lambda d: abs(d.change_percent))
        return f"{said} {say.noise_unknown_of(len(unknown), most.sentence)}", most
    return said, None


def _settings(document: Document) -> dict[_Key, _Side]:
    """The settings, keyed by what they asked for rather than by name, as plans may number the same one differently."""
    found: dict[_Key, _Side] = {}
    for rung in document.rungs:
        words = phrases.arms_apart([e.parameters for e in rung.experiments], rung.paths)
        unproven = doubted(rung, document)
        for e in rung.experiments:
            p = e.parameters
            good = [t for t in e.trials if t.ok or t.fault is Fault.PATH]  # what a path did not carry counts as well
            if p.protocol not in (Protocol.TCP, Protocol.UDP) or not e.trials:
                continue
            doubt = next((unproven[p.id, t.repeat][1] for t in good if (p.id, t.repeat) in unproven), "")
            for way in ways(p):
                values = tuple(direction_bps(t, p, way) if any(o.ok for o in t.loads) else 0.0 for t in good)
                kept = [most_explained(t, way) for t in good]
                shares, end = tuple(share for share, _ in kept), max(kept, default=(0.0, ""))[1]
                key = str(rung.name), between(p, rung.paths, way)
                pair = phrases.loaded(p, rung.paths, way) if phrases.several_ends(rung.paths) else ""
                silent = sum(value <= 0 for value in values)
                found[key] = _Side(str(rung.name), words[p.id], str(way), values, shares, end, doubt, pair, silent)
    return found


def _difference(left: _Side, right: _Side, confidence: float) -> Difference:
    a, b = left.values, right.values
    change, noise = difference(a, b, confidence)
    base = sum(a) / len(a)
    whole = base or abs(change) or 1.0  # a first run that carried nothing has no share of itself
    percent = 100 * change / whole
    detectable = None if noise is None else 100 * noise / whole
    beyond = noise is not None and abs(change) > noise
    seen = _name(left), base, base + change, percent
    answer = Answer.DIFFERS if beyond else Answer.UNDECIDED
    if detectable is None:
        text = say.noise_unknown(*seen, (len(a), len(b)))
    elif abs(percent) + detectable <= 100 * BAND:
        answer = Answer.SAME
        text = say.same(*seen, BAND)
    else:
        text = say.beyond_noise(*seen) if beyond else say.within_noise(*seen, detectable)
    apart = answer is Answer.UNDECIDED and _apart(left, right)
    if apart:
        text = say.too_few_to_be_sure(*seen, (len(a), len(b)))
    doubt = "" if answer is Answer.UNDECIDED else _doubt(left, right, change, noise or 0.0, answer)
    if doubt:
        answer, text = Answer.UNDECIDED, f"{text} {doubt}"
    if silent := _silent(left, right):
        text = f"{text} {say.carried_nothing(silent)}"
    differs = answer is Answer.DIFFERS
    return Difference(
        left.rung,
        left.words,
        left.way,
        base,
        base + change,
        percent,
        differs,
        detectable,
        text,
        answer,
        doubt,
        apart,
        left.pair,
    )


def _apart(left: _Side, right: _Side) -> bool:
    """Whether all repeats of one run lie far below all of the other's, several each, and nothing else explains it."""
    lower, higher = sorted((left, right), key=lambda side: statistics.fmean(side.values))
    if min(len(lower.values), len(higher.values)) < 2 or max(lower.values) > (1 - APART) * min(higher.values):
        return False
    change = statistics.fmean(right.values) - statistics.fmean(left.values)
    return not _doubt(left, right, change, 0.0, Answer.DIFFERS)


def _doubt(left: _Side, right: _Side, change: float, noise: float, answer: Answer) -> str:
    """Why this answer cannot be given; '' if it can."""
    for side, run in ((left, "first"), (right, "second")):
        if side.doubt:
            return say.not_borne_out(side.doubt, run)
    slower, faster, run = (right, left, "second") if change < 0 else (left, right, "first")
    if answer is Answer.DIFFERS and slower.at_most >= statistics.fmean(faster.values) - noise:
        return say.withheld(slower.end, max(slower.lacked), run)
    return ""


def _silent(left: _Side, right: _Side) -> list[tuple[int, int, str]]:
    """How many trials of a run carried nothing or stalled, of how many, and of which run; none where all carried."""
    return [(side.silent, len(side.values), run) for side, run in ((left, "first"), (right, "second")) if side.silent]


def _name(side: _Side) -> str:
    return say.setting(side.rung, side.words, side.pair or phrases.way(side.way))


@dataclass(frozen=True)
class _Fact:
    """A fact about two runs besides their results, with its value in each."""

    what: str
    left: str
    right: str
    suspect: bool = False  # whether a difference in it may be why the results differ

    @property
    def differs(self) -> bool:
        """Of memory no boot leaves as much as the last one did."""
        if self.what.endswith(OF_MEMORY) and self.left.isdecimal() and self.right.isdecimal():
            return not math.isclose(float(self.left), float(self.right), rel_tol=AS_MUCH)
        return self.left != self.right


def environment(a: Document, b: Document) -> tuple[str, ...]:
    """What differs besides the results: systems, tunables, interfaces, tools, the contract."""
    return tuple(_both(f) for f in _facts(a, b) if f.differs)


def _both(fact: _Fact) -> str:
    return say.both(fact.what, fact.left, fact.right)


def _facts(a: Document, b: Document) -> list[_Fact]:
    rows = [_Fact("linkladder", a.run.version, b.run.version)]
    one, two = a.run.plan.contract, b.run.plan.contract
    rows += [_Fact(say.PORT, units.rate(one.port_bps), units.rate(two.port_bps))]
    rows += [_Fact(say.RATE, say.rate_sold(one), say.rate_sold(two)), _Fact(say.MTU, str(one.mtu), str(two.mtu))]
    for name in dict.fromkeys(end.name for run in (a.run, b.run) for end in run.ends):
        left, right = a.run.facts(name), b.run.facts(name)
        if left is None or right is None:
            rows.append(_Fact(say.host(name), "there" if left else "", "there" if right else ""))
            continue
        rows += _host(name, left, right)
    one_kept, two_kept = _kept(a), _kept(b)
    rows += [
        _Fact(say.cpu_withheld(name), say.up_to(one_kept.get(name)), say.up_to(two_kept.get(name)), suspect=True)
        for name in dict.fromkeys([*one_kept, *two_kept])
    ]
    rows += [
        _Fact(say.rung_path(r.name), _path(r), _path(next((o for o in b.run.plan.rungs if o.name is r.name), None)))
        for r in a.run.plan.rungs
    ]
    return rows


def _kept(document: Document) -> dict[str, float]:
    """The ends from which CPU was withheld in any trial, and the largest share of its time."""
    found: dict[str, float] = {}
    for end in (end for trial in document.trials for end in trial.ends):
        name = next((one.name for one in document.run.ends if end.of(one.name)), end.name)
        if explained(end.cpu):
            found[name] = max(found.get(name, 0.0), lacked(end.cpu))
    return found


def host_changes(name: str, left: HostFacts, right: HostFacts) -> tuple[str, ...]:
    """What has changed about a host between two times, in words."""
    return tuple(_both(f) for f in _host(name, left, right) if f.differs)


def _host(name: str, left: HostFacts, right: HostFacts) -> list[_Fact]:
    rows = [
        _Fact(f"{name} {f}", str(getattr(left, f)), str(getattr(right, f)), f in SUSPECTS)
        for f in ("name", "os", "release", "kernel", "cpu", "cores", "memory", "virtual", "version")
    ]
    for kind, one, two in (("tool", left.tools, right.tools), ("sysctl", left.sysctls, right.sysctls)):
        rows += [_Fact(f"{name} {kind} {k}", one.get(k, ""), two.get(k, ""), True) for k in dict.fromkeys([*one, *two])]
    here, there = {n.name: n for n in left.nics}, {n.name: n for n in right.nics}
    for nic in dict.fromkeys([*here, *there]):
        one_nic, two_nic = here.get(nic), there.get(nic)
        for f in OF_A_CARD:
            before, after = (_text(getattr(n, f, "")) for n in (one_nic, two_nic))
            rows.append(_Fact(f"{name} {nic} {f}", before, after, True))
    return rows


def _text(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{k}={'on' if v else 'off'}" for k, v in sorted(value.items()))
    return "" if value is None else str(value)


def _path(rung: Rung | None) -> str:
    return say.path(rung.path) if rung else ""
