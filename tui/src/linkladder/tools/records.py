"""The records that the tools take and return; the package's docstring says how they fit together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from linkladder.model import End, Fault

Texts = tuple[str, str]  # what a process printed: standard output, standard error


class Unavailable(ValueError):
    """The two ends cannot do the experiment; the text tells people why."""


@dataclass(frozen=True)
class ToolVersions:
    """The versions of the tools that are installed at one end."""

    found: Mapping[str, str] = field(default_factory=dict)  # such as '2.1.8'; 'present' if a tool prints none
    os: str = "Linux"  # "FreeBSD" | "Linux"

    def of(self, tool: str) -> tuple[int, ...] | None:
        """The version as numbers; None if the tool is missing."""
        text = self.found.get(tool)
        return tuple(int(n) for n in text.split(".") if n.isdecimal()) if text else None


@dataclass(frozen=True)
class Demands:
    """What saved output must show, as far as the user says it."""

    flows: int | None = None
    seconds: float | None = None
    local: str | None = None
    window: int | None = None


@dataclass(frozen=True)
class Layout:
    """Which end runs what in one trial."""

    server: End | None  # None if the tool needs none (ping)
    client: End
    clients: int = 1  # client processes to start: client_argv(..., index=0 .. clients-1)
    together: bool = True  # start them at the same instant; False: one after the other (DF probes)
    reverse_flag: bool = False  # the client asks the server to send (-R)
    protocol_port: Literal["tcp", "udp"] | None = None  # what the server listens on; netserver's is tcp
    privileged: bool = False  # this ping needs root on this system (FreeBSD: big, fast or DF)


@dataclass(frozen=True)
class Expectation:
    """What is known of a trial besides the tools' output; `local` is the near end's address, `remote` the far end's."""

    local: str = ""
    remote: str = ""
    port: int | None = None
    os_near: str = "Linux"
    os_far: str = "Linux"
    window_limit_near: int | None = None  # the largest socket buffer in bytes that the near end grants, if known
    window_limit_far: int | None = None
    exit_codes: tuple[int | None, ...] = ()  # of the clients, in order; negative for a signal; None if unknown
    server_exit: int | None = None  # set if the server ended before it was told to
    still: tuple[tuple[float, float], ...] = ()  # spans in which an end itself stood still, from the clients' start
    still_at: tuple[str, ...] = ()  # the names of the ends that did, span by span
    watchdog: bool = False  # the engine had to end the clients, because they ran too long

    @property
    def stood_still(self) -> str:
        """Which end stood still itself, and its longest time; there must be one."""
        spans = zip(self.still, self.still_at or ("an end",) * len(self.still), strict=True)
        (since, until), name = max(spans, key=lambda one: one[0][1] - one[0][0])
        return f"{name} stood still itself for {until - since:.1f} s meanwhile"

    @property
    def meanwhile(self) -> str:
        """What a reason adds where an end stood still itself."""
        return f", but {self.stood_still}"

    def broke_off(self, reason: str, itself: bool) -> tuple[Fault, str]:
        """The fault and the reason of traffic that broke off: not the path's if an end stood still `itself` then."""
        return (Fault.TOOL, f"{reason}{self.meanwhile}") if itself else (Fault.PATH, reason)
