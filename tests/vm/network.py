"""What joins machines to each other and to the tests: namespaces with bridges, and a tap for each adapter."""

from __future__ import annotations

import itertools
import os
import subprocess


class Network:
    """A namespace of its own with a bridge for management and one for the test adapters."""

    virtio = 0  # of a machine's adapters, the last ones
    intel: tuple[str, ...] = ()  # the models of the last ones, where they are Intel's
    _made = itertools.count()

    def __init__(self) -> None:
        self.name = f"llvm{os.getpid()}-{next(self._made)}"
        self.close()
        self.ip("netns", "add", self.name)
        self.inside("link", "set", "lo", "up")
        for bridge in ("management", "test"):
            self.inside("link", "add", bridge, "type", "bridge")
            self.inside("link", "set", bridge, "mtu", "9000", "up")
        self.inside("address", "add", "10.98.0.254/24", "dev", "management")  # where the tests come in from

    @staticmethod
    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def inside(self, *words: str) -> None:
        self.ip("-n", self.name, *words)

    def taps(self, number: int) -> tuple[str, ...]:
        """The two adapters of a machine; vnet_hdr carries offloads across."""
        made = (f"m{number}", f"t{number}")
        for tap, bridge in zip(made, ("management", "test"), strict=True):
            self.tap(tap, bridge)
        return made

    def tap(self, tap: str, bridge: str) -> None:
        """One adapter's end on a bridge; an earlier machine of this number may have left one."""
        subprocess.run(["ip", "-n", self.name, "link", "delete", tap], capture_output=True, check=False)
        self.inside("tuntap", "add", "dev", tap, "mode", "tap", "vnet_hdr")
        self.inside("link", "set", tap, "mtu", "9000", "master", bridge, "up")

    def close(self) -> None:
        subprocess.run(["ip", "netns", "delete", self.name], capture_output=True, check=False)


class ThreeCards(Network):
    """A second network for tests, and a card in it for each machine."""

    def __init__(self) -> None:
        super().__init__()
        self.inside("link", "add", "test2", "type", "bridge")
        self.inside("link", "set", "test2", "mtu", "9000", "up")

    def taps(self, number: int) -> tuple[str, ...]:
        more = f"u{number}"
        self.tap(more, "test2")
        return (*super().taps(number), more)
