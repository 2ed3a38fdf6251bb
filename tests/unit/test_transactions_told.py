"""A run that asks for transactions begins with what it was for, and gives no verdict on what it did not measure."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path as Folder

import pytest

import trials
from judge_documents import document, ping, rung
from linkladder import cli, report
from linkladder.app.screens.results import summary_page
from linkladder.app.screens.runs import Columns
from linkladder.app.widgets.ladder_text import ladder
from linkladder.codec import from_json, to_json
from linkladder.engine.stored_run import conclude
from linkladder.judge import judge_document
from linkladder.judge.transactions import transactions
from linkladder.model import (
    CpuUse,
    Document,
    Experiment,
    ExperimentResult,
    Path,
    Protocol,
    RungName,
    RungResult,
    RunState,
    Setting,
    SettingKind,
    Transactions,
)
from linkladder.run.progress import Progress, RungView, Stage
from linkladder.store import Store
from linkladder.verdicts import Judgement, Verdict

SMALL = Experiment("rr", "netperf", Protocol.RR, request=700, response=700)
TSO_OFF = (Setting(SettingKind.TSO, "off"),)


def rr(sessions: int, *rates: float, busy: float = 40.0, half: float | None = 40.0, **more: object) -> ExperimentResult:
    seen = [
        trials.trial(
            id=f"rr-{sessions}-{n}", repeat=n, ok=True, seconds=6.0,
            transactions=Transactions(rate, sessions, p50_us=half, p99_us=100.0 * sessions, request=700, response=700),
            cpu={"near": CpuUse(20, 40, 0.4), "far": CpuUse(busy / 2, busy, busy / 100)},
        )
        for n, rate in enumerate(rates)
    ]  # fmt: skip
    p = replace(SMALL, id=f"rr-{sessions}", sessions=sessions, repeats=len(seen))
    return ExperimentResult(replace(p, **more), tuple(seen))  # type: ignore[arg-type]


def told(found: Document) -> tuple[str, ...]:
    return judge_document(found).rungs[0].answers


def test_rates_and_times_are_told_by_sessions_with_how_far_repeats_are_apart_and_whose_core_was_full() -> None:
    link = rung(RungName.DC_LINK, ping(0.05), rr(1, 10000, 10100), rr(10, 30000, 45000, busy=99), rr(50, 44000))
    (said,) = told(document(link))
    assert said == (
        "Transactions on dc-link, 700 bytes each way, by 1, 10 and 50 sessions: 10000, 37500 and 44000 a second; "
        "half within 40 µs, 40 µs and 40 µs; 99 of 100 within 100 µs, 1.00 ms and 5.00 ms. "
        "Repeats differ by up to 50 %. A core was full with 10 sessions (far end): the machine may be what bounds them."
    )


def test_the_verdict_says_that_no_rate_was_asked_for() -> None:
    judged = judge_document(document(rung(RungName.DC_LINK, ping(0.05), rr(1, 10000))))
    assert judged.verdict is Verdict.INCOMPLETE
    said = "NO RATE ASKED: What dc-link carries was not asked for: no throughput was measured on it."
    assert (judged.word, judged.rungs[0].word, judged.sentence) == ("NO RATE ASKED", "NO RATE ASKED", said)
    assert not judged.provisional, "nothing more would settle it"


def test_what_failed_or_is_not_there_leaves_it_incomplete() -> None:
    whole = rr(1, 10000, 10100)
    failed = replace(whole, trials=(whole.trials[0], trials.trial("failed", 1, False)))
    missing = replace(whole, trials=whole.trials[:1])
    for of in (failed, missing, replace(whole, trials=())):
        judged = judge_document(document(rung(RungName.DC_LINK, ping(0.05), of)))
        assert (judged.verdict, judged.word, judged.rungs[0].word) == ("INCOMPLETE",) * 3
        assert judged.sentence.startswith("INCOMPLETE")


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ((1, 0), "3 of 5 planned trials were not run"),
        ((2, 0), "2 of 5 planned trials were not run"),  # all that were asked for as the machine is
        ((0, 0), "4 of 5 planned trials were not run"),
    ],
)
def test_a_run_that_was_ended_says_what_it_lacks_of_what_it_was_for(kept: tuple[int, int], said: str) -> None:
    """A person who asked for transactions and ended the run misses those, and no rate."""
    plain, lent = rr(1, 10000, 10100), rr(1, 10000, 10100, settings=TSO_OFF, baseline="rr-1")
    lent = replace(lent, parameters=replace(lent.parameters, id="rr-1-off"))
    whole = document(rung(RungName.DC_LINK, ping(0.05), plain, lent))
    pings, *_ = whole.rungs[0].experiments
    arms = tuple(replace(e, trials=e.trials[:n]) for e, n in zip((plain, lent), kept, strict=True))
    run = replace(whole.run, state=RunState.INCOMPLETE)
    ended = replace(whole, run=run, rungs=(replace(whole.rungs[0], experiments=(pings, *arms)),))
    judged = judge_document(ended)
    text = f"Of what was asked of dc-link, not all is there: {said}. No rate was asked for."
    assert judged.word == "INCOMPLETE"
    assert judged.sentence.startswith("INCOMPLETE") and judged.sentence.endswith(f": {text}")
    assert text in " ".join(summary_page(ended, judged).plain.split())
    assert text in report.html(ended)


def test_a_failed_trial_is_named_as_what_is_lacking() -> None:
    whole = rr(1, 10000, 10100)
    failed = replace(whole, trials=(whole.trials[0], trials.trial("failed", 1, False)))
    judged = judge_document(document(rung(RungName.DC_LINK, ping(0.05), failed)))
    assert "not all is there: 1 of 3 trials failed." in judged.sentence


def test_a_judgement_of_an_older_run_has_the_word_that_it_had() -> None:
    judged = judge_document(document(rung(RungName.DC_LINK, ping(0.05), rr(1, 10000)))).judgement
    stored = to_json(judged)
    assert isinstance(stored, dict) and stored.pop("rate_asked") is False
    assert from_json(Judgement, stored).word == "INCOMPLETE"


def test_ladder_runs_home_and_the_command_line_say_so(own_state: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    """In a line of 80 columns, as the Results page does."""
    link = rung(RungName.DC_LINK, ping(0.05), rr(1, 10000, 10100))
    found = document(link)
    store = Store(own_state)
    run = store.begin(found.run.plan, "beta")
    for e in link.experiments:
        for t in e.trials:
            store.keep_trial(run, link.name, e.parameters.id, t)
    conclude(store, run, RunState.COMPLETE, "", cancelled=False)
    (summary,) = store.runs()
    assert (str(summary.verdict), str(summary.verdicts["dc-link"])) == ("NO RATE ASKED", "NO RATE ASKED")
    row = Columns([summary], 80).row(summary, marked=False)
    assert row.endswith(" NO RATE ASKED") and len(row) <= 80
    assert cli.main(["runs"]) == 0
    assert " NO RATE ASKED " in capsys.readouterr().out
    judged = judge_document(store.load(run))
    view = RungView(link.name, Stage.DONE, trials=3, done=3, result=link)
    assert ladder(Progress(rungs=[view]), {link.name: judged.rungs[0]}, 80).plain == (
        "|-1-| dc-link    NO RATE ASKED  3 trials"
    )
    assert "NO RATE ASKED: What dc-link carries" in summary_page(found, judged).plain
    page = report.html(found)
    assert "<strong>NO RATE ASKED</strong>" in page and not re.search(">INCOMPLETE|, INCOMPLETE", page)


def test_a_rate_that_was_asked_for_and_is_not_there_is_missing() -> None:
    found = document(rung(RungName.DC_LINK, rr(1, 10000)))
    asked = replace(found.run.plan.rungs[0], experiments=(SMALL, Experiment("tcp")))
    judged = judge_document(replace(found, run=replace(found.run, plan=replace(found.run.plan, rungs=(asked,)))))
    assert "No TCP throughput was measured on dc-link" in judged.sentence


def test_times_that_are_not_known_are_left_out() -> None:
    (said,) = told(document(rung(RungName.SAME_VLAN, rr(1, 10000, half=None))))
    assert said == (
        "Transactions on same-vlan, 700 bytes each way, by 1 session: 10000 a second; 99 of 100 within 100 µs."
    )


def test_sessions_are_told_from_few_to_many_and_sizes_as_they_are() -> None:
    one = {"request": 1, "response": 1}
    (said,) = transactions(rung(RungName.SAME_VLAN, rr(10, 30000, **one), rr(1, 10000, **one)))
    assert said.startswith("Transactions on same-vlan, 1 byte each way, by 1 and 10 sessions: 10000 and 30000 a second")
    (said,) = transactions(rung(RungName.SAME_VLAN, rr(1, 10000, request=1)))
    assert "1 byte and 700 back, by 1 session: " in said


def test_what_sets_loads_apart_is_named() -> None:
    """Cores, paths, settings or DSCP: two sentences with the same words would say two things of one load."""
    kinds = [{}, {"cores": 2}, {"dscp": 46}, {"settings": TSO_OFF}, {"paths": (0,)}, {"paths": (1,)}]
    made = [rr(1, 10000.0 + n, id=f"rr-{n}", **asked) for n, asked in enumerate(kinds)]
    two = (Path("10.0.0.1", "10.0.0.2", "beta"), Path("10.1.0.1", "10.1.0.2", "beta"))
    said = [s.partition(", by 1 session")[0] for s in transactions(RungResult(RungName.SAME_VLAN, two, tuple(made)))]
    kind = "Transactions on same-vlan, 700 bytes each way"
    apart = ["", ", on 2 cores", ", DSCP 46", ", TSO off", ", path 1 alone", ", path 2 alone"]
    assert said == [kind + more for more in apart]


def test_loads_of_which_the_same_is_told_stand_in_one_sentence() -> None:
    longer = rr(1, 12000, id="rr-long", duration=20.0)
    (said,) = transactions(rung(RungName.SAME_VLAN, rr(1, 10000), longer, rr(10, 30000, duration=20.0)))
    assert "by 1 and 10 sessions: 11000 and 30000 a second" in said and "Repeats differ by up to 20 %." in said


def test_arms_that_are_compared_have_their_own_answer() -> None:
    plain, changed = rr(1, 10000), rr(1, 9000, id="rr-off", baseline="rr-1", settings=TSO_OFF)
    assert not [said for said in told(document(rung(RungName.SAME_VLAN, plain, changed))) if "Transactions on" in said]


def test_with_more_than_two_ends_the_pair_is_named() -> None:
    paths = (Path("10.0.0.1", "10.0.0.2", "beta"), Path("10.0.0.1", "10.0.0.3", "gamma"))
    one = rr(10, 30000, busy=99, paths=(0,))
    (said,) = [s for s in told(document(RungResult(RungName.SAME_VLAN, paths, (one,)))) if "Transactions" in s]
    assert "near to beta, 700 bytes each way" in said
