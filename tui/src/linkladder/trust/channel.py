"""Builds the ssh command with which one appliance reaches another, and explains ssh's errors to people."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

from linkladder.errors import EnvironmentFault, LinkladderError

CIPHERS = "chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-gcm@openssh.com"
# ssh uses the first that both ends have, so the newest; the first two came with OpenSSH 9.9
EXCHANGES = ("mlkem768x25519-sha256", "sntrup761x25519-sha512", "sntrup761x25519-sha512@openssh.com",
             "curve25519-sha256", "curve25519-sha256@libssh.org")  # fmt: skip
MACS = "hmac-sha2-512-etm@openssh.com,hmac-sha2-256-etm@openssh.com"

OPTIONS = {
    "BatchMode": "yes", "StrictHostKeyChecking": "yes", "GlobalKnownHostsFile": "/dev/null", "CheckHostIP": "no",
    "VerifyHostKeyDNS": "no", "UpdateHostKeys": "no", "HostKeyAlgorithms": "ssh-ed25519",
    "PubkeyAcceptedAlgorithms": "ssh-ed25519", "PreferredAuthentications": "publickey",
    "PasswordAuthentication": "no", "KbdInteractiveAuthentication": "no", "IdentitiesOnly": "yes",
    "IdentityAgent": "none", "Ciphers": CIPHERS, "MACs": MACS, "Compression": "no",
    "ConnectTimeout": "5", "ConnectionAttempts": "1", "ServerAliveInterval": "5", "ServerAliveCountMax": "4",
    "ControlMaster": "no", "ControlPath": "none", "ControlPersist": "no", "ClearAllForwardings": "yes",
    "ForwardAgent": "no", "ForwardX11": "no", "PermitLocalCommand": "no", "RequestTTY": "no", "EscapeChar": "none",
    "LogLevel": "ERROR",
}  # fmt: skip

CHANGED = (
    "it was installed anew or given new keys (as a copy of it is), its state was lost, or somebody sits in between: "
    "find out which before you pair again (linkladder peers remove NAME, then linkladder pair)"
)
NOTHING_LISTENS, NO_ROUTE, NO_ANSWER = (
    "nothing listens on the peer's control port",
    "there is no route to the peer",
    "the peer does not answer",
)
UNREACHED = (NOTHING_LISTENS, NO_ROUTE, NO_ANSWER)  # errors that mean that no peer answers at this address
# what ssh prints, what it means, what to do
FAILURES = (
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", "the peer shows another key than it was paired with", CHANGED),
    ("Host key verification failed", "the peer shows another key than it was paired with", CHANGED),
    ("Permission denied", "the peer does not know this appliance",
     "it was unpaired, installed anew or given new keys there: pair the two again"),
    ("UNPROTECTED PRIVATE KEY", "this appliance's own key is open to others", "chmod 600 the key file named above"),
    ("Could not resolve hostname", "the peer's name cannot be resolved", "use its address"),
    ("Connection refused", NOTHING_LISTENS, "is linkladder running there?"),
    ("No route", NO_ROUTE, "check addresses, netmasks and routes at both ends"),
    ("unreachable", NO_ROUTE, "check addresses, netmasks and routes at both ends"),
    ("timed out", NO_ANSWER, "check its address, the cable and any firewall (TCP 8622)"),
    ("Timeout, server", "the peer stopped answering", "it lost power or the path broke; it is tried again"),
    ("not responding", "the peer stopped answering", "it lost power or the path broke; it is tried again"),
    ("no matching", "the peer's OpenSSH has no algorithm in common", "put the same version on both appliances"),
    ("Connection reset", "the peer closed the channel before it was open",
     "it has too many channels from here, or a firewall cut it; try again in a few seconds"),
    ("Connection closed", "the peer closed the channel before it was open",
     "it has too many channels from here, or it was removed there; try again in a few seconds"),
    ("kex_exchange_identification", "what answers there is not the peer's sshd", "check address and port"),
)  # fmt: skip


@cache
def exchanges(program: str = "ssh") -> str:
    """Those of EXCHANGES that this OpenSSH knows, as it refuses a list with even one unknown name."""
    try:
        done = subprocess.run([program, "-Q", "kex"], capture_output=True, text=True, check=False, timeout=10)
        known = set(done.stdout.split())
    except (OSError, subprocess.TimeoutExpired):
        known = set()
    return ",".join(e for e in EXCHANGES if e in known) or "curve25519-sha256"


THEIRS = re.compile(r"(?:^|: )linkladder: (.+)(?:\n  why: (.+))?(?:\n  do:  (.+))?", re.M)


def alias(name: str) -> str:
    return f"linkladder-{name}"


def known_line(name: str, host_key: str) -> str:
    return f"{alias(name)} {host_key}\n"


def ssh_argv(name: str, port: int, user: str, address: str, known: Path, identity: Path) -> list[str]:
    """The ssh command; it uses nothing from the user's or the system's configuration."""
    own = {"UserKnownHostsFile": _quoted(known), "IdentityFile": _quoted(identity), "HostKeyAlias": alias(name),
           "KexAlgorithms": exchanges()}  # fmt: skip
    options = [word for key, value in {**OPTIONS, **own}.items() for word in ("-o", f"{key}={value}")]
    return ["ssh", "-F", "/dev/null", "-T", "-a", "-x", "-p", str(port), *options, "-l", user, "--", address, "agent"]


def explain_ssh_failure(stderr: str, code: int | None) -> LinkladderError:
    """The error for a person, from the messages of ssh or of the far linkladder."""
    text = "".join(c for c in stderr if c.isprintable() or c == "\n").strip()  # the text comes from another machine
    last = text.splitlines()[-1].strip() if text else ""
    if said := THEIRS.search(text):
        return EnvironmentFault(f"the peer says: {said[1]}", said[2] or "", f"at the peer: {said[3] or 'see its log'}")
    for mark, title, hint in FAILURES:
        if mark.lower() in text.lower():
            return EnvironmentFault(title, last, hint)
    return EnvironmentFault("the channel to the peer failed", last or f"ssh ended with {code}", "linkladder doctor")


def _quoted(path: Path) -> str:
    """Quote a path for ssh's options, in which blanks separate files and % begins a token."""
    return '"' + str(path).replace("%", "%%") + '"'
