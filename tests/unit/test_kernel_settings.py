"""Settings of the whole machine: each by its sysctl, in a range that the helper allows, or said to be missing."""

from __future__ import annotations

from pathlib import Path as FilePath
from types import SimpleNamespace

import pytest

from linkladder import phrases
from linkladder import plan as plans
from linkladder.engine.left_out import left_out
from linkladder.host import freebsd, linux
from linkladder.model import KERNEL, End, HostFacts, Path, Setting, SettingKind
from linkladder.priv import sysctls, verbs
from linkladder.priv.checks import Refused
from linkladder.settings import SettingsError, reversible

CAPTURE = FilePath(__file__).parents[1] / "captures/freebsd-15.1/sysctl-net.txt"
VALUES = {
    SettingKind.CONGESTION: "cubic",
    SettingKind.STACK: "rack",
    SettingKind.STACK_TSO: "off",
    SettingKind.SACK: "off",
    SettingKind.DELAYED_ACK: "off",
    SettingKind.ECN: "on",
    SettingKind.INITIAL_WINDOW: "20",
    SettingKind.SEND_BUFFER: "16777216",
    SettingKind.RECEIVE_BUFFER: "16777216",
    SettingKind.SEND_DEFAULT: "262144",
    SettingKind.RECEIVE_DEFAULT: "262144",
    SettingKind.SEND_CEILING: "16777216",
    SettingKind.RECEIVE_CEILING: "16777216",
}
PRESENT = {"net.ipv4.tcp_wmem": "4096 16384 4194304", "net.ipv4.tcp_rmem": "4096 131072 6291456"}


@pytest.mark.parametrize("kind", KERNEL)
def test_each_is_allowed_by_the_helper_and_told_of_by_the_facts(kind: SettingKind) -> None:
    one = Setting(kind, VALUES[kind])
    assert not one.wrong and one.of_machine and not one.restarts
    for system, name in KERNEL[kind].sysctls.items():
        value = one.in_kernel(system, PRESENT.get(name, "1"))
        assert sysctls.check(system, name, value) == value
        assert name in {"FreeBSD": freebsd.SYSCTLS, "Linux": linux.SYSCTLS}[system], "left out where it is so already"
        if system == "FreeBSD" and name.startswith("net."):
            assert f"{name}:" in CAPTURE.read_text(), "FreeBSD has it"


def test_linux_keeps_the_other_two_numbers_of_a_buffer() -> None:
    one = Setting(SettingKind.RECEIVE_BUFFER, "16777216")
    assert one.in_kernel("Linux", "4096 131072 6291456") == "4096 131072 16777216"
    assert one.in_kernel("FreeBSD", "2097152") == "16777216"
    first = Setting(SettingKind.RECEIVE_DEFAULT, "262144")
    assert first.in_kernel("Linux", "4096 131072 6291456") == "4096 262144 6291456"
    assert first.in_kernel("FreeBSD", "65536") == "262144"


@pytest.mark.parametrize(
    ("kind", "value"),
    [("sack", "maybe"), ("initial-window", "0"), ("send-buffer", "12"), ("stack", "RACK!"), ("delayed-ack", "1")],
)
def test_a_value_that_it_cannot_have_is_refused_by_the_plan(kind: str, value: str) -> None:
    with pytest.raises(plans.PlanError, match="expected"):
        plans.read_plan(plan(kind, value))


def plan(kind: str, value: str) -> str:
    return (
        f'name = "p"\n[[experiment]]\nrungs = ["same-vlan"]\nbaseline = true\n'
        f'settings = [{{kind = "{kind}", value = "{value}"}}]\n'
    )


def why(kind: str, value: str, near: HostFacts, far: HostFacts) -> set[str]:
    (rung,) = plans.read_plan(plan(kind, value)).rungs
    facts = {End.NEAR: near, End.FAR: far}
    found = left_out(rung.experiments, Path("192.0.2.1", "192.0.2.2", "beta"), facts)
    return set(found.values()) - {"nothing is left to compare it with"}


