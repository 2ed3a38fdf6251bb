"""Makes further arms of those that a kept run over several pairs has: both ways at once, and paced UDP."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from forge import busiest, of_its_own
from forge_pairs import SIDE, Json, an_hour_later, loads, paced, scaled, sum_up

Edit = Callable[[Json], None]
OF_BOTH = 0.97  # share of one way's rate that acknowledgements leave
SIZE = 1470  # bytes of a datagram


def arms(d: Json, name: str, **parameters: str) -> list[Json]:
    """The arms of TCP with this in their name."""
    wanted = {"protocol": "tcp", **parameters}
    every = d["rungs"][-1]["experiments"]
    return [e for e in every if name in e["parameters"]["id"] and wanted.items() <= e["parameters"].items()]


def _added(d: Json, made: Json, hours: int, **parameters: Any) -> Json:
    """The arm under another name, planned and measured so many hours later."""
    e: Json = json.loads(json.dumps(made))
    e["parameters"].update(parameters)
    e.update(min_bps=None, median_bps=None, max_bps=None)
    d["rungs"][-1]["experiments"].append(e)
    d["run"]["plan"]["rungs"][-1]["experiments"].append(e["parameters"])
    for t in e["trials"]:
        t["id"] += f"-{hours}"
        for _ in range(hours):
            t["started"] = an_hour_later(t["started"])
        of_its_own(t, 100 * hours)
        for card in (card for end in t["ends"] for card in end["nics"]):  # no two trials counted the same
            card.update({key: card[key] + 64 * hours for key in ("rx_bytes", "tx_bytes")})
    return e


def _later(d: Json, hours: int) -> None:
    for _ in range(hours):
        d["run"]["ended"] = an_hour_later(d["run"]["ended"])


def both_at_once(
    name: str, share: float = 1.0, busy: float | None = None, fault: str = "", repeats: int = 3, of_back: float = 1.0
) -> Edit:
    """Arms of both ways at once, made of both ways' arms; each carries this share of what it can then, far to near
    `of_back` of that.
    """

    def edit(d: Json) -> None:
        for e in arms(d, name, direction="forward"):
            id_ = e["parameters"]["id"]
            (back,) = arms(d, id_.replace("forward", "reverse"))
            named = {"id": id_.replace("forward", "duplex"), "direction": "duplex", "repeats": repeats}
            made = _added(d, e, 3, **named)
            made["trials"] = made["trials"][:repeats]
            for t, other in zip(made["trials"], back["trials"], strict=False):
                for leg, its in zip(t["legs"], other["legs"], strict=True):
                    if leg["role"] == "load":
                        _both(t, leg, its["outcome"], (share, share * of_back), busy)
                        if fault:
                            broken(fault)(t, leg)
            sum_up(made)
        _later(d, 3)

    return edit


def _both(t: Json, leg: Json, back: Json, shares: tuple[float, float], busy: float | None) -> None:
    one, other = leg["outcome"], json.loads(json.dumps(back))
    leg["commands"] = []
    for n, (part, share) in enumerate(zip((one, other), shares, strict=True)):
        for i in part["intervals"]:
            i["bytes"] = round(i["bytes"] * share * OF_BOTH) + 1448 * n
            i["retransmits"] = None
        for f in part["flows"]:
            f.update({key: round(f[key] * share * OF_BOTH) for key in ("bytes", "total_bytes")})
            f.update(bps=f["bps"] * share * OF_BOTH, intervals=[], local_port=f["local_port"] + 10 * n + 7)
            f["retransmits"] = None
    by = {way: bps * share * OF_BOTH for part, share in zip((one, other), shares, strict=True)
          for way, bps in part["by_direction"].items()}  # fmt: skip
    one.update(intervals=one["intervals"] + other["intervals"], flows=one["flows"] + other["flows"])
    one.update(by_direction=by, goodput_bps=sum(by.values()))
    there, again = shares
    for end, rx, tx in ((t["ends"][leg["near"]], again, there), (t["ends"][leg["far"]], there, again)):
        end["sockets"] = None
        for card in end["nics"]:
            for kind in ("bytes", "packets"):
                most = max(card[f"rx_{kind}"], card[f"tx_{kind}"])
                card.update({f"rx_{kind}": round(most * rx), f"tx_{kind}": round(most * tx)})
        if busy is not None:
            busiest(end["cpu"], busy)


def paced_udp(name: str, lost: float, rate: float = 40e6, fault: str = "", repeats: int = 3) -> Edit:
    """Arms of paced UDP at that rate on each path, made of TCP's arms."""

    def edit(d: Json) -> None:
        for e in arms(d, name):
            p = e["parameters"]
            named = {"id": f"udp-{p['id']}", "protocol": "udp", "streams": 1, "repeats": repeats}
            made = _added(d, e, 5, **named, udp_rate_bps=rate * len(p["paths"]))
            made["trials"] = made["trials"][:repeats]
            for t in made["trials"]:
                t["legs"] = [leg for leg in t["legs"] if leg["role"] == "load"]
                for leg in t["legs"]:
                    paced(t, leg, rate, lost, SIZE)
                    if fault:
                        broken(fault)(t, leg)
        _later(d, 5)

    return edit


