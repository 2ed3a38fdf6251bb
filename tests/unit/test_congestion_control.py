"""Congestion control as a setting on loan: what there is, what is left out, and what undoes it."""

from __future__ import annotations

from pathlib import Path as FilePath

import pytest

from linkladder import phrases, wire
from linkladder import plan as plans
from linkladder.agent import Service, lending
from linkladder.engine.left_out import left_out
from linkladder.host import freebsd_text, linux_text
from linkladder.model import End, HostFacts, Path, Setting, SettingKind
from linkladder.priv import sysctls

CAPTURE = FilePath(__file__).parents[1] / "captures/freebsd-15.1/sysctl-net.txt"
RENO = Setting(SettingKind.CONGESTION, "reno")
PLAN = """name = "p"
[[experiment]]
rungs = ["same-vlan"]
settings = [{kind = "congestion", value = "reno"}]
baseline = true
"""


def told(near: tuple[str, ...], far: tuple[str, ...]) -> dict[str, str]:
    (rung,) = plans.read_plan(PLAN).rungs
    facts = {
        End.NEAR: HostFacts("alpha", congestion_controls=near),
        End.FAR: HostFacts("beta", congestion_controls=far),
    }
    return left_out(rung.experiments, Path("192.0.2.1", "192.0.2.2", "beta"), facts)


def test_it_restarts_no_adapter_and_is_told_in_words() -> None:
    plain, changed = plans.read_plan(PLAN).rungs[0].experiments
    assert changed.settings == (RENO,) and not RENO.restarts and not changed.discard_first
    assert phrases.difference(changed, plain) == "congestion control reno"
    assert not phrases.offloads([])


@pytest.mark.parametrize("value", ["", "Cubic", "cubic; reboot", "-h", "x" * 40, "on off"])
def test_what_is_no_name_is_refused(value: str) -> None:
    assert Setting(SettingKind.CONGESTION, value).wrong
    with pytest.raises(plans.PlanError, match="cubic or reno"):
        plans.read_plan(PLAN.replace('"reno"', f'"{value}"'))


def test_a_kernel_that_has_it_not_or_goes_by_it_already_is_said_and_left_out() -> None:
    assert told(("cubic", "reno"), ("cubic", "reno")) == {}
    assert told(("cubic", "reno"), ("cubic", "newreno")) == {}, "FreeBSD calls it so"
    (why,) = set(told(("cubic", "reno"), ("cubic",)).values()) - {"nothing is left to compare it with"}
    assert why == "the kernel of beta has no congestion reno"
    assert any("is reno already" in said for said in told(("reno", "cubic"), ("newreno", "cubic")).values())


def test_what_a_kernel_has_is_read_the_one_in_force_first() -> None:
    text = CAPTURE.read_text().partition("net.inet.tcp.cc.available:")[2].partition("net.inet.tcp.cc.algorithm")[0]
    assert freebsd_text.registered(text.strip()) == ("cubic",)
    assert freebsd_text.registered("CCmod D PCB count\nnewreno   0\ncubic * 2\n") == ("cubic", "newreno")
    assert freebsd_text.registered("") == ()
    assert linux_text.in_force_first("cubic\n", "reno bbr cubic\n") == ("cubic", "reno", "bbr")
    assert linux_text.in_force_first("", "reno") == ()


@pytest.mark.parametrize(("system", "expected"), [("FreeBSD", "newreno"), ("Linux", "reno")])
def test_it_is_made_by_the_name_that_the_system_knows_and_the_helper_allows(system: str, expected: str) -> None:
    for asked in ("reno", "newreno"):
        setting = Setting(SettingKind.CONGESTION, asked)
        assert setting.in_kernel(system, "cubic") == expected
        assert sysctls.check(system, setting.sysctl(system), expected) == expected


async def test_it_is_lent_once_by_a_machine_and_asks_for_no_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    class Lent:
        def __init__(self, changes: list[object], undo: object, later: list[object]) -> None:
            self.changes, self.later = changes, later
            asked.extend(changes)

        async def acquire(self) -> tuple[str, ...]:
            return ()

        async def release(self) -> tuple[str, ...]:
            return ()

    monkeypatch.setattr(lending, "Lease", Lent)
    service = Service(lambda event: None)
    await service.do(wire.Reserve("test"))
    await service.do(wire.TakeLease((RENO,), ("192.0.2.1", "192.0.2.2"), 5.0, ()))
    await service.close()
    assert [str(one) for one in asked] == ["sysctl net.ipv4.tcp_congestion_control reno"]
