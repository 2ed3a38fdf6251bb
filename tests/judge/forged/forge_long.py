"""Makes the trials of a kept run longer, so that a rate has time to fall: the run has two counted seconds in each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

Json = dict[str, Any]
GROWING = ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets")


def lengthened(seconds: int) -> Callable[[Json], None]:
    """Each trial of TCP counts so many seconds, all like those it has, and begins a minute after the last."""

    def edit(d: Json) -> None:
        arms = d["rungs"][-1]["experiments"]
        loaded = [e for e in arms if e["parameters"]["protocol"] == "tcp"]
        for p in (*(e["parameters"] for e in loaded), *d["run"]["plan"]["rungs"][-1]["experiments"]):
            if p["protocol"] == "tcp":
                p["duration"] = float(seconds)
        every = sorted((t for e in arms for t in e["trials"]), key=lambda t: str(t["started"]))
        began = datetime.fromisoformat(every[0]["started"])
        for n, t in enumerate(every):
            t["started"] = (began + timedelta(minutes=n)).isoformat()
        d["run"]["ended"] = (began + timedelta(minutes=len(every) + 1)).isoformat()
        for t in (t for e in loaded for t in e["trials"]):
            for leg in t["legs"]:
                if leg["role"] == "load":
                    _longer(t, leg, seconds)
                elif seen := leg["outcome"]["rtt"]:
                    sent = 5 * seconds
                    seen.update(received=round(sent * seen["received"] / seen["sent"]), sent=sent, samples_ms=[])
                    leg["commands"] = []

    return edit


def _longer(t: Json, leg: Json, seconds: int) -> None:
    one = leg["outcome"]
    counted = [i for i in one["intervals"] if i["counted"]]
    one["intervals"] = [i for i in one["intervals"] if i["start"] < counted[-1]["end"]]
    at, mean = counted[-1]["end"], sum(i["bytes"] for i in counted) / len(counted)
    for n in range(seconds - len(counted)):
        odd = 1448 * (n + 1) * (1 if n % 2 else -1)
        made = {**counted[0], "start": at + n, "end": at + n + 1, "bytes": round(mean) + odd + 7 * leg["path"]}
        made["retransmits"] = None if made["retransmits"] is None else 0
        one["intervals"].append(made)
    before, now = sum(i["bytes"] for i in counted), sum(i["bytes"] for i in one["intervals"] if i["counted"])
    bps = 8 * now / seconds
    one.update(goodput_bps=bps, by_direction=dict.fromkeys(one["by_direction"], bps))
    leg["commands"] = []
    for f in one["flows"]:
        more = round(f["bytes"] * (now / before - 1))
        f.update(bytes=f["bytes"] + more, total_bytes=f["total_bytes"] + more, intervals=[])
        f.update(seconds=f["seconds"] + seconds - len(counted), bps=f["bps"] * bps / (8 * before / len(counted)))
    t["seconds"] = one["intervals"][-1]["end"] + 0.5
    for n in (leg["near"], leg["far"]):
        for card in t["ends"][n]["nics"]:
            card.update({key: round(card[key] * now / before) for key in GROWING})
        if counts := t["ends"][n]["tcp"]:
            counts["segments_sent"] = round(counts["segments_sent"] * now / before)
        for s in (t["ends"][n]["sockets"] or {"sockets": ()})["sockets"]:
            s.update({key: round(s[key] * now / before) for key in ("sent_bytes", "received_bytes") if s[key]})


def shaped(*shares: float) -> Callable[[Json, Json], None]:
    """A load whose counted seconds carried these shares, the last to the end."""

    def change(t: Json, leg: Json) -> None:
        one = leg["outcome"]
        counted = [i for i in one["intervals"] if i["counted"]]
        before = sum(i["bytes"] for i in counted)
        for n, i in enumerate(counted):
            i["bytes"] = round(i["bytes"] * shares[min(n, len(shares) - 1)])
        share = sum(i["bytes"] for i in counted) / before
        one.update(goodput_bps=one["goodput_bps"] * share)
        one.update(by_direction={k: v * share for k, v in one["by_direction"].items()})
        leg["commands"] = []
        for f in one["flows"]:
            f.update(bytes=round(f["bytes"] * share), total_bytes=round(f["total_bytes"] * share), bps=f["bps"] * share)
            f["intervals"] = []
        for n in (leg["near"], leg["far"]):
            for card in t["ends"][n]["nics"]:
                card.update({key: round(card[key] * share) for key in GROWING})

    return change
