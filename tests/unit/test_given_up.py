"""What is given up half-way keeps nothing: no process, no channel, no socket, no lock, no file."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from linkladder import wire
from linkladder.engine.far_ends import FarEnds
from linkladder.peer import FarEnd

HELLO = wire.HelloReply(wire.PROTOCOL, "", "alpha", "", {}, (), None, 1)
ANSWERS = (  # so many questions are answered, and the last one that came is told in a file
    "import json, sys\n"
    "for line in sys.stdin:\n"
    "    number, verb = json.loads(line)['id'], json.loads(line)['verb']\n"
    "    open(sys.argv[1], 'w').write(verb)\n"
    f"    reply = {wire.answer(0, HELLO).decode()!r} if verb == 'hello' else '{{\"id\": 0, \"ok\": null}}\\n'\n"
    "    if verb not in sys.argv[2:]:\n"
    "        print(json.dumps({**json.loads(reply), 'id': number}), flush=True)\n"
)


class Near:
    """The end that coordinates."""

    name, hello = "alpha", HELLO


@pytest.mark.parametrize("silent", ["reserve", "facts"])
async def test_a_peer_that_is_given_up_while_it_is_asked_keeps_no_channel(silent: str, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    opened: list[FarEnd] = []

    async def connect(name: str, near: wire.HelloReply) -> FarEnd:
        opened.append(await FarEnd.open(name, [sys.executable, "-c", ANSWERS, str(heard), silent]))
        return opened[-1]

    far_ends = FarEnds(Near(), connect, (), lambda _: None, lambda: None, lambda *_: None)
    work = asyncio.create_task(far_ends.reserve(["beta"]))
    while not heard.exists() or heard.read_text() != silent:
        await asyncio.sleep(0.01)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert opened[0].exit_code is not None


async def test_a_channel_whose_end_is_not_waited_for_is_gone_as_well() -> None:
    far = await FarEnd.open(
        "beta",
        [sys.executable, "-c", f"print({wire.answer(1, HELLO).decode()!r}, flush=True); import time; time.sleep(60)"],
    )
    pid = far._process.pid
    closing = asyncio.create_task(far.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    async with asyncio.timeout(20):
        while os.path.exists(f"/proc/{pid}"):
            await asyncio.sleep(0.01)
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


async def test_a_question_that_is_given_up_as_its_answer_comes_is_given_up(tmp_path: Path) -> None:
    """Else an operator's order to end a trial would be lost, and the trial go on."""
    far = await FarEnd.open("beta", [sys.executable, "-c", ANSWERS, str(tmp_path / "heard")])
    asking = asyncio.create_task(far.ask(wire.Reserve("alpha")))
    while not (waited := [one for one in far._waiting.values() if one.done()]):
        await asyncio.sleep(0)
    assert waited and asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await far.close()
