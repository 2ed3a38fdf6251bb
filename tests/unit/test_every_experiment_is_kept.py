"""What a plan asks for is in the plan: experiments that differ in anything at all are measured each on its own."""

from __future__ import annotations

import enum
from dataclasses import fields, replace
from typing import Any

import pytest

from linkladder import plan as plans
from linkladder.engine.generators import Kept, Pair, applied
from linkladder.model import (
    Company,
    Experiment,
    Generator,
    HostFacts,
    Looked,
    Path,
    Plan,
    Rung,
    RungName,
    Setting,
    SettingKind,
    Strength,
)
from linkladder.plan import company
from linkladder.plan.fields import EXPERIMENT
from linkladder.wire.limits import check_experiment

ONE = Experiment("tcp")
OF_A_NAME = {"id", "repeats", "begins"}  # what is no other experiment: its name, how often, and what the coin said
FIELDS = [f.name for f in fields(Experiment) if f.name not in OF_A_NAME]


def another(value: Any, key: str) -> Any:
    """Some other value of that field, whichever it is."""
    settings = (Setting(SettingKind.MTU, "9000"),)
    known = {"window": 800_000, "write_size": 1470, "udp_rate_bps": 1e9, "client_port": 20_000, "cores": 2}
    if isinstance(value, bool):
        return not value
    if isinstance(value, enum.Enum):
        return next(one for one in type(value) if one is not value)
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    return {"settings": settings, "sizes": (1500,), "paths": (0,), "on_cores": (1,), **known}[key]


@pytest.mark.parametrize("key", [key for key in FIELDS if key != "tool"])
def test_two_that_differ_in_a_field_have_two_names(key: str) -> None:
    other = replace(ONE, **{key: another(getattr(ONE, key), key)})
    a, b = plans.named_apart((), [replace(e, id=plans.name_of(e)) for e in (ONE, other)])
    assert a.id != b.id != plans.named_apart([ONE], [replace(other, id=ONE.id)])[0].id
    assert a.id == plans.name_of(ONE), "the first keeps its name"
    assert replace(b, id="") == replace(other, id=""), "nothing else of it changes"


def test_two_tools_have_two_names() -> None:
    assert len({plans.name_of(replace(ONE, tool=tool)) for tool in ("iperf", "iperf3", "netperf")}) == 3


