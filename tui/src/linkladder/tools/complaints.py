"""Sorts what tools print on stderr: harmless, the tool's fault, or the path's fault."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from linkladder.model import Fault
from linkladder.tools.contract import Tool

PATH = (
    (re.compile(r"No route to host|Host is down|Destination Host Unreachable", re.I), "the other end does not answer"),
    (
        re.compile(r"(?:Connection|Operation) timed out|connect\w* timed? ?out|Resource temporarily unavailable", re.I),
        "the other end did not answer in time",
    ),
    (re.compile(r"Connection reset by peer|Broken pipe|write failed|recv failed|read failed", re.I), "reset"),
)
TOOL = (
    (re.compile(r"unrecogni[sz]ed option|invalid option|illegal option|unknown option", re.I), "an option is unknown"),
    (re.compile(r"Address already in use", re.I), "the port is already taken"),
    (re.compile(r"bind failed|can'?t assign requested|cannot assign requested|bind:", re.I), "binding failed"),
    (re.compile(r"socket buffer size not set", re.I), "the socket buffer was not granted"),
    (re.compile(r"Connection refused", re.I), "the connection was refused: nothing listens there"),
    (re.compile(r"Network is unreachable", re.I), "there is no route to the other end"),
    (re.compile(r"unknown host|name or service not known|Name does not resolve|cannot resolve", re.I), "unknown host"),
    (re.compile(r"Operation not permitted|Permission denied", re.I), "it was not permitted"),
    (
        re.compile(r"Cannot allocate memory|No buffer space|Too many open files", re.I),
        "the system ran out of something",
    ),
)


@dataclass
class Said:
    """The lines that matter, and whose fault they seem to be."""

    lines: list[str] = field(default_factory=list)
    fault: Fault | None = None
    plain: str = ""  # what the lines mean, in plain words
    reset: bool = False

    @property
    def quoted(self) -> str:
        """The tool's own text, cut to a length that fits."""
        unique = list(dict.fromkeys(self.lines))
        return shorten("; ".join(unique))


def listen(*texts: str | Iterable[str]) -> Said:
    """Judge lines of stderr; a line that no pattern knows counts as the tool's fault."""
    said = Said()
    for text in texts:
        for line in text.splitlines() if isinstance(text, str) else text:
            line = " ".join(line.split())
            if line and not _harmless().search(line):
                said.lines.append(line)
    for fault, known in ((Fault.TOOL, TOOL), (Fault.PATH, PATH)):
        for pattern, plain in known:
            if any(pattern.search(line) for line in said.lines):
                said.fault, said.plain, said.reset = fault, plain, plain == "reset"
                return said
    if said.lines:
        said.fault, said.plain = Fault.TOOL, "the tool complained"
    return said


@cache
def _harmless() -> re.Pattern[str]:
    """What some tool declares to mean nothing."""
    return re.compile("|".join([r"^\s*$", *(words for tool in Tool.__subclasses__() for words in tool.harmless)]))


def known(lines: Iterable[str]) -> list[str]:
    """Those of the lines that are known messages of failure; in saved output they stand among the figures."""
    patterns = [p for p, _ in (*TOOL, *PATH)]
    return [line for line in lines if any(p.search(line) for p in patterns) and not _harmless().search(line)]


def shorten(text: str, most: int = 300) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
