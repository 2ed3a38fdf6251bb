"""The appliances that are trusted: a file of our own, never the user's ~/.ssh."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from linkladder import damage, state
from linkladder.codec import CodecError, from_json, to_json
from linkladder.errors import EnvironmentFault, UsageError
from linkladder.trust import files, keys, sshd
from linkladder.trust.channel import known_line, ssh_argv

PORT = 8622
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
USER = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
ADDRESS = re.compile(r"[0-9A-Za-z][0-9A-Za-z.:%_-]{0,252}|::[0-9A-Fa-f.:%]*")


@dataclass(frozen=True)
class Peer:
    """An appliance that is trusted, and how it is reached."""

    name: str
    addresses: tuple[str, ...]
    host_key: str
    user_key: str
    port: int = PORT
    user: str = "linkladder"
    fingerprint: str = ""
    paired_at: str = ""
    introduces: bool = False  # it may have this appliance measure with others than itself

    def check(self) -> None:
        """Everything that later lands in a command line or in OpenSSH's files."""
        for value, pattern, what in ((self.name, NAME, "name"), (self.user, USER, "user")):
            if not pattern.fullmatch(value):
                raise UsageError(f"{value[:80]!r} is no {what} for a peer", hint="letters, digits, dots and dashes")
        for address in self.addresses:
            if not ADDRESS.fullmatch(address):
                raise UsageError(f"{address[:80]!r} is no address", hint="an IPv4 or IPv6 address, or a host name")
        if not 0 < self.port < 65536:
            raise UsageError(f"{self.port} is no port", hint="1 to 65535")
        for key in (self.host_key, self.user_key):
            if not keys.well_formed(key):
                raise UsageError(f"{self.name}: {key[:60]!r} is no ed25519 public key", hint="ssh-ed25519 AAAA...")


def load() -> tuple[Peer, ...]:
    """Whom this end trusts; nobody, where the list is damaged, which is then set aside and told of."""
    path = state.folder() / "peers.json"
    try:
        files.check_private(path)
        return tuple(from_json(Peer, _without_announced(one)) for one in json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return ()
    except (AttributeError, TypeError, ValueError, CodecError) as error:
        with contextlib.suppress(OSError):
            damage.set_aside([path], f"the list of peers was damaged ({error}): pair with each of them again")
            return ()
        raise EnvironmentFault(f"the peers in {path} are damaged", str(error), "remove it and pair again") from error
    except OSError as error:
        raise EnvironmentFault(f"the list of peers {path} cannot be read", str(error), "pair again") from error


def _without_announced(one: dict[str, object]) -> dict[str, object]:
    """Lists of before 0.2 hold where a peer said that it may be sent test traffic, which no longer counts."""
    return {key: value for key, value in one.items() if key != "announced"}


def find(name: str) -> Peer:
    """The peer of that name, or whose fingerprint begins so."""
    for peer in load():
        if peer.name == name or (name.startswith("SHA256:") and len(name) > 12 and peer.fingerprint.startswith(name)):
            return peer
    known = ", ".join(p.name for p in load()) or "none"
    raise EnvironmentFault(f"no peer is called {name!r}", f"paired are: {known}", "linkladder pair adds one")


def add(peer: Peer) -> None:
    """Pin it, in place of an earlier pin of the same name."""
    peer.check()
    peer = replace(peer, fingerprint=keys.fingerprint(peer.host_key))

    def change(old: tuple[Peer, ...]) -> tuple[Peer, ...]:
        others = tuple(p for p in old if p.name != peer.name)
        if known := next((p for p in others if _same(p, peer)), None):
            raise UsageError(f"these keys are {known.name}'s already", hint=f"linkladder peers rename {known.name} NEW")
        return (*others, peer)

    _change(change)
    sshd.end_sessions(peer.name)  # opened under the name with an earlier key


def pin(peer: Peer, own_name: str = "") -> Peer:
    """Pin what pairing confirmed: the same appliance keeps its place, another of the same name gets a name apart."""
    chosen = replace(peer, fingerprint=keys.fingerprint(peer.host_key))
    chosen.check()
    before: tuple[Peer, ...] = ()

    def change(old: tuple[Peer, ...]) -> tuple[Peer, ...]:
        nonlocal chosen, before
        same = [p for p in old if _same(p, peer)]
        others = tuple(p for p in old if not _same(p, peer))
        before = tuple(same)
        taken = {p.name for p in others} | {own_name}
        if same and same[0].name not in taken:
            chosen = replace(chosen, name=same[0].name)
        number = 1
        stem = chosen.name[:58]
        while chosen.name in taken:
            number += 1
            chosen = replace(chosen, name=f"{stem}-{number}")
        return (*others, chosen)

    _change(change)
    for one in {chosen.name, *(p.name for p in before)}:
        sshd.end_sessions(one)  # opened with an earlier key, or under an earlier name
    return chosen


def _same(one: Peer, other: Peer) -> bool:
    """Either key is enough: sshd goes by the user key alone, and no key may stand under two names."""
    return one.host_key == other.host_key or one.user_key == other.user_key


def remove(name: str) -> Peer:
    """Trust it no more, from this moment on: its sessions end too; who it was."""
    peer = find(name)
    _change(lambda old: tuple(p for p in old if p.name != peer.name))
    sshd.end_sessions(peer.name)
    return peer


def rename(name: str, new: str) -> Peer:
    """Another name for it at this end; who it was."""
    peer = find(name)
    replace(peer, name=new).check()
    if any(p.name == new for p in load()):
        raise UsageError(f"another peer is called {new!r} already", hint="linkladder peers lists them")
    _change(lambda old: tuple(replace(p, name=new) if p.name == peer.name else p for p in old))
    sshd.end_sessions(peer.name)  # they act under a name that is no more; the peer opens anew
    return peer


def introductions(name: str, allowed: bool) -> Peer:
    """May it have this appliance measure with others than itself?"""
    peer = find(name)
    _change(lambda old: tuple(replace(p, introduces=allowed) if p.name == peer.name else p for p in old))
    sshd.end_sessions(peer.name)  # opened under what was agreed before; the peer opens anew
    return peer


def ssh_command(peer: Peer, address: str | None = None) -> list[str]:
    """The exact ssh that opens the agent's stdio on the peer."""
    known = keys.folder() / f"known_{peer.name}"
    files.write(known, known_line(peer.name, peer.host_key))
    return ssh_argv(peer.name, peer.port, peer.user, address or peer.addresses[0], known, keys.user_key())


def _change(change: Callable[[tuple[Peer, ...]], tuple[Peer, ...]]) -> None:
    """Read, change, write and bring sshd's list up to date; on a power cut in between trust is never wider."""
    path = state.ensure(state.folder()) / "peers.json"
    with files.locked(path.parent):
        old = load()
        new = change(old)
        files.write(path, json.dumps([to_json(p) for p in new], indent=1) + "\n")
        sshd.write_authorized(path.parent)
    for gone in {p.name for p in old} - {p.name for p in new}:
        (path.parent / "keys" / f"known_{gone}").unlink(missing_ok=True)
