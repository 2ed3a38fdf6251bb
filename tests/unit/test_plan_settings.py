"""Settings in a plan: only what can be put back, each change and its undo told beforehand, words that tell apart."""

from __future__ import annotations

import pytest

from linkladder import host, phrases
from linkladder import plan as plans
from linkladder.engine.command_lines import planned
from linkladder.model import End, HostFacts, Path, Plan, RungName, Setting, SettingKind
from linkladder.model.same_setting import family, identity
from linkladder.tools import ToolVersions

HEAD = 'name = "p"\n[[experiment]]\n'


def plan(settings: str, more: str = 'rungs = "dc-link"\n') -> Plan:
    return plans.read_plan(f"{HEAD}settings = {settings}\n{more}")


def test_a_setting_is_a_kind_a_value_and_ends() -> None:
    made = plan('[{kind = "mtu", value = 9000, ends = "both"}, {kind = "tso", value = false, ends = "near"}]')
    (exp,) = made.rungs[0].experiments
    assert exp.settings == (Setting(SettingKind.MTU, "9000"), Setting(SettingKind.TSO, "off", (End.NEAR,)))
    assert exp.id == "tcp-1s-default-mtu-9000-tso-off-near-forward"
    assert "MTU 9000, TSO off at the near end" in phrases.arm(exp)
    (alone,) = plan('{kind = "rxcsum", value = "on"}').rungs[0].experiments
    assert alone.settings == (Setting(SettingKind.RXCSUM, "on"),)
    assert "rxcsum on" in phrases.arm(alone)


def test_the_same_load_under_other_settings_is_another_experiment() -> None:
    (nine,), (small,) = (plan(f'{{kind = "mtu", value = {mtu}}}').rungs[0].experiments for mtu in (9000, 1500))
    assert identity(nine) != identity(small) and family(nine) != family(small)
    assert phrases.arm(nine) != phrases.arm(small)


def test_localhost_has_one_end_and_so_no_settings() -> None:
    made = plan('{kind = "mtu", value = 9000}', more="")
    assert [r.name for r in made.rungs] == [RungName.SAME_HOST, RungName.SAME_VLAN, RungName.DC_LINK]
    with pytest.raises(plans.PlanError, match="not on localhost"):
        plan('{kind = "mtu", value = 9000}', more='rungs = "localhost"\n')


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            '{kind = "kernel", value = "GENERIC"}',
            "kind: expected one of mtu, .* only those are sure to be put back",
        ),
        ('{kind = "mtu", value = 900}', "value: expected a whole number from 1280 to 9216 for mtu, got"),
        ('{kind = "mtu", value = true}', "from 1280"),
        ('{kind = "tso", value = 9000}', "expected on or off for tso"),
        ('{kind = "tso", value = "perhaps"}', "expected on or off for tso"),
        ('{kind = "tso", value = false, ends = "middle"}', "ends: expected one of near, far, both"),
        ('{kind = "tso", value = false, interface = "vmx0"}', "expected tables such as"),
        ('{kind = "tso"}', "expected tables such as"),
        ("9000", "expected tables such as"),
        ("[]", "each kind once an end"),
        ('[{kind = "mtu", value = 9000}, {kind = "mtu", value = 1500, ends = "far"}]', "each kind once an end"),
    ],
)
def test_what_has_no_known_inverse_is_refused(settings: str, words: str) -> None:
    with pytest.raises(plans.PlanError, match=words) as error:
        plan(settings)
    assert error.value.line == 3


def test_each_change_and_its_undo_is_told_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "interface_of", lambda address: "vmx1")
    monkeypatch.setattr(host, "setting", lambda kind, target: {"mtu": "1500", "flag": "on"}[kind])
    (exp,) = plan('[{kind = "mtu", value = 9000}, {kind = "tso", value = false, ends = "near"}]').rungs[0].experiments
    both = ToolVersions({"iperf": "2.1.9"}, "Linux")
    lines = planned(exp, [Path("10.0.0.1", "10.0.0.2", "beta")], [{End.NEAR: both, End.FAR: both}], [5301])
    assert lines[:3] == (
        "far: set mtu of the adapter of 10.0.0.2 to 9000; undo: set it back to what it was",
        "near: set mtu of vmx1 to 9000; undo: set it back to 1500",
        "near: set tso of vmx1 to off; undo: set it back to on",
    )
    assert len(lines) == 5 and "iperf -s" in lines[3]


LOAD = 'rungs = "same-vlan"\nstreams = 1\n'
MEMBER = '{kind = "member", value = 1, from = 4, until = 8}'


