"""Forgeries of what was run: commands, and what the tools say of themselves, that are not those of the plan."""

from __future__ import annotations

from typing import Any

from forge import BEST, DUPLEX, HALF, TCP, UDP, Edit, Json, contract, each, together
from forged_contradictions import of_arms
from forged_words import CANNOT, PASS, C, Rows

LOADS = (*TCP, *DUPLEX, *UDP)
CLASS = 46
MARK = ("-S", str(CLASS << 2))


def commanded() -> Rows:
    """What was asked for is not what was run."""
    yield "a class that is sold, planned, set and printed", of_the_class(MARK, 0xB8), PASS, C.REACHED
    yield "a class that is sold and planned, and that no command set", of_the_class((), 0), CANNOT, C.NOT_AS_SOLD
    yield "a class that only the commands set", of_the_class(MARK, 0), CANNOT, C.RAW_OUTPUT
    yield "a class that the commands do not set, and the tools print", of_the_class((), 0xB8), CANNOT, C.NOT_AS_SOLD
    yield "another class than was sold in the commands", of_the_class(("-S", "32"), 0x20), CANNOT, C.NOT_AS_SOLD
    yield "a class that nobody asked for in the commands", each(BEST, added(*MARK)), CANNOT, C.NOT_AS_SOLD
    yield "a class that nobody asked for in the output", each(BEST, printed_class(0x20)), CANNOT, C.RAW_OUTPUT
    yield "the client was run for IPv6", each(BEST, added("-V")), CANNOT, C.NOT_AS_SOLD
    yield "the client was run with four streams", each(BEST, option("-P", "4")), CANNOT, C.NOT_AS_SOLD
    yield "the client was run with a socket buffer", each(BEST, added("-w", "4000000")), CANNOT, C.NOT_AS_SOLD
    yield "the client was run with small writes", each(BEST, added("-l", "100")), CANNOT, C.NOT_AS_SOLD
    yield "the client was run both ways at once", each(BEST[:1], added("--full-duplex")), CANNOT, C.NOT_AS_SOLD
    yield "UDP was run at half of its rate", each(HALF, option("-b", "24305555")), CANNOT, C.NOT_AS_SOLD
    yield "UDP was run with small datagrams", each(HALF, option("-l", "200")), CANNOT, C.NOT_AS_SOLD
    yield "UDP commands of a TCP arm", each(BEST, added("-u")), CANNOT, C.NOT_AS_SOLD
    yield "the client was run for an amount", each(BEST, added("-n", "900000000")), CANNOT, C.NOT_AS_SOLD
    yield "the client was run with a congestion control", each(BEST, added("-Z", "bbr")), CANNOT, C.NOT_AS_SOLD
    yield "the client was run for a second", each(BEST, option("-t", "1")), CANNOT, C.NOT_AS_SOLD
    yield "UDP was run for longer than asked", each(HALF, option("-t", "60")), CANNOT, C.NOT_AS_SOLD
    yield "the client was run from another address", each(BEST, option("-B", "192.0.2.9")), CANNOT, C.RAW_OUTPUT
    yield "the client was run with small segments", each(BEST, added("-M", "500")), CANNOT, C.NOT_AS_SOLD
    yield "another program was run", each(BEST, program("cat")), CANNOT, C.RAW_OUTPUT
    yield "the same program by its whole path, on chosen cores", each(BEST, wrapped), PASS, C.REACHED


def of_the_class(mark: tuple[str, ...], printed: int) -> Edit:
    return together(
        contract(dscp=CLASS), of_arms((*LOADS, "round-trip"), dscp=CLASS), planned_class, each(LOADS, added(*mark)),
        each(LOADS, printed_class(printed)),
    )  # fmt: skip


def planned_class(d: Json) -> None:
    for r in d["run"]["plan"]["rungs"]:
        for e in r["experiments"]:
            if r["name"] == "dc-link" and e["id"] in (*LOADS, "round-trip"):
                e["dscp"] = CLASS


def added(*words: str) -> Any:
    return lambda t: [c["argv"].extend(words) for c in t["commands"] if c["role"] in ("client", "server")]


def option(name: str, value: str, role: str = "client") -> Any:
    def change(t: Json) -> None:
        for c in t["commands"]:
            if c["role"] == role:
                c["argv"][c["argv"].index(name) + 1] = value

    return change


def program(name: str) -> Any:
    return lambda t: [c["argv"].__setitem__(0, name) for c in t["commands"] if c["role"] == "client"]


def wrapped(t: Json) -> None:
    for c in t["commands"]:
        if c["role"] in ("client", "server"):
            c["argv"][:1] = ["taskset", "-c", "0,1", "/usr/bin/iperf"]


def printed_class(mark: int) -> Any:
    """What the client says it marks its packets with."""

    def change(t: Json) -> None:
        for c in t["commands"]:
            if c["role"] == "client":
                c["output"] = c["output"].replace("TOS set to 0x0 ", f"TOS set to 0x{mark:x} ")

    return change
