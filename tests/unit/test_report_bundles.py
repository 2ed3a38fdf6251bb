"""A bundle's tables in the report: transfers in bytes a second, each card's part, and the bundle's state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkladder.judge import judge_document
from linkladder.model import (
    Bundle,
    Contract,
    CpuUse,
    Document,
    EndRecord,
    Experiment,
    ExperimentResult,
    HostFacts,
    Leg,
    Member,
    Nic,
    NicCounters,
    Outcome,
    Path,
    Plan,
    Rtt,
    RunEnd,
    Rung,
    RungName,
    RungResult,
    RunInfo,
    TrialResult,
)
from linkladder.report import html
from linkladder.report.bundle_tables import Table, tables

PATH = Path("10.0.0.1", "10.0.0.2", "beta")
RATES = {(1, 20000): 941e6, (1, 30001): 940e6, (8, 20000): 1.74e9, (8, 30001): 1.76e9}


def measured(flows: int, block: int, bps: float, shares: tuple[float, float]) -> ExperimentResult:
    def end(name: str, cards: tuple[str, ...]) -> EndRecord:
        moved = [int(share * bps) for share in shares]
        counted = [NicCounters(card, rx_bytes=n, tx_bytes=n) for card, n in zip(cards, moved, strict=True)]
        return EndRecord(name, cpu=CpuUse(20.0, 30.0, 0.6), members=tuple(counted))

    leg = Leg(Outcome(True, goodput_bps=bps, by_direction={"forward": bps}, rtt=Rtt(9, 9, p50_ms=0.4)))
    trial = TrialResult(f"{flows}-{block}", 0, (leg,), (end("near", ("ix0", "ix1")), end("far", ("em0", "em1"))))
    return ExperimentResult(Experiment(f"tcp-{flows}-{block}", streams=flows, client_port=block), (trial,))


@pytest.fixture
def document() -> Document:
    """Two cards a side: one transfer goes by one of them, eight by both."""
    made = tuple(
        measured(flows, block, bps, (1.0, 0.0) if flows == 1 else (0.45, 0.55)) for (flows, block), bps in RATES.items()
    )
    lacp = Bundle(
        "lacp",
        "l2,l3,l4",
        (
            Member("ix0", ("ACTIVE", "COLLECTING", "DISTRIBUTING"), ("SYNC",), "00:11:22:33:44:55"),
            Member("ix1", (), ("DEFAULTED",)),
        ),
    )
    near = HostFacts("alpha", nics=(Nic("lagg0", addresses=("10.0.0.1",), bundle=lacp), Nic("em7")))
    rungs = (Rung(RungName.DC_LINK, (PATH,), tuple(e.parameters for e in made)),)
    plan = Plan("bundle", contract=Contract(port_bps=10e9), rungs=rungs)
    run = RunInfo(
        "r", "2026-11-22T10:00:00+00:00", plan, ends=(RunEnd("near", near), RunEnd("beta", HostFacts("beta")))
    )
    return Document(run, (RungResult(RungName.DC_LINK, (PATH,), made),))


def of(document: Document) -> tuple[Table, ...]:
    (rung,) = document.rungs
    return tables(document, rung, judge_document(document).rungs[0].bundles)


def test_one_transfer_and_many_stand_side_by_side_in_bytes(document: Document) -> None:
    transfers = of(document)[0]
    assert transfers.heads == (
        "Transfers at once", "Ports from 20000", "Ports from 30001", "Times one transfer", "Of 2 members",
    )  # fmt: skip
    assert transfers.rows == (
        ("1 transfer", "941 Mb/s, 118 MB/s", "940 Mb/s, 118 MB/s", "1.00", "50 %"),
        ("8 transfers", "1.74 Gb/s, 218 MB/s", "1.76 Gb/s, 220 MB/s", "1.87", "94 %"),
    )


def test_each_card_s_part_is_its_own_counters(document: Document) -> None:
    cards = of(document)[1]
    assert cards.heads == ("Card", "", "1 transfer", "8 transfers")
    assert cards.rows == (
        ("near ix0", "sent", "118 MB/s, 100 %", "98 MB/s, 45 %"),
        ("near ix1", "sent", "0 MB/s, 0 %", "120 MB/s, 55 %"),
        ("far em0", "received", "118 MB/s, 100 %", "98 MB/s, 45 %"),
        ("far em1", "received", "0 MB/s, 0 %", "120 MB/s, 55 %"),
    )


def test_the_bundle_s_state_is_shown_card_by_card(document: Document) -> None:
    status = of(document)[2]
    assert status.rows == (
        ("near lagg0", "lacp", "l2,l3,l4", "ix0", "active, collecting, distributing, sync", "00:11:22:33:44:55"),
        ("", "", "", "ix1", "defaulted", "-"),
    )


def test_the_page_has_them_and_a_run_without_a_bundle_has_none(document: Document) -> None:
    page = html(document)
    assert "What one transfer gets and what several get at once, near to far" in page and "220 MB/s" in page
    (rung,) = document.rungs
    plain = tuple(
        replace(
            e, parameters=replace(e.parameters, client_port=None), trials=tuple(replace(t, ends=()) for t in e.trials)
        )
        for e in rung.experiments
    )
    ends = (RunEnd("near", HostFacts("alpha")), RunEnd("beta", HostFacts("beta")))
    bare = replace(document, run=replace(document.run, ends=ends), rungs=(replace(rung, experiments=plain),))
    assert of(bare) == ()
