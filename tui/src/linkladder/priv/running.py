"""Starts programs without a shell and with a fixed environment, and ends them if the caller goes away."""

from __future__ import annotations

import os
import select
import signal
import stat
import sys

ENVIRONMENT = {"PATH": "/sbin:/bin:/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin", "LC_ALL": "C", "HOME": "/"}
GRACE_MS = 500
TIMED = (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF)  # what a timer ends a process by
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
FALLBACKS = {"/usr/sbin/": "/sbin/", "/usr/bin/": "/bin/"}


class Failed(Exception):
    """A request was tried and did not work; `code` is the program's exit status, if it had one."""

    def __init__(self, why: str, code: int = 0) -> None:
        super().__init__(why)
        self.code = code


def program(path: str) -> str:
    """The program's path, which on some systems is below / instead of /usr; raises Failed if it is missing."""
    if os.access(path, os.X_OK):
        return path
    for usual, other in FALLBACKS.items():
        if path.startswith(usual) and os.access(other + path[len(usual) :], os.X_OK):
            return other + path[len(usual) :]
    raise Failed(f"{path} is not installed")


def capture(argv: list[str]) -> str:
    """The standard output of a program; '' if it is not installed."""
    if not os.access(argv[0], os.X_OK):
        return ""
    reading, writing = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(argv[0], argv, ENVIRONMENT, file_actions=actions)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


def feed(argv: list[str], text: str) -> None:
    """Run a program that reads a short text from its standard input; raises Failed if its exit status is not 0."""
    path = program(argv[0])
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    actions = [(os.POSIX_SPAWN_DUP2, reading, 0)]
    child = os.posix_spawn(path, [path, *argv[1:]], ENVIRONMENT, file_actions=actions)
    os.close(reading)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise Failed(f"{path} ended with {code}", max(0, code))


def run(argv: list[str], watch_caller: bool = True) -> None:
    """Run a program to its end with this process's standard output and error; raises Failed if its status is not 0.

    With `watch_caller`, when the pipe on standard input closes, the caller has gone: the program is interrupted, which
    lets ping print its summary, and killed if that does not end it.
    """
    path = program(argv[0])
    reading, writing = os.pipe()  # its writing end closes with the child, which wakes poll()
    os.set_inheritable(writing, True)
    actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    sys.stdout.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # an early signal waits until it can be passed on to the child
    child = os.posix_spawn(
        path,
        [path, *argv[1:]],
        ENVIRONMENT,
        file_actions=actions,
        setsigmask=(),
        setsigdef=[signal.SIGPIPE, signal.SIGINT, *TIMED],  # ping has a timer of its own
    )
    os.close(writing)
    for number in ENDING:
        signal.signal(number, lambda *_: os.kill(child, signal.SIGINT))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    _wait(child, reading, watch_caller)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code:
        raise Failed(f"{path} ended with {code}" if code > 0 else f"{path} was ended by signal {-code}", code)


def _wait(child: int, reading: int, watch_caller: bool) -> None:
    """Wait until the child has ended, and end it if the caller goes away."""
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    if watch_caller and _is_pipe(0):
        poll.register(0, select.POLLIN)
    signals = [signal.SIGINT, signal.SIGKILL]
    timeout: int | None = None
    while True:
        events = poll.poll(timeout)
        if any(descriptor == reading for descriptor, _ in events):
            return
        if events and os.read(0, 4096):
            continue  # what is written to standard input is ignored
        if events:
            poll.unregister(0)
        if signals:
            os.kill(child, signals.pop(0))
        timeout = GRACE_MS if signals else None


def _is_pipe(descriptor: int) -> bool:
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
