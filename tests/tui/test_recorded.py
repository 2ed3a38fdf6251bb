"""What is replayed was measured: log and document tell the same, the judge agrees, and it is of the lab alone."""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import pytest

import recordings
import synth
from helpers import present
from linkladder import events
from linkladder.engine import Engine
from linkladder.judge import judge_document
from linkladder.model import Direction, Protocol, RunState
from linkladder.run import eventlog
from linkladder.run.progress import Stage
from linkladder.store import KeptVerdict, Store

every = pytest.mark.parametrize("name", recordings.NAMES)


@every
def test_the_log_comes_to_what_is_stored(name: str) -> None:
    run = recordings.load(name)
    shown = run.progress(run.entries[-1][0])
    assert shown.over and shown.state is run.document.run.state
    assert shown.run_id == run.id and shown.plan == run.document.run.plan
    logged = {e.result.id: e.result.goodput_bps for _, e in run.entries if isinstance(e, events.TrialFinished)}
    assert logged == {trial.id: trial.goodput_bps for _, _, trial in run.trials()}
    assert run.summary.trials == len(logged)
    assert run.summary.failed == len(shown.failures) == sum(not trial.ok for _, _, trial in run.trials())


@every
def test_the_verdict_that_was_stored_is_the_judge_s(name: str) -> None:
    run = recordings.load(name)
    assert run.summary.verdict == (
        run.word if run.document.run.state is RunState.COMPLETE else KeptVerdict("INCOMPLETE")
    )


@every
def test_every_event_is_written_as_it_was_read(name: str) -> None:
    for at, event in recordings.load(name).entries:
        assert eventlog.parse(eventlog.dump(event, at)) == (at, event)


@every
def test_it_is_small_and_tells_of_the_lab_alone(name: str) -> None:
    for file in (f"{name}.jsonl.xz", f"{name}.json.xz", "alpha.json"):
        path = recordings.FOLDER / file
        assert path.stat().st_size < 150_000
        text = (lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()).decode()
        assert not re.search(r"/(home|root|work|srv|Users|mnt)\b", text)
        assert {a for a in re.findall(r"\b\d+\.\d+\.\d+\.\d+\b", text) if not a.startswith(("10.98.", "127."))} == set()
    assert {end.facts.name for end in recordings.load(name).document.run.ends} == {"alpha", "beta"}


def test_each_shows_what_it_was_recorded_for() -> None:
    quick, matrix, failed, contradicted, lost = map(recordings.load, recordings.NAMES)
    assert quick.word == KeptVerdict("PASS", True) and len(quick.document.rungs) == 4
    assert any(e.parameters.direction is Direction.DUPLEX for _, e, _ in matrix.trials())
    assert next(t.reason for _, _, t in failed.trials() if not t.ok).startswith("the server ended by itself")
    against = present(contradicted.rung("same-vlan").evidence)
    assert against.contradicts and "behind a router" in against.against[0] and contradicted.judged.verdict == "FAIL"
    pauses = [e.retry_in for _, e in lost.entries if isinstance(e, events.PeerLost)]
    assert pauses[0] > 0 and pauses[-1] == 0 and any(isinstance(e, events.PeerBack) for _, e in lost.entries)
    assert [r.stage for r in lost.progress(1e9).rungs] == [Stage.DONE, Stage.DONE, Stage.STOPPED]


@pytest.mark.parametrize("name", [name for name in recordings.NAMES if name != "lost"])
def test_a_run_is_listed_with_the_verdict_that_it_is_read_with(name: str, tmp_path: Path) -> None:
    """What the engine keeps at the end of a run, before anything says that the run is over."""
    run = recordings.load(name)
    store = Store(tmp_path)
    engine = Engine(run.document.run.plan, store, None, None)
    engine.run_id = store.begin(run.document.run.plan, "beta")
    for end in run.document.run.ends:
        store.keep_host(engine.run_id, end.name, end.facts)
    for rung in run.document.rungs:
        store.keep_rung(engine.run_id, rung.name, rung.evidence)
    for rung, experiment, trial in run.trials():
        store.keep_trial(engine.run_id, rung.name, experiment.parameters.id, trial)
    # They were measured long ago, and so begins the run.
    store._db.execute("UPDATE runs SET started = ?", (run.document.run.started,))
    engine._finish(RunState.COMPLETE, "")
    assert store.runs()[0].verdict == run.word
    store.close()


def test_what_is_invented_is_judged_as_it_says() -> None:
    """The made-up run of other tests must be one that could be: its verdict the judge's, no UDP above its pacing."""
    judgement = judge_document(synth.the_document()).judgement
    assert synth.summary().verdict == KeptVerdict(judgement.verdict.value, judgement.provisional)
    paced = [e for r in synth.the_document().rungs for e in r.experiments if e.parameters.protocol is Protocol.UDP]
    assert paced and all(present(e.max_bps) <= present(e.parameters.udp_rate_bps) for e in paced)
    live = [e.interval.bps for at, e in synth.the_log() if isinstance(e, events.IntervalSeen)]
    assert max(live) < 1.02 * max(synth.RATES.values())
