"""The judge names what really limits: real paths whose rate, buffer, loss and delay are drawn at random.

LINKLADDER_DRAWS=10 measures ten of each kind and asks for nine right ones (about half an hour); otherwise one draw
each, and a kind that is missed is drawn once more (nine in ten is the promise, and this machine has other work).
LINKLADDER_DRAWS_KEEP=FOLDER keeps every measured rung as JSON.
"""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

import impairments
import limits
from linkladder.codec import to_json
from linkladder.judge import Limiter, LimiterKind, limiter
from linkladder.model import Direction, Protocol

pytestmark = [pytest.mark.lab, pytest.mark.alone]

DRAWS = int(os.environ.get("LINKLADDER_DRAWS", "1"))
KEEP = os.environ.get("LINKLADDER_DRAWS_KEEP")
RIGHT = {
    "control": LimiterKind.LINK,
    "shaper": LimiterKind.SHAPER,
    "small-buffer": LimiterKind.SHAPER,
    "policer": LimiterKind.POLICER,
    "loss": LimiterKind.LOSS,
    "window": LimiterKind.WINDOW,
    "black-hole": LimiterKind.PATH_MTU,
    "starved-sender": LimiterKind.SENDER,
    "starved-receiver": LimiterKind.RECEIVER,
}
TOLD_BY_UDP = ("policer", "loss")  # of one draw each, the others do without


def judged(kind: str, seed: int) -> Limiter:
    """One draw, measured and judged."""
    drawn = impairments.draw(kind, random.Random(f"{kind} {seed}"))
    rung = limits.measure(drawn, udp=DRAWS >= 10 or kind in TOLD_BY_UDP)
    if KEEP:
        Path(KEEP).mkdir(parents=True, exist_ok=True)
        kept = {"kind": kind, "drawn": to_json(drawn), "rung": to_json(rung)}
        (Path(KEEP) / f"{kind}-{seed}.json").write_text(json.dumps(kept))
    tcp = next(e for e in rung.experiments if e.parameters.protocol is Protocol.TCP)
    return limiter(tcp.trials[0], tcp.parameters, drawn.contract, rung, Direction.FORWARD)


def count(kind: str, seeds: range) -> tuple[int, list[str]]:
    right, lines = 0, []
    for seed in seeds:
        found = judged(kind, seed)
        right += found.kind is RIGHT[kind]
        lines.append(f"{kind} {seed}: {'right' if found.kind is RIGHT[kind] else 'MISSED'}: {found.sentence}")
        print(lines[-1], flush=True)
    return right, lines


@pytest.mark.skipif(DRAWS < 10, reason="the long run: set LINKLADDER_DRAWS=10")
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", list(RIGHT))
def test_nine_of_ten(kind: str) -> None:
    first = int(os.environ.get("LINKLADDER_DRAWS_FROM", "0"))
    right, lines = count(kind, range(first, first + DRAWS))
    assert right >= 0.9 * DRAWS, "\n".join(lines)


@pytest.mark.skipif(DRAWS >= 10, reason="the long run has more of each")
def test_one_of_each() -> None:
    started = time.monotonic()
    missed = []
    for kind in RIGHT:
        right, lines = count(kind, range(DRAWS))
        if right < DRAWS and count(kind, range(1000, 1000 + DRAWS))[0] < DRAWS:
            missed += lines
    print(f"{len(RIGHT)} kinds in {time.monotonic() - started:.0f} s")
    assert not missed, "\n".join(missed)
