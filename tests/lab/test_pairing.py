"""Real `linkladder pair` processes on one segment, through a router, and with power cuts."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from linkladder.pairing.confirmation import DONE_TIME
from pairing_world import ROUTED, ROUTED6, SEGMENT, SITES, World, agree, opened, ready

pytestmark = [pytest.mark.lab, pytest.mark.timeout(170)]
CONFIRMED = "that is the code"


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(f"llp{os.getpid()}").standing() as made:
        yield made


@pytest.fixture(autouse=True)
def nobody_known(world: World) -> Iterator[None]:
    yield
    world.forget()


def test_found_on_the_segment_paired_renamed_and_removed(world: World) -> None:
    alpha, beta = world.pair("alpha"), world.pair("beta")
    line = alpha.until("  beta  ")
    assert re.fullmatch(r"  1  beta  10\.91\.0\.2  on seg0, heard \d s ago, round trip [\d.]+ [mµ]?s", line), line
    rest = alpha.until("SHA256:")
    assert ROUTED["beta"] in rest and ROUTED6["beta"] in rest
    beta.until("  alpha  ")
    alpha.say("")  # who is heard now?
    assert alpha.until("  beta  ").startswith("  1  beta  10.91.0.2  on seg0, heard ")
    alpha.say("1")
    agree(alpha, beta)
    assert world.peers("alpha") == ["beta"] and world.peers("beta") == ["alpha"]
    shown = world.linkladder("alpha", "peers").stdout
    assert shown.startswith("beta ") and SEGMENT["beta"] in shown and "SHA256:" in shown
    assert "is called far" in world.linkladder("alpha", "peers", "rename", "beta", "far").stdout
    assert world.linkladder("alpha", "peers", "remove", "beta").returncode == 3
    assert "trusted no more" in world.linkladder("alpha", "peers", "remove", "far").stdout
    assert world.peers("alpha") == []
    assert not (world.state("alpha") / "sshd" / "authorized_keys").read_text()


def test_heard_by_ipv6_alone(world: World) -> None:
    """By its link-local address, on the segment and on the interface towards the router too."""
    for site in SITES:
        world.within(site, "ip", "addr", "del", f"{SEGMENT[site]}/24", "dev", "seg0")
    listen = ["ip", "netns", "exec", world.space("router"), sys.executable, "-c", GROUP]
    router = subprocess.Popen(listen, stdout=subprocess.PIPE, text=True)
    try:
        assert router.stdout and router.stdout.readline() == "up\n"
        alpha, beta = world.pair("alpha"), world.pair("beta")
        assert "fe80::" in alpha.until("  beta  ") and "%seg0  on seg0" in alpha.lines[-1]
        heard = {router.stdout.readline().strip() for _ in range(2)}
        assert heard == {"alpha on toalpha", "beta on tobeta"}
        alpha.say("1")
        agree(alpha, beta)
    finally:
        router.kill()
        router.wait()
        for site in SITES:
            world.within(site, "ip", "addr", "add", f"{SEGMENT[site]}/24", "dev", "seg0")


GROUP = """
import json, socket, struct
one = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
one.setsockopt(41, socket.IPV6_V6ONLY, 1)
for number, name in socket.if_nameindex():
    if name.startswith("to"):
        one.setsockopt(41, socket.IPV6_JOIN_GROUP, socket.inet_pton(10, "ff02::1") + struct.pack("@I", number))
one.bind(("::", 8623))
print("up", flush=True)
seen = set()
while True:
    data, source = one.recvfrom(2000)
    line = json.loads(data)["name"] + " on " + socket.if_indextoname(source[3])
    if line not in seen:
        seen.add(line)
        print(line, flush=True)
