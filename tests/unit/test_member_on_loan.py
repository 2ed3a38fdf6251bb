"""A member of a bundle on loan: what the helper may do to it, which card it is, and that its undo is armed first."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from linkladder import host, privilege, settings, wire
from linkladder.agent.lending import Lending
from linkladder.engine.leases import Loan
from linkladder.engine.member import MemberOutage
from linkladder.engine.route import Route, Side
from linkladder.host import linux_multipath
from linkladder.model import Away, Bundle, End, Experiment, HostFacts, Interval, Member, Nic, Setting, SettingKind
from linkladder.model.printed import Flow
from linkladder.peer import Refused as Said
from linkladder.priv import members, verbs
from linkladder.priv.checks import Refused
from linkladder.priv.running import Failed
from linkladder.settings import SettingsError, journal
from linkladder.settings.reversible import request
from linkladder.tools import acceptance

IFCONFIG = """vmx1: flags=1008843<UP,BROADCAST> metric 0 mtu 1500
\tether 52:54:00:1b:01:01
vmx2: flags=1008843<UP,BROADCAST> metric 0 mtu 1500
lagg0: flags=8843<UP,BROADCAST> metric 0 mtu 1500
\tlaggproto loadbalance lagghash l2,l3,l4
\tlaggport: vmx1 flags=4<ACTIVE>
\tlaggport: vmx2 flags=4<ACTIVE>
lagg1: flags=8843<UP,BROADCAST> metric 0 mtu 1500
\tlaggport: vmx3 flags=4<ACTIVE>
"""
ROUTES = [
    {"dst": "10.98.52.1", "prefsrc": "10.98.51.1",
     "nexthops": [{"gateway": "10.98.240.2", "dev": "m0", "weight": 1, "flags": []},
                  {"gateway": "10.98.241.2", "dev": "m1", "weight": 1, "flags": ["dead", "linkdown"]}]},
    {"dst": "10.98.0.0/24", "dev": "mg0", "prefsrc": "10.98.0.1", "flags": []},
]  # fmt: skip
DOWN = Setting(SettingKind.MEMBER, "2", since=5.0, until=9.0)
LAGG = Setting(SettingKind.LAGG, "roundrobin")


@pytest.fixture
def anything_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "measuring_adapter", lambda name: name)


def refusal(*args: str, system: str = "FreeBSD") -> str:
    with pytest.raises(Refused) as caught:
        verbs.build("measure", "member", list(args), system)
    return str(caught.value)


def commands(steps: list[Any]) -> list[list[str]]:
    return [step for step in steps if isinstance(step, list)]


def test_down_goes_what_has_others_beside_it(anything_there: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "capture", lambda argv: IFCONFIG)
    steps = verbs.build("measure", "member", ["vmx2", "down"], "FreeBSD")
    assert commands(steps) == [["/sbin/ifconfig", "vmx2", "down"]]
    for lonely in ("vmx3", "vmx0", "lagg0"):
        assert "no member of a bundle with another one beside it" in refusal(lonely, "down")
    assert "up down" in refusal("vmx2", "destroy") and "missing" in refusal("vmx2") and "missing" in refusal()
    assert "one too many" in refusal("vmx2", "down", "up")
    monkeypatch.setattr(members, "capture", lambda argv: IFCONFIG.replace("vmx1: flags=1008843<UP,", "vmx1: flags=2<"))
    assert "beside it that is up" in refusal("vmx2", "down"), "the last one stays"


def test_up_comes_what_is_in_a_bundle_or_was_taken_down(
    anything_there: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any card could be brought up, by whoever may measure: one that its operator keeps down as well."""
    monkeypatch.setattr(members, "DOWN", str(tmp_path / "member.{}"))
    shown = IFCONFIG
    monkeypatch.setattr(members, "capture", lambda argv: shown)

    def carried_out(name: str, state: str) -> list[list[str]]:
        steps = verbs.build("measure", "member", [name, state], "FreeBSD")
        for step in steps:
            if callable(step):
                step()
        return commands(steps)

    with pytest.raises(Failed, match="was not taken down here"):
        carried_out("vmx0", "up")
    assert carried_out("vmx2", "up") == [["/sbin/ifconfig", "vmx2", "up"]]
    carried_out("vmx2", "down")
    shown = IFCONFIG.partition("lagg0")[0]  # the bundle went meanwhile, and its card comes up all the same
    assert carried_out("vmx2", "up") == [["/sbin/ifconfig", "vmx2", "up"]]
    with pytest.raises(Failed):
        carried_out("vmx2", "up")


