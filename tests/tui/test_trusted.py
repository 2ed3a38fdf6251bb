"""Who is heard, told apart whatever they claim; who is trusted, renamed and removed from the console."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

import synth
from helpers import until, until_true
from linkladder.app.backend import Heard, PairingState, PairStage, PeerView
from linkladder.app.main import LadderApp
from linkladder.app.pairing_adapter import PairingAdapter, state_after
from linkladder.app.screens.trusted import TrustedScreen
from linkladder.errors import UsageError
from linkladder.pairing import handoff
from linkladder.pairing import window_events as say
from linkladder.pairing.service import PairingService
from pairing_ends import free_port


async def seen_soon(pilot: Pilot[None], words: str) -> str:
    return await until(pilot, words)


async def test_who_is_heard_is_told_apart_whatever_they_claim() -> None:
    """Two of one name and one address, as a liar on the segment could have it: the screen stays up, Enter calls one."""
    backend = synth.fresh()
    backend.nearby = (
        Heard("beta", "10.7.0.2", "vmx0", 2.0, 0.21, note="not the only beta: SHA256:AAAAAAAAAAAAA..."),
        Heard("beta", "10.7.0.2", "vmx0", 2.0, None, note="not the only beta: SHA256:BBBBBBBBBBBBB...; also fd00::2"),
    )
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await seen_soon(pilot, "> Open pairing")
        await pilot.press("enter")
        text = await seen_soon(pilot, "SHA256:BBBBBBBBBBBBB...; also fd00::2")
        assert "SHA256:AAAAAAAAAAAAA..." in text and "round trip 0.21" in " ".join(text.split())
        backend.state = replace(backend.state, heard=(Heard("alef", "10.7.0.9", "vmx0", 1.0, 0.2), *backend.nearby))
        await seen_soon(pilot, "alef")
        await pilot.press("enter")
        await seen_soon(pilot, "402 917")


async def test_peers_are_renamed_and_removed() -> None:
    backend = synth.fresh()
    backend.peers = (
        PeerView("beta", ("10.7.0.2", "fd00::2"), True, 0.21, "SHA256:AAAA"),
        PeerView("gamma", ("10.7.0.3",), None, None, "SHA256:CCCC"),
    )
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await seen_soon(pilot, "Next step")
        await pilot.press("p")
        await seen_soon(pilot, "Heard on this segment")
        await pilot.press("f4")
        await seen_soon(pilot, "Trusted by this appliance")
        text = await seen_soon(pilot, "gamma")
        assert "10.7.0.2, fd00::2" in text and "SHA256:AAAA" in text
        await pilot.press("n")
        await seen_soon(pilot, "What is beta to be called here?")
        await pilot.press(*["backspace"] * 4, *"far", "enter")
        await seen_soon(pilot, "far 10.7.0.2")
        await pilot.press("down", "x")
        await seen_soon(pilot, "Trust gamma no more?")
        await pilot.press("enter")  # the focus is on Keep
        await seen_soon(pilot, "Trusted by this appliance")
        assert len(backend.peers) == 2
        await pilot.press("x")
        await seen_soon(pilot, "Trust gamma no more?")
        await pilot.press("left", "enter")
        await until_true(pilot, lambda: len(backend.peers) == 1)
        assert [p.name for p in backend.peers] == ["far"]


async def test_the_last_of_thirty_two_can_be_reached() -> None:
    backend = synth.fresh()
    backend.peers = tuple(PeerView(f"p{n}", (f"10.7.0.{n}",), None, None, f"SHA256:{n}") for n in range(32))
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await seen_soon(pilot, "Next step")
        app.push_screen(TrustedScreen())
        text = await seen_soon(pilot, "SHA256:3")
        assert "p31" not in text
        await pilot.press("end")
        await seen_soon(pilot, "SHA256:31")
        await pilot.press("n")
        await seen_soon(pilot, "What is p31 to be called here?")


async def test_the_whole_key_of_a_peer_with_many_addresses_is_there_and_so_is_why_a_name_is_refused() -> None:
    backend = synth.fresh()
    addresses = tuple(f"fd98:0:0:{n}:aaaa:bbbb:cccc:{n}" for n in range(8))
    backend.peers = (PeerView("beta", addresses, None, None, "SHA256:J8d7NMHENGiyJVvXNcEuwTtDwlfHWBirNnAbCdEfGhI"),)

    def refuse(name: str, new: str) -> None:
        raise UsageError(f"{new!r} is no name for a peer", hint="shorter")

    backend.rename_peer = refuse  # type: ignore[method-assign]
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await seen_soon(pilot, "Next step")
        app.push_screen(TrustedScreen())
        await seen_soon(pilot, "SHA256:J8d7NMHENGiyJVvXNcEuwTtDwlfHWBirNnAbCdEfGhI")
        await pilot.press("n")
        await seen_soon(pilot, "What is beta to be called here?")
        await pilot.press(*"b" * 70, "enter")
        await seen_soon(pilot, "is no name for a peer")


async def test_a_script_answers_for_the_console(own_state: Path) -> None:
    """`pair --yes-code` reaches the window that the Pair screen has open, as it reaches a command's."""
    adapter = PairingAdapter(PairingService(name="alpha", port=free_port(), bind="127.0.0.1", discover=False))
    await adapter.open(1)
    while (said := await handoff.ask("123 456")) is None:
        await asyncio.sleep(0.02)
    assert said == "no code is waiting to be confirmed"
    await adapter.close()
    assert await handoff.ask("123 456") is None


async def test_two_that_call_each_other_see_the_code() -> None:
    """The other end's call came first: an Enter that was meant for the list must not hide its code."""
    code = say.CodeReady("520 938", ("owl", "apron", "goose"), "beta", "10.98.0.2", "SHA256:abc", False)
    shown = state_after(PairingState(PairStage.LISTENING), code)
    assert state_after(shown, say.Dialling("10.98.0.2")) == shown
    adapter = PairingAdapter(PairingService(name="alpha", bind="127.0.0.1", discover=False))
    adapter._shown = shown
    await adapter.pair_with("10.98.0.2")  # the window is not open: a real call would fail
    assert adapter.state().stage is PairStage.COMPARE
    waiting = state_after(shown, say.Confirmed())
    assert state_after(waiting, say.Dialling("10.98.0.2")) == waiting


@pytest.mark.parametrize(
    "typed,said",
    [
        (
            "999.1.1.1",
            "999.1.1.1 is no address: it looks like one, and some part of it is missing or too large. Type it",
        ),
        ("10.7.0:2", "10.7.0:2 is no address: it looks like one"),
        ("no-such-host.invalid", "no-such-host.invalid is not known: the name does not resolve ("),
    ],
)
async def test_a_mistyped_address_is_told_in_sentences(typed: str, said: str) -> None:
    service = PairingService(name="alpha", port=free_port(), bind="127.0.0.1", discover=False)
    adapter = PairingAdapter(service)
    await adapter.open(1)
    await adapter.pair_with(typed)
    while adapter.state().stage is not PairStage.FAILED:
        await asyncio.sleep(0.02)
    message = adapter.state().message
    await adapter.close()
    assert message.startswith(said) and "attempts left." in message, message
    assert not [part for part in message.split(". ")[1:] if part[:1].islower()], message
    assert ("Type its address instead." in message) == ("no-such-host" in typed)
