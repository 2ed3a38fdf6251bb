"""Forgeries of whose output it is: of another path, machine or port, and of pings that went another way."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from forge import BEST, Json, each
from forged_answers import ECHO, PROBES, prints
from forged_commands import option
from forged_words import CANNOT, PASS, UNSURE, C, Rows

FAR, STRANGER = "10.98.4.2", "10.98.44.2"
BOTH = ("server", "client")


def own_output() -> Rows:
    """What was printed is not of this trial's path or way."""
    yield "the output tells of another peer", each(BEST, printed(lambda s: s.replace(FAR, STRANGER))), CANNOT, (
        C.RAW_OUTPUT
    )  # fmt: skip
    yield "the output tells of another port", each(BEST, printed(other_port)), CANNOT, C.RAW_OUTPUT
    yield "the client was bound to an address of no path", each(BEST, option("-B", "10.1.1.1")), CANNOT, C.RAW_OUTPUT
    yield "the client was run to a host of no path", each(BEST, option("-c", STRANGER)), CANNOT, C.RAW_OUTPUT
    yield "another host answered the pings", each(ECHO, prints(other_host)), CANNOT, C.RAW_OUTPUT
    yield "another host was pinged", each(ECHO, prints(lambda s: s.replace(FAR, STRANGER))), CANNOT, C.RAW_OUTPUT
    yield "another host was pinged beside TCP", each(BEST, beside(lambda s: s.replace(FAR, STRANGER))), CANNOT, (
        C.RAW_OUTPUT
    )  # fmt: skip
    yield "half of the pings were answered by another host", each(ECHO, prints(half_by_another)), CANNOT, C.RAW_OUTPUT
    yield "ping's summary tells of losses that its answers do not have", each(
        ECHO, prints(lambda s: s.replace(" 0% packet loss", " 30% packet loss"))
    ), CANNOT, C.RAW_OUTPUT  # fmt: skip
    yield "ping's summary tells of other round trips than its answers", each(
        ECHO, prints(lambda s: s.replace("rtt min/avg/max/mdev = 0", "rtt min/avg/max/mdev = 9"))
    ), CANNOT, C.RAW_OUTPUT  # fmt: skip
    yield "the way back had six hops more from the middle on", each(ECHO, prints(longer_way)), UNSURE, C.ELSEWHERE
    yield "the way back had six hops more beside TCP", each(BEST, beside(hops(57))), UNSURE, C.ELSEWHERE
    yield "the way back had six hops more for the probes of the path MTU", each(PROBES, prints(hops(57))), UNSURE, (
        C.ELSEWHERE
    )  # fmt: skip
    yield "one single answer came over another way", each(ECHO, prints(lambda s: s.replace("ttl=63", "ttl=60", 1))), (
        PASS
    ), C.REACHED  # fmt: skip
    yield "an answer came twice", each(ECHO, prints(doubled)), PASS, C.SEEN


def printed(change: Callable[[str], str]) -> Callable[[Json], Any]:
    """What both sides of the load printed."""
    return lambda t: [c.update(output=change(c["output"])) for c in t["commands"] if c["role"] in BOTH]


def beside(change: Callable[[str], str]) -> Callable[[Json], Any]:
    """What the ping beside the load printed."""
    return lambda t: [c.update(output=change(c["output"])) for c in t["commands"] if c["role"] == "ping"]


def other_port(output: str) -> str:
    return re.sub(r"\bport 53\d\d\b", "port 5999", output)


def other_host(output: str) -> str:
    return output.replace(f"from {FAR}:", "from 10.98.77.1:")


def half_by_another(output: str) -> str:
    return re.sub(rf"from {re.escape(FAR)}: icmp_seq=(\d*[02468]) ", r"from 10.98.77.1: icmp_seq=\1 ", output)


def hops(left: int) -> Callable[[str], str]:
    return lambda output: output.replace("ttl=63", f"ttl={left}")


def longer_way(output: str) -> str:
    return re.sub(r"icmp_seq=([234]\d) ttl=63", r"icmp_seq=\1 ttl=57", output)


def doubled(output: str) -> str:
    return re.sub(r"(.*icmp_seq=7 .*)", r"\1\n\1 (DUP!)", output)
