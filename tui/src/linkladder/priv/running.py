"""Starting a program without a shell, in an environment made anew, and not letting it outlive who asked."""

from __future__ import annotations

import os
import select
import signal
import stat
import sys

ENVIRONMENT = {"PATH": "/sbin:/bin:/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin", "LC_ALL": "C", "HOME": "/"}
GRACE_MS = 500
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
FALLBACKS = {"/usr/sbin/": "/sbin/", "/usr/bin/": "/bin/"}


class Failed(Exception):
    """It was allowed, was tried, and did not work; `code` is the program's own exit status, if it had one."""

    def __init__(self, why: str, code: int = 0) -> None:
        super().__init__(why)
        self.code = code


def program(path: str) -> str:
    """The program; some systems keep it in / rather than /usr."""
    if os.access(path, os.X_OK):
        return path
    for usual, other in FALLBACKS.items():
        if path.startswith(usual) and os.access(other + path[len(usual) :], os.X_OK):
            return other + path[len(usual) :]
    raise Failed(f"{path} is not installed")


def capture(argv: list[str]) -> str:
    """What a program prints; '' if it is not there."""
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
    """Run a program that reads a short text from its standard input; Failed if it did not end well."""
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
    """Run a program to its end, on our standard output and error; Failed if it did not end well.

    When the pipe on our standard input closes, whoever asked has lost interest or died.  If that is to be heeded the
    program is interrupted, which lets ping print its summary, and killed if that does not end it.
    """
    path = program(argv[0])
    reading, writing = os.pipe()  # its writing end closes with the child, which wakes poll()
    os.set_inheritable(writing, True)
    actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    sys.stdout.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # one that comes before it can be passed on waits until it can
    child = os.posix_spawn(
        path,
        [path, *argv[1:]],
        ENVIRONMENT,
        file_actions=actions,
        setsigmask=(),
        setsigdef=[signal.SIGPIPE, signal.SIGINT],
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
    """Until the child is gone, or has been made to go."""
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
            continue  # words on standard input mean nothing
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
