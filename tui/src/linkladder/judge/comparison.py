"""Two runs: same or different beyond the noise, and what else is not the same."""

from __future__ import annotations

from dataclasses import dataclass

from linkladder import phrases, units
from linkladder.judge.compared_figures import compared_figures
from linkladder.judge.evidence import direction_bps, ways
from linkladder.judge.stats import difference
from linkladder.model import Document, HostFacts, Protocol, Rung
from linkladder.model.same_setting import Identity, identity
from linkladder.phrases import comparison as say
from linkladder.verdicts import Answer, Comparison, Difference

BAND = 0.02  # of the rate: what is within it is the same for all purposes
OF_A_CARD = ("driver", "mtu", "speed_bps", "offloads", "flow_control", "rx_queues", "tx_queues")
SUSPECTS = ("cores", "kernel", *OF_A_CARD)  # may be the reason
SHOWN = 3
_Key = tuple[str, Identity, str]  # rung, setting, direction


@dataclass(frozen=True)
class _Side:
    """One setting of one run, in one direction."""

    rung: str
    words: str
    way: str
    values: tuple[float, ...]


def compare(a: Document, b: Document) -> Comparison:
    """Settings that both runs measured, side by side: each differs, is the same within 2 %, or cannot be told.

    The intervals are at 95 % for all settings together: of many comparisons some would else differ by chance.
    """
    left, right = _settings(a), _settings(b)
    both = [k for k in left if k in right]
    confidence = 1 - 0.05 / max(1, len(both))
    differences = tuple(_difference(left[k], right[k], confidence) for k in both)
    causes = [_both(f) for f in _facts(a, b) if f.left != f.right and f.suspect]
    alone = [say.only_in(_name(left[k]), "first") for k in left if k not in right]
    alone += [say.only_in(_name(right[k]), "second") for k in right if k not in left]
    figures = compared_figures(a, b)
    said = _sentence(differences, causes)
    if moved := [phrases.compared(f) for f in figures if f.answer is Answer.DIFFERS]:
        said = say.besides(said, moved, SHOWN)
    return Comparison(a.run.id, b.run.id, said, differences, environment(a, b), tuple(alone), figures)


def _sentence(differences: tuple[Difference, ...], causes: list[str]) -> str:
    changed = [d for d in differences if d.answer is Answer.DIFFERS]
    same = sum(d.answer is Answer.SAME for d in differences)
    if not differences:
        return say.nothing_in_common()
    if changed:
        worst = max(changed, key=lambda d: abs(d.change_percent))
        return say.differ(len(changed), len(differences), worst.sentence, causes[:SHOWN])
    if all(d.detectable_percent is None for d in differences):
        return say.one_repeat_each()
    if same == len(differences):
        return say.all_the_same(same, BAND)
    seen = max(d.detectable_percent or 0.0 for d in differences)
    return say.no_difference(len(differences), same, BAND, seen)


def _settings(document: Document) -> dict[_Key, _Side]:
    """By what was asked, not by name: plans may number the same setting differently."""
    found: dict[_Key, _Side] = {}
    for rung in document.rungs:
        words = phrases.arms_apart([e.parameters for e in rung.experiments])
        for e in rung.experiments:
            p = e.parameters
            if p.protocol not in (Protocol.TCP, Protocol.UDP):
                continue
            for way in ways(p):
                values = tuple(direction_bps(t, p, way) for t in e.trials if t.ok)
                if values:
                    key = str(rung.name), identity(p), str(way)
                    found[key] = _Side(str(rung.name), words[p.id], str(way), values)
    return found


def _difference(left: _Side, right: _Side, confidence: float) -> Difference:
    a, b = left.values, right.values
    change, noise = difference(a, b, confidence)
    base = sum(a) / len(a)
    percent = 100 * change / base if base else 0.0
    detectable = None if noise is None else 100 * noise / base if base else 0.0
    beyond = noise is not None and abs(change) > noise
    seen = _name(left), base, base + change, percent
    answer = Answer.DIFFERS if beyond else Answer.UNDECIDED
    if detectable is None:
        text = say.noise_unknown(*seen)
    elif abs(percent) + detectable <= 100 * BAND:
        answer = Answer.SAME
        text = say.same(*seen, BAND)
    else:
        text = say.beyond_noise(*seen) if beyond else say.within_noise(*seen, detectable)
    beyond = answer is Answer.DIFFERS
    return Difference(left.rung, left.words, left.way, base, base + change, percent, beyond, detectable, text, answer)


def _name(side: _Side) -> str:
    return say.setting(side.rung, side.words, side.way)


@dataclass(frozen=True)
class _Fact:
    """Something about two runs besides their results."""

    what: str
    left: str
    right: str
    suspect: bool = False  # where it differs, it may well be why the results do


def environment(a: Document, b: Document) -> tuple[str, ...]:
    """What differs besides the results: systems, tunables, interfaces, tools, the contract."""
    return tuple(_both(f) for f in _facts(a, b) if f.left != f.right)


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
    rows += [
        _Fact(say.rung_path(r.name), _path(r), _path(next((o for o in b.run.plan.rungs if o.name is r.name), None)))
        for r in a.run.plan.rungs
    ]
    return rows


def host_changes(name: str, left: HostFacts, right: HostFacts) -> tuple[str, ...]:
    """What is not the same about a host at two times, in words."""
    return tuple(_both(f) for f in _host(name, left, right) if f.left != f.right)


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
