"""Forgeries of what was asked and promised: the plan beside the results, each way, and what the ends could do."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from forge import (
    BEST,
    DUPLEX,
    HALF,
    MOST,
    SINGLE,
    TCP,
    UDP,
    Edit,
    Json,
    arms,
    busy,
    card,
    contract,
    each,
    idle_rtt,
    in_todays_form,
    level,
    loss,
    rtt,
    rung,
    scaled,
    silent,
    together,
    trials,
    values,
    without_arms,
)
from forged_arranged import dc_links, lost_carrier, of_plan, of_trials, on, roles
from forged_words import CANNOT, FAIL, INCOMPLETE, PASS, UNSURE, C, Rows, failed, jitter

LIMIT = contract(jitter_ms=1.0)
BACK = (HALF[1], MOST[1])
ECHO, ANSWERS, PROBES = ("round-trip",), ("rr-10x700-forward",), ("path-mtu-forward", "path-mtu-reverse")


def promised() -> Rows:
    """Jitter and round trip, where an end may have made them, or a way was not measured."""
    yield "jitter told of one way alone", together(LIMIT, each(BACK, jitter(None))), INCOMPLETE, C.JITTER
    yield "UDP one way alone, for a limit of jitter", together(LIMIT, without_arms(*BACK)), INCOMPLETE, C.JITTER
    loud = together(LIMIT, each(UDP, jitter(3.0)))
    yield "jitter above the limit, the receivers starved", together(loud, receivers(60.0, starved=0.3)), CANNOT, (
        C.JITTER
    )  # fmt: skip
    yield "jitter above the limit, a core of the receivers full", together(loud, receivers(100.0)), CANNOT, C.JITTER
    yield "jitter above the limit, the receivers full in one trial of each", together(
        loud, each(UDP, busy(100.0, 100.0), (0,))
    ), FAIL, C.JITTER  # fmt: skip
    late = together(contract(delay_ms=5.0), idle_rtt(9.0))
    starved = each((*TCP, *DUPLEX, *UDP), busy(60.0, 40.0, starved=0.4))
    yield "a long round trip, an end starved all the time", together(late, starved), CANNOT, C.DELAY
    yield "a long round trip, an end starved in one repeat", together(
        late, each(TCP, busy(60.0, 40.0, starved=0.4), (0,))
    ), FAIL, C.DELAY  # fmt: skip
    yield "a long round trip, as long inside one host", together(late, pinged("same-host", 8.9)), CANNOT, C.DELAY
    yield "a long round trip, far shorter inside one host", together(late, pinged("same-host", 2.0)), FAIL, C.DELAY
    yield "a very long round trip, too long inside one host", together(
        contract(delay_ms=5.0), idle_rtt(50.0), pinged("same-host", 6.0)
    ), FAIL, C.DELAY  # fmt: skip


def both_of_them() -> Rows:
    """What the plan asked for, and the results tell otherwise."""
    for company in ("alone", "visited", "rounds", "neighbours"):
        yield (
            f"an arm of the one path claims the company {company}",
            company_of(company, *BEST),
            CANNOT,
            C.CONTRADICTION,
        )
    hidden = (("5 % of UDP lost", each(UDP, loss(0.05)), UDP, C.UDP_LOSS),
              ("a dead time", each(BEST, silent(4, 7), (1,)), BEST, C.OUTAGE))  # fmt: skip
    for name, edit, ids, cause in hidden:
        yield f"{name}, in arms that claim other company", together(edit, company_of("visited", *ids)), FAIL, cause
        yield f"{name}, in arms of other company, as planned", together(
            edit, company_of("alone", *ids), in_todays_form(lambda d, ids=ids: [  # type: ignore[misc]
                e.update(company="alone") for r in dc_links(d) for e in r["experiments"] if e["id"] in ids
            ] and None)
        ), FAIL, cause  # fmt: skip
    yield "a bad repeat in arms that claim to be alone", together(
        each(BEST, scaled(0.6), (1,)), company_of("alone", *BEST)
    ), CANNOT, C.SCATTERED  # fmt: skip
    asked: tuple[Json, ...] = (
        {"incompressible": True}, {"streams": 16}, {"window": 65536}, {"tool": "iperf3"}, {"warmup": 0.0},
        {"write_size": 64}, {"at_most": 10}, {"client_port": 20000}, {"cores": 1}, {"paths": [0]}, {"zero_copy": True},
    )  # fmt: skip
    for one in asked:
        yield f"the plan asked for {one}", in_todays_form(of_plan(**one)), CANNOT, C.CONTRADICTION
    yield "the plan asked for a thousand pings", pings_asked(1000), CANNOT, C.CONTRADICTION
    boast = together(strongest(results=True), of_plan(duration=60.0))
    yield "an open load, by the results alone", boast, CANNOT, C.CONTRADICTION
    left_open = together(strongest(plan=True, results=True), in_todays_form(of_plan(streams=4, window=1 << 20)))
    yield "another load than the plan came to, which it had left open", left_open, CANNOT, C.CONTRADICTION
    yield "a time that no plan leaves open", together(strongest(plan=True), of_plan(duration=60.0)), CANNOT, (
        C.CONTRADICTION
    )  # fmt: skip


def told_twice() -> Rows:
    """One event in several places of a record."""
    loud = each(UDP, lambda t: [i.update(jitter_ms=30.0) for i in t["intervals"]] and t.update(commands=[]))
    yield "jitter of 30 ms in each second, none in the sum", together(LIMIT, loud), CANNOT, C.CONTRADICTION
    yield "jitter of 30 ms in the output, none is told", together(LIMIT, each(UDP, prints_jitter)), CANNOT, C.RAW_OUTPUT
    yield "jitter above the limit in the sum alone", together(
        LIMIT, each(HALF, values(jitter_ms=3.0), (0,))
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "full sockets below nothing", sockets(-500), CANNOT, C.CONTRADICTION
    yield "more at full sockets than the cards took in", together(
        each(UDP, loss(0.01, "end")), sockets(10**9)
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "thousands at full sockets of others, and nothing lost", sockets(4000), PASS, C.REACHED
    yield "a load that began in mid-trial and lasted as long", of_trials(on(began=5.0)), CANNOT, C.CONTRADICTION


def of_ends() -> Rows:
    """What cards and ends tell, and the tool does not."""
    peer = failed("peer", "the far end was out of reach")
    yield "the far end was lost in all of an arm, and no attempt is told", each(SINGLE[1:], peer), UNSURE, (
        C.TRIALS_FAILED
    )  # fmt: skip
    yield "the far end was lost in all of both ways at once", each(DUPLEX, peer), UNSURE, C.TRIALS_FAILED
    yield "the far card lacks 5 % of UDP, the tool says nothing of it", each(HALF[:1], lacking), CANNOT, C.UNACCOUNTED
    yield "all of UDP came in twice", each(HALF[:1], doubled), UNSURE, C.UNACCOUNTED
    yield "a trial took a minute more", longer(65.0), PASS, C.SEEN


def unplugged() -> Rows:
    """Losses in which a card lost its link, as its end knows: who looks at the path looks in vain."""
    second = each(HALF, in_one_second)
    yield "all datagrams of one second lost", second, FAIL, C.UDP_LOSS
    yield "all datagrams of one second lost, and a card lost its link", together(
        second, of_trials(lost_carrier(1), HALF)
    ), CANNOT, C.WHO_LOST  # fmt: skip
    yield "all datagrams of one second lost, a card lost its link in one of two trials", together(
        second, of_trials(lost_carrier(1), HALF, (0,))
    ), FAIL, C.UDP_LOSS  # fmt: skip
    yield "2 % lost in every second, and a card lost its link", together(
        each(UDP, loss(0.02)), of_trials(lost_carrier(1), UDP)
    ), FAIL, C.UDP_LOSS  # fmt: skip
    ends = [{"name": "near"}, {"name": "far", "nics": [{"name": "dc0", "carrier_lost": 1}]}]
    yield "8 of 40 pings lost, and a card lost its link meanwhile", together(
        idle_rtt(0.07, 40, 32), of_trials(values(ends=ends), ECHO)
    ), CANNOT, C.PING_LOSS  # fmt: skip


def in_one_second(t: Json) -> None:
    """The path lost all of it, as the receiving card tells."""
    counted = [i for i in t["intervals"] if i["counted"]]
    gone, (way,) = counted[1], t["by_direction"]
    lost, share = gone["datagrams"], 1 - gone["bytes"] / sum(i["bytes"] for i in counted)
    gone.update(bytes=0, lost=lost)
    t.update(lost=lost, commands=[], goodput_bps=t["goodput_bps"] * share, by_direction={way: t["goodput_bps"] * share})
    for f in t["flows"]:
        f.update(bytes=round(f["bytes"] * share), bps=f["bps"] * share, lost=lost, intervals=[])
        f.update(total_bytes=f["total_bytes"] - lost * 1470)
    receiver = t["nics"]["far" if way == "forward" else "near"]
    receiver.update(rx_packets=receiver["rx_packets"] - lost, rx_bytes=receiver["rx_bytes"] - lost * 1512)


def claimed_loans() -> Rows:
    """Arms said to have run under a loan that the plan did not ask for, so that the verdict would not rest on them."""
    loan = [{"kind": "tso", "value": "off", "ends": ["near", "far"]}]
    hole = {"passed": [576], "failed": [1500], "mtu": 576, "black_hole": True, "reported_mtu": None}
    hidden: tuple[tuple[str, Edit, tuple[str, ...]], ...] = (
        ("5 % of UDP lost", each(UDP, loss(0.05)), UDP),
        ("half of both ways at once", each(DUPLEX, scaled(0.5)), DUPLEX),
        ("a bad repeat", each(BEST, scaled(0.5), (1,)), BEST),
        ("a rate that fell", each(BEST, level(1, 1, 1, 1, 0.9)), BEST),
        ("a quarter of the pings lost", idle_rtt(0.07, 40, 30), ECHO),
        ("a black hole", each(PROBES, values(path_mtu=hole, commands=[])), PROBES),
        ("nothing", lambda d: None, BEST),
    )
    for name, edit, ids in hidden:
        yield f"{name}, in arms that claim a loan", together(edit, in_todays_form(claiming(loan, *ids))), CANNOT, (
            C.CONTRADICTION
        )  # fmt: skip


def of_other_kinds() -> Rows:
    """Arms that are called, by plan and results, what no limit is applied to; and loads that are said to be none."""
    hole = {"passed": [576], "failed": [1500], "mtu": 576, "black_hole": True, "reported_mtu": None}
    lossy, dead = each(UDP, loss(0.05)), each(SINGLE, silent(2, 5))
    for protocol, tool in (("echo", "ping"), ("df", "ping"), ("rr", "netperf")):
        yield f"5 % of UDP lost, called {protocol}", together(lossy, called(UDP, protocol, tool)), CANNOT, (
            C.CONTRADICTION
        )  # fmt: skip
        told = (FAIL, C.OUTAGE) if protocol == "rr" else (CANNOT, C.CONTRADICTION)  # whose seconds are looked at
        yield f"dead seconds of TCP, called {protocol}", together(dead, called(SINGLE, protocol, tool)), *told
    yield "a quarter of the pings lost, said to have been discarded", together(
        idle_rtt(0.07, 40, 30), of_trials(roles("discarded"), ECHO)
    ), UNSURE, C.CONTRADICTION  # fmt: skip
    yield "a black hole, in probes that are said to have been discarded", together(
        each(PROBES, values(path_mtu=hole, commands=[])), of_trials(roles("discarded"), PROBES)
    ), UNSURE, C.CONTRADICTION  # fmt: skip
    yield "requests and answers without any", each(ANSWERS, values(transactions=None, commands=[])), CANNOT, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "requests and answers that ended before they began", each(ANSWERS, values(seconds=-3.0)), CANNOT, (
        C.CONTRADICTION
    )  # fmt: skip


def called(ids: tuple[str, ...], protocol: str, tool: str) -> Edit:
    def edit(d: Json) -> None:
        planned = [e for r in dc_links(d) for e in r["experiments"] if e["id"] in ids]
        for one in (*planned, *(e["parameters"] for e in arms(d, ids))):
            one.update(protocol=protocol, tool=tool)

    return in_todays_form(edit)


def claiming(settings: list[Json], *ids: str) -> Edit:
    """By the results alone."""

    def edit(d: Json) -> None:
        for e in arms(d, ids):
            e["parameters"].update(settings=settings)

    return edit


def receivers(percent: float, **more: Any) -> Edit:
    way = {"forward": "far", "reverse": "near"}
    return together(
        *(each((one,), busy(**{way[one.rsplit("-", 1)[1]]: percent}, **more)) for one in UDP),
    )


def pinged(name: str, ms: float) -> Edit:
    def edit(d: Json) -> None:
        for e in rung(d, name)["experiments"]:
            if e["parameters"]["protocol"] == "echo":
                for t in e["trials"]:
                    t.update(rtt=rtt(ms), commands=[])

    return edit


def company_of(word: str, *ids: str) -> Edit:
    """By the results alone."""

    def edit(d: Json) -> None:
        for e in rung(d)["experiments"]:
            if e["parameters"]["id"] in ids:
                e["parameters"]["company"] = word

    return in_todays_form(edit)


def strongest(plan: bool = False, results: bool = False) -> Edit:
    def edit(d: Json) -> None:
        for r in dc_links(d):
            for e in r["experiments"]:
                e["strongest"] = plan
        for e in rung(d)["experiments"]:
            e["parameters"]["strongest"] = results

    return in_todays_form(edit)


def pings_asked(count: int) -> Edit:
    def edit(d: Json) -> None:
        for r in dc_links(d):
            for e in r["experiments"]:
                if e["protocol"] == "echo":
                    e["count"] = count

    return edit


def prints_jitter(t: Json) -> None:
    for c in t["commands"]:
        c["output"] = re.sub(r"\d+\.\d+ ms", "30.000 ms", c["output"])


def sockets(dropped: int) -> Edit:
    def edit(d: Json) -> None:
        for t in trials(d, UDP):
            for end in t["ends"]:
                end["udp_dropped"] = dropped

    return in_todays_form(edit)


def lacking(t: Json) -> None:
    far = t["nics"]["far"]
    card("far", rx_bytes=round(far["rx_bytes"] * 0.95), rx_packets=round(far["rx_packets"] * 0.95))(t)


def doubled(t: Json) -> None:
    far = t["nics"]["far"]
    card("far", rx_bytes=far["rx_bytes"] * 2, rx_packets=far["rx_packets"] * 2)(t)


def longer(seconds: float) -> Edit:
    """The last load of all; what came after it, and the run's end, came later."""

    def edit(d: Json) -> None:
        last = max(trials(d, (*TCP, *DUPLEX, *UDP)), key=lambda t: str(t["started"]))
        for t in trials(d):
            if t["started"] > last["started"]:
                t["started"] = later(t["started"])
        last["seconds"] += seconds
        d["run"]["ended"] = later(d["run"]["ended"])

    def later(at: str) -> str:
        return (datetime.fromisoformat(at) + timedelta(seconds=seconds)).isoformat()

    return edit
