"""Sets up the operator's ssh, which is off until there is a key or a password."""

from __future__ import annotations

import os
import sys

from linkladder.priv.appliance import SERVICE, Step, assign, setting
from linkladder.priv.checks import DIGITS, LETTERS, Refused, exactly, one_of, public_key, word
from linkladder.priv.running import Failed, feed

FOLDER = "/state/system/ssh"
KEYS = f"{FOLDER}/operator_keys"  # sshd's AuthorizedKeysFile for the operator
PASSWORDS = f"{FOLDER}/sshd_config.d/password.conf"
HASH = f"{FOLDER}/operator_hash"  # kept so that llstate can restore the password after an upgrade of the system
MASTER = "/etc/master.passwd"
OPERATOR = "admin"  # the same as in linkladder.state, as root imports nothing from outside this package
KEY_TYPES = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa")
LEAST, MOST = 8, 128  # characters of a password
SSHD_CONF = "PasswordAuthentication yes\n"


def ssh_steps(args: list[str]) -> list[Step]:
    """ssh on | off | key TYPE BASE64 COMMENT | password (read from standard input) | forget"""
    exactly(args[:1], "switch")
    switch = one_of(args[0], "switch", ("on", "off", "key", "password", "forget"))
    if switch == "key":
        exactly(args, "switch", "type", "key", "comment")
        kind = one_of(args[1], "type", KEY_TYPES)
        key = public_key(kind, args[2])
        comment = word(args[3], "comment", LETTERS + DIGITS + "@._-", 64)
        return [lambda: _add_key(f"{kind} {key} {comment}\n")]
    exactly(args, "switch")
    off: list[Step] = [assign("sshd_enable=NO"), *([[SERVICE, "sshd", "onestop"]] if _is_on() else [])]
    match switch:
        case "on":
            if not any(map(_has_words, (KEYS, PASSWORDS))):
                raise Refused("switch", "give a key or a password first")
            return [assign("sshd_enable=YES"), [SERVICE, "sshd", "restart"]]
        case "password":
            return [_set_password, *_renewed()]
        case "forget":
            return [*off, _forget, ["/usr/sbin/pw", "usermod", OPERATOR, "-h", "-"]]
    return off


def _renewed() -> list[Step]:
    """The steps that make a running sshd read its configuration again."""
    return [[SERVICE, "sshd", "restart"]] if _is_on() else []


def _is_on() -> bool:
    return setting("sshd_enable").upper() == "YES"


def _has_words(path: str) -> bool:
    try:
        return os.path.getsize(path) > 0
    except OSError:
        return False


def _add_key(line: str) -> None:
    os.makedirs(FOLDER, mode=0o755, exist_ok=True)
    descriptor = os.open(KEYS, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
    with os.fdopen(descriptor, "r+", encoding="ascii") as file:
        if line not in file.readlines():
            file.write(line)
            file.flush()
            os.fsync(file.fileno())


def _set_password() -> None:
    """Set the password, a line from standard input, so that neither the process list nor the audit shows it."""
    text = sys.stdin.readline(MOST + 2).removesuffix("\n")
    if not LEAST <= len(text) <= MOST or not text.isascii() or not text.isprintable():
        raise Failed(f"a password has {LEAST} to {MOST} printable characters of ASCII")
    feed(["/usr/sbin/pw", "usermod", OPERATOR, "-h", "0"], f"{text}\n")
    with open(MASTER, encoding="utf-8") as file:
        known = next((line.split(":")[1] for line in file if line.startswith(f"{OPERATOR}:")), "")
    os.makedirs(os.path.dirname(PASSWORDS), mode=0o755, exist_ok=True)
    _keep(HASH, f"{known}\n", 0o600)
    _keep(PASSWORDS, SSHD_CONF, 0o644)


def _keep(path: str, text: str, mode: int) -> None:
    """Write a file completely or not at all."""
    draft = f"{path}.new"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


def _forget() -> None:
    """Delete all keys and the password, so that nobody can log in."""
    for path in (KEYS, PASSWORDS, HASH):
        if os.path.exists(path):
            os.unlink(path)
