"""Gathers what the strip chart shows of a trial: its seconds, the lines across it, and the caption."""

from __future__ import annotations

from linkladder import judge, units
from linkladder.app.widgets.chart import Point
from linkladder.judge.all_cards import held_against
from linkladder.judge.circumstances import HEADROOM
from linkladder.model import Contract, Direction, RungName
from linkladder.run.progress import Progress, TrialView, series

TALL = 5.0  # times the highest bar; a line above that would leave the chart almost empty
FLAT = 2.0  # times the contract; a ceiling above that would flatten everything below it


def points_of(trial: TrialView) -> list[Point]:
    """The trial's seconds; in full duplex the slower direction of each, since the lines are for one direction."""
    there, back = (series(trial.intervals, way) for way in (Direction.FORWARD, Direction.REVERSE))
    if trial.experiment.direction is not Direction.DUPLEX:
        return there or back
    other = {round(point[0]): point for point in back}
    both = [(point, other[round(point[0])]) for point in there if round(point[0]) in other]
    return [(second, min(bps, too), counted and also) for (second, bps, counted), (_, too, also) in both]


def lines_of(progress: Progress, trial: TrialView) -> list[tuple[str, float]]:
    """The lines across the chart: the needed rate on rungs inside one host, contract and ceiling on higher rungs.

    A line so far above all bars that these would be flat is left out; the caption mentions it.
    """
    return [line for line in _lines(progress, trial) if not _beyond(trial, line[1])]


def caption(progress: Progress, trial: TrialView, brief: bool = False) -> str:
    """Tells that the slower direction is drawn in full duplex, and which line is left out as it is too high; `brief`:
    in 48 characters at most."""
    words = []
    if trial.experiment.direction is Direction.DUPLEX:
        words.append("slower way" if brief else "the slower way")
    if trial.by_cards:
        words.append("by the card" if brief else "by the card, with headers")
    lines = _lines(progress, trial)
    if [word for word, _ in lines] == ["contract"] and (deal := _deal(progress, trial)):
        lines.append(("ceiling", _ceiling(deal, trial).port_bps))
    for word, bps in lines:  # the lowest one that is left out is mentioned
        if (word, bps) not in lines_of(progress, trial):
            line, rate = word.partition(" =")[0], units.rate(bps)
            name = "what is needed" if line == "needed" else f"the {line}"
            words.append(f"{line} {rate} above" if brief else f"{name}, {rate}, is above this")
            break
    return ", ".join(words)


def _lines(progress: Progress, trial: TrialView) -> list[tuple[str, float]]:
    deal = _deal(progress, trial)
    if deal is None:
        return []
    if trial.rung in (RungName.LOCALHOST, RungName.SAME_HOST):
        return [("needed", HEADROOM * judge.rate_sold(deal))]
    most = _ceiling(deal, trial)
    if most.which != "contract":
        return [("contract = ceiling", most.bps)]
    near = most.port_bps < max(FLAT * most.bps, _highest(trial))
    return [("contract", most.bps), *([("ceiling", most.port_bps)] if near else [])]


def _beyond(trial: TrialView, bps: float) -> bool:
    return 0 < _highest(trial) * TALL < bps


def _highest(trial: TrialView) -> float:
    return max((point[1] for point in points_of(trial)), default=0.0)


def _deal(progress: Progress, trial: TrialView) -> Contract | None:
    """The contract for all paths that the trial loads, at the MTU that it lends; None where none says what they carry
    together.
    """
    asked, paths = trial.experiment, progress.paths
    deal = progress.contract if asked.bundled else held_against(progress.contract, paths, asked.paths, None)
    return judge.at_lent_mtu(deal, asked.settings, len(paths)) if deal else None


def _ceiling(deal: Contract, trial: TrialView) -> judge.Ceiling:
    return judge.ceiling(deal, trial.experiment.protocol, trial.experiment.write_size)
