"""A helper that was let go may still make its change: nothing counts as put back before it has ended."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from linkladder import host, privilege, settings
from linkladder.settings.journal import Journal

# Of the old value's helper there is nothing to tell; the new value's is slow, like one that has yet to start.
SLOW = 'touch "$3/begun"; cat >/dev/null; until test -e "$3/go" || test $((n+=1)) -gt 400; do sleep 0.05; done; '
CHANGE = 'echo "$2" >"$3/$1"; touch "$3/ended"'


class Machine:
    """A setting in a file, which `sh` changes in the helper's place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "a").write_text("1\n")

    def value(self, _: str, name: str) -> str:
        return (self.folder / name).read_text().strip()

    def command(self, verb: str, name: str, value: str) -> list[str]:
        return ["sh", "-c", (SLOW if value == "2" else "") + CHANGE, "sh", name, value, str(self.folder)]

    def go_on(self) -> None:
        (self.folder / "go").touch()

    async def until(self, what: str) -> None:
        while not (self.folder / what).exists():
            await asyncio.sleep(0.01)


class Watched(settings.Undo):
    def __init__(self) -> None:
        super().__init__(60)
        self.said: list[str] = []

    async def arm(self, journal: object, entries: object) -> None: ...

    async def renew(self) -> None: ...

    async def stand_down(self) -> None:
        self.said.append("done")

    def leave(self) -> None:
        self.said.append("left")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setattr(host, "setting", made.value)
    monkeypatch.setattr(privilege, "command", made.command)
    return made


@pytest.mark.parametrize("how", ["skipped", "skipped twice", "timed out"])
async def test_what_is_let_go_has_ended_before_its_change_is_put_back(
    machine: Machine, own_state: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    if how == "timed out":
        monkeypatch.setattr(privilege, "run", partial(privilege.run, timeout=0.2))
    undo = Watched()
    taking = asyncio.create_task(settings.Lease([settings.sysctl("a", 2)], undo).acquire())
    await machine.until("begun")
    asyncio.get_running_loop().call_later(3.0, machine.go_on)
    for _ in range(how.count("skipped") + how.count("twice")):
        taking.cancel()
        await asyncio.sleep(0.1)
    with pytest.raises(asyncio.CancelledError if "skipped" in how else settings.SettingsError):
        await taking
    while not undo.said:  # if it was interrupted again, it puts back behind the caller's back
        await asyncio.sleep(0.01)
    await machine.until("ended")
    assert machine.value("", "a") == "1" and undo.said == ["done"]
    assert not Journal(own_state).exists()


async def test_what_does_not_end_is_left_to_the_undo(
    machine: Machine, own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privilege, "LAST_WAIT", 0.2)
    undo = Watched()
    taking = asyncio.create_task(settings.Lease([settings.sysctl("a", 2)], undo).acquire())
    await machine.until("begun")
    taking.cancel()
    with pytest.raises(settings.SettingsError, match="a change of a setting does not end"):
        await taking
    assert undo.said == ["left"] and Journal(own_state).exists()
    machine.go_on()
    while machine.value("", "a") != "2":
        await asyncio.sleep(0.01)
    await settings.settle()  # what the undo process does by root's helper
    assert machine.value("", "a") == "1" and not Journal(own_state).exists()


async def test_the_next_lease_waits_for_the_undo_process_of_the_one_before(machine: Machine, own_state: Path) -> None:
    """It was stood down, or has acted, and still reads back with the lock in its hands."""
    first = settings.Lease([settings.sysctl("a", 3)], Watched())
    await first.acquire()
    ending = os.dup(first._journal.descriptor)
    await first.release()
    loop = asyncio.get_running_loop()
    began = loop.time()
    loop.call_later(0.5, os.close, ending)
    async with settings.Lease([settings.sysctl("a", 4)], Watched()):
        assert loop.time() - began >= 0.5 and machine.value("", "a") == "4"
    assert machine.value("", "a") == "1"


@pytest.mark.parametrize("moment", ["starting", "arming"])
async def test_an_undo_process_whose_arming_is_cancelled_hears_of_it(
    own_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """It has the lock of loans from then on, and would wait all the seconds of the loan for a word."""
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    monkeypatch.setattr(privilege, "command", lambda verb: ["sh", "-c", f"touch {begun}; cat; touch {ended}"])
    start, inside = asyncio.create_subprocess_exec, asyncio.Event()

    async def slow(*argv: Any, **options: Any) -> Any:
        made = await start(*argv, **options)
        inside.set()
        if moment == "starting":
            await asyncio.Event().wait()
        return made

    monkeypatch.setattr(asyncio, "create_subprocess_exec", slow)
    journal = Journal(own_state)
    assert journal.lock()
    arming = asyncio.create_task(settings.Undo(60).arm(journal, ()))
    await inside.wait()
    while not begun.exists():
        await asyncio.sleep(0.01)
    arming.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await arming
    async with asyncio.timeout(30):
        while not ended.exists():
            await asyncio.sleep(0.01)
    assert caught.value.__traceback__, "whoever looks at the error keeps what is in it"
