"""A peer's tests keep off the network by which this appliance's operator comes in."""

from __future__ import annotations

import ipaddress

import pytest

from linkladder import host, wire
from linkladder.agent.answering import Service
from linkladder.agent.targets import Caller, Targets
from linkladder.host import addresses, switches
from linkladder.model import End, Experiment, HostFacts, Nic
from linkladder.priv import verbs
from linkladder.tools import Layout

MANAGEMENT, TEST = "10.98.0.1", "10.77.0.1"
KEY = "0" * 32
BEHIND = "192.0.2.7"  # by the default route, which is the management network's


@pytest.fixture(autouse=True)
def appliance(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """vmx0 is the operator's, vmx1 for tests; a peer asks."""
    own = [("lo0", "127.0.0.1/8"), ("vmx0", f"{MANAGEMENT}/24"), ("vmx1", "fe80::1/64"), ("vmx1", f"{TEST}/24")]
    monkeypatch.setenv("SSH_CONNECTION", "10.98.0.2 50000 10.98.0.1 8622")
    monkeypatch.setattr(addresses, "own", lambda: [(name, ipaddress.ip_interface(one)) for name, one in own])
    monkeypatch.setattr(host, "interface_of", lambda one: {MANAGEMENT: "vmx0", TEST: "vmx1"}.get(one, ""))
    monkeypatch.setattr(host, "route_interface", lambda to, _="": "vmx1" if to.startswith("10.77.") else "vmx0")
    monkeypatch.setattr(switches, "appliance", lambda: switches.Appliance(management="vmx0"))
    return own


@pytest.mark.parametrize(("local", "remote"), [(MANAGEMENT, "10.98.0.2"), (TEST, BEHIND), (TEST, "10.98.0.2")])
def test_neither_from_it_nor_out_by_it(local: str, remote: str) -> None:
    with pytest.raises(wire.Refused, match=r"vmx0 is the management adapter.*tests-on-management yes"):
        Targets(Caller.PEER).check_way(local, remote)


@pytest.mark.parametrize(("local", "remote"), [(MANAGEMENT, "10.98.0.2"), (TEST, BEHIND)])
async def test_whatever_a_peer_asks_for_keeps_off_it(local: str, remote: str) -> None:
    """Also once that address has shown that it takes part."""
    service = Service(lambda _: None, Caller.PEER, "eve")
    service.targets.met(remote)
    exp, where = Experiment("e"), Layout(End.FAR, End.NEAR, protocol_port="tcp")
    try:
        await service.do(wire.Reserve("eve"))
        for request in (
            wire.Listen(local, 5301, remote, KEY),
            wire.Probe(local, remote, 5301, KEY),
            wire.Serve(exp, local, 5301, remote, KEY),
            wire.RunClient(exp, where, local, remote, 5301, key=KEY),
        ):
            with pytest.raises(wire.Refused, match="vmx0 is the management adapter"):
                await service.do(request)
    finally:
        await service.close()


def test_the_test_adapter_is_there_for_that() -> None:
    Targets(Caller.PEER).check_way(TEST, "10.77.0.2")


@pytest.mark.parametrize(
    ("allowed", "announced"), [(False, (TEST, BEHIND)), (True, (MANAGEMENT, TEST, BEHIND))], ids=["kept", "allowed"]
)
async def test_what_is_announced_for_tests_is_what_they_may_use(
    allowed: bool, announced: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a rung whose path nobody named was tried over the one network where every trial is refused."""
    nics = (
        Nic("vmx0", addresses=(MANAGEMENT,)),
        Nic("vmx1", addresses=("fe80::1", TEST)),
        Nic("vmx2", addresses=(BEHIND,)),
    )
    monkeypatch.setattr(host, "facts", lambda: HostFacts("beta", os="FreeBSD", nics=nics))
    monkeypatch.setattr(
        switches, "appliance", lambda: switches.Appliance("", "", management="vmx0", tests_on_management=allowed)
    )
    service = Service(lambda _: None, Caller.PEER, "eve")
    assert (await service.do_hello(wire.Hello(wire.PROTOCOL, "1.0", "alpha"))).addresses == announced
    await service.close()


@pytest.mark.parametrize("login", ["10.98.0.9 50000 10.98.0.1 22", ""], ids=["by ssh", "at the console"])
def test_this_ends_own_operator_names_what_he_likes(login: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By ssh he was taken for a peer, whose agents have that variable too."""
    monkeypatch.setenv("SSH_CONNECTION", login) if login else monkeypatch.delenv("SSH_CONNECTION")
    Targets(Caller.CONSOLE).check_way(MANAGEMENT, "10.98.0.2")


def test_a_peer_is_one_whatever_its_agent_was_started_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_CONNECTION")
    with pytest.raises(wire.Refused, match="vmx0 is the management adapter"):
        Targets(Caller.PEER).check_way(MANAGEMENT, "10.98.0.2")


def test_an_appliance_with_one_network_measures_over_it(appliance: list[tuple[str, str]]) -> None:
    del appliance[-1]  # vmx1 has but the address that every adapter has
    Targets(Caller.PEER).check_way(MANAGEMENT, "10.98.0.2")


def test_where_the_operator_has_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = switches.Appliance(management="vmx0", tests_on_management=True)
    monkeypatch.setattr(switches, "appliance", lambda: allowed)
    Targets(Caller.PEER).check_way(MANAGEMENT, "10.98.0.2")


def test_saying_so_is_the_operators_alone() -> None:
    (step,) = verbs.build("operator", "tests-on-management", ["yes"], "FreeBSD")
    assert step == ["/usr/sbin/sysrc", "-f", "/state/system/rc.conf", "linkladder_tests_on_management=YES"]
    for cls, words in (("measure", ["yes"]), ("operator", ["maybe"]), ("operator", [])):
        with pytest.raises(verbs.Refused):
            verbs.build(cls, "tests-on-management", words, "FreeBSD")