def test_however_many_differ_all_are_there() -> None:
    many = [replace(ONE, dscp=n // 8, duration=10 + n % 8, label=label) for n in range(64) for label in ("a b", "a-b")]
    made = plans.named_apart((), [replace(e, id=plans.name_of(e)) for e in many])
    assert len({e.id for e in made}) == len(many) == len({replace(e, id="") for e in made})


TCP, NETPERF = {"rungs": "dc-link"}, {"rungs": "dc-link", "tool": "netperf"}
UDP = {**TCP, "protocol": "udp", "udp_rate": 1_000_000}
RR, ECHO, DF = {**NETPERF, "protocol": "rr"}, {**TCP, "tool": "ping"}, {**TCP, "tool": "ping", "protocol": "df"}
CHANGED = {**TCP, "settings": [{"kind": "mtu", "value": 9000}]}
MANY = {**TCP, "contend": True, "at_most": 4}
# of every key of an experiment: a table, and another value of that key in the same table
EVERY_KEY: dict[str, list[tuple[dict[str, Any], Any]]] = {
    "rungs": [(TCP, "same-vlan")],
    "tool": [(TCP, "iperf3")],
    "protocol": [(NETPERF, "rr")],
    "streams": [(TCP, 2), (TCP, "auto"), (UDP, 2)],
    "window": [(TCP, "800k"), ({**UDP, "window": "1M"}, "2M"), (UDP, "1M")],
    "write_size": [(TCP, "1M"), (UDP, 200), ({**UDP, "write_size": 300}, 200)],
    "direction": [(TCP, "reverse"), (TCP, "duplex"), (ECHO, "reverse")],
    "duration": [(TCP, 60), (UDP, 60), (RR, 60)],
    "warmup": [(TCP, 5)],
    "repeats": [(TCP, 2)],
    "at_most": [(TCP, 4), ({**TCP, "at_most": 3}, 4)],
    "contend": [({**TCP, "repeats": 2, "at_most": 4}, True)],
    "udp_rate": [(UDP, "2M"), (UDP, 1_000_001)],
    "udp_percent": [({**TCP, "protocol": "udp", "udp_percent": 50}, 50.00001)],
    "request": [(RR, 701)],
    "response": [(RR, 7000)],
    "sessions": [(RR, 10)],
    "count": [(ECHO, 20)],
    "interval": [(ECHO, 1)],
    "sizes": [(DF, [1500])],
    "dscp": [(TCP, 46), (UDP, 46), (ECHO, 46), (DF, 46), (RR, 46)],
    "ping_under_load": [(TCP, True), (UDP, True), (RR, True)],
    "label": [(TCP, "x"), ({**TCP, "label": "a b"}, "a-b")],
    "incompressible": [(NETPERF, True)],
    "zero_copy": [({**TCP, "tool": "iperf3"}, True)],
    "cores": [(TCP, 2), (RR, 2), (TCP, "2"), ({**TCP, "cores": "0,2"}, "0-2")],
    "affinity": [(TCP, "beside"), (RR, "away")],
    "kernel": [({**TCP, "kernel": "old", "baseline": {"kernel": "kernel"}}, "generic")],
    "settings": [
        (TCP, [{"kind": "tso", "value": "off"}]),
        (CHANGED, [{"kind": "mtu", "value": 9000, "ends": "near"}]),
    ],
    "client_port": [(TCP, 20_000), (UDP, 20_000)],
    "baseline": [(CHANGED, True), (UDP, {"write_size": 200}), (TCP, {"streams": 2})],
    "control": [],  # the same comparison with its control: refused, see below
    "steps": [(TCP, [{"streams": [2, 4]}])],
    "company": [(TCP, "alone")],
}
CASES = [(key, table, value) for key, cases in EVERY_KEY.items() for table, value in cases]


def test_no_key_of_an_experiment_is_forgotten_here() -> None:
    assert set(EVERY_KEY) == set(EXPERIMENT)


def toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + "}"
    return "[" + ", ".join(map(toml, value)) + "]" if isinstance(value, list) else repr(value).replace("'", '"')


def read(*tables: dict[str, Any], cores: int = 2) -> Plan:
    written = ("\n".join(f"{key} = {toml(value)}" for key, value in table.items()) for table in tables)
    return plans.read_plan('name = "p"\n' + "".join(f"[[experiment]]\n{one}\n" for one in written), cores=cores)


def asked(plan: Plan) -> set[tuple[RungName, Experiment]]:
    """Whatever the experiments are called, and however often they are repeated."""
    names = dict(id="", baseline="", begins=False, repeats=1)
    return {(r.name, replace(e, **names)) for r in plan.rungs for e in r.experiments}


@pytest.mark.parametrize(("key", "table", "value"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)])
def test_tables_that_differ_in_one_key_are_both_measured(key: str, table: dict[str, Any], value: Any) -> None:
    other = {**table, key: value}
    both, first, second = read(table, other), read(table), read(other)
    assert asked(both) == asked(first) | asked(second)
    ids = [e.id for r in both.rungs for e in r.experiments if r.name is RungName.DC_LINK]
    assert len(ids) == len(set(ids)) and all(len(one) <= 120 and "/" not in one for one in ids)
    known = {e.baseline for r in both.rungs for e in r.experiments} - {""}
    assert known <= set(ids), "each arm knows what it is compared with"
    alone = [e.id for r in first.rungs for e in r.experiments]
    assert set(alone) <= {e.id for r in both.rungs for e in r.experiments}, "and what was there keeps its name"
    if not known:
        assert plans.trials(both) == plans.trials(first) + plans.trials(second), "nothing is left out"


def test_the_same_twice_is_measured_twice() -> None:
    (one,) = read(TCP, {**TCP, "repeats": 3}).rungs[0].experiments
    assert one.repeats == 4
    (settled,) = read({**TCP, "at_most": 5, "repeats": 3}, {**TCP, "at_most": 5, "repeats": 4}).rungs[0].experiments
    assert (settled.repeats, settled.at_most) == (5, 5)


def test_two_comparisons_share_what_they_compare_with_and_the_same_one_again_is_refused() -> None:
    tso = {**TCP, "settings": [{"kind": "tso", "value": "off"}], "baseline": True, "control": True}
    plan = read(tso, {**tso, "settings": [{"kind": "lro", "value": "off"}], "repeats": 8})
    assert [(e.id, e.repeats) for e in plan.rungs[0].experiments] == [
        ("tcp-1s-default-forward-as-it-is", 8),
        ("tcp-1s-default-tso-off-forward", 6),
        ("tcp-1s-default-forward-as-it-is-again", 8),
        ("tcp-1s-default-lro-off-forward", 8),
    ]
    with pytest.raises(plans.PlanError, match="what no experiment before it compares"):
        read(tso, {**tso, "control": False})


def test_one_staircase_goes_each_way_on_a_rung() -> None:
    climb = {**TCP, "steps": [{"streams": [2, 4]}]}
    with pytest.raises(plans.PlanError, match="one staircase a direction"):
        read(climb, {**climb, "steps": [{"window": "8M"}]})
    assert read(climb, {**climb, "direction": "reverse"}).rungs[0].stairs[1:]


def test_a_label_that_no_end_accepts_is_refused_and_a_slash_is_no_folder() -> None:
    for label in ("x" * 121, "\\u007f"):
        with pytest.raises(plans.PlanError, match=r"line 3: experiment.label: expected a line .* at most 120 char"):
            plans.read_plan(f'name = "p"\n[[experiment]]\nlabel = "{label}"\n')
    assert "a-b" in read({**TCP, "label": "a/b"}).rungs[0].experiments[0].id


def test_an_end_accepts_a_trial_of_the_longest_load() -> None:
    (week,) = read({**TCP, "duration": 7 * 86400}).rungs[0].experiments
    assert week.repeats > 100
    check_experiment(week)


def test_loads_left_open_stay_apart_once_the_generator_is_known() -> None:
    plan = read({**TCP, "streams": "auto"}, {**TCP, "streams": "auto", "duration": 60}, {**TCP, "write_size": "1M"})
    rung = plan.rungs[0]
    host = HostFacts("alpha", os="Linux", tools={"iperf": "2.1.8"}, cores=2)
    strong = Strength((Looked(Generator(write_size=1 << 20), 1e9),))
    (after,) = applied(plan, rung, Pair(host, host), Kept("a", "b", RungName.DC_LINK, strong)).rungs
    assert [(e.duration, e.write_size, e.strongest) for e in after.experiments] == [
        (10, None, True), (60, 1 << 20, True), (10, 1 << 20, False),
    ]  # fmt: skip
    assert len({e.id for e in after.experiments}) == 3


def test_what_is_added_later_has_a_name_of_its_own_or_adds_repeats() -> None:
    old = read(TCP, UDP)
    more = read({**TCP, "dscp": 46}, {**UDP, "write_size": 200}, {**TCP, "repeats": 4})
    grown = plans.extended(old, more).rungs[0].experiments
    assert asked(Plan("p", rungs=(Rung(RungName.DC_LINK, experiments=grown),))) == asked(old) | asked(more)
    assert [(e.id, e.repeats) for e in grown[:2]] == [
        (e.id, n) for e, n in zip(old.rungs[0].experiments, (4, 1), strict=True)
    ]
    assert len({e.id for e in grown}) == 4


def test_as_many_settings_as_a_machine_has_are_lent_at_once() -> None:
    """Named one by one they were more characters than an end accepts, and the plan was refused."""
    values = {"congestion": "htcp", "stack": "rack", "stack-tso": "off", "sack": "off", "delayed-ack": "off"}
    values |= {"initial-window": "20", "send-buffer": "16777216", "receive-buffer": "16777216"}
    many = [{"kind": kind, "value": value} for kind, value in values.items()]
    found = [e for r in read({"settings": many}, {"settings": many[:-1]}).rungs for e in r.experiments]
    assert {len(e.settings) for e in found} == {7, 8} and len({e.id for e in found}) == 2
    few = read({"settings": many[:2]}).rungs[0].experiments[0]
    assert "congestion-htcp-stack-rack" in few.id, "a few are named"
    ends = ["x" * 40, "y" * 40]
    mesh = Rung(RungName.DC_LINK, tuple(Path("10.0.0.1", f"10.0.0.{n}", one) for n, one in enumerate(ends, 2)))
    alone = tuple(replace(e, id=f"{e.id}{'z' * (90 - len(e.id))}", company=Company.ALONE) for e in found[:1])
    for e in company.spread(replace(mesh, experiments=alone)).experiments:
        check_experiment(e)