@pytest.mark.parametrize(
    ("keys", "line", "words"),
    [
        ('settings = [{kind = "tso", value = "on", ends = ["near"]}]', 5, "ends: expected one of near, far, both"),
        ('settings = [{kind = "mtu", value = "09000"}]', 5, "expected a whole number from 1280 to 9216"),
        ("baseline = {streams = 1}", 5, "baseline: expected something else than the experiment has by itself"),
        (
            'settings = [{kind = "tso", value = "on"}]\nbaseline = {settings = [{kind = "tso", value = "on"}]}',
            6,
            "baseline: expected something else",
        ),
        ('baseline = {tool = "ping"}', 5, "baseline: expected a tool for protocol tcp: iperf, .*not ping"),
        ("baseline = {sessions = 2}", 5, "baseline: sessions has no meaning for iperf tcp, only with netperf rr"),
        (
            'tool = "iperf3"\nzero_copy = true\nbaseline = {tool = "iperf"}',
            7,
            "baseline: zero_copy has no meaning for iperf tcp, only with iperf3 tcp",
        ),
        ('affinity = "away"\nbaseline = {cores = 2}', 6, "baseline: expected cores or affinity, not both"),
        (f"baseline = {{settings = [{MEMBER}]}}", 5, "baseline: expected no member down here"),
        ('steps = [{tool = ["netperf", "ping"]}]', 5, "steps: expected a tool for protocol tcp"),
        ("steps = [{sessions = [2, 4]}]", 5, "steps: sessions has no meaning for iperf tcp"),
        ('steps = [{cores = 2}, {affinity = ["away"]}]', 5, "steps: expected cores or affinity, not both"),
        (f"steps = [{{settings = [{MEMBER}]}}]", 5, "steps: expected no member down here"),
    ],
)
def test_a_comparison_that_cannot_be_made_or_put_back_is_refused_with_its_line(
    keys: str, line: int, words: str
) -> None:
    with pytest.raises(plans.PlanError, match=words) as error:
        plans.read_plan(f"{HEAD}{LOAD}{keys}\n")
    assert error.value.line == line


def test_no_baseline_lends_the_loopback_anything() -> None:
    """Settings of the loopback would change the whole machine, whichever arm asks for them."""
    keys = 'streams = 1\nbaseline = {settings = [{kind = "tso", value = "off"}]}\n'
    assert RungName.LOCALHOST not in [r.name for r in plans.read_plan(HEAD + keys).rungs]
    with pytest.raises(plans.PlanError, match="baseline: expected on a rung with two ends, not on localhost"):
        plans.read_plan(f'{HEAD}rungs = "localhost"\n{keys}')


@pytest.mark.parametrize(
    "keys", ['settings = {kind = "tso", value = "on"}\nbaseline = true', "steps = [{streams = 2}]"]
)
def test_a_rung_that_is_named_twice_is_one(keys: str) -> None:
    """It is no second experiment that would be compared once more, and its repeats are not twice as many."""
    once, twice = (
        plans.read_plan(f"{HEAD}rungs = {rungs}\n{keys}\n") for rungs in ('"dc-link"', '["dc-link", "dc-link"]')
    )
    assert plans.trials(once) == plans.trials(twice) == 12


def test_another_tool_in_a_baseline_or_a_step_is_compared_where_it_can_do_the_same() -> None:
    for keys in ('baseline = {tool = "iperf3"}', 'steps = [{tool = ["iperf", "netperf"]}]'):
        assert {e.tool for e in plans.read_plan(f"{HEAD}{LOAD}{keys}\n").rungs[0].experiments} >= {"iperf"}


def test_a_kernel_s_setting_is_told_as_each_end_s_own_system_calls_it(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"net.ipv4.tcp_congestion_control": "cubic", "net.ipv4.tcp_wmem": "4096 16384 4194304"}
    monkeypatch.setattr(host, "system", lambda: "Linux")
    monkeypatch.setattr(host, "setting", lambda kind, target: here.get(target))
    (exp,) = (
        plan('[{kind = "congestion", value = "htcp"}, {kind = "send-buffer", value = 8388608}]').rungs[0].experiments
    )
    versions = {
        End.NEAR: ToolVersions({"iperf": "2.1.9"}, "Linux"),
        End.FAR: ToolVersions({"iperf": "2.1.9"}, "FreeBSD"),
    }
    beta = HostFacts("beta", os="FreeBSD", sysctls={"net.inet.tcp.cc.algorithm": "cubic"})
    lines = planned(exp, [Path("10.0.0.1", "10.0.0.2", "beta")], [versions], [5301], facts={"beta": beta})
    assert lines[:5] == (
        "near: set net.ipv4.tcp_congestion_control to htcp; undo: set it back to cubic",
        "far: load kernel module cc_htcp if it is not there; undo: unload it then",
        "far: set net.inet.tcp.cc.algorithm to htcp; undo: set it back to cubic",
        "near: set net.ipv4.tcp_wmem to 4096 16384 8388608; undo: set it back to 4096 16384 4194304",
        "far: set net.inet.tcp.sendbuf_max to 8388608; undo: set it back to what it was",
    )


def test_a_kernel_module_that_is_loaded_for_a_trial_is_told_with_its_undo(monkeypatch: pytest.MonkeyPatch) -> None:
    present = {"cc_htcp": "off", "net.inet.tcp.cc.algorithm": "cubic"}
    monkeypatch.setattr(host, "setting", lambda kind, target: present.get(target))
    (exp,) = plan('[{kind = "congestion", value = "htcp", ends = "near"}]').rungs[0].experiments
    known = ToolVersions({"iperf": "2.1.9"}, "FreeBSD")
    path, ends = Path("10.0.0.1", "10.0.0.2", "beta"), {End.NEAR: known, End.FAR: known}
    assert planned(exp, [path], [ends], [5301])[:2] == (
        "near: load kernel module cc_htcp; undo: unload it",
        "near: set net.inet.tcp.cc.algorithm to htcp; undo: set it back to cubic",
    )
    present["cc_htcp"] = "on"
    assert "module" not in "".join(planned(exp, [path], [ends], [5301]))
