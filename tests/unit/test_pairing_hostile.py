"""What strangers may put into a pairing: odd fields, and floods from more addresses than a window holds callers."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from dataclasses import replace

import pytest

from linkladder.pairing import callers, messages, service
from linkladder.pairing.connection import Connection
from linkladder.pairing.messages import ProtocolError, Reason, Role
from linkladder.pairing.protocol import Step
from pairing_ends import Console, a_key, end, free_port, identity

HOSTILE = [
    ("name", "a\nb"), ("name", ""), ("name", "-oProxyCommand=x"), ("name", "x" * 64), ("name", "../x"),
    ("user", "root x"), ("user", "-l"), ("port", 0), ("port", 65536), ("port", True), ("port", "22"),
    ("addresses", ["-oX"]), ("addresses", ["10.0.0.1 x"]), ("addresses", ["fe80::1%eth0"]), ("addresses", ["ff02::1"]),
    ("addresses", ["192.0.2.1"] * 17), ("addresses", "192.0.2.1"), ("host_key", "ssh-rsa AAAA"),
    ("host_key", "ssh-ed25519 AAAA"), ("user_key", a_key() + "\n"), ("user_key", a_key() + " x"),
    ("user_key", 'command="sh" ' + a_key()), ("nonce", ""), ("nonce", "F" * 64), ("nonce", None), ("extra", 1),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), HOSTILE, ids=[str(n) for n in range(len(HOSTILE))])
def test_hostile_fields_are_refused(field: str, value: object) -> None:
    good = json.loads(messages.encode(replace(identity("beta"), nonce="0" * 64)))
    assert messages.decode(json.dumps(good).encode())
    with pytest.raises(ProtocolError) as caught:
        messages.decode(json.dumps({**good, field: value}).encode())
    assert caught.value.reason is Reason.FORMAT


def test_one_key_is_not_taken_for_a_machine_and_its_user() -> None:
    good = json.loads(messages.encode(replace(identity("beta"), nonce="0" * 64)))
    with pytest.raises(ProtocolError) as caught:
        messages.decode(json.dumps({**good, "user_key": good["host_key"]}).encode())
    assert caught.value.reason is Reason.FORMAT


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127/8 on its loopback interface")
async def test_a_flood_from_many_addresses_makes_room_for_a_genuine_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection.receive, "__defaults__", (3600.0,))  # time makes no room here
    beta = await Console("beta", free_port()).open()
    held = []
    for number in range(callers.WAITING + 100):
        one = socket.socket()
        one.setblocking(False)
        one.bind((f"127.0.{1 + number // 200}.{1 + number % 200}", 0))
        one.connect_ex(("127.0.0.1", beta.service.port))
        held.append(one)
        if number % 20 == 0:
            await asyncio.sleep(0.01)
    async with asyncio.timeout(30):
        while len(beta.service._callers) < callers.WAITING:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)
    assert len(beta.service._callers) == callers.WAITING
    reader, writer = await asyncio.open_connection("127.0.0.1", beta.service.port)
    caller = end(Role.INITIATOR, "alpha")
    writer.write(caller.start())
    while caller.step is not Step.CONFIRM:
        writer.write(caller.take(await reader.readuntil(b"\n")))
    for one in held:
        one.close()
    assert beta.service.left == service.GUESSES  # those who say nothing cost no attempt
    writer.close()
    await beta.service.close()


async def test_scripts_are_told_by_lines_of_json() -> None:
    """A window of the real command, refused by its caller: each line is an event, nothing else is said."""
    argv = [sys.executable, "-m", "linkladder", "pair", "--open", "--minutes", "0.5", "--json", "--port"]
    port = free_port()
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*argv, str(port), stdin=pipe, stdout=pipe)
    try:
        async with asyncio.timeout(20):
            assert process.stdout
            opened = json.loads(await process.stdout.readline())
            assert opened["event"] == "WindowOpened" and opened["fingerprint"].startswith("SHA256:")
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            caller = end(Role.INITIATOR, "alpha")
            writer.write(caller.start())
            while caller.step is not Step.CONFIRM:
                writer.write(caller.take(await reader.readuntil(b"\n")))
            ready = json.loads(await process.stdout.readline())
            assert caller.codes and ready["event"] == "CodeReady" and ready["name"] == "alpha"
            assert ready["code"] == caller.codes.due.digits and ready["words"] == list(caller.codes.due.words)
            assert caller.codes.shown.digits not in json.dumps(ready), "what has to be read off the other screen"
            writer.write(caller.refuse())
            refused = json.loads(await process.stdout.readline())
            assert refused == {"event": "Refused", "here": False, "name": "alpha", "left": 2, "other_code": False}
            writer.close()
    finally:
        process.kill()
        await process.wait()
