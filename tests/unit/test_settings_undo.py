"""The undo process by itself: armed first, silent while it is renewed, and acting when nobody is there any more.

The journal names a value that is in force already: putting it back is nothing to do, and clears the journal.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkladder import host, settings
from linkladder.settings import overview
from linkladder.settings.journal import NAME, Entry, Journal, Record
from linkladder.settings.undo import ARMED, Undo

LOOPBACK = "lo" if sys.platform == "linux" else "lo0"
HERE = Record(host.boot_id(), (Entry("mtu", LOOPBACK, str(host.setting("mtu", LOOPBACK)), "1500"),))
Process = subprocess.Popen[bytes]


@pytest.fixture
def journal(own_state: Path) -> Iterator[Journal]:
    made = Journal(own_state)
    assert made.lock()
    made.write(HERE)
    yield made
    made.unlock()


def armed(journal: Journal, seconds: float) -> Process:
    argv = [sys.executable, "-I", "-m", "linkladder.settings", str(journal.folder), str(seconds)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(journal.descriptor,))
    assert process.stdout and process.stdout.readline() == ARMED
    return process


def say(process: Process, word: bytes) -> None:
    assert process.stdin
    process.stdin.write(word)
    process.stdin.flush()


def test_it_acts_when_its_holder_is_gone(journal: Journal) -> None:
    process = armed(journal, 60)
    assert process.stdin and journal.exists()
    process.stdin.close()
    assert process.wait(10) == 0 and not journal.exists()


def test_it_acts_when_its_holder_was_gone_before_it_was_armed(journal: Journal) -> None:
    """One that takes the place of a killed one has settings to put back from its first moment."""
    read, write = os.pipe()
    os.close(read)
    argv = [sys.executable, "-I", "-m", "linkladder.settings", str(journal.folder), "60"]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=write, pass_fds=(journal.descriptor,))
    os.close(write)
    assert process.wait(10) == 0 and not journal.exists()


def test_it_does_nothing_when_all_has_been_put_back(journal: Journal) -> None:
    process = armed(journal, 60)
    say(process, b"renew\ndo")
    say(process, b"ne\n")
    assert process.wait(10) == 0 and journal.exists()


LENT = 5.0  # seconds


def test_it_acts_when_nobody_renews_and_not_before(journal: Journal) -> None:
    process = armed(journal, LENT)
    for _ in range(3):  # for longer than it was lent, each well before its time on a busy machine too
        time.sleep(0.4 * LENT)
        last = time.monotonic()
        say(process, b"renew\n")
    assert journal.exists() and process.poll() is None
    assert process.wait(60) == 0 and time.monotonic() - last >= LENT
    assert not journal.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_no_ordinary_signal_ends_it(journal: Journal, number: int) -> None:
    process = armed(journal, 60)
    process.send_signal(number)
    assert process.poll() is None and journal.exists()
    process.communicate()  # now its holder is gone, and it does what it is there for
    assert process.returncode == 0 and not journal.exists()


def test_while_it_acts_nobody_else_touches_the_settings(journal: Journal) -> None:
    process = armed(journal, 60)
    journal.unlock()  # the holder is gone; the undo has the lock as well
    assert journal.lent() and not overview.left_behind(journal.folder) and not Journal(journal.folder).lock()
    process.communicate()
    assert not journal.lent()


async def test_one_that_is_killed_is_replaced(journal: Journal) -> None:
    undo = Undo(60)
    await undo.arm(journal)
    first = undo._process
    assert first
    os.kill(first.pid, signal.SIGKILL)
    async with asyncio.timeout(10):
        while undo._process is first:
            await asyncio.sleep(0.02)
    await undo.renew()
    await undo.stand_down()
    assert journal.exists()


async def test_a_lease_that_ran_out_says_so_and_has_been_put_back(journal: Journal) -> None:
    undo = Undo(1.0)
    await undo.arm(journal)
    assert undo._process
    await asyncio.wait_for(undo._process.wait(), 10)
    with pytest.raises(settings.SettingsError, match="had run out"):
        await undo.renew()
    assert not journal.exists()
    await undo.stand_down()


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
    assert overview.left_behind() is False, (own_state / NAME).read_text()


def test_what_is_on_loan_is_told_with_its_time_left(own_state: Path) -> None:
    made = Journal(own_state)
    assert overview.on_loan(own_state) is None
    assert made.lock()
    made.write(Record("boot", (Entry("mtu", "llgone0", "1500", "9000"), Entry("flag", "llgone0:gso", "on")), 15.0))
    os.utime(own_state / "settings.journal", (0, time.time() - 5))
    seen = overview.on_loan(own_state)
    assert seen and seen.changes == ("mtu llgone0: 1500 -> 9000",) and not seen.left_behind
    assert seen.left is not None and 0 < seen.left <= 10
    made.renewed()
    renewed = overview.on_loan(own_state)
    assert renewed and renewed.left is not None and seen.left < renewed.left <= 15
    made.unlock()
    left = overview.on_loan(own_state)
    assert left and left.left_behind
    (own_state / "settings.journal").write_text("{")
    damaged = overview.on_loan(own_state)
    assert damaged and damaged.left_behind and made.exists(), "who only looks moves nothing aside"
