"""A window that a site secret guards: strangers neither shut it nor hold its place, and the secret goes after use."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from linkladder.pairing import secret, service
from linkladder.pairing import window_events as say
from linkladder.pairing.messages import Role
from linkladder.pairing.protocol import Step
from pairing_ends import call, console, end, free_port, two

STRANGER = "127.0.0.2"


async def stall(port: int) -> asyncio.StreamWriter:
    """With a wrong secret as far as a code, and not a word more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(STRANGER, 0))
    stranger = end(Role.INITIATOR, "stranger", secret=secret.parse(secret.new()))
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


async def test_who_stalls_holds_the_place_for_a_moment(
    two_states: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "SECRET_TIME", 1.0)
    alpha, beta = await two(secret=secret.parse(secret.new()))
    stalls = await stall(beta.service.port)
    await beta.wait(say.Failed)
    monkeypatch.setattr(service, "SECRET_TIME", 30.0)
    await call(alpha, beta)
    await beta.wait(say.Paired)
    stalls.close()


async def test_a_source_that_fails_and_fails_gets_no_hearing_for_a_while(two_states: dict[str, Path]) -> None:
    beta = await console("beta", free_port(), secret=secret.parse(secret.new()))
    for failed in range(1, service.GUESSES + 1):
        await guess(beta.service.port)
        await beta.wait(say.Failed, failed)
    with pytest.raises((OSError, asyncio.IncompleteReadError)):
        await stall(beta.service.port)
    assert not beta.service._failing.barred("127.0.0.1")
    await beta.service.close()
