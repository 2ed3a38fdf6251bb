"""A run watched and steered from other processes: who holds the controls, and what is said when it dies."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time

import pytest

import synth
from linkladder import eventlog, events
from linkladder.app import runner
from linkladder.app.session import LiveSession, alive, where
from linkladder.engine import Controls
from linkladder.errors import EnvironmentFault
from linkladder.model import RunState


@pytest.fixture
def process():
    made = subprocess.Popen(["sleep", "60"])
    yield made
    made.kill()
    made.wait()


def announce(folder, pid, socket="") -> None:
    runner.announce(folder, {"pid": pid, "log": str(folder / "log.jsonl"), "socket": socket, "began": time.monotonic()})


async def test_controls_arrive_and_wrong_ones_are_refused(tmp_path, process):
    controls = Controls()
    async with runner.listening(tmp_path, controls) as address:
        announce(tmp_path, process.pid, address)
        session = LiveSession(tmp_path, where(tmp_path), "the screen on ttyv0")
        await session.control("pause")
        await session.control("note", "rack 12")
        assert controls.pause_asked and controls.notes == ["rack 12"]
        with pytest.raises(EnvironmentFault, match="refused"):
            await session.control("__init__")
        await session.control("cancel")
        assert controls.cancelled
        assert oct(os.stat(address).st_mode & 0o777) == "0o600"
    with pytest.raises(EnvironmentFault, match="does not answer"):
        await session.control("skip")


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'{"do": 3}', b'{"do": "_interrupt"}', b"\xff\xfe"])
def test_an_order_is_one_of_the_known(line):
    assert runner.obey(Controls(), line) is False


async def test_the_second_screen_watches_and_takes_over(tmp_path, process):
    announce(tmp_path, process.pid)
    (tmp_path / "controller.json").write_text(json.dumps({"pid": process.pid, "who": "the screen on ttyv0"}))
    second = LiveSession(tmp_path, where(tmp_path), "the screen on pts/1")
    assert not second.controlling and second.holder == "the screen on ttyv0"
    await second.take_over()
    assert second.controlling
    (tmp_path / "controller.json").write_text(json.dumps({"pid": process.pid, "who": "the screen on ttyv0"}))
    await second.poll()
    assert not second.controlling  # and loses it when the other asks


async def test_controls_of_a_dead_screen_are_free(tmp_path, process):
    announce(tmp_path, process.pid)
    gone = subprocess.Popen(["true"])
    gone.wait()
    (tmp_path / "controller.json").write_text(json.dumps({"pid": gone.pid, "who": "a screen that died"}))
    assert LiveSession(tmp_path, where(tmp_path), "this").controlling


async def test_a_process_that_dies_is_an_incomplete_run(tmp_path, process):
    announce(tmp_path, process.pid)
    log = eventlog.Recorder(tmp_path / "log.jsonl")
    first = synth.the_log()[0][1]
    log.write(first)
    session = LiveSession(tmp_path, where(tmp_path), "this")
    assert [e for _, e in await session.poll()] == [first]
    assert session.run_id == synth.RUN
    process.kill()
    process.wait()
    ((_, last),) = await session.poll()
    assert isinstance(last, events.RunFinished) and last.state is RunState.INCOMPLETE
    assert "gone" in last.reason
    log.close()


def test_one_run_at_a_time(tmp_path):
    with runner.locked(tmp_path), pytest.raises(EnvironmentFault, match="already"), runner.locked(tmp_path):
        pass
    with runner.locked(tmp_path):
        pass


def test_a_torn_announcement_is_none(tmp_path):
    assert where(tmp_path) is None
    (tmp_path / "run.json").write_text('{"pid": ')
    assert where(tmp_path) is None


async def test_the_next_run_waits_until_the_last_has_cleared_up(process):
    from linkladder.app.live import LiveBackend

    backend = LiveBackend("this screen")
    announce(backend.folder, process.pid)
    log = eventlog.Recorder(backend.folder / "log.jsonl")
    log.write(synth.the_log()[0][1])
    with pytest.raises(EnvironmentFault, match="going on already"):
        await backend._last_run_gone()
    log.write(events.RunFinished(synth.RUN, RunState.INCOMPLETE, 0, "cancelled"))
    log.close()
    asyncio.get_running_loop().call_later(0.5, process.kill)
    await asyncio.wait_for(backend._last_run_gone(), 5)
    assert not alive(process.pid)


async def test_home_offers_to_go_on_with_what_broke_and_not_with_what_was_cancelled(tmp_path, monkeypatch):
    from linkladder.app.live import LiveBackend
    from linkladder.app.steps import next_step
    from linkladder.store import CANCELLED, Store

    monkeypatch.setenv("LINKLADDER_STATE", str(tmp_path))
    backend = LiveBackend("this screen")
    monkeypatch.setattr(backend, "findings", tuple)
    store = Store(tmp_path)
    run = store.begin(synth.the_plan(), "beta")
    rung = next(r for r in synth.the_document().rungs if r.experiments)
    store.trial(run, rung.name, rung.experiments[0].parameters.id, rung.experiments[0].trials[0])
    offered = {}
    for why in ("the measuring process was gone", CANCELLED, "the system ended it"):
        store.finish(run, RunState.INCOMPLETE, "INCOMPLETE", why)
        view = backend.home()
        offered[why] = (view.resumable.id if view.resumable else "", next_step(view, False))
    store.close()
    assert offered[CANCELLED] == ("", "pair")
    assert offered["the measuring process was gone"] == offered["the system ended it"] == (run, "resume")


async def test_a_run_is_started_without_a_file_being_read_on_the_event_loop(process, monkeypatch):
    """A disk that takes its time must not stop the screen."""
    import threading

    from linkladder.app import live, session

    backend = live.LiveBackend("this screen")
    here, loop_thread = [], threading.get_ident()
    for name in ("_read", "alive"):
        real = getattr(session, name)

        def noted(*args, real=real):
            here.append(threading.get_ident() == loop_thread)
            return real(*args)

        monkeypatch.setattr(session, name, noted)

    def spawn(argv):
        announce(backend.folder, process.pid)
        return process

    monkeypatch.setattr(backend, "_spawn", spawn)
    started = await backend.start(synth.the_plan())
    assert started.controlling and started.holder == "this screen"
    assert here and not any(here)
