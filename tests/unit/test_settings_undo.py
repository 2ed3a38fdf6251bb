"""The undo process by itself: armed first, silent while it is renewed, and acting when nobody is there any more.

The journal names a value that is in force already: putting it back is nothing to do, and clears the journal.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import pwd
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from linkladder import host, locks, privilege, settings, wire
from linkladder.agent.lending import Lending
from linkladder.errors import LinkladderError, in_a_line
from linkladder.priv.undo import SLOTS
from linkladder.priv.undo import _as_holder as as_holder
from linkladder.priv.undo import _holder as holder
from linkladder.priv.undo import _wait as wait
from linkladder.settings import overview
from linkladder.settings.arming import ARMED, Undo
from linkladder.settings.journal import NAME, Entry, Journal, Record
from undo_process import HERE, LOOPBACK, armed, asked, journal, script, started

__all__ = ["journal"]


@pytest.fixture
def changeable(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Settings that the helper changes in memory alone, as found and as they are now."""
    now = {"mtu": "1500"}

    async def change(verb: str, *words: str) -> privilege.Completed:
        now[verb] = words[1]
        return privilege.Completed(0, "", "")

    monkeypatch.setattr(host, "setting", lambda kind, target: now.get(kind))
    monkeypatch.setattr(privilege, "run", change)
    return now


def test_it_acts_when_its_holder_is_gone(journal: Journal) -> None:
    undo = armed(journal, 60)
    assert journal.exists()
    undo.said.close()
    assert undo.ended() == 0 and not journal.exists()


def test_it_acts_when_its_holder_was_gone_before_it_was_armed(journal: Journal) -> None:
    """One that takes the place of a killed one has settings to put back from its first moment."""
    undo = started(journal, asked(journal, 60))
    undo.said.close()
    assert undo.ended() == 0 and not journal.exists()


def test_it_does_nothing_when_all_has_been_put_back(journal: Journal) -> None:
    undo = armed(journal, 60)
    undo.say(b"renew\ndo")
    undo.say(b"ne\n")
    assert undo.ended() == 0 and journal.exists()


LENT = 5.0  # seconds


def test_it_acts_when_nobody_renews_and_not_before(journal: Journal) -> None:
    undo = armed(journal, LENT)
    for _ in range(3):  # for longer than it was lent, each well before its time on a busy machine too
        time.sleep(0.4 * LENT)
        last = time.monotonic()
        undo.say(b"renew\n")
    assert journal.exists() and undo.process.poll() is None
    assert undo.ended(60) == 0 and time.monotonic() - last >= LENT
    assert not journal.exists()


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN]
)
def test_no_ordinary_signal_ends_it(journal: Journal, number: int) -> None:
    undo = armed(journal, 60)
    undo.process.send_signal(number)
    assert undo.process.poll() is None and journal.exists()
    undo.said.close()  # now its holder is gone, and it does what it is there for
    assert undo.ended() == 0 and not journal.exists()


def test_while_it_acts_nobody_else_touches_the_settings(journal: Journal) -> None:
    undo = armed(journal, 60)
    journal.unlock()  # the holder is gone; the undo has the lock as well
    seen = overview.on_loan(journal.folder)
    assert journal.lent() and seen and not seen.left_behind and not Journal(journal.folder).lock()
    undo.said.close()
    undo.ended()
    assert not journal.lent()


def test_what_would_be_refused_when_it_is_needed_is_refused_at_once(journal: Journal) -> None:
    for steps, why in (
        ([["mtu", LOOPBACK, "70000"]], "expected a whole number"),
        ([["sysctl", "kern.securelevel", "0"]], "not a setting that may be changed"),
        ([["ping", "-c", "1", "192.0.2.1"]], "verb: expected one of"),
        ([["undo"]], "verb: expected one of"),
        (["mtu"], "not said as it must be"),
        ([[]], "not said as it must be"),
        ([["mtu", LOOPBACK, 1500]], "not said as it must be"),
        ({"a": 1}, "not said as it must be"),
    ):
        undo = started(journal, asked(journal, 5, steps))
        _, errors = undo.process.communicate(timeout=20)
        assert not undo.said.recv(20) and why in errors.decode() and journal.exists(), errors


