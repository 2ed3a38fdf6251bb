"""What README and docs/plans.md say of commands, plans, verdicts, limiters, ports and files is what the product has."""

from __future__ import annotations

import argparse
import html
import re
import shlex
import tomllib
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from linkladder import cli
from linkladder import plan as plans
from linkladder.app import next_steps, places
from linkladder.app.screens import system
from linkladder.commands import appliance
from linkladder.errors import EnvironmentFault, UsageError
from linkladder.model import Experiment, Protocol
from linkladder.pairing import discovery
from linkladder.pairing.connection import CONTROL
from linkladder.plan import link
from linkladder.plan.read import BUILTIN
from linkladder.tools import TOOLS
from linkladder.tools.contract import TEST_PORTS
from linkladder.verdicts import LimiterKind, Verdict

TOP = Path(__file__).resolve().parents[2]
README = (TOP / "README.md").read_text(encoding="utf-8")
PLANS = (TOP / "docs/plans.md").read_text(encoding="utf-8")
TYPED = [
    code for code in re.findall(r"`([^`\n]+)`", README + PLANS) if re.match(r"(\(umask 077; )?linkladder [a-z]", code)
]
PLACES = {"ADDRESS": "10.0.0.2", "CODE": "12", "N": "beta", "M": "gamma", "RUN": "last", "RUN2": "last", "FILE": "f"}


@pytest.fixture(scope="module")
def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    commands = made.add_subparsers()
    for module in cli.GROUPS:
        import_module(module).add_parsers(commands)
    return made


def words(code: str) -> list[str]:
    """What the program gets of a line that somebody types."""
    line = code.strip("()").partition("; ")[2] or code
    return [PLACES.get(word, word) for word in shlex.split(line.partition(" >")[0])[1:]]


@pytest.mark.parametrize("code", TYPED)
def test_what_it_tells_to_type_is_understood(code: str, parser: argparse.ArgumentParser) -> None:
    parser.parse_args(words(code))


def test_every_command_for_people_is_in_it(parser: argparse.ArgumentParser) -> None:
    told = {words(code)[0] for code in TYPED}
    every = {name for names in cli.GROUPS.values() for name in names}
    assert every == set(commands_of(parser)), "each loads its own module alone"
    assert every - told <= {"agent", "facts", "watch"}, "sshd starts the agent; two more are in --help"


def test_the_plans_it_names_are_there() -> None:
    named = set(re.findall(r"--plan ([a-z-]+)(?=[` ])", README)) | {"circuit", "ladder", "soak"}
    assert named <= {*BUILTIN, "my"} and "my.toml" in README
    assert all(f"`{name}`" in README for name in ("circuit", "ladder", "soak"))


def test_every_verdict_and_limiter_is_named() -> None:
    told = README[README.index("## Judge and report") :].replace("\n", " ")
    assert [str(v) for v in Verdict if str(v) not in told] == []
    assert [str(k) for k in LimiterKind if str(k) not in told] == []


def test_the_ports_and_exit_codes_are_the_product_s() -> None:
    flat = README.replace("\n", " ")
    assert f"TCP port {CONTROL} (OpenSSH)" in flat and f"TCP and UDP {discovery.PORT}" in flat
    assert f"ports {TEST_PORTS[0]} to {TEST_PORTS[-1]}" in flat
    assert "one for each of its paths, with netperf one more for each session" in flat
    several = Experiment("x", streams=3, sessions=5)
    for tool in TOOLS.values():
        used = {p: {5301, *tool.data_ports(replace(several, protocol=p), 5301)} for p in tool.protocols}
        sessions = {Protocol.TCP: 3, Protocol.RR: 5} if tool.name == "netperf" else {}
        assert {p: len(ports) - 1 for p, ports in used.items()} == {p: sessions.get(p, 0) for p in used}
    codes = re.search(r"Exit codes: 0 .*, 1 .*, (\d) usage, (\d) no peer or environment", flat)
    assert codes and (int(codes[1]), int(codes[2])) == (UsageError.exit_code, EnvironmentFault.exit_code)


