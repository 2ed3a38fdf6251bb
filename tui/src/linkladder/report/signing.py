"""Signs pages with the appliance's key and checks signatures, by ssh-keygen's file signing."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from linkladder import atomic_files
from linkladder.errors import EnvironmentFault, LinkladderError, why_no_file
from linkladder.trust import keys, peers

NAMESPACE = "linkladder-report"
THIS = "this appliance"
UNSIGNED, WITHOUT = "the report cannot be signed", "use --unsigned, or linkladder doctor"
_KEY = re.compile(r"ssh-ed25519 [A-Za-z0-9+/]+={0,2}")


@dataclass(frozen=True)
class Signature:
    """The result of checking a signature: `valid` only if it fits and its key is known here."""

    fits: bool
    fingerprint: str = ""
    signer: str = ""  # the key's name here: "this appliance", a peer's name, or a name from a given file
    reason: str = ""

    @property
    def valid(self) -> bool:
        return self.fits and bool(self.signer)


def own_key() -> Path:
    """The path of the private key with which this appliance signs; the key is made on first use."""
    try:
        return keys.user_key()
    except OSError as error:
        raise EnvironmentFault(UNSIGNED, f"its key cannot be made: {error}", WITHOUT) from None


def fingerprint(key: Path) -> str:
    return keys.fingerprint(keys.public(key))


def sign(text: str, key: Path) -> str:
    """A signature of the text, in ssh-keygen's armoured form."""
    try:
        return keys.sign(text.encode(), key, NAMESPACE)
    except EnvironmentFault as error:
        raise EnvironmentFault(UNSIGNED, error.cause, WITHOUT) from None


def known_signers(extra: Path | None = None) -> dict[str, str]:
    """The names of known keys ("ssh-ed25519 AAAA..." -> name): this appliance's, its peers', and those in `extra`."""
    known: dict[str, str] = {}
    if extra is not None:
        try:
            lines = extra.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            hint = "name a file with a public key in each line"
            raise EnvironmentFault(f"{extra} cannot be read", why_no_file(error), hint) from None
        for line in lines:
            if found := _KEY.search(line):
                before, after = line[: found.start()].strip(), line[found.end() :].strip()
                known[found[0]] = before.split()[0] if before else after or extra.name
    for peer in peers.load():
        if found := _KEY.search(peer.user_key):
            known[found[0]] = peer.name
    with contextlib.suppress(LinkladderError, OSError):  # a machine that has and can make no key still checks others'
        known[keys.public(keys.user_key())] = THIS
    return known


def check(text: str, signature: str, known: dict[str, str]) -> Signature:
    """Whether the signature fits the text, and whose key made it."""
    with atomic_files.written_for_a_program({"sig": signature}) as folder:
        seen = keys.ssh_keygen(["-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(folder / "sig")], text.encode())
    mark = re.search(rb"SHA256:[A-Za-z0-9+/]+", seen.stdout + seen.stderr)
    print_ = mark[0].decode() if mark else ""
    if seen.returncode:
        return Signature(False, print_, reason="the signature does not fit the page")
    for key, name in known.items():
        if keys.signed(text.encode(), signature, key, NAMESPACE):
            return Signature(True, print_, name)
    return Signature(True, print_, reason="the key is not known here")
