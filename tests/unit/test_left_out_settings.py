"""A setting that a machine does not have, or has already, is told of and not measured."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

import judge_documents as judged
import trials
from linkladder import host
from linkladder import plan as plans
from linkladder.commands.planning import describe
from linkladder.engine.left_out import left_out, without_effect, without_vain_steps
from linkladder.judge.sizing import sizing
from linkladder.model import Contract, End, ExperimentResult, Fault, HostFacts, Nic, Path, RungName, RungResult

PATH = Path("10.0.0.1", "10.0.0.2", "beta")


def facts(near_mtu: int = 1500, far_mtu: int = 1500, tso: bool = True) -> dict[End, HostFacts]:
    near = Nic("vmx1", mtu=near_mtu, addresses=("10.0.0.1",), offloads={"tso": tso})
    far = Nic("vmx2", mtu=far_mtu, addresses=("10.0.0.2",), offloads={"tso": tso})
    return {End.NEAR: HostFacts("alpha", nics=(near,)), End.FAR: HostFacts("beta", nics=(far,))}


def asked(*settings: str, found: dict[End, HostFacts] | None = None) -> dict[str, str]:
    tables = "".join(
        f'[[experiment]]\nrungs = "dc-link"\nsettings = [{{{one}}}]\nbaseline = true\n' for one in settings
    )
    made = plans.read_plan(f'name = "p"\n{tables}')
    return left_out(made.rungs[0].experiments, PATH, found or facts())


def test_what_would_act_is_measured() -> None:
    assert asked('kind = "mtu", value = 9000', 'kind = "tso", value = "off"') == {}
    assert asked('kind = "mtu", value = 9000', found=facts(far_mtu=9000)) == {}  # one end still has to change


def test_what_both_ends_have_already_is_left_out_with_its_baseline() -> None:
    why = asked('kind = "mtu", value = 1500')
    assert why == {
        "tcp-1s-default-mtu-1500-forward": "mtu of vmx1 at alpha is 1500 already; mtu of vmx2 at beta is 1500 already",
        "tcp-1s-default-forward-as-it-is": "nothing is left to compare it with",
    }


def test_what_an_adapter_lacks_is_left_out_and_the_baseline_stays_for_the_others() -> None:
    why = asked('kind = "lro", value = "off"', 'kind = "tso", value = "off"')
    assert why == {"tcp-1s-default-lro-off-forward": "vmx1 of alpha has no lro"}


def test_an_adapter_that_the_facts_do_not_name_is_left_to_the_lease() -> None:
    nobody = {end: HostFacts(end) for end in End}
    assert asked('kind = "mtu", value = 9000', found=nobody) == {}


def test_a_baseline_that_only_its_control_is_left_for_goes_with_it() -> None:
    table = 'settings = [{kind = "lro", value = "off"}]\nbaseline = true\ncontrol = true\n'
    made = plans.read_plan(f'name = "p"\n[[experiment]]\nrungs = "dc-link"\n{table}')
    assert set(left_out(made.rungs[0].experiments, PATH, facts())) == {e.id for e in made.rungs[0].experiments}


def test_more_cores_than_an_end_has_are_left_out() -> None:
    made = plans.read_plan('name = "p"\n[[experiment]]\nrungs = "dc-link"\ncores = [1, 4]\n')
    small = {end: replace(host, cores=2) for end, host in facts().items()}
    assert left_out(made.rungs[0].experiments, PATH, small) == {"tcp-1s-default-4c-forward": "alpha has 2 cores"}


def of_two_cores(mtu: int) -> dict[End, HostFacts]:
    return {end: replace(one, cores=2) for end, one in facts(mtu, mtu).items()}


def test_how_many_cores_are_needed_is_measured_though_there_is_no_mtu_to_try() -> None:
    (rung,) = plans.builtin("sizing", 2).rungs
    gone = left_out(rung.experiments, PATH, of_two_cores(9000))
    assert {e.id for e in rung.experiments if e.id not in gone} == {e.id for e in rung.experiments if not e.settings}
    assert all("is 9000 already" in why for why in gone.values())


@pytest.mark.parametrize("mtu", [1500, 9000])
def test_how_many_cores_are_needed_is_answered_without_the_mtu_that_was_asked_for(mtu: int) -> None:
    """At 9000 it is there already; at 1500 each trial with it fails, as the adapter refuses it."""
    (rung,) = plans.builtin("sizing", 2).rungs
    gone = left_out(rung.experiments, PATH, of_two_cores(mtu))
    refused = trials.trial("t", 0, False, fault=Fault.TOOL, reason="the adapter takes no MTU of 9000")
    carried = tuple(
        ExperimentResult(e, tuple(refused if e.settings else judged.trial(2e9, n=n) for n in range(e.repeats)))
        for e in rung.experiments
        if e.id not in gone
    )
    said = sizing(RungResult(rung.name, (PATH,), carried), Contract(port_bps=1e9))
    assert [line.split(":")[0] for line in said] == ["Cores, 1 stream, near to far", "Cores, 8 streams, near to far"]
    assert all("1 core at each end carries" in line for line in said)


def test_the_built_in_plan_asks_each_change_of_the_same_baseline() -> None:
    made = plans.builtin("offload")
    by_id = {e.id: e for e in made.rungs[0].experiments}
    changed = [e for e in by_id.values() if e.baseline]
    assert len(changed) == 5 * 6 + 2 and all(e.baseline in by_id for e in changed)
    assert {e.sessions for e in changed if e.protocol == "rr"} == {10, 50}
    assert by_id["tcp-1s-default-writes1M-forward-as-it-is"].repeats == 6
    assert {(e.streams, e.write_size) for e in by_id.values() if e.protocol == "tcp"} == {(1, 1 << 20), (8, 1 << 20)}


def test_the_built_in_plan_asks_what_each_offload_does_to_the_idle_round_trip() -> None:
    (rung,) = plans.builtin("offload").rungs
    pings = [e for e in rung.experiments if e.protocol == "echo"]
    (plain,) = (e for e in pings if not e.baseline)
    assert all(e.baseline == plain.id and e.repeats == plain.repeats == 6 for e in pings if e is not plain)
    tried = ["-".join(s.label for s in e.settings) for e in pings if e.baseline]
    loaded = [e for e in rung.experiments if e.protocol == "tcp" and e.streams == 1 and e.baseline]
    assert tried == ["-".join(s.label for s in e.settings) for e in loaded], "the same changes, and itself once more"


def has(tso: bool, lro: bool | None) -> HostFacts:
    flags = {"tso": tso} if lro is None else {"tso": tso, "lro": lro}
    return HostFacts("one", nics=(Nic("vmx1", addresses=("10.0.0.1", "10.0.0.2"), offloads=flags),))


@pytest.mark.parametrize(
    ("near", "far", "measured"),
    [
        (has(True, True), has(True, True), {"tso-off", "lro-off", "tso-off-lro-off"}),
        (has(False, False), has(False, False), {"tso-on", "lro-on", "tso-on-lro-on"}),
        (has(True, False), has(True, False), {"tso-off", "lro-on"}),
        (has(False, None), has(False, None), {"tso-on"}),
        (has(True, True), has(False, True), {"tso-on", "tso-off", "lro-off", "tso-off-lro-off"}),
    ],
)
def test_offloads_are_measured_on_and_off_whichever_a_machine_has(
    near: HostFacts, far: HostFacts, measured: set[str]
) -> None:
    (rung,) = plans.builtin("offload").rungs
    gone = left_out(rung.experiments, PATH, {End.NEAR: near, End.FAR: far})
    left = [e for e in rung.experiments if e.id not in gone and e.settings]
    assert {"-".join(s.label for s in e.settings) for e in left} == measured
    assert len(left) == 5 * len(measured), "of each load and of the pings"


def test_an_arm_that_changes_no_more_than_another_says_so() -> None:
    (rung,) = plans.builtin("offload").rungs
    gone = left_out(rung.experiments, PATH, dict.fromkeys(End, has(True, False)))
    assert gone["tcp-1s-default-writes1M-tso-off-lro-off-forward"] == (
        "here it would change no more than tcp-1s-default-writes1M-tso-off-forward does"
    )


def test_a_dry_run_tells_what_is_left_out_and_takes_no_time_for_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = has(True, False)
    monkeypatch.setattr(host, "facts", lambda: here)
    made = plans.builtin("offload")
    paired = replace(made, rungs=tuple(replace(r, paths=(PATH,)) for r in made.rungs))
    describe(paired, {"beta": here})
    told = capsys.readouterr().out
    assert f"{5 * 3 * 6 + 2 * 6} trials" in told and "tcp-1s-default-writes1M-tso-on-forward  x6" not in told
    assert "left out: tcp-1s-default-writes1M-tso-on-forward: tso of vmx1 at one is on already" in told
    describe(made)
    assert f"{5 * 7 * 6 + 2 * 6} trials" in capsys.readouterr().out, "of a peer that is not known nothing is left out"


def test_an_arm_that_the_tool_cannot_do_is_left_out_and_the_others_are_measured() -> None:
    steps = 'steps = [{window = ["800k"], tool = ["iperf", "iperf3"]}]'
    made = plans.read_plan(f'name = "p"\n[[experiment]]\nrungs = "dc-link"\ndirection = "duplex"\n{steps}\n')
    known = {end: replace(host, tools={"iperf": "2.1.8"}) for end, host in facts().items()}
    gone = left_out(made.rungs[0].experiments, PATH, known)
    by_tool = {e.tool: gone.get(e.id, "") for e in made.rungs[0].experiments if e.baseline}
    assert "iperf sets a socket buffer only for the way from client to server" in by_tool["iperf"]
    assert "iperf3" in by_tool["iperf3"]
    both = {end: replace(host, tools={"iperf": "2.1.8", "iperf3": "3.16"}) for end, host in facts().items()}
    gone = left_out(made.rungs[0].experiments, PATH, both)
    assert [e.tool for e in made.rungs[0].experiments if e.baseline and e.id not in gone] == ["iperf3"]
    assert left_out(made.rungs[0].experiments, PATH, facts()) == {}, "of machines that have told no versions"


@pytest.mark.parametrize(
    ("name", "also", "spares"),
    [("offload", (), True), ("tune", (), True), ("tune", ("lro",), True), ("sizing", (), True), ("quick", (), False)],
)
def test_the_shortest_time_told_of_a_plan_is_that_between_ends_that_are_alike(
    name: str, also: tuple[str, ...], spares: bool
) -> None:
    """Before they are known: whichever way their switches are, one of two opposite arms is left out, and an MTU may be
    there already.
    """
    made = plans.builtin(name, asked=plans.Asked(also=also))
    rung = next(replace(r, paths=(PATH,)) for r in made.rungs if r.name is not RungName.LOCALHOST)
    takes = []
    for tso, lro, mtu in itertools.product((True, False), (True, False), (1500, 9000)):
        nic = Nic("x", mtu=mtu, addresses=(PATH.local, PATH.remote), offloads={"tso": tso, "lro": lro})
        alike = dict.fromkeys(("", "beta"), HostFacts("one", nics=(nic,), cores=64))
        gone = without_effect(rung, rung.paths, alike)
        left, _ = without_vain_steps(rung, rung.paths, alike)
        takes.append(plans.at_best(replace(left, experiments=tuple(e for e in rung.experiments if e.id not in gone))))
    assert plans.soonest(rung, [rung.name]) == min(takes)
    assert (min(takes) < plans.at_best(rung)) == spares
    assert plans.soonest(rung) == min(takes) + plans.SEARCH * plans.sought(rung), "nothing is known of the generator"


@pytest.mark.parametrize(
    ("rungs", "searched"),
    [
        ("localhost same-host same-vlan dc-link", "localhost same-host"),
        ("localhost dc-link", "localhost"),
        ("same-vlan dc-link", "same-vlan"),
        ("dc-link", "dc-link"),
    ],
)
def test_the_generators_strongest_setting_is_looked_for_once_within_a_machine_and_once_between_two(
    rungs: str, searched: str
) -> None:
    named = [r for r in plans.builtin("quick").rungs if r.name in rungs.split()]
    assert plans.surely_sought(named) == set(searched.split())
    assert plans.surely_sought(named, [r.name for r in named]) == frozenset()
