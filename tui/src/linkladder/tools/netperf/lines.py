"""Reads the output of one netperf session: interim results and selectors."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from linkladder.model import LEFT_OUT
from linkladder.tools.netperf import table

NUMBER = r"(\d{1,15}(?:\.\d{1,9})?)"
INTERIM = re.compile(rf"^NETPERF_(INTERIM_RESULT|INTERVAL|ENDING)\[(\d{{1,7}})\]={NUMBER}$")
UNITS = re.compile(r"^NETPERF_UNITS\[(\d{1,7})\]=(\S{1,20})$")
SELECTOR = re.compile(r"^([A-Z][A-Z0-9_]{2,40})=(\S{0,40})$")
VALUE = re.compile(rf"^{NUMBER}$")
SCALES = {"10^3bits/s": 125.0, "10^6bits/s": 125e3, "10^9bits/s": 125e6, "Trans/s": 1.0, "Bytes/s": 1.0,
          "KBytes/s": 1024.0, "MBytes/s": 1024.0**2, "GBytes/s": 1024.0**3}  # fmt: skip
JOINT = 0.05  # seconds that may lie between the end of an interim result and the start of the next
PARTS = {"INTERIM_RESULT": "rate", "INTERVAL": "interval", "ENDING": "ending"}


@dataclass(frozen=True)
class Piece:
    """The bytes or transactions between two moments of the wall clock."""

    start: float
    end: float
    amount: float
    filled: bool = False  # stands for interim results that were left out


@dataclass
class Session:
    """One netperf process."""

    pieces: list[Piece] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    test: str = ""  # "STREAM" | "MAERTS" | "REQUEST/RESPONSE" | "RR", if the banner or the command tells it
    protocol: str = ""  # "TCP" | "UDP", likewise
    foreign: list[str] = field(default_factory=list)
    conflict: str = ""
    left_out: bool = False  # the interim results of some seconds were not kept

    def number(self, name: str) -> float | None:
        text = self.values.get(name, "")
        return float(text) if VALUE.match(text) else None


@dataclass
class _Interim:
    """An interim result while its lines come in."""

    rate: float | None = None
    units: str = ""
    interval: float | None = None
    ending: float | None = None

    def too_short(self) -> bool:
        """Whether it is a complete last result of under 0.5 ms, which is printed with an interval of 0.000."""
        return self.interval == 0 and self.rate is not None and self.ending is not None and self.units in SCALES

    def piece(self) -> Piece | None:
        if self.rate is None or not self.interval or self.ending is None or self.units not in SCALES:
            return None
        if not 0 < self.interval < 1e6:
            return None
        return Piece(self.ending - self.interval, self.ending, self.rate * SCALES[self.units] * self.interval)


def second(line: str) -> float | None:
    """About when the second of an interim result's line began: there is one result each second."""
    match = INTERIM.match(line.strip()) or UNITS.match(line.strip())
    return float(match[match.re.groups - 1]) if match else None


def parse(text: str) -> Session:
    """Read the interim results in order and the selectors; an interim result counts only with all its four lines."""
    session = Session()
    seen: dict[int, _Interim] = {}
    banners = 0
    for line in text.splitlines():
        line = line.strip()
        if match := INTERIM.match(line):
            one = seen.setdefault(int(match[2]), _Interim())
            part, value = PARTS[match[1]], float(match[3])
            if getattr(one, part) not in (None, value):
                session.conflict = session.conflict or f"interim result {match[2]} is given twice"
            setattr(one, part, value)
        elif match := UNITS.match(line):
            seen.setdefault(int(match[1]), _Interim()).units = match[2]
        elif match := SELECTOR.match(line):
            if session.values.get(match[1], match[2]) != match[2]:
                session.conflict = f"{match[1]} is given twice, as {session.values[match[1]]} and as {match[2]}"
            session.values[match[1]] = match[2]
        elif match := table.BANNER.match(line) or (line.startswith("$ ") and table.ASKED.search(line)) or None:
            banners += line[0] != "$"
            if session.test and session.test[0] != match[2][0]:
                session.conflict = f"it is a {session.test} and a {match[2]} at once"
            session.protocol, session.test = match[1], match[2]
        elif LEFT_OUT in line:
            session.left_out = True
        elif line and not line.startswith(("$ ", "rc=")):
            session.foreign.append(line)
    banners = max(banners, table.count(text.splitlines()))
    if banners > 1:
        session.conflict = f"it holds {banners} runs: one at a time can be read"
    for name, given in table.read(text.splitlines()).items():
        if session.values.setdefault(name, given) != given:
            session.conflict = session.conflict or f"{name} is given twice, as {session.values[name]} and as {given}"
    _join(session, seen)
    return session


def _join(session: Session, seen: dict[int, _Interim]) -> None:
    for place, number in enumerate(sorted(seen)):
        if place != number and not session.left_out:
            session.conflict = session.conflict or f"interim result {place} is missing"
        piece = seen[number].piece()
        last = session.pieces[-1].end if session.pieces else None
        if seen[number].too_short() and number == max(seen):
            continue
        if piece is None:
            session.conflict = session.conflict or f"interim result {number} is not whole"
        elif last is not None and session.left_out and piece.start - last > JOINT:
            session.pieces += (Piece(last, piece.start, 0.0, filled=True), piece)
        elif last is not None and abs(piece.start - last) > JOINT:
            session.conflict = session.conflict or f"interim result {number} does not begin where the last one ended"
        else:
            session.pieces.append(piece)
