"""Of several pairs an end that was lost in a repeat: what is measured again with it, and what is judged by."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from linkladder import events as ev
from linkladder.engine import Engine
from linkladder.model import Company, Direction, Experiment, Fault, Protocol, RungName, RunState, TrialResult
from linkladder.peer import NearEnd
from linkladder.store import Store
from linkladder.verdicts import Cause, Verdict
from test_judge_company import ALONE, DEAL, PAIRS, alone, judged, together
from test_several_ends import ECHO, Agents, measured


@pytest.mark.parametrize("shared", [200e6, None])
def test_a_repeat_that_lost_an_end_leaves_enough_others_to_be_judged_by(shared: float | None) -> None:
    """Two of three were whole, and the run was incomplete for good; in the other direction none was, and stays so."""
    whole, broken = together(67e6, 45e6, 79e6), together(69e6, 62e6, "the channel to zeta closed")
    later = tuple(replace(whole.trials[0], id=f"t{n}", repeat=n) for n in (1, 2))
    e = replace(whole, trials=(broken.trials[0], *later))
    deal = replace(DEAL, shared_bps=shared)
    seen = judged(PAIRS, *alone(ALONE, ALONE, ALONE), e, deal=deal)
    lost = "epsilon to zeta was lost in a repeat, and the sum is that of the others: the channel to zeta closed"
    assert (seen.whole.verdict, seen.whole.provisional, seen.lacking) == (Verdict.PASS, True, (lost,))
    assert lost in seen.findings and seen.sum_bps == {"forward": 191e6}
    back = replace(broken, parameters=replace(broken.parameters, id="back", direction=Direction.REVERSE))
    both = judged(PAIRS, *alone(ALONE, ALONE, ALONE), e, back, deal=deal)
    assert (both.whole.verdict, both.whole.cause) == (Verdict.INCOMPLETE, Cause.PEER_LOST)


def test_repeats_of_which_each_lost_another_end_make_no_sum() -> None:
    first, second = together(69e6, 62e6, "the channel to zeta closed"), together("the channel broke", 62e6, 69e6)
    e = replace(first, trials=(first.trials[0], replace(second.trials[0], id="t1", repeat=1)))
    seen = judged(PAIRS, *alone(ALONE, ALONE, ALONE), e, deal=replace(DEAL, shared_bps=None))
    assert (seen.whole.verdict, seen.whole.cause) == (Verdict.INCOMPLETE, Cause.PEER_LOST)


def test_a_path_that_was_silent_in_one_of_three_repeats_is_not_taken_for_a_lost_end() -> None:
    silent, whole = together(69e6, 62e6, "nothing arrived"), together(67e6, 45e6, 79e6)
    legs = tuple(replace(g, outcome=replace(g.outcome, fault=g.outcome.fault and Fault.PATH)) for g in
                 silent.trials[0].legs)  # fmt: skip
    later = tuple(replace(whole.trials[0], id=f"t{n}", repeat=n) for n in (1, 2))
    e = replace(whole, trials=(replace(silent.trials[0], legs=legs), *later))
    assert judged(PAIRS, *alone(ALONE, ALONE, ALONE), e).whole.verdict is not Verdict.PASS


class Returning(Agents):
    """Whoever is killed is there again when it is looked for."""

    def kill(self, name: str) -> None:
        os.kill(self.open[name]._process.pid, signal.SIGKILL)


def whole(trial: TrialResult) -> list[bool]:
    return [leg.outcome.ok for leg in trial.legs]


LATER = Experiment("later", "ping", Protocol.ECHO, count=3, company=Company.ALONE, paths=(0,))


async def test_what_lost_an_end_on_the_way_is_measured_again_until_most_repeats_are_whole(
    own_state: Path, tmp_path: Path
) -> None:
    document, _ = await measured(own_state, Returning(tmp_path), replace(ECHO, count=60), LATER, kill="gamma")
    trials = {e.parameters.id: e.trials for e in document.rungs[0].experiments}
    assert list(map(whole, trials["all"])) == [[True, False, True], [True] * 3, [True] * 3]
    assert len(trials["later"]) == 1
    assert "dc-link: what was measured without gamma is measured once more with it" in document.run.notes


async def test_a_run_that_goes_on_measures_again_what_was_lost_with_an_end_that_is_back(
    own_state: Path, tmp_path: Path
) -> None:
    """All that its plan asked for was there, failed or not, and the end was not even called."""
    document, _ = await measured(own_state, Agents(tmp_path), replace(ECHO, count=60), LATER, kill="gamma")
    store, run = Store(own_state), document.run.id
    assert not document.rungs[0].experiments[0].trials[-1].ok
    store.finish(run, RunState.INCOMPLETE, reason="cancelled")
    near = await NearEnd.open()
    engine = Engine(document.run.plan, store, near, Agents(tmp_path).connect, resume=run, retries=(0.1,))
    try:
        seen = [event async for event in engine.run()]
    finally:
        await near.close()
    trials = {e.parameters.id: e.trials for r in store.load(run).rungs for e in r.experiments}
    assert list(map(whole, trials["all"])) == [[True, False, True], [True] * 3, [True] * 3]
    assert len(trials["later"]) == 1, "what was whole is not measured again"
    (ended,) = (event for event in seen if isinstance(event, ev.RunFinished))
    assert ended.state is RunState.COMPLETE and store.load(run).rungs[0].name is RungName.DC_LINK
