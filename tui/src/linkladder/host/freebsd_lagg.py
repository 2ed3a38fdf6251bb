"""Reads what `ifconfig -v lagg0` prints about a bundle, as there is no JSON form of it."""

from __future__ import annotations

import re

from linkladder.model import Bundle, Member

NOBODY = "00-00-00-00-00-00"
_PORT = re.compile(r"^\tlaggport: (\S+) flags=\w+<([^>]*)>(?: state=\w+<([^>]*)>)?(.*(?:\n\t\t.*)*)", re.MULTILINE)
_PARTNER = re.compile(r"\[\([^)]*\),\s*\(\w+,([0-9A-Fa-f-]{17}),", re.DOTALL)


def lagg(text: str) -> Bundle | None:
    """The bundle in the text; None if the interface is not one."""
    protocol = re.search(r"^\tlaggproto (\S+)(?: lagghash (\S+))?", text, re.MULTILINE)
    if not protocol:
        return None
    return Bundle(
        protocol=protocol[1],
        hash=protocol[2] or "",
        members=tuple(_member(port) for port in _PORT.finditer(text)),
        options={name: value for name in ("flowid_shift", "rr_limit") if (value := _value(text, name))}
        | ({"flags": flags[1].lower()} if (flags := re.search(r"^\t\tflags=\w+<([^>]*)>", text, re.MULTILINE)) else {}),
        active=_number(text, "active ports"),
        flapping=_number(text, "flapping"),
    )


def _member(port: re.Match[str]) -> Member:
    partner = _PARTNER.search(port[4] or "")
    found = partner[1] if partner and partner[1] != NOBODY else ""
    return Member(
        name=port[1],
        flags=tuple(word for word in port[2].split(",") if word),
        state=tuple(word for word in (port[3] or "").split(",") if word),
        partner=found.replace("-", ":").lower(),
    )


def _value(text: str, name: str) -> str:
    found = re.search(rf"^\t\t{re.escape(name)}: (\S+)", text, re.MULTILINE)
    return found[1] if found else ""


def _number(text: str, name: str) -> int | None:
    value = _value(text, name)
    return int(value) if value.isdecimal() else None
