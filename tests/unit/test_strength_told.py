"""What a run says of its generator names the rung on which the figure was found."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from linkladder.engine import generators
from linkladder.engine.generators import Pair
from linkladder.engine.route import Route
from linkladder.model import Experiment, Fault, Interruption, Leg, Outcome, Plan, RungName, TrialResult
from test_strength_kept import Ends, Machine, rung
from test_strongest import BETA, HOST


def test_a_figure_that_was_found_on_another_rung_is_said_to_be_that_rung_s(tmp_path: Path) -> None:
    """A link's own strength is not looked for: its note named the localhost's figure as if the link carried it."""
    ends, link = Ends(tmp_path), rung(RungName.DC_LINK)
    looked_for, known = (ends.strengthened(link, Pair(HOST, BETA)).said for _ in range(2))
    assert "b/s on localhost (" in looked_for and "b/s on localhost (" in known
    before = generators.planned(Plan("p", rungs=(link,)), {"": HOST, "beta": BETA}, tmp_path).said
    assert "b/s on localhost (" in before[RungName.DC_LINK]
    assert "localhost" not in ends.strengthened(rung(RungName.LOCALHOST), Pair(HOST, HOST)).said


def test_a_nearer_link_s_figure_is_named_after_it(tmp_path: Path) -> None:
    ends = Ends(tmp_path)
    assert "same-host" not in ends.strengthened(rung(RungName.SAME_HOST), Pair(HOST, BETA)).said
    assert "b/s on same-host (" in ends.strengthened(rung(RungName.DC_LINK), Pair(HOST, BETA)).said


@pytest.mark.parametrize("lame", ["iperf3", "any"])
def test_why_looks_failed_is_said(tmp_path: Path, lame: str) -> None:
    """Of a search in which no look carried anything a person learnt that alone."""
    ends = Ends(tmp_path)
    measure = ends.measure

    async def failing(exp: Experiment, over: tuple[Route, ...]) -> TrialResult | Interruption:
        if lame in ("any", exp.tool):
            return TrialResult("look", 0, (Leg(Outcome(False, Fault.TOOL, "the server ended at once")),))
        return await measure(exp, over)

    ends.measure = failing  # type: ignore[method-assign]
    said = ends.strengthened(rung(RungName.SAME_HOST), Pair(HOST, BETA)).said
    assert (
        "looks failed, the first: the server ended at once (by iperf3, 2 streams, writes of 1M bytes, zero copy)"
        in said
    )
    assert ("carried anything" in said) is (lame == "any")


@pytest.mark.parametrize("losses", [2, 3])
def test_a_search_that_broke_is_done_again_and_where_it_never_ends_that_is_said(tmp_path: Path, losses: int) -> None:
    """A rung was measured with the plan's own weak setting, without a word."""
    ends, on = Ends(tmp_path), rung(RungName.SAME_HOST)
    plan, measure, asked = Plan("p", rungs=(on,)), ends.measure, list[str]()

    async def losing(exp: Experiment, over: tuple[Route, ...]) -> TrialResult | Interruption:
        if len(asked) > losses:
            return await measure(exp, over)
        return Interruption("2026-01-01", 1.0, "gone")

    async def far() -> Any:
        asked.append("beta")
        return {"beta": Machine(BETA)}

    near: Any = Machine(HOST)
    found = asyncio.run(ends.generators.patiently(plan, on, near, far, losing, ends.events.append))
    assert found is not None and len(asked) == 3
    if losses == 2:
        assert "strongest by iperf" in found.said and ends.generators.known(on, Pair(HOST, BETA))
    else:
        assert found.plan == plan and "the far end was lost in 3 attempts to find it" in found.said
        assert not ends.generators.kept()
