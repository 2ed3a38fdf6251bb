"""The list of trusted appliances, in linkladder's own file; the user's ~/.ssh is never used."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from linkladder import damage, state
from linkladder.codec import CodecError, from_json, to_json
from linkladder.errors import EnvironmentFault, UsageError
from linkladder.trust import files, keys, sshd
from linkladder.trust.channel import known_line, ssh_argv

FILE = "peers.json"  # in the state folder
PORT = 8622
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
USER = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
ADDRESS = re.compile(r"[0-9A-Za-z][0-9A-Za-z.:%_-]{0,252}|::[0-9A-Fa-f.:%]*")


@dataclass(frozen=True)
class Peer:
    """A trusted appliance, and how to reach it."""

    name: str
    addresses: tuple[str, ...]
    host_key: str
    user_key: str
    port: int = PORT
    user: str = "linkladder"
    fingerprint: str = ""
    paired_at: str = ""
    introduces: bool = False  # it may have this appliance measure with other appliances

    def check(self) -> None:
        """Check everything that is later used in a command line or in OpenSSH's files."""
        for value, pattern, what, most in ((self.name, NAME, "name", 63), (self.user, USER, "user", 32)):
            if not pattern.fullmatch(value):
                hint = f"at most {most} letters, digits, dots and dashes"
                raise UsageError(f"{value[:80]!r} is no {what} for a peer", hint=hint)
        for address in self.addresses:
            if not ADDRESS.fullmatch(address):
                raise UsageError(f"{address[:80]!r} is no address", hint="an IPv4 or IPv6 address, or a host name")
        if not 0 < self.port < 65536:
            raise UsageError(f"{self.port} is no port", hint="1 to 65535")
        for key in (self.host_key, self.user_key):
            if not keys.well_formed(key):
                raise UsageError(f"{self.name}: {key[:60]!r} is no ed25519 public key", hint="ssh-ed25519 AAAA...")


def load() -> tuple[Peer, ...]:
    """The trusted peers; none if the list is damaged, which is then set aside and reported."""
    path = state.folder() / FILE
    try:
        files.check_private(path)
        return tuple(from_json(Peer, _without_announced(one)) for one in json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return ()
    except (AttributeError, TypeError, ValueError, RecursionError, CodecError) as error:
        with contextlib.suppress(OSError):
            damage.set_aside([path], f"the list of peers was damaged ({error}): pair with each of them again")
            sshd.write_authorized(path.parent)  # nobody may come in who is not listed
            return ()
        raise EnvironmentFault(f"the peers in {path} are damaged", str(error), "remove it and pair again") from error
    except OSError as error:
        raise EnvironmentFault(f"the list of peers {path} cannot be read", str(error), "pair again") from error


def _without_announced(one: dict[str, object]) -> dict[str, object]:
    """The entry without the addresses for test traffic that peers announced before 0.2, which are no longer used."""
    return {key: value for key, value in one.items() if key != "announced"}


def find(name: str) -> Peer:
    """The peer with this name, or with a fingerprint that begins so."""
    if peer := _named(name, load()):
        return peer
    known = ", ".join(p.name for p in load()) or "none"
    raise EnvironmentFault(f"no peer is called {name!r}", f"paired are: {known}", "linkladder pair adds one")


def unknown(names: Iterable[str]) -> tuple[str, ...]:
    """Those of the names by which no peer would be found."""
    known = load()
    return tuple(name for name in names if _named(name, known) is None)


def _named(name: str, known: Sequence[Peer]) -> Peer | None:
    printed = name.startswith("SHA256:") and len(name) > 12
    return next((p for p in known if p.name == name or (printed and p.fingerprint.startswith(name))), None)


def add(peer: Peer) -> None:
    """Trust a peer, replacing an earlier one of the same name."""
    peer.check()
    peer = replace(peer, fingerprint=keys.fingerprint(peer.host_key))

    def change(old: tuple[Peer, ...]) -> tuple[Peer, ...]:
        others = tuple(p for p in old if p.name != peer.name)
        if known := next((p for p in others if _same(p, peer)), None):
            raise UsageError(f"these keys are {known.name}'s already", hint=f"linkladder peers rename {known.name} NEW")
        return (*others, peer)

    _change(change)
    sshd.end_sessions(peer.name)  # sessions that were opened under this name with an earlier key


def pin(peer: Peer, own_name: str = "") -> Peer:
    """Trust a peer that pairing confirmed; a known appliance keeps its name, and a new one gets an unused name."""
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
        sshd.end_sessions(one)  # sessions that were opened with an earlier key or name
    return chosen


def _same(one: Peer, other: Peer) -> bool:
    """Whether two peers share a key. One is enough: sshd checks only the user key, and no key may have two names."""
    return one.host_key == other.host_key or one.user_key == other.user_key


def remove(name: str) -> Peer:
    """Stop trusting a peer at once and end its sessions; returns the peer."""
    peer = find(name)
    _change(lambda old: tuple(p for p in old if p.name != peer.name))
    sshd.end_sessions(peer.name)
    return peer


def rename(name: str, new: str) -> Peer:
    """Give a peer another name at this end; returns the peer with its old name."""
    peer = find(name)
    replace(peer, name=new).check()
    if any(p.name == new for p in load()):
        raise UsageError(f"another peer is called {new!r} already", hint="linkladder peers lists them")
    _change(lambda old: tuple(replace(p, name=new) if p.name == peer.name else p for p in old))
    sshd.end_sessions(peer.name)  # they use the old name; the peer opens new ones
    return peer


def introductions(name: str, allowed: bool) -> Peer:
    """Set whether a peer may have this appliance measure with other appliances; returns the peer as it was."""
    peer = find(name)
    _change(lambda old: tuple(replace(p, introduces=allowed) if p.name == peer.name else p for p in old))
    sshd.end_sessions(peer.name)  # they were opened with the old permission; the peer opens new ones
    return peer


def ssh_command(peer: Peer, address: str | None = None) -> list[str]:
    """The exact ssh command that starts the agent on the peer and connects to its stdio."""
    known = keys.folder() / f"known_{peer.name}"
    files.write(known, known_line(peer.name, peer.host_key))
    return ssh_argv(peer.name, peer.port, peer.user, address or peer.addresses[0], known, keys.user_key())


def _change(change: Callable[[tuple[Peer, ...]], tuple[Peer, ...]]) -> None:
    """Change the list of peers and sshd's list made from it, which is also written anew when an appliance boots.

    Whoever loses access loses it in sshd's list first, so that a crash in between leaves nobody more than the new list.
    """
    path = state.ensure(state.folder()) / FILE
    with files.locked(path.parent):
        old = load()
        new = change(old)
        if any(p not in new for p in old):
            sshd.write_authorized(path.parent, {p.name for p in old if p in new})
        files.write(path, json.dumps([to_json(p) for p in new], indent=1) + "\n")
        sshd.write_authorized(path.parent)
    for gone in {p.name for p in old} - {p.name for p in new}:
        (path.parent / "keys" / f"known_{gone}").unlink(missing_ok=True)
