"""Several paths of the link on the Link page: a line each, proposed from what discovery saw, and none lost."""

from __future__ import annotations

import pathlib
from dataclasses import replace

import pytest
from textual.widgets import Input

import synth
from helpers import until
from linkladder.app.backend import PeerView
from linkladder.app.live_backend import LiveBackend
from linkladder.app.main import LadderApp
from linkladder.model import Path, RungName
from linkladder.plan import Link, load_link
from linkladder.plan.link import Side
from replay_backend import ReplayBackend

FIRST = replace(synth.NICS[1], name="vmx1", addresses=("10.7.0.1",))
SECOND = replace(synth.NICS[1], name="vmx2", addresses=("10.8.0.1",))
BETA = PeerView("beta", ("10.7.0.2", "fe80::2", "10.7.0.9", "10.8.0.2"), True, 0.2)
WAYS = {"10.7.0.2": "vmx1", "10.7.0.9": "vmx1", "10.8.0.2": "vmx2"}
LINK = Link(
    synth.CONTRACT,
    {RungName.DC_LINK: (Path("10.7.0.1", "10.7.0.2", "beta"),)},
    ends={"near": Side("10.7.0.1"), "gamma": Side("10.9.0.3", "vmx1")},
)


@pytest.fixture
def backend() -> ReplayBackend:
    made = synth.fresh()
    made.host = replace(synth.HOST, nics=(FIRST, SECOND))
    made.peers, made.described = (BETA,), LINK
    made.leaves_by = lambda address, local="": WAYS.get(address, "")
    return made


async def test_another_path_is_proposed_over_a_card_that_none_uses(backend: ReplayBackend) -> None:
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        app.open("link")
        await until(pilot, "Another path")
        await until(pilot, "At most")
        await pilot.press("f4")
        await until(pilot, "path 2")
        values = {box.id: box.value for box in app.screen.query(Input)}
        assert values["remote-dc-link-2"] == "10.8.0.2", "10.7.0.9 is behind the first card as well"
        assert values["local-dc-link-2"] == "10.8.0.1"
        await pilot.press("f3")
        await until(pilot, "Next step")
    assert backend.described.paths[RungName.DC_LINK] == (
        Path("10.7.0.1", "10.7.0.2", "beta"),
        Path("10.8.0.1", "10.8.0.2", "beta"),
    )
    assert backend.described.ends == LINK.ends, "what the page has no field for stays"


async def test_paths_that_are_there_have_a_line_each_and_one_that_is_emptied_is_gone(
    own_state: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = tuple(Path(f"127.0.0.{n}", f"10.{n}.0.2", "beta", "lo") for n in (1, 2, 3))
    from linkladder import plan

    plan.save_link(own_state, replace(LINK, paths={RungName.DC_LINK: paths}))
    live = LiveBackend("this screen")
    monkeypatch.setattr(live, "findings", tuple)
    app = LadderApp(live)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, "Next step")
        app.open("link")
        text = await until(pilot, "At most")
        assert "path 2" in text and "path 3" in text and "10.3.0.2" in text
        app.screen.query_one("#remote-dc-link-2", Input).value = ""
        await pilot.press("f3")
        await until(pilot, "Next step")
    after = load_link(own_state)
    assert after.paths[RungName.DC_LINK] == (paths[0], paths[2]) and after.ends == LINK.ends


async def test_a_path_whose_packets_leave_by_another_card_is_told_before_it_is_climbed(backend: ReplayBackend) -> None:
    """Two cards in one network: the system sends by the first whatever address it sends from."""
    backend.described = replace(
        LINK, paths={RungName.DC_LINK: (Path("10.7.0.1", "10.7.0.2", "beta"), Path("10.8.0.1", "10.7.0.9", "beta"))}
    )
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        app.open("link")
        await until(
            pilot, "! dc-link: from 10.8.0.1 to 10.7.0.9 packets of the near end leave by vmx1, not by vmx2: give"
        )
