"""What a tool costs: its room and its line of the registry; plans, the wire, doctor and commands know it from there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from linkladder import cli, doctor, model, tools
from linkladder.engine.command_lines import planned
from linkladder.engine.strongest import candidates
from linkladder.host import programs
from linkladder.model import End, Experiment, Generator, Outcome, Protocol
from linkladder.plan import PlanError, read_plan
from linkladder.tools import Demands, Expectation, Layout, Texts, Tool, ToolVersions, Unavailable
from linkladder.tools.contract import Reading
from linkladder.wire.limits import check_experiment

TOP = Path(__file__).parents[2]


class PumpOutput(Reading):
    def finish(
        self, exp: Experiment, where: Layout, server: Texts, clients: tuple[Texts, ...], expect: Expectation
    ) -> Outcome:
        return Outcome(True, goodput_bps=float(server[0]))

    def read_saved(self, text: str, demands: Demands) -> Outcome:
        found = re.search(r"(\d+) b/s", text)
        return Outcome(True, goodput_bps=float(found[1])) if found else Outcome(False, reason="no rate")


class Pump(Tool):
    """A tool that is in none of the sources."""

    name = "pump"
    aliases = ("pump1",)
    packages = {"FreeBSD": "pump", "Linux": "pump-tools"}
    oldest = (1, 2)
    without = "water stays where it is"
    version_argv = ("pump", "--version")
    version_of = re.compile(r"pump (\d+)\.(\d+)")
    harmless = (r"^pump: the water is cold",)
    protocols = (Protocol.TCP,)
    keys = {Protocol.TCP: frozenset({"streams", "duration", "warmup"})}
    generators = (Generator("pump"),)

    def layout(self, exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
        if not (near.of(self.name) and far.of(self.name)):
            raise Unavailable("pump is not installed at both ends")
        return Layout(End.FAR, End.NEAR)

    def server_argv(self, exp: Experiment, versions: ToolVersions, bind: str, port: int) -> tuple[str, ...]:
        return "pump", "--out", f"{bind}:{port}"

    def client_argv(
        self, exp: Experiment, versions: ToolVersions, where: Layout, local: str, remote: str, port: int, index: int
    ) -> tuple[str, ...]:
        return "pump", "--in", f"{remote}:{port}", "--hoses", str(exp.streams)

    def reading(self) -> Reading:
        return PumpOutput()


@pytest.fixture
def pump(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Registered, and installed on this machine in a version that is too old."""
    made = Pump()
    monkeypatch.setitem(tools.TOOLS, made.name, made)
    for name in (made.name, *made.aliases):
        monkeypatch.setitem(tools.SPOKEN, name, made)
    (tmp_path / "pump").write_text("#!/bin/sh\necho pump 1.1\n")
    (tmp_path / "pump").chmod(0o755)
    monkeypatch.setenv("LINKLADDER_TOOLS_PATH", str(tmp_path))


def test_a_tool_that_is_new_is_known_wherever_one_is(
    pump: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = 'name = "p"\n[[experiment]]\nrungs = "dc-link"\ntool = "pump"\nstreams = 2\n'
    (exp,) = read_plan(text).rungs[0].experiments
    assert (exp.tool, exp.protocol, exp.streams) == ("pump", Protocol.TCP, 2), "plans"
    with pytest.raises(PlanError, match="window"):
        read_plan(f"{text}window = 800000\n")
    check_experiment(exp)  # the wire
    assert programs.tool_versions()["pump"] == "1.1", "what an end tells of itself"
    (found,) = [f for f in doctor.examine() if f.title == "pump"]
    assert found.detail == "version 1.1 is too old" and "install pump" in found.remedy, "doctor"
    both = ToolVersions({"pump": "1.2"})
    shown = planned(exp, [model.Path("10.0.0.1", "10.0.0.2")], [dict.fromkeys(End, both)], [5301])
    assert shown == ("far: pump --out 10.0.0.2:5301", "near: pump --in 10.0.0.2:5301 --hoses 2"), "dry run"
    assert candidates(both, both, None)[-1] == Generator("pump"), "among the ways to send"
    saved = tmp_path / "saved.txt"
    saved.write_text("pumped 2000000 b/s\n")
    assert cli.main(["parse", "pump1", str(saved)]) == 0
    assert json.loads(capsys.readouterr().out)["goodput_bps"] == 2e6, "saved output"


def test_the_package_list_names_every_tool() -> None:
    """Besides room and registry: what brings it onto the image."""
    listed = {line.partition("@")[0].rpartition("/")[2] for line in (TOP / "ports/pkglist").read_text().split()}
    wanted = {tool.packages["FreeBSD"] for tool in tools.TOOLS.values()} - {""}
    assert wanted <= listed


def test_nothing_else_of_the_product_names_a_tool_that_may_be_missing() -> None:
    """Code, image and packages; the building script installs it for the tests, and documents may tell of it."""
    shipped = [f for part in ("tui/src", "overlay", "image", "ports") for f in (TOP / part).rglob("*") if f.is_file()]
    named = {str(f.relative_to(TOP)) for f in shipped if b"iperf3" in f.read_bytes() and f.suffix != ".pyc"}
    room = "tui/src/linkladder/tools/"
    others = {name for name in named if not name.startswith(f"{room}iperf3/")}
    assert others == {f"{room}registry.py", "ports/pkglist"}
