"""Checks the keys of an experiment in a plan file that depend on each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from linkladder import tools
from linkladder.model import Affinity, Company, Direction, Experiment, Protocol, RungName, Setting
from linkladder.model.asked import beyond
from linkladder.plan import fields
from linkladder.tools import TOOLS
from linkladder.verdicts import LEAST_PAIRS

PAIRS = 6  # of a comparison that does not say how many
SEEN = 3.0  # least seconds before a bundle's member goes down, while it is away, and afterwards
SHORTEST_VISIT = 3  # seconds: one for the start, and two to measure
LEAST_LOOK = 2  # repeats before the first check whether they settle the verdict
NOT_ON_LOCALHOST = "expected on a rung with two ends, not on localhost"
COMPARED = (Protocol.TCP, Protocol.UDP, Protocol.RR)
Fail = Callable[[str, str], NoReturn]  # takes a key, and what was expected of it


def refuse_unrunnable(made: Iterable[Experiment], fail: Fail) -> None:
    """Refuse trials that no end takes, and those that print more than is kept and cannot be split: comparisons, and
    members that go down.
    """
    for one in made:
        if wrong := beyond(one):
            fail({"udp_rate_bps": "udp_rate", "on_cores": "cores"}.get(wrong[0], wrong[0]), wrong[1])
        if one.duration > (most := tools.longest(one)):
            fail("duration", f"expected at most {most:.0f} s for {one.id}, or more would be printed than is kept")


class ExperimentKeys:
    """The values of one [[experiment]]; checking them fills in what follows from them."""

    def __init__(self, values: dict[str, Any], fail: Fail, pairs: int) -> None:
        """`pairs`: how many a comparison has at least, whatever the plan says."""
        self.values, self.fail, self.pairs = values, fail, pairs
        self.tool = TOOLS[values.get("tool", Experiment.tool)]

    def check(self) -> None:
        values, fail, tool = self.values, self.fail, self.tool
        allowed = tool.protocols
        protocol = values.setdefault("protocol", allowed[0])
        if protocol not in allowed:
            fail("protocol", f"expected one of {', '.join(allowed)} for {tool.name}")
        if protocol == Protocol.UDP and not ("udp_rate" in values or "udp_percent" in values):
            fail("udp_rate", "expected udp_rate or udp_percent for protocol udp")
        if "settings" in values and values.get("rungs") == [RungName.LOCALHOST]:
            fail("settings", NOT_ON_LOCALHOST)
        if "cores" in values and not tool.loads:
            fail("cores", f"has no meaning for {tool.name}, which loads nothing")
        if "affinity" in values and (not tool.loads or "cores" in values):
            fail("affinity", f"expected with a tool that loads, not {tool.name}, and no cores")
        if "steps" in values:
            self._check_steps()
        if values.get("control") and not values.get("baseline"):
            fail("control", "expected beside baseline, which it measures once more")
        if values.get("baseline"):
            self._check_baseline()
        self._check_kernel()
        if Company.VISITED in values.get("company", ()):
            self._check_visits()
        if any(one.of_member for lent in values.get("settings", ()) for one in lent):
            self._check_member_down()
        if values.get("contend") and "at_most" not in values:
            fail("contend", "expected beside at_most, the repeats of those that come close")
        if "at_most" in values:
            self._check_at_most()
        self._check_meaning(values)
        if isinstance(values.get("baseline"), dict):
            self._check_other("baseline", values["baseline"])
        climbed = values
        for step in values.get("steps", ()):
            for name in step.get("tool", [tool.name]):
                self._check_other("steps", step | {"tool": name})
            climbed = climbed | step  # what one step wins is there in the next
            self._check_places("steps", climbed)

    def _check_meaning(self, values: dict[str, Any], where: str = "") -> None:
        """Refuse keys that these values' tool has no use for; `where`: the key below which they stand, if any."""
        tool, protocol = TOOLS[values.get("tool", Experiment.tool)], values["protocol"]
        for key in values:
            if key not in tool.keys[protocol] | fields.EVERY_TOOLS:
                only = ", ".join(f"{t.name} {p}" for t in TOOLS.values() for p in t.protocols if key in t.keys[p])
                what = f"{key} " if where else ""
                self.fail(where or key, f"{what}has no meaning for {tool.name} {protocol}, only with {only}")

    def _check_other(self, where: str, other: dict[str, Any]) -> None:
        """What an arm has instead, in a baseline or a step, must be something that its tool can do there as well."""
        tool, protocol = TOOLS[other.get("tool", self.tool.name)], self.values["protocol"]
        if protocol not in tool.protocols:
            can = ", ".join(t.name for t in TOOLS.values() if protocol in t.protocols)
            self.fail(where, f"expected a tool for protocol {protocol}: {can}, not {tool.name}")
        arm = self.values | other
        self._check_meaning(arm, where)
        if (other.keys() & {"cores", "affinity"}) and not tool.loads:
            self.fail(where, f"cores and affinity have no meaning for {tool.name}, which loads nothing")
        self._check_places(where, arm)
        lent = other.get("settings", ())
        if lent and self.values.get("rungs") == [RungName.LOCALHOST]:
            self.fail(where, NOT_ON_LOCALHOST)
        if any(one.of_member for some in (lent if where == "steps" else [lent]) for one in some):
            self.fail(where, "expected no member down here: only in settings, without baseline and steps")

    def _check_places(self, where: str, arm: dict[str, Any]) -> None:
        placed = arm.get("affinity", Affinity.FREE)
        if "cores" in arm and set(placed if isinstance(placed, list) else [placed]) != {Affinity.FREE}:
            self.fail(where, "expected cores or affinity, not both")

    def _check_kernel(self) -> None:
        """Arms that are whole boots differ in their kernel, and in nothing else."""
        values = self.values
        given = values.get("baseline")
        instead = given.get("kernel", "") if isinstance(given, dict) else ""
        if bool(instead) != ("kernel" in values) or (instead and values["kernel"].lower() == instead.lower()):
            self.fail("kernel", 'expected beside a baseline with another, {kernel = "kernel"}')
        if instead and (given != {"kernel": instead} or values.get("settings") or values.get("control")):
            self.fail("kernel", "expected without settings, control and more in its baseline")

    def _check_visits(self) -> None:
        """What neighbours that come and go take is read from whole seconds."""
        values = self.values
        if values["protocol"] is not Protocol.TCP or Direction.DUPLEX in values.get("direction", ()):
            self.fail("company", "expected visited with protocol tcp, one way at a time")
        if values.get("settings") or values.get("baseline") or "steps" in values:
            self.fail("company", "expected visited without settings, baseline and steps")
        if values.get("duration", Experiment.duration) < SHORTEST_VISIT:
            self.fail("duration", f"expected at least {SHORTEST_VISIT} s for each visit")

    def _check_member_down(self) -> None:
        """Before, while and after a bundle's member is down there must be time enough to tell."""
        values = self.values
        if values["protocol"] not in (Protocol.TCP, Protocol.UDP):
            self.fail("settings", "expected a member down with protocol tcp, udp, which load it")
        if values.get("baseline") or "steps" in values or "at_most" in values:
            self.fail("settings", "expected a member down without baseline, steps and at_most")
        if set(values.get("company", ())) - {Company.ALL}:
            self.fail("settings", "expected a member down with company all: a bundle is one path")
        for lent in values["settings"]:
            down = next((one for one in lent if one.of_member), None)
            if down is None:
                continue
            if not any(one.of_bundle for one in lent) and "client_port" not in values:
                said = 'a member is one of a bundle: expected kind = "lagg" beside it, or client_port'
                self.fail("settings", f"{said} for flows over one that is there already")
            self._check_outage(down)

    def _check_outage(self, down: Setting) -> None:
        """After an outage, a flow may need that time again to go on."""
        away = down.until - down.since
        if down.since < SEEN or away < SEEN:
            self.fail("settings", f"expected from and until at least {SEEN:g} s apart and in")
        least = down.until + away + SEEN
        if self.values.get("duration", Experiment.duration) < least:
            said = f"expected at least {least:g} s: after {away:g} s down a flow may wait as long before it goes on"
            self.fail("duration", said)

    def _check_at_most(self) -> None:
        """Only some protocols have verdicts that more repeats settle, and the pairs of a comparison are fixed."""
        values = self.values
        if values["protocol"] not in (Protocol.TCP, Protocol.UDP):
            self.fail("at_most", "expected with protocol tcp, udp: others are settled by one")
        if values.get("baseline"):
            self.fail("at_most", "the pairs of a comparison are fixed before it begins: repeats")
        least = 1 if values.get("contend") else LEAST_LOOK
        if not least <= values.setdefault("repeats", least) <= values["at_most"]:
            self.fail("repeats", f"expected from {least} to at_most, {values['at_most']}")

    def _check_steps(self) -> None:
        """A staircase starts from one setting, compares throughput, and has enough pairs in each step."""
        values = self.values
        several = [key for key, one in values.items() if isinstance(one, list) and len(one) > 1]
        if extra := [key for key in several if key not in ("rungs", "steps", "direction")]:
            self.fail(extra[0], "expected one value: a staircase begins at one setting")
        if values["protocol"] not in COMPARED or values.get("baseline") or "at_most" in values:
            self.fail("steps", "expected without baseline and at_most, to compare throughput")
        if set(values.get("company", ())) - {Company.ALL}:
            self.fail("company", "expected all beside steps: a staircase is climbed on all paths")
        lends = any("settings" in step for step in values["steps"])
        if lends and RungName.LOCALHOST in values.get("rungs", RungName):
            self.fail("steps", NOT_ON_LOCALHOST)
        self._check_pairs()

    def _check_baseline(self) -> None:
        """A comparison with the machine as it is needs something to compare, and enough pairs."""
        if self.values["baseline"] is True and not self.values.get("settings"):
            self.fail("baseline", "expected beside settings, which it is compared without")
        if self.values["protocol"] not in (*COMPARED, Protocol.ECHO):
            self.fail("baseline", f"expected with protocol {', '.join(COMPARED)}, echo")
        self._check_pairs()

    def _check_pairs(self) -> None:
        if self.values.setdefault("repeats", PAIRS) < LEAST_PAIRS:
            self.fail("repeats", f"expected at least {LEAST_PAIRS} pairs for a comparison")
        self.values["repeats"] = max(self.values["repeats"], self.pairs)
