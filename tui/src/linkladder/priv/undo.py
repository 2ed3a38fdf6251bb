"""The undo of a loan: a process of root's own, armed before the first change, that nobody but root can kill.

`linkladder-measure undo` gets a socket as its standard input: first one line of JSON, with the seconds of the loan, the
steps that bring the old values back (each a measuring verb, checked like any other) and the holder's folder; with that
line comes the locked journal, so that no other lease starts before this process is gone. Then lines `renew` and `done`;
what it says itself, `armed` and `acted`, goes the other way.
If the socket closes, or brings nothing for that many seconds of the monotonic clock, the steps are carried out. The
holder's own linkladder, as the holder's user, notes before them what something else has changed meanwhile, and after
them reads the values back and clears the journal or says what is wrong.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable

from linkladder.priv import audit
from linkladder.priv.checks import Refused, exactly, one_of
from linkladder.priv.running import ENVIRONMENT, Failed, run

Step = list[str] | Callable[[], None]
Build = Callable[[str, list[str]], list[Step]]
ARMED, ACTED = b"armed\n", b"acted\n"
LONGEST = 600.0  # seconds of a loan
MOST_BYTES, MOST_STEPS = 32768, 200
MOST_UNREAD = 256  # bytes without the end of a line, of a holder who has two short words to say
PATIENCE = 10.0  # seconds within which it must be said what is to be undone
REVERSING = ("mtu", "moderation", "queues", "ring", "queue-core", "iface-flags", "sysctl", "module", "lagg", "member")
SLOTS = 32  # such processes at once, as they are not counted as the caller's
SLOT = "/var/run/linkladder-undo.{}"
LOOK = 5.0  # seconds for what looks before the steps, as they must not wait for a user's process that hangs
READ_BACK = 300.0  # seconds for what reads back after them, as it holds the journal's lock and one of the slots
IGNORED = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN,
    signal.SIGTTOU,
)  # fmt: skip
UNLIMITED = (resource.RLIMIT_CPU, resource.RLIMIT_DATA, resource.RLIMIT_AS)  # root may lift them again
PASSES = 3  # rounds, as an offload may need another one to be restored first


def undo_steps(args: list[str], build: Build) -> list[Step]:
    """undo, with everything else on standard input; `build` makes the steps of a measuring verb"""
    exactly(args)
    return [lambda: serve(build)]


def serve(build: Build) -> None:
    """Wait until the holder is done, silent or gone; unless it is done, bring the old values back."""
    _on_own_terms()
    user = _holder()
    slot = _slot()
    line, rest, lock = _heard()
    folder, seconds, steps = _checked(line, build)
    _say(ARMED)
    if _wait(0, seconds, rest) == "done":
        return
    _say(ACTED)
    _as_holder(user, folder, lock, LOOK, "look")
    for _ in range(PASSES):
        if not [words for words, parts in steps if not _done(words, parts)]:
            break
    _as_holder(user, folder, lock, READ_BACK)
    os.close(slot)


def _on_own_terms() -> None:
    """Undo what a caller may have handed down to end this process before it has acted: signals, also of a terminal's
    keys, children that nobody may wait for, and limits."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for limit in UNLIMITED:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _holder() -> pwd.struct_passwd | None:
    """The user who came through doas or sudo; None if root itself called."""
    name, uid = os.environ.get("DOAS_USER", ""), os.environ.get("SUDO_UID", "")
    try:
        return pwd.getpwnam(name) if name else pwd.getpwuid(int(uid)) if uid else None
    except (KeyError, ValueError):
        raise Failed(f"there is no user {(name or uid)[:40]!a}") from None


