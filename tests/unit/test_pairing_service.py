"""The pairing window over real sockets: who gets through, who is counted, and what is on disk when."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
import time
from pathlib import Path

import pytest

from linkladder.app.backend import PairingState, PairStage
from linkladder.app.pairing_adapter import state_after
from linkladder.errors import UsageError
from linkladder.pairing import connection, handoff, messages, secret, service
from linkladder.pairing import window_events as say
from linkladder.pairing.messages import Role
from linkladder.trust import peers
from pairing_ends import THIS_END, call, console, end, free_port, read_off, real, two, yes


def names(folder: Path) -> list[str]:
    path = folder / "peers.json"
    return [p["name"] for p in json.loads(path.read_text())] if path.exists() else []


async def test_both_confirm_and_both_have_the_other(two_states: dict[str, Path]) -> None:
    alpha, beta = await two()
    await call(alpha, beta)
    shown = await alpha.wait(say.CodeReady), await beta.wait(say.CodeReady)
    assert shown[0].code != shown[1].code and shown[0].words != shown[1].words
    assert await alpha.service.answer(shown[1].code)
    await beta.wait(say.PeerConfirmed)
    assert not names(two_states["alpha"]) and not names(two_states["beta"])
    assert await beta.service.answer(" ".join(shown[0].words))
    done = await alpha.wait(say.Paired), await beta.wait(say.Paired)
    assert all(d.certain for d in done)
    assert names(two_states["alpha"]) == ["beta"] and names(two_states["beta"]) == ["alpha"]
    await alpha.wait(say.WindowClosed)
    line = (two_states["beta"] / "sshd" / "authorized_keys").read_text()
    assert line.startswith('restrict,command="') and done[1].peer.user_key in line


async def test_an_end_that_takes_long_to_store_is_waited_for(
    two_states: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small machine starts a program to end older sessions: both people have said yes, and are told what goes on."""
    pin = peers.pin

    def slow(peer: peers.Peer, own_name: str = "") -> peers.Peer:
        if THIS_END.get() == "beta":
            time.sleep(5.5)
        return pin(peer, own_name)

    monkeypatch.setattr(peers, "pin", slow)
    alpha, beta = await two()
    await call(alpha, beta)
    for one in (alpha, beta):
        await one.wait(say.CodeReady)
    await read_off(alpha, beta)
    await read_off(beta, alpha)
    assert (await alpha.wait(say.Storing)).name == "beta" and (await beta.wait(say.Storing)).name == "alpha"
    assert state_after(PairingState(PairStage.CONFIRMED), say.Storing("beta")).stage is PairStage.STORING
    assert not alpha.saw(say.Paired)
    assert (await alpha.wait(say.Paired)).certain and (await beta.wait(say.Paired)).certain


async def test_refused_at_one_end_leaves_nothing(two_states: dict[str, Path]) -> None:
    alpha, beta = await two()
    await call(alpha, beta)
    await alpha.wait(say.CodeReady)
    await beta.wait(say.CodeReady)
    await read_off(alpha, beta)
    await beta.service.refuse()
    assert (await alpha.wait(say.Refused)).here is False and (await beta.wait(say.Refused)).here is True
    assert not names(two_states["alpha"]) and not names(two_states["beta"])
    assert alpha.service.is_open and alpha.service.left == 2
    await alpha.service.close()
    await beta.service.close()


async def test_three_failures_close_the_window(two_states: dict[str, Path]) -> None:
    alpha, beta = await two()
    for count in (1, 2, 3):
        await call(alpha, beta)
        await alpha.wait(say.CodeReady, count)
        await beta.wait(say.CodeReady, count)
        await alpha.service.refuse()
        await beta.wait(say.Refused, count)
    await beta.wait(say.WindowClosed)
    await alpha.wait(say.WindowClosed)
    assert "3 attempts" in beta.saw(say.WindowClosed)[0].reason


