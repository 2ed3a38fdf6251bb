"""Counts by netlink how often each Linux card of this network namespace lost its link; /sys may be the host's."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator

HEADER, CARD, ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BxHiII"), struct.Struct("=HH")
GETLINK, NEWLINK, DONE = 18, 16, 3
REQUEST_ALL = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
NAME, LOST = 3, 48  # IFLA_IFNAME, IFLA_CARRIER_DOWN_COUNT
PATIENCE = 1.0  # seconds to wait for the kernel's answer


def carriers_lost() -> dict[str, int]:
    """How often each card has lost its link since it exists; empty if the kernel does not tell."""
    found: dict[str, int] = {}
    with contextlib.suppress(OSError), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as asked:
        asked.settimeout(PATIENCE)
        asked.send(HEADER.pack(HEADER.size + CARD.size, GETLINK, REQUEST_ALL, 1, 0) + CARD.pack(0, 0, 0, 0, 0))
        while True:
            for kind, body in _messages(asked.recv(1 << 18)):
                if kind == DONE:
                    return found
                if kind == NEWLINK:
                    attributes = dict(_attributes(body[CARD.size :]))
                    if NAME in attributes and len(attributes.get(LOST, b"")) == 4:
                        name = attributes[NAME].rstrip(b"\0").decode(errors="replace")
                        found[name] = int.from_bytes(attributes[LOST], "little")
    return found


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= HEADER.size:
        size, kind, _, _, _ = HEADER.unpack_from(data)
        if size < HEADER.size:
            return
        yield kind, data[HEADER.size : size]
        data = data[-(-size // 4) * 4 :]


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= ATTRIBUTE.size:
        size, kind = ATTRIBUTE.unpack_from(data)
        if size < ATTRIBUTE.size:
            return
        yield kind, data[ATTRIBUTE.size : size]
        data = data[-(-size // 4) * 4 :]
