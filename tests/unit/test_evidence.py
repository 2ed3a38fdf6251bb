"""What the facts say of where a machine is claimed to stand."""

from __future__ import annotations

import pytest

import trials
from linkladder import host, plan
from linkladder.engine.paths import moved
from linkladder.engine.placement import Survey, evidence, survey
from linkladder.model import Command, Contract, End, Evidence, Path, Rtt, Rung, RungName
from linkladder.plan import Link

HERE = Path("10.0.0.1", "10.0.0.2", "beta")


def found(
    monkeypatch: pytest.MonkeyPatch,
    name: RungName,
    seen: Survey,
    subnet: bool = True,
    direct: bool = True,
    earlier: dict[RungName, float] | None = None,
    expected: float | None = None,
) -> Evidence:
    monkeypatch.setattr(host, "same_subnet", lambda *_: subnet)
    monkeypatch.setattr(host, "arp_direct", lambda *_: direct)
    return evidence(Rung(name), HERE, seen, earlier or {}, Contract(expected_rtt_ms=expected), "Move it", "done")


def test_a_machine_near_by_is_believed_and_one_behind_a_router_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    good = found(monkeypatch, RungName.SAME_VLAN, Survey(0.2, 0), earlier={RungName.SAME_HOST: 0.05})
    assert not good.contradicts and good.against == ()
    assert (good.asked, good.word) == ("Move it", "done")
    assert "no router between" in " ".join(good.findings) and "on same-host it was 0.0500 ms" in good.findings[-1]
    bad = found(monkeypatch, RungName.SAME_VLAN, Survey(0.2, 2), subnet=False, direct=False)
    assert bad.contradicts and len(bad.against) == 3
    assert bad.findings[:3] == bad.against and "2 routers between" in bad.against[2]
    across = found(monkeypatch, RungName.DC_LINK, Survey(0.2, 2), subnet=False, direct=False)
    assert not across.contradicts, "a link between two places may be routed"


@pytest.mark.parametrize(
    ("name", "rtt", "earlier", "expected", "contradicts"),
    [
        (RungName.SAME_HOST, 25.0, {}, None, True),
        (RungName.DC_LINK, 0.1, {}, 5.0, True),
        (RungName.DC_LINK, 4.0, {}, 5.0, False),
        (RungName.DC_LINK, 0.4, {RungName.SAME_VLAN: 1.0}, None, True),
        (RungName.DC_LINK, 0.04, {RungName.SAME_VLAN: 0.1}, None, False),  # too short to say anything
        (RungName.SAME_VLAN, None, {RungName.SAME_HOST: 0.1}, None, False),
    ],
)
def test_the_round_trip_speaks_too(
    monkeypatch: pytest.MonkeyPatch,
    name: RungName,
    rtt: float | None,
    earlier: dict[RungName, float],
    expected: float | None,
    contradicts: bool,
) -> None:
    seen = found(monkeypatch, name, Survey(rtt, 0), earlier=earlier, expected=expected)
    assert seen.contradicts is contradicts, seen


@pytest.mark.parametrize(
    ("line", "hops"),
    [
        ("64 bytes from 10.0.0.2: icmp_seq=1 ttl=63 time=0.045 ms", 1),
        ("64 bytes from 10.0.0.2: icmp_seq=0 ttl=64 time=0.213 ms", 0),
        ("16 bytes from fd00::2, icmp_seq=0 hlim=61 time=0.4 ms", 3),
        ("nothing", None),
    ],
)
def test_routers_are_counted_by_the_ttl_that_is_left(line: str, hops: int | None) -> None:
    ping = Command(End.NEAR, "client", ("ping",), 0, f"PING\n{line}\n")
    assert survey(trials.trial("s", 0, True, commands=(ping,), rtt=Rtt(1, 1, 0.2))) == Survey(0.2, hops)


def test_every_rung_that_shares_its_addresses_asks_for_a_move() -> None:
    shared = Path("10.0.0.1", "10.0.0.2", "beta")
    own = Path("10.1.0.1", "10.1.0.2", "beta")
    link = Link(Contract(), {RungName.SAME_HOST: (shared,), RungName.SAME_VLAN: (own,), RungName.DC_LINK: (shared,)})
    made = plan.with_link(plan.builtin("quick", 2, Contract()), link)
    assert [moved(made, rung) for rung in made.rungs] == [False, True, False, True]