def test_on_linux_the_next_hops_of_one_route_are_members(anything_there: None, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = ["UP"]

    def ip(argv: list[str]) -> str:
        if argv[0] != members.PROGRAMS[-1]:
            return ""
        return json.dumps(ROUTES if "route" in argv else [{"ifname": name, "flags": flags} for name in ("m0", "m1")])

    monkeypatch.setattr(members, "capture", ip)
    (step,) = commands(verbs.build("measure", "member", ["m1", "down"], "Linux"))
    assert step[1:] == ["link", "set", "dev", "m1", "down"]
    assert "no member" in refusal("mg0", "down", system="Linux")
    flags.clear()
    assert "that is up" in refusal("m1", "down", system="Linux")
    monkeypatch.setattr(members, "capture", lambda argv: "")
    assert "no member" in refusal("m1", "down", system="Linux"), "nobody tells of any route"


def test_the_management_adapter_stays_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "rc.conf"
    kept.write_text('linkladder_management="lo"\n')
    monkeypatch.setattr("linkladder.priv.appliance.RC_CONF", str(kept))
    monkeypatch.setattr("linkladder.priv.checks.socket.if_nametoindex", lambda name: 1)
    assert "management adapter" in refusal("lo", "down") and "management adapter" in refusal("lo", "up")


UPON_OTHERS = {
    "lagg0.7": "\tvlan: 7 vlanproto: 802.1q vlanpcp: 0 parent interface: lagg0\n",
    "lagg0": "\tlaggport: vmx1 flags=4<ACTIVE>\n\tlaggport: vmx2 flags=4<ACTIVE>\n",
    "vlan3": "\tvlan: 3 vlanproto: 802.1q vlanpcp: 0 parent interface: vmx3\n",
}


@pytest.mark.parametrize(
    ("management", "under"),
    [("lagg0", ("vmx1", "vmx2")), ("lagg0.7", ("lagg0", "vmx1", "vmx2")), ("vlan3", ("vmx3",)), ("vmx4.9", ("vmx4",))],
)
def test_so_do_the_cards_that_it_stands_upon(
    management: str, under: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its own name was kept: the operator's bundle went down card by card."""
    kept = tmp_path / "rc.conf"
    kept.write_text(f'linkladder_management="{management}"\n')
    monkeypatch.setattr("linkladder.priv.appliance.RC_CONF", str(kept))
    monkeypatch.setattr("linkladder.priv.checks.socket.if_nametoindex", lambda name: 1)
    monkeypatch.setattr("linkladder.priv.appliance.capture", lambda argv: UPON_OTHERS.get(argv[-1], ""))
    monkeypatch.setattr(members, "capture", lambda argv: IFCONFIG)
    for name in under:
        for verb, rest in (("member", "down"), ("member", "up"), ("mtu", "1500"), ("iface-flags", "tso")):
            with pytest.raises(Refused, match="management adapter"):
                verbs.build("measure", verb, [name, rest], "FreeBSD")
    assert verbs.build("measure", "mtu", ["vmx5", "1500"], "FreeBSD")


def test_a_stub_with_an_address_behind_several_hops_is_told_as_a_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux_multipath, "output", lambda argv: json.dumps(ROUTES))
    monkeypatch.setattr(linux_multipath.addresses, "interface_of", lambda a: {"10.98.51.1": "b0"}.get(a, ""))
    monkeypatch.setattr(linux_multipath, "read", lambda path: "1")
    (found,) = linux_multipath.bundles().items()
    assert found == ("b0", Bundle("multipath", "l3,l4", (Member("m0", ("ACTIVE",)), Member("m1")), active=1))
    assert found[1].of_routes and linux_multipath.multipath("m0") is None
    monkeypatch.setattr(linux_multipath, "output", lambda argv: "")
    assert linux_multipath.bundles() == {}


# --- the lease


class Kernel:
    """Cards up and down in memory."""

    def __init__(self) -> None:
        self.now = {"vmx1": "up", "vmx2": "up"}
        self.done: list[str] = []
        self.stuck = False

    def setting(self, kind: str, target: str) -> str | None:
        return self.now.get(target) if kind == "member" else None

    async def run(self, verb: str, *args: str) -> privilege.Completed:
        self.done.append(" ".join((verb, *args)))
        if not self.stuck:
            self.now[args[0]] = args[1]
        return privilege.Completed(0, "", "")


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, own_state: Path) -> Kernel:
    made = Kernel()
    monkeypatch.setattr(host, "setting", made.setting)
    monkeypatch.setattr(host, "boot_id", lambda: "one")
    monkeypatch.setattr(privilege, "run", made.run)
    return made


