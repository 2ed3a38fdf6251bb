"""An address for one interface: what of the routes goes with it, and what stays as it is."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from linkladder.priv import appliance, card_state, interface_addresses, verbs
from linkladder.priv.checks import Refused

TABLES = {"inet": "Internet", "inet6": "Internet6"}
NETIF = "/usr/sbin/service netif restart {}".format


class System:
    """An appliance with some default routes in force and an rc.conf of its own."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "rc.conf"
        self.conf(linkladder_management="vmx0", ifconfig_vmx0="DHCP")
        self.routes: dict[str, list[tuple[str, str]]] = {"inet": [("10.0.0.1", "vmx0")], "inet6": []}

    def conf(self, **settings: str) -> None:
        self.file.write_text("".join(f'{name}="{value}"\n' for name, value in settings.items()))

    def netstat(self, argv: list[str]) -> str:
        """As FreeBSD 15.1's netstat prints it with -W."""
        assert argv[:3] == ["/usr/bin/netstat", "-rnW", "-f"]
        rows = [("Destination", "Gateway", "Flags", "Nhop#", "Mtu", "Netif", "Expire")]
        rows += [("default", gateway, "UGS", "5", "1500", card) for gateway, card in self.routes[argv[3]]]
        rows += [("10.0.0.0/24", "link#1", "U", "1", "1500", "vmx0")]
        return f"Routing tables\n\n{TABLES[argv[3]]}:\n" + "".join("   ".join(row) + "\n" for row in rows)

    def steps(self, *args: str) -> list[str]:
        steps = verbs.build("operator", "address", list(args), "FreeBSD")
        assert all(isinstance(step, list) for step in steps)
        said = [" ".join(step) for step in steps if isinstance(step, list)]
        return [line.replace(f"/usr/sbin/sysrc -f {self.file} ", "sysrc ") for line in said]


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> System:
    made = System(tmp_path)
    monkeypatch.setattr(appliance, "RC_CONF", str(made.file))
    monkeypatch.setattr(interface_addresses, "capture", made.netstat)
    monkeypatch.setattr(socket, "if_nametoindex", lambda name: ["lo0", "vmx0", "vmx1"].index(name))
    return made


def test_an_address_without_a_router_leaves_every_other_route_alone(system: System) -> None:
    assert system.steps("vmx1", "static", "10.9.0.2/24") == ["sysrc ifconfig_vmx1=inet 10.9.0.2/24", NETIF("vmx1")]


@pytest.mark.parametrize("method", ["dhcp", "none", "static 10.0.0.1/24", "static 10.0.0.1/24 10.0.0.254"])
def test_no_change_of_an_address_restarts_or_flushes_routing(system: System, method: str) -> None:
    said = system.steps("vmx1", *method.split())
    assert NETIF("vmx1") in said
    assert not [line for line in said if "routing" in line or "flush" in line]


def test_a_router_takes_the_place_of_the_default_route_that_is_in_force(system: System) -> None:
    assert system.steps("vmx1", "static", "10.9.0.2/24", "10.9.0.1") == [
        "sysrc ifconfig_vmx1=inet 10.9.0.2/24",
        "sysrc defaultrouter=10.9.0.1",
        "sysrc linkladder_router_of=vmx1",
        NETIF("vmx1"),
        "/sbin/route -n delete -inet default 10.0.0.1",
        "/sbin/route -n add -inet default 10.9.0.1",
    ]
    system.routes["inet"] = []
    assert system.steps("vmx1", "static", "10.9.0.2/24", "10.9.0.1")[-2:] == [
        NETIF("vmx1"),
        "/sbin/route -n add -inet default 10.9.0.1",
    ]


def test_each_ip_version_has_its_own_default_route(system: System) -> None:
    system.routes["inet6"] = [("fe80::1%vmx0", "vmx0"), ("link#1", "vmx0")]
    assert system.steps("vmx1", "static", "fd00::2/64", "fd00:0::1")[1:] == [
        "sysrc ipv6_defaultrouter=fd00:0::1",
        "sysrc linkladder_ipv6_router_of=vmx1",
        NETIF("vmx1"),
        "/sbin/route -n delete -inet6 default fe80::1%vmx0",
        "/sbin/route -n delete -inet6 default",
        "/sbin/route -n add -inet6 default fd00:0::1",
    ]


