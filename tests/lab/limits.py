"""Draws of links with a known limit, measured by `linkladder run`, and what the judge says of them."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import impairments
from impairments import Impaired
from linkladder.codec import from_json
from linkladder.judge.evidence import BUSY, direction_bps, ways
from linkladder.judge.withheld import STARVED, withheld
from linkladder.model import Direction, Document, EndRecord, Protocol
from linkladder.verdicts import Cause, ExperimentJudgement, Judgement, Limiter, LimiterKind, Verdict
from world import Lab

DRAWS = int(os.environ.get("LINKLADDER_DRAWS", "1"))
FIRST = int(os.environ.get("LINKLADDER_DRAWS_FROM", "0"))
PATIENCE = 180 * DRAWS  # seconds for each kind
KEEP = os.environ.get("LINKLADDER_DRAWS_KEEP")
RIGHT = {
    "control": LimiterKind.LINK,
    "shaper": LimiterKind.SHAPER,
    "small-buffer": LimiterKind.SHAPER,
    "queue": LimiterKind.SHAPER,
    "small-burst": LimiterKind.BURST,
    "policer": LimiterKind.POLICER,
    "rare-loss": LimiterKind.LOSS,
    "loss": LimiterKind.LOSS,
    "heavy-loss": LimiterKind.LOSS,
    "bucket": LimiterKind.POLICER,
    "one-way": LimiterKind.SHAPER,
    "outage": LimiterKind.OUTAGE,
    "own-card": LimiterKind.OWN_CARD,
    "window": LimiterKind.WINDOW,
    "growth": LimiterKind.GROWTH,
    "black-hole": LimiterKind.PATH_MTU,
    "busy-sender": LimiterKind.SENDER,
    "busy-queue": LimiterKind.SHAPER,
    "starved-sender": LimiterKind.SENDER,
    "starved-receiver": LimiterKind.RECEIVER,
}
# Each in a file of its own, so that they can be measured beside each other.
LOSSES = ("rare-loss", "loss", "heavy-loss")
POLICERS = ("small-burst", "policer", "bucket")
SET_IN_LATE = ("outage", "starved-sender", "starved-receiver")  # when the trial is under way
UNSHAPED = ("window", "growth", "black-hole")  # the link carries all that was sold
TOLD_BY_UDP = (*LOSSES, "small-burst", "policer")  # the others do without
MAY_STAY_OPEN = ("small-burst", "busy-sender")  # on a machine with other work nothing is paced evenly, and both fit
NEARLY_ALL = 0.97  # of the ceiling
SEGMENT, FRAME = 1448, 1514  # bytes of payload, and of the frame that a contract counts
UNBITTEN = "did not bite"
EASY = 1e9  # b/s: less does not take a core
BY_CAUSE = {"bucket": Cause.LEVEL_FELL, "outage": Cause.OUTAGE, "own-card": Cause.OWN_CARD}  # says it as well
PLAN = """
name = "limits"
[contract]
port = "{port}"
rate = {rate}
[path.dc-link]
local = "{near}"
remote = "{far}"
peer = "beta"
[[experiment]]
tool = "ping"
protocol = "df"
rungs = "dc-link"
[[experiment]]
tool = "ping"
protocol = "echo"
rungs = "dc-link"
count = 30
interval = 0.05
[[experiment]]
rungs = "dc-link"
streams = {streams}
window = {window}
direction = "{direction}"
warmup = 2
duration = {seconds}
ping_under_load = true
"""
PACED = """
[[experiment]]
rungs = "dc-link"
protocol = "udp"
udp_percent = [50, 90]
warmup = 1
duration = {seconds}
"""


def measured(lab: Lab, p: Impaired, plan: Path, udp: bool) -> Document:
    """What `linkladder run` tells of the link as it now is."""
    impairments.put(lab, p)
    near, far = (lab.address(site, "dc-link") for site in ("alpha", "beta"))
    window = f'"{p.window}"' if p.window else '"default"'
    port = "100G" if p.contract_bps > 10e9 else "10G"
    text = PLAN.format(
        rate=int(p.contract_bps), port=port, near=near, far=far, streams=p.streams, window=window,
        direction=p.direction, seconds=p.seconds,
    )  # fmt: skip
    plan.write_text(text + (PACED.format(seconds=4 if p.name == "rare-loss" else 2) if udp else ""))
    told, document = plan.with_suffix(".log"), plan.with_suffix(".json")
    argv = [sys.executable, "-m", "linkladder", "run", "--plan", str(plan), "--peer", "beta", "--json", str(document)]
    with told.open("w") as log:
        run = subprocess.Popen(lab.command("alpha", argv), stdin=subprocess.DEVNULL, stdout=log, stderr=log, text=True)
        with impairments.suffering(lab, p, run):
            run.wait(120)
    assert document.exists(), told.read_text()
    found = from_json(Document, json.loads(document.read_text()))
    assert found.run.state == "complete", told.read_text()
    return found


@dataclass(frozen=True)
class Draw:
    """What one draw showed, and what the judge says of it."""

    limits: set[LimiterKind]  # an end as well, from which CPU was withheld in that very trial
    found: Limiter | None
    verdict: Judgement
    others: bool  # whether other work kept an end busy meanwhile: a poor witness, and the judge says less
    cause: Cause  # of the weaker way's own judgement, whatever excuses the rung's
    bit: bool  # whether what was planted held the rate at all, by figures that the judge has no part in


def judged(lab: Lab, kind: str, seed: int, folder: Path) -> Draw:
    drawn = impairments.draw(kind, random.Random(f"{kind} {seed}"))
    document = measured(lab, drawn, folder / f"{kind}-{seed}.toml", kind in TOLD_BY_UDP)
    if KEEP:
        Path(KEEP).mkdir(parents=True, exist_ok=True)
        (folder / f"{kind}-{seed}.json").rename(Path(KEEP) / f"{kind}-{seed}.json")
    (rung,) = document.judgement.rungs if document.judgement else ()
    worst = min((e for e in rung.experiments if e.protocol == Protocol.TCP), key=_carried)
    found = worst.limiter
    trial = next(e.trials[0] for e in document.rungs[0].experiments if e.parameters.id == worst.experiment)
    limits = {RIGHT[kind]}
    if not drawn.starve:  # by whatever else this machine does
        way = Direction(worst.direction)
        limits |= {LimiterKind.SENDER} if _withheld(trial.sender(way)) else set()
        limits |= {LimiterKind.RECEIVER} if _withheld(trial.receiver(way)) else set()
    used = [end.cpu for e in document.rungs[0].experiments for t in e.trials for end in t.ends if end.cpu]
    little = drawn.contract_bps < EASY and not (drawn.starve or drawn.busy)  # to do, of itself
    others = little and any(c.busiest >= BUSY or withheld(c) >= STARVED for c in used)
    return Draw(limits, found, rung.judgement, others, worst.judgement.cause, _bit(lab, drawn, document))


def _bit(lab: Lab, drawn: Impaired, document: Document) -> bool:
    """A plant that leaves nearly all of what was sold limits nothing, and a policer that dropped nothing did not."""
    carried = [
        direction_bps(t, e.parameters, way)
        for e in document.rungs[0].experiments
        if e.parameters.protocol is Protocol.TCP
        for way in ways(e.parameters)
        for t in e.trials
    ]
    if drawn.police and not impairments.dropped(lab):
        return False
    return min(carried) < NEARLY_ALL * drawn.contract_bps * SEGMENT / FRAME


def _withheld(end: EndRecord) -> bool:
    return withheld(end.cpu) >= STARVED


def _carried(e: ExperimentJudgement) -> float:
    return e.spread.median if e.spread else 0.0


def told(lab: Lab, kind: str, seed: int, folder: Path) -> tuple[str, str]:
    """Right, open (nothing is claimed, or the right one among others), wrong, or the worst: a wrong PASS.

    "did not bite" is none of these: there was nothing to name, whatever was named.
    """
    draw = judged(lab, kind, seed, folder)
    found, verdict = draw.found, draw.verdict
    causes = {verdict.cause, draw.cause, *(c.cause for c in verdict.concerns)}
    said = f"{verdict.verdict}, {verdict.cause}; {found.sentence if found else 'nothing'}"
    if verdict.cause is Cause.NOTHING_MEASURED:
        answer = "WRONG, nothing was measured"
    elif kind != "control" and not draw.bit:
        answer = UNBITTEN
    elif verdict.verdict is Verdict.PASS and kind != "control":
        answer = "WRONG PASS"
    elif BY_CAUSE.get(kind) in causes or (found is not None and found.kind in draw.limits):
        answer = "right"
    elif found is None or found.kind is LimiterKind.UNKNOWN or draw.limits & set(found.candidates):
        answer = "open beside other work" if draw.others else "open"
    else:
        answer = f"WRONG, it is the {' or the '.join(sorted(draw.limits))}"
    print(f"{kind} {seed}: {answer}: {said}", flush=True)
    return answer, said


def named(lab: Lab, kind: str, folder: Path) -> None:
    """Nine of ten draws bite and are told right; none is told wrong, and none is a PASS that it must not be."""
    found = [told(lab, kind, seed, folder) for seed in range(FIRST, FIRST + DRAWS)]
    unbitten = [said for answer, said in found if answer == UNBITTEN]
    print(f"{kind}: {len(unbitten)} of {DRAWS} did not bite", flush=True)
    assert not any(answer.startswith("WRONG") for answer, _ in found), found
    enough = ("right", "open beside other work", *(["open"] if kind in MAY_STAY_OPEN else []))
    assert sum(answer in enough for answer, _ in found) >= 0.9 * DRAWS, found