def test_who_says_nothing_has_nothing_undone(journal: Journal) -> None:
    undo = started(journal, asked(journal, 5).rstrip())
    undo.said.close()
    _, errors = undo.process.communicate(timeout=20)
    assert b"nobody said" in errors and journal.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("door", ["DOAS_USER=nobody", "SUDO_UID=65534", ""])
def test_what_reads_back_is_the_holders_own_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str) -> None:
    """Root follows none of the holder's files: its folder is handed on to a process that is the holder's."""
    there = Path(f"/tmp/linkladder-undo-{os.getpid()}")
    there.mkdir()
    try:
        (there / "python").write_text(f'#!/bin/sh\n(id -u; id -G; echo "$@"; env) >{there}/said/{door or "root"}\n')
        (there / "python").chmod(0o755)
        (there / "said").mkdir()
        (there / "said").chmod(0o777)
        there.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(there / "python"))
        for name in ("DOAS_USER", "SUDO_UID"):
            monkeypatch.delenv(name, raising=False)
        if door:
            monkeypatch.setenv(*door.split("="))
        as_holder(holder(), "/some/folder", [], 60)
        who, groups, words, *environment = (there / "said" / (door or "root")).read_text().splitlines()
        assert who == (str(pwd.getpwnam("nobody").pw_uid) if door else "0")
        assert not door or groups == str(pwd.getpwnam("nobody").pw_gid)
        assert words == "-I -m linkladder.settings /some/folder"
        assert not [line for line in environment if line.startswith(("DOAS", "SUDO", "PYTHON"))]
    finally:
        shutil.rmtree(there)


