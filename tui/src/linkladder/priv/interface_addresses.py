"""The addresses of an appliance's interfaces, and the default routes that go with them.

`service netif restart IF` starts one interface anew and leaves every other as it is, its DHCP client too. A route
through that interface goes with its address, and rc.d/routing, which netif calls for that interface alone, does not
bring back a default route: the steps here do. `service routing restart` would remove every other's routes as well,
and a DHCP client restores its own with a new address only.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable

from linkladder.priv.appliance import SERVICE, assign, forget, in_rc_conf, setting
from linkladder.priv.card_state import has_client
from linkladder.priv.checks import Refused, address, exactly, interface, number, one_of
from linkladder.priv.running import capture

Step = list[str] | Callable[[], None]
ROUTE, NETSTAT = "/sbin/route", "/usr/bin/netstat"
LEASES = "/var/db/dhclient.leases"
# Of each IP version: the variables of rc.conf with its router, and with the interface that it was given for.
ROUTERS = {
    "inet": ("defaultrouter", "linkladder_router_of"),
    "inet6": ("ipv6_defaultrouter", "linkladder_ipv6_router_of"),
}


def address_steps(args: list[str]) -> list[Step]:
    """address INTERFACE dhcp | none | static ADDRESS/PREFIX [ROUTER]"""
    exactly(args[:2], "interface", "method")
    name = interface(args[0])
    method = one_of(args[1], "method", ("dhcp", "none", "static"))
    own = f"ifconfig_{in_rc_conf(name)}"
    if method != "static":
        exactly(args, "interface", "method")
        saved = [assign(f"{own}={'DHCP' if method == 'dhcp' else 'up'}"), *forget(f"{own}_ipv6")]
        return [*saved, *_restart(name, dict.fromkeys(ROUTERS, ""))]
    exactly(args[:3], "interface", "method", "address")
    plain, _, prefix = args[2].partition("/")
    six = ":" in address(plain)
    number(prefix, "prefix", 1, 128 if six else 32)
    router = _router(args, plain, prefix) if len(args) > 3 else ""
    kept = assign(f"{own}_ipv6=inet6 {plain}/{prefix}" if six else f"{own}=inet {plain}/{prefix}")
    return [kept, *_restart(name, {"inet6" if six else "inet": router})]


def _router(args: list[str], own: str, prefix: str) -> str:
    """The router, which must be reached from the address itself: the earlier route is gone when its own is made."""
    exactly(args, "interface", "method", "address", "router")
    router = address(args[3], "router")
    if (":" in router) != (":" in own):
        raise Refused("router", "is of the other IP version")
    at = ipaddress.ip_interface(f"{own.partition('%')[0]}/{prefix}")
    hop = ipaddress.ip_address(router.partition("%")[0])
    by_link = ":" in router and hop.is_link_local
    if hop == at.ip or not (by_link or hop in at.network):
        raise Refused("router", f"expected another address in {at.network}")
    if by_link and router.partition("%")[2] != args[0]:
        raise Refused("router", f"a link-local one is written with the interface, as {hop}%{args[0]}")
    return router


def _restart(name: str, routers: dict[str, str]) -> list[Step]:
    """Start the interface anew with these routers by IP version; '' removes the one that was given for it before."""
    saved: list[Step] = []
    before: list[Step] = []
    after: list[Step] = []
    for family, (variable, holder) in ROUTERS.items():
        kept, router = _canonical(setting(variable)), routers.get(family, "")
        routes = _default_routes(family)
        # A router of which nobody has kept whose it is, such as an earlier release's, is whose route is in force.
        its_own = setting(holder) == name or (not setting(holder) and (kept, name) in routes)
        dropped = its_own and not router and family in routers
        if router:
            saved += [assign(f"{variable}={router}"), assign(f"{holder}={name}")]
        elif dropped:
            saved += forget(variable, holder)
        ending = [r for r in routes if r[1] == name or router or (dropped and r[0] == kept)]
        for gateway, card in ending:
            # Removed first, as `route add` would put a second one beside the first.
            (before if card == name else after).append(_route("delete", family, gateway))
        back = router or (kept if not dropped and (kept, name) in routes else "")
        if ending == routes != [] and not back and family == "inet":
            back = _leased_router(name)
        if back:
            after.append(_route("add", family, back))
    return [*saved, *before, [SERVICE, "netif", "restart", name], *after]


def _leased_router(name: str) -> str:
    """The router of the management adapter's lease, if it is not the interface that starts anew; '' for none."""
    card = setting("linkladder_management")
    if card in ("", name) or not has_client(card):
        return ""
    try:
        with open(f"{LEASES}.{card}", encoding="utf-8", errors="replace") as file:
            lease = file.read().rpartition("lease {")[2]
    except OSError:
        return ""
    lines = [line.strip().rstrip(";") for line in lease.splitlines()]
    options = dict(line.removeprefix("option ").partition(" ")[::2] for line in lines if line.startswith("option "))
    try:  # as dhclient-script: the first router, and none beside classless routes
        return "" if "classless-routes" in options else address(options.get("routers", "").partition(",")[0])
    except Refused:
        return ""


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
