"""One run at a time on an appliance; who looks at it does not take it."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from linkladder.reservation import Reservation, holder

HOLDS = """
import time
from linkladder.reservation import Reservation
mine = Reservation()
print(mine.take("alpha, run 1"), flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("LINKLADDER_STATE", str(tmp_path))
    return tmp_path


def test_the_second_is_told_who_holds_it_and_a_look_costs_nobody_anything() -> None:
    first, second = Reservation(), Reservation()
    assert holder() == ""
    assert first.take("alpha, run 1") is None
    assert holder() == "alpha, run 1"
    assert second.take("gamma, run 2") == "alpha, run 1"
    first.release()
    assert holder() == ""
    assert second.take("gamma, run 2") is None
    second.release()


def test_it_dies_with_its_holder() -> None:
    other = subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, text=True)
    assert other.stdout
    try:
        assert other.stdout.readline() == "None\n"
        assert holder() == "alpha, run 1"
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert holder() == ""
    finally:
        other.kill()
        other.stdout.close()
        other.wait()


def test_somebody_who_looks_at_that_moment_does_not_make_it_busy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Reservation()
    mine.take("x")
    mine.release()
    looking = os.open(folder / "run" / "trial.lock", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH | fcntl.LOCK_NB)
    monkeypatch.setattr("linkladder.locks.time.sleep", lambda _: os.close(looking))
    assert mine.take("alpha, run 1") is None
    mine.release()


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_who_looks_waits_for_no_pipe_and_follows_no_link(folder: Path, kind: str) -> None:
    """The folder is the measuring user's, and a broken tool may have put anything there; the console looks at it."""
    path = folder / "run" / "trial.lock"
    path.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        (folder / "secret").write_text("ll1-secret")
        path.symlink_to(folder / "secret")
    code = "from linkladder.reservation import holder; print(repr(holder()))"
    with open(folder / "held", "w") if kind == "pipe" else open(folder / "secret") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # of what is not held nothing is told in any case
        looking = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert looking.stdout == "''\n", looking.stderr


def test_who_takes_it_writes_into_nothing_that_a_link_leads_to(folder: Path) -> None:
    kept, path = folder / "kept", folder / "run" / "trial.lock"
    kept.write_text("kept")
    path.parent.mkdir()
    path.symlink_to(kept)
    mine = Reservation()
    with pytest.raises(OSError, match=r"trial\.lock"):
        mine.take("alpha, run 1")
    assert not mine.held and kept.read_text() == "kept"


def test_a_holder_cannot_speak_to_the_terminal() -> None:
    mine = Reservation()
    assert mine.take("alpha\x1b]0;x\x07\x9b2J") is None
    assert holder() == "alpha\ufffd]0;x\ufffd\ufffd2J"
    mine.release()
