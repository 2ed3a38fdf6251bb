"""Chooses the address by which the channel to a peer is opened: preferably one whose cards no test loads, so that an
outage of the tested path does not cut the channel too.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from linkladder import host
from linkladder.errors import LinkladderError
from linkladder.model import Path
from linkladder.peer.ends import FarEnd, PeerLost
from linkladder.trust import peers
from linkladder.trust.calling import Call
from linkladder.trust.channel import UNREACHED, explain_ssh_failure

Card = Callable[[str], str]  # returns the card by which packets to an address leave; '' without a route


class Connector:
    """Opens channels to paired appliances; `paths` are those that tests will load. A peer may have been called."""

    def __init__(self, paths: Sequence[Path] = (), called: Call | None = None) -> None:
        self._paths, self._called = tuple(paths), called
        self._silent: set[tuple[str, str]] = set()  # (peer, address) pairs that did not answer lately
        self._begun: dict[str, asyncio.Task[FarEnd]] = {}

    def begin(self, names: Iterable[str]) -> None:
        """Begin to connect to these peers; whoever then asks for one waits for what is left of that."""
        for name in filter(None, names):
            self._begun[name] = asyncio.create_task(self._connect(name))

    async def close(self) -> None:
        """Close the channels that were begun and that nobody asked for."""
        for task in self._begun.values():
            task.cancel()
        for far in await asyncio.gather(*self._begun.values(), return_exceptions=True):
            if isinstance(far, FarEnd):
                await far.close()
        self._begun.clear()

    async def __call__(self, name: str) -> FarEnd:
        """Connect to the paired appliance `name`; raises a LinkladderError that tells a person what to do."""
        begun = self._begun.get(name)
        if begun is None:
            return await self._connect(name)
        try:
            far = await begun
        except Exception:  # of a cancellation, `close` ends what was begun
            del self._begun[name]
            raise
        del self._begun[name]
        return far

    async def _begun_call(self, name: str, address: str) -> subprocess.Popen[bytes] | None:
        """The call to this peer at this address; one at another address is ended, as tests may load that."""
        call = self._called
        if call is None or call.name != name:
            return None
        self._called = None
        begun = call.taken(name, address)
        await asyncio.to_thread(call.end)
        return begun

    async def _connect(self, name: str) -> FarEnd:
        peer = peers.find(name)
        silent = {address for one, address in self._silent if one == name}
        order = in_order(peer.addresses, name, self._paths, silent) if peer.addresses else iter(("",))
        failures: list[LinkladderError] = []
        while (address := await asyncio.to_thread(next, order, None)) is not None:
            begun = await self._begun_call(name, address)
            argv = peers.ssh_command(peer, address or None)
            try:
                far = await FarEnd.open(name, argv, socket.gethostname(), begun)
            except PeerLost as error:
                failures.append(explain_ssh_failure(str(error), 255))
                self._silent.add((name, address))
                continue
            self._silent.discard((name, address))
            far.address = address
            try:
                far.card = await asyncio.to_thread(host.route_interface, address)
            except BaseException:  # nobody else knows of the channel yet
                await far.close()
                raise
            return far
        # what the peer itself answered says more than that its other addresses do not answer
        raise next((f for f in failures if f.title not in UNREACHED), failures[0])


async def connect(name: str) -> FarEnd:
    """Connect to the paired appliance `name` when no test will load a path."""
    return await Connector()(name)


def in_order(
    addresses: Sequence[str],
    name: str,
    paths: Sequence[Path],
    silent: Collection[str] = (),
    card: Card = host.route_interface,
) -> Iterator[str]:
    """Yield the addresses in the order to try: those that are not silent first, and of them those that no path loads.

    They are yielded one by one, as checking each address starts a program, and mostly the first one answers.
    """
    tested = {one for path in paths for one in _theirs(path, name)}
    cards = {_own_card(path, card) for path in paths if path.remote and not path.origin} - {""}

    def loaded(address: str) -> bool:
        return address in tested or card(address) in cards

    later = []
    for address in addresses:
        if paths and (address in silent or loaded(address)):
            later.append(address)
        else:
            yield address
    yield from sorted(later, key=lambda address: (address in silent, address in silent and loaded(address)))


def _theirs(path: Path, name: str) -> tuple[str, ...]:
    """The addresses of the peer `name` that the path uses."""
    return tuple(a for who, a in ((path.peer, path.remote), (path.origin, path.local)) if who == name and a)


def _own_card(path: Path, card: Card) -> str:
    return path.local_interface or (host.interface_of(path.local) if path.local else card(path.remote))