def broken(fault: str) -> Callable[[Json, Json], None]:
    """The load failed, and nothing is left of what its tool printed."""

    def change(_: Json, leg: Json) -> None:
        leg["commands"] = []
        leg["outcome"].update(
            ok=False, fault=fault, reason="it broke off", goodput_bps=0.0, by_direction={}, flows=[], intervals=[]
        )

    return change


def dropped(name: str, *repeats: int, **parameters: str) -> Edit:
    """The arms' trials of these repeats, or all, were not run."""

    def edit(d: Json) -> None:
        for e in arms(d, name, **parameters):
            e["trials"] = [t for t in e["trials"] if repeats and t["repeat"] not in repeats]
            sum_up(e)

    return edit


def never_asked(name: str, **parameters: str) -> Edit:
    def edit(d: Json) -> None:
        gone = [e["parameters"]["id"] for e in arms(d, name, **parameters)]
        link, plan = d["rungs"][-1], d["run"]["plan"]["rungs"][-1]
        link["experiments"] = [e for e in link["experiments"] if e["parameters"]["id"] not in gone]
        plan["experiments"] = [e for e in plan["experiments"] if e["id"] not in gone]

    return edit


def once(name: str) -> Edit:
    """One repeat was planned, and one is there."""

    def edit(d: Json) -> None:
        ids = [e["parameters"]["id"] for e in arms(d, name)]
        for p in (*(e["parameters"] for e in arms(d, name)), *d["run"]["plan"]["rungs"][-1]["experiments"]):
            p["repeats"] = 1 if p["id"] in ids else p["repeats"]
        dropped(name, 1, 2)(d)

    return edit


def rates(name: str, *by_repeat: float, path: int | None = None, way: str = "") -> Edit:
    """What the loads carried in Mb/s, repeat by repeat."""

    def edit(d: Json) -> None:
        for n, most in enumerate(by_repeat):

            def change(t: Json, leg: Json, most: float = most) -> None:
                scaled(most * 1e6 / leg["outcome"]["goodput_bps"])(t, leg)

            loads(change, name, path, n, **({"direction": way} if way else {}))(d)

    return edit


def together(*edits: Callable[[Json], Any]) -> Edit:
    def edit(d: Json) -> None:
        for one in edits:
            one(d)

    return edit


def visited(*changes: Callable[[Json, Json], Any]) -> Edit:
    """Arms in which the first path is loaded throughout and the second comes and goes, with its loads changed."""

    def edit(d: Json) -> None:
        for e in arms(d, SIDE):
            way = e["parameters"]["direction"]
            made = _added(d, e, 4, id=f"visited-{way}", company="visited", paths=[])
            for t in made["trials"]:
                for leg in t["legs"]:
                    leg["commands"] = []
                    leg["role"] = "visitor" if leg["path"] == 1 and leg["role"] == "load" else leg["role"]
                for change in changes:
                    change(t, next(leg for leg in t["legs"] if leg["role"] == "load"))
            sum_up(made)
        _later(d, 4)

    return edit