def test_every_tool_is_named_and_how_to_choose_it() -> None:
    first = README.partition("## Try it")[0]
    assert [name for name in TOOLS if f"`{name}`" not in first] == []
    assert [n for n in TOOLS if n not in ("iperf", "ping") and f'`tool = "{n}"`' not in PLANS] == []


def test_its_examples_of_files_are_accepted(tmp_path: Path) -> None:
    blocks = re.findall(r"```toml\n(.*?)```", PLANS, re.S)
    described = [text for text in blocks if "[[experiment]]" not in text]
    assert len(described) == 2 and len(blocks) == 3
    for text in described:
        (tmp_path / "link.toml").write_text(text, encoding="utf-8")
        contract = link.load_link(tmp_path).contract
        assert contract and contract.rate_bps == 1e9
        assert tomllib.loads(text)["plan"] in BUILTIN
    (own,) = (text for text in blocks if "[[experiment]]" in text)
    (rung,) = plans.read_plan('name = "mine"\n' + own).rungs
    assert len(rung.experiments) == 2 and rung.experiments[0].repeats == 6, "with it and without it, in six pairs"


def test_files_that_it_leads_to_are_there() -> None:
    for folder, text in ((TOP, README), (TOP / "docs", PLANS)):
        assert [to for to in re.findall(r"\]\(([^)#]+)\)", text) if not (folder / to).exists()] == []


def test_the_menus_that_it_names_are_there() -> None:
    told = README.replace("\n", " ").partition("On each console: ")[2].partition("code, which")[0]
    steps = {*next_steps.ACTIONS.values(), *(place.step for place in places.PLACES.values() if place.step)}
    named = re.findall(r"\*([^*]+)\*", told)
    assert len(named) == 4 and set(named) <= {one.label for one in steps}
    shown = "".join((TOP / file).read_text(encoding="utf-8") for file in ("docs/image.md", "image/lab-vm.sh"))
    entries = re.findall(r"\bSystem, (ssh access|\w+(?: size)?)", shown.replace("\n", " "))
    assert set(entries) == {"Update", "Frame size", "ssh access", "Addresses"}
    assert set(entries) <= {label for _, label, _ in system.ACTIONS}
    picture = html.unescape((TOP / "docs/system.svg").read_text(encoding="utf-8")).replace("\xa0", " ")
    assert [words for _, _, words in system.ACTIONS if words not in picture] == [], "docs/pictures.py draws it anew"
    assert {verb for verb, _, _ in system.ACTIONS} <= {"upgrade", *(verb for verb, *_ in appliance.VERBS)}


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return {name: command for action in found for name, command in action.choices.items()}


def options(parser: argparse.ArgumentParser) -> set[str]:
    """All options of a command line and of its commands."""
    found = {name for command in commands_of(parser).values() for name in options(command)}
    return found | set(parser._option_string_actions)


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/image.md", "docs/plans.md"])
def test_what_it_asks_of_build_sh_is_in_its_help(document: str, parser: argparse.ArgumentParser) -> None:
    """The words after ./build.sh and their options; what is named without its command may also be linkladder's."""
    text = (TOP / document).read_text(encoding="utf-8")
    code = [*re.findall(r"(?<!`)`([^`\n]+)`", text), *re.findall(r"```\n(.*?)```", text, re.S)]
    lines = [line.partition("#")[0].split() for one in code for line in one.splitlines()]
    build = [line for line in lines if line[:1] == ["./build.sh"]]
    shell = "".join((TOP / part).read_text(encoding="utf-8") for part in ("build.sh", "image/build-image.sh"))
    assert [line for line in build if f"\t./build.sh {line[1]} " not in shell] == []
    known = set(re.findall(r"--[a-z][a-z-]+", shell))
    assert {word for line in build for word in line if word.startswith("--")} <= known
    assert {line[0] for line in lines if line and line[0].startswith("--")} <= known | options(parser) | {
        "--snapshot-update"
    }  # pytest's
