"""Says in words why a document cannot be judged at all, each as a clause."""

from __future__ import annotations


def of_trial(rung: str, experiment: str, repeat: int, flaw: str) -> str:
    return f"{rung} {experiment}, repeat {repeat + 1}: {flaw}"


def _twice(what: str, name: object, count: int) -> str:
    return f"{what} {name} is there {count} times"


def rung_twice(name: object, count: int) -> str:
    return _twice("rung", name, count)


def planned_rung_twice(name: object, count: int) -> str:
    return _twice("planned rung", name, count)


def end_twice(name: object, count: int) -> str:
    return _twice("end", name, count)


def experiment_twice(rung: str, name: object, count: int) -> str:
    return _twice(f"experiment of {rung}", name, count)


def repeat_twice(rung: str, experiment: str, repeat: object, count: int) -> str:
    return _twice(f"repeat of {rung} {experiment}", repeat, count)


def experiment(rung: str, name: str) -> str:
    return f"{rung} {name}: streams, repeats, duration or warm-up cannot be so"


RATES = "the contract's rates are not between 1 kb/s and 10 Tb/s"
PACKETS = "the contract's MTU, VLAN tags or encapsulation cannot be so"
IP_VERSION = "the contract's IP version is neither 4 nor 6"
LIMITS = "the contract's limits of loss and availability are no shares, or its DSCP is none"
TIMES = "the contract's delay, jitter or expected round trip is less than nothing"
PASS_RATIO = "the contract's share that is needed to pass is not above 0 and at most 1"
GOODPUT = "its goodput is no rate"
GOOD_AND_FAULTY = "it is said to be good and to have a fault"
PARTS = "its intervals or flows cannot be so"
LONG = "it took longer than any trial can"
LOST = "it lost more datagrams than were sent"
