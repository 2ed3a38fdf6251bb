"""The appliances that are trusted: a file of our own, never the user's ~/.ssh."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from linkladder import state
from linkladder.codec import CodecError, from_json, to_json
from linkladder.errors import EnvironmentFault, LinkladderError, UsageError
from linkladder.pairing import keys

PORT = 8622
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
CIPHERS = "chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-gcm@openssh.com"
EXCHANGES = "sntrup761x25519-sha512@openssh.com,curve25519-sha256,curve25519-sha256@libssh.org"


@dataclass(frozen=True)
class Peer:
    name: str
    addresses: tuple[str, ...]
    host_key: str
    user_key: str
    port: int = PORT
    user: str = "linkladder"
    fingerprint: str = ""
    paired_at: str = ""
    announced: tuple[str, ...] = ()  # where it may be sent test traffic


def load() -> tuple[Peer, ...]:
    path = _file()
    try:
        keys.check_private(path)
        return tuple(from_json(Peer, one) for one in json.loads(path.read_text()))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, CodecError) as error:
        raise EnvironmentFault(f"the list of peers {path} cannot be read", str(error), "pair again") from error


def find(name: str) -> Peer:
    for peer in load():
        if peer.name == name:
            return peer
    known = ", ".join(p.name for p in load()) or "none"
    raise EnvironmentFault(f"no peer is called {name!r}", f"paired are: {known}", "linkladder pair adds one")


def add(peer: Peer) -> None:
    """Pin it, in place of an earlier pin of the same name."""
    if not NAME.fullmatch(peer.name):
        raise UsageError(f"{peer.name!r} is no name for a peer", hint="letters, digits, dots and dashes")
    _save((*(p for p in load() if p.name != peer.name), peer))


def remove(name: str) -> None:
    find(name)
    _save(tuple(p for p in load() if p.name != name))


def rename(name: str, new: str) -> None:
    peer = find(name)
    remove(name)
    add(replace(peer, name=new))


def announce(name: str, addresses: tuple[str, ...]) -> None:
    peer = find(name)
    if peer.announced != addresses:
        add(replace(peer, announced=addresses))


def ssh_command(peer: Peer, address: str | None = None) -> list[str]:
    """The exact ssh that opens the agent's stdio on the peer."""
    known = keys.folder() / f"known_{peer.name}"
    alias = f"linkladder-{peer.name}"
    known.write_text(f"{alias} {peer.host_key}\n")
    options = {
        "BatchMode": "yes", "StrictHostKeyChecking": "yes", "UserKnownHostsFile": str(known),
        "GlobalKnownHostsFile": "/dev/null", "HostKeyAlias": alias, "IdentityFile": str(keys.user_key()),
        "IdentitiesOnly": "yes", "IdentityAgent": "none", "PasswordAuthentication": "no", "ConnectTimeout": "5",
        "ServerAliveInterval": "5", "ServerAliveCountMax": "3", "HostKeyAlgorithms": "ssh-ed25519",
        "Ciphers": CIPHERS, "KexAlgorithms": EXCHANGES, "ControlMaster": "no", "ControlPath": "none",
        "UpdateHostKeys": "no", "RequestTTY": "no", "LogLevel": "ERROR",
    }  # fmt: skip
    given = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    return ["ssh", "-F", "/dev/null", "-p", str(peer.port), *given, "-l", peer.user, "--",
            address or peer.addresses[0], "agent"]  # fmt: skip


def explain_ssh_failure(stderr: str, code: int | None) -> LinkladderError:
    """ssh's words in a person's."""
    text = stderr.strip()
    for mark, title, hint in (
        ("REMOTE HOST IDENTIFICATION HAS CHANGED", "the peer shows another key than it was paired with",
         "it may have been installed anew, or somebody sits in between: pair again only when you know which"),
        ("Host key verification failed", "the peer shows another key than it was paired with",
         "it may have been installed anew, or somebody sits in between: pair again only when you know which"),
        ("Permission denied", "the peer does not know this appliance", "pair the two again"),
        ("refused", "nothing listens on the peer's control port", "is linkladder running there?"),
        ("timed out", "the peer does not answer", "check its address, the cable and the firewall (TCP 8622)"),
        ("No route", "there is no route to the peer", "check the addresses and the routes"),
    ):  # fmt: skip
        if mark in text:
            return EnvironmentFault(title, text.splitlines()[-1] if text else "", hint)
    return EnvironmentFault("the channel to the peer failed", text or f"ssh ended with {code}", "linkladder doctor")


def _file() -> Path:
    return state.ensure(state.folder()) / "peers.json"


def _save(peers: tuple[Peer, ...]) -> None:
    path = _file()
    draft = path.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump([to_json(p) for p in peers], file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    from linkladder.pairing import sshd  # late: it reads this list

    sshd.write_authorized(path.parent)
