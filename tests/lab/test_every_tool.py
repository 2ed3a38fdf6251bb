"""Every tool in every way that it is offered, through the whole of linkladder, between two real ends.

Agents run them as a user of their own, at both ends, as on the appliance.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator

import pytest

import run_logs
import users
from linkladder import events
from linkladder.codec import from_json
from linkladder.judge.withheld import STARVED
from linkladder.model import Document
from network import GENTLE
from world import TOP, Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(200)]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("lly", inside=GENTLE, two_users=True).paired() as made:
        yield made


def live_seconds(lab: Lab) -> dict[str, list[events.IntervalSeen]]:
    """What was shown of each experiment of the latest run while it was measured."""
    told: dict[str, list[events.IntervalSeen]] = {}
    now = ""
    for _, event in run_logs.whole(max((lab.state("alpha") / "live").glob("*.jsonl"))):
        if isinstance(event, events.TrialStarted):
            now = event.experiment
        elif isinstance(event, events.IntervalSeen):
            told.setdefault(now, []).append(event)
    return told


def measured(lab: Lab, text: str) -> Document:
    """What a run of that plan shows, which the console's user can read."""
    plan = lab.state("alpha") / "every.toml"
    plan.write_text(text)
    users.own(plan, users.CONSOLE)
    argv = ("run", "--plan", str(plan), "--peer", "beta", "--json", "-")
    done = lab.linkladder("alpha", *argv, stdin=subprocess.DEVNULL)
    assert done.stdout, done.stderr
    return from_json(Document, json.loads(done.stdout))


def test_iperf3_every_way(lab: Lab) -> None:
    common = 'rungs = "same-host"\ntool = "iperf3"\nduration = 3\nwarmup = 1\n'
    paced = common.replace("3\n", "6\n")  # so that a tenth of a second in which the machine did else is 2 % of it
    document = measured(
        lab,
        'name = "iperf3"\n'
        f'[[experiment]]\n{common}streams = 2\nclient_port = 40000\ndirection = ["both", "duplex"]\n'
        f'[[experiment]]\n{common}window = "200k"\ndirection = "reverse"\n'
        f'[[experiment]]\n{paced}protocol = "udp"\nudp_rate = "20M"\ndirection = "both"\n'
        '[[experiment]]\nrungs = "same-host"\nstreams = 2\nclient_port = 40000\nduration = 3\nwarmup = 1\n',
    )
    found = {e.parameters: t for r in document.rungs for e in r.experiments for t in e.trials}
    assert len(found) == 7
    told = live_seconds(lab)
    for exp, trial in found.items():
        one_text = any("-J" in command.argv for command in trial.commands)  # printed at its end
        if trial.ok:
            assert told[exp.id] and {one.by_cards for one in told[exp.id]} == {one_text}, exp.id
    for exp, trial in found.items():
        if exp.tool == "iperf3" and not shutil.which("iperf3"):
            assert "not installed" in trial.reason
            continue
        assert trial.ok, f"{exp.id}: {trial.reason}"
        assert len(trial.flows) == exp.streams * len(trial.by_direction), exp.id
        if exp.client_port:
            ports = {f.local_port for f in trial.flows} | {f.remote_port for f in trial.flows}
            assert set(range(40000, 40000 + len(trial.flows))) <= ports
        if exp.window:
            granted = trial.legs[0].outcome.window_read_back
            assert granted.near and granted.far
        if exp.protocol == "udp" and max(end.cpu.starved or 0.0 for end in trial.ends if end.cpu) < STARVED / 2:
            assert trial.goodput_bps == pytest.approx(20e6, rel=0.03)


def test_windows_duplex_and_netperf(lab: Lab) -> None:
    document = measured(
        lab,
        'name = "kinds"\n'
        '[[experiment]]\nrungs = "same-host"\nwindow = "800k"\ndirection = "both"\nduration = 2\nwarmup = 1\n'
        '[[experiment]]\nrungs = "same-host"\nstreams = 2\ndirection = "duplex"\nduration = 2\nwarmup = 1\n'
        '[[experiment]]\nrungs = "same-host"\ntool = "netperf"\nprotocol = "rr"\n'
        "sessions = 50\nduration = 2\nwarmup = 1\n"
        '[[experiment]]\nrungs = "same-host"\ntool = "netperf"\nprotocol = "tcp"\nduration = 2\nwarmup = 1\n',
    )
    found = {e.parameters.id: t for r in document.rungs for e in r.experiments for t in e.trials}
    duplex, rr = "tcp-2s-default-duplex", "rr-50x700-forward"
    windows = {f"tcp-1s-800k-{way}" for way in ("forward", "reverse")}
    assert set(found) == {*windows, duplex, rr, "netperf-tcp-1s-default-forward"}
    netperf = (TOP / ".work" / "netperf" / "usr" / "bin" / "netperf").exists()
    for name, trial in found.items():
        if "rr" in name or "netperf" in name:
            assert trial.ok == netperf, trial.reason
            continue
        assert trial.ok, f"{name}: {trial.reason}"
    for name in windows:
        granted = found[name].legs[0].outcome.window_read_back
        assert granted.near and granted.far
    assert set(found[duplex].by_direction) == {"forward", "reverse"}
    if netperf:
        asked = found[rr].transactions
        assert asked and asked.rate > 100 and asked.sessions == 50
