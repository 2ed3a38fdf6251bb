"""This appliance's own agent, where agents run as another user, dies in a run."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from linkladder import events as ev
from linkladder.engine import Engine
from linkladder.model import Experiment, Plan, Protocol, Rung, RungName, RunState
from linkladder.model import Path as Way
from linkladder.peer import ends
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
