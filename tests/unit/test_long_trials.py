"""A soak of hours: what its trials leave in the store, and that the judge sees in it what it saw in all of it."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

import iperf3_cases
import soaked
import tools_cases
from judge_documents import GIGABIT
from linkladder import packing, tools
from linkladder import plan as plans
from linkladder.app.screens.ladder import judged as shown
from linkladder.codec import to_json
from linkladder.engine.long_trial import FEW, SPAN, rung_finished, thinned
from linkladder.judge import judge_document
from linkladder.judge.outages import dead_seconds
from linkladder.judge.recount import recount
from linkladder.judge.recount_answers import recount_answers
from linkladder.model import (
    LEFT_OUT,
    LONG,
    Direction,
    Document,
    Experiment,
    ExperimentResult,
    HostFacts,
    Interval,
    Outcome,
    Plan,
    RunEnd,
    Rung,
    RungName,
    RungResult,
    RunInfo,
    Setting,
    SettingKind,
    TrialResult,
)
from linkladder.model import Path as RungPath
from linkladder.run.progress import Progress, RungView
from linkladder.store import Store
from linkladder.verdicts import Cause
from tools_cases import read

A_DAY = 5_000_000  # bytes that the store may grow by in a day of soak
OF_A_TABLE = 0.1  # of them may be the database's own pages
FORWARD, REVERSE, DUPLEX = Direction.FORWARD, Direction.REVERSE, Direction.DUPLEX
WAY = (RungPath(soaked.NEAR, soaked.FAR, "beta"),)


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def judged(trial: TrialResult, exp: Experiment) -> tuple[TrialResult, Experiment, RungResult, Document]:
    facts = HostFacts("x", os="Linux", tools=dict(soaked.MODERN.found))
    ends = tuple(RunEnd(name, facts) for name in ("near", "beta"))
    rung = RungResult(RungName.DC_LINK, WAY, (ExperimentResult(exp, (trial,)),))
    run = RunInfo("r", "2026-11-22T10:00:00+00:00", Plan("p", contract=GIGABIT), ends=ends)
    return trial, exp, rung, Document(run, (rung,))


@pytest.mark.parametrize(
    ("streams", "way", "udp_rate"),
    [(1, FORWARD, None), (2, REVERSE, None), (4, FORWARD, 4e7), (8, DUPLEX, None)],
    ids=["one", "two-back", "udp", "eight-both-ways"],
)
def test_a_day_of_soak_takes_five_megabytes(
    tmp_path: Path, streams: int, way: Direction, udp_rate: float | None
) -> None:
    hour = 3600.0
    exp = soaked.experiment(hour, streams, way, udp_rate)
    whole = soaked.trial(exp)
    store = Store(tmp_path)
    run = store.begin(Plan("soak", contract=GIGABIT, rungs=(Rung(RungName.DC_LINK, WAY, (exp,)),)))
    store.close()
    before = size(tmp_path)
    store = Store(tmp_path)
    store.keep_trial(run, RungName.DC_LINK, exp.id, kept := thinned(whole, exp))
    stored = store.load(run).rungs[0].experiments[0].trials[0]
    store.close()
    grown = (size(tmp_path) - before) * soaked.DAY / hour
    print(f"{streams} flows {way}: {grown / 1e6:.2f} MB a day")
    assert grown < A_DAY * (1 - OF_A_TABLE)
    assert stored == kept
    assert [i.bytes for i in kept.intervals] == [i.bytes for i in whole.intervals], "every second's rate is kept"
    assert (kept.by_direction, kept.rtt_under_load.p95_ms if kept.rtt_under_load else None) == (
        whole.by_direction,
        whole.rtt_under_load.p95_ms if whole.rtt_under_load else 0,
    )
    for flow, all_of_it in zip(kept.flows, whole.flows, strict=True):
        assert sum(i.bytes for i in flow.intervals) == sum(i.bytes for i in all_of_it.intervals)
        assert max(i.end - i.start for i in flow.intervals) <= SPAN + 0.1
    assert recount(*judged(stored, exp)) == ""
    assert all(LEFT_OUT in c.output and c.left_out for c in stored.commands)


@pytest.mark.parametrize("streams", [1, 4])
def test_a_second_without_traffic_is_seen_in_a_trial_of_an_hour(streams: int) -> None:
    exp = soaked.experiment(3600.0, streams, FORWARD)
    odd = {(flow, 1234): 0.0 for flow in range(1, streams + 1)} | {(1, 2345): 0.1}  # and one flow alone
    kept = thinned(soaked.trial(exp, odd=odd), exp)
    dead = dead_seconds(list(kept.intervals))
    assert dead is not None and (dead.at, dead.longest) == (1234.0, 1.0) if streams > 1 else dead
    for flow, second in ((1, 1234), (1, 2345)):
        (alone,) = (i for i in kept.flows[flow - 1].intervals if i.start == second)
        assert alone.end - alone.start == 1.0
    server = next(c.output for c in kept.commands if c.role == "server")
    assert "] 1234.0000-1235.0000 sec  0 Bytes" in server and "] 2345.0000-2346.0000 sec" in server
    seconds = {round(s.t) for s in kept.ends[0].samples}
    assert {1234, 1235} <= seconds, "and what the ends did then"
    assert recount(*judged(kept, exp)) == ""


def test_a_bad_link_does_not_fill_the_store() -> None:
    """Of the seconds that stand out so many are kept, those in which least arrived."""
    exp = soaked.experiment(1800.0, 2, FORWARD)
    odd = {(1, t): 0.3 if t % 50 else 0.0 for t in range(100, 1700, 2)}
    few = [len(c.output) for c in thinned(soaked.trial(exp), exp).commands]
    many = [len(c.output) for c in thinned(soaked.trial(exp, odd=odd), exp).commands]
    assert all(there < calm + FEW * 3 * 3 * 200 for calm, there in zip(few, many, strict=True))


def test_seconds_that_are_not_those_of_the_output_are_found() -> None:
    exp = soaked.experiment(400.0, 2, DUPLEX)
    trial = thinned(soaked.trial(exp, odd={(1, 200): 0.0, (2, 200): 0.0}), exp)

    def forged(second: int, share: float) -> TrialResult:
        load, *others = trial.legs
        made = tuple(
            replace(i, bytes=round(i.bytes * share)) if i.start == second and i.direction is FORWARD else i
            for i in load.outcome.intervals
        )
        other = replace(load, outcome=replace(load.outcome, intervals=made))
        return replace(trial, legs=(other, *others))

    assert recount(*judged(trial, exp)) == ""
    assert "bytes are recorded" in recount(*judged(forged(10, 1.5), exp)), "a second whose line is there"
    assert "bytes are recorded" in recount(*judged(forged(150, 9.0), exp)), "one of the sum between"
    short = replace(exp, duration=LONG)
    assert "in long trials alone" in recount(*judged(trial, short))
    assert recount_answers(*judged(trial, exp)) == ""
    assert "in long trials alone" in recount_answers(*judged(trial, short)), "of pings beside it, too"


def test_a_rung_of_long_trials_is_told_by_its_figures_and_what_its_seconds_came_to() -> None:
    exp = soaked.experiment(400.0, 1, FORWARD)
    trial = thinned(soaked.trial(exp, odd={(1, t): 0.0 for t in range(100, 140)}), exp)
    document = judged(trial, exp)[3]
    told = rung_finished(RungName.DC_LINK, document, document.run.plan)
    assert told.judgement is not None and told.judgement == judge_document(document).rungs[0]
    assert any(c.cause is Cause.OUTAGE for c in told.judgement.judgement.concerns)
    (kept,) = told.result.experiments[0].trials
    assert kept.goodput_bps == trial.goodput_bps and kept.commands[0].argv and not kept.intervals
    progress = Progress(plan=document.run.plan)
    progress.rungs.append(RungView(RungName.DC_LINK, result=told.result, judgement=told.judgement))
    assert shown(progress) == {RungName.DC_LINK: told.judgement}
    short = replace(exp, duration=60.0)
    document = judged(trial, short)[3]
    assert rung_finished(RungName.DC_LINK, document, document.run.plan).judgement is None


def test_the_rung_of_a_follow_up_is_told_by_the_verdict_on_the_whole_run() -> None:
    exp = soaked.experiment(20.0, 1, FORWARD)
    document = judged(soaked.trial(exp), exp)[3]
    added = replace(document.run.plan, rungs=document.run.plan.rungs[-1:], title="a part")
    told = rung_finished(RungName.DC_LINK, document, added)
    assert told.judgement == judge_document(document).rungs[0]
    assert told.result.experiments[0].trials[0].intervals, "nothing else is left out of it"


def test_a_short_trial_and_one_with_a_member_down_are_kept_as_they_are() -> None:
    exp = soaked.experiment(LONG, 1, FORWARD)
    trial = soaked.trial(exp)
    assert thinned(trial, exp) is trial
    longer = soaked.experiment(LONG + 60, 1, FORWARD)
    down = Setting(SettingKind.MEMBER, 2, since=10.0, until=20.0)
    assert thinned(trial, replace(longer, settings=(down,))) is trial


def without_middle(exp: Experiment, text: str) -> str:
    reading = tools.named(exp.tool).reading()
    lines = text.splitlines()
    middle = [n for n, line in enumerate(lines) if round(reading.second(line, exp) or 0.0) == 1]
    assert middle
    kept = ["[... 2 lines of seconds left out ...]" if n == middle[0] else s for n, s in enumerate(lines)]
    return "\n".join(s for n, s in enumerate(kept) if n == middle[0] or n not in middle) + "\n"


@pytest.mark.parametrize(
    ("folder", "name"),
    [(f"iperf-{v}-two-ends", n) for v in ("2.1.8", "2.2.1") for n in ("tcp-p2", "udp-p2", "duplex-p2", "reverse-p2")]
    + [("iperf3-3.21", n) for n in ("tcp-p2", "udp-p2")],
)
def test_what_lies_between_the_lines_that_are_kept_is_the_rest_of_the_total(
    captures: Path, folder: str, name: str
) -> None:
    third = folder.startswith("iperf3")
    exp = (iperf3_cases.ASKED if third else tools_cases.EXPERIMENTS)[name]
    have = iperf3_cases.HAVE if third else tools_cases.MODERN
    where = tools.layout(exp, have, have)
    texts = [read(captures / folder, f"{name}.{end}.txt") for end in ("server", "client")]

    def came(server: str, client: str) -> Outcome:
        return tools.finish(exp, where, (server, ""), ((client, ""),), tools.Expectation(exit_codes=(0,)))

    whole, some = came(*texts), came(*(without_middle(exp, text) for text in texts))
    assert whole.ok and some.ok, some.reason
    assert some.by_direction == pytest.approx(whole.by_direction, rel=0.05), "but for what came after the time"
    cut = (without_middle(exp, text).replace(LEFT_OUT, "x") for text in texts)
    assert not came(*cut).ok, "without the mark they are missing"


def test_what_is_packed_is_unpacked_as_it_was() -> None:
    table = [
        {"t": n + 0.25, "n": n * n, "some": None if n % 3 else n, "word": "x", "rows": [[n, 0.5 * n]] * 9}
        for n in range(40)
    ]
    odd = [1e300, 1.5, -0.1] * 4, [True, 1] * 9, [1 << 70] * 9, [{}] * 9, [[]] * 9, [[1], [2, 3]] * 8, "text", None
    for value in (table, *odd, {"a": table, "b": [1.0] * 20}, [{"a": 1}] * 7, [{"a": 1}, {"b": 1}] * 9):
        assert json.dumps(packing.unpack(packing.pack(value))) == json.dumps(value)
    assert packing.unpack(zlib.compress(json.dumps(table).encode(), 3)) == table, "as it was packed before"
    assert len(packing.pack(table)) < len(zlib.compress(json.dumps(table).encode(), 9))


def test_output_that_was_stored_by_an_older_linkladder_is_read(tmp_path: Path) -> None:
    exp = soaked.experiment(20.0, 1, FORWARD)
    trial = soaked.trial(exp)
    store = Store(tmp_path)
    run = store.begin(Plan("p", rungs=(Rung(RungName.DC_LINK, WAY, (exp,)),)))
    store.keep_trial(run, RungName.DC_LINK, exp.id, trial)
    (file,) = (tmp_path / "raw" / run).iterdir()
    file.unlink()
    texts = [[c.output, c.errors] for c in trial.commands]
    file.with_suffix(".gz").write_bytes(gzip.compress(json.dumps(texts).encode()))
    assert store.load(run).rungs[0].experiments[0].trials[0].commands == trial.commands
    store.keep_trial(run, RungName.DC_LINK, exp.id, trial)
    assert [one.suffix for one in (tmp_path / "raw" / run).iterdir()] == [".xz"], "and replaced by a new try"
    store.close()


def test_a_trial_of_a_day_becomes_hours() -> None:
    asked = f'name = "p"\n[[experiment]]\nrungs = "dc-link"\nduration = {soaked.DAY}\n'
    (one,) = plans.read_plan(asked).rungs[0].experiments
    assert (one.duration, one.repeats) == (3600.0, 24)
    assert to_json(one)["duration"] == 3600.0
    assert isinstance(soaked.trial(soaked.experiment(5.0, 1, FORWARD)).intervals[0], Interval)
