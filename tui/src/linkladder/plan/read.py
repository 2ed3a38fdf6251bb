"""Reads and checks a plan file; every error names the file, the line, the key and what was expected."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path as FilePath
from typing import Any, NoReturn

from linkladder import units
from linkladder.errors import UsageError, why_no_file
from linkladder.model import (
    Contract,
    Experiment,
    Path,
    Plan,
    Rung,
    RungName,
    Stair,
)
from linkladder.plan import fields
from linkladder.plan.expand import AGAIN, multiply
from linkladder.plan.experiment_checks import ExperimentKeys, Fail, refuse_unrunnable
from linkladder.plan.naming import named_apart
from linkladder.plan.stairs import first_step, possible_arms
from linkladder.verdicts import LEAST_PAIRS

THOROUGH = 10  # pairs of a comparison, where a person asks for many
ALSO = "such as --also lro, --also tso, --also congestion=htcp"
SHORT = ("tune", "offload", "sizing", "affinity", "rr", "rss")  # plans of experiments that have a command of their own
BUILTIN = ("quick", "circuit", "ladder", "ladder-long", "soak", "mesh", "cards", "neighbours", "bundle", "lagg", *SHORT)
MOVES = {
    RungName.LOCALHOST: "",
    RungName.SAME_HOST: "Put {peer} on the same host as this machine",
    RungName.SAME_VLAN: "Move {peer} to another host in the same VLAN",
    RungName.DC_LINK: "Move {peer} to the other data centre, behind the link",
}


class PlanError(UsageError):
    """Raised if a plan file cannot be used."""

    def __init__(self, where: str, line: int, key: str, expected: str) -> None:
        place = f"{where}, line {line}" if line else where
        super().__init__(f"{place}: {key}: {expected}", hint="linkladder plan show quick prints a plan to start from")
        self.line = line


@dataclass(frozen=True)
class Asked:
    """What a person asks of a plan beyond what it says."""

    rungs: tuple[RungName, ...] = ()  # where experiments run that name no rung; none: where the plan says
    available: tuple[RungName, ...] = ()  # by the link; where the plan's own is none of them, the first of these is it
    pairs: int = LEAST_PAIRS  # of a comparison, at least
    also: tuple[str, ...] = ()  # settings that staircases try after their own steps: "lro", "congestion=htcp"


AS_WRITTEN = Asked()


def builtin(name: str, cores: int = 2, contract: Contract | None = None, asked: Asked = AS_WRITTEN) -> Plan:
    """One of the plans that come with linkladder."""
    if name not in BUILTIN:
        raise UsageError(f"there is no plan {name!r}", hint="the built-in plans are " + ", ".join(BUILTIN))
    try:
        return read_plan(builtin_text(name), f"plan {name}", cores, contract, asked)
    except PlanError as error:
        if not asked.rungs:
            raise
        builtin(name, cores, contract, replace(asked, rungs=()))  # else it is not the rungs that it cannot do
        raise UsageError(
            f"plan {name} cannot be measured on {', '.join(asked.rungs)}", error.title, "name another rung with --rung"
        ) from None


def title_of(name: str) -> str:
    """The title of a built-in plan, which is not read any further."""
    return str(tomllib.loads(builtin_text(name))["title"])


def builtin_text(name: str) -> str:
    return (resources.files("linkladder.plan") / "builtin" / f"{name}.toml").read_text(encoding="utf-8")


def read_plan_file(path: FilePath, cores: int = 2, contract: Contract | None = None, asked: Asked = AS_WRITTEN) -> Plan:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        hint = "linkladder plan list has the built-in plans; a file of your own ends in .toml"
        raise UsageError(f"the plan {path} cannot be read", why_no_file(error), hint) from error
    return read_plan(text, str(path), cores, contract, asked)


def read_plan(
    text: str, where: str = "plan", cores: int = 2, contract: Contract | None = None, asked: Asked = AS_WRITTEN
) -> Plan:
    """The plan in `text`, expanded for a generator with `cores` vCPUs; `contract` is used if the plan has none."""
    reader = Reader(text, where, asked)
    data = reader.parse()
    reader.only(data, ("name", "title", "rung", "contract", "path", "experiment", "mesh", "ends"), "")
    name = reader.value(data, "name", fields.text, "") if "name" in data else ""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}", str(name)):
        reader.fail("name", "", "expected a name of letters, digits, - and _")
    title = reader.value(data, "title", fields.text, "") if "title" in data else ""
    agreed = reader.contract(data.get("contract"), contract)
    paths = reader.paths(data.get("path", {}))
    if "rung" in data:
        own = reader.value(data, "rung", fields.choice(RungName), "")
        reader.default_rungs = asked.rungs or ((own,) if own in asked.available else asked.available[:1]) or (own,)
    rungs = reader.rungs(data.get("experiment"), agreed, paths, cores)
    mesh = reader.value(data, "mesh", fields.flag, "") if "mesh" in data else False
    ends = tuple(reader.value(data, "ends", fields.many(fields.text), "")) if "ends" in data else ()
    if ends and not mesh:
        reader.fail("ends", "", "expected beside mesh = true")
    return Plan(name, title, agreed, rungs, mesh, ends)


class Reader:
    """Checks parsed TOML against the tables in `fields`, and finds the line of a key for error messages."""

    def __init__(self, text: str, where: str, asked: Asked = AS_WRITTEN) -> None:
        self.text = text
        self.where = where
        self.asked = asked
        self.default_rungs: tuple[RungName, ...] = ()  # where experiments run that name no rung; none: on all

    def parse(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            match = re.search(r"at line (\d+)", str(error))
            raise PlanError(self.where, int(match[1]) if match else 0, "not TOML", str(error)) from None

    def fail(self, key: str, table: str, expected: str, index: int = 0) -> NoReturn:
        raise PlanError(self.where, self.line(key, table, index), f"{table}.{key}" if table else key, expected)

    def line(self, key: str, table: str, index: int = 0) -> int:
        """The line of `key` in the index-th occurrence of `table`; the table's own line if the key is nowhere."""
        current, seen, table_line = "", -1, 0
        for number, line in enumerate(self.text.splitlines(), 1):
            header = re.match(r"\s*\[{1,2}\s*([^\]]+?)\s*\]", line)
            if header:
                current = header[1].replace('"', "").replace("'", "")
                if current == f"{table}.{key}" or (not table and current.split(".")[0] == key):
                    return number
                if current == table:
                    seen += 1
                    table_line = number if seen == index else table_line
                continue
            here = current == table and (not table or seen == index)
            if here and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
                return number
        return table_line

    def only(self, data: Any, keys: tuple[str, ...], table: str, index: int = 0) -> None:
        if not isinstance(data, dict):
            self.fail(table, "", "expected a table", index)
        for key in data:
            if key not in keys:
                self.fail(key, table, "unknown key; expected one of " + ", ".join(keys), index)

    def value(self, data: dict[str, Any], key: str, check: fields.Check, table: str, index: int = 0) -> Any:
        try:
            return check(data[key])
        except ValueError as error:
            got = "" if isinstance(error, units.Unreadable) else f", got {repr(data[key])[:60]}"
            self.fail(key, table, f"{error}{got}", index)

    def contract(self, data: Any, fallback: Contract | None) -> Contract:
        if data is None:
            return fallback or Contract()
        self.only(data, tuple(fields.CONTRACT), "contract")
        values = {
            to: self.value(data, key, check, "contract") for key, (to, check) in fields.CONTRACT.items() if key in data
        }
        contract = Contract(**values)
        if contract.ip_version not in (4, 6):
            self.fail("ip_version", "contract", "expected 4 or 6")
        if contract.rate_bps and contract.rate_bps > contract.port_bps:
            self.fail("rate", "contract", "expected at most the port's rate")
        return contract

    def paths(self, data: Any) -> dict[RungName, tuple[Path, ...]]:
        """The paths of the rungs: one in a table [path.dc-link], or several in tables [[path.dc-link]] each."""
        self.only(data, tuple(RungName), "path")
        found = {}
        for name, given in data.items():
            tables = given if isinstance(given, list) and given else [given]
            made: list[Path] = []
            for n, table in enumerate(tables):
                made.append(self.path(table, f"path.{name}", n))
                try:
                    fields.once_each(made)
                except ValueError as error:
                    self.fail("remote" if made[-1].remote else "peer", f"path.{name}", str(error), n)
            found[RungName(name)] = tuple(made)
        return found

    def path(self, data: Any, table: str, index: int) -> Path:
        self.only(data, tuple(fields.PATH), table, index)
        given = ((key, to, check) for key, (to, check) in fields.PATH.items() if key in data)
        path = Path(**{to: self.value(data, key, check, table, index) for key, to, check in given})
        try:
            if table != f"path.{RungName.LOCALHOST}":
                fields.two_ends(path.local, path.remote)
        except ValueError as error:
            self.fail("remote", table, str(error), index)
        return path

    def rungs(
        self, data: Any, contract: Contract, paths: dict[RungName, tuple[Path, ...]], cores: int
    ) -> tuple[Rung, ...]:
        if not isinstance(data, list) or not data:
            self.fail("experiment", "", "expected at least one [[experiment]]")
        per_rung: dict[RungName, tuple[Experiment, ...]] = dict.fromkeys(RungName, ())
        stairs: dict[RungName, list[Stair]] = {name: [] for name in RungName}
        for index, table in enumerate(data):
            self.only(table, tuple(fields.EXPERIMENT), "experiment", index)
            values = {
                k: self.value(table, k, c, "experiment", index) for k, c in fields.EXPERIMENT.items() if k in table
            }
            if self.default_rungs:
                values.setdefault("rungs", list(self.default_rungs))
            if "steps" in values:
                values["steps"] = [*values["steps"], *self.more_steps()]

            def fail(key: str, expected: str, index: int = index) -> NoReturn:
                self.fail(key, "experiment", expected, index)

            ExperimentKeys(values, fail, self.asked.pairs).check()
            steps = values.pop("steps", ())
            compares = False
            for name in dict.fromkeys(values.pop("rungs", list(RungName))):
                made = multiply(values, contract, cores, name, to_climb=bool(steps))
                refuse_unrunnable(made, fail)
                compares = compares or bool(made)
                for first in made if steps else ():
                    if any(stair.first.direction is first.direction for stair in stairs[name]):
                        fail("steps", f"expected one staircase a direction on {name}")
                    arms, stair = first_step(first, steps)
                    refuse_unrunnable((*arms, *possible_arms(arms, stair)), fail)
                    stairs[name].append(stair)
                    per_rung[name] = joined(per_rung[name], arms, fail)
                per_rung[name] = per_rung[name] if steps else joined(per_rung[name], made, fail)
            if not compares:  # only combinations that equal their baseline are left out everywhere
                fail("baseline", "expected something else than the experiment has by itself, to compare it with")
        return tuple(
            Rung(name, paths.get(name, (Path(),)), found, MOVES[name], tuple(stairs[name]))
            for name, found in per_rung.items()
            if found
        )

    def more_steps(self) -> list[dict[str, list[Any]]]:
        """The steps that a person asks for after the plan's own."""
        try:
            return [fields.also(text) for text in self.asked.also]
        except ValueError as error:
            raise UsageError(f"--also {', '.join(self.asked.also)}: {error}", hint=ALSO) from None


def joined(known: tuple[Experiment, ...], made: Sequence[Experiment], fail: Fail) -> tuple[Experiment, ...]:
    """A rung's experiments with those of one more table: what is in the plan already is measured for both."""
    mine = {e.baseline for e in made} - {""}
    compared = mine | {e.baseline for e in known}

    def same(old: Experiment, new: Experiment) -> Experiment:
        if new.baseline and new.label != AGAIN:
            fail("baseline", f"expected what no experiment before it compares: {new.id}")
        if new.baseline or old.id in compared:  # the pairs of a comparison are fixed: another's do not add to them
            return replace(new if new.id in mine else old, repeats=max(old.repeats, new.repeats))
        both = old.repeats + new.repeats
        return replace(old, repeats=min(both, old.at_most) if old.at_most else both)

    return named_apart(known, made, same)
