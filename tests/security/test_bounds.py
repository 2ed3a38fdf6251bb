"""What a peer may take of an appliance is bounded: tools at once, and their time; and ports are not foretold."""

from __future__ import annotations

import asyncio
from itertools import islice

import pytest

from linkladder import wire
from linkladder.agent import Service, answering
from linkladder.engine import ports as drawing
from linkladder.model import Experiment


async def test_a_tool_ends_after_its_time_whoever_forgot_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "OVERTIME", 0.2)
    end = Service(lambda event: None)
    child = await end._start(["sleep", "60"], Experiment("e", warmup=0, duration=0.1))
    finished = await asyncio.wait_for(child.finished(), 5)
    assert finished.exit_code
    await end.close()


async def test_so_many_tools_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "MOST", 3)
    end = Service(lambda event: None)
    for _ in range(3):
        await end._start(["sleep", "60"], Experiment("e"))
    with pytest.raises(wire.Refused, match="3 tools run here already"):
        await end._start(["sleep", "60"], Experiment("e"))
    await end.close()


@pytest.mark.parametrize("field", [{"duration": 8 * 86400.0}, {"udp_rate_bps": 2e12}, {"streams": 129}])
def test_a_trial_has_an_end_a_rate_and_a_number_of_streams(field: dict[str, float]) -> None:
    with pytest.raises(wire.Refused, match=next(iter(field))):
        wire.Serve(Experiment("e", **field), "127.0.0.1", 5301, "127.0.0.1", "0" * 32).check()


def test_ports_are_drawn_and_rest_after_use() -> None:
    first, second = (list(islice(drawing.ports(), 1000)) for _ in range(2))
    assert set(first) == set(wire.PORTS)
    assert first != second and first[:20] != sorted(first[:20])
    for place, port in enumerate(first):
        assert port not in first[max(0, place - drawing.APART) : place]
