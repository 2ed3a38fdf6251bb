"""Puts into words what was lost in seconds that count for no figure."""

from __future__ import annotations

from linkladder import units
from linkladder.model import Experiment
from linkladder.phrases.arms import arm, one_way


def early(p: Experiment, direction: str, lost: int, sent: int, later: float, limit: float) -> str:
    """`later`: the share lost in the seconds that count; `limit`: the contract's, in percent."""
    return (
        f"{one_way(p, direction)}: in the warm-up, which counts for no figure, {lost} of "
        f"{units.plural(sent, 'datagram')} were lost, {lost / sent:.2%} of them, more than the {limit:g} % of loss "
        f"that the contract allows; afterwards {later:.2%} of them."
    )


def discarded(p: Experiment, stalled: int, trials: int, loads: int, why: str) -> str:
    """`stalled`: of how many of the trials the load before it failed, `loads`: how many such loads in all."""
    reason = f": {why.rstrip('.')}" if why else ""
    return (
        f"{arm(p)}: before {stalled} of {units.plural(trials, 'trial')} the short load that counts for no figure "
        f"failed on the path ({units.plural(loads, 'time')}{reason}); adapters that had just started anew may be why."
    )
