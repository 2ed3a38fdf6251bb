"""What could not be put back, or cannot be told: said until it is right or a person accepts it, and no run starts."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from linkladder import cli, host, privilege, settings, wire
from linkladder.agent import Service
from linkladder.errors import LinkladderError
from linkladder.priv import accepted
from linkladder.priv.running import Failed
from linkladder.settings import lease, overview
from test_settings import BEFORE, CHANGES, Kernel, journal_of, kernel

__all__ = ["kernel"]


@pytest.mark.parametrize("lost", ["mtu vmx1", "sysctl a"])
async def test_what_cannot_be_read_is_not_put_back(
    kernel: Kernel, own_state: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """As where ifconfig fails: the value may still be the leased one, so it is tried again until it can be read."""
    held = settings.Lease(CHANGES)
    await held.acquire()
    monkeypatch.setattr(host, "setting", lambda *key: None if " ".join(key) == lost else kernel.setting(*key))
    if lost == "sysctl a":
        kernel.refuse = {lost}
    for attempt in (held.release, settings.settle, settings.Lease([settings.sysctl("b", "reno")]).acquire):
        with pytest.raises(LinkladderError, match="could not be put back") as caught:
            await attempt()
        assert "vmx1 is not there" in str(caught.value) or "sysctl a could not be set to 1" in str(caught.value)
        assert "accept-settings" in str(caught.value)
    seen = overview.on_loan()
    assert seen and seen.left_behind and lost.removeprefix("mtu ") in seen.failed
    assert overview.findings()[0][:2] == (True, seen.failed)
    assert kernel.all()[lost] != BEFORE[lost]
    kernel.install()
    kernel.refuse = set()
    await settings.settle()
    assert kernel.all() == BEFORE and overview.on_loan() is None


async def test_what_something_else_changed_on_loan_is_put_back_and_told_until_a_person_has_seen_it(
    kernel: Kernel, own_state: Path
) -> None:
    held = settings.Lease(CHANGES)
    await held.acquire()
    held._journal.unlock()  # as if the process were gone
    kernel.path.write_text(json.dumps(kernel.all() | {"mtu vmx1": "8000"}))
    kernel.refuse = {"mtu vmx1"}
    for _ in range(2):
        with pytest.raises(LinkladderError, match="could not be put back"):
            await settings.recover()
    kernel.refuse = set()
    await settings.recover()
    assert kernel.all() == BEFORE
    said = "mtu vmx1 was changed to 8000 by something else while it was on loan as 9000; it went back to 1500"
    seen = overview.on_loan()
    assert seen and not seen.left_behind and seen.notice.count(said) == 1
    assert seen.notice.count("something else") == 1, "nothing else was touched"
    assert overview.findings()[0][:2] == (False, seen.notice)
    accepted.accept(str(own_state))
    assert overview.on_loan() is None


def test_the_first_start_after_a_power_cut_closes_the_record_of_a_loan(kernel: Kernel, own_state: Path) -> None:
    """What the appliance runs at boot: nobody shall read of settings left changed which the restart has ended."""
    held = settings.Lease(CHANGES)
    asyncio.run(held.acquire())
    held._journal.unlock()  # as if the process were gone
    kernel.boot = "second"
    kernel.path.write_text(json.dumps(BEFORE))
    assert (left := overview.on_loan()) and left.left_behind
    assert cli.main(["agent", "--settle"]) == 0
    seen = overview.on_loan()
    assert seen and not seen.left_behind and "this machine was restarted, and it ended a loan" in seen.notice
    assert cli.main(["agent", "--settle"]) == 0, "with nothing to settle"


async def test_a_failed_revert_outlives_a_restart_in_words(kernel: Kernel, own_state: Path) -> None:
    held = settings.Lease(CHANGES)
    await held.acquire()
    kernel.refuse = {"mtu vmx1"}
    with pytest.raises(LinkladderError):
        await held.release()
    kernel.boot, kernel.refuse = "second", set()
    kernel.path.write_text(json.dumps(BEFORE))  # what a restart does
    assert await settings.recover() == ()
    seen = overview.on_loan()
    assert seen and not seen.left_behind and not seen.changes
    assert "before it, this could not be put back: mtu vmx1 could not be set to 1500" in seen.notice
    assert "after the restart mtu vmx1 is 1500, " in seen.notice
    assert overview.findings()[0][:2] == (False, seen.notice)
    await settings.settle()  # it is right again, so runs may start
    assert overview.on_loan() == seen, "until somebody has seen it"
    accepted.accept(str(own_state))
    assert overview.on_loan() is None


async def test_a_restart_after_which_a_value_cannot_be_read_has_ended_nothing(
    kernel: Kernel, own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = settings.Lease(CHANGES)
    await held.acquire()
    held._journal.unlock()
    kernel.boot = "second"
    kernel.path.write_text(json.dumps({k: v for k, v in BEFORE.items() if "vmx1" not in k}))
    for _ in range(2):
        with pytest.raises(LinkladderError, match="vmx1 is not there: nobody can tell whether the restart has ended"):
            await settings.settle()
    assert (seen := overview.on_loan()) and seen.left_behind
    accepted.accept(str(own_state))  # the card was taken out for good
    await settings.settle()
    assert overview.on_loan() is None


async def test_a_journal_that_cannot_be_read_is_told_until_a_person_accepts_what_is(
    kernel: Kernel, own_state: Path
) -> None:
    journal_of(own_state).write_text('{"boot": "first", "entries": [')
    for attempt in (settings.recover, settings.settle, settings.Lease(CHANGES).acquire, settings.settle):
        with pytest.raises(LinkladderError, match="not known which settings"):
            await attempt()
        seen = overview.on_loan()
        assert seen and seen.left_behind and "not known which settings" in seen.failed
        assert overview.findings()[0][0]
    assert kernel.writes == 0
    accepted.accept(str(own_state))
    await settings.settle()
    assert overview.on_loan() is None and overview.findings() == ()
    async with settings.Lease(CHANGES):
        pass


@pytest.mark.parametrize("kind", ["deep", "pipe", "link", "terminal"])
def test_a_journal_that_a_broken_tool_has_left_stops_no_console(own_state: Path, kind: str) -> None:
    journal = journal_of(own_state)
    match kind:
        case "deep":
            journal.write_text("[" * 100_000)
        case "pipe":
            os.mkfifo(journal)
        case "link":
            (own_state / "elsewhere").write_text('{"boot": "first", "entries": [], "failed": "elsewhere"}')
            journal.symlink_to(own_state / "elsewhere")
        case _:
            journal.write_text('{"boot": "first", "entries": [], "failed": "\\u001b[2J"}')
    code = "from linkladder.settings import overview; print(ascii(overview.on_loan().failed))"
    looking = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "elsewhere" not in looking.stdout and "x1b" not in looking.stdout
    assert ("not known which settings" in looking.stdout) == (kind != "terminal"), looking.stderr


async def test_what_is_on_loan_cannot_be_accepted(kernel: Kernel, own_state: Path) -> None:
    async with settings.Lease(CHANGES):
        with pytest.raises(Failed, match="on loan now"):
            accepted.accept(str(own_state))
        assert journal_of(own_state).exists()
    accepted.accept(str(own_state))  # nothing to accept is no error
    assert kernel.all() == BEFORE


def test_a_person_accepts_settings_by_a_command(own_state: Path) -> None:
    journal_of(own_state).write_text("{")
    argv = [sys.executable, "-m", "linkladder", "system", "accept-settings"]
    asked = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert asked.returncode != 0 and "nobody to ask" in asked.stderr and journal_of(own_state).exists()
    done = subprocess.run([*argv, "--yes"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not journal_of(own_state).exists(), done.stderr


async def test_who_is_interrupted_while_putting_back_leaves_it_to_the_undo(
    kernel: Kernel, own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an agent whose caller is killed in the middle of it: the undo must not be told that all is done."""
    said: list[str] = []

    class Watched(settings.Undo):
        async def arm(self, journal: object, entries: object) -> None: ...

        async def renew(self) -> None: ...

        async def stand_down(self) -> None:
            said.append("done")

        def leave(self) -> None:
            said.append("left")

    held = settings.Lease(CHANGES, Watched(60))
    await held.acquire()
    never = asyncio.Event()

    async def slow(verb: str, *args: str) -> privilege.Completed:
        said.append("putting back")
        await never.wait()
        return await kernel.run(verb, *args)

    monkeypatch.setattr(privilege, "run", slow)
    release = asyncio.create_task(held.release())
    while not said:
        await asyncio.sleep(0.001)
    release.cancel()
    with pytest.raises(asyncio.CancelledError):
        await release
    assert said == ["putting back", "left"] and journal_of(own_state).exists()


