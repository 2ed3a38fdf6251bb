"""The records that the tools take and give; see the package's docstring for how they fit together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from linkladder.model import End

Texts = tuple[str, str]  # what a process printed: standard output, standard error


class Unavailable(ValueError):
    """The experiment cannot be done by these two ends; the text says why, for people."""


@dataclass(frozen=True)
class ToolVersions:
    """What one end has: of each tool that is there, what it says of its version."""

    found: Mapping[str, str] = field(default_factory=dict)  # '2.1.8'; 'present' where a tool does not tell
    os: str = "Linux"  # "FreeBSD" | "Linux"

    def of(self, tool: str) -> tuple[int, ...] | None:
        """The version as numbers; None: the tool is missing."""
        text = self.found.get(tool)
        return tuple(int(n) for n in text.split(".") if n.isdigit()) if text else None


@dataclass(frozen=True)
class Demands:
    """What saved output must show, as far as whoever saved it knows."""

    flows: int | None = None
    seconds: float | None = None
    local: str | None = None
    window: int | None = None


@dataclass(frozen=True)
class Layout:
    """Which end runs what in one trial."""

    server: End | None  # None: the tool needs none (ping)
    client: End
    clients: int = 1  # client processes to start: client_argv(..., index=0 .. clients-1)
    together: bool = True  # start them at the same instant; False: one after the other (DF probes)
    reverse_flag: bool = False  # the client asks the server to send (-R)
    protocol_port: Literal["tcp", "udp"] | None = None  # what the server listens on; netserver's is tcp
    privileged: bool = False  # this ping needs root on this system (FreeBSD: big, fast or DF)


@dataclass(frozen=True)
class Expectation:
    """What is known of a trial besides the tools' words; `local` is the near end's address, `remote` the far's."""

    local: str = ""
    remote: str = ""
    port: int | None = None
    os_near: str = "Linux"
    os_far: str = "Linux"
    window_limit_near: int | None = None  # the largest socket buffer that end grants; None: not known
    window_limit_far: int | None = None
    exit_codes: tuple[int | None, ...] = ()  # of the clients, in order; negative for a signal; None: unknown
    server_exit: int | None = None  # not None: the server ended by itself, before it was told to
    still: tuple[tuple[float, float], ...] = ()  # from when to when an end stood still itself, since the clients began
    watchdog: bool = False  # the engine had to end the clients: they outlived their time
