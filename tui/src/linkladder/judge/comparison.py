"""Two runs: same or different beyond the noise, and what else is not the same."""

from __future__ import annotations

from dataclasses import dataclass

from linkladder import phrases, units
from linkladder.judge.compared_figures import compared_figures
from linkladder.judge.evidence import direction_bps, ways
from linkladder.judge.stats import difference
from linkladder.model import Contract, Document, HostFacts, Protocol, Rung
from linkladder.model.same_setting import Identity, identity
from linkladder.verdicts import Answer, Comparison, Difference

BAND = 0.02  # of the rate: what is within it is the same for all purposes
SUSPECTS = ("cores", "kernel", "driver", "mtu", "speed_bps", "offloads", "rx_queues", "tx_queues")  # may be the reason
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
    causes = [_told(f) for f in _facts(a, b) if f.left != f.right and f.suspect]
    alone = [_label(left[k], "first") for k in left if k not in right]
    alone += [_label(right[k], "second") for k in right if k not in left]
    figures = compared_figures(a, b)
    said = _said(differences, causes)
    if moved := [phrases.compared(f) for f in figures if f.answer is Answer.DIFFERS]:
        said = " ".join([said, "Besides:", *phrases.short_list(moved, SHOWN, "figures differ")])
    return Comparison(a.run.id, b.run.id, said, differences, environment(a, b), tuple(alone), figures)


def _said(differences: tuple[Difference, ...], causes: list[str]) -> str:
    changed = [d for d in differences if d.answer is Answer.DIFFERS]
    same = sum(d.answer is Answer.SAME for d in differences)
    if not differences:
        return "The two runs have no setting in common, so nothing can be compared."
    if changed:
        worst = max(changed, key=lambda d: abs(d.change_percent))
        said = f"{len(changed)} of {len(differences)} settings differ beyond the noise; the most: {worst.sentence}"
        return f"{said} Not the same either: {'; '.join(causes[:SHOWN])}." if causes else said
    if all(d.detectable_percent is None for d in differences):
        return "One repeat each: whether the runs differ beyond the noise cannot be told."
    if same == len(differences):
        return f"All {same} settings are the same within {BAND:.0%} of the first."
    seen = max(d.detectable_percent or 0.0 for d in differences)
    alike = f"{same} the same within {BAND:.0%} of the first"
    return (
        f"No difference beyond the noise in {len(differences)} settings ({alike}); {seen:.1f} % of the rate would have "
        "been seen."
    )


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
    text = f"{_name(left)}: {units.rate(base)} to {units.rate(base + change)} ({percent:+.1f} % of the first)"
    answer = Answer.DIFFERS if beyond else Answer.UNDECIDED
    if detectable is None:
        text += ", one repeat each: the noise is not known."
    elif abs(percent) + detectable <= 100 * BAND:
        answer = Answer.SAME
        text += f", the same within {BAND:.0%} of the first."
    else:
        text += ", beyond the noise." if beyond else f", within the noise of ±{detectable:.1f} % of the first."
    beyond = answer is Answer.DIFFERS
    return Difference(left.rung, left.words, left.way, base, base + change, percent, beyond, detectable, text, answer)


def _name(side: _Side) -> str:
    return f"{side.rung}, {side.words}, {phrases.way(side.way)}"


@dataclass(frozen=True)
class _Fact:
    """Something about two runs besides their results."""

    what: str
    left: str
    right: str
    suspect: bool = False  # where it differs, it may well be why the results do


def environment(a: Document, b: Document) -> tuple[str, ...]:
    """What differs besides the results: systems, tunables, interfaces, tools, the contract."""
    return tuple(_told(f) for f in _facts(a, b) if f.left != f.right)


def _told(fact: _Fact) -> str:
    return f"{fact.what}: {fact.left or 'none'} / {fact.right or 'none'}"


def _facts(a: Document, b: Document) -> list[_Fact]:
    rows = [_Fact("linkladder", a.run.version, b.run.version)]
    one, two = a.run.plan.contract, b.run.plan.contract
    rows += [_Fact("contract: port", units.rate(one.port_bps), units.rate(two.port_bps))]
    rows += [_Fact("contract: rate", _sold(one), _sold(two)), _Fact("contract: MTU", str(one.mtu), str(two.mtu))]
    for name in dict.fromkeys([*a.run.hosts, *b.run.hosts]):
        left, right = a.run.hosts.get(name), b.run.hosts.get(name)
        if left is None or right is None:
            rows.append(_Fact(f"host {name}", "there" if left else "", "there" if right else ""))
            continue
        rows += _host(name, left, right)
    rows += [
        _Fact(f"{r.name} path", _path(r), _path(next((o for o in b.run.plan.rungs if o.name is r.name), None)))
        for r in a.run.plan.rungs
    ]
    return rows


def _sold(deal: Contract) -> str:
    return f"{units.rate(deal.rate_bps)} counted in {deal.layer}" if deal.rate_bps else ""


def host_changes(name: str, left: HostFacts, right: HostFacts) -> tuple[str, ...]:
    """What is not the same about a host at two times, in words."""
    return tuple(_told(f) for f in _host(name, left, right) if f.left != f.right)


def _host(name: str, left: HostFacts, right: HostFacts) -> list[_Fact]:
    rows = [
        _Fact(f"{name} {f}", str(getattr(left, f)), str(getattr(right, f)), f in SUSPECTS)
        for f in ("name", "os", "release", "kernel", "cpu", "cores", "memory", "virtual", "version")
    ]
    for kind, one, two in (("tool", left.tools, right.tools), ("tunable", left.tunables, right.tunables)):
        rows += [_Fact(f"{name} {kind} {k}", one.get(k, ""), two.get(k, ""), True) for k in dict.fromkeys([*one, *two])]
    here, there = {n.name: n for n in left.nics}, {n.name: n for n in right.nics}
    for nic in dict.fromkeys([*here, *there]):
        one_nic, two_nic = here.get(nic), there.get(nic)
        for f in ("driver", "mtu", "speed_bps", "offloads", "rx_queues", "tx_queues"):
            before, after = (_text(getattr(n, f, "")) for n in (one_nic, two_nic))
            rows.append(_Fact(f"{name} {nic} {f}", before, after, f in SUSPECTS))
    return rows


def _text(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{k}={'on' if v else 'off'}" for k, v in sorted(value.items()))
    return "" if value is None else str(value)


def _path(rung: Rung | None) -> str:
    return f"{rung.path.local or '?'} to {rung.path.remote or '?'}" if rung else ""


def _label(side: _Side, which: str) -> str:
    return f"{_name(side)}: only in the {which} run"
