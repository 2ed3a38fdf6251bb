"""Two loads compared in pairs, several changes of one baseline, the baseline against itself, and cores by number."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from judge_documents import F, document, rung, tcp, trial
from linkladder import host, phrases
from linkladder import plan as plans
from linkladder.judge import judge_rung
from linkladder.judge.sizing import sizing
from linkladder.model import Contract, Direction, Experiment, RungName, Setting, SettingKind
from linkladder.phrases.sizing import worse_with_streams

TSO_OFF = Setting(SettingKind.TSO, "off")


def read(more: str, cores: int = 2) -> list[Experiment]:
    text = f'name = "p"\n[[experiment]]\nrungs = "dc-link"\n{more}'
    return list(plans.read_plan(text, cores=cores).rungs[0].experiments)


def test_several_loads_share_the_baseline_that_one_of_them_is() -> None:
    made = read("streams = [1, 2, 8]\nbaseline = {streams = 1}\n")
    assert [(e.streams, e.baseline) for e in made] == [
        (1, ""),
        (2, "tcp-1s-default-forward"),
        (8, "tcp-1s-default-forward"),
    ]
    assert {e.repeats for e in made} == {6}


def test_settings_that_the_baseline_keeps_are_no_change() -> None:
    keys = 'window = "8M"\nsettings = [{kind = "mtu", value = 9000}]\nbaseline = {window = "default"}\n'
    plain, changed = read(keys)
    assert plain.settings == changed.settings != ()
    assert phrases.difference(changed, plain) == "8M window instead of default"
    assert phrases.beside(changed, plain) == "1 stream, MTU 9000"


def test_each_list_of_settings_is_an_arm_and_the_control_is_the_baseline_again() -> None:
    keys = 'settings = [[{kind = "tso", value = "off"}], [{kind = "mtu", value = 9000}]]\nbaseline = true\n'
    plain, first, again, second = read(f"{keys}control = true\n")
    assert (first.settings, len(second.settings), again.settings) == ((TSO_OFF,), 1, ())
    assert {first.baseline, second.baseline, again.baseline} == {plain.id}
    assert phrases.difference(again, plain) == "the same again"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("baseline = {duration = 3}", "a table of tool, streams"),
        ("baseline = {streams = 0}", "from 1 to 128"),
        ("control = true", "beside baseline"),
        ('tool = "ping"\ncores = 1', "loads nothing"),
    ],
)
def test_what_cannot_be_compared_is_refused(keys: str, expected: str) -> None:
    with pytest.raises(plans.PlanError, match=expected):
        read(keys)


def test_pings_have_no_streams_in_common() -> None:
    plain, changed = read('tool = "ping"\nsettings = [{kind = "tso", value = "off"}]\nbaseline = true\n')
    assert (phrases.difference(changed, plain), phrases.beside(changed, plain)) == ("TSO off", "")


def test_cores_double_up_to_all_that_there_are() -> None:
    assert [e.cores for e in read('cores = "auto"\n', cores=6)] == [1, 2, 4, 6]


def test_a_tool_is_confined_to_cores_that_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKLADDER_CORES", "0")
    assert host.confined(1)[-1] == "0"
    with pytest.raises(ValueError, match="this end has 1"):
        host.confined(2)


def test_the_noise_floor_is_published_and_claims_nothing() -> None:
    plain, *_, again = read('settings = [{kind = "tso", value = "off"}]\nbaseline = true\ncontrol = true\n')
    values = (940e6, 941e6, 939e6, 942e6, 940e6, 941e6)
    arms = [tcp(F, tuple(trial(v, F, n) for n, v in enumerate(values)), 1) for _ in range(2)]
    named = [replace(a, parameters=p) for a, p in zip(arms, (plain, again), strict=True)]
    made = document(rung(RungName.DC_LINK, *named))
    judged = judge_rung(made.rungs[0], made)
    told = [f for f in judged.judgement.findings if f.startswith("Noise floor: the same again (1 stream)")]
    assert len(told) == 1 and "throughput +0.0 % (+0.0 % to +0.0 %)" in told[0]
    assert not [f for f in judged.judgement.findings if f.startswith("the same again")]


def test_the_cores_that_the_rate_needs_are_named_and_where_streams_cost() -> None:
    sold = Contract(port_bps=10e9, rate_bps=1e9)

    def arm(cores: int, streams: int, bps: float) -> object:
        return tcp(F, tuple(trial(bps * (1 + n / 100), F, n) for n in range(4)), streams, cores=cores)

    made = rung(RungName.SAME_VLAN, arm(1, 1, 700e6), arm(2, 1, 1200e6), arm(1, 8, 500e6), arm(2, 8, 600e6))
    one, many, worse, _ = sizing(made, sold)
    assert one.startswith("Cores, 1 stream, near to far: 2 cores at each end carry the 92")
    assert "By cores: 1: 710 Mb/s (696 Mb/s to 725 Mb/s), 2: 1.22 Gb/s (1.19 Gb/s to 1.24 Gb/s)." in one
    assert many.startswith("Cores, 8 streams, near to far: 2 at each end do not surely carry")
    assert worse == "1 core carries 203 Mb/s less with 8 streams than with 1, near to far."
    lent = (Setting(SettingKind.MTU, "9000"),)
    loads = [replace(e, parameters=replace(e.parameters, settings=lent)) for e in made.experiments]
    assert sizing(replace(made, experiments=tuple(loads)), sold)[2].endswith(" than with 1, MTU 9000, near to far.")
    both_ways = Experiment("d", direction=Direction.DUPLEX, streams=8)
    assert worse_with_streams(2, 2e8, both_ways, 1, "reverse").endswith(", far to near while both ways are loaded.")
    once = tcp(F, (trial(1200e6, F, 0),), 1, cores=2)
    assert "By cores: 2: 1.20 Gb/s (one repeat)." in sizing(rung(RungName.SAME_VLAN, once), sold)[0]


def test_equal_loads_are_hardly_ever_told_to_cost_streams() -> None:
    """Of twelve comparisons at 95 % each, one in four experiments would tell of one that is none."""
    dice = random.Random("streams")
    sold = Contract(port_bps=10e9, rate_bps=1e9)

    def told() -> bool:
        arms = [
            tcp(F, tuple(trial(1e9 * (1 + dice.gauss(0, 0.02)), F, n) for n in range(4)), streams, cores=cores)
            for streams in (1, 8)
            for cores in range(1, 13)
        ]
        return any("less with" in said for said in sizing(rung(RungName.SAME_VLAN, *arms), sold))

    assert sum(told() for _ in range(120)) / 120 <= 0.05
