"""Says in words what a path loses to other paths beside it."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import units
from linkladder.verdicts import Neighbour


def beside_each(watched: str, found: Sequence[Neighbour], names: Sequence[str]) -> str:
    """As 'near to beta carries 191 Mb/s alone; beside gamma to delta 95.0 Mb/s (50 % of that)'; `names`: the others."""
    parts = [f"beside {name} {_left(one)}" for one, name in zip(found, names, strict=True)]
    return f"{watched} carries {units.rate(found[0].alone_bps)} alone; {'; '.join(parts)}."


def did_not_come(name: str, reasons: Sequence[str]) -> str:
    return f"{name} did not come while it should: {reasons[0]}."


def _left(one: Neighbour) -> str:
    kept = one.beside_bps / one.alone_bps if one.alone_bps else 1.0
    more = [f"{units.share(kept)} of that" if kept < 0.99 else "as much"]
    if one.beside_lost_percent and one.beside_lost_percent > (one.alone_lost_percent or 0.0):
        more.append(f"{one.beside_lost_percent:.2g} % of its pings lost")
    if one.alone_rtt_ms is not None and one.beside_rtt_ms is not None and one.beside_rtt_ms > 1.2 * one.alone_rtt_ms:
        trips = units.milliseconds(one.alone_rtt_ms), units.milliseconds(one.beside_rtt_ms)
        more.append(f"round trip {trips[1]} where it is {trips[0]} alone")
    return f"{units.rate(one.beside_bps)} ({', '.join(more)})"


def who(watched: str, found: Sequence[Neighbour], names: Sequence[str]) -> str:
    """Which neighbours take from the watched path, and what else may be the reason."""
    once = " Each was measured once: repeat it to be sure." if any(one.once for one in found) else ""
    if visits := sum(one.visits for one in found):
        once = f" {visits} of the repeats {'is a visit' if visits == 1 else 'are visits'} while it was loaded.{once}"
    guilty = [one for one in found if one.takes]
    if not guilty:
        return f"No neighbour takes anything from {watched}.{once}"
    takers = [name for one, name in zip(found, names, strict=True) if one.takes]
    others = [name for one, name in zip(found, names, strict=True) if not one.takes]
    said = f"{units.joined(takers)} {'takes' if len(takers) == 1 else 'take'} from {watched}"
    said += f"; {units.joined(others)} {'does' if len(others) == 1 else 'do'} not." if others else "."
    if ends := list(dict.fromkeys(one.common_end for one in guilty if one.common_end)):
        said += f" They have {units.joined(ends)} in common, so that it may be that machine and no link."
    if busy := list(dict.fromkeys(one.busy for one in guilty if one.busy)):
        said += f" A core of {units.joined(busy)} had no time left meanwhile."
    return said + once
