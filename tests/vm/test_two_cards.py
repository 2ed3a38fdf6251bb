"""Two test cards of each of two machines: each path alone, then both at once, by the built-in plan."""

from __future__ import annotations

from importlib import resources

import mischief
from linkladder.judge.company import judge_company
from linkladder.model import Leg, Role, TrialResult
from two_cards import PATHS

from .machine import SLOW
from .pair import CARDS
from .test_bundle_on_loan import world
from .test_failures import VmWorld

__all__ = ["world"]


def the_plan() -> str:
    text = (resources.files("linkladder") / "plan/builtin/cards.toml").read_text()
    for was, becomes in (("duration = 10", "duration = 5"), ('"auto"', "1")):
        assert was in text, was
        text = text.replace(was, becomes)
    return text + PATHS


def loads(trial: TrialResult) -> list[Leg]:
    return [leg for leg in trial.legs if leg.role is Role.LOAD]


def carried(trial: TrialResult, card: str) -> list[int]:
    """Bytes that the card carried at each end, both ways."""
    return [nic.tx_bytes + nic.rx_bytes for end in trial.ends for nic in end.nics if nic.name == card]


def test_each_card_alone_and_both_at_once(world: VmWorld) -> None:
    run = mischief.Run(world, the_plan(), name="cards")
    run.wait(3600 / SLOW)
    (rung,) = run.document().rungs
    print(world.run("alpha", world.as_user(f"{world.program} judge last"), check=False))
    together = alone = 0
    for arm in rung.experiments:
        for trial in arm.trials:
            assert trial.ok, (arm.parameters.id, trial.reason)
            if arm.parameters.tool == "ping":
                continue
            paths = {leg.path for leg in loads(trial)}
            together, alone = together + (len(paths) == 2), alone + (len(paths) == 1)
            for number, card in enumerate(CARDS):
                if number in paths:
                    (leg,) = [leg for leg in loads(trial) if leg.path == number]
                    moved = sum(flow.total_bytes for flow in leg.outcome.flows)
                    assert all(one > 0.9 * moved for one in carried(trial, card)), (arm.parameters.id, card)
            seconds = [{round(i.start) for i in leg.outcome.intervals if i.counted} for leg in loads(trial)]
            assert all(one == seconds[0] for one in seconds), "counted over the seconds that they share"
            rates = ", ".join(f"{leg.outcome.goodput_bps / 1e6:.0f}" for leg in loads(trial))
            began = max(leg.began for leg in loads(trial))
            print(f"{arm.parameters.id}: {rates} Mb/s, begun {1000 * began:.0f} ms apart")
    assert together >= 4 and alone >= 8, "both ways, twice, and each path alone"
    seen = judge_company(rung, run.document().run.plan.contract)
    assert seen is not None and {cell.path for cell in seen.cells} == {0, 1}
    assert all(cell.alone_bps and cell.together_bps for cell in seen.cells)
    print(seen.sum_bps, seen.fairness, seen.sharing)
