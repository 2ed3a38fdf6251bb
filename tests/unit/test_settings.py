"""Leases: what is changed is put back, whatever happens in between.

A pretended kernel (a file of settings) stands in for root here, so that a process can be killed between any
two steps; tests/lab does the same to real interfaces.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest

from linkladder import host, privilege, settings
from linkladder.errors import LinkladderError
from linkladder.settings import journal, overview

BEFORE = {
    "mtu vmx1": "1500",
    "flag vmx1:tso": "on",
    "flag vmx1:lro": "off",
    "flag vmx1:txcsum": "on",
    "sysctl a": "1",
    "sysctl b": "cubic",
}
CHANGES = [
    settings.mtu("vmx1", 9000),
    settings.flag("vmx1", "txcsum", False),
    settings.sysctl("a", 2),
]


class Kernel:
    """Settings in a file; switching txcsum off takes tso along, as drivers do, and tso needs txcsum."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.refuse: set[str] = set()
        self.ignore: set[str] = set()
        self.boot = "first"
        self.die_before = self.die_after = -1
        self.writes = 0

    def all(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.path.read_text())
        return found

    def setting(self, kind: str, target: str) -> str | None:
        return self.all().get(f"{kind} {target}")

    async def run(self, verb: str, *args: str) -> privilege.Completed:
        if self.writes == self.die_before:
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.sleep(0)
        now = self.all()
        if verb == "iface-flags":
            key, value = (
                f"flag {args[0]}:{args[1].removeprefix('-')}",
                "off" if args[1].startswith("-") else "on",
            )
        else:
            key, value = f"{verb} {args[0]}", args[1]
        if key in self.refuse or (key.endswith(":tso") and value == "on" and now["flag vmx1:txcsum"] == "off"):
            return privilege.Completed(1, "", "linkladder-priv: the driver will not")
        if key not in self.ignore:
            now[key] = value
        if key.endswith(":txcsum") and value == "off":
            now["flag vmx1:tso"] = "off"
        self.path.write_text(json.dumps(now))
        if self.writes == self.die_after:
            os.kill(os.getpid(), signal.SIGKILL)
        self.writes += 1
        return privilege.Completed(0, "", "")

    def install(self) -> None:
        host.setting = self.setting
        host.boot_id = lambda: self.boot
        privilege.run = self.run  # type: ignore[assignment]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    path = tmp_path / "kernel"
    path.write_text(json.dumps(BEFORE))
    for module, name in ((host, "setting"), (host, "boot_id"), (privilege, "run")):
        monkeypatch.setattr(module, name, getattr(module, name))  # put back after the test
    made = Kernel(path)
    made.install()
    return made


def journal_of(folder: Path) -> Path:
    return folder / journal.NAME


async def test_changes_hold_inside_and_are_gone_after(kernel: Kernel, own_state: Path) -> None:
    async with settings.Lease(CHANGES):
        assert kernel.all()["mtu vmx1"] == "9000"
        assert kernel.all()["flag vmx1:txcsum"] == "off"
        assert kernel.all()["flag vmx1:tso"] == "off"  # went along
        assert json.loads(journal_of(own_state).read_text())["entries"][0]["old"] == "1500"
    assert kernel.all() == BEFORE
    assert not journal_of(own_state).exists()


async def test_its_own_undo_is_renewed_between_slow_changes(kernel: Kernel) -> None:
    class Watched(settings.Undo):
        renewed: list[int] = []

        async def arm(self, journal: object, entries: object) -> None: ...

        async def renew(self) -> None:
            self.renewed.append(kernel.writes)

        async def stand_down(self) -> None: ...

    async with settings.Lease(CHANGES, Watched(60)):
        assert Watched.renewed == [1, 2, 3]


