"""The rate in the list of runs: one way of TCP, whatever else was measured beside it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import trials
from judge_documents import GOOD, ladder
from linkladder import cli
from linkladder.app.backend import HomeView
from linkladder.app.home_text import last_lines
from linkladder.app.screens.results import summary_page
from linkladder.app.screens.runs import Columns
from linkladder.engine.stored_run import conclude
from linkladder.judge import judge_document
from linkladder.migrations import MIGRATIONS
from linkladder.model import Direction, Experiment, HostFacts, Plan, Protocol, Rung, RungName, RunState, best_rate
from linkladder.store import KeptVerdict, Store

TCP = Experiment("tcp-4s-default-reverse", direction=Direction.REVERSE)
DUPLEX = Experiment("tcp-4s-default-duplex", direction=Direction.DUPLEX)
UDP = Experiment("udp-4s-9.57G-forward", protocol=Protocol.UDP, udp_rate_bps=9.57e9)
PING = Experiment("round-trip", protocol=Protocol.ECHO)
CARRIED = {
    TCP: trials.trial("t", 0, True, goodput_bps=9.38e9, by_direction={"reverse": 9.38e9}),
    DUPLEX: trials.trial("d", 0, True, goodput_bps=18.8e9, by_direction={"forward": 9.39e9, "reverse": 9.41e9}),
    UDP: trials.trial("u", 0, True, goodput_bps=9.56e9, by_direction={"forward": 9.56e9}),
    PING: trials.trial("p", 0, True),
}


@pytest.mark.parametrize(
    ("measured", "best"),
    [
        ((TCP, DUPLEX, UDP, PING), 9.38e9),
        ((DUPLEX, UDP, PING), 9.39e9),
        ((PING, UDP), 9.56e9),
        ((PING,), None),
    ],
)
def test_two_directions_are_never_added_and_tcp_goes_before_udp(
    tmp_path: Path, measured: tuple[Experiment, ...], best: float | None
) -> None:
    store = Store(tmp_path)
    run = store.begin(Plan("p", rungs=(Rung(RungName.DC_LINK, experiments=measured),)))
    for asked in measured:
        store.keep_trial(run, RungName.DC_LINK, asked.id, CARRIED[asked])
    found = store.runs()[0]
    assert found.best_bps == ({"dc-link": best} if best else {})
    assert (found.trials, found.failed) == (len(measured), 0)
    assert best_rate.best((best_rate.weight(e), best_rate.one_way(CARRIED[e])) for e in measured)[1] == (best or 0)


def test_a_failed_trial_speaks_for_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = store.begin(Plan("p", rungs=(Rung(RungName.DC_LINK, experiments=(TCP, UDP)),)))
    store.keep_trial(run, RungName.DC_LINK, TCP.id, trials.trial("t", 0, False, goodput_bps=9.4e9))
    store.keep_trial(run, RungName.DC_LINK, UDP.id, CARRIED[UDP])
    found = store.runs()[0]
    assert (found.best_bps, found.trials, found.failed) == ({"dc-link": 9.56e9}, 2, 1)


def test_the_trials_of_an_older_database_are_told_apart_by_name(tmp_path: Path) -> None:
    old = sqlite3.connect(tmp_path / "linkladder.db")
    old.executescript("".join(MIGRATIONS[:3]) + "PRAGMA user_version = 3;")
    for run, measured in (("a", (TCP, DUPLEX, UDP)), ("b", (DUPLEX,)), ("c", (UDP,))):
        old.execute(
            "INSERT INTO runs (id, started, state, version, plan_name, plan) VALUES (?, ?, 'complete', '0', 'p', '{}')",
            (run, run),
        )
        old.executemany(
            "INSERT INTO trials (run, rung, experiment, repeat, ok, goodput, result)"
            " VALUES (?, 'dc-link', ?, 0, 1, ?, '')",
            [(run, e.id, CARRIED[e].goodput_bps) for e in measured],
        )
    old.commit()
    old.close()
    best = {run.id: run.best_bps["dc-link"] for run in Store(tmp_path).runs()}
    assert best == {"a": 9.38e9, "b": 9.4e9, "c": 9.56e9}


def test_what_was_judged_speaks_until_the_run_is_taken_up_again(tmp_path: Path) -> None:
    """The best setting's median, where one lucky trial says more."""
    store = Store(tmp_path)
    run = store.begin(Plan("p", rungs=(Rung(RungName.DC_LINK, experiments=(TCP,)),)))
    store.keep_rung(run, RungName.DC_LINK)
    store.keep_trial(run, RungName.DC_LINK, TCP.id, CARRIED[TCP])
    store.finish(run, RunState.INCOMPLETE, rungs={"dc-link": (KeptVerdict(), 9.1e9)})
    found = store.runs()[0]
    assert (found.best_bps, found.verdicts) == ({"dc-link": 9.1e9}, {})
    store.resume(run)
    assert store.runs()[0].best_bps == {"dc-link": 9.38e9}


def test_home_results_runs_and_a_shell_show_the_direction_that_carries_less(
    own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the report does in its sentence and in what limits: a link is held to its worse way."""
    found = ladder(GOOD, 500e6)
    store = Store(own_state)
    run = store.begin(found.run.plan, "beta")
    for measured in found.rungs:
        for e in measured.experiments:
            for t in e.trials:
                store.keep_trial(run, measured.name, e.parameters.id, t)
    totals = conclude(store, run, RunState.COMPLETE, "", cancelled=False)
    judged = judge_document(found)
    summary = store.runs()[0]
    assert totals["dc-link"] == judged.rungs[-1].best_bps == summary.best_bps["dc-link"] == 500e6
    assert "dc-link      500 Mb/s" in summary_page(found, judged).plain
    assert "dc-link      500 Mb/s" in last_lines(HomeView(HostFacts("alpha"), last=summary)).plain
    assert " 500 Mb/s " in Columns([summary], 100).row(summary, marked=False)
    assert cli.main(["runs"]) == 0 and "dc-link 500 Mb/s" in capsys.readouterr().out


def test_while_a_rung_runs_its_figure_is_the_worse_of_the_best_of_both_ways() -> None:
    there = Experiment("there"), trials.trial("f", 0, True, goodput_bps=9.5e9, by_direction={"forward": 9.5e9})
    weak = Experiment("weak"), trials.trial("w", 0, True, goodput_bps=1e9, by_direction={"forward": 1e9})
    back = TCP, CARRIED[TCP]
    measured = [best_rate.of_ways(*one) for one in (there, weak, back, (DUPLEX, CARRIED[DUPLEX]), (UDP, CARRIED[UDP]))]
    assert best_rate.shown(best_rate.best_of_ways(measured)) == 9.38e9
    assert best_rate.shown(best_rate.best_of_ways(measured[:2])) == 9.5e9
