"""Holds paths over IPv4 and paths over IPv6 of one rung each to the ceiling of its own address family.

Needs the addresses of all paths. IPv6 has the longer headers, so that 1.4 % less fits into the same contract; of paths
that were loaded together the share of IPv6 in what they carried says how much fits.
"""

from __future__ import annotations

import ipaddress
import statistics
from collections.abc import Collection, Sequence

from linkladder.judge.ceilings import OverBoth
from linkladder.model import Contract, Path, Protocol, Role, RungResult


def over_its_paths(deal: Contract, rung: RungResult) -> Contract:
    """The contract, to be held against paths of both families if the rung has both; one of these is what was sold."""
    versions = [_version(path) for path in rung.paths]
    if {*versions} != {4, 6} or isinstance(deal, OverBoth):
        return deal
    same = {name: getattr(deal, name) for name in Contract.__dataclass_fields__}
    return OverBoth(**same, six=_share_of_six(rung, versions))


def of_its_family(deal: Contract, paths: Sequence[Path], loaded: Collection[int] = ()) -> Contract:
    """The contract for those of a rung's paths that are loaded, all if none are named: of one family where they are."""
    versions = {_version(path) for n, path in enumerate(paths) if n in loaded or not loaded}
    return deal.of(versions.pop()) if isinstance(deal, OverBoth) and len(versions) == 1 else deal


def _share_of_six(rung: RungResult, versions: Sequence[int]) -> float:
    """Of what paths of both carried at the same time; without such trials, of the paths."""
    found = []
    for e in rung.experiments:
        for t in e.trials if e.parameters.protocol in (Protocol.TCP, Protocol.UDP) else ():
            legs = [leg for leg in t.legs if leg.role is Role.LOAD and 0 <= leg.path < len(versions)]
            rates = {v: sum(leg.outcome.goodput_bps for leg in legs if versions[leg.path] == v) for v in (4, 6)}
            if t.ok and min(rates.values()) > 0:
                found.append(rates[6] / sum(rates.values()))
    return statistics.median(found) if found else versions.count(6) / len(versions)


def _version(path: Path) -> int:
    """4 or 6, and 0 where its addresses do not say."""
    try:
        versions = {ipaddress.ip_address(one.partition("%")[0]).version for one in (path.local, path.remote)}
    except ValueError:
        return 0
    return versions.pop() if len(versions) == 1 else 0
