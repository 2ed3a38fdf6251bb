"""Puts a staircase into words: which changes were kept, what they achieve, and how to set them on each system."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from linkladder import units
from linkladder.model import KERNEL, Experiment, Path, Setting, SettingKind
from linkladder.phrases.arms import window
from linkladder.phrases.ways import way
from linkladder.verdicts import Landing


def staircase(direction: str, landings: Sequence[Landing]) -> str:
    """As 'Staircase, near to far: 3.45 Gb/s as it is; MTU 9000 kept, 6.64 Gb/s (+92 %); ...'."""
    parts: list[str] = []
    first, last = landings[0].bps, landings[0].bps
    for number, step in groupby(landings, key=lambda one: one.step):
        base, *tried = step
        if number == landings[0].step:
            parts.append(f"{units.rate(base.bps)} as it is")
        won = next((one for one in tried if one.kept), None)
        if won and won.ratio:
            parts.append(f"{won.words} kept, {units.rate(won.bps)} ({100 * (won.ratio - 1):+.0f} %)")
        elif tried:
            parts.append(f"nothing sure gained by {' or '.join(one.words for one in tried)}")
        last = won.bps if won else base.bps
    gained = first > 0 and any(one.kept and one.ratio for one in landings)
    times = f" From {units.rate(first)} to {units.rate(last)}, {last / first:.2f} times." if gained else ""
    return f"Staircase, {way(direction)}: {'; '.join(parts)}.{times}"


def to_set(p: Experiment, path: Path | None) -> list[str]:
    """A line for each change to keep: what to set where, on FreeBSD, Linux and ESXi."""
    near, far = (path.local_interface, path.remote_interface) if path else ("", "")
    card = near or "IFACE"
    other = f" (and {far} at the other end)" if far and far != near else " at both ends"
    sentences = [f"To set, {one.kind.upper()} {one.value}: {_line(one, card)}{other}." for one in p.settings]
    if p.window:
        sentences.append(
            f"To set, {window(p.window)} socket buffers: FreeBSD sysctl kern.ipc.maxsockbuf={2 * p.window} "
            f"net.inet.tcp.sendbuf_max={p.window} net.inet.tcp.recvbuf_max={p.window}; Linux sysctl "
            f"net.core.rmem_max={p.window} net.core.wmem_max={p.window}; and ask for it in the application."
        )
    if p.streams > 1:
        sentences.append(f"To set, {p.streams} streams: let the application open {p.streams} connections.")
    return sentences


def _line(one: Setting, card: str) -> str:
    if one.kind is SettingKind.MTU:
        return (
            f"FreeBSD ifconfig {card} mtu {one.value}; Linux ip link set dev {card} mtu {one.value}; "
            f"ESXi the same MTU on the virtual switch"
        )
    if one.of_bundle:
        return f"FreeBSD ifconfig lagg0 create laggproto {one.value} laggport {card} laggport the others up"
    if one.of_machine:
        by_system = [(system, name, one.in_kernel(system, "")) for system, name in KERNEL[one.kind].sysctls.items()]
        return "; ".join(f"{system} sysctl {name}={value}" for system, name, value in by_system)
    name = one.kind.value
    minus = "" if one.value == "on" else "-"
    return f"FreeBSD ifconfig {card} {minus}{name}; Linux ethtool -K {card} {name} {one.value}"