def _slot() -> int:
    """The lock of a free slot, which is held to the end of this process."""
    for number in range(SLOTS):
        taken = os.open(SLOT.format(number), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(taken, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(taken)
        else:
            return taken
    raise Failed(f"{SLOTS} loans are out already")


def _heard() -> tuple[bytes, bytes, list[int]]:
    """The first line, what came after it, and the first descriptor that came with it, if one did."""
    data, lock = b"", list[int]()
    deadline = time.monotonic() + PATIENCE
    with socket.socket(fileno=os.dup(0)) as source:
        while b"\n" not in data:
            if not select.select([source], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise Failed("nobody said in time what is to be undone")
            more, descriptors, *_ = socket.recv_fds(source, 4096, 1)
            data, lock = data + more, lock or descriptors
            for spare in descriptors if lock is not descriptors else ():
                os.close(spare)
            if not more or len(data) > MOST_BYTES:
                raise Failed("nobody said what is to be undone")
    line, _, rest = data.partition(b"\n")
    return line, rest, lock


def _checked(line: bytes, build: Build) -> tuple[str, float, list[tuple[list[str], list[Step]]]]:
    """The holder's folder, the seconds and the steps; Failed if one of them would be refused when it is needed."""
    try:
        asked = json.loads(line)
        folder, seconds, wanted = asked["folder"], float(asked["seconds"]), asked["steps"]
        words = [[word for word in one if isinstance(word, str)] for one in wanted]
        if not isinstance(folder, str) or words != wanted or not 0 < seconds <= LONGEST or len(words) > MOST_STEPS:
            raise ValueError
        return folder, seconds, [(one, build(one_of(one[0], "verb", REVERSING), one[1:])) for one in words]
    except Refused as refusal:
        raise Failed(f"it could not be undone: {refusal}") from None
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, OverflowError):
        raise Failed("what is to be undone is not said as it must be") from None


def _say(word: bytes) -> None:
    with contextlib.suppress(OSError):  # the holder may be gone already, which is no reason not to restore
        os.write(0, word)


def _wait(source: int, seconds: float, rest: bytes) -> str:
    """Read lines until the end: 'done' was read, the input 'closed' or had an endless line, or it was 'silent'."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        *words, rest = rest.split(b"\n")
        if b"done" in words:
            return "done"
        if len(rest) > MOST_UNREAD:
            return "closed"
        if not select.select([source], [], [], left)[0]:
            continue
        try:
            data = os.read(source, 4096)
        except ConnectionResetError:  # the holder died before it had read what was said to it
            data = b""
        if not data:
            return "closed"
        rest += data
        deadline = time.monotonic() + seconds
    return "silent"


def _done(words: list[str], parts: list[Step]) -> bool:
    try:
        for part in parts:
            if callable(part):
                part()
            else:
                run(part, watch_caller=False)
    except Exception as problem:  # whatever is wrong with one step, the others are still to be done
        audit.write(["undo", *words], f"failed {problem}")
        return False
    audit.write(["undo", *words], "done")
    return True


def _as_holder(user: pwd.struct_passwd | None, folder: str, lock: list[int], limit: float, *words: str) -> None:
    """As the holder's user, have the holder's own linkladder see to the journal; killed after `limit` seconds.

    Nothing that comes of it keeps the steps from being done: neither a process that cannot be started, nor one that is
    stopped, nor one that not even a kill ends, as it waits for a file system. That one is left to itself.
    """
    try:
        child = os.fork()
    except OSError as problem:
        audit.write(["undo", "as-holder", *words], f"failed {problem}")
        return
    if child:
        last = time.monotonic() + limit
        while not os.waitpid(child, os.WNOHANG)[0]:
            if time.monotonic() > last:
                os.kill(child, signal.SIGKILL)
                audit.write(["undo", "as-holder", *words], f"killed after {limit:g} s")
                return
            time.sleep(0.01)
        return
    try:
        if user:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        for descriptor in lock:
            os.set_inheritable(descriptor, True)
        os.chdir("/")
        argv = [sys.executable, "-I", "-m", "linkladder.settings", folder, *words]
        os.execve(sys.executable, argv, ENVIRONMENT)
    finally:
        os._exit(127)
