"""Two consoles that call each other at once make one pairing, however the messages cross."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from linkladder.pairing import connection
from linkladder.pairing import window_events as say
from pairing_ends import call, free_port, read_off, two


async def test_both_ends_starting_at_once(two_states: dict[str, Path]) -> None:
    for _ in range(5):
        alpha, beta = await two()
        await call(alpha, beta)
        await call(beta, alpha)
        await alpha.wait(say.CodeReady)
        await beta.wait(say.CodeReady)
        await read_off(alpha, beta)
        await read_off(beta, alpha)
        await alpha.wait(say.Paired)
        await beta.wait(say.Paired)
        assert not alpha.saw(say.Failed) and not beta.saw(say.Failed)
        await alpha.wait(say.WindowClosed)
        await beta.wait(say.WindowClosed)


async def test_calls_that_cross_on_a_slow_path_make_one_pairing(
    two_states: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(8623)
    send, close = connection.Connection.send, connection.Connection.close

    async def slow_send(one: connection.Connection, data: bytes) -> None:
        await asyncio.sleep(dice.choice((0, 0.02, 0.1, 0.3)))
        await send(one, data)

    async def slow_close(one: connection.Connection) -> None:
        await asyncio.sleep(dice.choice((0, 0.1, 0.4)))
        await close(one)

    monkeypatch.setattr(connection.Connection, "send", slow_send)
    monkeypatch.setattr(connection.Connection, "close", slow_close)

    async def round_of(late: float) -> None:
        alpha, beta = await two()
        await call(alpha, beta)
        await asyncio.sleep(late)
        await call(beta, alpha)
        await alpha.wait(say.CodeReady)
        await beta.wait(say.CodeReady)
        await read_off(alpha, beta)
        await read_off(beta, alpha)
        for one in (alpha, beta):
            await one.wait(say.WindowClosed)
            await one.call  # type: ignore[attr-defined]
            assert [len(one.saw(kind)) for kind in (say.CodeReady, say.Paired, say.Failed)] == [1, 1, 0], one.told

    for _ in range(5):
        await asyncio.gather(*(round_of(dice.choice((0, 0.05, 0.15, 0.3, 0.5))) for _ in range(8)))


async def test_a_call_that_comes_as_the_window_shuts_after_a_pairing_gets_no_code(
    two_states: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha, beta = await two()
    close, closing = connection.Connection.close, list[connection.Connection]()

    async def slow_close(one: connection.Connection) -> None:
        closing.append(one)
        while len(closing) < 4:  # both ends of both calls
            await asyncio.sleep(0.01)
        await close(one)

    await call(alpha, beta)
    await alpha.wait(say.CodeReady)
    await beta.wait(say.CodeReady)
    monkeypatch.setattr(connection.Connection, "close", slow_close)
    await read_off(alpha, beta)
    await read_off(beta, alpha)
    while not closing:
        await asyncio.sleep(0.01)
    await call(beta, alpha)
    await alpha.wait(say.WindowClosed)
    await beta.wait(say.WindowClosed)
    for one in (alpha, beta):
        assert len(one.saw(say.CodeReady)) == 1 and not one.saw(say.Failed), one.told


def test_no_two_ends_are_given_one_port() -> None:
    given = [free_port() for _ in range(500)]
    assert len(set(given)) == len(given)
