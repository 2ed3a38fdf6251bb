"""Forgeries of single parts that other parts contradict, and edits that change nothing of what was measured."""

from __future__ import annotations

from typing import Any

from forge import BEST, DUPLEX, TCP, Json, arms, each, in_todays_form, interface, together, trials, values
from forged_arranged import of_trials
from forged_records import flow_rates
from forged_words import CANNOT, PASS, UNSURE, C, Rows, each_arm


def parts() -> Rows:
    """One part against another."""
    yield "flows that make twice as much", each(BEST, flow_rates(2.0)), CANNOT, C.CONTRADICTION
    yield "two flows of the same seconds", each(BEST, seconds_of_flows(1.0)), CANNOT, C.CONTRADICTION
    for share in (0.5, 2.0):
        yield f"flows whose seconds make {share:g} of them", each(BEST, seconds_of_flows(share, 1448)), CANNOT, (
            C.CONTRADICTION
        )  # fmt: skip
    yield "flows of seconds of their own", each(BEST, seconds_of_flows(1.0, 1448)), PASS, C.REACHED
    yield "a least that no repeat made", bounds(min_bps=0.5), UNSURE, C.CONTRADICTION
    yield "a most that no repeat made", bounds(max_bps=1.5), UNSURE, C.CONTRADICTION
    yield "output that was cut", of_trials(cut, BEST), CANNOT, C.CONTRADICTION
    yield "a socket buffer smaller than was asked for", together(
        each_arm(window=800_000), each(TCP, values(window_read_back={"near": 400_000, "far": 1_600_000}, commands=[]))
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "the far address is the near end's own", lambda d: interface(d, addresses=["10.98.3.1", "10.98.4.2"]), (
        CANNOT
    ), C.ELSEWHERE  # fmt: skip
    jumbo = together(lambda d: interface(d, mtu=9000), lambda d: interface(d, "beta", mtu=9000))
    yield "cards of jumbo frames, and the contract is for 1500", jumbo, PASS, C.REACHED
    untold = together(jumbo, each((*TCP, *DUPLEX), values(sockets={})))
    yield "cards of jumbo frames, and nothing of the packets", untold, UNSURE, C.NOT_AS_SOLD
    yield "sockets that sent less than nothing", each(TCP, sockets(sent_bytes=-5)), CANNOT, C.CONTRADICTION
    yield "more memory in use than there is", each(TCP, memory), CANNOT, C.CONTRADICTION
    yield "5 % sent again, as the tools saw and the system did not", each(BEST, again_by_tools), UNSURE, (
        C.CONTRADICTION
    )  # fmt: skip


def nothing_changed() -> Rows:
    """Edits after which the same was measured."""
    yield "keys that a later linkladder adds", added_keys, PASS, C.REACHED
    yield "keys in another order", turned_round, PASS, C.REACHED
    yield "hosts of other names", renamed_hosts, PASS, C.REACHED
    yield "notes in another language", lambda d: d["run"].update(notes=["Kabel geprüft", "检查完毕"]), PASS, C.REACHED
    yield "written by another version", lambda d: d["run"].update(version="9.9.9"), PASS, C.REACHED
    yield "another verdict beside it", in_todays_form(lambda d: d.update(judgement=None)), PASS, C.REACHED


def seconds_of_flows(share: float, apart: int = 0) -> Any:
    """Each has its part of the load's seconds, times this; the two differ by so many bytes, one way or the other."""

    def change(t: Json) -> None:
        t["commands"] = []
        for n, f in enumerate(t["flows"]):
            sign = (-1) ** n * apart
            f["intervals"] = [
                {**i, "bytes": round(i["bytes"] * share / len(t["flows"])) + sign * (-1) ** at, "retransmits": None}
                for at, i in enumerate(t["intervals"])
            ]
            counted = sum(i["bytes"] for i in f["intervals"] if i["counted"])
            f["bytes"] = round(counted / share)

    return change


def bounds(**shares: float) -> Any:
    def edit(d: Json) -> None:
        for e in arms(d, BEST):
            for name, share in shares.items():
                e[name] *= share

    return edit


def cut(t: Json) -> None:
    for leg in t["legs"]:
        for c in leg["commands"]:
            c["cut"] = 500


def sockets(**changes: Any) -> Any:
    return lambda t: [s.update(changes) for seen in t["sockets"].values() for s in seen["sockets"]]


def memory(t: Json) -> None:
    for used in t["memory"].values():
        used.update(peak=2 * used["total"])


def again_by_tools(t: Json) -> None:
    for end in t["tcp"].values():
        end["retransmits"] = 0
    for f in t["flows"]:
        f["retransmits"] = round(f["total_bytes"] / 1448 * 0.05)


def added_keys(d: Json) -> None:
    for record in (d, d["run"], *(d["rungs"]), *trials(d)):
        record["from_the_future"] = {"x": [1, 2]}


def turned_round(d: Json) -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(one) for one in value] if isinstance(value, list) else value

    d.update(turned({key: d.pop(key) for key in list(d)}))


def renamed_hosts(d: Json) -> None:
    for number, host in enumerate(d["run"]["hosts"].values()):
        host["name"] = f"prüfstand-{number}"
