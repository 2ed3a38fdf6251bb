"""Linux's network ioctls, used instead of sysfs because they always ask this process's own network namespace."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

SIOCGIFFLAGS = 0x8913
SIOCGIFMTU = 0x8921
SIOCGIFHWADDR = 0x8927
SIOCETHTOOL = 0x8946
IFF_UP, IFF_LOOPBACK, IFF_RUNNING = 0x1, 0x8, 0x40
GSET, GDRVINFO, GCOALESCE, GSTRINGS, GSTATS, GFLAGS, GSSET_INFO, GCHANNELS = 0x1, 0x3, 0xE, 0x1B, 0x1D, 0x25, 0x37, 0x3C
GRINGPARAM = 0x10
STATS_SET, FEATURES_SET = 1, 4
GFEATURES = 0x3A
FLAG_LRO = 1 << 15
QUESTIONS = {"rxcsum": 0x14, "txcsum": 0x16, "tso": 0x1E, "gso": 0x23, "gro": 0x2B}
FLAGS = (*QUESTIONS, "lro")
NAME_LIMIT = 15
STRING = 32
MAX_STATISTICS = 4096


class Interfaces:
    """Asks the kernel about interfaces; the methods return None or an empty value if it has no answer."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Interfaces:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ifreq(self, request: int, name: str) -> bytes | None:
        try:
            return fcntl.ioctl(self._socket, request, struct.pack("16s24x", name.encode()[:NAME_LIMIT]))
        except OSError:
            return None

    def flags(self, name: str) -> int | None:
        reply = self._ifreq(SIOCGIFFLAGS, name)
        return struct.unpack_from("H", reply, 16)[0] if reply else None

    def mtu(self, name: str) -> int | None:
        reply = self._ifreq(SIOCGIFMTU, name)
        return struct.unpack_from("i", reply, 16)[0] if reply else None

    def mac(self, name: str) -> str:
        reply = self._ifreq(SIOCGIFHWADDR, name)
        return reply[18:24].hex(":") if reply and any(reply[18:24]) else ""

    def _ask(self, name: str, payload: bytes) -> bytes | None:
        buffer = ctypes.create_string_buffer(payload, len(payload))
        request = struct.pack("16sP16x", name.encode()[:NAME_LIMIT], ctypes.addressof(buffer))
        try:
            fcntl.ioctl(self._socket, SIOCETHTOOL, request)
        except OSError:
            return None
        return buffer.raw

    def can_change(self, name: str, feature: str) -> bool:
        """Whether the driver lets a feature be switched, by the name that `ethtool -k` has for it in the kernel."""
        reply = self._ask(name, struct.pack("IIQI", GSSET_INFO, 0, 1 << FEATURES_SET, 0))
        if not reply or not struct.unpack_from("Q", reply, 8)[0]:
            return False
        count = struct.unpack_from("I", reply, 16)[0]
        blocks = -(-count // 32)
        names = self._ask(name, struct.pack(f"III{count * STRING}x", GSTRINGS, FEATURES_SET, count))
        known = self._ask(name, struct.pack(f"II{blocks * 16}x", GFEATURES, blocks))
        if not names or not known:
            return False
        words = [names[12 + i * STRING : 12 + (i + 1) * STRING].split(b"\0", 1)[0].decode() for i in range(count)]
        if feature not in words:
            return False
        block, bit = divmod(words.index(feature), 32)
        return bool(struct.unpack_from("I", known, 8 + 16 * block)[0] >> bit & 1)

    def driver(self, name: str) -> str:
        reply = self._ask(name, struct.pack("I192x", GDRVINFO))
        return reply[4:36].split(b"\0", 1)[0].decode("ascii", "replace") if reply else ""

    def speed(self, name: str) -> float | None:
        reply = self._ask(name, struct.pack("I40x", GSET))
        if not reply:
            return None
        megabits = struct.unpack_from("H", reply, 12)[0] | struct.unpack_from("H", reply, 28)[0] << 16
        return megabits * 1e6 if 0 < megabits < 0xFFFFFFFF and megabits != 0xFFFF else None

    def half_duplex(self, name: str) -> bool:
        reply = self._ask(name, struct.pack("I40x", GSET))
        return reply is not None and self.speed(name) is not None and reply[14] == 0  # 1 is full, 255 unknown

    def queues(self, name: str) -> tuple[int | None, int | None]:
        """The numbers of receive and transmit queues in use."""
        reply = self._ask(name, struct.pack("I32x", GCHANNELS))
        if not reply:
            return None, None
        rx, tx, _, both = struct.unpack_from("4I", reply, 20)
        return rx + both or None, tx + both or None

    def rings(self, name: str) -> tuple[int | None, int | None]:
        """How many descriptors the rings for receiving and for sending have."""
        reply = self._ask(name, struct.pack("I32x", GRINGPARAM))
        return (None, None) if not reply else (*struct.unpack_from("I8xI", reply, 20),)

    def flag(self, name: str, flag: str) -> bool | None:
        """Whether an offload is on."""
        reply = self._ask(name, struct.pack("II", GFLAGS if flag == "lro" else QUESTIONS[flag], 0))
        if not reply:
            return None
        value = struct.unpack_from("I", reply, 4)[0]
        return bool(value & FLAG_LRO) if flag == "lro" else bool(value)

    def rx_usecs(self, name: str) -> int | None:
        """How many microseconds the card waits after a packet before it interrupts; None if it adapts that itself."""
        reply = self._ask(name, struct.pack("I88x", GCOALESCE))
        return None if not reply or struct.unpack_from("I", reply, 40)[0] else int(struct.unpack_from("I", reply, 4)[0])

    def statistics(self, name: str) -> dict[str, int]:
        """The driver's own counters, as `ethtool -S` shows them."""
        reply = self._ask(name, struct.pack("IIQI", GSSET_INFO, 0, 1 << STATS_SET, 0))
        if not reply or not struct.unpack_from("Q", reply, 8)[0]:
            return {}
        count = struct.unpack_from("I", reply, 16)[0]
        if not 0 < count <= MAX_STATISTICS:
            return {}
        names = self._ask(name, struct.pack(f"III{count * STRING}x", GSTRINGS, STATS_SET, count))
        values = self._ask(name, struct.pack(f"II{count * 8}x", GSTATS, count))
        if not names or not values:
            return {}
        words = (names[12 + i * STRING : 12 + (i + 1) * STRING].split(b"\0", 1)[0] for i in range(count))
        return {
            w.decode("ascii", "replace"): v
            for w, v in zip(words, struct.unpack_from(f"{count}Q", values, 8), strict=True)
        }
