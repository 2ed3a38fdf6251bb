"""A trial of a week, simulated: what is kept of its seconds does not grow, by rules that can be told."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import run_logs
import soaked
from linkladder import events, wire
from linkladder.agent import processes
from linkladder.agent.processes import Children
from linkladder.engine import thinning
from linkladder.engine.thinning import Samples
from linkladder.host import summarise
from linkladder.model import CoreLoad, Direction, HostSample, NicCounters
from linkladder.run import eventlog

WEEK = 7 * 86_400


BUSY, QUIET = (CoreLoad(75.0, 0.0, 0.0, 25.0),), (CoreLoad(15.0, 0.0, 0.0, 85.0),)


def second(t: int) -> HostSample:
    cores = BUSY if t % 3600 < 900 else QUIET  # a quarter of each hour is busy: 30 % in all
    return HostSample(float(t), cores, 5 << 20 if t == 777 else 1 << 20, (NicCounters("vmx1", rx_bytes=t * 1000),), t)


def test_a_week_of_seconds_takes_no_more_than_a_few_hours_do() -> None:
    samples, most, early = Samples(), 0, 0
    for t in range(WEEK):
        samples.append(second(t))
        most = max(most, len(samples))
        if t == 4 * 3600:
            early = psutil.Process().memory_info().rss
    grown = psutil.Process().memory_info().rss - early
    print(f"a week of seconds: {grown / 2**20:.1f} MB more than four hours, {len(samples)} samples")
    assert most == thinning.MOST and grown < 16 << 20
    times = [one.t for one in samples]
    steps = {b - a for a, b in itertools.pairwise(times[:-1])}
    assert times == sorted(times) and steps == {128.0} and samples[-1].t == WEEK - 1
    assert samples[-1].nics[0].rx_bytes == (WEEK - 1) * 1000 and samples[-1].retransmits == WEEK - 1
    cpu, memory = summarise(samples, 8 << 20, 3, WEEK)
    assert cpu.percent == pytest.approx(30.0, abs=0.2), "what was joined weighs as much as it stands for"
    assert memory.peak == 5 << 20, "the largest is never lost"


def test_two_hours_are_kept_as_they_come() -> None:
    samples = Samples()
    for t in range(thinning.MOST):
        samples.append(second(t))
    assert list(samples) == [second(t) for t in range(thinning.MOST)]


def test_the_runs_log_of_a_week_is_some_ten_thousand_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = eventlog.Recorder(path)
    log.write(events.TrialStarted("dc-link", "tcp", 0, 1, 1))
    every = 20  # seconds of the week that are simulated here: one in so many
    for t in range(0, WEEK, every):
        log.write(events.Sampled("near", second(t)))
        log.write(events.Sampled("far", second(t)))
        log.write(events.RoundTripSeen(float(t), 0.2))
    log.write(events.Notice("the last word"))
    log.close()
    kept = Counter(type(event).__name__ + getattr(event, "end", "") for _, event in run_logs.whole(path))
    assert kept["Notice"] == kept["TrialStarted"] == 1
    assert kept["Samplednear"] == kept["Sampledfar"] == kept["RoundTripSeen"] < 10_000
    assert path.stat().st_size < 20 << 20


def test_a_trial_of_an_hour_is_logged_in_full_and_each_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = eventlog.Recorder(path)
    for number in range(2):
        log.write(events.TrialStarted("dc-link", "tcp", number, number + 1, 2))
        for t in range(eventlog.DENSE):
            log.write(events.RoundTripSeen(float(t), 0.2))
    log.close()
    assert sum(isinstance(event, events.RoundTripSeen) for _, event in run_logs.whole(path)) == 2 * eventlog.DENSE


async def test_output_beyond_what_is_kept_is_counted_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "OUTPUT_LIMIT", 100_000)
    said: list[wire.Line | wire.Exited] = []
    children = Children(said.append)
    try:
        child = await children.start(
            [sys.executable, "-c", "print('x' * 99 + chr(10), end='') or print('y' * 250_000)"]
        )
        done = await child.finished()
        assert len(done.output) == 100_000 and done.output.startswith("x" * 99 + "\n")
        assert done.cut == 100 + 250_001 - 100_000
    finally:
        await children.close()


def test_the_log_of_a_soak_keeps_the_seconds_of_its_last_trials_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever follows it sees each event once, and who comes later what matters of all that went before."""
    monkeypatch.setattr(eventlog, "MOST", 50_000)
    path = tmp_path / "log.jsonl"
    log, follower, seldom = eventlog.Recorder(path), eventlog.Tail(path), eventlog.Tail(path)
    written: list[events.Event] = []
    seen: list[events.Event] = []
    now_and_then: list[events.Event] = []
    largest = 0
    for number in range(48):
        told: list[events.Event] = [events.TrialStarted("dc-link", "tcp", number, number, 1)]
        told += [events.RoundTripSeen(float(t), 0.2) for t in range(400)]
        told.append(events.TrialFinished("dc-link", "tcp", soaked.trial(soaked.experiment(5.0, 1, Direction.FORWARD))))
        for event in told:
            log.write(event)
            if isinstance(event, events.TrialFinished):
                event = replace(event, result=event.result.figures)
            written.append(event)
        log._file.flush()
        seen += [event for _, event in follower.poll()]
        if number % 17 == 1:
            now_and_then += [event for _, event in seldom.poll()]
        largest = max(largest, path.stat().st_size)
    log.close()
    for tail, found in ((follower, seen), (seldom, now_and_then)):
        found += [event for _, event in tail.poll()]
        tail.close()
    lasting = [event for event in written if not isinstance(event, events.RoundTripSeen)]
    assert seen == written
    assert [event for event in now_and_then if not isinstance(event, events.RoundTripSeen)] == lasting
    late = [event for _, event in run_logs.whole(path)]
    assert [event for event in late if not isinstance(event, events.RoundTripSeen)] == lasting
    assert largest < 2 * eventlog.MOST + 48 * 6000 and len(late) < len(written) / 5
    assert [one.name for one in tmp_path.glob("log*")] == ["log.jsonl"]
