"""What a person does at a real console, and what befalls the appliances: the steps that journeys are made of."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

import spaces
from console import Console
from linkladder.app.screens.ladder import READ_FIRST
from linkladder.plan import BUILTIN

REAL_CONSOLES = (
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed"),
)
LINKLADDER = [sys.executable, "-m", "linkladder"]
BRIEF = """
name = "brief"
title = "Seconds instead of minutes"
[[experiment]]
tool = "ping"
protocol = "echo"
rungs = ["same-host", "same-vlan", "dc-link"]
count = 5
[[experiment]]
rungs = ["localhost", "same-host", "same-vlan"]
duration = 1
warmup = 0
[[experiment]]
rungs = ["dc-link"]
direction = "both"
duration = 2
warmup = 1
{more}
"""
READ = READ_FIRST + 0.2  # seconds that an instruction has stood: an Enter that comes sooner is not taken for its answer


def choose(console: Console, plan: str) -> None:
    """On the Link screen: one key, then the change that it makes: keys ahead of a slow screen would overshoot."""
    console.until("[ Climb the ladder ]")
    console.until(" trials")
    console.keys("BTab")
    for _ in range(2 * len(BUILTIN)):
        now = _chosen(console)
        if now == plan:
            console.keys("Tab")
            return
        console.keys("Right")
        for _ in range(200):
            if _chosen(console) != now:
                break
            time.sleep(0.1)
    raise AssertionError(f"the plan {plan} is not offered:\n{console.screen()}")


def _chosen(console: Console) -> str:
    found = re.search(r"Plan < (\w+),", console.screen())
    return found[1] if found else ""


def climb(console: Console, plan: str) -> None:
    """From Home, by the Link screen, to a run of this plan."""
    console.until("Next step: press Enter >")
    console.keys("e")
    choose(console, plan)
    console.keys("Enter")
    console.until(f"plan {plan} running")


def go_on(console: Console) -> None:
    """From wherever a run ended early, by way of Home."""
    console.keys("Escape")
    console.until("> Go on with the last run")
    console.keys("Enter")
    console.until("Go on with the last run?")
    console.keys("Enter")


def done(console: Console, instruction: str, seconds: float = 60.0) -> None:
    """Enter, once the instruction was read."""
    console.until(instruction, seconds)
    time.sleep(READ)
    console.keys("Enter")


def yes(console: Console) -> None:
    """The answer that is not the safe one."""
    console.until("[ No ]")
    console.keys("Left", "Enter")


def code(console: Console, words: str) -> str:
    """The six digits of the pairing code, once the screen has the words."""
    text = console.until(words)
    found = re.search(r"\b(\d{3} \d{3})\b", text)
    assert found, text
    return found[1]


def running(space: str, *words: str) -> list[int]:
    """The processes of an appliance whose command lines have all the words."""
    return [pid for pid, line in spaces.processes(space).items() if all(word in line for word in words)]


def kill(pids: list[int]) -> None:
    assert pids
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def fill(path: Path) -> None:
    """Until not a byte is left."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
