"""What every tool must keep to, so that nobody else has to know which one it is."""

from __future__ import annotations

import ast
import contextlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

import linkladder
from linkladder import tools
from linkladder.model import Direction, Experiment, Protocol
from linkladder.plan import PlanError, fields, read_plan
from linkladder.tools import Tool, ToolVersions, Unavailable
from linkladder.wire import Refused
from linkladder.wire.limits import check_experiment

EACH = pytest.mark.parametrize("tool", tools.TOOLS.values(), ids=lambda tool: tool.name)
SOURCE = Path(linkladder.__file__).parent
CAPTURES = Path(__file__).resolve().parents[1] / "captures"


@EACH
def test_a_plan_can_say_all_that_a_tool_understands(tool: Tool) -> None:
    assert set(tool.keys) == set(tool.protocols)
    for keys in tool.keys.values():
        assert keys <= set(fields.EXPERIMENT)
        assert not keys & fields.EVERY_TOOLS


@EACH
def test_a_tool_says_what_brings_it(tool: Tool) -> None:
    assert set(tool.packages) == {"Linux", "FreeBSD"}
    assert tool.version_argv[0] == tool.name
    assert tool.without


@EACH
def test_a_missing_tool_is_unavailable_in_words(tool: Tool) -> None:
    for protocol in tool.protocols:
        exp = Experiment("x", tool.name, protocol, udp_rate_bps=1e6, sizes=(1500,))
        with pytest.raises(Unavailable, match="not installed"):
            tools.layout(exp, ToolVersions(), ToolVersions())


def test_a_second_takes_no_more_than_a_tool_says_of_it() -> None:
    """Of each stream, by real output; what a trial of days would print is reckoned from it."""
    seen = dict.fromkeys(("iperf", "iperf3"), 0)
    for file in CAPTURES.glob("iperf*/*.txt"):
        text = file.read_text(errors="replace")
        if not file.parent.name.startswith("iperf3"):
            seconds = [line for line in text.splitlines() if line.startswith("[") and " sec " in line]
            seen["iperf"] = max([seen["iperf"], *map(len, seconds)])
            continue
        with contextlib.suppress(ValueError):  # a stream of events, or one that was ended
            whole = json.loads(text)
            for interval in whole["intervals"]:
                size = len(json.dumps(interval, indent=8)) / (len(interval["streams"]) + 1)
                seen["iperf3"] = max(seen["iperf3"], round(size))
        for line in text.splitlines():
            if line.startswith('{"event":"interval"'):
                streams = line.count('"socket"')
                seen["iperf3"] = max(seen["iperf3"], len(line) // (streams + 1))
    for name, most in seen.items():
        one = Experiment("x", name, Protocol.TCP, streams=1)
        assert 50 < most <= tools.named(name).printed(one) / 2, name
        assert tools.named(name).printed(replace(one, direction=Direction.DUPLEX, streams=3)) >= 8 * most


@EACH
def test_nothing_saved_is_no_result(tool: Tool) -> None:
    for text in ("", "\n", "hello\n"):
        outcome = tools.parse_saved(tool.name, text)
        assert not outcome.ok and outcome.reason


def test_a_tool_that_is_not_known_is_refused_everywhere() -> None:
    strange = Experiment("x", "fping", Protocol.ECHO)
    with pytest.raises(Unavailable, match="no tool 'fping'"):
        tools.layout(strange, ToolVersions(), ToolVersions())
    with pytest.raises(Refused, match="tool: expected one of iperf"):
        check_experiment(strange)
    with pytest.raises(PlanError, match="expected one of iperf"):
        read_plan('name = "p"\n[[experiment]]\ntool = "fping"\n')


def test_both_is_a_word_for_plans() -> None:
    for tool in tools.TOOLS.values():
        with pytest.raises(Unavailable, match="a word for plans"):
            tools.layout(Experiment("x", tool.name, direction=Direction.BOTH), ToolVersions(), ToolVersions())


def test_nobody_else_asks_which_tool_it_is() -> None:
    """A comparison with a tool's name outside `tools` is a question that belongs into the contract."""
    commands = {"privilege.py"}  # wraps a command, whoever asks for it
    asked = []
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        if place.parts[0] in {"tools", "priv", *commands}:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Compare) or "role" in ast.dump(node):  # "ping" is a process's role too
                continue
            names = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and n.value in tools.SPOKEN]
            if names:
                asked.append(f"{place}:{node.lineno}")
    assert asked == []