def test_what_a_system_has_not_or_has_already_is_said_and_left_out() -> None:
    linux = HostFacts("alpha", "Linux", sysctls={"net.ipv4.tcp_sack": "1", **PRESENT})
    other = HostFacts(
        "beta", "FreeBSD", sysctls={"net.inet.tcp.sack.enable": "1", "net.inet.tcp.recvbuf_max": "2097152"}
    )
    assert why("delayed-ack", "off", linux, other) == {"the kernel of alpha has no delayed-ack"}
    assert why("sack", "off", linux, other) == set()
    assert why("ecn", "on", linux, other) == {"the kernel of alpha has no ecn"}, "it tells other sysctls"
    assert why("ecn", "on", HostFacts("alpha", "Linux"), HostFacts("beta", "FreeBSD")) == set(), "they tell none"
    (said,) = why("sack", "on", linux, other)
    assert "is on already" in said
    (said,) = why("receive-buffer", "6291456", linux, HostFacts("beta", "Linux", sysctls=PRESENT))
    assert "is 6291456 already" in said
    assert why("receive-buffer", "6291456", linux, other) == set(), "one end changes"
    (said,) = why("receive-default", "131072", linux, HostFacts("beta", "Linux", sysctls=PRESENT))
    assert "is 131072 already" in said
    assert why("receive-ceiling", "8388608", other, other) == {"the kernel of beta has no receive-ceiling"}


def test_a_kernel_without_it_refuses_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reversible.host, "system", lambda: "Linux")
    with pytest.raises(SettingsError, match="Linux has no delayed-ack"):
        reversible.of_machine(Setting(SettingKind.DELAYED_ACK, "off"))


REGISTERED = {
    "net.inet.tcp.cc.available": "\nCCmod           D PCB count\ncubic           * 9\n",
    "net.inet.tcp.functions_available": "\nStack  D Alias  PCB count\nfreebsd  * freebsd  2\n",
}


@pytest.fixture
def appliance(tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> freebsd.FreeBSD:
    """FreeBSD with modules of four names, of which its kernel has one built in, and a folder that is not there."""
    for name in ("cc_cubic", "cc_htcp", "tcp_rack", "tcpmd5", "if_vmx"):
        (tmp_path / f"{name}.ko").touch()
    told = REGISTERED | {"kern.module_path": f"{tmp_path};/nowhere"}
    one = freebsd.FreeBSD.__new__(freebsd.FreeBSD)
    monkeypatch.setattr(one, "_calls", SimpleNamespace(text=told.get), raising=False)
    monkeypatch.setattr(reversible, "host", SimpleNamespace(system=lambda: "FreeBSD", setting=one.setting))
    return one


def test_a_module_is_on_where_the_kernel_has_it_and_off_where_it_could(appliance: freebsd.FreeBSD) -> None:
    names = ("cc_cubic", "cc_htcp", "tcp_freebsd", "tcp_rack", "cc_cdg", "if_vmx", "rack")
    assert [appliance.setting("module", name) for name in names] == ["on", "off", "on", "off", None, None, None]


def test_what_needs_a_module_has_it_loaded_first_and_unloaded_last(appliance: freebsd.FreeBSD) -> None:
    asked = [reversible.of_machine(Setting(kind, value)) for kind, value in (
        (SettingKind.CONGESTION, "htcp"), (SettingKind.STACK, "rack"), (SettingKind.CONGESTION, "cubic"),
    )]  # fmt: skip
    assert [[str(change) for change in one] for one in asked] == [
        ["module cc_htcp on", "sysctl net.inet.tcp.cc.algorithm htcp"],
        ["module tcp_rack on", "sysctl net.inet.tcp.functions_default rack"],
        ["sysctl net.inet.tcp.cc.algorithm cubic"],
    ]
    for module in ("cc_htcp", "tcp_rack"):
        assert len(verbs.build("measure", "module", [module, "off"], "FreeBSD")) == 1
    with pytest.raises(Refused):
        verbs.build("measure", "module", ["if_vmx", "off"], "FreeBSD")


def test_a_stack_that_no_module_brings_is_said_and_left_out() -> None:
    has = {"net.inet.tcp.functions_default": "freebsd"}
    one, two = (HostFacts(name, "FreeBSD", sysctls=has, tcp_stacks=("freebsd", "rack")) for name in ("alpha", "beta"))
    assert why("stack", "rack", one, two) == set()
    assert why("stack", "bbr", one, two) == {"the kernel of alpha has no stack bbr"}


def test_it_is_told_in_words_with_what_to_set_where() -> None:
    plain, changed = plans.read_plan(plan("sack", "off")).rungs[0].experiments
    assert phrases.difference(changed, plain) == "SACK off"
    lines = phrases.to_set([changed], [Path("192.0.2.1", "192.0.2.2", "beta", "vmx1", "vmx1")])
    assert "To set, SACK off, at both ends, FreeBSD: sysctl net.inet.tcp.sack.enable=0" in lines
    assert "To set, SACK off, at both ends, Linux: sysctl -w net.ipv4.tcp_sack=0" in lines
