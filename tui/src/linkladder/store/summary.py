"""Summaries of stored runs, without their trials, for lists of runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field

from linkladder.model import RunState, best_rate
from linkladder.store.recovery import run_state


@dataclass(frozen=True)
class KeptVerdict:
    """A stored verdict, for lists; it is false if there is none."""

    word: str = ""  # of a linkladder.verdicts.Judgement
    provisional: bool = False

    def __bool__(self) -> bool:
        return bool(self.word)

    def __str__(self) -> str:
        """The verdict for scripts, such as 'provisional PASS'."""
        return f"{'provisional ' if self.provisional else ''}{self.word}"


NONE = KeptVerdict()


@dataclass(frozen=True)
class RunSummary:
    """A stored run in a list of runs."""

    id: str
    started: str
    ended: str
    state: RunState
    plan: str
    peer: str
    trials: int
    failed: int
    verdict: KeptVerdict = NONE
    # By rung: what the best setting carries in its worse way, or while it is not judged, a trial.
    best_bps: dict[str, float] = field(default_factory=dict)
    reason: str = ""  # why it ended early
    verdicts: dict[str, KeptVerdict] = field(default_factory=dict)  # by rung
    cancelled: bool = False  # ended by a person, so the user is not asked whether to resume it


@dataclass
class _Counted:
    """The trials of a run, and what they carried."""

    trials: int = 0
    failed: int = 0
    best: dict[str, best_rate.Ranked] = field(default_factory=dict)  # by rung


def summaries(db: sqlite3.Connection, words: Sequence[str], limit: int) -> list[RunSummary]:
    """The runs, the last stored first; each of the words must occur in a run's columns, times excepted."""
    hay = "id||' '||plan_name||' '||peer||' '||state||iif(provisional, ' provisional ', ' ')||verdict||' '||reason"
    wanted = f"FROM runs WHERE 1 {f' AND {hay} LIKE ? ESCAPE CHAR(92)' * len(words)} ORDER BY rowid DESC LIMIT ?"
    given = (*(f"%{escaped(word)}%" for word in words), limit)
    rows = db.execute(
        f"SELECT id, started, ended, state, plan_name, peer, verdict, provisional, reason, cancelled {wanted}", given
    ).fetchall()
    of_these = f"WHERE run IN (SELECT id {wanted})"  # so that the trials of other runs cost no time
    counts = _counts(db, of_these, given)
    verdicts: dict[str, dict[str, KeptVerdict]] = {}
    typical: dict[str, dict[str, float]] = {}
    for run, rung, word, provisional, best in db.execute(
        f"SELECT run, name, verdict, provisional, best FROM rungs {of_these}", given
    ):
        if word:
            verdicts.setdefault(run, {})[rung] = KeptVerdict(word, bool(provisional))
        if best is not None:
            typical.setdefault(run, {})[rung] = best
    found = []
    for run, started, ended, stored_state, plan, peer, word, provisional, reason, cancelled in rows:
        seen, state = counts.get(run, _Counted()), run_state(stored_state)
        carried = {rung: bps for rung, (_, bps) in seen.best.items() if bps} | typical.get(run, {})
        verdict, by_person = KeptVerdict(word, bool(provisional)), state is RunState.INCOMPLETE and bool(cancelled)
        found.append(
            RunSummary(
                run, started, ended, state, plan, peer, seen.trials, seen.failed, verdict, carried, reason,
                verdicts.get(run, {}), by_person,
            )
        )  # fmt: skip
    return found


def _counts(db: sqlite3.Connection, of_these: str, given: tuple[object, ...]) -> dict[str, _Counted]:
    query = (
        "SELECT run, rung, weight, COUNT(*), SUM(ok), MAX(CASE WHEN ok THEN goodput ELSE 0 END) goodput"
        f" FROM trials {of_these} GROUP BY run, rung, weight"
    )
    found: dict[str, _Counted] = {}
    for run, rung, weight, count, good, most in db.execute(query, given):
        one = found.setdefault(run, _Counted())
        one.trials += count
        one.failed += count - good
        one.best[rung] = best_rate.best((one.best.get(rung, best_rate.NONE), (weight, most)))
    return found


def escaped(text: str) -> str:
    """Text for LIKE ... ESCAPE CHAR(92)."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
