"""Two runs: same or different beyond the noise, and what else is not the same."""

from __future__ import annotations

from dataclasses import dataclass

from linkladder import phrases, units
from linkladder.judge.evidence import direction_bps, ways
from linkladder.judge.stats import difference
from linkladder.model import Contract, Document, HostFacts, Protocol, Rung
from linkladder.model.identity import Identity, identity
from linkladder.verdicts import Comparison, Difference

_Key = tuple[str, Identity, str]  # rung, setting, direction


@dataclass(frozen=True)
class _Side:
    """One setting of one run, in one direction."""

    rung: str
    words: str
    way: str
    values: tuple[float, ...]


def compare(a: Document, b: Document) -> Comparison:
    """Settings that both runs measured, side by side; a difference counts when its 95 % interval excludes none."""
    left, right = _settings(a), _settings(b)
    both = [k for k in left if k in right]
    differences = tuple(_difference(left[k], right[k]) for k in both)
    changed = [d for d in differences if d.beyond_noise]
    unsure = [d for d in differences if d.detectable_percent is None]
    if not both:
        said = "The two runs have no setting in common, so nothing can be compared."
    elif changed:
        worst = max(changed, key=lambda d: abs(d.change_percent))
        said = f"{len(changed)} of {len(both)} settings differ beyond the noise; the most: {worst.sentence}"
    elif len(unsure) == len(both):
        said = "One repeat each: whether the runs differ beyond the noise cannot be told."
    else:
        seen = max(d.detectable_percent or 0.0 for d in differences)
        said = f"No difference beyond the noise in {len(both)} settings; {seen:.1f} % of the rate would have been seen."
    alone = [_label(left[k], "first") for k in left if k not in right]
    alone += [_label(right[k], "second") for k in right if k not in left]
    return Comparison(a.run.id, b.run.id, said, differences, environment(a, b), tuple(alone))


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


def _difference(left: _Side, right: _Side) -> Difference:
    a, b = left.values, right.values
    change, noise = difference(a, b)
    base = sum(a) / len(a)
    percent = 100 * change / base if base else 0.0
    detectable = None if noise is None else 100 * noise / base if base else 0.0
    beyond = noise is not None and abs(change) > noise
    text = f"{_name(left)}: {units.rate(base)} to {units.rate(base + change)} ({percent:+.1f} % of the first)"
    if noise is None:
        text += ", one repeat each: the noise is not known."
    else:
        text += ", beyond the noise." if beyond else f", within the noise of ±{detectable:.1f} % of the first."
    return Difference(left.rung, left.words, left.way, base, base + change, percent, beyond, detectable, text)


def _name(side: _Side) -> str:
    return f"{side.rung}, {side.words}, {phrases.way(side.way)}"


def environment(a: Document, b: Document) -> tuple[str, ...]:
    """What differs besides the results: systems, tunables, interfaces, tools, the contract."""
    said = []
    for what, left, right in _facts(a, b):
        if left != right:
            said.append(f"{what}: {left or 'none'} / {right or 'none'}")
    return tuple(said)


def _facts(a: Document, b: Document) -> list[tuple[str, str, str]]:
    rows = [("linkladder", a.run.version, b.run.version)]
    one, two = a.run.plan.contract, b.run.plan.contract
    rows += [("contract: port", units.rate(one.port_bps), units.rate(two.port_bps))]
    rows += [("contract: rate", _sold(one), _sold(two)), ("contract: MTU", str(one.mtu), str(two.mtu))]
    for name in dict.fromkeys([*a.run.hosts, *b.run.hosts]):
        left, right = a.run.hosts.get(name), b.run.hosts.get(name)
        if left is None or right is None:
            rows.append((f"host {name}", "there" if left else "", "there" if right else ""))
            continue
        rows += _host(name, left, right)
    rows += [
        (f"{r.name} path", _path(r), _path(next((o for o in b.run.plan.rungs if o.name is r.name), None)))
        for r in a.run.plan.rungs
    ]
    return rows


def _sold(deal: Contract) -> str:
    return f"{units.rate(deal.rate_bps)} counted in {deal.layer}" if deal.rate_bps else ""


def host_changes(name: str, left: HostFacts, right: HostFacts) -> tuple[str, ...]:
    """What is not the same about a host at two times, in words."""
    return tuple(f"{what}: {a or 'none'} / {b or 'none'}" for what, a, b in _host(name, left, right) if a != b)


def _host(name: str, left: HostFacts, right: HostFacts) -> list[tuple[str, str, str]]:
    rows = [
        (f"{name} {f}", str(getattr(left, f)), str(getattr(right, f)))
        for f in ("name", "os", "release", "kernel", "cpu", "cores", "memory", "virtual", "version")
    ]
    for kind, one, two in (("tool", left.tools, right.tools), ("tunable", left.tunables, right.tunables)):
        rows += [(f"{name} {kind} {k}", one.get(k, ""), two.get(k, "")) for k in dict.fromkeys([*one, *two])]
    here, there = {n.name: n for n in left.nics}, {n.name: n for n in right.nics}
    for nic in dict.fromkeys([*here, *there]):
        one_nic, two_nic = here.get(nic), there.get(nic)
        for f in ("driver", "mtu", "speed_bps", "offloads", "rx_queues", "tx_queues"):
            rows.append((f"{name} {nic} {f}", _text(getattr(one_nic, f, "")), _text(getattr(two_nic, f, ""))))
    return rows


def _text(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{k}={'on' if v else 'off'}" for k, v in sorted(value.items()))
    return "" if value is None else str(value)


def _path(rung: Rung | None) -> str:
    return f"{rung.path.local or '?'} to {rung.path.remote or '?'}" if rung else ""


def _label(side: _Side, which: str) -> str:
    return f"{_name(side)}: only in the {which} run"