async def test_a_run_waits_for_an_undo_process_that_has_cleared_the_journal_and_not_ended(
    kernel: Kernel, own_state: Path
) -> None:
    """Its lock would refuse the run's first lease."""
    held = settings.Lease(CHANGES)
    await held.acquire()
    ending = os.dup(held._journal.descriptor)  # as the undo process has it
    await held.release()
    assert not journal_of(own_state).exists()
    loop = asyncio.get_running_loop()
    began = loop.time()
    loop.call_later(0.5, os.close, ending)
    await settings.settle()
    assert loop.time() - began >= 0.5
    async with settings.Lease(CHANGES):
        pass


async def test_who_reserves_may_ask_again_only_where_it_passes_by_itself(
    kernel: Kernel, own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run takes its own name as the holder's for an end that is still busy with what this run left there."""
    monkeypatch.setattr(lease, "BUSY", 0.05)
    held = settings.Lease(CHANGES)
    await held.acquire()
    service, reserve = Service(lambda event: None), wire.Reserve("alpha, run 1")
    with pytest.raises(wire.Refused, match="another process has them on loan") as lent:
        await service.do(reserve)
    held._journal.unlock()  # as if the process were gone
    kernel.refuse = {"mtu vmx1"}
    with pytest.raises(wire.Refused, match="could not be put back") as final:
        await service.do(reserve)
    assert (lent.value.holder, final.value.holder) == ("alpha, run 1", "")
