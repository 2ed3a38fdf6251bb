"""Checks what the fields of a request may hold; other values are refused with the field's name."""

from __future__ import annotations

import ipaddress
import re

from linkladder.model import LONGEST_NAME, Experiment, Setting
from linkladder.model.asked import KERNEL_NAME, MOST, beyond
from linkladder.tools import TEST_PORTS, TOOLS

PORTS = TEST_PORTS  # a port is open only while a trial uses it
MOST_CARDS = 1000  # of an end, in a trial
MOST_PATHS = 20_000  # a mesh of 200 ends
KEY = re.compile(r"[0-9a-f]{32}")  # the secret of one probe of a port, or of one trial
OBEYED = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)  # by a terminal, or by no file at all
INTERFACE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,14}")

EVERYBODY = ipaddress.ip_address("255.255.255.255")


class Refused(Exception):
    """An end understood a request and refused it, with the reason; `holder` is who measures with it if it is busy."""

    def __init__(self, why: str, holder: str = "") -> None:
        super().__init__(why)
        self.holder = holder


def check_experiment(exp: Experiment) -> None:
    """Check that numbers are in range, so that no peer can make this end run forever or use up its memory."""
    check_text(exp.id, "experiment.id", LONGEST_NAME)
    check_text(exp.label, "experiment.label", LONGEST_NAME)
    check_text(exp.baseline, "experiment.baseline", LONGEST_NAME)
    if exp.kernel and not KERNEL_NAME.fullmatch(exp.kernel):
        raise Refused(f"experiment.kernel: expected a kernel's name, got {exp.kernel[:40]!r}")
    if exp.tool not in TOOLS:
        raise Refused(f"experiment.tool: expected one of {', '.join(TOOLS)}, got {exp.tool[:40]!r}")
    if exp.protocol not in TOOLS[exp.tool].protocols:
        raise Refused(f"experiment.protocol: {exp.tool} does not measure {exp.protocol}")
    if wrong := beyond(exp):
        raise Refused(": ".join(wrong))
    check_range(len(exp.paths), "paths", 0, len(PORTS))
    for number in exp.paths:
        check_range(number, "paths", 0, MOST_PATHS)
    check_settings(exp.settings)


def check_settings(settings: tuple[Setting, ...]) -> None:
    check_range(len(settings), "settings", 0, MOST["settings"])
    for one in settings:
        if one.wrong:
            raise Refused(f"settings: {one.kind} {one.value[:20]!r}: {one.wrong}")


def check_text(value: str, name: str, limit: int) -> None:
    if len(value) > limit or OBEYED.search(value):
        raise Refused(f"{name}: expected one line of at most {limit} characters")


def check_address(value: str, name: str) -> None:
    try:
        one = ipaddress.ip_address(value) if len(value) <= 64 else None
    except ValueError:
        one = None
    zone = value.partition("%")[2]  # Python accepts any text as a zone
    one = getattr(one, "ipv4_mapped", None) or one  # for an IPv6 socket these are the IPv4 addresses in them
    everybody = one is None or one.is_multicast or one.is_unspecified or one == EVERYBODY
    if everybody or ("%" in value and not INTERFACE.fullmatch(zone)):
        raise Refused(f"{name}: expected an IP address, got {value[:60]!r}")


def check_interface(value: str, name: str) -> None:
    if not INTERFACE.fullmatch(value):
        raise Refused(f"{name}: expected an interface name")


def check_port(value: int) -> None:
    if value not in PORTS:
        raise Refused(f"port: expected one from {PORTS.start} to {PORTS.stop - 1}, got {value}")


def check_key(value: str) -> None:
    if not KEY.fullmatch(value):
        raise Refused("key: expected 32 hexadecimal digits")


def check_range(value: float, name: str, low: float, high: float) -> None:
    if not low <= value <= high:
        raise Refused(f"{name}: expected from {low:g} to {high:g}, got {str(value)[:40]}")
