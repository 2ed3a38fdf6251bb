"""The undo process acts whatever its holder has done: nothing of the holder's keeps the values from being put back."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from linkladder.settings.arming import ARMED
from linkladder.settings.journal import Journal
from undo_process import LOOPBACK, armed, asked, journal, started

__all__ = ["journal"]

root = pytest.mark.skipif(os.geteuid() != 0, reason="the helper works as root only")


TOUCHING = """
import os, pathlib, sys
from linkladder.priv import undo
undo.SLOT = sys.argv[1]
folder = pathlib.Path(sys.argv[1]).parent

def build(verb, words):
    return [lambda: (folder / "put-back").touch()]

{}
undo.serve(build)
"""


def test_what_goes_wrong_with_one_step_keeps_no_other_from_being_done(journal: Journal) -> None:
    odd = "build = lambda verb, words: [lambda: (folder / 'put-back').touch() if words[1] == '2' else {}['x']]"
    steps = (("mtu", LOOPBACK, "1"), ("mtu", LOOPBACK, "2"))
    undo = started(journal, asked(journal, 60, steps), TOUCHING.replace("{}", odd, 1))
    undo.said.close()
    assert undo.ended() == 0 and (journal.folder / "put-back").exists()


def test_where_nobody_can_look_before_it_the_steps_are_done(journal: Journal) -> None:
    full = "def fork(): raise BlockingIOError(11, 'no more processes')\nos.fork = fork"
    undo = armed(journal, 60, TOUCHING.format(full))
    undo.said.close()
    assert undo.ended() == 0 and (journal.folder / "put-back").exists()


def test_a_process_of_the_holders_that_no_kill_ends_is_not_waited_for(journal: Journal, tmp_path: Path) -> None:
    """As one that waits for a file system of its user's that does not answer."""
    hangs = tmp_path / "python"
    hangs.write_text(f"#!/bin/sh\necho $$ >>{tmp_path}/pids\nexec sleep 600\n")
    hangs.chmod(0o755)
    lasting = f"sys.executable = {str(hangs)!r}\nundo.LOOK = undo.READ_BACK = 0.5\nos.kill = lambda *_: None"
    undo = armed(journal, 60, TOUCHING.format(lasting))
    undo.said.close()
    try:
        assert undo.ended() == 0 and (journal.folder / "put-back").exists()
    finally:
        for pid in (tmp_path / "pids").read_text().split():
            os.kill(int(pid), signal.SIGKILL)


def test_a_holder_who_is_nobody_here_is_refused_before_anything_is_changed(journal: Journal) -> None:
    undo = started(journal, asked(journal, 60), env={"DOAS_USER": "no-such-user"})
    _, errors = undo.process.communicate(timeout=20)
    assert undo.process.returncode and b"there is no user 'no-such-user'" in errors and journal.exists()


def handed_down() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CPU, (1, resource.RLIM_INFINITY))


def test_it_acts_whatever_its_caller_has_handed_down(journal: Journal) -> None:
    """Children that nobody could wait for, and a limit that would kill it."""
    undo = armed(journal, 60, preexec_fn=handed_down)
    assert psutil.Process(undo.process.pid).rlimit(psutil.RLIMIT_CPU)[0] == psutil.RLIM_INFINITY
    undo.said.close()
    assert undo.ended() == 0 and not journal.exists()


WHOLE = """
import sys
from linkladder.priv import program, undo
undo.SLOT = sys.argv[1]
sys.exit(program.serve(["measure", "undo"]))
"""
TIMED = (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF)


def timers_handed_down() -> None:
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 1000.0)


@root
def test_no_timer_of_its_callers_ends_it(journal: Journal) -> None:
    """A timer goes on in the program that is executed, and its signal would end root's process before it has acted."""
    undo = armed(journal, 60, WHOLE)
    for number in TIMED:
        undo.process.send_signal(number)
    undo.said.close()
    assert undo.ended() == 0 and not journal.exists()
    shown = "undo.serve = lambda build: print(*(t for n in range(3) for t in program.signal.getitimer(n)))"
    show = WHOLE.replace("sys.exit", f"{shown}\nsys.exit")
    undo = started(journal, asked(journal, 60), show, preexec_fn=timers_handed_down)
    said, _ = undo.process.communicate(timeout=20)
    assert said.split() == [b"0.0"] * 6


@root
def test_what_a_verb_starts_has_the_use_of_its_own_timers(tmp_path: Path) -> None:
    """Ping ends itself by one, which it could not where the signal is ignored."""
    asks = "import signal; print([signal.getsignal(n) == signal.SIG_DFL for n in (signal.SIGALRM, signal.SIGPROF)])"
    whole = f"""
import sys
from linkladder.priv import program
program.build = lambda *_: [[sys.executable, "-I", "-c", {asks!r}]]
sys.exit(program.serve(["measure", "ping"]))
"""
    env = {**os.environ, "LINKLADDER_AUDIT": str(tmp_path / "audit")}
    done = subprocess.run([sys.executable, "-I", "-c", whole], capture_output=True, text=True, timeout=50, env=env)
    assert done.stdout == "[True, True]\n", done


def test_it_keeps_one_descriptor_of_all_that_it_is_sent(journal: Journal) -> None:
    """With many it could open nothing any more when it has to act."""
    one = armed(journal, 60)
    usual = psutil.Process(one.process.pid).num_fds()
    one.say(b"done\n")
    one.ended()
    line = asked(journal, 60)
    many = started(journal, line[:1])
    for n in range(1, 20):
        socket.send_fds(many.said, [line[n : n + 1]], [journal.descriptor])
    many.say(line[20:])
    assert many.said.recv(len(ARMED), socket.MSG_WAITALL) == ARMED
    assert psutil.Process(many.process.pid).num_fds() == usual
    many.say(b"done\n")
    assert many.ended() == 0