def test_the_default_route_through_an_interface_comes_back_with_it(system: System) -> None:
    """Another address of the management adapter's must not cost its router of the other IP version."""
    system.conf(linkladder_management="vmx0", ifconfig_vmx0="inet 10.0.0.5/24", defaultrouter="10.0.0.1")
    assert system.steps("vmx0", "static", "fd00::5/64") == [
        "sysrc ifconfig_vmx0_ipv6=inet6 fd00::5/64",
        "/sbin/route -n delete -inet default 10.0.0.1",
        NETIF("vmx0"),
        "/sbin/route -n add -inet default 10.0.0.1",
    ]
    system.routes["inet"] = [("10.0.0.1", "vmx1")]
    assert system.steps("vmx0", "static", "fd00::5/64")[1:] == [NETIF("vmx0")]


@pytest.mark.parametrize(("method", "value"), [("none", "up"), ("dhcp", "DHCP")])
def test_an_interface_without_a_fixed_address_has_none_of_ipv6_either(system: System, method: str, value: str) -> None:
    """sysrc fails over a variable that is not there, and is not asked to remove one."""
    alone = [f"sysrc ifconfig_vmx1={value}", NETIF("vmx1")]
    assert system.steps("vmx1", method) == alone
    system.conf(ifconfig_vmx0_ipv6="inet6 fd00::1/64", ifconfig_vmx1_ipv6="inet6 fd00:1::1/64")
    assert system.steps("vmx1", method) == [alone[0], "sysrc -x ifconfig_vmx1_ipv6", alone[1]]


def test_a_fixed_address_leaves_the_one_of_the_other_ip_version(system: System) -> None:
    system.conf(ifconfig_vmx1="inet 10.9.0.2/24", ifconfig_vmx1_ipv6="inet6 fd00:1::1/64")
    assert system.steps("vmx1", "static", "10.9.0.3/24") == ["sysrc ifconfig_vmx1=inet 10.9.0.3/24", NETIF("vmx1")]
    assert system.steps("vmx1", "static", "fd00:1::2/64")[0] == "sysrc ifconfig_vmx1_ipv6=inet6 fd00:1::2/64"


GIVEN = {"defaultrouter": "10.9.0.1", "linkladder_router_of": "vmx1"}
GIVEN_6 = {"ipv6_defaultrouter": "FD00:1:0::1", "linkladder_ipv6_router_of": "vmx1"}


def test_a_router_goes_with_the_address_that_it_was_given_with(system: System) -> None:
    system.conf(**GIVEN, **GIVEN_6)
    system.routes = {"inet": [("10.9.0.1", "vmx1")], "inet6": [("fd00:1::1", "vmx1")]}
    assert system.steps("vmx1", "static", "10.9.0.3/24") == [
        "sysrc ifconfig_vmx1=inet 10.9.0.3/24",
        "sysrc -x defaultrouter linkladder_router_of",
        "/sbin/route -n delete -inet default 10.9.0.1",
        "/sbin/route -n delete -inet6 default fd00:1::1",
        NETIF("vmx1"),
        "/sbin/route -n add -inet6 default fd00:1::1",
    ]
    for method, value in (("none", "up"), ("dhcp", "DHCP")):
        assert system.steps("vmx1", method) == [
            f"sysrc ifconfig_vmx1={value}",
            "sysrc -x defaultrouter linkladder_router_of",
            "sysrc -x ipv6_defaultrouter linkladder_ipv6_router_of",
            "/sbin/route -n delete -inet default 10.9.0.1",
            "/sbin/route -n delete -inet6 default fd00:1::1",
            NETIF("vmx1"),
        ]


def test_only_the_default_route_by_that_router_goes_with_it(system: System) -> None:
    system.conf(**GIVEN)
    assert not [line for line in system.steps("vmx1", "none") if "route -n" in line]
    system.routes["inet"] = [("10.0.0.1", "vmx0"), ("10.9.0.1", "vmx2")]
    assert system.steps("vmx1", "none")[-2:] == [NETIF("vmx1"), "/sbin/route -n delete -inet default 10.9.0.1"]


@pytest.mark.parametrize("holder", [{"linkladder_router_of": "vmx0"}, {}])
def test_a_router_of_another_interface_or_of_unknown_origin_stays(system: System, holder: dict[str, str]) -> None:
    system.conf(defaultrouter="10.0.0.1", **holder)
    for method in ("none", "dhcp", "static 10.9.0.3/24"):
        said = system.steps("vmx1", *method.split())
        assert len(said) == 2 and NETIF("vmx1") in said


def test_a_router_of_unknown_origin_is_the_interface_s_through_which_it_is_in_force(system: System) -> None:
    system.conf(ifconfig_vmx1="inet 10.9.0.2/24", defaultrouter="10.9.0.1")
    system.routes["inet"] = [("10.9.0.1", "vmx1")]
    assert system.steps("vmx1", "none")[1:3] == [
        "sysrc -x defaultrouter",
        "/sbin/route -n delete -inet default 10.9.0.1",
    ]


