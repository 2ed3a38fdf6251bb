"""What a run has on loan from several ends, held against ends that take their time."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from linkladder import wire
from linkladder.engine import leases
from linkladder.engine.route import Route, Side
from linkladder.engine.trial import NoLegLeft, Trial
from linkladder.model import End, Experiment, Fault, Outcome, Setting, SettingKind
from linkladder.peer import PeerLost, Refused


class Slow:
    """Ends of which the near one has its settings only after the far one has been renewed twice."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.renewed = asyncio.Event()

    def end(self, name: str) -> Any:
        async def ask(request: object) -> object:
            word = f"{name} {type(request).__name__}"
            if isinstance(request, wire.TakeLease) and name == "near":
                await self.renewed.wait()
            if isinstance(request, wire.RenewLease):
                if f"{name} TakeLease" not in self.heard:
                    raise Refused("nothing is on loan from this end")
                if self.heard.count(word) == 1:
                    self.renewed.set()
            self.heard.append(word)
            return wire.LeaseReply(())

        return SimpleNamespace(ask=ask, lost=False)


async def test_an_end_is_renewed_while_the_next_one_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "RENEWAL", 0.01)
    slow = Slow()
    near = Side(0, slow.end("near"), "near", "127.0.0.1", "lo")
    far = Side(1, slow.end("far"), "far", "127.0.0.2", "lo")
    route = Route(cast(Any, None), near, far)
    loan = leases.Loan((Setting(SettingKind.MTU, "9000", (End.NEAR, End.FAR)),), [route], ["127.0.0.1"])
    async with asyncio.timeout(30):
        async with loan:
            await loan.check()
    first = [word for word in slow.heard if word != "near RenewLease"]
    assert first[:4] == ["far TakeLease", "far RenewLease", "far RenewLease", "near TakeLease"]
    assert [word for word in slow.heard if "Return" in word] == ["near ReturnLease", "far ReturnLease"]


async def test_what_comes_no_further_is_renewed_no_more_though_time_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(leases, "RENEWAL", 0.01)
    monkeypatch.setattr(leases, "time", SimpleNamespace(monotonic=lambda: now))
    slow = Slow()
    slow.renewed.set()
    sides = [Side(n, slow.end(name), name, f"127.0.0.{n + 1}", "lo") for n, name in enumerate(["near", "far"])]
    loan = leases.Loan(
        (Setting(SettingKind.MTU, "9000", (End.NEAR, End.FAR)),), [Route(cast(Any, None), *sides)], ["127.0.0.1"]
    )
    async with asyncio.timeout(30), loan:
        for _ in range(4):
            now += 0.9 * leases.STEP
            heard = len(slow.heard)
            while len(slow.heard) < heard + 3:
                await asyncio.sleep(0.01)
            loan.progressed()
        await loan.check()
        now += 1.1 * leases.STEP
        while not all(task.done() for task in loan._renewing):
            await asyncio.sleep(0.01)
        heard = len(slow.heard)
        await asyncio.sleep(0.1)
        assert len(slow.heard) == heard
        with pytest.raises(Refused, match=r"came no step further for 60 s, so its settings were put back"):
            await loan.check()


class Three:
    """Three ends that lend at once; what is asked of one that is lost fails, or is never answered, or is refused."""

    def __init__(self, lost: str = "") -> None:
        self.lost, self.silent, self.asked = lost, "", list[tuple[str, object]]()
        self.going = ""  # it is lost with the next question
        self.says: dict[str, str] = {}  # why an end refuses to renew

    def side(self, number: int, name: str) -> Side:
        return Side(number, cast(Any, Point(self, name)), name, f"127.0.0.{number + 1}", "lo")

    def mesh(self) -> list[Route]:
        near, beta, gamma = (self.side(n, name) for n, name in enumerate(("near", "beta", "gamma")))
        return [Route(cast(Any, None), *pair) for pair in ((near, beta), (near, gamma), (beta, gamma))]

    def of(self, kind: type[object]) -> list[tuple[str, Any]]:
        return [(name, request) for name, request in self.asked if isinstance(request, kind)]


@dataclass
class Point:
    """One of the three ends."""

    three: Three
    name: str

    @property
    def lost(self) -> bool:
        return self.name == self.three.lost

    async def ask(self, request: object) -> object:
        if self.name in (self.three.lost, self.three.going):
            self.three.lost = self.name
            raise PeerLost(f"{self.name} is gone")
        if self.name == self.three.silent and isinstance(request, wire.RenewLease):
            await asyncio.Event().wait()
        self.three.asked.append((self.name, request))
        if self.name in self.three.says and isinstance(request, wire.RenewLease):
            raise Refused(self.three.says[self.name])
        return wire.LeaseReply(())


