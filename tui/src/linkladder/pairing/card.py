"""What an appliance reveals in a pairing, the proof that it owns the revealed keys, and the resulting peer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from linkladder import state
from linkladder.host import addresses as own_addresses
from linkladder.pairing.messages import MAX_ADDRESSES, Reveal
from linkladder.pairing.protocol import Proofs
from linkladder.trust import keys, peers, sshd


def own_card(name: str) -> Reveal:
    user, port = sshd.control(state.ensure(state.folder()))
    found = [i.ip for _, i in own_addresses.own() if not (i.ip.is_loopback or i.ip.is_link_local)]
    addresses = tuple(dict.fromkeys(str(a) for a in found))[:MAX_ADDRESSES]
    host, mine = keys.public(keys.host_key()), keys.public(keys.user_key())
    return Reveal(name, addresses, port, user, host, mine)


def peer_of(card: Reveal, address: str, by_secret: bool) -> peers.Peer:
    """The peer for a confirmed card; the address by which it was reached comes first.

    A peer that was confirmed by the site secret may introduce the site's appliances to each other.
    """
    addresses = (address, *(a for a in card.addresses if a != address))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    made = peers.Peer(card.name, addresses, card.host_key, card.user_key, card.port, card.user, paired_at=now)
    return replace(made, introduces=by_secret)


@dataclass(frozen=True)
class KeyProver:
    """Signs with the two private keys of a state folder, by OpenSSH, which takes some milliseconds."""

    base: Path

    def sign(self, statement: bytes) -> Proofs:
        host, user = keys.host_key(self.base), keys.user_key(self.base)
        return Proofs(keys.sign(statement, host), keys.sign(statement, user))

    def holds(self, statement: bytes, proofs: Proofs, of: Reveal) -> bool:
        return keys.signed(statement, proofs.host, of.host_key) and keys.signed(statement, proofs.user, of.user_key)
