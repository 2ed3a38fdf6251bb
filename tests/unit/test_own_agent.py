"""This appliance's own agent, where agents run as another user: it dies in a run, or is slow to end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from linkladder import events as ev
from linkladder import wire
from linkladder.engine import Engine
from linkladder.model import Experiment, Plan, Protocol, Rung, RungName, RunState
from linkladder.model import Path as Way
from linkladder.peer import ends
from linkladder.peer.piped import Piped
from linkladder.store import Store

ECHO = Experiment("echo", "ping", Protocol.ECHO, count=600)
PLAN = Plan("p", rungs=(Rung(RungName.LOCALHOST, (Way("127.0.0.1", "127.0.0.1"),), (ECHO,)),))


async def test_a_run_whose_own_agent_died_is_ended_with_the_reason(own_state: Path, tmp_path: Path) -> None:
    state = ["env", f"LINKLADDER_STATE={tmp_path / 'agent'}", f"PYTHONPATH={os.pathsep.join(sys.path)}"]
    (tmp_path / "agent").mkdir(mode=0o700)
    near = await ends.OwnAgent.open("near", [*state, sys.executable, "-m", "linkladder", "agent", "--near"])
    store, seen = Store(own_state), []
    async for event in Engine(PLAN, store, near, None).run():
        seen.append(event)
        if isinstance(event, ev.TrialStarted):
            os.kill(near._process.pid, signal.SIGKILL)
    await near.close()
    assert isinstance(seen[-1], ev.RunFinished) and "own agent ended" in seen[-1].reason
    (run,) = store.runs()
    assert run.state is RunState.INCOMPLETE and run.reason == seen[-1].reason


HELLO = wire.answer(1, wire.HelloReply(wire.PROTOCOL, "", "alpha", "", {}, (), None, 1)).decode()
PUTS_BACK = (  # at its end, which takes it a while
    f"import sys, time; sys.stdin.readline(); print({HELLO!r}, end='', flush=True); sys.stdin.read(); "
    "time.sleep(0.5); open(sys.argv[1], 'w').close()"
)


async def test_an_agent_of_our_own_is_given_the_time_to_put_everything_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ends.FarEnd, "ends_within", 0.1)  # as one across a network may be lost
    done = tmp_path / "done"
    end = await ends.OwnAgent.open("near", [sys.executable, "-c", PUTS_BACK, str(done)])
    await end.close()
    assert done.exists()


async def test_an_agent_of_another_user_that_does_not_end_is_left_in_peace(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Piped) -> None:
        raise PermissionError

    monkeypatch.setattr(ends.OwnAgent, "ends_within", 0.1)
    monkeypatch.setattr(Piped, "kill", refused)
    stays = f"import sys, time; sys.stdin.readline(); print({HELLO!r}, end='', flush=True); time.sleep(3600)"
    end = await ends.OwnAgent.open("near", [sys.executable, "-c", stays])
    try:
        await asyncio.wait_for(end.close(), 60)
        assert all(task.done() for task in end._tasks)
    finally:
        os.kill(end._process.pid, signal.SIGKILL)
        await end._process.wait()
