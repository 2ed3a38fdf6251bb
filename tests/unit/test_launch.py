"""Runs that are started from screens: each measures the plan that it was asked for, and leaves no draft behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from linkladder.errors import EnvironmentFault
from linkladder.model import Experiment, Plan, Protocol, Rung, RungName
from linkladder.model import Path as Way
from linkladder.run import launch
from linkladder.run.steering import Seat
from linkladder.store import Store

FAILS = [sys.executable, "-c", "raise SystemExit('no room')"]


def plan(name: str) -> Plan:
    echo = Experiment("echo", "ping", Protocol.ECHO, count=10)
    return Plan(name, rungs=(Rung(RungName.LOCALHOST, (Way("127.0.0.1", "127.0.0.1"),), (echo,)),))


def drafts(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*next-plan*"))


async def test_two_that_start_at_once_do_not_swap_their_plans(own_state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one's process reads its plan when the second one's is on disk, too."""
    spawn, both, started = launch.spawn, own_state / "both", list[subprocess.Popen[bytes]]()
    waits = ["/bin/sh", "-c", f'until [ -e {both} ]; do sleep 0.1; done; exec "$@"', "sh"]

    def held_up(folder: Path, argv: list[str]) -> subprocess.Popen[bytes]:
        if started:
            both.touch()
            return spawn(folder, FAILS)
        started.append(spawn(folder, [*waits, *argv]))
        return started[0]

    monkeypatch.setattr(launch, "spawn", held_up)
    first = asyncio.create_task(launch.launch(own_state, plan("mine"), "", Seat(own_state, "here")))
    while not started:
        await asyncio.sleep(0.01)
    with pytest.raises(EnvironmentFault, match="no room"):
        await launch.launch(own_state, plan("other"), "", Seat(own_state, "there"))
    session = await first
    while not await session.ended():
        await asyncio.sleep(0.05)
    await asyncio.to_thread(started[0].wait)
    store = Store(own_state)
    assert [run.plan for run in store.runs()] == ["mine"]
    store.close()
    assert drafts(own_state) == []


async def test_drafts_of_starts_that_broke_off_do_not_pile_up(own_state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    ages = {"next-plan.json": 900, "next-plan-7-5a.json": 900, ".next-plan-7-5a.json.7": 900, "next-plan-8-5b.json": 5}
    for name, age in ages.items():
        (own_state / name).touch()
        os.utime(own_state / name, (now - age, now - age))
    spawn = launch.spawn
    monkeypatch.setattr(launch, "spawn", lambda folder, argv: spawn(folder, FAILS))
    with pytest.raises(EnvironmentFault, match="no room"):
        await launch.launch(own_state, plan("mine"), "", Seat(own_state, "here"))
    assert drafts(own_state) == ["next-plan-8-5b.json"], "another one that starts just now still needs it"
