"""State that is damaged costs what is damaged and nothing else: it is set aside, told of, and the rest works on."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from linkladder import cli, damage, doctor, plan
from linkladder.codec import CodecError
from linkladder.errors import UsageError
from linkladder.findings import Health
from linkladder.model import Experiment, Leg, Outcome, Plan, Rung, RungName, RunState, TrialResult
from linkladder.store import KeptVerdict, RunSummary, Store, StoreFault, recovery
from linkladder.trust import files, peers

EXPERIMENT = Experiment("tcp", repeats=1000)
PLAN = Plan("quick", rungs=(Rung(RungName.DC_LINK, experiments=(EXPERIMENT,)),))
PAGE = 4096


def trial(repeat: int) -> TrialResult:
    filler = "".join(random.Random(repeat).choices("0123456789abcdef", k=3000))
    return TrialResult(f"tcp-{repeat}", repeat, (Leg(Outcome(True, reason=filler, goodput_bps=1e9)),))


def stored(folder: Path, runs: int = 3, trials: int = 30) -> list[str]:
    """A state folder with runs, closed cleanly: all of it is in the one file."""
    store = Store(folder)
    ids = []
    for _ in range(runs):
        ids.append(store.begin(PLAN, "beta"))
        for repeat in range(trials):
            store.keep_trial(ids[-1], RungName.DC_LINK, "tcp", trial(repeat))
        store.finish(ids[-1], store.runs()[0].state, KeptVerdict("PASS"))
    store.close()
    return ids


def garble(file: Path, start: int, length: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(start)
        opened.write(b"\xa5" * length)


def readable(folder: Path) -> tuple[int, int]:
    """Runs and trials that can be loaded; one of nonsense hides no other, and all of them are listed."""
    store = Store(folder)
    loaded = []
    try:
        for run in store.runs():
            try:
                loaded.append(store.load(run.id))
            except StoreFault as error:
                if not isinstance(error.__cause__, CodecError):
                    raise
    finally:
        store.close()
    return len(loaded), sum(len(e.trials) for d in loaded for r in d.rungs for e in r.experiments)


def met(folder: Path) -> None:
    """Use the store, as a console would: it may meet the damage once, and works on from then."""
    with contextlib.suppress(StoreFault):
        readable(folder)
    readable(folder)


def test_a_file_that_is_no_database_makes_room_for_a_new_one(tmp_path: Path) -> None:
    stored(tmp_path)
    garble(tmp_path / recovery.NAME, 0, PAGE)
    assert readable(tmp_path) == (0, 0)
    (one,) = damage.found(tmp_path)
    assert one.name == "linkladder.db"
    assert "0 runs with 0 trials were recovered" in one.why
    assert (one.folder / recovery.NAME).stat().st_size > 30 * PAGE


def test_broken_pages_cost_the_trials_that_they_held(tmp_path: Path) -> None:
    stored(tmp_path)
    size = (tmp_path / recovery.NAME).stat().st_size
    garble(tmp_path / recovery.NAME, size // 2 // PAGE * PAGE, 2 * PAGE)
    met(tmp_path)
    runs, trials = readable(tmp_path)
    assert runs == 3
    assert 80 <= trials < 90
    assert "3 runs with" in damage.found(tmp_path)[0].why
    assert "could not be read" in damage.found(tmp_path)[0].why


@pytest.mark.parametrize("spoilt", ["complfte", "", b"\xff", 7])
def test_a_state_that_no_run_has_hides_neither_its_run_nor_others(tmp_path: Path, spoilt: object) -> None:
    first, *_ = stored(tmp_path, trials=1)
    with contextlib.closing(sqlite3.connect(tmp_path / recovery.NAME)) as db, db:
        db.execute("UPDATE runs SET state = ? WHERE id = ?", (spoilt, first))
    assert readable(tmp_path) == (3, 3)
    recovery.mark(tmp_path)
    assert readable(tmp_path) == (3, 3), "nor does it cost the run when something else is recovered"
    store = Store(tmp_path)
    assert {run.id: run.state for run in store.runs()}[first] is RunState.INCOMPLETE
    store.close()


def test_a_new_run_is_kept_after_a_recovery(tmp_path: Path) -> None:
    stored(tmp_path, runs=1, trials=3)
    garble(tmp_path / recovery.NAME, 0, 100)
    stored(tmp_path, runs=1, trials=2)
    assert readable(tmp_path) == (1, 2)


def test_a_recovered_database_of_an_older_form_is_brought_up_to_date(tmp_path: Path) -> None:
    """A duplex trial of a form that kept the sum of both ways counts by half of it, once."""
    db = sqlite3.connect(tmp_path / recovery.NAME, isolation_level=None)
    recovery.migrate(db, 3)
    db.execute(
        "INSERT INTO runs (id, started, state, version, plan_name, plan) VALUES ('r','s','complete','0','q','{}')"
    )
    db.execute("INSERT INTO rungs (run, name, path) VALUES ('r', 'dc-link', '{}')")
    columns = "run, rung, experiment, repeat, ok, goodput, result"
    values = ("r", "dc-link", "tcp-duplex", 0, 1, 2e9, zlib.compress(b"{}"))
    db.execute(f"INSERT INTO trials ({columns}) VALUES (?,?,?,?,?,?,?)", values)
    db.close()
    recovery.mark(tmp_path)
    store = Store(tmp_path)
    assert store.runs()[0].best_bps == {"dc-link": 1e9}
    store.close()


def test_nothing_is_recovered_under_a_run(tmp_path: Path) -> None:
    stored(tmp_path, runs=1, trials=3)
    measuring = Store(tmp_path)
    recovery.mark(tmp_path)
    with pytest.raises(StoreFault, match="damaged") as said:
        Store(tmp_path)
    assert "end the run" in said.value.hint
    run = measuring.begin(PLAN)
    measuring.close()
    assert run in [one.id for one in _runs(tmp_path)]


def _runs(folder: Path) -> list[RunSummary]:
    store = Store(folder)
    try:
        return list(store.runs())
    finally:
        store.close()


def test_consoles_that_start_at_once_recover_once(tmp_path: Path) -> None:
    stored(tmp_path, runs=1, trials=3)
    garble(tmp_path / recovery.NAME, 0, 100)
    code = "import sys; from pathlib import Path; from linkladder.store import Store; Store(Path(sys.argv[1])).close()"
    started = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.PIPE) for _ in range(4)]
    assert [(p.wait(60), p.stderr.read() if p.stderr else b"") for p in started] == [(0, b"")] * 4
    assert len(damage.found(tmp_path)) == 1


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("healthy")
    stored(folder, runs=2, trials=12)
    return (folder / recovery.NAME).read_bytes()


@pytest.mark.parametrize("draw", range(12))
def test_wherever_the_damage_lies_the_store_works_on(tmp_path: Path, healthy: bytes, draw: int) -> None:
    dice = random.Random(draw)
    data = bytearray(healthy)
    start, length = dice.randrange(len(data)), dice.choice((1, 100, PAGE, 3 * PAGE))
    data[start : start + length] = dice.randbytes(len(data[start : start + length]))
    (tmp_path / recovery.NAME).write_bytes(data)
    met(tmp_path)
    runs, trials = readable(tmp_path)
    assert runs <= 2
    assert trials <= 24
    stored(tmp_path, runs=1, trials=1)


def test_a_damaged_list_of_peers_trusts_nobody_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LINKLADDER_STATE", str(tmp_path))
    tmp_path.chmod(0o700)
    files.write(tmp_path / "peers.json", '[{"name": "beta", "addr')
    assert peers.load() == ()
    assert peers.load() == ()
    (one,) = damage.found(tmp_path)
    assert one.name == "peers.json"
    assert "pair" in one.why
    for words in (["peers"], ["peers", "list", "--json"]):
        assert cli.main(words) == 0
        assert f"peers.json was set aside in {one.folder}: {one.why}\n" in capsys.readouterr().err
    said = [f for f in doctor.examine() if f.title == "peers.json"]
    assert [f.state for f in said] == [Health.WARN]
    assert str(one.folder) in said[0].remedy


def test_a_damaged_link_is_an_error_to_a_command_and_set_aside_for_the_console(tmp_path: Path) -> None:
    (tmp_path / "link.toml").write_bytes(b"[contract]\nrate = \x00\xff\n")
    with pytest.raises(UsageError, match="cannot be read"):
        plan.load_link(tmp_path)
    assert plan.load_link_or_empty(tmp_path) == plan.Link()
    assert plan.load_link(tmp_path) == plan.Link()
    assert [one.name for one in damage.found(tmp_path)] == ["link.toml"]


def test_two_that_are_damaged_in_the_same_second_are_both_kept(tmp_path: Path) -> None:
    for text in ("one", "two"):
        (tmp_path / "peers.json").write_text(text)
        damage.set_aside([tmp_path / "peers.json"], text)
    assert sorted(one.why for one in damage.found(tmp_path)) == ["one", "two"]


@pytest.mark.parametrize(("column", "costs"), [("ended", 0), ("reason", 0), ("plan", 1), ("notes", 1)])
def test_a_byte_that_is_no_text_costs_one_run_at_most(tmp_path: Path, column: str, costs: int) -> None:
    ids = stored(tmp_path, runs=2, trials=2)
    with contextlib.closing(sqlite3.connect(tmp_path / recovery.NAME, isolation_level=None)) as db:
        db.execute(f"UPDATE runs SET {column} = CAST(x'7b22ff' AS TEXT) WHERE id = ?", (ids[0],))
    met(tmp_path)
    assert readable(tmp_path)[0] == 2 - costs


def test_a_spoilt_table_definition_is_damage_as_any_other(tmp_path: Path) -> None:
    """SQLite quotes the definition in its error, and Python finds no text in that."""
    stored(tmp_path, runs=1, trials=1)
    data = (tmp_path / recovery.NAME).read_bytes()
    (tmp_path / recovery.NAME).write_bytes(data.replace(b"CREATE TABLE runs", b"CREATE\xffT\x85BLE runs", 1))
    met(tmp_path)
    assert [one.name for one in damage.found(tmp_path)] == ["linkladder.db"]
    stored(tmp_path, runs=1, trials=1)


def test_a_run_that_only_an_index_knows_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path, runs=1, trials=1)
    store = Store(tmp_path)
    monkeypatch.setattr(store, "find", lambda run: run)
    with pytest.raises(StoreFault, match="the stored runs are damaged"):
        store.load("20261122-000000-0000")
    assert recovery.marked(tmp_path)
    store.close()
