"""Two real `linkladder pair` processes on one segment, through a router, with a man in between, and with power cuts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from pairing_world import ROUTED, ROUTED6, SEGMENT, SITES, TOP, Talk, World

pytestmark = [pytest.mark.lab, pytest.mark.timeout(170)]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made = World(f"llp{os.getpid()}")
    try:
        made.up()
        yield made
    finally:
        made.down()


@pytest.fixture(autouse=True)
def nobody_known(world: World) -> Iterator[None]:
    yield
    for child in world.children:
        if child.poll() is None:
            child.kill()
            child.wait()
    world.children.clear()
    world.forget()


def agree(one: Talk, other: Talk) -> None:
    assert one.code() == other.code()
    for talk in (one, other):
        talk.say("yes")
    for talk in (one, other):
        talk.until("paired with")
        assert talk.wait() == 0


def test_found_on_the_segment_and_paired_by_its_number(world: World) -> None:
    alpha, beta = world.pair("alpha", "--minutes", "1"), world.pair("beta", "--minutes", "1")
    line = alpha.until("  beta  ")
    assert "10.91.0.2" in line and "on seg0" in line and "SHA256:" in line
    beta.until("  alpha  ")
    alpha.say("1")
    agree(alpha, beta)
    assert world.peers("alpha") == ["beta"] and world.peers("beta") == ["alpha"]


def test_heard_by_ipv6_alone(world: World) -> None:
    for site in SITES:
        world.within(site, "ip", "addr", "del", f"{SEGMENT[site]}/24", "dev", "seg0")
    try:
        alpha, beta = world.pair("alpha", "--minutes", "1"), world.pair("beta", "--minutes", "1")
        assert "fe80::" in alpha.until("  beta  ") and "on seg0" in alpha.lines[-1]
        alpha.say("1")
        agree(alpha, beta)
    finally:
        for site in SITES:
            world.within(site, "ip", "addr", "add", f"{SEGMENT[site]}/24", "dev", "seg0")


@pytest.mark.parametrize("where", [ROUTED, ROUTED6], ids=["ipv4", "ipv6"])
def test_by_address_through_the_router(world: World, where: dict[str, str]) -> None:
    beta = world.pair("beta", "--open", "--minutes", "1")
    beta.until("pairing is open")
    alpha = world.pair("alpha", where["beta"], "--minutes", "1")
    agree(alpha, beta)
    assert where["beta"] in world.linkladder("alpha", "peers").stdout
    assert where["alpha"] in world.linkladder("beta", "peers").stdout


def test_both_ends_call_each_other_at_once(world: World) -> None:
    alpha = world.pair("alpha", ROUTED["beta"], "--minutes", "1")
    beta = world.pair("beta", ROUTED["alpha"], "--minutes", "1")
    agree(alpha, beta)


def test_refused_at_one_end(world: World) -> None:
    beta = world.pair("beta", "--open", "--minutes", "1")
    beta.until("pairing is open")
    alpha = world.pair("alpha", ROUTED["beta"], "--minutes", "1")
    assert alpha.code() == beta.code()
    alpha.say("yes")
    beta.say("no")
    alpha.until("refused by beta")
    assert alpha.wait() == 1
    assert world.peers("alpha") == [] == world.peers("beta")


def test_nobody_confirms_in_time(world: World) -> None:
    beta = world.pair("beta", "--open", "--minutes", "0.1")
    beta.until("pairing is open")
    alpha = world.pair("alpha", ROUTED["beta"], "--minutes", "1")
    alpha.code()
    alpha.say("yes")
    alpha.until("failed")
    assert alpha.wait() == 1 and beta.wait() == 1
    assert world.peers("alpha") == [] == world.peers("beta")


def test_a_script_confirms_only_the_code_it_was_told(world: World) -> None:
    for wrong in (True, False):
        beta = world.pair("beta", "--open", "--minutes", "1")
        beta.until("pairing is open")
        alpha = world.pair("alpha", ROUTED["beta"], "--minutes", "1")
        shown = alpha.code()[:7]
        beta.code()
        typed = ("000 000" if shown != "000 000" else "111 111") if wrong else shown
        done = world.linkladder("beta", "pair", "--yes-code", typed)
        assert done.returncode == wrong, done
        if wrong:
            alpha.until("refused by beta")
            beta.die()
        else:
            alpha.say(shown)
            assert alpha.wait() == 0 and beta.wait() == 0


def test_reasons_for_an_address_that_does_not_answer(world: World) -> None:
    for address, words in (
        (ROUTED["beta"], "no pairing window is open"),
        ("192.0.2.1", "no route"),
        ("10.91.3.77", "route"),
        ("no.such.invalid", "not known"),
    ):
        talk = world.pair("alpha", address, "--minutes", "1")
        assert talk.wait() == 1
        time.sleep(0.1)
        talk.until("do:")
        assert any(words in line for line in talk.lines), talk.lines
    world.within("router", "nft", "add table inet f; add chain inet f x { type filter hook forward priority 0; };"
                 "add rule inet f x tcp dport 8623 drop")  # fmt: skip
    try:
        talk = world.pair("alpha", ROUTED["beta"], "--minutes", "1")
        assert talk.wait() == 1
        talk.until("does not answer")
        talk.until("firewall")
    finally:
        world.within("router", "nft", "flush", "ruleset")


@pytest.mark.parametrize("dies", ["alpha", "beta"])
@pytest.mark.parametrize("mark", ["pairing is open", "code: ", "confirmed here", "has confirmed", "paired with"])
def test_power_lost_at_any_step(world: World, dies: str, mark: str) -> None:
    """Killed with -9 as soon as the step is told; afterwards the two pair again."""
    beta = world.pair("beta", "--open", "--minutes", "1")
    beta.until("pairing is open") if (dies, mark) != ("beta", "pairing is open") else None
    alpha = world.pair("alpha", ROUTED["beta"], "--minutes", "1")
    one, other = (alpha, beta) if dies == "alpha" else (beta, alpha)
    if mark in ("confirmed here", "paired with"):
        one.code()
        one.say("yes")
    if mark in ("has confirmed", "paired with"):
        other.code()
        other.say("yes")
    one.until(mark)
    one.die()
    if mark not in ("paired with",):
        assert world.peers(dies) == []
    other.die()
    beta = world.pair("beta", "--open", "--minutes", "1")
    beta.until("pairing is open")
    alpha = world.pair("alpha", ROUTED["beta"], "--minutes", "1")
    agree(alpha, beta)
    assert world.peers("alpha") == ["beta"] and world.peers("beta") == ["alpha"]


MIDDLE = """
import asyncio, secrets, subprocess, sys
sys.path[:0] = [sys.argv[1]]
from pairing_ends import end
from linkladder.pairing.protocol import Role

