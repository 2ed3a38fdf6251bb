"""Finds what several cards of one pair are sold as together: a contract that states a port alone has one for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linkladder.judge.as_sold import TAGGED
from linkladder.judge.common_limits import several_pairs
from linkladder.model import Contract, Document, End, Path, Protocol, RungResult


def of_cards(deal: Contract, paths: Sequence[Path], document: Document) -> Contract:
    """The contract for these paths at once; a rate that it states, or a link said to be shared, is one for them all."""
    if deal.rate_bps is not None or deal.shared_bps is not None or several_pairs(paths):
        return deal
    return replace(deal, port_bps=deal.port_bps * cards_apart(paths, document))


def paths_at_once(rung: RungResult) -> Sequence[Path]:
    """The most paths that a load of this rung used at once."""
    loads = (e.parameters for e in rung.experiments if e.parameters.protocol in (Protocol.TCP, Protocol.UDP))
    used = ([path for n, path in enumerate(rung.paths) if n in p.paths or not p.paths] for p in loads)
    return max(used, key=len, default=[])


def cards_apart(paths: Sequence[Path], document: Document) -> int:
    """How many cards the paths have, at the end that has fewer; VLANs of one card are that card."""
    return max(1, min(len({_card(path, side, document) for path in paths}) for side in (End.NEAR, End.FAR)))


def _card(path: Path, side: End, document: Document) -> str:
    """The name of a path's card as far as it is known, or else its address."""
    interface, address = path.side(side)
    facts = document.run.facts(path.origin or End.NEAR if side is End.NEAR else path.peer)
    nic = facts.card(interface, address) if facts else None
    name = nic.name if nic else interface
    return TAGGED.sub("", name) if name else address