"""


@pytest.mark.parametrize("where", [ROUTED["beta"], ROUTED6["beta"], "beta.example"])
def test_by_address_or_name_through_the_router(world: World, where: str) -> None:
    beta = opened(world, "beta", "--open")
    alpha = world.pair("alpha", where)
    agree(alpha, beta)
    first = ROUTED6["alpha"] if where != ROUTED["beta"] else ROUTED["alpha"]
    assert beta.lines[-1].startswith("paired with alpha") and f"alpha at {first}," in "\n".join(beta.lines)


def test_both_ends_call_each_other_at_once(world: World) -> None:
    agree(world.pair("alpha", ROUTED["beta"]), world.pair("beta", ROUTED["alpha"]))


def test_refused_at_one_end_and_agreed_at_the_second_try(world: World) -> None:
    beta, alpha = opened(world, "beta", "--open"), opened(world, "alpha")
    alpha.say(ROUTED["beta"])
    ready(alpha, beta)
    alpha.confirm()
    beta.say("no")
    alpha.until("refused by beta; attempts left: 2")
    beta.until("refused here")
    assert world.peers("alpha") == [] == world.peers("beta")
    alpha.say(ROUTED["beta"])
    agree(alpha, beta)


def test_nobody_confirms_in_time(world: World) -> None:
    beta = opened(world, "beta", "--open", "--minutes", "0.15")  # long enough for a busy machine to show the code
    alpha = world.pair("alpha", ROUTED["beta"])
    ready(alpha, beta)
    alpha.confirm()
    alpha.until("closed its pairing window")
    assert alpha.wait() == 1 and beta.wait() == 1
    assert world.peers("alpha") == [] == world.peers("beta")


def test_a_script_confirms_only_the_code_it_was_told(world: World) -> None:
    beta, alpha = opened(world, "beta", "--open"), opened(world, "alpha")
    for wrong in (True, False):
        alpha.say(ROUTED["beta"])
        ready(alpha, beta)
        typed = ("000 000" if beta.due != "000 000" else "111 111") if wrong else beta.due
        done = world.linkladder("beta", "pair", "--yes-code", typed)
        assert done.returncode == wrong, done
        if wrong:
            alpha.until("refused by beta")
    alpha.confirm()
    assert alpha.wait() == 0 and beta.wait() == 0


def test_a_site_secret_in_the_place_of_persons(world: World) -> None:
    """Made by --new-secret; anything else is refused; both ends find each other and agree alone."""
    made = world.linkladder("alpha", "pair", "--new-secret").stdout
    files = {}
    for site in SITES:
        files[site] = world.folder / site / "secret"
        files[site].write_text(made)
        files[site].chmod(0o600)
        os.chown(files[site], 4242, 4242)
    waiting = opened(world, "beta", "--open", "--secret-file", str(files["beta"]))
    calling = world.pair("alpha", "--secret-file", str(files["alpha"]))
    assert calling.wait() == 0 and waiting.wait() == 0
    assert world.peers("alpha") == ["beta"] and world.peers("beta") == ["alpha"]
    files["alpha"].write_text("correct horse battery staple\n")
    done = world.linkladder("alpha", "pair", "--secret-file", str(files["alpha"]))
    assert done.returncode == 2 and "no site secret" in done.stderr


def test_two_of_the_same_name_are_told_apart(world: World) -> None:
    alpha = opened(world, "alpha")
    beta = opened(world, "beta", "--open")
    alpha.say(ROUTED["beta"])
    agree(alpha, beta)
    other = opened(world, "third", "--open", name="beta")
    alpha = world.pair("alpha", ROUTED["third"])
    ready(alpha, other)
    alpha.confirm(), other.confirm()
    assert "it calls itself beta, and is beta-2 here" in alpha.until("calls itself")
    assert alpha.wait() == 0 and other.wait() == 0
    shown = {line.split()[0]: line for line in world.linkladder("alpha", "peers").stdout.splitlines()}
    assert ROUTED["beta"] in shown["beta"] and ROUTED["third"] in shown["beta-2"]
    assert len({line.split("SHA256:")[1].split()[0] for line in shown.values()}) == 2


STRANGE = """
import socket
one = socket.create_server(("0.0.0.0", 8623))
print("up", flush=True)
caller, _ = one.accept()
caller.recv(4096)
caller.sendall(b'{"t":"hello","protocol":9,"version":"9.0","role":"responder","method":"person","tie":"00"}\\n')
caller.recv(4096)
"""


def test_each_reason_for_which_an_address_does_not_answer(world: World) -> None:
    """One window calls them all at once; each is told in its own words, with what to do."""
    world.start_sshd("beta")
    rule = "add rule inet f x tcp dport 8623 ip6 daddr"
    world.within(
        "router",
        "nft",
        "add table inet f; add chain inet f x { type filter hook forward priority 0; };"
        f"{rule} {ROUTED6['beta']} drop;{rule} {ROUTED6['third']} reject with icmpv6 admin-prohibited",
    )
    argv = ["ip", "netns", "exec", world.space("third"), sys.executable, "-c", STRANGE]
    strange = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        assert strange.stdout and strange.stdout.readline() == "up\n"
        alpha = opened(world, "alpha")
        expected = {
            ROUTED["beta"]: ("has its pairing window closed", "open pairing on the other console"),
            "10.91.1.254": ("refused", "is it the right address?"),
            "192.0.2.1": ("there is no route to it", "check addresses, netmask, router"),
            "no-such-host.invalid": ("is not known", "type its address instead"),
            ROUTED6["beta"]: ("does not answer", "a firewall in between must let TCP 8623 and 8622 through"),
            ROUTED6["third"]: ("is filtered", "a firewall must let TCP 8623"),
            ROUTED["third"]: ("different versions", "same version of linkladder"),
        }
        began = time.monotonic()
        for address in expected:
            alpha.say(address)
        for _ in expected:
            alpha.until("  do:  ")
        print(f"all {len(expected)} reasons within {time.monotonic() - began:.1f} s")
        told = [p.split("\n") for p in "\n".join(alpha.lines).split("\n  do:  ")]  # each ends with title and cause
        said = {"\n".join((*one[-2:], after[0])) for one, after in itertools.pairwise(told)}
        for address, (why, hint) in expected.items():
            assert any(address in one and why in one and hint in one for one in said), (address, said)
    finally:
        strange.kill()
        strange.wait()
        world.within("router", "nft", "flush", "ruleset")


@pytest.mark.parametrize(("dies", "mark"), [("alpha", "code: "), ("beta", CONFIRMED), ("alpha", "has confirmed")])
def test_power_lost_with_people_at_the_consoles(world: World, dies: str, mark: str) -> None:
    """Killed with -9; the other window is still open, and the two pair.  Every message in turn: test_pairing_power."""
    talks = {"beta": opened(world, "beta", "--open"), "alpha": opened(world, "alpha")}
    talks["alpha"].say(ROUTED["beta"])
    if mark != "code: ":
        ready(talks["alpha"], talks["beta"])
        talks[dies if mark == CONFIRMED else "beta"].confirm()
    talks[dies].until(mark)
    talks[dies].die()
    assert world.peers("alpha") == [] == world.peers("beta")
    survivor = "beta" if dies == "alpha" else "alpha"
    if mark == "code: ":
        talks[survivor].until("code: ")
    talks[survivor].until("failed")
    talks[dies] = opened(world, dies)
    talks["alpha"].say(ROUTED["beta"])
    agree(talks["alpha"], talks["beta"])
    assert world.peers("alpha") == ["beta"] and world.peers("beta") == ["alpha"]


def test_a_console_that_went_dark_frees_the_other(world: World) -> None:
    """No goodbye, no reset: the cable is out.  Within seconds the other window takes the next call."""
    beta = opened(world, "beta", "--open")
    alpha = world.pair("alpha", ROUTED["beta"])
    ready(alpha, beta)
    world.within("alpha", "ip", "link", "set", "rt0", "down")
    try:
        beta.confirm()
        beta.until("failed", 40)
        alpha.die()
    finally:
        world.within("alpha", "ip", "link", "set", "rt0", "up")
        world.within("alpha", "ip", "route", "add", "10.91.0.0/16", "via", "10.91.1.254")
        world.within("alpha", "ip", "-6", "addr", "add", f"{ROUTED6['alpha']}/64", "dev", "rt0")
        world.within("alpha", "ip", "-6", "route", "add", "fd91::/16", "via", "fd91:1::fe")
    agree(world.pair("alpha", ROUTED["beta"]), beta)


def test_a_pin_at_one_end_gives_nobody_anything(world: World) -> None:
    """Alpha freezes after its yes and loses power: beta has stored it, alpha has nothing."""
    for site in SITES:
        if site not in world.sshd:
            world.start_sshd(site)
    beta = opened(world, "beta", "--open")
    alpha = world.pair("alpha", ROUTED["beta"])
    ready(alpha, beta)
    alpha.confirm()
    beta.until("has confirmed")
    pid = alpha.process.pid  # `ip netns exec`, setpriv and env each replace themselves by what they run
    os.kill(pid, signal.SIGSTOP)
    beta.confirm()
    beta.until("did not say that it has stored this", DONE_TIME + 30)
    assert beta.wait() == 0
    os.kill(pid, signal.SIGKILL)
    alpha.wait()
    assert world.peers("alpha") == [] and world.peers("beta") == ["alpha"]
    done = subprocess.run(world.ssh("beta", "alpha"), input=b"", capture_output=True, check=False, timeout=20)
    assert done.returncode == 255 and b"Permission denied (publickey)" in done.stderr  # alpha lets nobody in
    assert "no peer is called" in world.linkladder("alpha", "facts", "--peer", "beta").stderr
    beta = opened(world, "beta", "--open")
    agree(world.pair("alpha", ROUTED["beta"]), beta)
    assert world.peers("alpha") == ["beta"] and world.peers("beta") == ["alpha"]


def test_the_real_command_does_not_start_on_open_keys(world: World) -> None:
    key = world.state("alpha") / "keys" / "host_ed25519"
    assert key.stat().st_mode & 0o777 == 0o600 and key.parent.stat().st_mode & 0o777 == 0o700
    key.chmod(0o644)
    done = world.linkladder("alpha", "pair", "192.0.2.1")
    key.chmod(0o600)
    assert done.returncode == 3 and "open to others" in done.stderr and "chmod 600" in done.stderr, done