async def between(reader, writer):
    far_reader, far_writer = await asyncio.open_connection(sys.argv[2], 8623)
    mine, theirs = end(Role.RESPONDER, "beta"), end(Role.INITIATOR, "alpha")
    far_writer.write(theirs.start())
    if secrets.randbelow(2):
        while theirs.code is None:
            far_writer.write(theirs.take(await far_reader.readline()))
    while mine.code is None:
        writer.write(mine.take(await reader.readline()))
    while theirs.code is None:
        far_writer.write(theirs.take(await far_reader.readline()))
    writer.write(mine.confirm())
    far_writer.write(theirs.confirm())
    await asyncio.sleep(20)

async def main():
    async with await asyncio.start_server(between, "0.0.0.0", 9999) as server:
        print("up", flush=True)
        await server.serve_forever()

asyncio.run(main())
"""


def test_a_man_in_the_router_who_substitutes_keys(world: World) -> None:
    """Three real runs; a thousand at the protocol's level are among the unit tests."""
    world.within("router", "nft", "add table ip m; add chain ip m x { type nat hook prerouting priority -100; };"
                 'add rule ip m x iifname "toalpha" tcp dport 8623 redirect to :9999')  # fmt: skip
    argv = ["ip", "netns", "exec", world.space("router"), sys.executable, "-c", MIDDLE, str(TOP / "tests/unit"),
            ROUTED["beta"]]  # fmt: skip
    middle = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        assert middle.stdout and middle.stdout.readline() == "up\n"
        for _ in range(3):
            beta = world.pair("beta", "--open", "--minutes", "1")
            beta.until("pairing is open")
            alpha = world.pair("alpha", ROUTED["beta"], "--minutes", "1")
            codes = alpha.code(), beta.code()
            assert codes[0] != codes[1]
            done = world.linkladder("beta", "pair", "--yes-code", codes[0][:7])
            assert done.returncode == 1
            beta.until("refused here")
            alpha.say("no")
            alpha.die()
            beta.die()
            assert world.peers("alpha") == [] == world.peers("beta")
    finally:
        middle.kill()
        middle.wait()
        world.within("router", "nft", "flush", "ruleset")


HALF_OPEN = """
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
held = []
for _ in range(1000):
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex((sys.argv[1], int(sys.argv[2])))
    held.append(one)
time.sleep(1)
print("held", flush=True)
time.sleep(60)
"""


def test_a_thousand_half_open_connections_do_not_stop_a_pairing(world: World) -> None:
    beta = world.pair("beta", "--open", "--minutes", "1")
    beta.until("pairing is open")
    argv = ["ip", "netns", "exec", world.space("third"), sys.executable, "-c", HALF_OPEN, ROUTED["beta"], "8623"]
    flood = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        assert flood.stdout and flood.stdout.readline() == "held\n"
        alpha = world.pair("alpha", ROUTED["beta"], "--minutes", "1")
        agree(alpha, beta)
    finally:
        flood.kill()
        flood.wait()


def test_open_key_files_stop_everything_with_words(world: World) -> None:
    assert world.pair("alpha", "192.0.2.1", "--minutes", "1").wait() == 1
    key = world.state("alpha") / "keys" / "host_ed25519"
    for path, mode in ((key, 0o644), (key.parent, 0o755)):
        before = path.stat().st_mode & 0o777
        path.chmod(mode)
        done = world.linkladder("alpha", "pair", "192.0.2.1")
        path.chmod(before)
        assert done.returncode == 3 and "open to others" in done.stderr and "chmod" in done.stderr, done