async def test_an_attacker_who_leaves_after_seeing_the_code_is_counted(two_states: dict[str, Path]) -> None:
    beta = await console("beta", free_port())
    for count in (1, 2, 3):
        reader, writer = await asyncio.open_connection("127.0.0.1", beta.service.port)
        one = end(Role.INITIATOR, "eve")
        writer.write(one.start())
        while one.codes is None:
            writer.write(one.take(await reader.readline()))
        writer.close()
        await beta.wait(say.Failed, count)
    await beta.wait(say.WindowClosed)


async def test_idle_and_babbling_callers_cost_no_guess(two_states: dict[str, Path]) -> None:
    beta = await console("beta", free_port())
    for said in (b"", b"GET / HTTP/1.1\r\n", b"{}\n", b"x" * 100_000, end(Role.INITIATOR).start()):
        reader, writer = await asyncio.open_connection("127.0.0.1", beta.service.port)
        writer.write(said)
        with contextlib.suppress(OSError):  # it may shut the connection before all has been said
            writer.write_eof()
            await reader.read()  # until it has let go of this caller
        writer.close()
    assert beta.service.left == 3 and beta.service.is_open and not beta.saw(say.Failed)
    await beta.service.close()


async def test_time_runs_out(two_states: dict[str, Path]) -> None:
    ports = free_port(), free_port()
    alpha = await console("alpha", ports[0])
    beta = await console("beta", ports[1])
    beta.service._deadline = alpha.service._deadline = asyncio.get_running_loop().time() + 1.0
    await call(alpha, beta)
    await alpha.wait(say.CodeReady)
    await beta.wait(say.CodeReady)
    await read_off(alpha, beta)
    await alpha.wait(say.Failed)
    assert not names(two_states["alpha"]) and not names(two_states["beta"])
    await alpha.service.close()
    await beta.service.close()


async def test_a_site_secret_pairs_without_a_person(two_states: dict[str, Path]) -> None:
    alpha, beta = await two(secret=secret.parse(secret.new()))
    await call(alpha, beta)
    assert (await alpha.wait(say.Paired)).certain and (await beta.wait(say.Paired)).certain


async def test_wrong_secret_and_no_secret_pair_nobody(two_states: dict[str, Path]) -> None:
    alpha = await console("alpha", free_port(), secret=secret.parse(secret.new()))
    for other in (secret.parse(secret.new()), None):
        beta = await console("beta", free_port(), secret=other)
        await call(alpha, beta)
        await alpha.wait(say.Failed, 1 if other else 2)
        await beta.service.close()
    assert not names(two_states["alpha"]) and not names(two_states["beta"])
    assert "secret" in alpha.saw(say.Failed)[-1].cause
    await alpha.service.close()


async def test_reasons_when_nobody_is_there(two_states: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.1)
    alpha = await console("alpha", free_port())
    await alpha.service.dial("127.0.0.1", free_port())
    assert "refused" in (await alpha.wait(say.Failed)).title
    await alpha.service.dial("no-such-host.invalid", 1)
    assert "not known" in (await alpha.wait(say.Failed, 2)).title
    await alpha.service.dial("127.0.0.1", alpha.service.port)
    assert "itself" in (await alpha.wait(say.Failed, 3)).cause
    await alpha.service.close()


async def test_a_link_local_address_needs_its_interface(two_states: dict[str, Path]) -> None:
    alpha = await console("alpha", free_port())
    await alpha.service.dial("fe80::1", 1)
    assert "fe80::1%" in (await alpha.wait(say.Failed)).hint
    await alpha.service.close()


async def test_another_version_is_told_apart(two_states: dict[str, Path]) -> None:
    async def old(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b'{"t":"hello","protocol":9,"version":"3.0","role":"responder","method":"person","tie":"x"}\n')

    server = await asyncio.start_server(old, "127.0.0.1", 0)
    alpha = await console("alpha", free_port())
    await alpha.service.dial("127.0.0.1", server.sockets[0].getsockname()[1])
    failed = await alpha.wait(say.Failed)
    assert "version" in failed.cause and "same version" in failed.hint
    await alpha.service.close()
    server.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127/8 on its loopback interface")
