"""Puts the result of a trial into words, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linkladder import units
from linkladder.model import Direction, Evidence, Experiment, Path, Protocol, Role, TrialResult
from linkladder.phrases.arms import arm
from linkladder.phrases.ways import loaded, path_name, several_ends

CONTRADICTED = "The facts contradict the claim"
CONTRADICTED_BRIEFLY = "! facts contradict"  # beside the name of a rung


def outcome(p: Experiment, t: TrialResult, known: bool = False, paths: Sequence[Path] = ()) -> str:
    """A trial's result, such as '9.41 Gb/s', 'failed (tool): ...' or '9000 bytes pass'; `known`: its reason is."""
    why = "for the same reason" if known else t.reason
    text = reached(p, t, paths) if t.ok else f"failed{_on_some(t)}{f' ({t.fault})' if t.fault else ''}: {why}"
    return f"{text} (the far end was lost in {len(t.interruptions)} earlier attempts)" if t.interruptions else text


def _on_some(t: TrialResult) -> str:
    """Of several paths, how many failed where the others were measured; '' otherwise."""
    ok = [leg.outcome.ok for leg in t.legs if leg.role is Role.LOAD]
    return f" on {ok.count(False)} of {len(ok)} paths" if any(ok) and not all(ok) else ""


def reached(p: Experiment, t: TrialResult, paths: Sequence[Path] = ()) -> str:
    """What a good trial measured on these paths of a rung."""
    if t.path_mtu:
        hole = "; larger packets vanish without a word (black hole)" if t.path_mtu.black_hole else ""
        return f"{t.path_mtu.mtu or 'no probe'} bytes pass{hole}"
    if t.transactions:
        x = t.transactions
        p99 = f", 99 of 100 within {x.p99_us:.0f} µs" if x.p99_us is not None else ""
        return f"{units.three(x.rate)} transactions/s{p99}"
    if p.protocol is Protocol.ECHO and t.rtt:
        r = t.rtt
        middle = ("median", r.p50_ms) if r.p50_ms is not None else ("mean", r.avg_ms)
        known = (("least", r.min_ms), middle, ("for 95 of 100", r.p95_ms))
        figures = [f"{units.milliseconds(ms)} {word}" for word, ms in known if ms is not None]
        return ", ".join([*figures, f"{r.received} of {r.sent} answered"])
    if len(t.by_direction) > 1:
        text = ", ".join(f"{units.rate(bps)} {loaded(p, paths, way)}" for way, bps in t.by_direction.items())
    else:
        text = units.rate(t.goodput_bps)
    if p.protocol is Protocol.UDP and t.datagrams and t.lost is not None:
        text += f", {t.lost} of {t.datagrams} datagrams lost"
    return text


def each_path(p: Experiment, t: TrialResult, paths: Sequence[Path]) -> tuple[str, ...]:
    """A line such as '10.0.0.1 to 10.0.0.2: 9.41 Gb/s' for every path of a trial that has several.

    With more than two ends each is called by them, in the direction of the load: 'gamma to beta: 9.41 Gb/s'.
    """
    loads = [leg for leg in t.legs if leg.role is Role.LOAD]
    if len(loads) < 2:
        return ()
    known = {n: f"{path.local} to {path.remote}" for n, path in enumerate(paths)}
    if several_ends(paths):
        back = Direction.REVERSE if p.direction is Direction.REVERSE else Direction.FORWARD
        known = {n: path_name(paths, n, back) for n in known}
    return tuple(
        f"{known.get(leg.path, f'path {leg.path + 1}')}: "
        f"{outcome(replace(p, paths=(leg.path,)), replace(t, legs=(leg,)), paths=paths)}"
        for leg in loads
    )


def besides_the_rates(p: Experiment, trials: Sequence[TrialResult], paths: Sequence[Path]) -> tuple[str, ...]:
    """What no table of rates shows, in the worst repeat: pings, the path's MTU, transactions, lost datagrams."""
    said = []
    if good := [t for t in trials if _beside_a_rate(p, t)]:
        setting = arm(p, paths=paths)
        worst = reached(p, max(good, key=_badness), paths)
        said.append(f"{setting[:1].upper()}{setting[1:]}: {worst}{_in_the_worst(good, ', ')}.")
    if under := [rtt for t in trials if (rtt := t.rtt_under_load) and rtt.p50_ms is not None]:
        median = units.milliseconds(max(rtt.p50_ms or 0.0 for rtt in under))
        highest = [rtt.max_ms for rtt in under if rtt.max_ms is not None]
        most = f", {units.milliseconds(max(highest))} most" if highest else ""
        said.append(f"Under load, {arm(p, paths=paths)}: round trip {median} median{_in_the_worst(under, ' ')}{most}.")
    return tuple(said)


def _beside_a_rate(p: Experiment, t: TrialResult) -> bool:
    answered = p.protocol is Protocol.ECHO and t.rtt is not None and t.rtt.avg_ms is not None
    return bool(answered or t.path_mtu or t.transactions or (t.ok and t.lost is not None and t.datagrams))


def _badness(t: TrialResult) -> tuple[float, float]:
    """The more, the worse; of trials of one experiment."""
    if t.path_mtu:
        return -(t.path_mtu.mtu or 0), 0.0
    if t.transactions:
        return -t.transactions.rate, 0.0
    if t.datagrams and t.lost is not None:
        return t.lost / t.datagrams, 0.0
    if t.rtt:
        median = t.rtt.avg_ms if t.rtt.p50_ms is None else t.rtt.p50_ms
        return 1 - t.rtt.received / max(1, t.rtt.sent), median or 0.0
    return 0.0, 0.0


def _in_the_worst(repeats: Sequence[object], before: str) -> str:
    return f"{before}in the worst of {len(repeats)} repeats" if len(repeats) > 1 else ""


def checked(evidence: Evidence) -> str:
    """What a check of where the machines stand found."""
    word = CONTRADICTED if evidence.contradicts else "Checked"
    return f"{word}: {'; '.join(evidence.findings)}."
