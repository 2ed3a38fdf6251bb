"""Days of soak are judged in the memory of one trial: their seconds are laid aside, and are found there again."""

from __future__ import annotations

import copy
import errno
import gc
import os
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

import soaked
from judge_documents import GIGABIT
from linkladder import cli
from linkladder.engine.long_trial import rung_finished, thinned
from linkladder.judge import judge_document
from linkladder.laid_on_disk import Shelf, Shelved
from linkladder.model import (
    Direction,
    Document,
    Experiment,
    HostFacts,
    Interval,
    Plan,
    Rung,
    RungName,
    TrialResult,
)
from linkladder.model import Path as RungPath
from linkladder.store import Store, StoreFault

LONGER = 310.0
EXPERIMENT = soaked.experiment(LONGER, 2, Direction.FORWARD)
DEAD = 234  # the second in which nothing arrives
HELD, JUDGED = 40_000, 200_000  # bytes of a trial in memory; its seconds alone take far more than both


@pytest.fixture(scope="module")
def trials() -> list[TrialResult]:
    none = {(1, DEAD): 0.0, (2, DEAD): 0.0}
    made = (soaked.trial(EXPERIMENT, 9.3e8, none if n == 1 else None, seed=n, repeat=n) for n in range(4))
    return [thinned(one, EXPERIMENT) for one in made]


def stored(folder: Path, trials: list[TrialResult]) -> tuple[Store, str]:
    store = Store(folder)
    exp = replace(EXPERIMENT, repeats=len(trials))
    way = (RungPath(soaked.NEAR, soaked.FAR, "beta"),)
    run = store.begin(Plan("soak", contract=GIGABIT, rungs=(Rung(RungName.DC_LINK, way, (exp,)),)))
    for name in ("near", "beta"):
        store.keep_host(run, name, HostFacts("x", os="Linux", tools=dict(soaked.MODERN.found)))
    for trial in trials:
        store.keep_trial(run, RungName.DC_LINK, exp.id, trial)
    return store, run


def in_memory(document: Document, trials: list[TrialResult]) -> Document:
    """The same with its trials as they were before they were stored."""
    (rung,) = document.rungs
    (measured,) = rung.experiments
    bare = tuple(t.with_commands(tuple(replace(c, output="", errors="") for c in t.commands)) for t in trials)
    return replace(document, rungs=(replace(rung, experiments=(replace(measured, trials=bare),)),))


def memory(folder: Path, trials: list[TrialResult]) -> tuple[int, int]:
    """Bytes that a stored soak's document takes, and at most while it is judged at a rung's end."""
    store, run = stored(folder, trials)
    usual = gc.get_threshold()
    gc.set_threshold(200, 2, 2)  # so that what is garbage is none of it
    tracemalloc.start()
    try:
        document = store.load(run, output=False)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        rung_finished(RungName.DC_LINK, document, document.run.plan)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.set_threshold(*usual)
    store.close()
    return held, most


def test_twice_as_long_a_soak_takes_no_more_memory_but_for_its_figures(
    tmp_path: Path, trials: list[TrialResult]
) -> None:
    store, run = stored(tmp_path / "first", trials[:1])
    document = store.load(run, output=False)
    rung_finished(RungName.DC_LINK, document, document.run.plan)  # what is made once and for all
    store.close()
    short, long = memory(tmp_path / "short", trials[:2]), memory(tmp_path / "long", trials)
    held, judged = ((more - less) / (len(trials) - 2) for less, more in zip(short, long, strict=True))
    print(f"a trial takes {held / 1e3:.0f} kB, and {judged / 1e3:.0f} kB while all are judged")
    assert held < HELD and judged < JUDGED


def test_the_document_of_a_soak_is_written_as_it_is_made(
    tmp_path: Path, trials: list[TrialResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In memory it takes no more than judging it does, however much is written."""
    most, sizes = [], []
    for count in (2, 4):
        store, run = stored(tmp_path / "state", trials[:count])
        store.close()
        monkeypatch.setenv("LINKLADDER_STATE", str(tmp_path / "state"))
        target = tmp_path / f"{count}.json"
        assert cli.main(["report", run, "--json", str(target)]) == 0  # what is made once and for all
        gc.collect()
        tracemalloc.start()
        try:
            assert cli.main(["report", run, "--json", str(target)]) == 0
            most.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        sizes.append(target.stat().st_size)
    grown, written = most[1] - most[0], sizes[1] - sizes[0]
    print(f"{written / 1e3:.0f} kB more in the file, {grown / 1e3:.0f} kB more in memory")
    assert grown < 2 * JUDGED < written


def test_what_is_judged_of_a_stored_soak_is_what_its_seconds_say(tmp_path: Path, trials: list[TrialResult]) -> None:
    store, run = stored(tmp_path, trials[:3])
    document = store.load(run, output=False)
    store.close()
    (measured,) = document.rungs[0].experiments
    assert all(isinstance(t.intervals, Shelved) for t in measured.trials)
    plain = in_memory(document, trials[:3])
    assert document == plain
    judged = judge_document(document)
    assert judged == judge_document(plain)
    assert f"{DEAD} s" in str(judged.rungs[0].judgement.findings), "a single second without traffic is named"


def test_a_shelved_tuple_is_a_tuple() -> None:
    ones = tuple(Interval(float(n), n + 1.0, n * n, rtt_ms=n / 3) for n in range(40))
    aside = Shelf(Path.cwd()).put(ones)
    assert isinstance(aside, Shelved) and not tuple.__len__(aside), "nothing of it is here"
    assert aside == ones and ones == aside and (1, aside) == (1, ones) and hash(aside) == hash(ones)
    assert aside != ones[1:] and ones[1:] != aside
    assert (len(aside), bool(aside), aside[-1], aside[3:5]) == (40, True, ones[-1], ones[3:5])
    assert [*aside] == [*ones] and tuple(aside) == ones and list(reversed(aside)) == [*reversed(ones)]
    assert aside + ones == ones + aside == ones + ones and ones[7] in aside and repr(aside) == repr(ones)
    assert copy.deepcopy(aside) == ones and aside.index(ones[5]) == 5 and aside.count(ones[5]) == 1


def test_where_nothing_can_be_laid_aside_it_stays_in_memory(
    tmp_path: Path, trials: list[TrialResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, run = stored(tmp_path, trials[:1])

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    document = store.load(run, output=False)
    store.close()
    assert document == in_memory(document, trials[:1])


def test_seconds_that_a_disk_gives_back_no_more_are_told_as_a_fault_of_the_store(
    tmp_path: Path, trials: list[TrialResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, run = stored(tmp_path, trials[:1])
    document = store.load(run, output=False)
    store.close()
    monkeypatch.setattr(os, "pread", lambda *_: b"")
    with pytest.raises(StoreFault):
        judge_document(document)


def test_the_seconds_of_a_short_trial_stay_where_they_are(tmp_path: Path) -> None:
    exp: Experiment = soaked.experiment(20.0, 1, Direction.FORWARD)
    store, run = stored(tmp_path, [soaked.trial(exp)])
    (trial,) = store.load(run).rungs[0].experiments[0].trials
    store.close()
    assert type(trial.intervals) is tuple
