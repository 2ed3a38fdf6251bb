"""CSV and OpenMetrics hold the figures of the page, and none that was not measured."""

from __future__ import annotations

import csv
import io

import several
from judge_documents import F, document, failed, ping, rung, tcp, trial
from linkladder import report
from linkladder.judge import judge_document
from linkladder.model import Document, Fault, RungName, TrialResult
from trials import changed

COLUMNS = ("goodput_bps", "forward_bps", "forward_percent_of_ceiling")


def link(*measured: TrialResult) -> Document:
    return document(rung(RungName.DC_LINK, ping(5.0), tcp(F, measured)))


def test_a_trial_that_measured_no_rate_has_none() -> None:
    """A mean over the column is that of what was carried; a path that carried nothing stays in it."""
    made = link(trial(950e6), failed(Fault.TOOL, n=1), failed(Fault.PEER, n=2), failed(Fault.PATH, n=3))
    rows = list(csv.DictReader(io.StringIO(report.csv_trials(made))))
    pinged, carried, *broken, silent = ([row[name] for name in COLUMNS] for row in rows)
    assert [pinged, *broken] == [["", "", ""]] * 3
    assert carried[:2] == ["950000000.0"] * 2 and float(carried[2]) > 99
    assert silent == ["0.0", "", "0.0"]
    (judged,) = judge_document(made).rungs[0].experiments[-1:]
    assert [bool(t.percent_of_ceiling) for t in judged.trials] == [True, False, False, True]


def test_one_bare_figure_has_no_interval() -> None:
    """Which would be of no width, and is a dash on the page."""
    bare = changed(trial(950e6), intervals=())
    for made, known in ((link(bare), False), (link(trial(950e6), trial(940e6, n=1)), True)):
        text = report.openmetrics(made)
        assert 'stat="median"' in text
        assert ('stat="low"' in text) is ('stat="high"' in text) is known


def test_what_each_of_several_paths_carried_is_in_both() -> None:
    """A mesh's own figures stood in neither: of all pairs at once only their sum."""
    made = several.document(8)
    rows = list(csv.DictReader(io.StringIO(report.csv_trials(made))))
    (one,) = [row["paths_bps"] for row in rows if "-forward-all-" in row["experiment"]]
    assert "near to beta 27000000; near to gamma 27000000" in one and "near to theta not measured" in one
    assert one.count(";") == 27 and not [row for row in rows if "-alone-" in row["experiment"] and row["paths_bps"]]
    told = report.openmetrics(made)
    name = f'linkladder_path_goodput_bits_per_second{{run="{several.RUN}",rung="dc-link",path='
    assert f'{name}"8",sender="beta",receiver="gamma",load="alone"}} 120000000' in told
    assert f'{name}"1",sender="beta",receiver="near",load="all"}} 27000000' in told
    assert 'receiver="theta",load="all"' not in told
    assert "paths_bps" in report.csv_trials(link(trial(950e6))) and "path_goodput" not in report.openmetrics(link())
