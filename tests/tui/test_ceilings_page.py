"""The page of ceilings: figures that can be worked out on paper, within 80 columns."""

from __future__ import annotations

import pytest

from linkladder.app.screens.ceilings import ceilings_page
from linkladder.model import Contract, Layer

GIGABIT = Contract(port_bps=10e9, rate_bps=1e9)
PORT = Contract(port_bps=1e9)


def row(contract: Contract | None, begins: str) -> list[str]:
    (found,) = [line for line in ceilings_page(contract).plain.splitlines() if line.startswith(begins)]
    return found[44:].split()


@pytest.mark.parametrize(
    ("begins", "bytes_counted"),
    [("  on the wire", (1538, 9038)), ("  in frames with FCS", (1518, 9018)), ("  in IP packets", (1500, 9000))],
)
def test_tcp_gets_the_payload_of_what_is_counted(begins: str, bytes_counted: tuple[int, int]) -> None:
    figures = [float(word) for word in row(GIGABIT, begins)[::2]]
    assert figures == pytest.approx(
        [1000 * (mtu - 52) / n for mtu, n in zip((1500, 9000), bytes_counted, strict=True)], abs=0.6
    )


def test_what_was_bought_is_marked() -> None:
    assert row(GIGABIT, "> in frames without FCS") == ["956", "Mb/s", "993", "Mb/s"]
    assert row(PORT, "> on the wire") == ["941", "Mb/s", "990", "Mb/s"]
    assert row(Contract(port_bps=10e9, rate_bps=1e9, fcs=True), "> in frames with FCS")
    assert row(Contract(port_bps=10e9, rate_bps=1e9, layer=Layer.L3, fcs=True), "> in IP packets")


def test_udp_goes_in_whole_packets() -> None:
    assert row(PORT, "UDP") == ["957", "Mb/s", "993", "Mb/s"], "1472 of 1538 and 8972 of 9038 bytes"


def test_a_long_way_takes_the_product_of_rate_and_round_trip() -> None:
    assert row(GIGABIT, "bytes in flight at 1.00 Gb/s")[:3] == ["in", "one", "stream"]
    assert row(GIGABIT, "  at a round trip of 80 ms") == ["9.54", "MB", "1.19", "MB"], "10 million bytes"


@pytest.mark.parametrize("contract", [None, PORT, GIGABIT, Contract(port_bps=400e9, rate_bps=123.4e9, vlan_tags=2)])
def test_it_fits_beside_the_frame(contract: Contract | None) -> None:
    first, *rest = ceilings_page(contract).plain.splitlines()
    assert ("No link is described yet" in first) == (contract is None)
    assert max(map(len, rest)) <= 76 and len(rest) <= 17
