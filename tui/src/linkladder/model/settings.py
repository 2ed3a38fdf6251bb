"""What an experiment changes at its ends, for a trial and not longer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from linkladder.model.hosts import Nic
from linkladder.model.words import End

SMALLEST_MTU, LARGEST_MTU = 1280, 9216  # below the first an adapter loses its IPv6 addresses, which no undo brings back
SWITCH = ("on", "off")
ALGORITHM = re.compile(r"[a-z][a-z0-9_]{1,15}")


class SettingKind(StrEnum):
    """Each of these can be read, made, read back and put back; what cannot is no setting."""

    MTU = "mtu"
    TSO = "tso"
    LRO = "lro"
    GSO = "gso"
    GRO = "gro"
    RXCSUM = "rxcsum"
    TXCSUM = "txcsum"
    CONGESTION = "congestion"  # what new TCP connections of the whole machine go by


@dataclass(frozen=True)
class Setting:
    """One change to the path's adapter at one or both ends."""

    kind: SettingKind
    value: str  # a size in bytes for the MTU, an algorithm's name for the congestion control, else "on" or "off"
    ends: tuple[End, ...] = (End.NEAR, End.FAR)

    @property
    def of_machine(self) -> bool:
        """Is it the whole machine's, and no adapter's?"""
        return self.kind is SettingKind.CONGESTION

    @property
    def restarts(self) -> bool:
        """Does the adapter start anew with it, and again when it is put back?"""
        return not self.of_machine

    @property
    def mtu(self) -> int | None:
        """The MTU that it makes."""
        return int(self.value) if self.kind is SettingKind.MTU else None

    def on(self, nic: Nic) -> str | None:
        """What the adapter has; None where it has no such thing."""
        if self.kind is SettingKind.MTU:
            return str(nic.mtu)
        switch = nic.offloads.get(self.kind)
        return None if switch is None else "on" if switch else "off"

    @property
    def label(self) -> str:
        """'mtu-9000', 'tso-off-near': as the name of an experiment tells it."""
        return "-".join([self.kind, self.value, *(self.ends if len(self.ends) == 1 else ())])

    @property
    def wrong(self) -> str:
        """What was expected of the value instead, '' where it is right."""
        if self.kind is SettingKind.CONGESTION:
            return "" if ALGORITHM.fullmatch(self.value) else "expected a name such as cubic or reno"
        if self.kind is not SettingKind.MTU:
            return "" if self.value in SWITCH else "expected on or off"
        fits = self.value.isdecimal() and self.value.isascii() and len(self.value) < 6
        if not fits or not SMALLEST_MTU <= int(self.value) <= LARGEST_MTU:
            return f"expected a whole number from {SMALLEST_MTU} to {LARGEST_MTU}"
        return ""
