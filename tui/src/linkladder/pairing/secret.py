"""The site secret that confirms pairings where no person stands: 160 random bits in a checked format."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import secrets
import stat
from pathlib import Path

from linkladder.errors import EnvironmentFault, UsageError

PREFIX = "llsec1-"
BYTES = 20
_FORM = re.compile(PREFIX + "[a-z2-7]{36}")


def new() -> str:
    """A fresh secret as text."""
    return _write(secrets.token_bytes(BYTES))


def parse(text: str) -> bytes:
    """The secret's bytes; anything that `new` could not have made is refused, so that no password gets in."""
    if not _FORM.fullmatch(text):
        raise UsageError(
            "this is no site secret",
            f"it must be {PREFIX} and 36 small letters and digits; words and passwords are too easily guessed",
            "linkladder pair --new-secret makes one",
        )
    body = text[len(PREFIX) : len(PREFIX) + 32]
    raw = base64.b32decode(body.upper())
    if _write(raw) != text:
        raise UsageError("the site secret has a typing error", "its check letters do not fit", "copy it again")
    return raw


def load(path: Path) -> bytes:
    """From a file that only its owner can read; one newline at the end is allowed."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            data = file.read(256)
    except OSError as error:
        raise EnvironmentFault(f"the site secret {path} cannot be read", error.strerror or str(error)) from None
    if mode & 0o077:
        raise EnvironmentFault(
            f"{path} can be read by others (mode {mode:04o})",
            "whoever reads it can pair with your appliances",
            f"chmod 600 {path}; if somebody else had access, make a new one",
        )
    return parse(data.decode("ascii", "replace").removesuffix("\n").removesuffix("\r"))


def save(path: Path, text: str) -> None:
    """Into a new file that only its owner can read."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text + "\n")
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be written", error.strerror or str(error)) from None


def _write(raw: bytes) -> str:
    check = hashlib.sha256(b"linkladder site secret 1" + raw).digest()[:3]
    body = base64.b32encode(raw).decode().rstrip("=")
    return PREFIX + (body + base64.b32encode(check).decode()[:4]).lower()
