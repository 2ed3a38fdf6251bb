"""A man in the router between two real `linkladder pair` processes: whatever he does, nobody is paired with him."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from pairing_world import ROUTED, Talk, World, opened, ready

pytestmark = [pytest.mark.lab, pytest.mark.timeout(170)]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(f"llm{os.getpid()}").standing() as made:
        yield made


@pytest.fixture
def middle(world: World) -> Iterator[Talk]:
    """Whoever alpha calls on the pairing port is the man in the router."""
    world.within("router", "nft", "add table ip m; add chain ip m x { type nat hook prerouting priority -100; };"
                 'add rule ip m x iifname "toalpha" tcp dport 8623 redirect to :9999')  # fmt: skip
    try:
        talk = world.middle("between", ROUTED["beta"], "9999")
        talk.until("up")
        yield talk
    finally:
        world.within("router", "nft", "flush", "ruleset")
        world.forget()


def go(middle: Talk, way: str) -> None:
    middle.say(way)
    middle.until(f"now {way}")


def test_a_man_in_the_router(world: World, middle: Talk) -> None:
    """Between two `linkladder pair`: he passes on, reorders, reflects, alters, replays, and puts in his own keys."""
    alpha, beta = opened(world, "alpha"), opened(world, "beta", "--open")

    def attempt(way: str) -> None:
        go(middle, way)
        alpha.say(ROUTED["beta"])

    attempt("pass")
    ready(alpha, beta)
    beta.confirm()  # he has no keys in it, so that it is the code that is due
    alpha.until("has confirmed")
    alpha.say("no")  # what he keeps for later is a whole talk with a yes at its end
    alpha.until("refused here; attempts left: 2")
    attempt("reorder")
    alpha.until("not of the pairing protocol")
    attempt("reflect")
    alpha.until("the appliance itself, or somebody who shows it its own keys")
    attempt("replay")
    alpha.code()
    alpha.until("does not own the keys")
    assert sum("has confirmed" in line for line in alpha.lines) == 1  # the one that was genuine
    attempt("opening")
    alpha.until("not what was committed to")
    assert alpha.wait() == 1  # that was the third
    beta.die()
    assert world.peers("alpha") == [] == world.peers("beta")

    go(middle, "substitute")
    alpha, beta = opened(world, "alpha"), opened(world, "beta", "--open")
    for left in (2, 1, 0):
        alpha.say(ROUTED["beta"])
        ready(alpha, beta)
        if left == 1:
            assert world.linkladder("beta", "pair", "--yes-code", beta.due).returncode == 1
        else:
            beta.confirm()  # whoever types what the other console shows refuses by it
            beta.until("must show another code")
        beta.until(f"refused here; attempts left: {left}")
        alpha.say("no")
        alpha.until(f"attempts left: {left}")
    assert alpha.wait() == 1 and beta.wait() == 1
    assert world.peers("alpha") == [] == world.peers("beta")


def test_a_thousand_times_a_man_in_the_router(world: World, middle: Talk) -> None:
    """The windows of two processes, each in its namespace and on real sockets, as `linkladder pair` opens them."""
    runs = 1000
    go(middle, "substitute")
    beta = world.middle("waits", str(runs), site="beta")
    beta.until("open")
    alpha = world.middle("calls", ROUTED["beta"], str(runs), site="alpha")
    assert alpha.wait(140) == 0
    shown = {site: codes(talk) for site, talk in (("alpha", alpha), ("beta", beta))}
    pairs = [line.split()[1:] for line in middle.rest() if line.startswith("codes ")]
    assert len(pairs) >= runs - 2 and len(shown["alpha"]) == runs
    assert set(p[0] for p in pairs) <= set(shown["alpha"]) and set(p[3] for p in pairs[:-1]) <= set(shown["beta"])
    equal = sum((p[0] == p[1]) + (p[2] == p[3]) for p in pairs)
    print(f"{len(pairs)} runs, {equal} times the code that is due")
    assert equal <= 1  # one in a thousand such thousands has as much as one by chance
    assert world.peers("alpha") == [] == world.peers("beta")


def codes(talk: Talk) -> list[str]:
    return [line.split()[1] for line in talk.rest() if line.startswith("code ")]
