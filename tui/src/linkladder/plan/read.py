"""Reads and checks a plan file; every error names the file, the line, the key and what was expected."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path as FilePath
from typing import Any

from linkladder import tools, units
from linkladder.errors import UsageError
from linkladder.model import (
    Company,
    Contract,
    Direction,
    Experiment,
    Path,
    Plan,
    Protocol,
    Rung,
    RungName,
    Setting,
    Stair,
)
from linkladder.model.asked import beyond
from linkladder.plan import fields
from linkladder.plan.expand import AGAIN, multiply
from linkladder.plan.naming import named_apart
from linkladder.plan.stairs import foot, may_come
from linkladder.tools import TOOLS
from linkladder.verdicts import LEAST_PAIRS

PAIRS, THOROUGH = 6, 10  # pairs of a comparison, which are fixed before it begins
SEEN = 3.0  # least seconds before a bundle's member goes down, while it is away, and afterwards
SHORTEST_VISIT = 3  # seconds: one for the start, and two to measure
LEAST_LOOK = 2  # repeats before the first check whether they settle the verdict
ALSO = "such as --also lro, --also tso, --also congestion=htcp"
NOT_ON_LOCALHOST = "expected on a rung with two ends, not on localhost"
COMPARED = (Protocol.TCP, Protocol.UDP, Protocol.RR)
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
    return read_plan(builtin_text(name), f"plan {name}", cores, contract, asked)


def builtin_text(name: str) -> str:
    return (resources.files("linkladder.plan") / "builtin" / f"{name}.toml").read_text(encoding="utf-8")


def read_plan_file(path: FilePath, cores: int = 2, contract: Contract | None = None, asked: Asked = AS_WRITTEN) -> Plan:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the plan {path} cannot be read", str(error)) from error
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
        reader.on = asked.rungs or ((own,) if own in asked.available else asked.available[:1]) or (own,)
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
        self.on: tuple[RungName, ...] = ()  # where experiments run that name no rung; none: on all

    def parse(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            match = re.search(r"at line (\d+)", str(error))
            raise PlanError(self.where, int(match[1]) if match else 0, "not TOML", str(error)) from None

    def fail(self, key: str, table: str, expected: str, index: int = 0) -> None:
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
            found[RungName(name)] = tuple(self.path(table, f"path.{name}", n) for n, table in enumerate(tables))
        return found

    def path(self, data: Any, table: str, index: int) -> Path:
        self.only(data, tuple(fields.PATH), table, index)
        given = ((key, to, check) for key, (to, check) in fields.PATH.items() if key in data)
        return Path(**{to: self.value(data, key, check, table, index) for key, to, check in given})

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
            self.agree(values, index)
            steps = values.pop("steps", ())
            for name in values.pop("rungs", list(RungName)):
                made = multiply(values, contract, cores, name)
                self.kept_whole(made, index)
                for first in made if steps else ():
                    if any(stair.first.direction is first.direction for stair in stairs[name]):
                        self.fail("steps", "experiment", f"expected one staircase a direction on {name}", index)
                    arms, stair = foot(first, steps)
                    self.kept_whole((*arms, *may_come(arms, stair)), index)
                    stairs[name].append(stair)
                    per_rung[name] = self.joined(per_rung[name], arms, index)
                per_rung[name] = per_rung[name] if steps else self.joined(per_rung[name], made, index)
        return tuple(
            Rung(
                name,
                paths.get(name, (Path(),)),
                found,
                MOVES[name],
                (*stairs[name],),
            )
            for name, found in per_rung.items()
            if found
        )

    def joined(self, known: tuple[Experiment, ...], made: Sequence[Experiment], index: int) -> tuple[Experiment, ...]:
        """A rung's experiments with those of one more table: what is in the plan already is measured for both."""
        mine = {e.baseline for e in made} - {""}
        compared = mine | {e.baseline for e in known}

        def same(old: Experiment, new: Experiment) -> Experiment:
            if new.baseline and new.label != AGAIN:
                self.fail("baseline", "experiment", f"expected what no experiment before it compares: {new.id}", index)
            if new.baseline or old.id in compared:  # the pairs of a comparison are fixed: another's do not add to them
                return replace(new if new.id in mine else old, repeats=max(old.repeats, new.repeats))
            both = old.repeats + new.repeats
            return replace(old, repeats=min(both, old.at_most) if old.at_most else both)

        return named_apart(known, made, same)

    def kept_whole(self, made: Iterable[Experiment], index: int) -> None:
        """Refuse trials that no end takes, and those that print more than is kept and cannot be split: comparisons, and
        members that go down.
        """
        for one in made:
            if wrong := beyond(one):
                key = {"udp_rate_bps": "udp_rate", "on_cores": "cores"}.get(wrong[0], wrong[0])
                self.fail(key, "experiment", wrong[1], index)
            if one.duration > (most := tools.longest(one)):
                self.fail(
                    "duration",
                    "experiment",
                    f"expected at most {most:.0f} s for {one.id}, or more would be printed than is kept",
                    index,
                )

    def agree(self, values: dict[str, Any], index: int) -> None:
        """Check the keys that depend on each other."""
        tool = TOOLS[values.get("tool", Experiment.tool)]
        allowed = tool.protocols
        if values.setdefault("protocol", allowed[0]) not in allowed:
            self.fail("protocol", "experiment", f"expected one of {', '.join(allowed)} for {tool.name}", index)
        protocol = values["protocol"]
        if self.on:
            values.setdefault("rungs", list(self.on))
        udp = protocol == Protocol.UDP
        if udp and not ("udp_rate" in values or "udp_percent" in values):
            self.fail("udp_rate", "experiment", "expected udp_rate or udp_percent for protocol udp", index)
        if "settings" in values and values.get("rungs") == [RungName.LOCALHOST]:
            self.fail("settings", "experiment", NOT_ON_LOCALHOST, index)
        if "cores" in values and not tool.loads:
            self.fail("cores", "experiment", f"has no meaning for {tool.name}, which loads nothing", index)
        if "affinity" in values and (not tool.loads or "cores" in values):
            self.fail(
                "affinity", "experiment", f"expected with a tool that loads, not {tool.name}, and no cores", index
            )
        if "steps" in values:
            self.stepped(values, index)
        if values.get("control") and not values.get("baseline"):
            self.fail("control", "experiment", "expected beside baseline, which it measures once more", index)
        if values.get("baseline"):
            self.compared(values, index)
        self.booted(values, index)
        if Company.VISITED in values.get("company", ()):
            self.visited(values, index)
        if any(one.of_member for lent in values.get("settings", ()) for one in lent):
            self.member_down(values, index)
        if values.get("contend") and "at_most" not in values:
            self.fail("contend", "experiment", "expected beside at_most, the repeats of those that come close", index)
        if "at_most" in values:
            self.until_settled(values, index)
        for key in values:
            if key not in tool.keys[protocol] | fields.EVERY_TOOLS:
                only = ", ".join(f"{t.name} {p}" for t in TOOLS.values() for p in t.protocols if key in t.keys[p])
                self.fail(key, "experiment", f"has no meaning for {tool.name} {protocol}, only with {only}", index)

    def booted(self, values: dict[str, Any], index: int) -> None:
        """Check whole boots as arms: partners differ in their kernel, and in nothing else."""
        given = values.get("baseline")
        instead = given.get("kernel", "") if isinstance(given, dict) else ""
        if bool(instead) != ("kernel" in values) or (instead and values["kernel"].lower() == instead.lower()):
            self.fail("kernel", "experiment", 'expected beside a baseline with another, {kernel = "kernel"}', index)
        if instead and (given != {"kernel": instead} or values.get("settings") or values.get("control")):
            self.fail("kernel", "experiment", "expected without settings, control and more in its baseline", index)

    def visited(self, values: dict[str, Any], index: int) -> None:
        """Check an experiment in which neighbours come and go: its effect is read from whole seconds."""
        if values["protocol"] is not Protocol.TCP or Direction.DUPLEX in values.get("direction", ()):
            self.fail("company", "experiment", "expected visited with protocol tcp, one way at a time", index)
        if values.get("settings") or values.get("baseline") or "steps" in values:
            self.fail("company", "experiment", "expected visited without settings, baseline and steps", index)
        if values.get("duration", Experiment.duration) < SHORTEST_VISIT:
            self.fail("duration", "experiment", f"expected at least {SHORTEST_VISIT} s for each visit", index)

    def member_down(self, values: dict[str, Any], index: int) -> None:
        """Check an experiment in which a bundle's member goes down and returns: all three parts must be long enough to
        tell.
        """
        if values["protocol"] not in (Protocol.TCP, Protocol.UDP):
            self.fail("settings", "experiment", "expected a member down with protocol tcp, udp, which load it", index)
        if values.get("baseline") or "steps" in values or "at_most" in values:
            self.fail("settings", "experiment", "expected a member down without baseline, steps and at_most", index)
        if set(values.get("company", ())) - {Company.ALL}:
            self.fail("settings", "experiment", "expected a member down with company all: a bundle is one path", index)
        for lent in values["settings"]:
            down = next((one for one in lent if one.of_member), None)
            if down is None:
                continue
            if not any(one.of_bundle for one in lent) and "client_port" not in values:
                said = 'a member is one of a bundle: expected kind = "lagg" beside it, or client_port'
                self.fail("settings", "experiment", f"{said} for flows over one that is there already", index)
            self.room_beside(down, values, index)

    def room_beside(self, down: Setting, values: dict[str, Any], index: int) -> None:
        """Check that the trial is long enough: after an outage, a flow may need that time again to go on."""
        away = down.until - down.since
        if down.since < SEEN or away < SEEN:
            self.fail("settings", "experiment", f"expected from and until at least {SEEN:g} s apart and in", index)
        least = down.until + away + SEEN
        if values.get("duration", Experiment.duration) < least:
            said = f"expected at least {least:g} s: after {away:g} s down a flow may wait as long before it goes on"
            self.fail("duration", "experiment", said, index)

    def until_settled(self, values: dict[str, Any], index: int) -> None:
        """Check repeats up to `at_most`: only for protocols that verdicts need, and not for comparisons."""
        if values["protocol"] not in (Protocol.TCP, Protocol.UDP):
            self.fail("at_most", "experiment", "expected with protocol tcp, udp: others are settled by one", index)
        if values.get("baseline"):
            self.fail("at_most", "experiment", "the pairs of a comparison are fixed before it begins: repeats", index)
        least = 1 if values.get("contend") else LEAST_LOOK
        if not least <= values.setdefault("repeats", least) <= values["at_most"]:
            self.fail("repeats", "experiment", f"expected from {least} to at_most, {values['at_most']}", index)

    def stepped(self, values: dict[str, Any], index: int) -> None:
        """Check a staircase: it starts from one setting, compares throughput, and has enough pairs in each step."""
        several = [key for key, one in values.items() if isinstance(one, list) and len(one) > 1]
        if extra := [key for key in several if key not in ("rungs", "steps", "direction")]:
            self.fail(extra[0], "experiment", "expected one value: a staircase begins at one setting", index)
        if values["protocol"] not in COMPARED or values.get("baseline") or "at_most" in values:
            self.fail("steps", "experiment", "expected without baseline and at_most, to compare throughput", index)
        if set(values.get("company", ())) - {Company.ALL}:
            self.fail("company", "experiment", "expected all beside steps: a staircase is climbed on all paths", index)
        values["steps"] = [*values["steps"], *self.more_steps()]
        lends = any("settings" in step for step in values["steps"])
        if lends and RungName.LOCALHOST in values.get("rungs", RungName):
            self.fail("steps", "experiment", NOT_ON_LOCALHOST, index)
        self.enough_pairs(values, index)

    def more_steps(self) -> list[dict[str, list[Any]]]:
        try:
            return [fields.also(text) for text in self.asked.also]
        except ValueError as error:
            raise UsageError(f"--also {', '.join(self.asked.also)}: {error}", hint=ALSO) from None

    def enough_pairs(self, values: dict[str, Any], index: int) -> None:
        if values.setdefault("repeats", PAIRS) < LEAST_PAIRS:
            self.fail("repeats", "experiment", f"expected at least {LEAST_PAIRS} pairs for a comparison", index)
        values["repeats"] = max(values["repeats"], self.asked.pairs)

    def compared(self, values: dict[str, Any], index: int) -> None:
        """Check a comparison with the machine as it is: it needs something to compare, and enough pairs."""
        if values["baseline"] is True and not values.get("settings"):
            self.fail("baseline", "experiment", "expected beside settings, which it is compared without", index)
        if values["protocol"] not in (*COMPARED, Protocol.ECHO):
            self.fail("baseline", "experiment", f"expected with protocol {', '.join(COMPARED)}, echo", index)
        self.enough_pairs(values, index)
