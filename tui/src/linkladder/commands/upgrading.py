"""`linkladder system upgrade`: installs a new system from a signed file, which is kept only if it proves healthy."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import time
from collections.abc import Callable
from typing import Any

from linkladder import __version__, privilege, state, upgrading
from linkladder.errors import LinkladderError, UsageError, in_a_line
from linkladder.findings import Health
from linkladder.upgrade.status import key_words, status

HEALTHY = "healthy"  # the word for which /usr/local/libexec/linkladder-slot looks in the output
USAGE = (
    "linkladder system upgrade FILE|https://...|stick [--downgrade] [--yes]\n       linkladder system upgrade --status"
)


def add_parser(kinds: Any, ask: Callable[[str], None]) -> None:
    one = kinds.add_parser("upgrade", help="a new system by a signed file; kept if it proves healthy", usage=USAGE)
    one.add_argument("source", nargs="?", metavar="FILE|https://...|stick")
    one.add_argument("--status", action="store_true", help="which system runs, and what became of the last upgrade")
    one.add_argument("--downgrade", action="store_true", help="an older system than the one that runs, all the same")
    one.add_argument("--yes", action="store_true", help="do not ask, and do not reboot")
    one.add_argument("--healthy", action="store_true", help=argparse.SUPPRESS)
    one.set_defaults(handler=lambda args: _handler(args, ask))


def _handler(args: argparse.Namespace, ask: Callable[[str], None]) -> int:
    if args.status:
        now = status()
        print(f"{now.words}{f' ({now.slot})' if now.slot else ''}\nupgrades are verified by {key_words()}")
        return 0
    if args.healthy:
        faults = asyncio.run(_faults())
        print("\n".join(faults) or HEALTHY)
        return 1 if faults else 0
    if not args.source:
        raise UsageError("upgrade to what?", hint=f"give {upgrading.WORDS}; --status tells how it stands")
    privilege.need_appliance("upgrade")
    asyncio.run(_upgrade(args, ask))
    return 0


async def _upgrade(args: argparse.Namespace, ask: Callable[[str], None]) -> None:
    from linkladder import doctor  # imported late, as it needs much else

    progress = _Line()
    async with upgrading.obtained(args.source, progress) as (file, manifest):
        progress.end()
        upgrading.admitted(manifest, downgrade=args.downgrade)
        if not args.yes:
            ask(f"Upgrade {__version__} to {manifest.version}, built {manifest.built}? State and runs are kept.")
        upgrading.note_red(f.title for f in doctor.examine() if f.state == Health.BAD)
        said = await upgrading.write(file, progress, downgrade=args.downgrade)
        progress.end()
    print(said)
    if args.yes:
        print("linkladder system reboot starts it")
        return
    ask("Reboot into it now?")
    await privilege.run("reboot")


class _Line:
    """Prints progress: on a terminal in one line that is rewritten, elsewhere a line every ten seconds."""

    def __init__(self) -> None:
        self._next, self._open = 0.0, False

    def __call__(self, what: str, done: int, total: int, seconds: float) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        terminal = sys.stderr.isatty()
        self._next = now + (0.5 if terminal else 10.0)
        text = upgrading.line(what, done, total, seconds)
        print(f"\r\033[K{text}" if terminal else text, end="" if terminal else "\n", file=sys.stderr, flush=True)
        self._open = terminal

    def end(self) -> None:
        if self._open:
            print(file=sys.stderr)
        self._open = False


async def _faults() -> list[str]:
    """What does not work on this new system but worked on the one before: reasons not to keep it.

    Nothing is asked of the measuring user, who could otherwise bring the earlier system back: this user answers as an
    agent itself, and what that user's files say, or how much room they leave, does not count.
    """
    from linkladder import doctor, wire
    from linkladder.agent import Service
    from linkladder.store import DiskFull, Store

    faults = []
    try:
        with contextlib.suppress(DiskFull):
            Store(state.folder()).close()
        end = Service(lambda event: None)
        async with asyncio.timeout(120):
            await end.do(wire.Facts())
        await end.close()
    except (LinkladderError, OSError, TimeoutError) as error:
        faults.append(in_a_line(error) or "an agent does not answer")
    known = upgrading.noted_red()
    found = await asyncio.to_thread(doctor.examine, of_measuring=False)
    faults += [f"{f.title}: {f.detail}" for f in found if f.state == Health.BAD and f.title not in known]
    return faults