async def test_half_open_connections_do_not_stop_a_pairing(two_states: dict[str, Path]) -> None:
    """A thousand from another address (127.0.0.9) that say nothing."""
    alpha, beta = await two()
    held = []
    for _ in range(1000):
        one = socket.socket()
        one.setblocking(False)
        one.bind(("127.0.0.9", 0))
        one.connect_ex(("127.0.0.1", beta.service.port))
        held.append(one)
        if len(held) % 50 == 0:
            await asyncio.sleep(0.01)
    await call(alpha, beta)
    await alpha.wait(say.CodeReady)
    await beta.wait(say.CodeReady)
    assert len(beta.service._tasks) < 16
    await read_off(alpha, beta)
    await read_off(beta, alpha)
    await alpha.wait(say.Paired)
    await beta.wait(say.Paired)
    for one in held:
        one.close()


async def test_a_man_in_the_middle_over_sockets_ends_with_different_codes(
    two_states: dict[str, Path], tmp_path: Path
) -> None:
    """He answers alpha in beta's name and calls beta in alpha's, with keys of his own, and says yes to both."""
    alpha, beta = await two()
    as_beta, as_alpha = real("beta", tmp_path / "eve"), real("alpha", tmp_path / "eve")

    async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", beta.service.port)
        mine, theirs = (
            end(Role.RESPONDER, me=as_beta[0], prover=as_beta[1]),
            end(Role.INITIATOR, me=as_alpha[0], prover=as_alpha[1]),
        )
        far_writer.write(theirs.start())
        while mine.codes is None:
            writer.write(mine.take(await reader.readline()))
        while theirs.codes is None:
            far_writer.write(theirs.take(await far_reader.readline()))
        far_writer.write(yes(theirs))
        writer.write(yes(mine))
        await asyncio.Event().wait()  # and holds both connections

    server = await asyncio.start_server(between, "127.0.0.1", 0)

    async def dial() -> None:
        THIS_END.set("alpha")
        await alpha.service.dial("127.0.0.1", server.sockets[0].getsockname()[1])

    task = asyncio.create_task(dial())
    shown = await alpha.wait(say.CodeReady), await beta.wait(say.CodeReady)
    await alpha.wait(say.PeerConfirmed)
    assert not await beta.service.answer(shown[0].code)  # whoever looks at the other screen refuses by it
    assert (await beta.wait(say.Refused)).other_code
    assert not names(two_states["alpha"]) and not names(two_states["beta"])
    await alpha.service.close()
    await beta.service.close()
    task.cancel()
    server.close()


async def test_a_yes_that_was_forged_on_the_way_pins_nothing(two_states: dict[str, Path], tmp_path: Path) -> None:
    """Everything is passed on unchanged, the codes agree; but the relay says yes before beta's person."""
    alpha, beta = await two()
    _, eves = real("eve", tmp_path / "eve")

    async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", beta.service.port)

        async def back() -> None:
            for _ in range(3):
                writer.write(await far_reader.readline())
            proofs = eves.sign(b"whatever")
            writer.write(messages.encode(messages.Confirm("ab" * 32, proofs.host, proofs.user)))

        task = asyncio.create_task(back())
        while line := await reader.readline():
            far_writer.write(line)
        await task
        far_writer.close()
        writer.close()

    server = await asyncio.start_server(between, "127.0.0.1", 0)
    alpha.service.port = server.sockets[0].getsockname()[1]  # where it dials
    THIS_END.set("alpha")
    await asyncio.create_task(alpha.service.dial("127.0.0.1"))
    await alpha.wait(say.CodeReady)
    await beta.wait(say.CodeReady)
    assert "does not own the keys" in (await alpha.wait(say.Failed)).cause and not alpha.saw(say.PeerConfirmed)
    await beta.wait(say.Failed)
    assert not names(two_states["alpha"]) and not names(two_states["beta"])
    await alpha.service.close()
    await beta.service.close()
    server.close()


async def test_whoever_waits_for_a_yes_hears_that_the_window_closed(two_states: dict[str, Path]) -> None:
    alpha, beta = await two()
    await call(alpha, beta)
    await beta.wait(say.CodeReady)
    await alpha.wait(say.CodeReady)
    await beta.service.close()
    assert "closed its pairing window" in (await alpha.wait(say.Failed)).cause
    await alpha.service.close()


