"""Forgeries of runs over several pairs of ends and by other tools: kept documents with one fact changed.

Each pair's figures are held to what those of a single path are: cards, cores, seconds, commands and addresses.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from linkladder import formats
from linkladder.codec import to_json
from linkladder.judge import judge_document
from linkladder.verdicts import Cause as C

Json = dict[str, Any]
Change = Callable[[Json, Json], Any]  # of a trial and of one of its loads
KEPT = Path(__file__).parents[2] / "documents"
SIDE, ALONE = "neighbours-gamma-delta", "alone-near-beta"


def kept(name: str) -> Json:
    """A kept document in today's form, on machines with cores to spare, as the one that recorded it had not."""
    text = lzma.decompress((KEPT / f"{name}.json.xz").read_bytes())
    made: Json = to_json(formats.document(json.loads(text)))
    for t in (t for r in made["rungs"] for e in r["experiments"] for t in e["trials"]):
        for end in t["ends"]:
            end["samples"] = []
            if end["cpu"]:
                cores = len(end["cpu"]["per_core"])
                end["cpu"].update(
                    percent=30.0, busiest=30.0, per_core=[30.0] * cores, cores_used=0.3 * cores, starved=0.0
                )
    return made


def loads(
    change: Change, arm: str = "", path: int | None = None, repeat: int | None = None, **parameters: str
) -> Callable[[Json], None]:
    """Every load of the arms whose name has this in it, on that path, in that repeat."""

    def edit(d: Json) -> None:
        for e in d["rungs"][-1]["experiments"]:
            wanted = arm in e["parameters"]["id"] and parameters.items() <= e["parameters"].items()
            for t in e["trials"] if wanted else ():
                for leg in t["legs"] if repeat in (None, t["repeat"]) else ():
                    if leg["role"] == "load" and path in (None, leg["path"]):
                        change(t, leg)

    return edit


def scaled(share: float, raw: bool = False, cards: bool = True) -> Change:
    """The load carried this share: by its figures, and by its cards and without its output unless told otherwise."""

    def change(t: Json, leg: Json) -> None:
        one = leg["outcome"]
        one["goodput_bps"] *= share
        one["by_direction"] = {k: v * share for k, v in one["by_direction"].items()}
        for f in one["flows"]:
            f.update(bytes=round(f["bytes"] * share), total_bytes=round(f["total_bytes"] * share), bps=f["bps"] * share)
            f["intervals"] = []
        for i in one["intervals"]:
            i["bytes"] = round(i["bytes"] * share)
        leg["commands"] = leg["commands"] if raw else []
        for n in {leg["near"], leg["far"]} if cards else ():
            for card in t["ends"][n]["nics"]:
                card.update(rx_bytes=round(card["rx_bytes"] * share), tx_bytes=round(card["tx_bytes"] * share))

    return change


def end(which: str, **changes: Any) -> Change:
    return lambda t, leg: t["ends"][leg[which]].update(changes)


