"""Forgeries of answers: round trips, probes and transactions that the tools' own output does not bear out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from forge import BEST, Edit, Json, contract, each, idle_rtt, rtt, together, values
from forged_words import CANNOT, FAIL, PASS, UNSURE, C, Rows

ECHO, PROBES, TRANSACTIONS = ("round-trip",), ("path-mtu-forward", "path-mtu-reverse"), ("rr-10x700-forward",)
LOST = "3 packets transmitted, 0 received, 100% packet loss, time 2040ms"


def answers() -> Rows:
    limit = contract(delay_ms=5.0)
    yield "ping printed longer round trips than are claimed, for a limit", together(limit, each(ECHO, slow)), CANNOT, (
        C.RAW_OUTPUT
    )  # fmt: skip
    yield "round trips shorter than ping printed, for a limit", together(
        limit, each(ECHO, slow), idle_rtt(2.0)
    ), CANNOT, C.RAW_OUTPUT  # fmt: skip
    yield "ping printed fewer answers than are claimed", each(ECHO, prints(fewer)), CANNOT, C.RAW_OUTPUT
    yield "round trips longer than ping printed, within a limit", together(limit, idle_rtt(2.0)), PASS, C.REACHED
    yield "round trips under load shorter than ping printed", each(BEST, loaded(0.1)), CANNOT, C.RAW_OUTPUT
    yield "round trips under load a little longer than ping printed", each(BEST, loaded(1.1)), PASS, C.REACHED
    yield "more answers under load than ping printed", each(BEST, loaded(1.0, 60)), CANNOT, C.RAW_OUTPUT
    yield "ping printed that the largest probe was lost", each(PROBES, prints(unanswered)), CANNOT, C.RAW_OUTPUT
    yield "ping printed that the largest probe was too long", each(PROBES, prints(too_long)), CANNOT, C.RAW_OUTPUT
    yield "the output of the probes is not there", each(PROBES, values(commands=[])), PASS, C.REACHED
    yield "more transactions than netperf printed", rates(1.1), CANNOT, C.RAW_OUTPUT
    yield "fewer transactions than netperf printed", rates(0.9), CANNOT, C.RAW_OUTPUT
    yield "quicker transactions than netperf printed", transactions(p99_us=0.5), CANNOT, C.RAW_OUTPUT
    yield "transactions below nothing, and nothing was printed", together(
        transactions(rate=-1.0), each(TRANSACTIONS, values(commands=[]))
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "twice the transactions of the seconds, and nothing was printed", together(
        transactions(rate=2.0), each(TRANSACTIONS, values(commands=[]))
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "the longest transaction is the shortest, and nothing was printed", together(
        transactions(max_us=1e-4), each(TRANSACTIONS, values(commands=[]))
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "netperf printed another total", each(TRANSACTIONS, prints(digit)), CANNOT, C.RAW_OUTPUT
    yield "one of ten sessions' output is not there", each(TRANSACTIONS, one_session_less), CANNOT, C.RAW_OUTPUT
    for share in (0.0, 0.01):
        left = f"{share:.0%} of the answers" if share else "no answer"
        yield f"{left} after the first second", stops(1.0, share), FAIL, C.OUTAGE
    yield "no answer in one second of three", stops(2.0, 0.0), UNSURE, C.SEEN
    yield "the clients' output is not there", each(BEST, prints(lambda text: "")), UNSURE, C.RAW_OUTPUT
    yield "the clients are not there", each(BEST, without_clients), UNSURE, C.RAW_OUTPUT


def prints(change: Callable[[str], str]) -> Callable[[Json], Any]:
    """What the clients printed."""
    return lambda t: [c.update(output=change(c["output"])) for c in t["commands"] if c["role"] == "client"]


def slow(t: Json) -> None:
    prints(lambda text: re.sub(r"time=[\d.]+", "time=9.0", text))(t)


def fewer(text: str) -> str:
    """Every fifth answer is missing, and the summary knows it."""
    lines = [line for n, line in enumerate(text.splitlines()) if n % 5 or "icmp_seq" not in line]
    return re.sub(r"\d+ received, \d+%", "32 received, 20%", "\n".join(lines))


def loaded(share: float, count: int = 40) -> Callable[[Json], None]:
    """Round trips of this share of those under load, and so many of them."""

    def change(t: Json) -> None:
        if seen := t["rtt_under_load"]:
            t["rtt_under_load"] = rtt(seen["p50_ms"] * share, count, count)

    return change


def unanswered(text: str) -> str:
    return _largest(text, "")


def too_long(text: str) -> str:
    return _largest(text, "From 10.98.3.2 icmp_seq=1 Frag needed and DF set (mtu = 1400)\n")


def _largest(text: str, answer: str) -> str:
    """Only of the probe of 1500 bytes."""
    first = text.splitlines()[0]
    return f"{first}\n{answer}\n--- ping statistics ---\n{LOST}\n" if "(1500)" in first else text


def transactions(**shares: float) -> Edit:
    def change(t: Json) -> None:
        for name, share in shares.items():
            t["transactions"][name] *= share

    return each(TRANSACTIONS, change)


def rates(share: float) -> Edit:
    """So much of the transactions, in their seconds too."""

    def change(t: Json) -> None:
        t["transactions"]["rate"] *= share
        for i in t["intervals"]:
            i["datagrams"] = round(i["datagrams"] * share)

    return each(TRANSACTIONS, change)


def stops(after: float, share: float) -> Edit:
    """From then on so much of the transactions; a tool's second is a little shorter than one."""

    def change(t: Json) -> None:
        t["commands"] = []
        for i in t["intervals"]:
            i["end"] *= 0.995
            i["start"] *= 0.995
            if i["end"] > after + 0.5:
                i.update(bytes=round(i["bytes"] * share), datagrams=round(i["datagrams"] * share))
        counted = [i for i in t["intervals"] if i["counted"]]
        t["transactions"]["rate"] = sum(i["datagrams"] for i in counted) / (counted[-1]["end"] - counted[0]["start"])

    return each(TRANSACTIONS, change)


def digit(text: str) -> str:
    return text.replace("THROUGHPUT=1", "THROUGHPUT=2")


def one_session_less(t: Json) -> None:
    t["commands"].pop()


def without_clients(t: Json) -> None:
    t["commands"] = [c for c in t["commands"] if c["role"] != "client"]