async def test_an_exchange_that_nobody_answers_says_that_the_window_closes(two_states: dict[str, Path]) -> None:
    """Both end at one moment, and either may come first: here the window, which is shut later, does not."""
    alpha, beta = await two()
    beta.service._deadline = time.monotonic() + 0.5
    await call(alpha, beta)
    assert "closed its pairing window" in (await alpha.wait(say.Failed)).cause
    assert not beta.saw(say.WindowClosed)
    await alpha.service.close()
    await beta.service.close()


async def test_a_closed_window_is_told_from_a_host_that_is_no_appliance(
    two_states: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.1)

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_10.0\r\n")
        await reader.read(1)
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    alpha = await console("alpha", free_port())
    monkeypatch.setattr(connection, "CONTROL", server.sockets[0].getsockname()[1])
    await alpha.service.dial("127.0.0.1", free_port())
    assert "window closed" in (await alpha.wait(say.Failed)).title
    server.close()
    await server.wait_closed()
    await alpha.service.dial("127.0.0.1", free_port())
    assert "refused" in (await alpha.wait(say.Failed, 2)).title
    await alpha.service.close()


async def test_leaving_an_attempt_midway_counts_as_one(two_states: dict[str, Path]) -> None:
    """Who calls, looks at the code and breaks off cannot call for ever: three, and not even a code is shown."""
    alpha, beta = await two()
    for count in (1, 2, 3):
        await call(alpha, beta)
        await alpha.wait(say.CodeReady, count)
        alpha.call.cancel()  # type: ignore[attr-defined]
        await beta.wait(say.Failed, count)
    assert alpha.service.left == 0
    await beta.wait(say.WindowClosed)
    gamma = await console("beta", free_port())
    await call(alpha, gamma)
    await alpha.wait(say.WindowClosed)
    assert not gamma.saw(say.CodeReady)
    await gamma.service.close()


async def test_yes_code_confirms_only_the_right_code(two_states: dict[str, Path]) -> None:
    alpha, beta = await two()
    await call(alpha, beta)
    shown = await alpha.wait(say.CodeReady)
    await beta.wait(say.CodeReady)
    assert "another one" in await handoff._try(beta.service, "000 000" if shown.code != "000 000" else "111 111")
    assert (await beta.wait(say.Refused)).other_code
    await call(alpha, beta)
    shown = await alpha.wait(say.CodeReady, 2)
    await beta.wait(say.CodeReady, 2)
    assert await handoff._try(beta.service, shown.code.replace(" ", "-")) == "ok"
    await beta.wait(say.Confirmed)
    await alpha.service.close()
    await beta.service.close()


async def test_a_connection_notices_that_its_other_end_lost_power(two_states: dict[str, Path]) -> None:
    """What it does then is shown in the lab, where a cable can be pulled."""
    alpha, beta = await two()
    await call(alpha, beta)
    await alpha.wait(say.CodeReady)
    await beta.wait(say.CodeReady)
    for one in (alpha, beta):
        assert one.service._engaged
        wire = one.service._engaged._writer.get_extra_info("socket")
        assert wire.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) < 10
        await one.service.close()


def test_limits_are_what_the_note_says() -> None:
    assert service.GUESSES == 3 and messages.LIMIT == 4096 and peers.PORT == 8622 and service.PORT == 8623


async def test_only_what_the_other_screen_shows_is_an_answer(two_states: dict[str, Path]) -> None:
    """Nothing, this screen's own code, an address meant for the list before: nobody is paired and nobody refused."""
    alpha, beta = await two()
    await call(alpha, beta)
    own = await alpha.wait(say.CodeReady)
    await beta.wait(say.CodeReady)
    for typed in ("", " ", "yes", "y", own.code, " ".join(own.words), "10.7.0.2", "12345", "1234567", "owl"):
        with pytest.raises(UsageError):
            await alpha.service.answer(typed)
    assert alpha.service.ready and not alpha.saw(say.Confirmed) and not alpha.saw(say.Refused)
    await read_off(alpha, beta)
    await alpha.wait(say.Confirmed)
    await alpha.service.close()
    await beta.service.close()
