"""Starts the privileged helper; what it may do is decided in `linkladder.priv`, as root.

Each user may start only one program by FreeBSD's doas or Linux's sudo, which decides what the user may ask for:
  doas.conf   permit nopass CONSOLE as root cmd /usr/local/libexec/linkladder-priv
              permit nopass MEASURER as root cmd /usr/local/libexec/linkladder-measure
  sudoers     CONSOLE ALL=(root) NOPASSWD: /usr/local/libexec/linkladder-priv
The first knows every verb, the second only the measuring verbs; a process that serves measurements uses the second,
whatever user it runs as. Root runs the same code directly.

An unprivileged parent cannot send signals to a privileged child. So the child ends when the pipe on its standard input
closes: start it with stdin=PIPE and close that to stop it (stdin=DEVNULL is never watched). Until it has ended, which
may take as long as starting does, it may still do what it was asked: `run` waits for that, and `all_ended` tells.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from linkladder import host
from linkladder.errors import EnvironmentFault, UsageError
from linkladder.host.programs import TOOLS_PATH as PATH
from linkladder.priv.checks import LIMIT

HELPER = "/usr/local/libexec/linkladder-priv"
NARROW = "/usr/local/libexec/linkladder-measure"
ENVIRONMENT = {"PATH": PATH, "LC_ALL": "C"}
PREFIX = "linkladder-priv: "
LAST_WAIT = 40.0  # seconds for the helper to end once it is let go; on a small, busy machine it may still be starting
NAMES = {"kernel": "kernel-next", "mtu": "frames"}  # shorter names that people use -> verbs
_class = "operator"
_ending: dict[asyncio.Task[None], float] = {}  # uses that were let go and have not ended; until when that is waited for


@dataclass(frozen=True)
class Completed:
    """The result of using the helper; code 0 is done, 1 tried and failed, 2 refused before anything was done."""

    code: int
    output: str
    errors: str

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def reason(self) -> str:
        """The last line of the program that failed, or else of the helper, for a person."""
        lines = (self.errors or self.output).strip().splitlines()
        theirs = [line for line in lines if not line.startswith(PREFIX)]
        last = (theirs or lines)[-1:] or [f"it ended with {self.code}"]
        return last[0].removeprefix(PREFIX)


def restrict() -> None:
    """Make this process ask only for measuring verbs from now on; an agent calls it first."""
    global _class
    _class = "measure"


def available() -> str:
    """'' if the helper can be reached, else why not."""
    if os.geteuid() == 0:
        return ""
    if not os.access(_installed(), os.X_OK):
        return f"{_installed()} is not installed"
    return "" if shutil.which(_door(), path=PATH) else f"{_door()} is not installed"


def need_appliance(what: str) -> None:
    """Raise an error if `what`, which changes an appliance, is asked for on another machine."""
    if host.system() != "FreeBSD":
        raise UsageError(f"{what} changes an appliance", f"this is {host.system()}, which its owner sets up")


def command(verb: str, *args: str) -> list[str]:
    """The whole command line for a verb."""
    if os.geteuid() == 0:
        return [sys.executable, "-I", "-m", "linkladder.priv", _class, verb, *args]
    path = shutil.which(_door(), path=PATH)
    if path is None:
        why = f"{_door()} is not installed"
        raise EnvironmentFault(f"{verb} needs root", why, "run linkladder as root, or install it")
    return [path, "-n", _installed(), verb, *args]


def wrap(argv: Sequence[str]) -> list[str]:
    """The command line that runs a tool as root; only ping can be run so, and the helper checks each option."""
    name = os.path.basename(argv[0])
    if name not in ("ping", "ping6"):
        raise ValueError(f"{name} is not run with privilege")
    return command("ping", *argv[1:])


async def run(verb: str, *args: str, timeout: float = 60.0, said: str = "") -> Completed:
    """Use the helper once, with `said` on its standard input; errors of the helper are returned, not raised."""
    for place, text in enumerate(args, 1):
        if "\0" in text or len(text) > LIMIT:  # a command line cannot contain this
            return Completed(2, "", f"argument {place}: too long, or holds a character that is not allowed")
    argv = command(verb, *args)
    starting = asyncio.create_task(
        asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=ENVIRONMENT,
            cwd="/",
        )
    )
    try:
        process = await asyncio.shield(starting)  # cancelling it would be a kill, which root's process is safe from
    except (OSError, ValueError) as error:
        return Completed(2, "", f"{argv[0]}: {error}")
    except asyncio.CancelledError:
        await _let_go(starting)
        raise
    assert process.stdin
    process.stdin.write(said.encode())
    reading = asyncio.gather(_read(process.stdout), _read(process.stderr), process.wait())
    try:
        async with asyncio.timeout(timeout):
            output, errors, code = await reading
    except TimeoutError:
        await _let_go(starting)
        return Completed(1, "", f"{verb} did not end within {timeout:g} s")
    except asyncio.CancelledError:
        await _let_go(starting)
        raise
    process.stdin.close()
    return Completed(code, output, errors)


async def all_ended() -> bool:
    """Wait for the uses that were let go, each for LAST_WAIT at most; whether none can change anything any more."""
    here = asyncio.get_running_loop()
    found = {task: until for task, until in _ending.items() if task.get_loop() is here}
    for task, until in found.items():
        await asyncio.wait({task}, timeout=max(0.0, until - time.monotonic()))
    return all(task.done() and not task.cancelled() for task in found)


def _door() -> str:
    return "doas" if host.system() == "FreeBSD" else "sudo"


def _installed() -> str:
    return NARROW if _class == "measure" else HELPER


async def _read(stream: asyncio.StreamReader | None) -> str:
    assert stream is not None
    return (await stream.read()).decode("utf-8", "replace")


async def _let_go(starting: asyncio.Task[asyncio.subprocess.Process]) -> None:
    """End the helper by closing its standard input, which works whatever user it runs as, and wait for its end."""
    task = asyncio.create_task(_end(starting))
    _ending[task] = time.monotonic() + LAST_WAIT
    task.add_done_callback(lambda ended: _ending.pop(ended, None))
    await asyncio.wait({task}, timeout=LAST_WAIT)


async def _end(starting: asyncio.Task[asyncio.subprocess.Process]) -> None:
    with contextlib.suppress(OSError, ValueError):  # it was not even started
        process = await starting
        if process.stdin:
            process.stdin.close()
        await process.wait()
