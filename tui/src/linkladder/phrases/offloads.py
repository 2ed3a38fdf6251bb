"""Says in words what offloads gain for streams and for small transactions, whether they were switched on or off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkladder.model import KERNEL, Experiment, Path, SettingKind
from linkladder.phrases.arms import beside
from linkladder.verdicts import Answer, Change, ChangedFigure, Measured

SWITCHED = frozenset(SettingKind) - {SettingKind.ADAPTIVE_MODERATION, SettingKind.MTU, SettingKind.LAGG, *KERNEL}
CORES = {Measured.SENDER_CORES: "sender", Measured.RECEIVER_CORES: "receiver"}
Arms = tuple[Experiment, Experiment, Change]  # the changed arm, the arm that it is compared with, and the result


def offloads(changes: Iterable[Arms], paths: Sequence[Path] = ()) -> tuple[str, ...]:
    """A sentence for each set of offloads that was tried with streams as well as with small transactions.

    Such as 'TSO on against off: +140 % throughput with 20 % fewer cores at the sender (8 streams); no difference for
    small transactions.'
    """
    by_switch: dict[tuple[str, ...], list[Arms]] = {}
    for arms in changes:
        if (kinds := _switched(*arms[:2])) and arms[2].figures:
            by_switch.setdefault(kinds, []).append(arms)
    sentences = []
    for kinds, tried in by_switch.items():
        streams = [said for arms in tried if (said := _streams(arms, paths))]
        small = [f for arms in tried for f in _figures(arms) if f.measured is Measured.TRANSACTIONS]
        if streams and small:
            name = " and ".join(kind.upper() for kind in kinds)
            sentences.append(
                f"{name} on against off: {', '.join(dict.fromkeys(streams))}; {_small(small, tried, paths)}."
            )
    return tuple(sentences)


def _switched(changed: Experiment, before: Experiment) -> tuple[str, ...]:
    """The offloads that were all switched on, or all off; () if something else was changed."""
    kinds = tuple(s.kind.value for s in changed.settings)
    alike = {s.value for s in changed.settings} in ({"on"}, {"off"})
    return kinds if alike and not before.settings and {s.kind for s in changed.settings} <= SWITCHED else ()


def _worth(f: ChangedFigure, changed: Experiment) -> float:
    """The figure with the offload, divided by the figure without it."""
    assert f.ratio is not None
    return f.ratio if changed.settings[0].value == "on" else 1 / f.ratio


def _figures(arms: Arms) -> tuple[ChangedFigure, ...]:
    return tuple(f for f in arms[2].figures if f.answer != Answer.DIFFERS or f.ratio)


def _streams(arms: Arms, paths: Sequence[Path]) -> str:
    changed, before, _ = arms
    figures = {f.measured: f for f in _figures(arms)}
    carried = figures.get(Measured.GOODPUT)
    if carried is None:
        return ""
    said = f"{_change(carried, changed)} throughput"
    cores = [
        f"{_share(_worth(f, changed), 'more', 'fewer')} cores at the {end}"
        for measured, end in CORES.items()
        if (f := figures.get(measured)) and f.answer == Answer.DIFFERS
    ]
    load = beside(changed, before, paths)
    return said + (f" with {' and '.join(cores)}" if cores else "") + (f" ({load})" if load else "")


def _change(f: ChangedFigure, changed: Experiment) -> str:
    if f.answer == Answer.DIFFERS:
        return f"{100 * (_worth(f, changed) - 1):+.0f} %"
    return "the same" if f.answer == Answer.SAME else "no clear difference in"


def _share(worth: float, more: str, fewer: str) -> str:
    return f"{abs(100 * (worth - 1)):.0f} % {more if worth > 1 else fewer}"


def _small(figures: list[ChangedFigure], tried: list[Arms], paths: Sequence[Path]) -> str:
    if all(f.answer == Answer.SAME for f in figures):
        return "no difference for small transactions"
    differing = [
        f"{_change(f, arms[0])} small transactions ({beside(*arms[:2], paths)})"
        for arms in tried
        for f in _figures(arms)
        if f.measured is Measured.TRANSACTIONS and f.answer == Answer.DIFFERS
    ]
    return ", ".join(differing) or "no clear difference for small transactions"
