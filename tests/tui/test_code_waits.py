"""A code that is still being read at the other end waits: it is Home's next step until it is answered or runs out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

import synth
from helpers import until
from linkladder.app.backend import Heard, PairStage
from linkladder.app.main import LadderApp
from linkladder.app.pairing_adapter import PairingAdapter
from replay_backend import ReplayBackend

pytestmark = pytest.mark.asyncio


@pytest.fixture
def backend() -> ReplayBackend:
    made = synth.fresh()
    made.nearby = (Heard("beta", "10.7.0.2", "vmx0", 2.0, 0.21),)
    return made


async def left_alone(pilot: Pilot[Any], backend: ReplayBackend) -> str:
    """From Home to a code, which is answered here, and back by Esc."""
    await until(pilot, "> Open pairing")
    await pilot.press("enter")
    await until(pilot, "heard 2 s ago")
    await pilot.press("enter")
    await until(pilot, "402 917 otter lamp river")
    backend.state = replace(backend.state, stage=PairStage.CONFIRMED)
    await until(pilot, "Confirmed here. Waiting for beta to confirm")
    await pilot.press("escape")
    return await until(pilot, "> Go on pairing")


async def test_esc_leaves_the_code_to_wait_and_enter_comes_back_to_it(backend: ReplayBackend) -> None:
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25), notifications=True) as pilot:
        text = await left_alone(pilot, backend)
        assert "Open pairing" not in text, "there is one window"
        await pilot.press("enter")
        await until(pilot, "402 917 otter lamp river")
        await pilot.press("o")  # "open again" does not throw it away either
        await until(pilot, "402 917 otter lamp river")
        backend.peers = (synth.BETA,)
        backend.state = replace(backend.state, stage=PairStage.PAIRED, message="beta is paired")
        await until(pilot, "beta is paired")
        await pilot.press("escape")
        await until(pilot, "> Describe the link")
        assert backend.state.stage is PairStage.CLOSED


async def test_a_code_confirmed_here_waits_for_the_other_end(backend: ReplayBackend) -> None:
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25), notifications=True) as pilot:
        await left_alone(pilot, backend)
        backend.peers = (synth.BETA,)
        backend.state = replace(backend.state, stage=PairStage.PAIRED, message="beta is paired")
        await until(pilot, "beta is paired")
        text = await until(pilot, "> Describe the link")
        assert "reachable" in text and backend.state.stage is PairStage.CLOSED


async def test_one_that_runs_out_is_told_and_home_offers_pairing_again(backend: ReplayBackend) -> None:
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25), notifications=True) as pilot:
        await left_alone(pilot, backend)
        backend.state = replace(
            backend.state, stage=PairStage.FAILED, message="the other end gave up. Nothing was kept"
        )
        await until(pilot, "Not paired: the other end gave up.")
        await until(pilot, "> Open pairing")
        assert backend.state.stage is PairStage.CLOSED


async def test_a_window_without_a_code_closes_with_its_screen(backend: ReplayBackend) -> None:
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25), notifications=True) as pilot:
        await until(pilot, "> Open pairing")
        await pilot.press("enter")
        await until(pilot, "heard 2 s ago")
        await pilot.press("escape")
        await until(pilot, "> Open pairing")
        assert backend.state.stage is PairStage.CLOSED


async def test_the_real_window_keeps_its_code_while_it_is_shown() -> None:
    """What the adapter has shown stands until an answer, whoever calls meanwhile."""
    adapter = PairingAdapter(service=object())
    for stage in PairStage:
        adapter._shown = replace(adapter._shown, stage=stage)
        assert adapter._shown.waits == (stage in (PairStage.COMPARE, PairStage.STORING, PairStage.CONFIRMED))
        if adapter._shown.waits:
            await adapter.pair_with("10.7.0.9")
            assert adapter._shown.stage is stage
