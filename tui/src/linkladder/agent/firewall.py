"""Opens the test ports to the peers of the running trial, if this machine has linkladder's firewall."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence

from linkladder import host, privilege, wire

LINGER = 1.0  # seconds that the ports stay open after a trial, in case another with the same peers follows
NOBODY: frozenset[tuple[str, str]] = frozenset()


class Firewall:
    """The ports that one agent has opened in the firewall; `at_end` has a command run should the agent be killed."""

    def __init__(self, at_end: Callable[[Sequence[str]], None]) -> None:
        self._at_end = at_end
        self._wanted = NOBODY
        self._open: frozenset[tuple[str, str]] | None = NOBODY  # None: a change was not seen to its end
        self._over = False  # the trial that they were opened for
        self._one = asyncio.Lock()
        self._closing: asyncio.Task[None] | None = None

    async def open(self, own: str, peer: str) -> None:
        """Open the test ports to the peer, on the interface of our address; the peers of an earlier trial lose them."""
        if not active() or peer == own:
            return
        if self._closing:
            self._closing.cancel()
        if self._over:
            self._wanted, self._over = NOBODY, False
        self._wanted |= {(host.interface_of(own), peer)}
        await self._apply()

    async def shut(self, own: str, peer: str) -> None:
        """Close the ports to one that has not shown that it takes part."""
        self._wanted -= {(host.interface_of(own), peer)}
        await self._apply()

    def trial_over(self) -> None:
        """Close the ports a little later, since another trial may follow at once."""
        self._over = True
        if self._open != NOBODY:
            if self._closing:
                self._closing.cancel()
            self._closing = asyncio.create_task(self._close_later())

    async def close(self) -> None:
        self._wanted = NOBODY
        await self._apply()

    async def _close_later(self) -> None:
        await asyncio.sleep(LINGER)
        self._closing = None  # so that nothing cancels it once it closes the ports
        await self.close()

    async def _apply(self) -> None:
        async with self._one:
            wanted = self._wanted
            if wanted == self._open:
                return
            self._open = None
            words = [word for pair in sorted(wanted) for word in pair]
            if words:
                self._at_end(privilege.command("trial-close"))
            done = await (privilege.run("trial-open", *words) if words else privilege.run("trial-close"))
            if not done.ok:
                raise wire.Refused(f"the firewall cannot be set for a trial: {done.reason}")
            if not words:
                self._at_end(())
            self._open = wanted


def active() -> bool:
    """Whether a firewall is there: FreeBSD's pf, or the rules that the lab has loaded."""
    return os.path.exists("/dev/pf") if host.system() == "FreeBSD" else "LINKLADDER_FIREWALL" in os.environ
