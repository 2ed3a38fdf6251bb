"""Checks the arguments of pings that ordinary users may not send."""

from __future__ import annotations

from collections.abc import Callable

from linkladder.priv.checks import Refused, address, interface, number, one_of, seconds, shown

MAX_COUNT = 1_000_000
MAX_SECONDS = 172_800
SHORTEST = 0.01  # seconds between two pings
Check = Callable[[str, str], str]


def _source(text: str, field: str) -> str:
    try:
        return address(text, field)
    except Refused:
        return interface(text, field)


COMMON: dict[str, Check | None] = {
    "-n": None,
    "-q": None,
    "-4": None,
    "-6": None,
    "-c": lambda text, field: number(text, field, 1, MAX_COUNT),
    "-i": lambda text, field: seconds(text, field, SHORTEST, 60),
    "-s": lambda text, field: number(text, field, 0, 65507),
}
FREEBSD: dict[str, Check | None] = {
    **COMMON,
    "-D": None,  # do not fragment
    "-S": address,
    "-W": lambda text, field: number(text, field, 1, 60000),  # ms to wait for a reply
    "-t": lambda text, field: number(text, field, 1, MAX_SECONDS),  # s until it ends
    "-m": lambda text, field: number(text, field, 1, 255),  # TTL
    "-z": lambda text, field: number(text, field, 0, 255),  # TOS
}
LINUX: dict[str, Check | None] = {
    **COMMON,
    "-D": None,  # time stamps
    "-O": None,
    "-M": lambda text, field: one_of(text, field, ("do", "dont", "want", "probe")),
    "-I": _source,
    "-W": lambda text, field: seconds(text, field, 0.01, 60),
    "-w": lambda text, field: number(text, field, 1, MAX_SECONDS),
    "-t": lambda text, field: number(text, field, 1, 255),
    "-Q": lambda text, field: number(text, field, 0, 255),
}


def parse(system: str, args: list[str]) -> list[str]:
    """Check ping's arguments: known options, each value as a separate word, then one address."""
    known = FREEBSD if system == "FreeBSD" else LINUX
    given: dict[str, str] = {}
    rest = list(args)
    checked: list[str] = []
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option not in known or option in given:
            raise Refused("option", f"{'given twice' if option in given else 'not allowed'}: {shown(option)}")
        given[option] = ""
        checked.append(option)
        check = known[option]
        if check is not None:
            if not rest:
                raise Refused(option, "its value is missing")
            given[option] = check(rest.pop(0), option)
            checked.append(given[option])
    if not rest:
        raise Refused("address", "is missing")
    if len(rest) > 1:
        raise Refused("arguments", f"one too many: {shown(rest[1])}")
    if "-c" not in given:
        raise Refused("-c", "is missing: the number of pings must be bounded")
    if float(given.get("-i", "1")) * int(given["-c"]) > MAX_SECONDS:
        raise Refused("-c", "the series would last more than two days")
    return [*checked, address(rest[0])]
