"""A newcomer who only ever presses Enter, and never looks, gets from boot to a code, and from there to a first verdict.

The code alone Enter does not get past: who sits in between would wish for nothing better.

The site has put a plan of its own beside the built-in ones, and into link.toml that it is the first to offer and what
was bought, so that this takes seconds and has one right answer on any machine; with LINKLADDER_FULL=1 nothing is
prepared: what is offered is the quick plan, and what the interface could carry.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from console import Console
from journey import BRIEF, LINKLADDER, REAL_CONSOLES, code
from network import GENTLE, SITES, Link
from world import Lab

pytestmark = [*REAL_CONSOLES, pytest.mark.timeout(900)]
FULL = bool(os.environ.get("LINKLADDER_FULL"))
ASKED = "What does the other screen show?"
EVERY = 1.3  # seconds between two Enters
BOUGHT = Link(rate=1e8, burst=1 << 20)  # which a machine that is busy with other tests can show too
VETH = 10e9 * 1448 / 1538  # of TCP over what a veth says of itself
PATIENCE = 600.0 if FULL else 180.0


@pytest.fixture
def unpaired() -> Iterator[Lab]:
    """Two appliances as they boot: nobody is paired and no link is described."""
    with Lab("lle", BOUGHT, None if FULL else GENTLE).unpaired() as made:
        if not FULL:
            plans = made.state("alpha") / "plans"
            plans.mkdir(exist_ok=True)
            (plans / "brief.toml").write_text(BRIEF.format(more=""))
            made.describe_link()
            described = made.state("alpha") / "link.toml"
            # A tenth more is sold than the link carries, and four fifths of it will do: two seconds of a busy machine
            # get what the bucket saved up meanwhile, or less.
            sold = f"rate = {int(1.1 * BOUGHT.rate)}\npass = 0.8"
            text = described.read_text().replace(f"rate = {int(BOUGHT.rate)}", sold)
            assert sold in text
            described.write_text(f'plan = "brief"\n{text}')
        yield made


def words(judgement: dict[str, object]) -> str:
    """As a list of runs has it."""
    return f"{'provisional ' if judgement['provisional'] else ''}{judgement['verdict']}"


def press_until(consoles: tuple[Console, ...], done: Callable[[str], bool]) -> None:
    """Enter on one after the other, whatever their screens may say, until `done` of what the last of them shows."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for one in consoles:
            one.keys("Enter")
        time.sleep(EVERY)
        text = " ".join(consoles[-1].screen().split())
        assert "left with" not in text, text
        if done(text):
            return
    screens = "\n".join(one.screen() for one in consoles)
    raise AssertionError(f"Enter alone came only to:\n{screens}")


def asks(console: Console) -> bool:
    return ASKED in " ".join(console.screen().split())


def test_enter_alone_leads_from_boot_to_a_code_and_from_there_to_a_verdict(
    unpaired: Lab, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    began = time.monotonic()
    keep = Path(os.environ.get("LINKLADDER_ARTIFACTS", tmp_path)) / "tmux" / "enter_alone"
    keep.mkdir(parents=True, exist_ok=True)
    alpha, beta = (Console(unpaired.command(site, LINKLADDER), keep=keep, name=site) for site in SITES)
    try:
        paired = unpaired.state("beta") / "peers.json"
        press_until((alpha, beta), lambda _: asks(alpha) and asks(beta))
        for one in (alpha, beta, alpha, beta):
            one.keys("Enter")
            time.sleep(EVERY)
        assert asks(alpha) and asks(beta) and not paired.exists(), "nobody has read anything yet"
        shown = code(alpha, ASKED), code(beta, ASKED)
        alpha.keys(*shown[1])
        beta.keys(*shown[0])
        press_until((alpha, beta), lambda _: paired.exists())  # "one of the two screens is enough", say both
        press_until((alpha,), lambda text: "From same-vlan to dc-link" in text)
        alpha.until("[run]")  # which keeps it
        took = time.monotonic() - began
        (run,) = json.loads(unpaired.linkladder("alpha", "runs", "--json").stdout)
        judged = json.loads(unpaired.linkladder("alpha", "judge", "last", "--json").stdout)
        record_property(
            "figure",
            f"from two unpaired consoles to {run['verdict']} of {run['plan']} by Enter and two codes: {took:.0f} s",
        )
        assert run["state"] == "complete" and run["verdict"] == words(judged["judgement"]), run
        document = json.loads(unpaired.linkladder("alpha", "show", "last", "--json").stdout)
        assert {rung["name"] for rung in document["rungs"]} == {"localhost", "same-host", "same-vlan", "dc-link"}
        assert all(rung["experiments"] for rung in document["rungs"]), "every rung was measured"
        if FULL:
            # A veth says that it is a port of 10 Gb/s, and a quick machine carries more: then that was wrongly entered.
            figures = judged["judgement"]["figures"]
            more = max(figures["forward_bps"], figures["reverse_bps"]) > VETH
            assert judged["judgement"]["verdict"] in (("IMPOSSIBLE",) if more else ("PASS", "FAIL", "CANNOT JUDGE")), (
                judged["judgement"]
            )
        else:
            assert run["verdict"] == "provisional PASS", judged["judgement"]
        alpha.keys("Escape")
        alpha.until("The run is complete")
        alpha.keys("Escape")
        home = alpha.until("> Read the report")  # where the verdicts are those that were kept with the run
        for rung in judged["rungs"]:
            row = " ".join(next(line for line in home.splitlines() if line.strip().startswith(rung["rung"])).split())
            provisional = " (provisional)" if rung["judgement"]["provisional"] else ""
            assert row.endswith(f"b/s {rung['judgement']['verdict']}{provisional}"), home
    finally:
        for one in (alpha, beta):
            one.close()