def test_no_more_than_so_many_wait_at_once(journal: Journal) -> None:
    """They are root's, so that the caller's own limit of processes does not count them."""
    held = [locks.HeldFile(journal.folder / f"full-{number}") for number in range(SLOTS)]
    assert all(one.take() for one in held)
    done = subprocess.run(script(journal, "full"), capture_output=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode and b"32 loans are out already" in done.stderr


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The undo processes of `Undo`, the first one first."""
    found: list[int] = []
    start = asyncio.create_subprocess_exec

    async def noted(*argv: Any, **options: Any) -> Any:
        made = await start(*argv, **options)
        found.append(made.pid)
        return made

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_one_that_is_killed_is_replaced(journal: Journal, processes: list[int]) -> None:
    undo = Undo(60)
    await undo.arm(journal, HERE.entries)
    first = undo._watching
    assert first
    os.kill(processes[0], signal.SIGKILL)
    await asyncio.wait_for(first, 20)
    assert len(processes) == 2
    await undo.renew()
    await undo.stand_down()
    assert journal.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("instead", ["/nowhere", "false"])
async def test_where_none_can_replace_it_the_loan_ends_at_once(
    own_state: Path,
    processes: list[int],
    changeable: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    instead: str,
) -> None:
    """The loan of a trial of hours would have nobody to end it."""
    undo = Undo(60)
    lease = settings.Lease([settings.mtu(LOOPBACK, 9000)], undo)
    await lease.acquire()
    first = undo._watching
    assert first and changeable == {"mtu": "9000"}
    monkeypatch.setattr(privilege, "command", lambda verb: [instead])
    os.kill(processes[0], signal.SIGKILL)
    await asyncio.wait_for(first, 20)
    lending = Lending()
    lending._lease = lease
    with pytest.raises(wire.Refused, match="the process that would put the settings back was killed"):
        await lending.renew()
    assert changeable == {"mtu": "1500"} and overview.on_loan() is None
    with pytest.raises(wire.Refused, match="nothing is on loan"):
        await lending.renew()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_one_that_is_left_to_it_acts_at_once(journal: Journal, processes: list[int]) -> None:
    undo = Undo(60)
    await undo.arm(journal, HERE.entries)
    undo.leave()
    journal.unlock()
    async with asyncio.timeout(20):
        while journal.exists() or journal.lent():
            await asyncio.sleep(0.02)
    assert len(processes) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_the_door_that_it_came_through_may_be_killed(
    journal: Journal, processes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of sudo, and of doas with PAM, a process waits beside the one that it has started."""
    waits = ["sh", "-c", 'exec 3<&0; "$@" <&3 & wait', "sh", *privilege.command("undo")]
    monkeypatch.setattr(privilege, "command", lambda verb: waits)
    undo = Undo(60)
    await undo.arm(journal, HERE.entries)
    os.kill(processes[0], signal.SIGKILL)
    await undo.renew()
    await undo.stand_down()
    assert len(processes) == 1 and journal.exists() and not undo._acted


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_a_lease_that_ran_out_says_so_and_has_been_put_back(journal: Journal, processes: list[int]) -> None:
    undo = Undo(1.0)
    await undo.arm(journal, HERE.entries)
    assert undo._watching
    await asyncio.wait_for(undo._watching, 20)
    with pytest.raises(settings.SettingsError, match="had run out"):
        await undo.renew()
    await undo.stand_down()
    assert not journal.exists() and len(processes) == 1


async def test_nothing_is_changed_where_no_undo_starts(
    own_state: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[str] = []

    async def changed(change: settings.Change) -> None:
        made.append(str(change))

    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    monkeypatch.setattr(host, "setting", lambda kind, target: "1500")
    monkeypatch.setattr("linkladder.settings.lease.make", changed)
    with pytest.raises(settings.SettingsError, match="nothing would put it back"):
        await settings.Lease([settings.mtu("vmx1", 9000)], Undo(5)).acquire()
    assert not made
    assert overview.on_loan() is None, (own_state / NAME).read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_nothing_is_changed_where_there_is_no_room_to_start_an_undo(
    own_state: Path, changeable: dict[str, str]
) -> None:
    """No socket, no pipe or no process: however many descriptors are left, it is refused in words, or lent."""
    told: list[str] = []
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    for room in range(20):
        lease = settings.Lease([settings.mtu(LOOPBACK, 9000)], Undo(60))
        free = [n for n in range(before[0]) if not os.path.exists(f"/proc/self/fd/{n}")]
        resource.setrlimit(resource.RLIMIT_NOFILE, (free[room], before[1]))
        try:
            await lease.acquire()
        except LinkladderError as error:
            told.append(in_a_line(error))
            assert changeable == {"mtu": "1500"}
        else:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
            await lease.release()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        assert overview.on_loan() is None
    assert 0 < len(told) < 20 and any("nothing would put it back" in one for one in told), told


def test_what_is_on_loan_is_told_with_its_time_left(own_state: Path) -> None:
    made = Journal(own_state)
    assert overview.on_loan(own_state) is None
    assert made.lock()
    made.write(Record("boot", (Entry("mtu", "llgone0", "1500", "9000"), Entry("flag", "llgone0:gso", "on")), 15.0))
    os.utime(own_state / "settings.journal", (0, time.time() - 5))
    seen = overview.on_loan(own_state)
    assert seen and seen.changes == ("mtu llgone0: 1500 -> 9000",) and not seen.left_behind
    assert seen.seconds_left is not None and 0 < seen.seconds_left <= 10
    made.renewed()
    renewed = overview.on_loan(own_state)
    assert renewed and renewed.seconds_left is not None and seen.seconds_left < renewed.seconds_left <= 15
    made.unlock()
    left = overview.on_loan(own_state)
    assert left and left.left_behind
    (own_state / "settings.journal").write_text("{")
    damaged = overview.on_loan(own_state)
    assert damaged and damaged.left_behind and made.exists(), "who only looks moves nothing aside"


def test_a_holder_that_died_before_it_heard_of_the_arming_is_gone() -> None:
    """What it had not read makes the kernel reset the socket, which is no reason to change nothing back."""
    holder, undo = socket.socketpair()
    with undo:
        undo.sendall(ARMED)
        holder.close()
        assert wait(undo.fileno(), 5.0, b"") == "closed"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_that_is_set_moves_no_deadline(hours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set at each look at it: put forward it would end a loan at once, put back never."""
    clock = itertools.count(time.time(), 3600 * hours)
    holder, undo = socket.socketpair()
    with holder, undo:
        began = time.monotonic()
        monkeypatch.setattr(time, "time", lambda: next(clock))
        assert wait(undo.fileno(), 0.5, b"") == "silent"
        assert time.monotonic() - began >= 0.5
