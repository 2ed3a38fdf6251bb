"""Opens the firewall's test ports for a trial to its peers, each on one interface, and closes them again.

The other rules are the system's own (pf.conf; the lab's firewall.nft), and block the test ports for all others. A
trial's packets are passed without connection tracking, which would slow down what is to be measured.
"""

from __future__ import annotations

from collections.abc import Callable

from linkladder.priv.checks import Refused, address, exactly, interface
from linkladder.priv.running import feed

Step = list[str] | Callable[[], None]
PFCTL, NFT = "/sbin/pfctl", "/usr/sbin/nft"
ANCHOR, CHAIN = "trial", "inet linkladder trial"
FIRST, LAST = 5301, 5400
UNNAMED = 10000  # clients get their ports from here on
MOST = 64  # pairs of an interface and a peer in one trial


def open_steps(system: str, args: list[str]) -> list[Step]:
    """trial-open INTERFACE PEER [INTERFACE PEER]...: to these peers only"""
    exactly(args[:2], "interface", "peer")
    if len(args) % 2 or len(args) > 2 * MOST:
        raise Refused("arguments", f"expected an interface and a peer's address, and again, {MOST} times at most")
    pairs = [(interface(name), address(peer, "peer")) for name, peer in zip(args[::2], args[1::2], strict=True)]
    if system == "FreeBSD":
        text = "".join(_pf(name, peer) for name, peer in pairs)
        return [lambda: feed([PFCTL, "-q", "-a", ANCHOR, "-f", "-"], text)]
    text = f"flush chain {CHAIN}\n" + "".join(_nft(name, peer) for name, peer in pairs)
    return [lambda: feed([NFT, "-f", "-"], text)]


def close_steps(system: str, args: list[str]) -> list[Step]:
    """trial-close"""
    exactly(args)
    if system == "FreeBSD":
        return [[PFCTL, "-q", "-a", ANCHOR, "-F", "rules"]]
    return [[NFT, "flush", "chain", *CHAIN.split()]]


def _pf(name: str, peer: str) -> str:
    """Rules for both directions of a connection to a server here, and of one to a server at the peer."""
    start = f"pass quick on {name} {'inet6' if ':' in peer else 'inet'} proto {{ tcp udp }}"
    ways = (
        f"from {peer} to any port {FIRST}:{LAST}",
        f"from any port {FIRST}:{LAST} to {peer}",
        f"from any to {peer} port {FIRST}:{LAST}",
        f"from {peer} port {FIRST}:{LAST} to any port >= {UNNAMED}",
    )
    return "".join(f"{start} {way} no state\n" for way in ways)


def _nft(name: str, peer: str) -> str:
    start = f'add rule {CHAIN} iifname "{name}" {"ip6" if ":" in peer else "ip"} saddr {peer.partition("%")[0]}'
    ways = (f"th dport {FIRST}-{LAST}", f"th sport {FIRST}-{LAST} th dport >= {UNNAMED}")
    return "".join(f"{start} meta l4proto {{ tcp, udp }} {way} accept\n" for way in ways)
