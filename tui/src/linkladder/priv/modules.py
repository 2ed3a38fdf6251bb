"""Loads and unloads kernel modules for a measurement: congestion controls and TCP stacks of FreeBSD."""

from __future__ import annotations

from collections.abc import Callable

from linkladder.priv import running, sysctls
from linkladder.priv.checks import Refused, exactly, one_of

Step = list[str] | Callable[[], None]
CONGESTION, STACK = "net.inet.tcp.cc.algorithm", "net.inet.tcp.functions_default"
PREFIX = {CONGESTION: "cc_", STACK: "tcp_"}
NAMES = tuple(f"{prefix}{name}" for sysctl, prefix in PREFIX.items() for name in sysctls.FREEBSD[sysctl])


def steps(system: str, args: list[str]) -> list[Step]:
    """module NAME on | off"""
    exactly(args, "module", "state")
    name, state = one_of(args[0], "module", NAMES), one_of(args[1], "state", ("on", "off"))
    if system != "FreeBSD":
        raise Refused("module", f"{system} loads its modules itself")
    return [["/sbin/kldload", "-n", name]] if state == "on" else [lambda: _unload(name)]


def loading(algorithm: str) -> list[Step]:
    """The steps that load a congestion control's module if the kernel lacks it."""
    there = running.capture(["/sbin/sysctl", "-n", "net.inet.tcp.cc.available"]).split()
    return [] if algorithm in there else [["/sbin/kldload", "-n", f"cc_{algorithm}"]]


def _unload(name: str) -> None:
    """Unload a module. Connections that still use it (closed ones for a minute) first get the default algorithm."""
    if name.startswith(PREFIX[CONGESTION]):
        now = running.capture(["/sbin/sysctl", "-n", CONGESTION]).strip()
        running.run(["/usr/sbin/tcpsso", "-C", name.removeprefix(PREFIX[CONGESTION]), "TCP_CONGESTION", now])
        running.run(["/sbin/kldunload", name])
    else:
        running.run(["/sbin/kldunload", "-f", name])  # a TCP stack moves its connections itself
