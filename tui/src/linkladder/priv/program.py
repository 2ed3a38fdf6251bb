"""The helper's main program, from the command line to the exit status."""

from __future__ import annotations

import os
import select
import signal
import stat
import sys

from linkladder.priv import audit
from linkladder.priv.checks import DONE, FAILED, REFUSED, Refused
from linkladder.priv.running import TIMED, Failed, run
from linkladder.priv.verbs import MEASURE, OPERATOR, build

TRANSPARENT = ("ping",)  # a measuring tool, whose own output and exit status are passed on unchanged
OUTLIVING = ("undo",)  # which is there for the time when its caller is gone
HIGHEST_DESCRIPTOR = 1024
TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


def main() -> int:
    """python -m linkladder.priv CLASS VERB ARGUMENT..., started only by root and root's scripts"""
    return serve(sys.argv[1:])


def operator() -> int:
    """linkladder-priv VERB ARGUMENT..., for the console user"""
    return serve([OPERATOR, *sys.argv[1:]])


def measure() -> int:
    """linkladder-measure VERB ARGUMENT..., for the measuring user"""
    return serve([MEASURE, *sys.argv[1:]])


def serve(words: list[str]) -> int:
    """Check a request and carry it out, with a line in the audit in any case; returns the exit status."""
    _without_timers()
    system = "FreeBSD" if sys.platform.startswith("freebsd") else "Linux"
    try:
        if len(words) < 2:
            raise Refused("class" if not words else "verb", "is missing")
        steps = build(words[0], words[1], words[2:], system)
    except Refused as refusal:
        return _end(words, f"refused {refusal}", str(refusal), REFUSED)
    if os.geteuid() != 0:
        return _end(words, "refused", "not started as root", REFUSED)
    os.closerange(3, HIGHEST_DESCRIPTOR)
    os.umask(0o022)
    os.chdir("/")
    audit.write(words, "started")
    try:
        for step in steps:
            if words[1] not in OUTLIVING and _caller_gone():
                raise Failed("who asked for it has gone")
            if callable(step):
                step()
            else:
                run(step)
    except (Failed, OSError) as problem:
        if words[1] in TRANSPARENT and isinstance(problem, Failed) and problem.code > 0:
            return _end(words, f"failed {problem}", "", problem.code)
        return _end(words, f"failed {problem}", str(problem), FAILED)
    return _end(words, "done", "", DONE)


def _caller_gone() -> bool:
    """Whether the pipe or socket on standard input is closed: who asked has put the settings back by then, or the undo
    process has, and what would be changed now would stay.
    """
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return False
    poll = select.poll()
    poll.register(0, 0)  # a hang-up is told in any case
    return any(events & select.POLLHUP for _, events in poll.poll(0))


def _without_timers() -> None:
    """Let no timer end this process that its caller has set: they outlast the start of another program."""
    for number in TIMED:
        signal.signal(number, signal.SIG_IGN)
    for timer in TIMERS:
        signal.setitimer(timer, 0)


def _end(words: list[str], outcome: str, message: str, code: int) -> int:
    audit.write(words, outcome)
    if message:
        print(f"linkladder-priv: {message}", file=sys.stderr)
    return code
