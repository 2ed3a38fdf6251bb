"""What an experiment changes at its ends, for a trial and not longer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linkladder.model.words import End

SMALLEST_MTU, LARGEST_MTU = 1280, 9216  # below the first an adapter loses its IPv6 addresses, which no undo brings back
SWITCH = ("on", "off")


class SettingKind(StrEnum):
    """Each of these can be read, made, read back and put back; what cannot is no setting."""

    MTU = "mtu"
    TSO = "tso"
    LRO = "lro"
    GSO = "gso"
    GRO = "gro"
    RXCSUM = "rxcsum"
    TXCSUM = "txcsum"


@dataclass(frozen=True)
class Setting:
    """One change to the path's adapter at one or both ends."""

    kind: SettingKind
    value: str  # a size in bytes for the MTU, else "on" or "off"
    ends: tuple[End, ...] = (End.NEAR, End.FAR)

    @property
    def restarts(self) -> bool:
        """Does the adapter start anew with it, and again when it is put back?"""
        return self.kind in SettingKind

    @property
    def label(self) -> str:
        """'mtu-9000', 'tso-off-near': as the name of an experiment tells it."""
        return "-".join([self.kind, self.value, *(self.ends if len(self.ends) == 1 else ())])

    @property
    def wrong(self) -> str:
        """What was expected of the value instead, '' where it is right."""
        if self.kind is not SettingKind.MTU:
            return "" if self.value in SWITCH else "expected on or off"
        fits = self.value.isdecimal() and self.value.isascii() and len(self.value) < 6
        if not fits or not SMALLEST_MTU <= int(self.value) <= LARGEST_MTU:
            return f"expected a whole number from {SMALLEST_MTU} to {LARGEST_MTU}"
        return ""
