"""Puts the signs of random loss, a policer or a shallow buffer into words, from their figures."""

from __future__ import annotations

from linkladder import units


def loses_above(low_loss: float, low: float, high_loss: float, high: float) -> str:
    less = f"{units.share(low_loss, 2)} of {units.rate(low)}"
    return f"paced UDP loses {less} and {units.share(high_loss, 1)} of {units.rate(high)}"


def loses_alike(low_loss: float, low: float, high_loss: float, high: float) -> str:
    less = f"{units.share(low_loss, 2)} of {units.rate(low)}"
    return f"paced UDP loses {less} and {units.share(high_loss, 2)} of {units.rate(high)} alike"


def loses_as_tcp(loss: float, offered: float) -> str:
    return f"paced UDP loses {units.share(loss, 2)} of {units.rate(offered)}, about as TCP does"


def delivers_no_more(delivered: float) -> str:
    return f"paced UDP delivers {units.rate(delivered)} however much is offered"


def first_second(times: float, even: bool) -> str:
    """How much faster the first second was; `even`: whether all later seconds were alike."""
    rest = " than the even rest" if even else ", and the queue comes and goes with bursts"
    return f"the first second ran {times:.1f} times faster{rest}"


def calm_loses_less(udp_loss: float, offered: float, tcp_loss: float) -> str:
    return (
        f"paced UDP loses {units.share(udp_loss, 3)} of {units.rate(offered)} where TCP, which sends in bursts, loses "
        f"{units.share(tcp_loss, 2)} of its segments"
    )


def streams_add_nothing() -> str:
    return "more streams carry no more"


def streams_add(many: int, carried: float, few: int, before: float) -> str:
    carry = "carries" if few == 1 else "carry"
    return f"{many} streams carry {units.rate(carried)} where {few} {carry} {units.rate(before)}"


def carries_more(offered: float, loss: float, goodput: float) -> str:
    return (
        f"paced UDP of {units.rate(offered)} loses {units.share(loss, 3)}, so that the path carries more than the "
        f"{units.rate(goodput)} of TCP, which sends in bursts"
    )
