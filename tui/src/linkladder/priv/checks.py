"""Checks arguments: each function returns a value that is safe in a command line, or raises Refused with the field."""

from __future__ import annotations

import binascii
import socket

DIGITS = "0123456789"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
LIMIT = 4096  # characters of any argument
SHOWN = 40
DONE, FAILED, REFUSED = 0, 1, 2  # exit statuses of the helper


class Refused(Exception):
    """An argument, or the whole request, is not allowed; nothing has been done."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"{field}: {why}")
        self.field = field


def shown(text: str) -> str:
    """A caller's text, made short and harmless for a terminal and a log."""
    return ascii(text[:SHOWN]) + ("..." if len(text) > SHOWN else "")


def word(text: str, field: str, allowed: str, limit: int) -> str:
    """One to `limit` of the allowed characters, not starting with a dash."""
    if not text or len(text) > limit or text[0] == "-" or any(c not in allowed for c in text):
        raise Refused(field, f"not acceptable: {shown(text)}")
    return text


def number(text: str, field: str, low: int, high: int) -> str:
    """A whole number in range, in plain digits."""
    if not text or len(text) > 20 or any(c not in DIGITS for c in text) or not low <= int(text) <= high:
        raise Refused(field, f"expected a whole number from {low} to {high}, got {shown(text)}")
    return str(int(text))


def seconds(text: str, field: str, low: float, high: float) -> str:
    """A decimal number in range, in plain digits."""
    whole, dot, rest = text.partition(".")
    plain = len(text) <= 12 and all(c in DIGITS for c in whole + rest) and (whole or rest) and not (dot and not rest)
    if not plain or not low <= float(text) <= high:
        raise Refused(field, f"expected a number from {low:g} to {high:g}, got {shown(text)}")
    return text


def one_of(text: str, field: str, choices: tuple[str, ...]) -> str:
    if text not in choices:
        raise Refused(field, f"expected one of {' '.join(choices)}, got {shown(text)}")
    return text


def interface(text: str, field: str = "interface") -> str:
    """The name of an existing interface."""
    word(text, field, LETTERS + DIGITS + "._-", 15)
    try:
        socket.if_nametoindex(text)
    except OSError:
        raise Refused(field, f"there is no interface {shown(text)}") from None
    return text


def address(text: str, field: str = "address") -> str:
    """The numeric IP address of one host: no name, no multicast, no wildcard."""
    plain, percent, zone = text.partition("%")
    if percent:
        interface(zone, field)
    if len(plain) <= 45 and plain.isascii():
        for family in (socket.AF_INET, socket.AF_INET6):
            try:
                packed = socket.inet_pton(family, plain)
            except (OSError, ValueError):
                continue
            if percent and (family == socket.AF_INET or packed[:1] != b"\xfe"):
                break
            if not any(packed) or packed == b"\xff\xff\xff\xff":
                raise Refused(field, f"not the address of one host: {shown(text)}")
            if (family == socket.AF_INET and packed[0] >= 224) or (family == socket.AF_INET6 and packed[0] == 0xFF):
                raise Refused(field, f"not the address of one host: {shown(text)}")
            return text
    raise Refused(field, f"expected an IP address, got {shown(text)}")


def cpus(text: str, field: str = "cpus") -> str:
    """A list of cores such as 0,2-3."""
    word(text, field, DIGITS + ",-", 256)
    for part in text.split(","):
        first, dash, last = part.partition("-")
        number(first, field, 0, 4095)
        if dash:
            number(last, field, int(first), 4095)
    return text


def host_name(text: str, field: str = "name") -> str:
    """A host name as DNS allows it."""
    word(text, field, LETTERS + DIGITS + ".-", 253)
    for label in text.split("."):
        if not 0 < len(label) <= 63 or label[0] == "-" or label[-1] == "-":
            raise Refused(field, f"not a host name: {shown(text)}")
    return text


def public_key(kind: str, text: str, field: str = "key") -> str:
    """The middle word of an OpenSSH public key of that kind."""
    word(text, field, LETTERS + DIGITS + "+/=", 2000)
    try:
        blob = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        blob = b""
    name = kind.encode()
    if not blob.startswith(len(name).to_bytes(4, "big") + name) or len(blob) < len(name) + 32:
        raise Refused(field, f"not an {kind} key: {shown(text)}")
    return text


def exactly(args: list[str], *fields: str) -> None:
    """Check that there are exactly as many arguments as fields."""
    if len(args) < len(fields):
        raise Refused(fields[len(args)], "is missing")
    if len(args) > len(fields):
        raise Refused("arguments", f"one too many: {shown(args[len(fields)])}")
