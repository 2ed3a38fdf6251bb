"""At 80 columns, with the names that appliances are shipped with: nothing that matters is cut off."""

from __future__ import annotations

from dataclasses import replace

import pytest

import synth
from helpers import seen, until
from linkladder.app.backend import PeerView
from linkladder.app.home_text import health_line
from linkladder.app.main import LadderApp
from linkladder.app.names import fitted
from linkladder.app.places import screen
from linkladder.app.screens.runs import Columns
from linkladder.findings import Finding, Health
from linkladder.model import Path, RungName
from linkladder.plan import Link
from linkladder.store import KeptVerdict
from replay_backend import ReplayBackend

NEAR, FAR = "linkladder-1b0100", "linkladder-2c0200"
FARTHEST = ("192.168.122.101", "192.168.122.201")  # addresses as long as they come


@pytest.fixture
def backend() -> ReplayBackend:
    """Two appliances that nobody has named, on addresses of fifteen characters."""
    made = synth.settled()
    made.host = replace(made.host, name=NEAR)
    made.peers = (PeerView(FAR, FARTHEST, True, 0.214, "SHA256:abc"),)
    rungs = (RungName.SAME_HOST, RungName.SAME_VLAN, RungName.DC_LINK)
    made.described = Link(synth.CONTRACT, {r: (Path("192.168.122.100", FARTHEST[1], FAR),) for r in rungs})
    made.stored = {synth.RUN: (replace(synth.summary(), peer=FAR), synth.the_document())}
    return made


async def test_the_link_page_has_both_addresses_of_every_rung(backend: ReplayBackend) -> None:
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        app.open("link")
        await until(pilot, "[ Climb the ladder ]")
        rungs = [line for line in seen(app).splitlines() if line.lstrip().startswith(("same-host", "same-vlan", "dc-"))]
        assert len(rungs) == 3
        for line in rungs:
            assert f"< {FAR} >" in line and "[192.168.122.100]" in line and f"[{FARTHEST[1]}]" in line, line


@pytest.mark.parametrize(("peer", "shown"), [("beta", "beta"), (FAR, "l~200")])
async def test_so_it_has_when_the_one_at_the_other_end_is_not_paired_any_more(
    backend: ReplayBackend, peer: str, shown: str
) -> None:
    backend.peers = ()
    backend.described = Link(synth.CONTRACT, {RungName.DC_LINK: (Path("192.168.122.100", FARTHEST[1], peer),)})
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Open pairing")
        app.open("link")
        text = await until(pilot, "[ Climb the ladder ]")
        assert f"< {shown}, not paired > here [192.168.122.100] there [{FARTHEST[1]}]" in text


async def test_the_list_of_runs_has_the_whole_name_and_the_verdict(backend: ReplayBackend) -> None:
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        app.open("runs")
        await until(pilot, "1 run")
        (line,) = [line for line in seen(app).splitlines() if synth.RUN in line]
        assert f" {FAR} " in line and "9.21 Gb/s" in line and "PASS" in line, line


@pytest.mark.parametrize(
    "verdict", [KeptVerdict("CANNOT JUDGE", True), KeptVerdict("IMPOSSIBLE", True), KeptVerdict("FAIL")], ids=str
)
def test_no_verdict_is_cut_beside_a_long_name(verdict: KeptVerdict) -> None:
    run = replace(synth.summary(), peer=FAR, verdict=verdict)
    row = Columns([run], 80).row(run, False)
    assert len(row) <= 80 and verdict.word in row, row
    assert ("prov" in row) is verdict.provisional, row


def test_names_longer_than_any_default_keep_the_end_that_tells_them_apart() -> None:
    assert fitted(NEAR, 17) == NEAR
    assert fitted(NEAR, 13) == "linkla~1b0100"
    assert [len(fitted("prague-north-rack12-a", n)) for n in range(4, 30)] == [min(n, 21) for n in range(4, 30)]


async def test_who_measures_with_this_machine_stands_in_the_title(backend: ReplayBackend) -> None:
    backend.user = FAR
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, f"{NEAR} {FAR} measures here")


@pytest.mark.parametrize("measuring", [True, False])
@pytest.mark.parametrize("known", [None, synth.FINDINGS])
def test_what_to_do_about_a_warning_is_never_cut(measuring: bool, known: tuple[Finding, ...] | None) -> None:
    troubles = [Finding("the description of the link that was written by hand", Health.BAD)] * 2
    line = health_line(tuple(troubles), known, measuring).plain
    assert len(line) <= 78 and "need you: the" in line, line
    assert line.endswith(("(d: details)", "(d: look now)", "looking at this machine ...")), line


async def test_every_place_keeps_the_name_whole(backend: ReplayBackend) -> None:
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        text = await until(pilot, "reachable, round trip")
        assert NEAR in text and FAR in text
        for name, words in (("trusted", "SHA256:abc"), ("machine", "offloads:"), ("system", "records are in UTC")):
            app.push_screen(screen(name))
            text = await until(pilot, words)
            assert (FAR if name == "trusted" else NEAR) in text, text
            await pilot.press("escape")