async def test_its_own_undo_is_renewed_while_one_change_takes_longer_than_it_waits(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewed: list[int] = []

    class Watched(settings.Undo):
        async def arm(self, journal: object, entries: object) -> None: ...

        async def renew(self) -> None:
            renewed.append(kernel.writes)

        async def stand_down(self) -> None: ...

    async def slow(verb: str, *args: str) -> privilege.Completed:
        before = renewed.count(kernel.writes)
        while renewed.count(kernel.writes) < before + 3:
            await asyncio.sleep(0.001)
        return await kernel.run(verb, *args)

    monkeypatch.setattr(privilege, "run", slow)
    async with asyncio.timeout(60), settings.Lease(CHANGES, Watched(0.04)):
        assert all(renewed.count(done) >= 3 for done in range(len(CHANGES)))
        inside = len(renewed)
    assert len(renewed) >= inside + 3 and kernel.all() == BEFORE


async def test_an_error_inside_puts_back_and_passes_on(kernel: Kernel) -> None:
    with pytest.raises(ZeroDivisionError):
        async with settings.Lease(CHANGES):
            raise ZeroDivisionError
    assert kernel.all() == BEFORE


async def test_cancelling_puts_back(kernel: Kernel) -> None:
    async def hold() -> None:
        async with settings.Lease(CHANGES):
            await asyncio.sleep(60)

    task = asyncio.create_task(hold())
    while kernel.all()["sysctl a"] != "2":
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert kernel.all() == BEFORE


async def test_a_refused_change_undoes_those_before_it_and_is_named(kernel: Kernel, own_state: Path) -> None:
    kernel.refuse = {"sysctl a"}
    with pytest.raises(LinkladderError) as caught:
        async with settings.Lease(CHANGES):
            raise AssertionError("never reached")
    assert "sysctl a could not be set to 2" in str(caught.value)
    assert "the driver will not" in str(caught.value)
    assert kernel.all() == BEFORE
    assert not journal_of(own_state).exists()


async def test_a_value_that_did_not_take_is_named(kernel: Kernel) -> None:
    kernel.ignore = {"mtu vmx1"}
    with pytest.raises(LinkladderError, match=r"mtu vmx1 did not take 9000\n.*reads back as 1500"):
        async with settings.Lease(CHANGES):
            raise AssertionError("never reached")
    assert kernel.all() == BEFORE


async def test_a_setting_that_is_not_there_changes_nothing(kernel: Kernel, own_state: Path) -> None:
    with pytest.raises(LinkladderError, match="sysctl nosuch does not exist"):
        async with settings.Lease([*CHANGES, settings.sysctl("nosuch", 1)]):
            raise AssertionError("never reached")
    assert kernel.writes == 0
    assert not journal_of(own_state).exists()


async def test_a_lease_within_a_lease_is_refused_and_harms_nothing(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkladder.settings.lease.UNLOCKED", 0.2)
    async with settings.Lease(CHANGES):
        with pytest.raises(LinkladderError, match="another lease"):
            await settings.Lease([settings.sysctl("b", "newreno")]).acquire()
        assert await settings.recover() == ()
        assert kernel.all()["mtu vmx1"] == "9000"
    assert kernel.all() == BEFORE
    async with settings.Lease(CHANGES):
        pass


async def test_acquire_and_release_may_be_repeated(kernel: Kernel) -> None:
    held = settings.Lease(CHANGES)
    await held.release()
    await held.acquire()
    await held.acquire()
    await held.release()
    await held.release()
    assert kernel.all() == BEFORE


async def test_what_cannot_be_put_back_is_told_and_stays_journalled(kernel: Kernel, own_state: Path) -> None:
    held = settings.Lease(CHANGES)
    await held.acquire()
    kernel.refuse = {"mtu vmx1"}
    with pytest.raises(LinkladderError, match="could not be put back") as caught:
        await held.release()
    assert "mtu vmx1" in str(caught.value)
    assert journal_of(own_state).exists()
    kernel.refuse = set()
    assert await settings.recover() == ("mtu vmx1: 9000 -> 1500",)
    assert kernel.all() == BEFORE


async def test_an_unwritable_folder_changes_nothing(
    kernel: Kernel, own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal.os, "fsync", full)
    with pytest.raises(LinkladderError, match="nothing was changed"):
        await settings.Lease(CHANGES).acquire()
    assert kernel.writes == 0


CHILD = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {here!r})
from test_settings import CHANGES, Kernel
from linkladder import settings
kernel = Kernel(Path({path!r}))
kernel.die_before, kernel.die_after = {before}, {after}
kernel.install()
async def main():
    async with settings.Lease(CHANGES):
        pass
asyncio.run(main())
"""


def crash(kernel: Kernel, folder: Path, before: int, after: int) -> int:
    """Run a lease in a process that is killed before or after a write."""
    here = str(Path(__file__).parent)
    script = CHILD.format(here=here, path=str(kernel.path), before=before, after=after)
    return subprocess.run([sys.executable, "-c", script], env={"LINKLADDER_STATE": str(folder)}, check=False).returncode


@pytest.mark.parametrize("step", range(8))
@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_at_any_step_the_next_start_puts_everything_back(
    kernel: Kernel, own_state: Path, step: int, when: str
) -> None:
    """Three changes are made; then four settings are put back.  Step 7 is never reached: the whole lease runs."""
    ended = crash(kernel, own_state, step if when == "before" else -1, step if when == "after" else -1)
    assert ended == (-signal.SIGKILL if step < 7 else 0)
    if step < 7:
        assert journal_of(own_state).exists()
    if when == "after" and step in (0, 1, 2):
        assert kernel.all() != BEFORE
    await settings.recover()
    assert kernel.all() == BEFORE
    assert await settings.recover() == ()
    assert not journal_of(own_state).exists()


async def test_a_crashed_lease_is_put_back_by_the_next_lease_too(kernel: Kernel, own_state: Path) -> None:
    assert crash(kernel, own_state, -1, 1) == -signal.SIGKILL
    assert kernel.all() != BEFORE
    assert (left := overview.on_loan()) and left.left_behind
    async with settings.Lease([settings.sysctl("b", "newreno")]):
        assert kernel.all() == {**BEFORE, "sysctl b": "newreno"}
        assert (lent := overview.on_loan()) and not lent.left_behind
    assert kernel.all() == BEFORE


async def test_after_a_reboot_only_leased_values_that_are_still_there_are_put_back(
    kernel: Kernel, own_state: Path
) -> None:
    held = settings.Lease(CHANGES)
    await held.acquire()
    held._journal.unlock()  # as if the process were gone
    now = {
        **BEFORE,
        "sysctl a": "5",
        "mtu vmx1": "9000",
    }  # 5: what the operator configured meanwhile
    kernel.path.write_text(json.dumps(now))
    kernel.boot = "second"
    assert await settings.recover() == ("mtu vmx1: 9000 -> 1500",)
    assert kernel.all() == {**BEFORE, "sysctl a": "5"}


class Entangled(Kernel):
    """Setting the MTU switches lro off; with `both`, lro on means an MTU of 9000."""

    both = False

    async def run(self, verb: str, *args: str) -> privilege.Completed:
        done = await super().run(verb, *args)
        also = {"flag vmx1:lro": "off"} if verb == "mtu" else {"mtu vmx1": "9000"} if self.both else {}
        self.path.write_text(json.dumps(self.all() | also))
        return done


@pytest.fixture
def entangled(kernel: Kernel) -> Entangled:
    made = Entangled(kernel.path)
    made.path.write_text(json.dumps(BEFORE | {"flag vmx1:lro": "on"}))
    made.install()
    return made


LARGE_WITH_LRO = [settings.mtu("vmx1", 9000), settings.flag("vmx1", "lro", True)]


async def test_what_is_put_back_last_may_change_what_was_right_by_then(entangled: Entangled, own_state: Path) -> None:
    before = entangled.all()
    async with settings.Lease(LARGE_WITH_LRO):
        assert entangled.all() == before | {"mtu vmx1": "9000"}
    assert entangled.all() == before
    assert not journal_of(own_state).exists()


async def test_settings_that_keep_changing_each_other_are_not_taken_for_put_back(
    entangled: Entangled, own_state: Path
) -> None:
    held = settings.Lease(LARGE_WITH_LRO)
    await held.acquire()
    entangled.both = True
    with pytest.raises(LinkladderError, match=r"could not be put back\n.*mtu vmx1 does not stay 1500"):
        await held.release()
    assert journal_of(own_state).exists()


@pytest.mark.parametrize("value", ["1400", "1500"])
async def test_what_something_else_changes_during_a_loan_is_said_and_then_put_back(kernel: Kernel, value: str) -> None:
    lease = settings.Lease(CHANGES)
    await lease.acquire()
    await lease.check()
    await kernel.run("mtu", "vmx1", value)
    with pytest.raises(settings.SettingsError, match="mtu vmx1 was changed by something else") as error:
        await lease.check()
    assert error.value.cause == f"it is {value} and not 9000; it goes back to 1500, as before the loan"
    await lease.release()
    assert kernel.all() == BEFORE


async def test_of_a_lease_that_ran_out_nobody_says_that_something_else_changed_it(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that stood still may look at its settings before it hears that they were put back meanwhile."""
    undo = settings.Undo(60)
    monkeypatch.setattr(undo, "arm", AsyncMock())
    lease = settings.Lease(CHANGES, undo)
    undo._writer = Mock()
    await lease.acquire()
    await kernel.run("mtu", "vmx1", "1500")
    asyncio.get_running_loop().call_later(0.01, setattr, undo, "_acted", True)
    with pytest.raises(settings.SettingsError, match="the lease had run out, and its settings were put back"):
        await lease.check()
    await lease.release()
    assert kernel.all() == BEFORE
