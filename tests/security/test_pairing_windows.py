"""A window that a site secret guards: strangers neither shut it nor hold its place, and the secret goes after use."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from pathlib import Path

import pytest

from linkladder.commands.pairing import Pairing
from linkladder.pairing import callers, secret, service
from linkladder.pairing import window_events as say
from linkladder.pairing.card import KeyProver
from linkladder.pairing.messages import Role
from linkladder.pairing.protocol import Step
from pairing_ends import call, console, end, free_port, two

STRANGER = "127.0.0.2"


async def stall(port: int, source: str = STRANGER, tie: str = "") -> asyncio.StreamWriter:
    """With a wrong secret as far as a code, and not a word more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
    stranger = end(Role.INITIATOR, "stranger", secret=secret.parse(secret.new()), tie=tie)
    writer.write(stranger.start())
    while stranger.step is not Step.CONFIRM:
        writer.write(stranger.take(await asyncio.wait_for(reader.readuntil(b"\n"), 5)))
    return writer


async def guess(port: int) -> None:
    """An attempt that comes to nothing, if it is heard at all."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        (await stall(port)).close()


async def test_who_guesses_shuts_nobody_out(two_states: dict[str, Path]) -> None:
    """Three failures closed the window, for whoever holds the right secret as well."""
    known = secret.parse(secret.new())
    alpha, beta = await two(secret=known)
    for failed in range(1, service.GUESSES + 4):
        await guess(beta.service.port)
        await beta.wait(say.Failed, min(failed, service.GUESSES))
    assert beta.service.is_open and beta.service.left == service.GUESSES
    await call(alpha, beta)
    await beta.wait(say.Paired)
    await alpha.wait(say.Paired)


async def test_who_stalls_holds_no_place_however_many_they_are(two_states: dict[str, Path]) -> None:
    """One exchange at a time got as far as a code: two addresses in turn kept everybody else out."""
    alpha, beta = await two(secret=secret.parse(secret.new()))
    for one in (alpha, beta):
        stalling = [await stall(one.service.port, f"127.0.2.{number}") for number in range(1, 41)]
        one.strangers = stalling  # type: ignore[attr-defined]
    await call(alpha, beta)
    await beta.wait(say.Paired)
    await alpha.wait(say.Paired)
    assert not alpha.saw(say.Failed) and not beta.saw(say.Failed), "none of them has been given up yet"
    for one in (alpha, beta):
        for writer in one.strangers:  # type: ignore[attr-defined]
            writer.close()


@pytest.mark.parametrize("lower_calls", [True, False])
async def test_nor_does_one_that_shows_the_tie_of_somebody_else(two_states: dict[str, Path], lower_calls: bool) -> None:
    """It was taken for the other half of two calls that cross, for which the one of the real end gave way."""
    ends = await two(secret=secret.parse(secret.new()))
    caller, called = sorted(ends, key=lambda one: one.service._tie, reverse=not lower_calls)
    held = [await stall(called.service.port, "127.0.3.1", caller.service._tie)]
    held.append(await stall(caller.service.port, "127.0.3.1", called.service._tie))
    await call(caller, called)
    await called.wait(say.Paired)
    await caller.wait(say.Paired)
    assert not called.saw(say.Failed) and not caller.saw(say.Failed)
    for one in held:
        one.close()


async def test_nor_one_that_was_called_and_says_nothing_more(two_states: dict[str, Path]) -> None:
    """A beacon is anybody's: who calls it waits for half a minute, and is there for others meanwhile."""
    known = secret.parse(secret.new())
    alpha, beta = await two(secret=known)
    revealed = asyncio.Event()

    async def listening(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stranger = end(Role.RESPONDER, "stranger", secret=secret.parse(secret.new()))
        with contextlib.suppress(asyncio.IncompleteReadError):
            while stranger.step is not Step.CONFIRM:
                writer.write(stranger.take(await reader.readuntil(b"\n")))
            revealed.set()
            await reader.read()

    server = await asyncio.start_server(listening, STRANGER, 0)
    calling = asyncio.create_task(alpha.service.dial(STRANGER, server.sockets[0].getsockname()[1]))
    await revealed.wait()
    await call(beta, alpha)
    await alpha.wait(say.Paired)
    await beta.wait(say.Paired)
    calling.cancel()
    server.close()


async def test_of_a_flood_from_everywhere_who_has_failed_goes_first(two_states: dict[str, Path]) -> None:
    known = secret.parse(secret.new())
    alpha, beta = await two(secret=known)
    for number in range(callers.WAITING + 50):
        source = f"127.0.{4 + number // 200}.{1 + number % 200}"
        beta.service._failing.failed(source)
        _, writer = await asyncio.open_connection("127.0.0.1", beta.service.port, local_addr=(source, 0))
        beta.strangers = [*getattr(beta, "strangers", ()), writer]  # type: ignore[attr-defined]
    first = await stall(beta.service.port, "127.0.9.1")
    for number in range(callers.WAITING):
        source = f"127.0.{10 + number // 200}.{1 + number % 200}"
        beta.service._failing.failed(source)
        _, writer = await asyncio.open_connection("127.0.0.1", beta.service.port, local_addr=(source, 0))
        beta.strangers.append(writer)  # type: ignore[attr-defined]
    sources = [source for source, _ in beta.service._callers._all.values()]
    assert "127.0.9.1" in sources and len(sources) == callers.WAITING
    await call(alpha, beta)
    await beta.wait(say.Paired)
    for writer in (first, *beta.strangers):  # type: ignore[attr-defined]
        writer.close()


async def test_nobody_is_signed_for_who_has_not_shown_the_secret(
    two_states: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt of a stranger had two programs started here."""
    asked: list[bytes] = []
    monkeypatch.setattr(KeyProver, "sign", lambda prover, statement: asked.append(statement))
    beta = await console("beta", free_port(), secret=secret.parse(secret.new()))
    writer = await stall(beta.service.port)
    await beta.wait(say.CodeReady)
    writer.close()
    await beta.wait(say.Failed)
    assert not asked
    await beta.service.close()


async def test_a_stranger_does_not_end_what_a_script_began(two_states: dict[str, Path], tmp_path: Path) -> None:
    """`linkladder pair ADDRESS --secret-file F` gave up when anybody's attempt failed."""
    beta = await console("beta", free_port(), secret=secret.parse(secret.new()))
    words = argparse.Namespace(secret_file=tmp_path / "secret", address="192.0.2.1", yes_code="", json=False)
    script = Pairing(beta.service, words)
    await guess(beta.service.port)
    await script._show(await beta.wait(say.Failed))
    assert beta.service.is_open
    await script._show(say.Failed("its own call", "came to nothing", "", 3))
    assert not beta.service.is_open


async def test_a_source_that_fails_and_fails_gets_no_hearing_for_a_while(two_states: dict[str, Path]) -> None:
    beta = await console("beta", free_port(), secret=secret.parse(secret.new()))
    for failed in range(1, service.GUESSES + 1):
        await guess(beta.service.port)
        await beta.wait(say.Failed, failed)
    with pytest.raises((OSError, asyncio.IncompleteReadError)):
        await stall(beta.service.port)
    assert not beta.service._failing.barred("127.0.0.1")
    await beta.service.close()