@pytest.mark.parametrize(
    ("address", "router", "right"),
    [
        ("10.9.0.2/24", "10.9.0.1", True), ("10.9.0.2/31", "10.9.0.3", True), ("10.9.0.2/24", "10.8.0.1", False),
        ("10.9.0.2/24", "10.9.0.2", False), ("10.9.0.2/24", "fd00::1", False), ("fd00::2/64", "fd00::1", True),
        ("fd00::2/64", "fd01::1", False), ("fd00::2/64", "fe80::1%vmx1", True), ("fd00::2/64", "fe80::1", False),
        ("fd00::2/64", "fe80::1%vmx0", False), ("fe80::2%vmx1/64", "fe80::1%vmx1", True),
    ],
)  # fmt: skip
def test_a_router_that_the_address_does_not_reach_is_refused(
    system: System, address: str, router: str, right: bool
) -> None:
    """Nothing is done then: its route could not be made once the earlier one is away."""
    if right:
        assert system.steps("vmx1", "static", address, router)[-1].endswith(f"default {router}")
        return
    with pytest.raises(Refused) as caught:
        system.steps("vmx1", "static", address, router)
    assert caught.value.field == "router"


LEASES = """lease {
  interface "vmx0";
  fixed-address 10.0.0.5;
  option routers 10.0.0.254;
  expire 0 2026/11/29 04:00:00;
}
lease {
  interface "vmx0";
  fixed-address 10.0.0.5;
  option subnet-mask 255.255.255.0;
  option routers 10.0.0.1,10.0.0.2;
  option domain-name "routers.example";
  expire 0 2026/11/29 05:00:00;
}
"""


def lease(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str = LEASES) -> None:
    """As dhclient keeps its leases, the one that holds at the end."""
    (folder / "dhclient.leases.vmx0").write_text(text)
    (folder / "dhclient.vmx0.pid").write_text(str(os.getpid()))
    monkeypatch.setattr(interface_addresses, "LEASES", str(folder / "dhclient.leases"))
    monkeypatch.setattr(card_state, "LEASES", str(folder))


LEASED = "/sbin/route -n add -inet default 10.0.0.1"


def test_the_management_adapter_s_route_by_dhcp_comes_back(
    system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a default route by another adapter goes; its client adds it with a new address only."""
    conf = {"linkladder_management": "vmx0", "ifconfig_vmx0": "DHCP"}
    system.conf(**conf, **GIVEN)
    system.routes["inet"] = [("10.9.0.1", "vmx1")]
    assert LEASED not in system.steps("vmx1", "none"), "there is no lease"
    lease(tmp_path, monkeypatch)
    for method in ("none", "dhcp", "static 10.9.0.3/24"):
        assert system.steps("vmx1", *method.split())[-2:] == [NETIF("vmx1"), LEASED]
    assert LEASED not in system.steps("vmx0", "dhcp"), "its client starts anew"
    assert LEASED not in system.steps("vmx1", "static", "10.9.0.3/24", "10.9.0.1")
    assert LEASED not in system.steps("vmx1", "static", "fd00::3/64"), "the router stays"
    system.routes["inet"] = [("10.0.0.1", "vmx0"), ("10.9.0.1", "vmx1")]
    assert LEASED not in system.steps("vmx1", "none"), "it is there"
    system.routes["inet"] = []
    assert LEASED not in system.steps("vmx1", "none"), "nothing was taken away"


@pytest.mark.parametrize(
    "spoilt",
    [
        ("option subnet-mask 255.255.255.0", "option classless-routes 0,10,0,0,2"),
        ("option routers 10.0.0.1,", "option routers 224.0.0.1,"),
        ("option routers 10.0.0.1,10.0.0.2;\n", ""),
    ],
)
def test_a_lease_without_a_router_of_its_own_gives_no_route(
    system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoilt: tuple[str, str]
) -> None:
    """Where there are classless routes the client takes them alone (RFC 3442)."""
    assert spoilt[0] in LEASES
    lease(tmp_path, monkeypatch, LEASES.replace(*spoilt))
    system.conf(linkladder_management="vmx0", ifconfig_vmx0="DHCP", **GIVEN)
    system.routes["inet"] = [("10.9.0.1", "vmx1")]
    assert system.steps("vmx1", "none")[-1] == NETIF("vmx1")
    (tmp_path / "dhclient.leases.vmx0").write_text(LEASES)
    assert system.steps("vmx1", "none")[-1] == LEASED
    (tmp_path / "dhclient.vmx0.pid").unlink()
    assert system.steps("vmx1", "none")[-1] == NETIF("vmx1"), "no client holds that lease"
