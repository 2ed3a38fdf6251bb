"""A setting that a machine does not have, or has already, is told of and not measured."""

from __future__ import annotations

from dataclasses import replace

from linkladder import plan as plans
from linkladder.engine.left_out import left_out
from linkladder.model import End, HostFacts, Nic, Path

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


def test_the_built_in_plan_asks_each_change_of_the_same_baseline() -> None:
    made = plans.builtin("offload")
    by_id = {e.id: e for e in made.rungs[0].experiments}
    changed = [e for e in by_id.values() if e.baseline]
    assert len(changed) == 4 * 4 + 1 and all(e.baseline in by_id for e in changed)
    assert {e.sessions for e in changed if e.protocol == "rr"} == {10, 50}
    assert by_id["tcp-1s-default-forward-as-it-is"].repeats == 6
