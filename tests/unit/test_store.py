from __future__ import annotations

import gzip
import lzma
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TextIO

import pytest

import trials
from linkladder.errors import UsageError
from linkladder.migrations import MIGRATIONS, migrate
from linkladder.model import (
    Command,
    CoreLoad,
    End,
    Evidence,
    Experiment,
    Fault,
    HostFacts,
    HostSample,
    Plan,
    RunEnd,
    Rung,
    RungName,
    RunState,
    TrialResult,
)
from linkladder.store import KeptVerdict, Store, StoreFault, database, faults, recovery

EXPERIMENT = Experiment("tcp", repeats=3)
PLAN = Plan("p", rungs=(Rung(RungName.DC_LINK, experiments=(EXPERIMENT,)),))


def trial(repeat: int, bps: float = 1e9, ok: bool = True) -> TrialResult:
    samples = {"near": (HostSample(1.0, (CoreLoad(1, 2, 3, 94),), 1 << 30),)}
    commands = (Command(End.NEAR, "client", ("iperf", "-c", "x"), 0, "text\nof the tool", "warning"),)
    fault = None if ok else Fault.TOOL
    return trials.trial(f"t{repeat}", repeat, ok, fault=fault, goodput_bps=bps, samples=samples, commands=commands)


def test_a_run_comes_back_whole(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = store.begin(PLAN, "beta")
    store.keep_host(run, "beta", HostFacts("b"))
    store.keep_host(run, "near", HostFacts("alpha", cores=4))
    store.keep_host(run, "near", HostFacts("alpha", cores=8))
    store.keep_rung(run, RungName.DC_LINK, Evidence("claim", ("found",), True))
    results = [trial(0, 3e9), trial(1, 1e9), trial(2, 9e9, ok=False)]
    for result in results:
        store.keep_trial(run, RungName.DC_LINK, "tcp", result)
    store.note(run, "the carrier was on the phone")
    store.finish(run, RunState.COMPLETE, KeptVerdict("PASS"), rungs={"dc-link": (KeptVerdict("PASS", True), 2e9)})
    document = Store(tmp_path).load(run[:12])
    experiment = document.rungs[0].experiments[0]
    assert experiment.trials == tuple(results)
    assert (experiment.min_bps, experiment.median_bps, experiment.max_bps) == (1e9, 2e9, 3e9)
    assert document.run.ends == (RunEnd("near", HostFacts("alpha", cores=8)), RunEnd("beta", HostFacts("b")))
    assert document.run.notes == ("the carrier was on the phone",)
    assert document.rungs[0].evidence == Evidence("claim", ("found",), True)
    summary = store.runs()[0]
    assert (summary.trials, summary.failed, summary.verdict, summary.best_bps) == (
        3,
        1,
        KeptVerdict("PASS"),
        {"dc-link": 2e9},
    )
    assert summary.verdicts == {"dc-link": KeptVerdict("PASS", True)}


def test_a_host_is_known_as_it_last_told_of_itself(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for started, cores in (("2026-02-01", 4), ("2026-01-01", 1)):
        run = store.begin(PLAN, "beta")
        store.keep_host(run, "beta", HostFacts("b", cores=cores))
        store._db.execute("UPDATE runs SET started = ? WHERE id = ?", (started, run))
    assert {name: facts.cores for name, facts in store.hosts().items()} == {"beta": 1}, "a clock that was set back"
    assert store.find("last") == run == store.runs()[0].id


def test_durability_is_asked_of_the_database(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store._db.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL
    assert store._db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_a_trial_done_again_replaces_the_first(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = store.begin(PLAN)
    store.keep_trial(run, RungName.DC_LINK, "tcp", trial(0, 1e9))
    store.keep_trial(run, RungName.DC_LINK, "tcp", trial(0, 2e9))
    assert [t.goodput_bps for t in store.load(run).rungs[0].experiments[0].trials] == [2e9]


def test_delete_takes_everything(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = store.begin(PLAN)
    store.keep_trial(run, RungName.DC_LINK, "tcp", trial(0))
    assert list((tmp_path / "raw" / run).iterdir())
    store.delete(run)
    assert store.runs() == []
    assert not (tmp_path / "raw" / run).exists()
    with pytest.raises(UsageError):
        store.load(run)


def test_a_run_whose_process_died_is_settled(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = store.begin(PLAN)
    assert store.settle(lambda found: found == run) == []
    assert store.settle(lambda found: False) == [run]
    found = store.runs()[0]
    assert found.state is RunState.INCOMPLETE and not found.cancelled
    assert found.reason == "the measuring process was gone"


def test_a_run_that_a_person_cancelled_is_told_from_one_that_broke(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.finish(store.begin(PLAN), RunState.INCOMPLETE, reason="it was cancelled", cancelled=True)
    assert store.runs()[0].cancelled
    store.resume(store.runs()[0].id)
    assert not store.runs()[0].cancelled


def test_every_word_of_a_filter_is_looked_for(tmp_path: Path) -> None:
    store = Store(tmp_path)
    one, two = store.begin(PLAN, "beta"), store.begin(PLAN, "gamma")
    store.finish(one, RunState.COMPLETE, KeptVerdict("PASS"))
    store.finish(two, RunState.INCOMPLETE, KeptVerdict("INCOMPLETE"), "it was cancelled", cancelled=True)
    found = {words: [r.id for r in store.runs(words)] for words in ("beta pass", "pass gamma", "cancelled", "%", "_")}
    assert found == {"beta pass": [one], "pass gamma": [], "cancelled": [two], "%": [], "_": []}


def test_an_older_database_is_brought_up_to_date(tmp_path: Path) -> None:
    old = sqlite3.connect(tmp_path / "linkladder.db")
    old.executescript(MIGRATIONS[0] + "PRAGMA user_version = 1;")
    old.execute(
        "INSERT INTO runs (id, started, state, version, plan_name, plan)"
        " VALUES ('20260101-x', '2026', 'complete', '0', 'p', ?)",
        ('{"name": "p"}',),
    )
    old.commit()
    old.close()
    store = Store(tmp_path)
    assert store._db.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
    assert store.load("20260101-x").run.plan == Plan("p")


def test_what_older_databases_have_in_words_is_kept_as_what_it_says(tmp_path: Path) -> None:
    """'provisional PASS' and the reason of a run that a person ended were read; a column each says it now."""
    old = sqlite3.connect(tmp_path / "linkladder.db")
    migrate(old, 8)
    rows = (
        ("1", "complete", "provisional CANNOT JUDGE", ""),
        ("2", "complete", "PASS", ""),
        ("3", "incomplete", "INCOMPLETE", "it was cancelled"),
        ("4", "incomplete", "INCOMPLETE", "beta is gone"),
    )
    for run, state, verdict, reason in rows:
        old.execute(
            "INSERT INTO runs (id, started, state, version, plan_name, plan, verdict, reason)"
            " VALUES (?, ?, ?, '0', 'p', '{\"name\": \"p\"}', ?, ?)",
            (run, run, state, verdict, reason),
        )
        old.execute("INSERT INTO rungs (run, name, paths, verdict) VALUES (?, 'dc-link', '[]', ?)", (run, verdict))
    old.commit()
    old.close()
    store = Store(tmp_path)
    told = {run.id: (run.verdict, run.verdicts["dc-link"], run.cancelled) for run in store.runs()}
    unsure, cut = KeptVerdict("CANNOT JUDGE", True), KeptVerdict("INCOMPLETE")
    passed = KeptVerdict("PASS")
    assert told == {
        "1": (unsure, unsure, False),
        "2": (passed, passed, False),
        "3": (cut, cut, True),
        "4": (cut, cut, False),
    }
    assert [run.id for run in store.runs("provisional")] == ["1"]


def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "linkladder.db") as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreFault, match="newer linkladder"):
        Store(tmp_path)


def test_damaged_raw_output_does_not_hide_the_result(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = store.begin(PLAN)
    store.keep_trial(run, RungName.DC_LINK, "tcp", trial(0))
    file = next((tmp_path / "raw" / run).iterdir())
    older = file.with_suffix(".gz")
    packed = bytearray(gzip.compress(b'[["one", ""]]' * 100))
    packed[20:40] = bytes(20)
    for place, data in ((file, b"\x1f\x8bnot gzip"), (file, lzma.compress(b"7")), (older, b"x"), (older, packed)):
        place.write_bytes(data)
        assert store.load(run).rungs[0].experiments[0].trials[0].goodput_bps == 1e9
    store.close()
    assert not recovery.marked(tmp_path), "the database has no fault"


def test_runs_that_begin_in_one_second_have_ids_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["aaaa", "aaaa", "aaaa", "bbbb"])
    now = datetime.now(UTC)
    monkeypatch.setattr(database, "datetime", SimpleNamespace(now=lambda _: now))
    monkeypatch.setattr(database, "secrets", SimpleNamespace(token_hex=lambda _: next(drawn)))
    store = Store(tmp_path)
    assert [store.begin(PLAN)[-4:], store.begin(PLAN)[-4:]] == ["aaaa", "bbbb"]
    store.close()


def writer(folder: Path) -> tuple[int, TextIO]:
    """A process that stores trials until it is killed, and what it tells: the run, then each trial that is stored.

    It is forked: a program of its own would load fifty times what is loaded here.
    """
    here, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with os.fdopen(there, "w") as told:
                store = Store(folder)
                run = store.begin(PLAN)
                print(run, file=told, flush=True)
                for repeat in range(100000):
                    store.keep_trial(run, RungName.DC_LINK, "tcp", trial(repeat))
                    print(repeat, file=told, flush=True)
        except BaseException:
            traceback.print_exc()  # where the test that fails for it shows it
            sys.stderr.flush()
        finally:
            os._exit(1)
    os.close(there)
    return pid, os.fdopen(here)


def test_kill_9_at_random_moments_loses_no_finished_trial(tmp_path: Path) -> None:
    rng = random.Random(8622)
    for _ in range(50):
        pid, told = writer(tmp_path)
        with told:
            run = told.readline().strip()
            told.readline()
            time.sleep(rng.uniform(0, 0.05))
            os.kill(pid, signal.SIGKILL)
            said = [int(line) for line in told.read().split("\n")[:-1] if line] or [0]
        _, status = os.waitpid(pid, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        store = Store(tmp_path)
        assert store._db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        kept = {t.repeat: t for t in store.load(run).rungs[0].experiments[0].trials}
        assert set(range(said[-1] + 1)) <= set(kept)
        assert all(t.commands[0].output == "text\nof the tool" for t in kept.values())
        store.close()


@pytest.mark.lab
def test_a_full_disk_is_said_before_and_during(tmp_path: Path) -> None:
    disk = tmp_path / "small"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], check=True)
    try:
        store = Store(disk)
        with pytest.raises(StoreFault, match="too full for this run"):
            store.check_space(100)
        run = store.begin(PLAN)
        kept = 0
        with pytest.raises(StoreFault, match="disk is full"):
            for repeat in range(10000):
                big = trial(repeat)
                noise = "".join(random.Random(repeat).choices("0123456789abcdef", k=100_000))
                store.keep_trial(run, RungName.DC_LINK, "tcp", trials.changed(big, reason=noise))
                kept = repeat + 1
        assert kept > 2
        assert len(store.load(run).rungs[0].experiments[0].trials) == kept
        store.close()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_without_any_room_is_called_full_whatever_sqlite_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FreeBSD's tmpfs, full to the last byte: SQLite cannot make its log, and says "disk I/O error"."""
    monkeypatch.setattr(faults.shutil, "disk_usage", lambda folder: SimpleNamespace(free=4096))
    with pytest.raises(StoreFault, match="the disk is full"), faults.explained(tmp_path):
        raise of_sqlite(sqlite3.SQLITE_IOERR_WRITE, "disk I/O error")
    monkeypatch.undo()
    with pytest.raises(StoreFault, match="cannot be written"), faults.explained(tmp_path):
        raise of_sqlite(sqlite3.SQLITE_IOERR_WRITE, "disk I/O error")


def of_sqlite(number: int, words: str) -> sqlite3.Error:
    error = sqlite3.OperationalError(words)
    error.sqlite_errorcode = number
    return error


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (sqlite3.SQLITE_FULL, "the disk is full"),
        (sqlite3.SQLITE_READONLY_DBMOVED, "cannot be written"),
        (sqlite3.SQLITE_ERROR, "the store cannot be used"),
    ],
)
def test_a_fault_of_the_store_is_told_by_its_number_and_not_by_words(tmp_path: Path, number: int, says: str) -> None:
    """SQLite quotes names in its words: a table that is called "full" is no full disk."""
    with pytest.raises(StoreFault, match=says), faults.explained(tmp_path):
        raise of_sqlite(number, "no such table: readonly_full")


def listing(folder: Path, trials: int) -> int:
    """Steps of SQLite to list a hundred runs of so many trials each."""
    folder.mkdir()
    store = Store(folder)
    store._db.execute("PRAGMA synchronous = OFF")
    store._db.execute("BEGIN")
    for n in range(100):
        run = f"2026{n:04}"
        store._db.execute(
            "INSERT INTO runs (id, started, state, version, plan_name, plan) VALUES (?, ?, 'complete', '0', 'p', '{}')",
            (run, run),
        )
        store._db.executemany(
            "INSERT INTO trials (run, rung, experiment, repeat, ok, goodput, result)"
            " VALUES (?, 'dc-link', 'e', ?, 1, 1e9, ?)",
            [(run, r, os.urandom(2000)) for r in range(trials)],
        )
    store._db.execute("COMMIT")
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    store._db.set_progress_handler(step, 1)
    assert [run.trials for run in store.runs()] == [trials] * 100
    store.close()
    return steps


def test_listing_runs_grows_no_faster_than_their_trials(tmp_path: Path) -> None:
    few, many = listing(tmp_path / "few", 10), listing(tmp_path / "many", 100)
    assert many < 10 * few, (few, many)
    assert many < 20 * 10_000, "some twenty steps a trial: each is counted, none is opened"
