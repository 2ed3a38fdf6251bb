"""The addresses of an appliance's interfaces, and the default routes that go with them.

`service netif restart IF` starts one interface anew and leaves every other as it is, its DHCP client too. A route
through that interface goes with its address, and rc.d/routing, which netif calls for that interface alone, does not
bring back a default route: the steps here do. `service routing restart` would remove every other's routes as well,
and a DHCP client restores its own with a new address only.
"""

from __future__ import annotations

import socket
from collections.abc import Callable

from linkladder.priv.appliance import SERVICE, assign, forget, in_rc_conf, setting
from linkladder.priv.checks import Refused, address, exactly, interface, number, one_of
from linkladder.priv.running import capture

Step = list[str] | Callable[[], None]
ROUTE, NETSTAT = "/sbin/route", "/usr/bin/netstat"
ROUTERS = {"inet": "defaultrouter", "inet6": "ipv6_defaultrouter"}  # of each IP version, its variable in rc.conf


def address_steps(args: list[str]) -> list[Step]:
    """address INTERFACE dhcp | none | static ADDRESS/PREFIX [ROUTER]"""
    exactly(args[:2], "interface", "method")
    name = interface(args[0])
    method = one_of(args[1], "method", ("dhcp", "none", "static"))
    own = f"ifconfig_{in_rc_conf(name)}"
    if method != "static":
        exactly(args, "interface", "method")
        saved = [assign(f"{own}={'DHCP' if method == 'dhcp' else 'up'}"), *forget(f"{own}_ipv6")]
        return [*saved, *_restart(name, {})]
    exactly(args[:3], "interface", "method", "address")
    plain, _, prefix = args[2].partition("/")
    six = ":" in address(plain)
    number(prefix, "prefix", 1, 128 if six else 32)
    router = ""
    if len(args) > 3:
        exactly(args, "interface", "method", "address", "router")
        router = address(args[3], "router")
        if (":" in router) != six:
            raise Refused("router", "is of the other IP version")
    kept = assign(f"{own}_ipv6=inet6 {plain}/{prefix}" if six else f"{own}=inet {plain}/{prefix}")
    return [kept, *_restart(name, {"inet6" if six else "inet": router} if router else {})]


def _restart(name: str, given: dict[str, str]) -> list[Step]:
    """Keep the routers that are given by IP version, start the interface anew, and set default routes that need it."""
    saved: list[Step] = []
    before: list[Step] = []
    after: list[Step] = []
    for family, variable in ROUTERS.items():
        kept, router = _canonical(setting(variable)), given.get(family, "")
        if router:
            saved.append(assign(f"{variable}={router}"))
        routes = _default_routes(family)
        for gateway, card in routes:
            # Removed first, as `route add` would put a second one beside the first.
            if card == name or router:
                (before if card == name else after).append(_route("delete", family, gateway))
        if router or (kept, name) in routes:
            after.append(_route("add", family, router or kept))
    return [*saved, *before, [SERVICE, "netif", "restart", name], *after]


def _route(action: str, family: str, gateway: str) -> list[str]:
    return [ROUTE, "-n", action, f"-{family}", "default", *([] if "#" in gateway else [gateway])]


def _default_routes(family: str) -> list[tuple[str, str]]:
    """The gateway (link#N for none) and the interface of each default route that is in force."""
    rows = [line.split() for line in capture([NETSTAT, "-rnW", "-f", family]).splitlines()]
    place = next((row.index("Netif") for row in rows if "Netif" in row), 0)
    return [(_canonical(row[1]), row[place]) for row in rows if row[:1] == ["default"] and len(row) > place > 1]


def _canonical(text: str) -> str:
    """The address as the system prints it; anything else as it is."""
    plain, percent, zone = text.partition("%")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    try:
        return socket.inet_ntop(family, socket.inet_pton(family, plain)) + percent + zone
    except OSError:
        return text
