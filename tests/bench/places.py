"""places.py DATABASE: the console on a terminal of its own, empty and over ten thousand trials; prints JSON.

DATABASE holds runs that this tree's linkladder has really made (climb.py keeps them); the newest is multiplied.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from serial_console import Screen

DATABASE = Path(sys.argv[1])
TRIALS = 10_000
ROUNDS = 3
PLACES = (  # name, key, words, the key back and what is there then
    ("Runs", b"r", "Filter"),
    ("Results", b"\r", "[run]"),
    ("Link", b"e", "[ Climb the ladder ]"),
)
Found = dict[str, list[float]]


def first_frame(found: Found) -> None:
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as state:
            screen = Screen(LINKLADDER_STATE=state)
            screen.until("Next step")
            clock = time.monotonic() - screen.began - screen.waited()
            found["first_cpu"].append(screen.cpu())
            found["first"].append(max(clock, found["first_cpu"][-1]))
            screen.terminal.close()


def many_trials(found: Found, runs: int) -> None:
    with tempfile.TemporaryDirectory() as state:
        multiply(Path(state) / "linkladder.db", runs, TRIALS // runs)
        screen = Screen(LINKLADDER_STATE=state)
        screen.until("Next step")
        screen.until("same-host")
        for number in range(ROUNDS):
            for name, key, words in PLACES:
                if name == "Results" and runs == 1 and number:  # all of it is read each time, which takes a while
                    screen.go(b"\x1b", "Next step")
                    continue
                also = ("reading 1",) if name == "Results" and runs == 1 else ()
                found[f"{name}_{runs}"].append(1000 * screen.go(key, words, *also))
                if name == "Results":
                    screen.until(words)
                    screen.go(b"\x1b", "Filter")
                if name != "Runs":
                    found[f"Home_{runs}"].append(1000 * screen.go(b"\x1b", "Next step"))
        screen.terminal.close()


def multiply(target: Path, runs: int, trials: int) -> str:
    """The newest run so many times, with its first trial so many times; the id of the last."""
    with contextlib.closing(sqlite3.connect(DATABASE)) as source, contextlib.closing(sqlite3.connect(target)) as db:
        source.backup(db)
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA foreign_keys = OFF")
        (newest,) = db.execute("SELECT id FROM runs ORDER BY started DESC LIMIT 1").fetchone()
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {name: [row[1] for row in db.execute(f"PRAGMA table_info({name})")] for name in tables}
        of_run = [name for name in tables if "run" in columns[name]]
        for name in (*of_run, "runs"):
            db.execute(f"DELETE FROM {name} WHERE {'id' if name == 'runs' else 'run'} != ?", (newest,))
        db.execute("UPDATE runs SET plan = replace(plan, '\"repeats\":1', ?)", (f'"repeats":{trials}',))
        (first,) = db.execute("SELECT min(id) FROM trials").fetchone()
        db.execute("DELETE FROM trials WHERE id != ?", (first,))
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
        copy(db, "trials", columns["trials"], numbers, trials - 1, {"id": "NULL", "repeat": "n.i"})
        name = f"'{newest[:-4]}' || printf('%04x', n.i)"
        db.execute("CREATE TEMP TABLE ready AS SELECT DISTINCT run FROM trials")
        for table in ("runs", *of_run):
            given = {"id": name} if table == "runs" else {"run": name, "id": "NULL"}
            copy(db, table, columns[table], numbers, runs - 1, given)
        db.commit()
        return str(newest)


def copy(
    db: sqlite3.Connection, table: str, columns: list[str], numbers: str, times: int, given: dict[str, str]
) -> None:
    """Every row of a table once more for each number, with these columns instead."""
    if times > 0:
        chosen = ", ".join(given.get(column, f"t.{column}") for column in columns)
        db.execute(f"INSERT INTO {table} {numbers} SELECT {chosen} FROM n, {table} AS t", (times,))


def report(found: Found) -> None:
    with tempfile.TemporaryDirectory() as state:
        run = multiply(Path(state) / "linkladder.db", 1, 200)
        argv = [sys.executable, "-m", "linkladder", "report", run, "--html", "-"]
        for _ in range(ROUNDS):
            began = time.monotonic()
            subprocess.run(argv, env=os.environ | {"LINKLADDER_STATE": state}, stdout=subprocess.DEVNULL, check=True)
            found["report"].append(time.monotonic() - began)


def main() -> None:
    found: Found = {"first": [], "first_cpu": [], "report": []}
    found |= {f"{place}_{runs}": [] for place in ("Home", "Runs", "Results", "Link") for runs in (1, 200)}
    first_frame(found)
    if DATABASE.exists():
        many_trials(found, 200)
        many_trials(found, 1)
        report(found)
    print(json.dumps({name: values for name, values in found.items() if values}))


if __name__ == "__main__":
    main()