def silent(t: Json, leg: Json) -> None:
    """Nothing in three seconds' worth of it, and the others make good for that."""
    seconds = leg["outcome"]["intervals"]
    counted = [i for i in seconds if i["counted"]]
    gone = counted[: max(2, len(counted) // 2)]
    more = sum(i["bytes"] for i in counted) / max(1, sum(i["bytes"] for i in counted if i not in gone))
    for i in counted:
        i["bytes"] = 0 if i in gone else round(i["bytes"] * more)
    for f in leg["outcome"]["flows"]:
        f["intervals"] = []
    leg["commands"] = []


def outputs(change: Callable[[str], str]) -> Change:
    return lambda _, leg: [c.update(output=change(c["output"])) for c in leg["commands"]]


def client(change: Callable[[list[str]], list[str]]) -> Change:
    return lambda _, leg: [c.update(argv=change(c["argv"])) for c in leg["commands"] if c["role"] == "client"]


def copied(d: Json) -> None:
    for e in d["rungs"][-1]["experiments"]:
        if ALONE in e["parameters"]["id"]:
            first, second = e["trials"][0], e["trials"][1]
            e["trials"][1] = {**json.loads(json.dumps(first)), **{k: second[k] for k in ("id", "repeat", "started")}}


def without_pair(d: Json) -> None:
    for e in d["rungs"][-1]["experiments"]:
        if SIDE in e["parameters"]["id"]:
            for t in e["trials"]:
                t["legs"] = [leg for leg in t["legs"] if leg["path"] == 0]


def without_pair_in(repeat: int) -> Callable[[Json], None]:
    def edit(d: Json) -> None:
        for e in d["rungs"][-1]["experiments"]:
            for t in e["trials"] if SIDE in e["parameters"]["id"] else ():
                t["legs"] = [leg for leg in t["legs"] if leg["path"] == 0 or t["repeat"] != repeat]

    return edit


def shared(bps: float | None) -> Callable[[Json], None]:
    return lambda d: d["run"]["plan"]["contract"].update(shared_bps=bps)


def failed(_: Json, leg: Json) -> None:
    leg["outcome"].update(
        ok=False, fault="path", reason="it stalled", goodput_bps=0.0, by_direction={}, flows=[], intervals=[]
    )


def on_loopback(_: Json, leg: Json) -> None:
    for f in leg["outcome"]["flows"]:
        f.update(local="127.0.0.1", remote="127.0.0.1")


Row = tuple[str, str, Callable[[Json], Any], str, C]


def pairs() -> Iterator[Row]:
    run = "v2/neighbours"
    yield run, "nothing", lambda d: None, "PASS", C.REACHED
    yield run, "one pair alone at 60 %", loads(scaled(0.6), ALONE), "FAIL", C.SHORT
    yield run, "side by side at 60 %", loads(scaled(0.6), SIDE), "FAIL", C.SHORT
    yield run, "the second pair at 60 % side by side", loads(scaled(0.6), SIDE, 1), "FAIL", C.SHORT
    yield run, "nothing of a far end's CPU", loads(end("far", cpu=None), ALONE), "UNSURE", C.UNACCOUNTED
    yield run, "no counters of a near end", loads(end("near", nics=[]), SIDE, 1), "CANNOT JUDGE", C.UNACCOUNTED
    yield run, "no counters of a far end alone", loads(end("far", nics=[]), ALONE), "CANNOT JUDGE", C.UNACCOUNTED
    yield run, "the second pair is not there", without_pair, "INCOMPLETE", C.NOTHING_MEASURED
    yield run, "the second pair is not there in one repeat", without_pair_in(1), "UNSURE", C.CONTRADICTION
    yield run, "the second pair failed", loads(failed, SIDE, 1), "INCOMPLETE", C.PEER_LOST
    yield run, "they share twice as much", shared(3e8), "CANNOT JUDGE", C.WEAK_GENERATOR
    yield run, "they share half as much", shared(7.5e7), "IMPOSSIBLE", C.ABOVE_CEILING
    yield run, "the pairs' addresses changed places", lambda d: d["rungs"][-1]["paths"].reverse(), (
        "CANNOT JUDGE"
    ), C.RAW_OUTPUT  # fmt: skip
    yield run, "the pairs' loads changed places", loads(lambda _, leg: leg.update(path=1 - leg["path"])), (
        "CANNOT JUDGE"
    ), C.RAW_OUTPUT  # fmt: skip
    yield run, "one pair's flows on loopback", loads(on_loopback, path=1), "CANNOT JUDGE", C.ELSEWHERE
    yield run, "one repeat copied from another", copied, "CANNOT JUDGE", C.COPIED
    yield run, "one began three seconds later", loads(lambda _, leg: leg.update(began=3.0), SIDE, 1), (
        "CANNOT JUDGE"
    ), C.CONTRADICTION  # fmt: skip
    yield run, "one pair dead for seconds beside the other", loads(silent, SIDE, 1), "FAIL", C.OUTAGE
    yield run, "one pair dead for seconds alone", loads(silent, ALONE), "FAIL", C.OUTAGE
    yield run, "a far end was kept from 30 % of its CPU, at 60 %", loads(
        lambda t, leg: (scaled(0.6)(t, leg), t["ends"][leg["far"]]["cpu"].update(starved=0.3)), ALONE
    ), "CANNOT JUDGE", C.BUSY_END  # fmt: skip


def every_repeat() -> Iterator[Row]:
    """The pairs' verdict rests on medians; what they hide is told all the same."""
    run = "v2/neighbours"
    yield run, "one of three repeats of one pair alone at 60 %", loads(scaled(0.6), ALONE, repeat=1), (
        "CANNOT JUDGE"
    ), C.WORST_TRIAL  # fmt: skip
    yield run, "one of three repeats side by side at 90 %", loads(scaled(0.9), SIDE, repeat=1), (
        "CANNOT JUDGE"
    ), C.WORST_TRIAL  # fmt: skip
    yield run, "a promised repeat of each is not there", without_last, "UNSURE", C.TRIALS_MISSING
    yield run, "another class was sold", lambda d: d["run"]["plan"]["contract"].update(dscp=46), (
        "CANNOT JUDGE"
    ), C.NOT_AS_SOLD  # fmt: skip
    for path in (-7, 2):
        yield run, f"loads on path {path}", loads(lambda _, leg, n=path: leg.update(path=n), SIDE), (
            "INCOMPLETE"
        ), C.NOTHING_MEASURED  # fmt: skip
    yield run, "most bytes of one pair went by another card", loads(by_another_card, SIDE, 1), (
        "CANNOT JUDGE"
    ), C.UNACCOUNTED  # fmt: skip
    yield run, "the records of two ends have each other's names", loads(names_swapped, ALONE), (
        "CANNOT JUDGE"
    ), C.CONTRADICTION  # fmt: skip
    yield run, "no seconds of the pairs side by side", loads(without_seconds, SIDE), "UNSURE", C.UNACCOUNTED
    yield run, "no seconds of one pair side by side", loads(without_seconds, SIDE, 1), "CANNOT JUDGE", C.CONTRADICTION
    yield run, "paced UDP of the pairs lost 5 %", lossy_udp(0.05), "FAIL", C.UDP_LOSS
    yield run, "paced UDP of the pairs lost nothing", lossy_udp(0.0), "PASS", C.REACHED
    yield run, "paced UDP of the second pair lost 0.19 %", lossy_udp(0.0, 0.0019), "FAIL", C.UDP_LOSS
    for full, verdict, cause in ((2.0, "PASS", C.REACHED), (0.0, "CANNOT JUDGE", C.WHO_LOST)):
        yield run, f"{full:g} times the 5 % lost of the second pair's UDP at its end's full sockets", (
            lambda d, full=full: (lossy_udp(0.0, 0.05)(d), loads(at_its_sockets(full), "udp-neighbours", 1)(d))
        ), verdict, cause  # fmt: skip
    yield run, "the other pair's far end counts what the second pair's UDP lost", (
        lambda d: (lossy_udp(0.0, 0.05)(d), loads(end("far", udp_dropped=10**5), "udp-neighbours", 0)(d))
    ), "FAIL", C.UDP_LOSS  # fmt: skip


def without_last(d: Json) -> None:
    for e in d["rungs"][-1]["experiments"]:
        e["trials"] = e["trials"][:-1] if len(e["trials"]) > 1 else e["trials"]


def by_another_card(t: Json, leg: Json) -> None:
    for n in (leg["near"], leg["far"]):
        for card in list(t["ends"][n]["nics"]):
            other = {**card, "name": "mg0", "rx_bytes": card["rx_bytes"] // 2, "tx_bytes": card["tx_bytes"] // 2}
            card.update(rx_bytes=card["rx_bytes"] - other["rx_bytes"], tx_bytes=card["tx_bytes"] - other["tx_bytes"])
            t["ends"][n]["nics"].append(other)


def names_swapped(t: Json, leg: Json) -> None:
    near, far = t["ends"][leg["near"]], t["ends"][leg["far"]]
    near["name"], far["name"] = far["name"], near["name"]


def without_seconds(_: Json, leg: Json) -> None:
    leg.update(commands=[])
    leg["outcome"]["intervals"] = []


def at_its_sockets(times: float) -> Change:
    """The far card took in all that was sent, and its end counts so many times what is missing at full sockets."""

    def change(t: Json, leg: Json) -> None:
        out = t["ends"][leg["near"]]["nics"][0]
        t["ends"][leg["far"]]["nics"][0].update(rx_packets=out["tx_packets"], rx_bytes=out["tx_bytes"])
        t["ends"][leg["far"]]["udp_dropped"] = round(leg["outcome"]["lost"] * times)

    return change


def lossy_udp(share: float, second: float | None = None) -> Callable[[Json], None]:
    """The pairs are measured once more, by UDP at half of what one carries, and so much of it is lost.

    `second`: of the second pair, where that is another share.
    """
    size = 1470

    def edit(d: Json) -> None:
        made = next(e for e in d["rungs"][-1]["experiments"] if SIDE in e["parameters"]["id"])
        e = json.loads(json.dumps(made))
        rate = 2 * 40e6
        told = {"id": "udp-neighbours", "protocol": "udp", "udp_rate_bps": rate, "streams": 1, "company": "all"}
        e["parameters"].update(told)
        e.update(median_bps=None, min_bps=None, max_bps=None)
        d["rungs"][-1]["experiments"].append(e)
        d["run"]["plan"]["rungs"][-1]["experiments"].append(e["parameters"])
        d["run"]["ended"] = an_hour_later(d["run"]["ended"])
        for t in e["trials"]:
            t.update(id=f"{t['id']}-udp", started=an_hour_later(t["started"]))
            t["legs"] = [leg for leg in t["legs"] if leg["role"] == "load"]
            for leg in t["legs"]:
                paced(t, leg, rate / 2, share if second is None or not leg["path"] else second, size)

    return edit


def an_hour_later(at: str) -> str:
    return (datetime.fromisoformat(at) + timedelta(hours=1)).isoformat()


def paced(t: Json, leg: Json, rate: float, share: float, size: int) -> None:
    """A load that was sent at that rate, by one flow."""
    one = leg["outcome"]
    leg.update(commands=[])
    arrived = rate * (1 - share)
    for i in one["intervals"]:
        sent = round(rate / 8 / size * (i["end"] - i["start"]))
        i.update(bytes=round(sent * (1 - share)) * size, datagrams=sent, lost=round(sent * share), cwnd=None)
    counted = [i for i in one["intervals"] if i["counted"]]
    sent, lost = (sum(i[key] for i in counted) for key in ("datagrams", "lost"))
    f = one["flows"][0]
    total = sum(i["bytes"] for i in one["intervals"])
    f.update(bytes=sum(i["bytes"] for i in counted), bps=arrived, total_bytes=total, datagrams=sent, lost=lost)
    f.update(intervals=[], retransmits=None)
    one.update(goodput_bps=arrived, by_direction=dict.fromkeys(one["by_direction"], arrived), flows=[f])
    one.update(datagrams=sent, lost=lost, offered_bps=rate, jitter_ms=0.1)
    for n in (leg["near"], leg["far"]):
        for card in t["ends"][n]["nics"]:
            out = round(total / (1 - share) / size)
            card.update(tx_bytes=out * 1512, tx_packets=out, rx_bytes=round(out * (1 - share)) * 1512)
            card.update(rx_packets=round(out * (1 - share)), rx_drops=0)


def tools() -> Iterator[Row]:
    run = "v2/tools"
    yield run, "nothing", lambda d: None, "UNSURE", C.REACHED
    yield run, "iperf3 carried 60 %", loads(scaled(0.6), tool="iperf3"), "FAIL", C.SHORT
    yield run, "iperf3's figures are not its output's", loads(scaled(0.9, raw=True, cards=False), tool="iperf3"), (
        "CANNOT JUDGE"
    ), C.RAW_OUTPUT  # fmt: skip
    yield run, "half of iperf3's output", loads(outputs(lambda text: text[: len(text) // 2]), tool="iperf3"), (
        "CANNOT JUDGE"
    ), C.RAW_OUTPUT  # fmt: skip
    error = ',"error":"control socket has closed unexpectedly"}'
    yield run, "iperf3's output tells of an error", loads(
        outputs(lambda text: text.rstrip().removesuffix("}") + error), tool="iperf3"
    ), "CANNOT JUDGE", C.RAW_OUTPUT  # fmt: skip
    yield run, "iperf3 was run the other way", loads(
        client(lambda argv: [*argv, "-R"]), tool="iperf3", direction="forward"
    ), "CANNOT JUDGE", C.NOT_AS_SOLD  # fmt: skip
    yield run, "iperf3 was not run the other way", loads(
        client(lambda argv: [word for word in argv if word != "-R"]), tool="iperf3", direction="reverse"
    ), "CANNOT JUDGE", C.NOT_AS_SOLD  # fmt: skip
    yield run, "netperf's figure is more than the link carries", loads(
        scaled(1.1, raw=True), tool="netperf", protocol="tcp"
    ), "IMPOSSIBLE", C.ABOVE_CEILING  # fmt: skip
    netperf = {"tool": "netperf", "protocol": "tcp"}
    yield run, "netperf's figure is less than its output's", loads(scaled(0.95, raw=True, cards=False), **netperf), (
        "CANNOT JUDGE"
    ), C.RAW_OUTPUT  # fmt: skip
    yield run, "a digit of netperf's total is another", loads(
        outputs(lambda text: text.replace("LOCAL_BYTES_RECVD=7", "LOCAL_BYTES_RECVD=6")), **netperf
    ), "CANNOT JUDGE", C.RAW_OUTPUT  # fmt: skip
    yield run, "a digit of netperf's total is another, and its server printed nothing", loads(
        lambda _, leg: [c.update(output=_of_client(c)) for c in leg["commands"]], **netperf
    ), "CANNOT JUDGE", C.RAW_OUTPUT  # fmt: skip
    yield run, "a digit of one session's transactions is another", loads(
        outputs(lambda text: text.replace("THROUGHPUT=152", "THROUGHPUT=192")), tool="netperf", protocol="rr"
    ), "CANNOT JUDGE", C.RAW_OUTPUT  # fmt: skip


def _of_client(command: Json) -> str:
    said: str = command["output"]
    return "" if command["role"] == "server" else said.replace("LOCAL_BYTES_RECVD=7", "LOCAL_BYTES_RECVD=6")


ROWS = [*pairs(), *every_repeat(), *tools()]


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]}: {row[1]}" for row in ROWS])
def test_forgery(row: Row) -> None:
    name, _, edit, verdict, cause = row
    made = kept(name)
    edit(made)
    judged = judge_document(formats.document(made))
    link = judged.rungs[-1].judgement
    got = "UNSURE" if link.verdict == "PASS" and link.provisional else str(link.verdict)
    causes = {link.cause} if link.verdict != "PASS" else {link.cause, *(c.cause for c in link.concerns)}
    assert (got, cause) == (verdict, cause if cause in causes else link.cause), judged.sentence
