"""Who waits for a process to start waits for what it imports: counted, since seconds are the machine's."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import subprocess
import sys

import pytest

import linkladder

NEVER = ("textual", "rich", "jinja2", "sqlite3", "tomllib", "statistics", "linkladder.verdicts",
         "linkladder.model.results", "linkladder.judge", "linkladder.plan", "linkladder.report", "linkladder.store",
         "linkladder.phrases", "linkladder.engine", "linkladder.app", "linkladder.run")  # fmt: skip
OUTPUT = ("linkladder.tools.acceptance", "linkladder.tools.saved", "linkladder.tools.iperf2.lines",
          "linkladder.tools.iperf3.json_output", "linkladder.tools.netperf.result", "linkladder.tools.ping.lines",
          )  # fmt: skip
STARTS = {
    "agent": ("import linkladder.cli as c; c._parser(['agent', '--near']); import linkladder.agent.stdio",
              (*NEVER, *OUTPUT), 255, 63),
    "agent --end": ("import linkladder.cli as c; c._parser(['agent', '--end', 'x']); import linkladder.trust.sshd",
                    (*NEVER, *OUTPUT, "asyncio", "linkladder.model", "psutil"), 118, 13),
    "undo": ("import linkladder.priv.program, linkladder.priv.undo", (*NEVER, *OUTPUT, "asyncio", "linkladder.model"),
             90, 15),
    "what reads back": ("import linkladder.settings.__main__", (*NEVER, *OUTPUT), 215, 40),
    "pair": ("import linkladder.cli as c; c._parser(['pair']); import linkladder.pairing.service",
             (*NEVER, *OUTPUT), 232, 42),
    "the call before a run": ("import linkladder.cli, linkladder.commands.early_call",
                              (*NEVER, *OUTPUT, "asyncio", "linkladder.model", "psutil"), 145, 18),
    "run": ("import linkladder.cli as c; c._parser(['run'])",
            ("textual", "rich", "jinja2", "linkladder.report", "linkladder.app", "linkladder.judge",
             "linkladder.engine", "linkladder.events", "linkladder.run.recording", "linkladder.run.progress"),
             341, 122),
    "console": ("import linkladder.app.main, linkladder.app.live_backend",
                ("jinja2", "linkladder.report", "linkladder.engine", "linkladder.agent", "linkladder.peer",
                 "linkladder.keeping", "linkladder.judge"), 548, 124),
    "priv": ("import linkladder.priv.program",
             (*NEVER, *OUTPUT, "asyncio", "dataclasses", "linkladder.model"), 75, 14),
}  # fmt: skip


@pytest.mark.parametrize("what", STARTS)
def test_a_process_that_is_waited_for_imports_what_it_needs(what: str) -> None:
    """At most so many modules in all, so many of ours, and none of those that it has no use for at its start."""
    code, never, most, ours = STARTS[what]
    shown = subprocess.run(
        [sys.executable, "-I", "-c", f"{code}; import sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert not [m for m in shown if m in never or m.startswith(tuple(f"{n}." for n in never))]
    own = [m for m in shown if m.partition(".")[0] == "linkladder"]
    assert len(shown) <= most and len(own) <= ours, f"{len(shown)} modules, {len(own)} of ours: {' '.join(own)}"


def test_every_record_says_what_it_is() -> None:
    """For who reads it; and dataclasses works out a signature for one that does not: half of what making it costs."""
    silent = []
    for found in pkgutil.walk_packages(linkladder.__path__, "linkladder."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        kinds = [k for k in vars(module).values() if isinstance(k, type) and k.__module__ == found.name]
        silent += [
            f"{found.name}.{k.__name__}"
            for k in kinds
            if dataclasses.is_dataclass(k) and (k.__doc__ or "").startswith(f"{k.__name__}(")
        ]
    assert not silent


def test_a_command_that_ends_does_not_search_what_it_leaves_for_garbage() -> None:
    code = "import atexit, gc; from linkladder.cli import main; atexit.register(lambda: print(len(gc.get_objects())))"
    argv = [sys.executable, "-I", "-c", f"{code}; main(['plan'])"]
    shown = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert shown.stdout.splitlines()[-1:] and int(shown.stdout.split()[-1]) < 100, shown
