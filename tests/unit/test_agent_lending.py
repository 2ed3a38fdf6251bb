"""What an end lends: settings of the path's own adapter, to who has reserved it, and never of what carries control."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from linkladder import host, wire
from linkladder.agent import Service
from linkladder.agent.lending import control_adapters
from linkladder.host.freebsd import FreeBSD
from linkladder.model import End, HostFacts, Nic, Setting, SettingKind

ADDRESSES = {"192.0.2.1": "vmx1", "192.0.2.2": "vmx0", "192.0.2.3": "vmx0.98", "127.0.0.1": "lo0"}
IFCONFIG = {
    "vlan5": "\tvlan: 5 vlanproto: 802.1q vlanpcp: 0 parent interface: vmx1\n",
    "lagg0": "\tlaggport: vmx1 flags=4<ACTIVE>\n\tlaggport: vmx2 flags=4<ACTIVE>\n",
    "bridge0": "\tmember: vmx3 flags=143<LEARNING,DISCOVER,AUTOEDGE,AUTOPTP>\n\tmember: vlan5 flags=143<LEARNING>\n",
}
NINE = (Setting(SettingKind.MTU, "9000"),)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """vmx0 leads to peer and operator, vmx1 is for measuring."""
    nics = tuple(replace(Nic("vmx1"), name=name, loopback=name == "lo0") for name in dict.fromkeys(ADDRESSES.values()))
    monkeypatch.setattr(host, "interface_of", lambda address: ADDRESSES.get(address, ""))
    monkeypatch.setattr(host, "route_interface", lambda remote: "vmx0" if remote == "198.51.100.7" else "")
    monkeypatch.setattr(host, "below", lambda name: FreeBSD.below(cast(Any, None), name))
    monkeypatch.setattr("linkladder.priv.appliance.capture", lambda argv: IFCONFIG.get(argv[-1], ""))
    monkeypatch.setattr(host, "facts", lambda: replace(HostFacts("alpha"), nics=nics))
    monkeypatch.delenv("SSH_CONNECTION", raising=False)


async def refusal(address: str, control: tuple[str, ...] = ("198.51.100.7",), reserve: bool = True) -> str:
    service = Service(lambda event: None)
    if reserve:
        await service.do(wire.Reserve("test"))
    with pytest.raises(wire.Refused) as caught:
        await service.do(wire.TakeLease(NINE, (address,), 5.0, control))
    await service.close()
    return str(caught.value)


async def test_who_has_not_reserved_borrows_nothing(machine: None) -> None:
    assert "reserve this appliance first" in await refusal("192.0.2.1", reserve=False)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("192.0.2.2", "vmx0 carries control"),
        ("192.0.2.3", "vmx0.98 carries control"),  # a VLAN's frames leave by the adapter that it lies on
        ("127.0.0.1", "lo0 is the loopback"),
        ("192.0.2.9", "not an address of this appliance"),
    ],
)
async def test_the_adapter_that_carries_control_is_never_changed(machine: None, address: str, reason: str) -> None:
    assert reason in await refusal(address)


@pytest.mark.parametrize("control", ["vlan5", "lagg0", "bridge0", "vmx1.7"])
async def test_nor_is_what_control_stands_upon(machine: None, control: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "route_interface", lambda remote: control)
    assert "vmx1 carries control" in await refusal("192.0.2.1")


async def test_nor_what_stands_upon_the_same_card(machine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ADDRESSES, "192.0.2.5", "vlan5")
    monkeypatch.setattr(host, "route_interface", lambda remote: "lagg0")
    assert "vlan5 carries control" in await refusal("192.0.2.5")


async def test_what_is_not_known_is_not_risked(machine: None) -> None:
    assert "not known which adapter carries control" in await refusal("192.0.2.1", control=())
    assert "not known by which adapter 198.51.100.8 is reached" in await refusal("192.0.2.1", control=("198.51.100.8",))


def test_the_adapter_of_the_channel_or_of_an_operators_login_is_controls(
    machine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "203.0.113.5 50000 192.0.2.1 8622")
    assert control_adapters(("198.51.100.7",)) == {"vmx0", "vmx1"}


async def test_one_lease_at_a_time_and_none_is_no_error(machine: None) -> None:
    service = Service(lambda event: None)
    assert await service.do(wire.ReturnLease()) == wire.LeaseReply(())
    with pytest.raises(wire.Refused, match="nothing is on loan"):
        await service.do(wire.RenewLease())
    await service.close()


@pytest.mark.parametrize("value", ["1279", "9217", "", "-1", "9e3", "٩٠٠٠", "on", "1" * 50])
def test_an_mtu_that_no_undo_would_bring_back_is_no_setting(value: str) -> None:
    assert Setting(SettingKind.MTU, value, (End.FAR,)).wrong
    with pytest.raises(wire.Refused, match="settings: mtu"):
        wire.TakeLease((Setting(SettingKind.MTU, value),), ("192.0.2.1",), 5.0).check()
