"""Reads and writes numbers for people; as in iperf, bits are counted in thousands and bytes in 1024s."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

_RATE = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
RATE_UNITS = (("Tb/s", 1e12), ("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3))
MOST_CORES = 1024  # of one machine
_CORES = re.compile(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*")
_NUMBER = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)\s*([a-zA-Z/]*)\s*$")


class Unreadable(ValueError):
    """The text is not a rate, a size or a list of cores; the message quotes it."""

    def __init__(self, expected: str, given: object) -> None:
        super().__init__(f"expected {expected}, got {str(given)[:40]!r}")


def plural(count: int, word: str) -> str:
    """A count with its word, such as '1 trial' or '5 trials'."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def plural_does(count: int, word: str, one: str, several: str) -> str:
    """A count with its word and verb, such as '1 trial was' or '5 trials were'."""
    return f"{plural(count, word)} {one if count == 1 else several}"


def joined(names: Sequence[str]) -> str:
    """Names as a sentence lists them: 'a', 'a and b' or 'a, b and c'; '' for none."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def parse_rate(text: str | int | float) -> float:
    """Bits per second from '10G', '2.5 Gb/s', '950Mbit/s' or a number; raises Unreadable for anything else."""
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
    """Bytes from '800k' or '8M'; as in iperf, lower case counts in thousands, upper case in 1024s."""
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


def parse_cores(text: str) -> tuple[int, ...]:
    """The numbers of cores from '2,3' or '0-2,5'; raises Unreadable for anything else."""
    plain = text.replace(" ", "")
    spans = [part.split("-") for part in plain.split(",")] if _CORES.fullmatch(plain) else []
    named = [core for span in spans for core in range(int(span[0]), int(span[-1]) + 1)]
    backwards = any(int(span[0]) > int(span[-1]) for span in spans)
    if not named or backwards or len(named) != len(set(named)) or max(named) >= MOST_CORES:
        raise Unreadable(f'cores below {MOST_CORES}, each once, such as "2,3" or "0-2,5"', text)
    return tuple(sorted(named))


def core_list(cores: tuple[int, ...]) -> str:
    """Numbers of cores such as '2,3' or '0-2,5', as `parse_cores` reads them."""
    spans: list[list[int]] = []
    for core in cores:
        if spans and core == spans[-1][-1] + 1:
            spans[-1].append(core)
        else:
            spans.append([core])
    return ",".join(f"{s[0]}-{s[-1]}" if len(s) > 2 else ",".join(map(str, s)) for s in spans)


def rate(bps: float | None) -> str:
    """A rate such as '9.41 Gb/s', with three significant figures and the unit."""
    if bps is None:
        return "-"
    if bps <= 0:
        return "0 b/s"
    unit, factor = rate_unit(bps)
    return f"{three(bps / factor)} {unit}"


def rate_unit(bps: float) -> tuple[str, float]:
    """The unit that suits this rate, and how many bits per second it is."""
    return next(((unit, factor) for unit, factor in RATE_UNITS if bps >= factor * 0.9995), ("b/s", 1.0))


def rates(low: float | None, high: float | None, between: str = " - ") -> str:
    """A range such as '75.4 - 83.0 Gb/s', in the unit of the larger rate; one figure if both look the same."""
    if low is None or high is None:
        return "-"
    unit, factor = rate_unit(high)
    first, last = three(low / factor), three(high / factor)
    return f"{last} {unit}" if first == last else f"{first}{between}{last} {unit}"


def size(count: float | None) -> str:
    """A size such as '512 MB', counted in 1024s."""
    if count is None:
        return "-"
    for unit, factor in (("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)):
        if count >= factor:
            return f"{three(count / factor)} {unit}"
    return f"{count:.0f} B"


def three(number: float) -> str:
    """A number with three significant figures and without an exponent."""
    if number == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(number)))
    rounded = round(number, digits)
    if rounded and 2 - math.floor(math.log10(abs(rounded))) < digits:
        digits -= 1
    return f"{rounded:.{max(digits, 0)}f}"


def sentence(text: str) -> str:
    """The text with a full stop at its end, unless it is a question."""
    return text if text.endswith("?") else f"{text.rstrip('.')}."


def duration(seconds: float) -> str:
    """A time such as '45 s', '3 min 20 s' or '2 h 05 min'."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def at_best(seconds: float, longest: float) -> str:
    """A time such as '3 min 20 s', or a range such as 'at best 3 min 20 s, at most 5 min 00 s'."""
    best, most = duration(seconds), duration(longest)
    return best if best == most else f"at best {best}, at most {most}"


def apart(seconds: float) -> str:
    """How a clock differs from another: '1 h 00 min ahead of', '12 s behind' or 'within 1 s of'."""
    if abs(seconds) < 1:
        return "within 1 s of"
    return f"{duration(abs(seconds))} {'ahead of' if seconds > 0 else 'behind'}"


def milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{three(value)} ms"


def share(value: float, digits: int = 0) -> str:
    """A share of one in percent, such as '98 %' or '0.25 %'; people read it with a space, as in SI."""
    return f"{value:.{digits}%}".replace("%", " %")
