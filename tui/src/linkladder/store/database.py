"""Keeps runs, rungs and trials in SQLite, and reads a whole run back as a Document."""

from __future__ import annotations

import json
import secrets
import shutil
import sqlite3
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path as FilePath
from typing import Any

from linkladder import __version__, formats, laid_on_disk, packing
from linkladder.codec import to_json
from linkladder.errors import UsageError
from linkladder.model import (
    SCHEMA,
    Document,
    Evidence,
    Experiment,
    ExperimentResult,
    HostFacts,
    Path,
    Plan,
    RunEnd,
    RungName,
    RungResult,
    RunInfo,
    RunState,
    TrialResult,
    best_rate,
)
from linkladder.store import cells, raw, recovery, reserve, versions
from linkladder.store.faults import DiskFull, NewerDatabase, StoreFault, explained, with_causes
from linkladder.store.recovery import run_state
from linkladder.store.summary import NONE, KeptVerdict, RunSummary, escaped, summaries

TRIAL_BYTES = 256 * 1024  # the most bytes that a stored trial may take, for the check before a run


class Store:
    """The store in one folder; methods are short and may be called from any thread, but only one at a time."""

    def __init__(self, folder: FilePath) -> None:
        self.folder = folder
        self._on_a_full_disk(self._begin)

    def _begin(self) -> None:
        folder = self.folder
        with explained(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not recovery.marked(folder):
                try:
                    self._open()
                    return
                except NewerDatabase:
                    if not versions.step_back(folder):
                        raise
                    self._open()
                    return
                except recovery.UNREADABLE as error:
                    if not recovery.damaged(error):
                        raise
                    recovery.mark(folder)
            try:
                recovery.recover(folder)
            except recovery.InUse:
                raise StoreFault(
                    "the stored runs are damaged",
                    "another linkladder has them open, so they cannot be recovered yet",
                    "end the run and the other consoles, then start linkladder again",
                ) from None
            self._open()

    def _open(self) -> None:
        self._use = recovery.Use(self.folder)
        try:
            self._db = sqlite3.connect(
                self.folder / recovery.NAME, timeout=10, isolation_level=None, check_same_thread=False
            )
            self._db.text_factory = cells.text
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise
        except BaseException:
            self._use.end()
            raise

    def _prepare(self) -> None:
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA foreign_keys = ON")
        try:
            versions.bring_up(self._db, self.folder)
        except ValueError as error:
            raise NewerDatabase("the stored runs are of a newer linkladder", str(error), "update linkladder") from None
        self._db.row_factory = cells.row_factory(self._db, recovery.TABLES)

    def close(self) -> None:
        self._db.close()
        self._use.end()

    def _on_a_full_disk(self, do: Callable[[], None]) -> None:
        """Do it, if need be with the room that was kept for this."""
        try:
            do()
        except DiskFull:
            if not reserve.give_up(self.folder):
                raise
            do()

    # --- writing

    def check_space(self, trials: int) -> None:
        """Refuse a run of so many trials if the disk may not hold its results; keep room to delete runs afterwards."""
        free = shutil.disk_usage(self.folder).free
        need = (trials + 4) * TRIAL_BYTES
        if free < need:
            raise StoreFault(
                "the disk is too full for this run",
                f"{free >> 20} MB are free in {self.folder}, the run may need {need >> 20} MB",
                "delete old runs (d in Runs, or linkladder runs --delete RUN) or pick a shorter plan",
            )
        reserve.keep(self.folder)

    def new_id(self) -> str:
        """An id that no stored run has; ids sort by time."""
        with explained(self.folder):
            while True:
                run_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
                if self._db.execute("SELECT 1 FROM runs WHERE id = ?", (run_id,)).fetchone() is None:
                    return run_id

    def begin(self, plan: Plan, peer: str = "", run_id: str = "") -> str:
        """Store a new run with its plan; returns its id."""
        now, run_id = datetime.now(UTC), run_id or self.new_id()
        with self._transaction() as db:
            db.execute(
                "INSERT INTO runs (id, started, state, version, plan_name, peer, plan, schema)"
                " VALUES (?,?,?,?,?,?,?,?)",
                (
                    run_id,
                    now.isoformat(timespec="seconds"),
                    RunState.RUNNING,
                    __version__,
                    plan.name,
                    peer,
                    _dump(plan),
                    SCHEMA,
                ),
            )
            for rung in plan.rungs:
                db.execute(
                    "INSERT INTO rungs (run, name, paths) VALUES (?,?,?)", (run_id, rung.name, _dump(rung.paths))
                )
        return run_id

    def keep_host(self, run_id: str, name: str, facts: HostFacts) -> None:
        with self._transaction() as db:
            keep = "INSERT INTO hosts VALUES (?,?,?) ON CONFLICT DO UPDATE SET facts = excluded.facts"
            db.execute(keep, (run_id, name, _dump(facts)))

    def keep_rung(self, run_id: str, name: RungName, evidence: Evidence | None = None, unavailable: str = "") -> None:
        with self._transaction() as db:
            db.execute(
                "UPDATE rungs SET evidence = COALESCE(?, evidence), unavailable = ? WHERE run = ? AND name = ?",
                (_dump(evidence) if evidence else None, unavailable, run_id, name),
            )

    def keep_trial(self, run_id: str, rung: RungName, experiment: str, result: TrialResult) -> None:
        """Store one trial, replacing an earlier try of the same trial."""
        with explained(self.folder):
            raw.write(self.folder, run_id, result.id, result.commands)
        blob = packing.pack(to_json(result.without_output))
        with self._transaction() as db:
            weight = best_rate.weight(self._asked(run_id, rung, experiment))
            db.execute(
                "INSERT OR REPLACE INTO trials (run, rung, experiment, repeat, weight, ok, goodput, result)"
                " VALUES (?,?,?,?,?,?,?,?)",
                (
                    run_id,
                    rung,
                    experiment,
                    result.repeat,
                    weight,
                    int(result.ok),
                    best_rate.one_way(result),
                    blob,
                ),
            )

    def _asked(self, run_id: str, rung: RungName, experiment: str) -> Experiment:
        """An experiment of the run's plan; the other experiments are not decoded, to save time."""
        plan, schema = self._db.execute("SELECT plan, schema FROM runs WHERE id = ?", (run_id,)).fetchone()
        found = (e for r in json.loads(plan)["rungs"] if r["name"] == rung for e in r["experiments"])
        one = next((e for e in found if e["id"] == experiment), None)
        return formats.record(Experiment, one, schema) if one else Experiment(experiment)

    def note(self, run_id: str, text: str) -> None:
        with self._transaction() as db:
            row = db.execute("SELECT notes FROM runs WHERE id = ?", (run_id,)).fetchone()
            notes = [*recovery.stored_json(row[0], list), text[:2000]]
            db.execute("UPDATE runs SET notes = ? WHERE id = ?", (json.dumps(notes), run_id))

    def finish(
        self,
        run_id: str,
        state: RunState,
        verdict: KeptVerdict = NONE,
        reason: str = "",
        rungs: Mapping[str, tuple[KeptVerdict, float | None]] | None = None,
        cancelled: bool = False,
    ) -> None:
        """End a run, and store its verdict and the verdicts and best rates of its rungs, as judging takes long."""
        with self._transaction() as db:
            for rung, (kept, best) in (rungs or {}).items():
                db.execute(
                    "UPDATE rungs SET verdict = ?, provisional = ?, best = ? WHERE run = ? AND name = ?",
                    (kept.word, kept.provisional, best, run_id, rung),
                )
            ended = datetime.now(UTC).isoformat(timespec="seconds")
            db.execute(
                "UPDATE runs SET state = ?, ended = ?, verdict = ?, provisional = ?, reason = ?, cancelled = ?"
                " WHERE id = ?",
                (state, ended, verdict.word, verdict.provisional, reason, cancelled, run_id),
            )

    def resume(self, run_id: str) -> None:
        """Mark an incomplete run as running again."""
        with self._transaction() as db:
            self._renew(run_id)
            db.execute("UPDATE runs SET state = ? WHERE id = ?", (RunState.RUNNING, run_id))
            db.execute("UPDATE rungs SET best = NULL WHERE run = ?", (run_id,))

    def _renew(self, run_id: str) -> None:
        """Convert all records of a run to the current schema, as a run has only one schema."""
        plan, schema = self._db.execute("SELECT plan, schema FROM runs WHERE id = ?", (run_id,)).fetchone()
        if schema == SCHEMA:
            return
        trials = self._db.execute("SELECT id number, result FROM trials WHERE run = ?", (run_id,)).fetchall()
        for number, blob in trials:
            result = formats.record(TrialResult, packing.unpack(blob), schema)
            self._db.execute("UPDATE trials SET result = ? WHERE id = ?", (packing.pack(to_json(result)), number))
        for name, facts in self._db.execute("SELECT name, facts FROM hosts WHERE run = ?", (run_id,)).fetchall():
            again = (_dump(_load(HostFacts, facts, schema)), run_id, name)
            self._db.execute("UPDATE hosts SET facts = ? WHERE run = ? AND name = ?", again)
        plan = _dump(_load(Plan, plan, schema))
        self._db.execute("UPDATE runs SET plan = ?, schema = ? WHERE id = ?", (plan, SCHEMA, run_id))

    def replan(self, run_id: str, plan: Plan, why: str = "") -> None:
        """Give a run another plan, which must contain all that was measured, and note why."""
        if why:
            self.note(run_id, why)
        with self._transaction() as db:
            db.execute("UPDATE runs SET plan = ? WHERE id = ?", (_dump(plan), run_id))
            for rung in plan.rungs:
                db.execute(
                    "INSERT OR IGNORE INTO rungs (run, name, paths) VALUES (?,?,?)",
                    (run_id, rung.name, _dump(rung.paths)),
                )

    @with_causes
    def settle(self, going: Callable[[str], bool]) -> list[str]:
        """Mark running runs that no process measures any more as incomplete; returns their ids."""
        rows = self._db.execute("SELECT id FROM runs WHERE state = ?", (RunState.RUNNING,)).fetchall()
        dead = [str(run) for (run,) in rows if not going(str(run))]
        for run in dead:
            self.finish(run, RunState.INCOMPLETE, reason="the measuring process was gone")
        return dead

    def delete(self, run_id: str) -> None:
        run = self.find(run_id)
        raw.delete(self.folder, run)  # first, as on a full disk it makes room for the transaction
        self._on_a_full_disk(lambda: self._forget(run))
        reserve.keep(self.folder)  # before others take what was freed

    def _forget(self, run: str) -> None:
        with self._transaction() as db:
            db.execute("DELETE FROM runs WHERE id = ?", (run,))

    # --- reading

    @with_causes
    def runs(self, contains: str = "", limit: int = 1000) -> list[RunSummary]:
        """The runs, the last stored first; each word of `contains` must occur in a run's columns, times excepted."""
        return summaries(self._db, contains.split(), limit)

    def hosts(self) -> dict[str, HostFacts]:
        """The latest stored facts of each host, by the host's name."""
        query = "SELECT name, facts, schema, MAX(runs.rowid) FROM hosts JOIN runs ON runs.id = run GROUP BY name"
        with explained(self.folder):
            return {name: _load(HostFacts, facts, schema) for name, facts, schema, _ in self._db.execute(query)}

    @with_causes
    def find(self, run_id: str) -> str:
        """The full id of the run with this id or with an id that begins so; 'last' is the run stored last."""
        if run_id == "last":
            rows = self._db.execute("SELECT id FROM runs ORDER BY rowid DESC LIMIT 1").fetchall()
        else:
            query = "SELECT id FROM runs WHERE id LIKE ? ESCAPE CHAR(92) LIMIT 2"
            rows = self._db.execute(query, (f"{escaped(run_id)}%",)).fetchall()
        if len(rows) == 1:
            return str(rows[0][0])
        why = "several runs begin so" if rows else "no such run is stored"
        raise UsageError(f"run {run_id}: {why}", hint="linkladder runs lists them")

    def load(self, run_id: str, output: bool = True) -> Document:
        """A whole run; without `output` the tools' raw output is not read, which saves reading a file per trial."""
        run = self.find(run_id)
        with explained(self.folder):
            return self._document(run, output)

    @with_causes
    def plan(self, run_id: str) -> Plan:
        """A run's plan, without reading its trials."""
        text, schema = self._db.execute("SELECT plan, schema FROM runs WHERE id = ?", (run_id,)).fetchone()
        plan: Plan = _load(Plan, text, schema)
        return plan

    @with_causes
    def stored_trials(self, run_id: str) -> set[tuple[str, str, int]]:
        """(rung, experiment, repeat) of the trials already stored, for a resumed run."""
        query = "SELECT rung, experiment, repeat FROM trials WHERE run = ?"
        return {(r, e, n) for r, e, n in self._db.execute(query, (run_id,))}

    @with_causes
    def select(self, query: str, *given: object) -> list[tuple[Any, ...]]:
        return self._db.execute(query, given).fetchall()

    def _document(self, run: str, output: bool) -> Document:
        query = "SELECT started, ended, state, version, plan, notes, schema FROM runs WHERE id = ?"
        if (row := self._db.execute(query, (run,)).fetchone()) is None:
            raise recovery.Gone(f"run {run} is listed and is not there")
        started, ended, state, version, plan_text, notes, schema = row
        plan = _load(Plan, plan_text, schema)
        rows = self._db.execute("SELECT name, facts FROM hosts WHERE run = ? ORDER BY name <> 'near', rowid", (run,))
        ends = tuple(RunEnd(name, _load(HostFacts, facts, schema)) for name, facts in rows)
        info = RunInfo(
            run, started, plan, run_state(state), ended, version, ends, tuple(recovery.stored_json(notes, list))
        )
        trials: dict[tuple[str, str], list[TrialResult]] = {}
        place = laid_on_disk.Shelf(self.folder, partial(explained, self.folder))
        query = "SELECT rung, experiment, result FROM trials WHERE run = ? ORDER BY repeat"
        for rung, experiment, blob in self._db.execute(query, (run,)):
            result = formats.record(TrialResult, packing.unpack(blob), schema)
            if output:
                result = result.with_commands(raw.read(self.folder, run, result.id, result.commands))
            trials.setdefault((rung, experiment), []).append(laid_on_disk.shelved(result, place))
        rungs = []
        query = "SELECT name, paths, evidence, unavailable FROM rungs WHERE run = ?"
        stored = {n: (p, e, u) for n, p, e, u in self._db.execute(query, (run,))}
        for asked in plan.rungs:
            paths, evidence, unavailable = stored.get(asked.name, (_dump(asked.paths), None, ""))
            experiments = tuple(summed(e, trials.get((asked.name, e.id), [])) for e in asked.experiments)
            seen = _load(Evidence, evidence, schema) if evidence else None
            taken = tuple(formats.record(Path, path, schema) for path in recovery.stored_json(paths, list))
            rungs.append(RungResult(asked.name, taken, experiments, seen, unavailable))
        return Document(info, tuple(rungs))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with explained(self.folder):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


def summed(parameters: Experiment, trials: list[TrialResult]) -> ExperimentResult:
    """The result of an experiment, with the minimum, median and maximum rate of its good trials."""
    good = [t.goodput_bps for t in trials if t.ok and t.goodput_bps > 0]
    if not good:
        return ExperimentResult(parameters, tuple(trials))
    return ExperimentResult(parameters, tuple(trials), min(good), statistics.median(good), max(good))


def _dump(record: Any) -> str:
    return json.dumps(to_json(record), separators=(",", ":"))


def _load(kind: type[Any], text: str, schema: str) -> Any:
    """Read a record in the schema with which the run was stored, which may be an older one."""
    return formats.record(kind, recovery.stored_json(text, dict), schema)
