"""Calls a peer before all else: ssh and the agent there take as long to start as this end takes to import the rest."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from linkladder import state
from linkladder.errors import LinkladderError
from linkladder.parent import die_with_parent
from linkladder.trust import files, peers

WAIT = 2.0  # seconds for ssh to end that nobody needs any more


def start(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the channel by the command `argv`; it ends with this process."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        argv, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, preexec_fn=die_with_parent
    )


@dataclass
class Call:
    """A peer that is being called at one of its addresses."""

    name: str
    address: str
    _channel: subprocess.Popen[bytes] | None

    def taken(self, name: str, address: str) -> subprocess.Popen[bytes] | None:
        """The channel, for whoever wants this peer at this address; once."""
        if (name, address) != (self.name, self.address):
            return None
        channel, self._channel = self._channel, None
        return channel

    def end(self) -> None:
        """Hang up if nobody has taken the channel."""
        if channel := self.taken(self.name, self.address):
            channel.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                channel.communicate(timeout=WAIT)


def call(name: str = "") -> Call | None:
    """Call this peer, or the only one if none is named; None if there is none to call, which others explain."""
    try:
        files.check_state(state.folder())
        known = peers.load()
        wanted = [peer for peer in known if peer.name == name] if name else list(known)
        if len(wanted) != 1 or not wanted[0].addresses:
            return None
        peer, address = wanted[0], wanted[0].addresses[0]
        return Call(peer.name, address, start(peers.ssh_command(peer, address)))
    except (LinkladderError, OSError):
        return None
