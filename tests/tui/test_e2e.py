"""Two real appliances, a real terminal, and keys."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from console import Console, kill_tui

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed"),
    pytest.mark.timeout(600),
]
LINKLADDER = [sys.executable, "-m", "linkladder"]


@pytest.fixture(scope="module")
def lab():
    from world import SITES, Lab, Link

    made = Lab("llt")
    made.link = Link(1e9, 0.0, 0.0, 1500)
    made.up()
    try:
        made.describe_link()
        for site in SITES:
            made.start_control(site)
        made.pair()
        yield made
    finally:
        made.down(forget=True)


@pytest.fixture
def keep(tmp_path) -> Path:
    """Where the captures go: LINKLADDER_ARTIFACTS, for people to look at."""
    folder = Path(os.environ.get("LINKLADDER_ARTIFACTS", tmp_path)) / "tmux"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def console(lab, keep):
    opened = []

    def make(site: str = "alpha", **options) -> Console:
        opened.append(Console(lab.command(site, LINKLADDER), keep=keep, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def test_enter_alone_leads_to_a_report(lab, console):
    """Paired appliances: Home, link, every rung, results; then the report on disk. A second screen watches."""
    alpha = console()
    text = alpha.until("beta 10.98.0.2 reachable", 30)
    assert "> Climb the ladder" in text
    alpha.keys("Enter")
    alpha.until("Contracted rate [1G")
    alpha.until("[ Climb the ladder ]")
    alpha.keys("Enter")
    alpha.until("localhost measuring")
    second = console(size=(120, 40))
    second.until("> Watch the run")
    second.keys("Enter")
    second.until("You are watching")
    alpha.resize(100, 30)
    alpha.until("trial 1 of")
    alpha.resize(80, 25)
    for _ in range(240):
        text = alpha.screen()
        if "press Enter" in text and "The run is complete" not in text:
            alpha.keys("Enter")
        if "The run is complete" in text or "ended early" in text:
            break
        time.sleep(1)
    alpha.until("The run is complete")
    second.until("The run is complete", 10)
    alpha.keys("Enter")
    text = alpha.until("dc-link 9")
    alpha.keys("Left")
    text = alpha.until("of ceiling")
    alpha.keys("x")
    alpha.until("HTML report")
    alpha.keys("Enter")
    alpha.until("Written:")
    reports = list((lab.state("alpha") / "export").glob("*.html"))
    assert len(reports) == 1 and reports[0].stat().st_size > 20_000


def test_a_run_outlives_its_screen_and_can_be_cancelled(lab, console):
    alpha = console()
    alpha.until("Next step", 30)
    alpha.keys("e")
    alpha.until("[ Climb the ladder ]")
    alpha.keys("Enter")
    alpha.until("localhost measuring")
    kill_tui(alpha)
    alpha.until("left with")
    again = console()
    again.until("> Watch the run")
    again.keys("Enter")
    again.until("localhost")
    again.keys("x")
    again.until("[ No ]")
    time.sleep(0.5)  # a person reads it first
    again.keys("Left", "Enter")
    text = again.until("ended early", 10)
    assert "kept" in text
    again.keys("Escape")
    again.until("Next step")
    again.keys("q")
    again.until("left with 0")


def _climb(console) -> Console:
    alpha = console()
    alpha.until("Next step", 30)
    alpha.keys("e")
    alpha.until("[ Climb the ladder ]")
    alpha.keys("Enter")
    alpha.until("plan quick running")
    return alpha


def test_a_measuring_process_that_dies_is_said_and_resumed(lab, console):
    alpha = _climb(console)
    alpha.until("same-host measuring", 60)
    found = json.loads((lab.state("alpha") / "run.json").read_text())
    os.kill(found["pid"], signal.SIGKILL)
    alpha.until("the measuring process is gone", 10)
    alpha.keys("Escape")
    alpha.until("> Go on with the last run")
    alpha.keys("Enter")
    alpha.until("Go on with the last run?")
    alpha.keys("Enter")
    alpha.until("same-host measuring", 30)
    alpha.keys("x")
    alpha.until("[ No ]")
    time.sleep(0.5)  # a person reads it first
    alpha.keys("Left", "Enter")
    alpha.until("ended early", 10)


def test_a_peer_killed_in_mid_trial_is_said_and_the_run_goes_on(lab, console):
    alpha = _climb(console)
    alpha.until("same-host: TCP", 90)
    time.sleep(4)
    listed = subprocess.run(["ip", "netns", "pids", lab.space("beta")], capture_output=True, text=True, check=True)
    agents = [
        int(pid)
        for pid in listed.stdout.split()
        if b"linkladder" in (words := Path(f"/proc/{pid}/cmdline").read_bytes()) and b"agent" in words
    ]
    assert agents
    for pid in agents:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    alpha.until("beta is back", 40)  # it may be out of reach for less than a look lasts
    alpha.until("same-host: TCP", 30)
    alpha.keys("x")
    alpha.until("[ No ]")
    time.sleep(0.5)  # a person reads it first
    alpha.keys("Left", "Enter")
    alpha.until("ended early", 10)


def test_two_consoles_pair_and_climb_by_enter_alone(console):
    """Out of the box: both open pairing, hear each other, compare, confirm; then Enter to the first verdict."""
    from world import SITES, Lab, Link

    fresh = Lab("llf")
    fresh.link = Link(1e9, 0.0, 0.0, 1500)
    fresh.up()
    alpha = beta = None
    try:
        for site in SITES:
            fresh.start_control(site)
        alpha, beta = (Console(fresh.command(site, LINKLADDER)) for site in SITES)
        for one in (alpha, beta):
            one.until("> Open pairing", 30)
            one.keys("Enter")
        alpha.until("beta", 30)
        alpha.until("heard")
        alpha.keys("Enter")
        code = _code(alpha.until("Is it exactly the same"))
        assert code == _code(beta.until("Is it exactly the same"))
        time.sleep(1.2)
        alpha.keys("Enter")
        alpha.until("Waiting for")
        beta.keys("Enter")
        alpha.until("is paired")
        beta.until("is paired")
        alpha.keys("Enter")
        alpha.until("by < beta >")
        alpha.until("[ Climb the ladder ]")
        alpha.keys("Enter")
        alpha.until("localhost measuring")
        alpha.until("press Enter", 60)  # the first rung is done, the second wants a machine moved or is measured
    finally:
        for one in (alpha, beta):
            if one:
                one.close()
        fresh.down(forget=True)


def _code(text: str) -> str:
    found = re.search(r"\b(\d{3} \d{3})\b", text)
    assert found, text
    return found[1]
