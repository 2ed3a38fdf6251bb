"""A report of an experiment: the staircase and the intervals as pictures, every pair in the CSV and the JSON."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import trials
from judge_documents import document
from linkladder import report
from linkladder.judge import judge_document
from linkladder.model import Command, Direction, Outcome, Role, TcpCounters
from linkladder.phrases.stairs import row
from linkladder.report import compared
from linkladder.verdicts import Measured
from test_changes import rung
from test_staircase import climb

R = Direction.REVERSE
PLAN, RESULT = climb()
MADE = document(RESULT)


def texts(picture: str) -> str:
    return " ".join(ET.fromstring(picture).itertext())


def test_the_staircase_shows_every_arm_and_what_was_kept() -> None:
    (judged,) = judge_document(MADE).rungs
    shown = texts(compared.staircase(judged.staircase))
    assert shown.count("not kept") == 3 and "1. MTU 9000" in shown and "6.02 Gb/s, kept" in shown
    assert "7.82 Gb/s, kept" in shown


def test_every_change_has_its_interval_and_its_word() -> None:
    (judged,) = judge_document(MADE).rungs
    shown = texts(compared.intervals([(c.experiment, c.figures) for c in judged.changes]))
    assert "+100.0 %, differs" in shown and "the same" in shown
    assert compared.intervals([]) == ""


def test_every_figure_that_differs_is_drawn_below_what_was_asked_for() -> None:
    """Twice the cores of each end for 5 % more, and a hundred times as much sent again."""
    made = rung(price=2.0)
    plain, jumbo = made.experiments
    lossy = tuple(trials.changed(t, tcp={"near": TcpCounters(1_000_000, 10_000)}) for t in jumbo.trials)
    clean = tuple(trials.changed(t, tcp={"near": TcpCounters(1_000_000, 100)}) for t in plain.trials)
    made = replace(made, experiments=(replace(plain, trials=clean), replace(jumbo, trials=lossy)))
    page = report.html(document(made))
    drawn = next(p for p in re.findall(r"<svg.*?</svg>", page, re.DOTALL) if "What each change did" in p)
    rows = [text.text for text in ET.fromstring(drawn).iter("text")][1:]
    assert list(zip(rows[::2], rows[1::2], strict=True)) == [
        ("MTU 9000 (1 stream)", "+4.9 %, differs"),
        ("cores at the sender", "+100.0 %, differs"),
        ("cores at the receiver", "+100.0 %, differs"),
        ("throughput of one core", "-47.6 %, differs"),
        ("segments sent again", "more, differs"),
    ]
    (one,) = judge_document(document(made)).rungs[0].changes
    alone = compared.intervals([("MTU 9000 (1 stream)", one.figures[:1])])
    assert len(drawn) - len(alone) < 4 * 700, "a row takes little of the page"


def test_the_page_has_both_pictures() -> None:
    page = report.html(MADE)
    assert "each step beside the best so far" in page and "What each change did" in page


def test_each_direction_has_a_picture_of_its_own() -> None:
    forward = rung()
    back = tuple(
        replace(
            e,
            parameters=replace(
                p := e.parameters, id=f"{p.id}-back", direction=R, baseline=p.baseline and f"{p.baseline}-back"
            ),
            trials=tuple(trials.changed(t, by_direction={"reverse": t.goodput_bps}) for t in e.trials),
        )
        for e in forward.experiments
    )
    page = report.html(document(replace(forward, experiments=(*forward.experiments, *back))))
    titles = re.findall(r"<title>(What each change did, [^<]*), with its interval", page)
    assert titles == ["What each change did, near to far", "What each change did, far to near"]
    assert "What each change did, with its interval" in report.html(document(forward))


def test_the_csv_has_both_sides_of_every_pair() -> None:
    rows = list(csv.DictReader(io.StringIO(report.csv_trials(MADE))))
    jumbo = [r for r in rows if r["step"] == "1" and r["settings"] == "mtu-9000"]
    plain = [r for r in rows if r["experiment"] == jumbo[0]["baseline"]]
    assert {r["repeat"] for r in jumbo} == {r["repeat"] for r in plain} == {"0", "1", "2", "3"}


def test_what_was_discarded_is_in_the_csv_and_in_the_page_and_counts_nowhere() -> None:
    (asked,) = MADE.rungs
    first = asked.experiments[0]
    load = first.trials[0].legs[0]
    ran = Command("near", "discarded client", ("iperf", "-c", "192.0.2.2"))
    leg = replace(load, outcome=Outcome(True, goodput_bps=123e6), role=Role.DISCARDED, commands=(ran,))
    changed = replace(first.trials[0], legs=(*first.trials[0].legs, leg))
    one = replace(first, trials=(changed, *first.trials[1:]))
    made = replace(MADE, rungs=(replace(asked, experiments=(one, *asked.experiments[1:])),))
    before, after = (list(csv.DictReader(io.StringIO(report.csv_trials(d)))) for d in (MADE, made))
    assert [r["discarded_bps"] for r in after] == ["123000000.0", *[""] * (len(after) - 1)]
    assert [{**r, "discarded_bps": ""} for r in after] == before
    assert {(r["affinity"], r["zero_copy"]) for r in after} == {("free", "False")}
    assert "near discarded client" in report.html(made)


def test_the_json_carries_changes_and_staircase() -> None:
    told = json.loads("".join(report.json_pieces(MADE)))
    (rung,) = told["judgement"]["rungs"]
    assert len(rung["changes"]) == 5 and [one["kept"] for one in rung["staircase"]].count(True) == 3


def test_each_row_of_the_picture_says_which_figure_it_is() -> None:
    """Throughput needs no word; a longer round trip must not look like a gain, nor cores like what was carried."""
    (judged,) = judge_document(document(rung(price=2.0))).rungs
    (one,) = judged.changes
    carried, *others = one.figures
    assert carried.measured is Measured.GOODPUT
    trip = replace(carried, measured=Measured.IDLE_RTT)
    assert "TSO off: idle round trip" in texts(compared.intervals([("TSO off", [trip])]))
    assert "TSO off: transactions" in texts(
        compared.intervals([("TSO off", [replace(trip, measured=Measured.TRANSACTIONS)])])
    )
    assert "TSO off: cores at the sender" in texts(compared.intervals([("TSO off", others)])), "throughput was unknown"


def test_an_arm_without_a_best_so_far_beside_it_is_not_taken_for_that() -> None:
    base, tried, *_ = RESULT.experiments
    failed = replace(base, trials=tuple(trials.changed(t, ok=False) for t in base.trials))
    early = replace(tried, trials=tuple(replace(t, repeat=t.repeat + 50) for t in tried.trials))
    for first, second, said in (
        (failed, tried, "Staircase, near to far: nothing to compare MTU 9000 with."),
        (base, early, "Staircase, near to far: 3.01 Gb/s as it is; nothing sure gained by MTU 9000."),
    ):
        made = document(replace(RESULT, experiments=(first, second)))
        (judged,) = judge_document(made).rungs
        assert said in judged.answers
        jumbo = next(one for one in judged.staircase if one.words == "MTU 9000")
        assert not jumbo.base and row(jumbo)[3::2] == ("not compared", "no")
        assert (
            "1. MTU 9000" in (shown := texts(compared.staircase(judged.staircase))) and "6.02 Gb/s, not kept" in shown
        )
