"""Two real appliances, a real terminal, and keys.  LINKLADDER_FULL=1 climbs the quick plan, not a brief one."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console import Console, OpenConsole, kill_tui
from journey import BRIEF, LINKLADDER, REAL_CONSOLES, choose, climb, code, done, fill, go_on, kill, running, yes
from network import GENTLE, SITES
from world import Lab

pytestmark = [*REAL_CONSOLES, pytest.mark.timeout(900)]
PLAN = "quick" if os.environ.get("LINKLADDER_FULL") else "brief"
PLANS = {
    "brief": BRIEF.format(more="ping_under_load = true"),
    "long": """
        name = "long"
        title = "A trial long enough for something to happen to it"
        [[experiment]]
        rungs = ["localhost"]
        duration = 1
        warmup = 0
        [[experiment]]
        rungs = ["same-host"]
        duration = 90
        warmup = 1
        """,
}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """As out of the box: nobody is paired and nothing is described."""
    with Lab("llt", inside=GENTLE).unpaired() as made:
        folder = made.state("alpha") / "plans"
        folder.mkdir(exist_ok=True)
        for name, text in PLANS.items():
            (folder / f"{name}.toml").write_text(text)
        yield made


@pytest.fixture
def paired(lab: Lab) -> Lab:
    """Paired, by whichever test came first, and described: every rung has addresses of its own."""
    if not (lab.state("alpha") / "peers.json").exists():
        lab.pair()
    lab.describe_link()
    return lab


@pytest.fixture
def keep(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Where the captures go: LINKLADDER_ARTIFACTS, for people to look at."""
    folder = Path(os.environ.get("LINKLADDER_ARTIFACTS", tmp_path)) / "tmux" / str(request.node.name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def console(lab: Lab, keep: Path) -> Iterator[OpenConsole]:
    opened: list[Console] = []

    def make(site: str = "alpha", **options: Any) -> Console:
        number = f"{site}-{len(opened) + 1}"
        opened.append(Console(lab.command(site, LINKLADDER), keep=keep, name=number, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.close()
    _end_runs(lab)


def _end_runs(lab: Lab) -> None:
    """No run of one test goes on into the next, whatever became of the test."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        found = json.loads((lab.state("alpha") / "run.lock").read_text())
        if b"linkladder.run.process" in Path(f"/proc/{found['pid']}/cmdline").read_bytes():
            os.kill(found["pid"], signal.SIGTERM)
            for _ in range(100):
                os.kill(found["pid"], 0)
                time.sleep(0.1)


def test_from_nothing_to_a_report_on_disk(lab: Lab, console: OpenConsole) -> None:
    """Enter where a default exists: pair on two consoles, describe, climb, move, read; resized, watched, taken over."""
    alpha, beta = console("alpha"), console("beta")
    for one in (alpha, beta):
        one.until("> Open pairing")
        one.keys("Enter")
    alpha.until("heard")
    alpha.keys("Enter")
    shown = [code(one, "What does the other screen show?") for one in (alpha, beta)]
    assert shown[0] != shown[1]
    alpha.keys("Enter", *shown[1], "Enter")
    assert shown[0] == code(alpha, "Waiting for"), "the other end may still be reading it"
    beta.keys(*shown[0], "Enter")
    alpha.until("is paired")
    beta.until("is paired")
    beta.keys("Escape")
    alpha.keys("Enter")
    alpha.until("by < beta >")
    alpha.until("you are asked to move it before each")
    if PLAN != "quick":
        choose(alpha, PLAN)
    alpha.keys("Enter")
    alpha.until("localhost measuring")
    watcher = console("alpha", size=(120, 40))
    watcher.until("> Watch the run")
    watcher.keys("Enter")
    alpha.until("Put beta on the same host as this machine, then press Enter.")
    watcher.until("only watching")
    watcher.until("Put beta on the same host as this machine, then press Enter.")
    watcher.keys("t")
    watcher.until("Take the controls?")
    watcher.keys("Enter")
    alpha.until("only watching")
    done(alpha, "has the controls, t takes them.")
    alpha.keys("t")
    alpha.until("Take the controls?")
    alpha.keys("Enter")
    watcher.until("only watching")
    alpha.until("same-host needs you")  # still: who only watches answers nothing
    alpha.resize(100, 30)
    alpha.until("Then linkladder looks whether")
    alpha.resize(80, 25)
    for words in ("Put beta on the same host", "Move beta to another host", "Move beta to the other data centre"):
        done(alpha, words, 120)
    alpha.until("dc-link measuring")
    beta.until("alpha measures with this machine")
    alpha.resize(72, 20)
    alpha.until("of ")
    alpha.resize(80, 25)
    alpha.until("The run is complete", 180)
    watcher.until("The run is complete")
    beta.until("reachable, round trip")
    assert "measures with" not in beta.screen()
    alpha.keys("Enter")
    text = alpha.until("From same-vlan to dc-link")
    assert re.search(r"dc-link +[\d.]+ [MG]b/s +(PASS|FAIL|CANNOT JUDGE|IMPOSSIBLE)", text), text
    alpha.keys("Left")
    alpha.until("[dc-link]")
    alpha.until("* best setting")
    alpha.keys("x")
    alpha.until("HTML report")
    alpha.keys("Enter")
    alpha.until("Written:")
    (report,) = (lab.state("alpha") / "export").glob("*.html")
    assert "The operator was asked: Move beta to the other data centre" in report.read_text()
    assert str(report) in "".join(alpha.screen().split()), "where it lies is shown, over as many lines as it takes"


def test_whatever_dies_is_said_and_the_run_goes_on(paired: Lab, console: OpenConsole) -> None:
    """The far end, the measuring process and the screen, one after the other; then both ends stop when told to."""
    alpha = console()
    climb(alpha, "long")
    alpha.until("same-host: TCP")
    alpha.until("Mb/s to far")
    kill(running(paired.space("beta"), "linkladder", "agent"))
    alpha.until("beta is back")
    alpha.until("Mb/s to far")
    kill(running(paired.space("alpha"), "linkladder.run.process"))
    text = alpha.until("the measuring process is gone")
    assert "What was measured is kept" in " ".join(text.split())
    go_on(alpha)
    alpha.until("Mb/s to far")
    kill_tui(alpha)
    alpha.until("left with")
    again = console()
    again.until("> Watch the run")
    again.keys("Enter")
    again.until("Mb/s to far")
    assert all(running(paired.space(site), "iperf") for site in SITES)
    again.keys("x")
    again.until("[ No ]")
    again.keys("Left")
    began = time.monotonic()
    again.keys("Enter")
    took = {}
    while len(took) < 2 and time.monotonic() - began < 20:
        for site in SITES:
            if site not in took and not running(paired.space(site), "iperf"):
                took[site] = time.monotonic() - began
    print("after the answer iperf was gone at", {site: f"{seconds:.2f} s" for site, seconds in took.items()})
    assert len(took) == 2
    again.until("ended early: it was cancelled")
    again.keys("Escape")
    again.until("Next step: press Enter >")
    again.keys("q")
    again.until("left with 0")


def test_a_claim_that_the_facts_contradict(paired: Lab, console: OpenConsole) -> None:
    """The path is said to be inside one host, and a router lies on it; also skip, pause, once more and a note."""
    state = paired.state("alpha")
    near, there = (paired.address(site, "dc-link") for site in SITES)
    far = f'local = "{near}"\nremote = "{there}"\npeer = "beta"\n'
    contract = (state / "link.toml").read_text().partition("[path")[0]
    (state / "link.toml").write_text(contract + f"[path.same-host]\n{far}[path.dc-link]\n{far}")
    alpha = console()
    climb(alpha, "brief")
    done(alpha, "Put beta on the same host as this machine")
    alpha.until("The facts speak against it")
    alpha.keys("Space")  # before the trials begin
    done(alpha, "1 router between, by the TTL of its answers")
    alpha.until("! facts contradict")
    alpha.until("Paused.")
    alpha.keys("n")
    alpha.until("A note for this run")
    alpha.keys("rack", "Enter")
    alpha.until_without("A note for this run")  # until then its field takes the keys
    alpha.keys("Space")
    alpha.until("same-host: TCP")
    alpha.keys("a")
    alpha.until("This trial will be done once more")
    alpha.until("Move beta to the other data centre")
    alpha.keys("s")
    alpha.until("Skip this rung?")
    yes(alpha)
    alpha.until("The run is complete")
    alpha.keys("Enter")
    alpha.until("dc-link was not measured: skipped by the operator")
    alpha.keys("Right", "Right")
    alpha.until("[same-host]")
    alpha.until("The facts contradict the claim: ")
    document = json.loads(paired.linkladder("alpha", "show", "last", "--json").stdout)
    seen = {rung["name"]: rung for rung in document["rungs"]}
    found = seen["same-host"]["evidence"]
    assert found["contradicts"] and any("router" in text for text in found["against"])
    assert found["asked"] == "Put beta on the same host as this machine"
    assert found["word"].startswith("done, at 20") and "and again at" in found["word"]
    assert seen["dc-link"]["unavailable"] == "skipped by the operator"
    notes = document["run"]["notes"]
    assert "rack" in notes and any("done again by the operator" in note for note in notes), notes
    report = paired.linkladder("alpha", "report", "last", "--html", "-").stdout
    assert "The facts contradict the claim: " in report and found["word"] in report


def test_a_full_disk_is_said_and_can_be_helped(paired: Lab, console: OpenConsole) -> None:
    """The state folder is a small disk, and fills up in mid-trial."""
    state = paired.state("alpha")
    copy = state.with_name("copy")
    subprocess.run(["cp", "-a", str(state), str(copy)], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "none", str(state)], check=True)
    try:
        for name in ("keys", "peers.json", "link.toml", "plans", "sshd"):
            subprocess.run(["cp", "-a", str(copy / name), str(state)], check=True)
        alpha = console()
        climb(alpha, "long")
        alpha.until("Mb/s to far")
        alpha.until("same-host: TCP")
        fill(state / "filler")
        text = " ".join(alpha.until("ended early: the disk is full", 60).split())
        assert "What was measured is kept" in text and "taken up again" in text
        alpha.keys("Escape")
        alpha.until("Next step: press Enter >")
        alpha.until("storage")
        (state / "filler").unlink()
        alpha.keys("r")
        alpha.until("INCOMPLETE")
        go_on(alpha)
        alpha.until("same-host: TCP")
        alpha.keys("x")
        yes(alpha)
        alpha.until("ended early: it was cancelled")
        alpha.close()
    finally:
        _end_runs(paired)
        subprocess.run(["umount", "-l", str(state)], check=True)
        shutil.rmtree(copy)
