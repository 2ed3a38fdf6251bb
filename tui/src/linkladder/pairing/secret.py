"""The site secret: 160 random bits with a checksum against typing errors, for ends where no person compares codes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from pathlib import Path

from linkladder import damage, state
from linkladder.errors import EnvironmentFault, LinkladderError, UsageError, in_a_line, why_no_file

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u
PREFIX = "ll1"
SYMBOLS, CHECK = 32, 4  # 160 bits, and 20 bits of checksum
HINT = "make one with: linkladder pair --new-secret"
INSTEAD = (
    "No end is paired by it: pair by the codes on the screens (p on Home), or give all ends of the site the same "
    "secret anew, as a file: linkladder pair --secret-file FILE"
)


def new() -> str:
    """A new secret in the form 'll1-xxxx-...', with nine groups of four characters."""
    body = "".join(secrets.choice(ALPHABET) for _ in range(SYMBOLS))
    return _written(body) if _varied(body) else new()


def parse(text: str) -> bytes:
    """The key made from a secret; raises UsageError for text that has not the form that `new` makes."""
    groups = text.strip().lower().split("-")
    body, check = "".join(groups[1:-1]), groups[-1]
    if groups[0] != PREFIX or any(len(g) != 4 for g in groups[1:]) or len(body) != SYMBOLS:
        raise UsageError("this is no site secret", "it is not of the form ll1-xxxx-... with nine groups", HINT)
    if set(body + check) - set(ALPHABET):
        raise UsageError("this is no site secret", "it has letters that secrets do not use", HINT)
    if check != _check(body):
        raise UsageError("the site secret has a mistake in it", "its last group does not fit the others", HINT)
    if not _varied(body):
        raise UsageError("the site secret is too simple", "it was not made at random", HINT)
    return hashlib.sha256(b"linkladder site secret 1\0" + body.encode()).digest()


def read(path: Path) -> bytes:
    """The secret in a file that only its owner can read, or in a pipe."""
    try:
        seen = path.stat()
        if stat.S_ISREG(seen.st_mode) and stat.S_IMODE(seen.st_mode) & 0o077:
            raise EnvironmentFault(
                f"{path} is open to others", "a secret must be its owner's alone", f"chmod 600 {path}"
            )
        with path.open() as file:
            return parse(file.read(200))
    except (OSError, UnicodeDecodeError) as error:
        raise EnvironmentFault(f"{path} cannot be read", why_no_file(error), HINT) from None


def read_own(path: Path) -> bytes:
    """As `read`; what lies in this appliance's own folder and cannot be used is set aside, which Home and doctor tell.

    So nobody waits for ends that cannot pair, and a pairing by the codes on the screens is not in its way.
    """
    try:
        return read(path)
    except LinkladderError as error:
        if os.path.lexists(path) and path.parent.resolve() == state.folder().resolve():
            with contextlib.suppress(OSError):
                damage.set_aside([path], f"{in_a_line(error)}. {INSTEAD}")
        raise


def _written(body: str) -> str:
    text = body + _check(body)
    return "-".join([PREFIX, *(text[i : i + 4] for i in range(0, len(text), 4))])


def _check(body: str) -> str:
    number = int.from_bytes(hashlib.sha256(f"check {PREFIX} {body}".encode()).digest(), "big")
    return "".join(ALPHABET[number >> 5 * i & 31] for i in range(CHECK))


def _varied(body: str) -> bool:
    return len(set(body)) >= 8
