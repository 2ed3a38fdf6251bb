"""Finds what several paths are sold as together: of one pair a port for each card, of several what they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linkladder.judge.as_sold import TAGGED
from linkladder.judge.ceilings import of_shared
from linkladder.judge.common_limits import several_pairs
from linkladder.judge.families import of_its_family
from linkladder.model import Contract, Document, End, Path, Protocol, RungResult


def of_cards(deal: Contract, paths: Sequence[Path], document: Document | None) -> Contract:
    """The contract for these paths at once; a rate that it states, or a link said to be shared, is one for them all."""
    if deal.rate_bps is not None or deal.shared_bps is not None or several_pairs(paths):
        return deal
    return replace(deal, port_bps=deal.port_bps * cards_apart(paths, document))


def held_against(
    deal: Contract, paths: Sequence[Path], loaded: Sequence[int], document: Document | None
) -> Contract | None:
    """The contract for those of a rung's paths that a load uses, all if it names none: of several what they share, or
    what all their cards are sold as; None where no contract says what they carry together.

    Without a document, as while a trial runs, a card is known by the plan's words alone.
    """
    used = [paths[n] for n in loaded if n < len(paths)] or paths
    deal = of_its_family(deal, paths, loaded)
    if len(used) < 2 or (deal.shared_bps is None and not several_pairs(used)):
        return of_cards(deal, used, document)
    within = any(path.origin_site and path.origin_site == path.peer_site for path in used)
    return None if within or len(used) < len(paths) else of_shared(deal)


def paths_at_once(rung: RungResult) -> Sequence[Path]:
    """The most paths that a load of this rung used at once."""
    loads = (e.parameters for e in rung.experiments if e.parameters.protocol in (Protocol.TCP, Protocol.UDP))
    used = ([path for n, path in enumerate(rung.paths) if n in p.paths or not p.paths] for p in loads)
    return max(used, key=len, default=[])


def cards_apart(paths: Sequence[Path], document: Document | None) -> int:
    """How many cards the paths have, at the end that has fewer; VLANs of one card are that card."""
    return max(1, min(len({_card(path, side, document) for path in paths}) for side in (End.NEAR, End.FAR)))


def _card(path: Path, side: End, document: Document | None) -> str:
    """The name of a path's card as far as it is known, or else its address."""
    interface, address = path.side(side)
    end = path.origin or End.NEAR if side is End.NEAR else path.peer
    facts = document.run.facts(end) if document else None
    nic = facts.card(interface, address) if facts else None
    name = nic.name if nic else interface
    return TAGGED.sub("", name) if name else address
