"""Tools that are to start at one moment are held ready before it, tell when they began, and can be ended till then."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from linkladder.agent.answering import LONGEST_WAIT
from linkladder.agent.processes import Child, Children
from linkladder.engine.trial import Trial

AHEAD = 1.0  # seconds


async def test_none_begins_before_its_moment_and_each_tells_its_own() -> None:
    children = Children(lambda _: None)
    at = time.monotonic() + AHEAD
    clock = "import time; print(time.monotonic())"
    try:
        started = await asyncio.gather(
            *(children.start(["/usr/bin/env", "python3", "-c", clock], at=at) for _ in "abc")
        )
        for child in started:
            finished = await child.finished()
            assert finished.exit_code == 0 and not finished.errors
            assert at <= child.started <= float(finished.output)
    finally:
        await children.close()


async def test_it_is_there_before_its_moment_and_never_the_tool_if_it_is_ended_till_then(tmp_path: Path) -> None:
    children = Children(lambda _: None)
    touched = tmp_path / "touched"
    starting = asyncio.create_task(children.start(["/usr/bin/touch", str(touched)], at=time.monotonic() + 30))
    try:
        while not children:
            await asyncio.sleep(0.01)
        finished = await children.stop(1)
        child: Child = await starting
        assert finished.exit_code and finished.process == child.number and not finished.hung
        assert not touched.exists() and not len(children)
    finally:
        await children.close()


async def test_what_cannot_be_run_is_told_in_words() -> None:
    children = Children(lambda _: None)
    try:
        child = await children.start(["/nonexistent/tool"], at=time.monotonic() + 0.1)
        finished = await child.finished()
        assert finished.exit_code == 1 and finished.errors.strip() == "/nonexistent/tool: No such file or directory"
    finally:
        await children.close()


async def test_one_that_is_held_for_no_moment_begins_at_once() -> None:
    children = Children(lambda _: None)
    try:
        child = await children.start(["/bin/echo", "here"])
        assert (await child.finished()).output == "here\n"
    finally:
        await children.close()


def test_ends_that_are_slow_to_start_a_program_get_longer_to_have_theirs_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkladder.engine.trial.time", SimpleNamespace(monotonic=lambda: 1000.0))

    def lead(starting: float) -> float:
        trial: Any = object.__new__(Trial)
        leg = SimpleNamespace(visits=False)
        trial.legs, trial.clock_offset = [leg] * 4, {0: 0.0, 1: 100.0}
        trial.slowest_answer, trial.slowest_server_start = 0.05, starting
        trial.begun, trial.watched = 990.0, {}
        starts = trial._barrier()
        assert starts[1] == starts[0] + 100.0, "the same moment on the other end's clock"
        return float(starts[0] - 1000.0)

    quick, slow, slower = lead(0.03), lead(0.8), lead(60.0)
    assert quick + 1.5 < slow < slower, "twice what a server took"
    assert slower < 4.1 < LONGEST_WAIT, "no end takes a word for a moment too far ahead"
