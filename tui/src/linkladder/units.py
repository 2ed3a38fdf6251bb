"""Numbers as people write and read them; iperf's rule: bits are counted in thousands, bytes in 1024s."""

from __future__ import annotations

import math
import re

_RATE = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
RATE_UNITS = (("Tb/s", 1e12), ("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3))
_NUMBER = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)\s*([a-zA-Z/]*)\s*$")


class Unreadable(ValueError):
    """No rate, or no size; its words quote what was given."""

    def __init__(self, expected: str, given: object) -> None:
        super().__init__(f"expected {expected}, got {str(given)[:40]!r}")


def plural(count: int, word: str) -> str:
    """'1 trial', '5 trials'."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def parse_rate(text: str | int | float) -> float:
    """Bits per second from '10G', '2.5 Gb/s', '950Mbit/s' or a number; ValueError says what is expected."""
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        number = float(text)
    else:
        match = _NUMBER.match(str(text))
        if not match or match[3].lower() not in ("", "b", "bps", "bit", "bit/s", "b/s", "bits/s"):
            raise Unreadable("a rate such as 10G, 2.5G or 950M", text)
        number = float(match[1]) * _RATE[match[2].lower()]
    if not math.isfinite(number) or number <= 0:
        raise Unreadable("a rate above zero", text)
    return number


def parse_size(text: str | int) -> int:
    """Bytes from '800k' (thousand) or '8M' (1024s): as iperf reads them, lower case is decimal, upper binary."""
    if isinstance(text, int) and not isinstance(text, bool):
        number = float(text)
    else:
        match = _NUMBER.match(str(text))
        if not match or match[3] not in ("", "B"):
            raise Unreadable("a size such as 800k, 8M or 65536", text)
        unit = match[2]
        base = 1000 if unit.islower() else 1024
        number = float(match[1]) * float(base ** " kmgt".index(unit.lower() or " "))
    if not math.isfinite(number) or number < 1:
        raise Unreadable("a size above zero", text)
    return int(number)


def rate(bps: float | None) -> str:
    """'9.41 Gb/s': three significant figures and the unit."""
    if bps is None:
        return "-"
    if bps <= 0:
        return "0 b/s"
    unit, factor = rate_unit(bps)
    return f"{three(bps / factor)} {unit}"


def rate_unit(bps: float) -> tuple[str, float]:
    """The unit in which such a rate reads well, and how many bits per second it is."""
    return next(((unit, factor) for unit, factor in RATE_UNITS if bps >= factor * 0.9995), ("b/s", 1.0))


def rates(low: float | None, high: float | None, between: str = " - ") -> str:
    """'75.4 - 83.0 Gb/s': both in the unit of the larger; one figure where they read alike."""
    if low is None or high is None:
        return "-"
    unit, factor = rate_unit(high)
    first, last = three(low / factor), three(high / factor)
    return f"{last} {unit}" if first == last else f"{first}{between}{last} {unit}"


def size(count: float | None) -> str:
    """'512 MB' in 1024s."""
    if count is None:
        return "-"
    for unit, factor in (("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)):
        if count >= factor:
            return f"{three(count / factor)} {unit}"
    return f"{count:.0f} B"


def three(number: float) -> str:
    """Three significant figures without an exponent."""
    if number == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(number)))
    rounded = round(number, digits)
    if rounded and 2 - math.floor(math.log10(abs(rounded))) < digits:
        digits -= 1
    return f"{rounded:.{max(digits, 0)}f}"


def sentence(text: str) -> str:
    """With its full stop, unless it ends as a question."""
    return text if text.endswith("?") else f"{text.rstrip('.')}."


def duration(seconds: float) -> str:
    """'45 s', '3 min 20 s', '2 h 5 min'."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def at_best(seconds: float, longest: float) -> str:
    """'3 min 20 s', or 'at best 3 min 20 s, at most 5 min 00 s'."""
    best, most = duration(seconds), duration(longest)
    return best if best == most else f"at best {best}, at most {most}"


def apart(seconds: float) -> str:
    """'1 h 00 min ahead of', '12 s behind', 'within 1 s of': where one clock is, seen from another."""
    if abs(seconds) < 1:
        return "within 1 s of"
    return f"{duration(abs(seconds))} {'ahead of' if seconds > 0 else 'behind'}"


def milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{three(value)} ms"
