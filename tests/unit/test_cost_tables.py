"""The tables of what a change costs in cores, in the form and with the figures of the published AIX test."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

import aix_large_send
import trials
from linkladder import cli, report
from linkladder.judge import judge_document
from linkladder.model import CpuUse, Direction, Document
from linkladder.report import cost_tables
from linkladder.report.bundle_tables import Table

OFF, ON = "as it is (TSO off, LRO off)", "TSO on, LRO on"
SURE = (0.0, 0.001, -0.001, 0.002, -0.002, 0.001, -0.001, 0.0)


def tables(document: Document) -> tuple[Table, ...]:
    (judged,) = judge_document(document).rungs
    return cost_tables.tables(document, document.rungs[0], judged.changes)


def test_the_seed_has_its_tables_in_its_own_form() -> None:
    made = tables(aix_large_send.document())
    assert [table.caption.removeprefix("Cores used and what they carried: ") for table in made] == [
        "TCP, 1 stream, default window, writes of 1M bytes, near to far; means of 1 pair",
        "TCP, 8 streams, default window, writes of 1M bytes, near to far; means of 1 pair",
        "TCP request/response, 10 sessions, 700/700 bytes; means of 1 pair",
        "TCP request/response, 50 sessions, 700/700 bytes; means of 1 pair",
    ]
    assert [table.heads[4] for table in made] == ["Mb/s", "Mb/s", "Transactions a second", "Transactions a second"]
    assert made[0].heads[:4] == ("As set", "Cores near", "Cores far", "Cores together")
    assert [table.rows for table in made] == [
        ((OFF, "2.01", "2.01", "4.02", "2,500", ""), (ON, "1.61", "1.61", "3.22", "6,200", "not sure")),
        ((OFF, "2.76", "2.76", "5.52", "3,900", ""), (ON, "2.06", "2.06", "4.13", "8,800", "not sure")),
        ((OFF, "2.03", "2.03", "4.06", "52,000", ""), (ON, "2.03", "2.03", "4.06", "52,000", "not sure")),
        ((OFF, "3.25", "3.25", "6.50", "131,000", ""), (ON, "3.25", "3.25", "6.50", "131,000", "not sure")),
    ]


def test_enough_pairs_tell_what_it_gains() -> None:
    made = tables(aix_large_send.document(SURE))
    assert [table.rows[1][-1] for table in made] == ["+148.0 %", "+125.6 %", "the same", "the same"]


def test_what_one_core_carries_of_transactions_is_no_bit_rate() -> None:
    (judged,) = judge_document(aix_large_send.document()).rungs
    (said,) = [f for f in judged.judgement.findings if "(50 sessions), near to far, 1 pair:" in f]
    assert "transactions of one core 20200/s to 20200/s" in said and "b/s" not in said


def test_the_page_and_the_shell_show_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = aix_large_send.document()
    page = html.unescape(re.sub(r"<[^>]+>", " ", report.html(made)))
    row = f"{OFF} 2.76 2.76 5.52 3,900"
    assert row in " ".join(page.split())
    file = tmp_path / "run.json"
    file.write_text("".join(report.json_pieces(made)))
    assert cli.main(["show", str(file)]) == 0
    assert row in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("way", [Direction.FORWARD, Direction.REVERSE])
def test_the_near_end_is_the_near_end_whichever_sends(way: Direction) -> None:
    made = aix_large_send.document()
    (rung,) = made.rungs
    cores = {"near": CpuUse(12.5, 100.0, 1.0), "far": CpuUse(37.5, 100.0, 3.0)}
    arms = tuple(
        replace(
            e,
            parameters=replace(e.parameters, direction=way),
            trials=tuple(trials.changed(t, by_direction={str(way): t.goodput_bps}, cpu=cores) for t in e.trials),
        )
        for e in rung.experiments[:2]
    )
    (table,) = tables(replace(made, rungs=(replace(rung, experiments=arms),)))
    assert [row[1:4] for row in table.rows] == [("1.00", "3.00", "4.00")] * 2