async def test_it_goes_down_when_told_and_its_undo_is_written_before(kernel: Kernel, own_state: Path) -> None:
    lease = settings.Lease([], later=[settings.member_down("vmx2")])
    assert await lease.acquire() == () and kernel.done == []
    entry = json.loads((own_state / journal.NAME).read_text())["entries"][0]
    assert (entry["target"], entry["old"], entry["new"]) == ("vmx2", "up", "down")
    await lease.turn(True)
    assert kernel.now["vmx2"] == "down"
    await lease.turn(False)
    assert kernel.now["vmx2"] == "up" and kernel.done == ["member vmx2 down", "member vmx2 up"]
    await lease.release()
    assert len(kernel.done) == 2 and not (own_state / journal.NAME).exists()


async def test_the_moment_is_when_it_was_done_not_when_it_was_read_back(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = settings.Lease([], later=[settings.member_down("vmx2")])
    await lease.acquire()
    looked: list[float] = []

    def slowly(kind: str, target: str) -> str | None:
        looked.append(time.monotonic())
        return kernel.setting(kind, target)

    monkeypatch.setattr(host, "setting", slowly)
    assert await lease.turn(True) <= looked[0]
    await lease.release()


async def test_whoever_ends_it_while_it_is_down_brings_it_up(kernel: Kernel) -> None:
    lease = settings.Lease([], later=[settings.member_down("vmx2")])
    await lease.acquire()
    await lease.turn(True)
    await lease.release()
    assert kernel.now == {"vmx1": "up", "vmx2": "up"}
    with pytest.raises(SettingsError, match="no lease"):
        await lease.turn(True)


async def test_what_did_not_take_is_told(kernel: Kernel) -> None:
    lease = settings.Lease([], later=[settings.member_down("vmx2")])
    await lease.acquire()
    kernel.stuck = True
    with pytest.raises(SettingsError, match="member vmx2 did not take down"):
        await lease.turn(True)
    await lease.release()


def test_the_helper_is_asked_for_it() -> None:
    assert request("member", "vmx2", "down") == ("member", "vmx2", "down")


# --- which card it is


@pytest.fixture
def machine(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """lagg0 of vmx1 and vmx2 has the test's address, vmx0 leads to the peer."""
    owners = {"192.0.2.1": "lagg0", "192.0.2.2": "vmx0", "192.0.2.3": "vmx3"}
    monkeypatch.setattr(host, "interface_of", lambda address: owners.get(address, ""))
    monkeypatch.setattr(host, "bundle", lambda name: BUNDLES.get(name))
    monkeypatch.setattr(
        host, "facts", lambda: HostFacts("alpha", nics=tuple(Nic(n, up=True) for n in ("vmx1", "vmx2")))
    )
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    return kernel


BUNDLES = {"lagg0": Bundle("lacp", members=(Member("vmx1"), Member("vmx2")))}


async def declined(setting: Setting, address: str, control: str = "192.0.2.2") -> str:
    with pytest.raises(wire.Refused) as caught:
        await Lending().take(wire.TakeLease((setting,), (address,), 5.0, (control,)))
    return str(caught.value)


async def test_a_member_of_the_bundle_that_has_the_address_and_of_nothing_else(
    machine: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    third = Setting(SettingKind.MEMBER, "3", since=5.0, until=9.0)
    assert "lagg0 is no bundle of which a member 3" in await declined(third, "192.0.2.1")
    assert "vmx3 is no bundle of which a member 2" in await declined(DOWN, "192.0.2.3")
    assert "lagg0 carries control" in await declined(DOWN, "192.0.2.1", "192.0.2.1")
    monkeypatch.setitem(BUNDLES, "lagg0", Bundle("lacp", members=(Member("vmx1"), Member("vmx0"))))
    assert "vmx0 carries control" in await declined(DOWN, "192.0.2.1")
    monkeypatch.setitem(BUNDLES, "lagg0", Bundle("lacp", members=(Member("vmx1"), Member("vmx2"))))
    machine.now["vmx2"] = "down"
    assert "vmx2 is down already" in await declined(DOWN, "192.0.2.1")
    assert machine.done == []


async def test_an_end_tells_which_and_when_and_brings_it_up_with_the_lease(
    machine: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkladder.agent.lending.Undo", lambda seconds: None)  # root's would find no vmx2 here
    lending = Lending()
    with pytest.raises(wire.Refused, match="no member of a bundle is on loan"):
        await lending.turn(True)
    reply = await lending.take(wire.TakeLease((DOWN,), ("192.0.2.1",), 30.0, ("192.0.2.2",)))
    assert reply.changes == () and machine.done == []
    down = await lending.turn(True)
    assert down.members == ("vmx2",) and machine.now["vmx2"] == "down"
    await lending.give_back()
    assert machine.now["vmx2"] == "up"
    with pytest.raises(wire.Refused, match="no member"):
        await lending.turn(False)


# --- who keeps the time


class End_:
    """One that notes what it was asked."""

    lost = False

    def __init__(self, clock: float, refuses: bool = False) -> None:
        self.heard: list[bool] = []
        self.clock, self.refuses = clock, refuses

    async def ask(self, request: object) -> object:
        if isinstance(request, wire.SwitchMember):
            if self.refuses:
                raise Said("vmx2 did not take down")
            self.heard.append(request.down)
            return wire.SwitchedReply(("vmx2",), asyncio.get_running_loop().time() + self.clock)
        return wire.LeaseReply(())


def route(near: End_, far: End_) -> Route:
    sides = (
        Side(n, cast(Any, end), name, "127.0.0.1", "lo") for n, (end, name) in enumerate([(near, "near"), (far, "far")])
    )
    return Route(cast(Any, SimpleNamespace()), *sides)


def asked(*ends: End) -> Experiment:
    return Experiment("e", warmup=0.0, settings=(Setting(SettingKind.MEMBER, "2", ends or tuple(End), 0.02, 0.06),))


async def test_it_is_told_to_each_end_that_the_setting_names_in_the_trials_own_seconds() -> None:
    near, far = End_(0.0), End_(100.0)
    exp, offset = asked(End.FAR), {0: 0.0, 1: 100.0}
    member = MemberOutage(exp, offset)
    async with Loan(exp.settings, [route(near, far)], ["127.0.0.1"]) as loan:
        began = asyncio.get_running_loop().time()
        await member.keep_time(loan, began, lambda: began)
        await loan.check()
    assert near.heard == [] and far.heard == [True, False] and member.at(0) == ()
    (away,) = member.at(1)
    assert away.name == "vmx2" and 0.02 <= away.since < away.until < 60
    assert member.every < 1 and MemberOutage(Experiment("e"), {}).every == 1.0
    assert [member.shown(0, t / 10) for t in range(21)].count(True) == 3


async def test_it_waits_for_a_tool_that_is_late() -> None:
    """The tool turns out to have begun later than its client was started: its seconds are those that count."""
    exp, far = asked(End.FAR), End_(0.0)
    member = MemberOutage(exp, {0: 0.0, 1: 0.0})
    async with Loan(exp.settings, [route(End_(0.0), far)], ["127.0.0.1"]) as loan:
        began = asyncio.get_running_loop().time()
        known = iter([began, *[began + 0.3] * 9])
        await member.keep_time(loan, began, lambda: next(known))
    (away,) = member.at(1)
    assert 0.32 <= away.since < away.until and away.until >= 0.36, away


async def test_an_end_that_refuses_ends_the_loan_with_its_words_and_nothing_is_claimed() -> None:
    exp = asked()
    member = MemberOutage(exp, {0: 0.0, 1: 0.0})
    async with Loan(exp.settings, [route(End_(0.0, refuses=True), End_(0.0))], ["127.0.0.1"]) as loan:
        began = asyncio.get_running_loop().time()
        await member.keep_time(loan, began, lambda: began)
        with pytest.raises(Said, match="did not take down"):
            await loan.check()
    assert member.at(0) == () and member.at(1) == ()
    assert isinstance(Away("vmx2", 1.0, 2.0), Away)


# --- a flow that stops for it is no fault of the tool's


def flow(silent_from: int) -> Flow:
    seconds = tuple(Interval(float(n), n + 1.0, 0 if n >= silent_from else 100) for n in range(20))
    return Flow("1", seconds[0].direction, "a", 1, "b", 2, 100, 100.0, 100, 20.0, intervals=seconds)


def test_what_stops_while_a_member_is_away_is_planted_and_what_stopped_before_is_not() -> None:
    planted = Experiment("e", warmup=3.0, duration=17.0, settings=(DOWN,))
    plain = Experiment("e", warmup=3.0, duration=17.0)
    assert "stopped arriving after 8 s" in acceptance._died(flow(8), plain)
    assert acceptance._died(flow(8), planted) == ""
    assert "stopped arriving after 2 s" in acceptance._died(flow(2), planted)