async def test_an_end_that_is_both_sides_of_a_mesh_lends_once() -> None:
    three = Three()
    async with leases.Loan((Setting(SettingKind.TSO, "off"),), three.mesh(), ["127.0.0.1"]):
        taken = three.of(wire.TakeLease)
    assert sorted((name, request.addresses) for name, request in taken) == [
        ("beta", ("127.0.0.2",)),
        ("gamma", ("127.0.0.3",)),
        ("near", ("127.0.0.1",)),
    ]
    assert len(three.of(wire.ReturnLease)) == 3


@pytest.mark.parametrize("away", ["before", "lost", "silent"])
async def test_what_the_others_lent_is_renewed_though_one_end_is_lost(
    away: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEWAL", 0.01)
    three = Three("gamma" if away == "before" else "")
    async with (
        asyncio.timeout(30),
        leases.Loan((Setting(SettingKind.TSO, "off"),), three.mesh(), ["127.0.0.1"]) as loan,
    ):
        three.lost, three.silent = ("", "gamma") if away == "silent" else ("gamma", "")
        renewed = len(three.of(wire.RenewLease))
        while len(three.of(wire.RenewLease)) < renewed + 6:
            await asyncio.sleep(0.01)
        three.silent = ""
        await loan.check()
    assert {name for name, _ in three.of(wire.ReturnLease)} >= {"near", "beta"}


async def test_once_one_end_has_put_back_the_others_are_renewed_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does the trial go on, which would measure something else until its end."""
    monkeypatch.setattr(leases, "RENEWAL", 0.01)
    three = Three()
    async with (
        asyncio.timeout(30),
        leases.Loan((Setting(SettingKind.TSO, "off"),), three.mesh(), ["127.0.0.1"]) as loan,
    ):
        loan.progressed()
        three.says = {"gamma": "the lease had run out"}
        while not all(task.done() for task in loan._renewing):
            await asyncio.sleep(0.01)
        with pytest.raises(Refused, match="had run out"):
            loan.progressed()
        with pytest.raises(Refused, match="had run out"):
            await loan.check()
    assert len(three.of(wire.ReturnLease)) == 3


async def test_a_trial_waits_for_its_tools_no_longer_than_its_loan_lasts() -> None:
    three = Three()
    routes = three.mesh()[:1]
    trial = Trial(routes, Experiment("e", duration=3600), 0, [5301], lambda _: None)
    loan = leases.Loan((Setting(SettingKind.TSO, "off"),), routes, ["127.0.0.1"])
    (leg,) = trial.legs
    leg.progressed = loan.progressed
    client = SimpleNamespace(exited=asyncio.Event(), live=SimpleNamespace(span=None), quiet=0.0)
    async with asyncio.timeout(30), loan:
        asyncio.get_running_loop().call_later(0.1, setattr, loan, "_ended", "the lease had run out")
        with pytest.raises(NoLegLeft):
            await trial._every_leg(lambda one: one._wait([cast(Any, client)], math.inf))
    assert leg.broken == Outcome(False, Fault.TOOL, "the lease had run out")


async def test_an_end_that_does_not_say_what_held_fails_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "ANSWER", 0.1)
    three = Three()
    with pytest.raises(Refused, match="gamma did not say within"):
        async with leases.Loan((Setting(SettingKind.TSO, "off"),), three.mesh(), ["127.0.0.1"]) as loan:
            three.silent = "gamma"
            await loan.check()
    assert len(three.of(wire.ReturnLease)) == 3


async def test_a_trial_whose_end_is_lost_before_it_has_said_what_held_is_not_taken_for_good() -> None:
    three = Three()
    with pytest.raises(PeerLost):
        async with leases.Loan((Setting(SettingKind.TSO, "off"),), three.mesh(), ["127.0.0.1"]) as loan:
            three.going = "gamma"
            await loan.check()


async def test_what_an_end_says_of_its_settings_once_the_tools_have_ended_fails_the_trial() -> None:
    """The last renewal comes however short the trial was."""
    three = Three()
    with pytest.raises(Refused, match="changed by something else"):
        async with leases.Loan((Setting(SettingKind.TSO, "off"),), three.mesh(), ["127.0.0.1"]) as loan:
            await loan.check()
            three.says = {"beta": "tso of sh0 was changed by something else"}
            await loan.check()
    assert len(three.of(wire.ReturnLease)) == 3
