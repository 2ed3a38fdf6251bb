"""The Link screen: what it starts from, and what it keeps of a description that it has no field for."""

from __future__ import annotations

import asyncio
import pathlib
import time
from dataclasses import replace

import pytest
from textual.widgets import Input

import synth
from helpers import at_rest, present, seen, until
from linkladder.app.backend import PeerView
from linkladder.app.live_backend import LiveBackend
from linkladder.app.main import LadderApp
from linkladder.app.widgets.form import Choice
from linkladder.errors import EnvironmentFault
from linkladder.model import Path, Plan, RungName, RunState
from linkladder.plan import Link, load_link
from linkladder.plan.link import Side
from linkladder.store import KeptVerdict, Store
from replay_backend import ReplayBackend, ReplaySession

pytestmark = pytest.mark.asyncio

WRITTEN = """
plan = "quick"
[contract]
port = "9.95328G"
encapsulation_bytes = 50
dscp = 46
timestamps = false
pass = 0.95
[path.localhost]
local = "127.0.0.2"
remote = "127.0.0.2"
[path.dc-link]
local = "127.0.0.1"
remote = "10.99.0.2"
peer = "beta"
interface = "lo"
"""


async def test_what_has_no_field_survives_saving(own_state: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A contract saved with a default in place of what was written would be judged against another ceiling."""
    (own_state / "link.toml").write_text(WRITTEN)
    before = load_link(own_state)
    backend = LiveBackend("this screen")
    monkeypatch.setattr(backend, "findings", tuple)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        await pilot.press("e")
        await until(pilot, "[ Climb the ladder ]")
        await until(pilot, "At most")
        app.screen.query_one("#circuit").focus()
        await pilot.press(*"C-7", "f3")
        await until(pilot, "Next step")
    after = load_link(own_state)
    kept = present(after.contract)
    assert (kept.encap_bytes, kept.pass_ratio, kept.dscp, kept.timestamps) == (50, 0.95, 46, False)
    assert (kept.port_bps, kept.circuit) == (present(before.contract).port_bps, "C-7")
    assert after.paths == before.paths and after.path(RungName.LOCALHOST) == Path("127.0.0.2", "127.0.0.2")


async def test_what_was_typed_is_not_left_behind_without_a_question() -> None:
    backend = synth.settled()
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        await pilot.press("e")
        await until(pilot, "At most")
        await pilot.press("escape")
        await until(pilot, "Next step")  # nothing was changed
        await pilot.press("e")
        await until(pilot, "At most")
        app.screen.query_one("#circuit").focus()
        await pilot.press(*"C-7", "escape")
        await until(pilot, "Leave without saving?")
        await pilot.press("enter")  # the safe answer
        await until(pilot, "C-7")
        await pilot.press("escape")
        await until(pilot, "Leave without saving?")
        await pilot.press("left", "enter")
        await until(pilot, "Next step")
        assert "C-7" not in present(backend.link().contract).circuit


async def test_a_plan_that_is_not_there_any_more_is_no_change_of_a_person_s() -> None:
    backend = synth.settled()
    backend.save_link(replace(backend.link(), plan="gone"))
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        await pilot.press("e")
        await until(pilot, "At most")
        assert app.screen.query_one("#plan", Choice).value == "quick"
        await pilot.press("escape")
        await until(pilot, "Next step")


async def test_what_was_saved_for_a_run_that_is_refused_is_left_without_a_question() -> None:
    backend = synth.settled()
    backend.user = "gamma"
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        await pilot.press("e")
        await until(pilot, "At most")
        app.screen.query_one("#circuit").focus()
        await pilot.press(*"C-7", "f2")
        await until(pilot, "gamma measures with it")
        await pilot.press("enter")
        await until(pilot, "C-7")
        await pilot.press("escape")
        await until(pilot, "Next step")
        assert "C-7" in present(backend.link().contract).circuit


GIGABIT = replace(synth.NICS[1], speed_bps=1e9, mtu=9000)
FAST = replace(synth.NICS[1], name="vmx1", speed_bps=25e9, addresses=("10.8.0.1",))
GAMMA = PeerView("gamma", ("10.8.0.2",), True, 0.3)


@pytest.fixture
def newcomer() -> ReplayBackend:
    """Two peers, each behind an interface of its own, and nothing described."""
    made = synth.fresh()
    made.host = replace(made.host, nics=(GIGABIT, FAST))
    made.peers = (synth.BETA, GAMMA)
    return made


FIELDS = ("port", "rate", "mtu", "local-dc-link")


def fields(app: LadderApp) -> tuple[str, str, str, str]:
    port, rate, mtu, local = (app.screen.query_one(f"#{key}", Input).value for key in FIELDS)
    return port, rate, mtu, local


async def test_the_first_contract_is_that_of_the_interface_on_the_way(newcomer: ReplayBackend) -> None:
    """On gigabit a newcomer must not be judged against ten that nobody sold."""
    app = LadderApp(newcomer)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Describe the link")
        await pilot.press("enter")
        await until(pilot, "Port rate and MTU are those of vmx0; put in what was bought.")
        assert fields(app) == ("1G", "", "9000", "10.7.0.1")
        app.screen.query_one("#peer-dc-link").focus()
        await pilot.press("right")
        await until(pilot, "those of vmx1")
        assert fields(app) == ("25G", "", "1500", "10.8.0.1")
        app.screen.query_one("#port").focus()
        await pilot.press("ctrl+u", *"2G")
        await until(pilot, "At most 1.88 Gb/s of TCP fits into the port's 2.00 Gb/s")
        assert "those of" not in seen(app), "it is the person's own now"
        app.screen.query_one("#peer-dc-link").focus()
        await pilot.press("left")
        await until(pilot, "10.7.0.1")
        assert fields(app)[0] == "2G", "what was typed stays"
        await pilot.press("f3")
        await until(pilot, "Next step")
    assert present(newcomer.described.contract).port_bps == 2e9


async def test_the_way_is_the_systems_word(newcomer: ReplayBackend) -> None:
    """10.7.0.2 looks like vmx0's network; the route to it may be another."""
    newcomer.leaves_by = lambda address, local="": {"10.7.0.2": "vmx1"}.get(address, "")
    app = LadderApp(newcomer)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Describe the link")
        await pilot.press("enter")
        await until(pilot, "those of vmx1")
        assert fields(app) == ("25G", "", "1500", "10.8.0.1")


async def test_what_was_saved_is_kept_whatever_the_interface(newcomer: ReplayBackend) -> None:
    newcomer.described = synth.LINK
    app = LadderApp(newcomer)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Climb the ladder")
        await pilot.press("e")
        text = await until(pilot, "vmx0 runs at 1.00 Gb/s, less than was bought.")
        assert "those of" not in text
        assert fields(app)[:3] == ("10G", "", "1500")
        app.screen.query_one("#peer-same-host").focus()
        await pilot.press("right")
        await at_rest(pilot)
        assert fields(app)[:3] == ("10G", "", "1500")


@pytest.mark.parametrize(("last", "first"), [("circuit", "circuit"), ("rss", "quick"), ("tune", "quick")])
async def test_no_experiment_is_climbed_because_it_was_the_last_run(
    newcomer: ReplayBackend, last: str, first: str
) -> None:
    newcomer.stored = {synth.RUN: (replace(synth.summary(), plan=last), synth.the_document())}
    app = LadderApp(newcomer)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        await pilot.press("e")
        await until(pilot, f"Plan < {first}")


async def test_an_interface_that_does_not_tell_its_speed_leaves_ten(newcomer: ReplayBackend) -> None:
    newcomer.host = replace(newcomer.host, nics=(replace(GIGABIT, speed_bps=None),))
    app = LadderApp(newcomer)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Describe the link")
        await pilot.press("enter")
        await until(pilot, "vmx0 does not tell its speed, so the port rate is a guess")
        assert fields(app)[:3] == ("10G", "", "9000")


async def test_a_far_end_that_was_too_weak_is_said(own_state: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is known from the last run, which is where the real backend has it from."""
    (own_state / "link.toml").write_text(WRITTEN)
    backend = LiveBackend("this screen")
    monkeypatch.setattr(backend, "findings", tuple)
    store = Store(own_state)
    run = store.begin(synth.the_plan(), "beta")
    store.keep_host(run, "beta", replace(synth.HOST, name="b", cores=1))
    store.finish(run, RunState.COMPLETE, KeptVerdict("PASS"))
    store.close()
    app = LadderApp(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, "Next step")
        await pilot.press("e")
        await until(pilot, "1 vCPU at beta")


async def test_more_enters_while_a_run_comes_up_start_no_second() -> None:
    """The second would only be told that a run is going on already, which a newcomer's next Enter would ask again."""
    backend, ready, begun = synth.settled(), asyncio.Event(), []
    start, save = backend.start, backend.save_link

    async def slowly(plan: Plan, resume: str = "") -> ReplaySession:
        begun.append(plan.name)
        await ready.wait()
        return await start(plan, resume)

    def save_slowly(link: Link) -> None:
        begun.append("saved")
        time.sleep(0.3)
        save(link)

    backend.start, backend.save_link = slowly, save_slowly
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        await pilot.press("e")
        await until(pilot, "[ Climb the ladder ]")
        await until(pilot, "At most")
        for _ in range(3):
            await pilot.press("enter")
            await pilot.pause(0.05)
        await until(pilot, "The run is being started ...")
        await pilot.press("enter", "enter")
        ready.set()
        await until(pilot, "plan quick running")
    assert begun == ["saved", "quick"]


async def test_a_start_that_fails_is_told_and_can_be_tried_again() -> None:
    backend, tried = synth.settled(), []

    async def fails(plan: Plan, resume: str = "") -> ReplaySession:
        tried.append(plan.name)
        raise EnvironmentFault("the disk is full", "No space left on device", "delete old runs")

    backend.start = fails
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        await pilot.press("e")
        for times in (1, 2):
            await until(pilot, "At most")
            await pilot.press("f2")
            await until(pilot, "The disk is full")
            assert len(tried) == times
            await pilot.press("enter")


async def test_the_limits_of_the_contract_are_entered_and_kept(
    own_state: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loss, delay, jitter and availability, all to be seen on a console."""
    (own_state / "link.toml").write_text(WRITTEN)
    backend = LiveBackend("this screen")
    monkeypatch.setattr(backend, "findings", tuple)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        await pilot.press("e")
        await until(pilot, "At most")
        row = next(line for line in seen(app).splitlines() if "Limits: loss, %" in line)
        assert all(word in row for word in ("delay, ms", "jitter, ms", "up, %", "0.1", "99.9"))
        for key, value in (("loss", "0.05"), ("delay", "12"), ("jitter", "1.5"), ("up", "99.95")):
            app.screen.query_one(f"#{key}", Input).value = value
        await pilot.press("f3")
        await until(pilot, "Next step")
    deal = load_link(own_state).contract
    assert deal is not None
    assert (deal.loss_percent, deal.delay_ms, deal.jitter_ms, deal.availability_percent) == (0.05, 12, 1.5, 99.95)


async def test_in_half_a_window_arrows_step_from_field_to_field(own_state: pathlib.Path) -> None:
    (own_state / "link.toml").write_text(WRITTEN)
    app = LadderApp(LiveBackend("this screen"))
    async with app.run_test(size=(80, 12)) as pilot:
        await until(pilot, "Next step")
        await pilot.press("e")
        await until(pilot, "[ Climb the ladder ]")
        assert app.focused and app.focused.id == "climb", "what Enter presses is in sight"
        app.screen.query_one("#circuit").focus()
        await pilot.press("down", "down", "down")
        assert app.focused and app.focused.id == "rate"
        await pilot.press("up")
        assert app.focused and app.focused.id == "port"
        app.screen.query_one("#up").focus()
        await until(pilot, "up, % [99.9 ]")  # the row of limits fits beside the scroll bar


async def test_a_mesh_gets_no_rungs_by_guess(newcomer: ReplayBackend) -> None:
    """Its ends say by which address each takes part; the address of a pairing would be measured instead."""
    newcomer.described = Link(synth.LINK.contract, {}, "mesh", {"near": Side("10.7.0.1"), "beta": Side("10.7.0.2")})
    app = LadderApp(newcomer)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Climb the ladder")
        await pilot.press("e")
        await until(pilot, "[ Climb the ladder ]")
        assert [app.screen.query_one(f"#remote-{rung}", Input).value for rung in ("same-host", "dc-link")] == ["", ""]
        text = await until(pilot, "TCP fits")
        assert "nobody" not in text and "No rung has an address" not in text
        await pilot.press("up", "up")
        await until(pilot, "empty there: only a mesh measures it")
        await pilot.press("f3")
        await until(pilot, "Next step")
    assert newcomer.described.paths == {} and set(newcomer.described.ends) == {"near", "beta"}
