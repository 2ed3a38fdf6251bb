"""The Ceilings screen: what the described link can carry at most, and the window that fills it at long round trips."""

from __future__ import annotations

from dataclasses import replace

from rich.text import Text

from linkladder import units
from linkladder.app.text_page import TextPage
from linkladder.judge import ceiling, largest_datagram, rate_sold
from linkladder.model import Contract, Layer, Protocol

SIZES = (1500, 9000)  # MTUs
ROUND_TRIPS = (1.0, 5.0, 20.0, 80.0)  # milliseconds: a city, a country, a continent, an ocean
COUNTED = (  # the layer, whether with FCS, and what a carrier calls it
    (Layer.L1, False, "on the wire, preamble and gap too (L1)"),
    (Layer.L2, True, "in frames with FCS (L2, as MEF counts)"),
    (Layer.L2, False, "in frames without FCS (L2)"),
    (Layer.L3, False, "in IP packets (L3)"),
)
NAME, FIGURE = 44, 16  # columns
HEAD = "bold underline"


def ceilings_page(contract: Contract | None) -> Text:
    """The page for this contract, or for a port of 10 Gb/s if no link is described."""
    deal = contract or Contract()
    sold = units.rate(rate_sold(deal))
    out = Text("" if contract else "No link is described yet, so take a port of 10 Gb/s. ")
    out.append(f"{ceiling(deal).sentence}\n\n")
    _row(out, f"TCP in {sold}, counted", [f"MTU {mtu}" for mtu in SIZES], HEAD)
    for layer, fcs, words in COUNTED:
        bought = _is_bought(deal, layer, fcs)
        rates = [units.rate(_counted_so(deal, layer, fcs, mtu)) for mtu in SIZES]
        _row(out, f"{'>' if bought else ' '} {words}", rates, "bold" if bought else "")
    datagrams = [replace(deal, mtu=mtu) for mtu in SIZES]
    most = [units.rate(ceiling(one, Protocol.UDP, largest_datagram(one)).bps) for one in datagrams]
    _row(out, "UDP, as bought, in the largest packets", most)
    out.append("\n")
    _row(out, f"bytes in flight at {sold}", ["in one stream", "in each of 8"], HEAD)
    for trip in ROUND_TRIPS:
        needed = rate_sold(deal) * trip / 8000
        _row(out, f"  at a round trip of {trip:g} ms", [units.size(needed), units.size(needed / 8)])
    out.append("\nA smaller window limits the rate, however good the link is.")
    return out


def _row(out: Text, name: str, figures: list[str], style: str = "") -> None:
    out.append(f"{name:<{NAME}}" + "".join(f"{one:>{FIGURE}}" for one in figures) + "\n", style)


def _counted_so(deal: Contract, layer: Layer, fcs: bool, mtu: int) -> float:
    """The rate of TCP in bit/s if the bought rate counts this layer, through a port that does not limit it."""
    rate = rate_sold(deal)
    return ceiling(replace(deal, rate_bps=rate, port_bps=10 * rate, layer=layer, fcs=fcs, mtu=mtu)).bps


def _is_bought(deal: Contract, layer: Layer, fcs: bool) -> bool:
    if deal.rate_bps is None:
        return layer is Layer.L1
    return layer is deal.layer and fcs == (deal.fcs and layer is Layer.L2)


class CeilingsScreen(TextPage):
    NAME = "Ceilings"
    HELP = """
What the described link can carry at most. Headers, tags and gaps take their
share of every packet, so no program ever gets the rate that was bought; how
much it gets depends on what the carrier counts and on the MTU. The line with >
is what was bought. Below stands how many bytes are in flight at that rate: a
socket buffer that holds fewer limits the rate.
"""

    def gather(self) -> Text:
        return ceilings_page(self.ladder_app.backend.link().contract)
