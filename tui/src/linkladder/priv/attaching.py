"""Attaches a card anew on FreeBSD, as iflib reads the number of its queues, their rings and their first core only then.

The card's interface goes with it: its addresses, MTU, offloads, flags and sysctls. So all of that is recorded first,
restored from the record, and read back; iflib's variables are in the kernel's environment for the moment of attaching
alone. While the record is there the card is not back yet as it was, and whoever asks for a value next brings it back;
nobody reads the card's sysctls then, as their handlers use what it has not got (15.1 panics at em's reg_dump), and who
asks ifconfig waits until it is there again, as 15.1 panics as well where a card goes while it is asked (if_detach).
devd would set an attached card up by rc.conf (/etc/pccard_ether) in the middle of that: its rule of ours passes over
what is attached here. Other drivers' cards are refused: vmx is asked for its state before it has any (if_vmx.c,
vmxnet3_update_admin_status reads vmx_ds), and FreeBSD 15.1 panics.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from linkladder import codec
from linkladder.priv.appliance import measuring_adapter, not_management
from linkladder.priv.card_state import IFCONFIG, SHOWN, Card, boot, card, check, put_back, surely
from linkladder.priv.checks import DIGITS, LETTERS, Refused, number, word
from linkladder.priv.running import Failed, capture

Step = list[str] | Callable[[], None]
# The drivers whose cards may be attached anew between trials, as tried on 15.1 by tests/vm/test_rings.py: em with an
# 82574L (QEMU's e1000e), igb with an 82576. Another one is tried there first.
DRIVERS = ("em", "igb")
RECORD = "/var/run/linkladder-attaching.{}"
GRACE = 1.0  # seconds: whoever began to read the card's sysctls before the record was there has read them then
TURN = "/var/run/linkladder-attach.lock"
LOOK = 0.05  # seconds between looks whether a card is attached anew
OURS = "/var/run/linkladder-attached.{}"  # which devd's rule removes, and passes over the card
RULE = "/usr/local/etc/devd/linkladder.conf"
DEVCTL, KENV, SYSCTL = "/usr/sbin/devctl", "/bin/kenv", "/sbin/sysctl"
DEFAULT = "default"  # the driver's own choice, which iflib writes as 0
VARIABLES = {  # below dev.DRIVER.UNIT.iflib, of receiving and sending
    "queues": ("override_nrxqs", "override_ntxqs"),
    "ring": ("override_nrxds", "override_ntxds"),
    "queue-core": ("core_offset",),
}
# What ifconfig tells of a card that comes back by itself or from the record.
LINES = ("flags=", "options=", "ether ", "hwaddr ", "inet ", "inet6 ", "media: Ethernet autoselect", "status: ", "nd6 ")
FULL = "3"  # flow control both ways
FLAGS = {"UP", "BROADCAST", "RUNNING", "SIMPLEX", "MULTICAST", "LOWER_UP", "DRV_OACTIVE", "PROMISC"}  # by listeners
NEIGHBOURS = {  # what ifconfig calls an option of neighbour discovery, and how it is set
    "PERFORMNUD": "nud",
    "ACCEPT_RTADV": "accept_rtadv",
    "AUTO_LINKLOCAL": "auto_linklocal",
    "NO_RADR": "no_radr",
    "NO_DAD": "no_dad",
    "IFDISABLED": "ifdisabled",
}


@dataclass(frozen=True)
class Before:
    """A card and all that attaching it anew takes from it."""

    boot: str
    device: str  # where it is on its bus, as its name goes where attaching fails
    card: Card
    neighbours: tuple[str, ...]  # options of neighbour discovery
    sysctls: dict[str, str]  # that can be written
    attached: dict[str, str]  # iflib's variables that it was attached with
    kernel: dict[str, str]  # the same in the kernel's environment; '' what is not set there


def steps(kind: str, args: list[str]) -> list[Step]:
    """queues | ring INTERFACE N or RX/TX, each a number or default; queue-core INTERFACE CORE"""
    name = word(args[0], "interface", LETTERS + DIGITS + "._-", 15)
    if not iflib_of(name):
        raise Refused("verb", "FreeBSD reads this when it attaches a card, which may stop the kernel: set it at boot")
    name = not_management(name) if os.path.lexists(RECORD.format(name)) else measuring_adapter(name)
    ways = args[1].split("/", 1) if kind != "queue-core" else [args[1]]
    values = [_value(kind, one) for one in ways]
    variables = VARIABLES[kind]
    return [lambda: anew(name, {variables[0]: values[0], variables[-1]: values[-1]})]


def iflib_of(interface: str) -> str:
    """'dev.em.0.iflib.', below which are the variables of em0 by which it is attached; '' of a driver not known."""
    driver = interface.rstrip(DIGITS)
    unit = interface.removeprefix(driver)
    return f"dev.{driver}.{unit}.iflib." if unit and driver in DRIVERS else ""


def _value(kind: str, text: str) -> str:
    if kind == "queue-core":
        return number(text, kind, 0, 1023)
    if text == DEFAULT:
        return "0"
    value = number(text, kind, 1, 128 if kind == "queues" else 16384)
    if kind == "ring" and int(value) & (int(value) - 1):
        raise Refused(kind, "expected a power of 2, as iflib takes no other")
    return value


def anew(name: str, wanted: dict[str, str]) -> None:
    """Attach the card with these variables and otherwise as it is; does nothing if it is attached so already.

    Two callers at once, such as the undo process and the holder of a lease, take turns.
    """
    with open(TURN, "w", encoding="ascii") as turn:
        os.fchmod(turn.fileno(), 0o644)  # for `at_rest`, whoever asks
        fcntl.flock(turn, fcntl.LOCK_EX)
        left = _remembered(name)
        before = left or _seen(name)
        asked = before.attached | wanted
        if not left:
            if asked == before.attached:
                return
            _check(before)
            _remember(before)
            time.sleep(GRACE)
        if not _detach(before):
            if not left:
                _forget(name)
            raise Failed(f"{name} is in use and cannot be detached")
        _attach(before, asked)
        _restore(before)
        _forget(name)
        _check_granted(before, wanted)


def at_rest(limit: float = 5.0) -> bool:
    """Wait while a card is attached anew, so many seconds at most; returns whether none is.

    Nothing is held afterwards: whoever reads may be anybody, and must not be able to keep a card from coming back. What
    begins now is over when a card goes next, as that is a grace after its record.
    """
    until = time.monotonic() + limit
    while not (free := _free_turn()) and time.monotonic() < until:
        time.sleep(LOOK)
    return free


def _free_turn() -> bool:
    try:
        with open(TURN, encoding="ascii") as turn:
            fcntl.flock(turn, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # most likely there is no such file, as no card was attached anew since the machine started
        return True
    return True


def _seen(name: str) -> Before:
    shown = _shown(name)
    found = card(name, shown)
    prefix = iflib_of(name)
    attached = {one: _sysctl(prefix + one) for ones in VARIABLES.values() for one in ones}
    where = re.search(r"\bdbsf=(\S+)", _sysctl(prefix.removesuffix("iflib.") + "%location"))
    if not found or not where or not all(attached.values()):
        raise Failed(f"{name} is no card with queues of iflib")
    kernel = {one: capture([KENV, "-q", prefix + one]).strip() for one in attached}
    return Before(boot(), where[1], found, _neighbours(shown), _writable(name), attached, kernel)


def _check(before: Before) -> None:
    """Raise Failed if something about the card would not come back."""
    name = before.card.name
    check(before.card)
    if not os.path.exists(RULE):
        raise Failed(f"{RULE} is missing, without which devd would set {name} up by rc.conf meanwhile")
    shown = _shown(name)
    lines = [line.strip() for line in shown.removeprefix(f"{name}: ").splitlines()]
    odd = [line for line in lines if not line.startswith(LINES)]
    flags = re.search(r"flags=\w+<([^>]*)>", shown)
    odd += sorted(set(flags[1].split(",")) - FLAGS - {""}) if flags else []
    if odd:
        raise Failed(f"{name} has {odd[0]!r}, which would not come back")
    # em tells of all its cards what was last written for any of them (if_em.c, em_set_flowcntl).
    if before.sysctls.get(f"{iflib_of(name).removesuffix('iflib.')}fc", FULL) != FULL:
        raise Failed(f"flow control of {name} is not the driver's own, and would not come back")
    if re.search(rf"^\s+vlan: .*parent interface: {name}$", capture([IFCONFIG, "-a"]), re.MULTILINE):
        raise Failed(f"{name} has a VLAN on it, which would not come back")


def _detach(before: Before) -> bool:
    """Whether the card is detached now; it may have been before, or have failed to attach."""
    capture([DEVCTL, "disable", before.device])
    return not _there(before.card.name)


def _attach(before: Before, asked: dict[str, str]) -> None:
    name, prefix = before.card.name, iflib_of(before.card.name)
    try:
        for variable, value in asked.items():
            surely([KENV, f"{prefix}{variable}={value}"])
        os.close(os.open(OURS.format(name), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        capture([DEVCTL, "enable", before.device])  # whether the card is there then is asked below
    finally:
        for variable, value in before.kernel.items():
            capture([KENV, f"{prefix}{variable}={value}"] if value else [KENV, "-u", prefix + variable])
        if not _there(name):
            _remove(OURS.format(name))


def _restore(before: Before) -> None:
    name = before.card.name
    if not _there(name):
        raise Failed(f"{name} did not come back when it was attached anew")
    if now := set(_neighbours(_shown(name))) ^ set(before.neighbours):
        words = [word if flag in before.neighbours else f"-{word}" for flag, word in NEIGHBOURS.items() if flag in now]
        surely([IFCONFIG, name, "inet6", *words])
    put_back(before.card)
    for _ in range(2):
        other = {one: value for one, value in before.sysctls.items() if _writable(name).get(one) != value}
        if not other:
            break
        for one, value in other.items():
            surely([SYSCTL, f"{one}={value}"])
    else:
        raise Failed(f"{', '.join(other)} of {name} could not be put back")
    if (shown := _neighbours(_shown(name))) != before.neighbours:
        raise Failed(f"{name} has {', '.join(shown)} of neighbour discovery, and had {', '.join(before.neighbours)}")


def _check_granted(before: Before, wanted: dict[str, str]) -> None:
    """Raise Failed if the driver took other rings than it was asked for; iflib's own sysctl repeats what was asked.

    What the machine's own loader.conf asks for may be more than the card has, and is as it was before.
    """
    name = before.card.name
    granted = re.findall(
        rf"^(?:<\d+>)?(?:\[[\d.]+\] )?{name}: Using (\d+) TX descriptors and (\d+) RX descriptors",  # [seconds]
        capture([SYSCTL, "-n", "kern.msgbuf"]),
        re.MULTILINE,
    )
    sizes = granted[-1] if granted else ("", "")
    for variable, size in zip(("override_ntxds", "override_nrxds"), sizes, strict=True):
        value = wanted.get(variable, "0")
        if value not in ("0", before.kernel[variable], size):
            raise Failed(f"{name} took {size or 'an unknown number of'} descriptors, not {value}")


def _there(name: str) -> bool:
    return name in capture([IFCONFIG, "-l"]).split()


def _shown(name: str) -> str:
    return capture([IFCONFIG, *SHOWN, name])


def _sysctl(name: str) -> str:
    return capture([SYSCTL, "-n", name]).strip()


def _neighbours(shown: str) -> tuple[str, ...]:
    found = re.search(r"^\s+nd6 options=\w+<([^>]*)>", shown, re.MULTILINE)
    return tuple(flag for flag in NEIGHBOURS if found and flag in found[1].split(","))


def _writable(name: str) -> dict[str, str]:
    """The card's sysctls that can be written, but for those by which it is attached."""
    prefix = iflib_of(name)
    text = capture([SYSCTL, "-eW", prefix.removesuffix(".iflib.")])
    return {
        one: value
        for one, value in re.findall(r"^([\w.%-]+)=(.*)$", text, re.MULTILINE)
        if not one.startswith(f"{prefix}override_n")
    }


def _remember(before: Before) -> None:
    """Write the record; it is completely on disk when this returns."""
    path = RECORD.format(before.card.name)
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(json.dumps(codec.to_json(before)))
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.new", path)


def _remembered(name: str) -> Before | None:
    """What a caller that was ended in the middle has left; None if there is none of this boot."""
    try:
        with open(RECORD.format(name), encoding="utf-8") as file:
            found = codec.from_json(Before, json.load(file))
    except FileNotFoundError:
        return None
    now = boot()
    return found if now == found.boot or not (now and found.boot) else None


def _forget(name: str) -> None:
    _remove(RECORD.format(name))


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
