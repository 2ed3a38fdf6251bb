"""Ends that cannot meet as the card of one has no link: that is told, and neither the path nor a filter is blamed."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from judge_documents import GOOD, both, document, tcp, trial
from linkladder import wire
from linkladder.engine.route import Route, Side
from linkladder.engine.trial import Trial
from linkladder.judge import judge_document
from linkladder.model import (
    Direction,
    Experiment,
    Fault,
    HostFacts,
    Nic,
    NicCounters,
    Path,
    RungName,
    TcpCounters,
    TrialResult,
)
from linkladder.verdicts import Cause, LimiterKind, Verdict
from trials import changed

PATH = Path("10.0.0.1", "10.0.0.2", "beta", "eth0", "eth0")
EXP = Experiment("tcp-4s-forward", duration=10, warmup=3)


class Scripted:
    """An end at whose card nothing passes; how often that had lost its link is counted anew at each look."""

    lost = False

    def __init__(self, name: str, carriers: tuple[int | None, ...], nic: Nic) -> None:
        self.name, self.events, self._nic = name, asyncio.Queue[wire.Event](), nic
        self.hello = wire.HelloReply(1, "1", name, "Linux", {"iperf": "2.1.8"}, (), None, 4)
        self._carriers = iter(carriers)
        self._last: int | None = None

    async def ask(self, request: Any) -> Any:
        if isinstance(request, wire.Counters):
            self._last = next(self._carriers, self._last)
            nic = NicCounters("eth0", carrier_lost=self._last)
            return wire.CountersReply("eth0", nic, TcpCounters(), None, 1)
        if isinstance(request, wire.Probe):
            return wire.ProbeReply("filtered", "no answer within 4 s")
        if isinstance(request, wire.Facts):
            return HostFacts(self.name, nics=(self._nic,))
        if isinstance(request, wire.RouteTo):
            return wire.RouteReply("eth0", "", "eth0")
        return None


UP, DOWN, SET_DOWN = Nic("eth0", up=True, carrier=True), Nic("eth0", up=True, carrier=False), Nic("eth0", up=False)


async def tried(far: tuple[int | None, ...], nic: Nic = UP) -> TrialResult:
    ends: tuple[Any, Any] = Scripted("near", (0, 0), UP), Scripted("far", far, nic)
    sides = (Side(n, end, end.name, f"10.0.0.{n + 1}", "eth0") for n, end in enumerate(ends))
    return await Trial([Route(PATH, *sides)], EXP, 0, [5201], lambda _: None).run()


@pytest.mark.parametrize("counts,nic", [((3, 4), UP), ((3, 3), DOWN), ((None, None), DOWN), ((0, 0), SET_DOWN)])
async def test_a_card_that_lost_its_link_before_the_ends_met_is_known(counts: tuple[int | None, ...], nic: Nic) -> None:
    made = await tried(counts, nic)
    assert not made.ok and made.fault is Fault.PATH and "filtered" in made.reason
    assert [(c.end, c.card, c.times) for c in made.carriers_lost] == [("far", "eth0", 1)]


async def test_where_no_card_lost_its_link_nothing_is_said_of_cards() -> None:
    made = await tried((3, 3))
    assert not made.ok and not made.carriers_lost and not made.ends


@pytest.mark.parametrize("silent", [3, 1])
async def test_the_verdict_names_the_card_and_neither_a_black_hole_nor_a_filter(silent: int) -> None:
    down = await tried((3, 4))
    verdict, limiter = judged(lambda n: changed(down, repeat=n) if n < silent else None)
    assert (verdict.verdict, verdict.cause) == (Verdict.CANNOT_JUDGE, Cause.OWN_CARD), verdict.sentence
    assert "eth0 of the far end lost its link" in verdict.sentence and "black hole" not in verdict.sentence
    assert silent < 3 or limiter is LimiterKind.OWN_CARD


async def test_a_path_that_was_dead_while_every_card_had_its_link_stays_at_fault() -> None:
    dead, down = await tried((3, 3)), await tried((3, 4))
    verdict, _ = judged(lambda n: changed((dead, down, down)[n], repeat=n))
    assert (verdict.verdict, verdict.cause) == (Verdict.FAIL, Cause.SILENCE), verdict.sentence


def judged(replaced: Callable[[int], TrialResult | None]) -> tuple[Any, LimiterKind | None]:
    """The link's verdict, with these trials for those of its way there."""
    there = (replaced(n) or trial(GOOD, Direction.FORWARD, n) for n in range(3))
    link = both(RungName.DC_LINK, GOOD)
    forward = dataclasses.replace(tcp(Direction.FORWARD, ()), trials=tuple(there))
    made = dataclasses.replace(forward, parameters=dataclasses.replace(forward.parameters, repeats=3))
    full = tuple(t if not t.ok else tcp(Direction.FORWARD, (t,)).trials[0] for t in made.trials)
    link = dataclasses.replace(link, experiments=(dataclasses.replace(made, trials=full), link.experiments[1]))
    found = judge_document(document(both(RungName.SAME_HOST, 4e9), link)).rungs[-1]
    kinds = [j.limiter.kind for j in found.experiments if j.limiter and j.direction == Direction.FORWARD]
    return found.judgement, kinds[0] if kinds else None


def test_cards_that_lose_their_links_again_and_again_are_told_once_with_the_trials_counted() -> None:
    counted = {end: NicCounters("ix0", 68 * 10**8, 68 * 10**8, 10**7, 10**7, carrier_lost=1) for end in ("near", "far")}
    link = both(RungName.DC_LINK, GOOD, nics=counted)
    trials = sum(len(e.trials) for e in link.experiments)
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), link)).rungs[-1].judgement
    (said,) = (text for text in judged.findings if "lost their links meanwhile" in text)
    assert trials > 2 and f"repeat 1, and {trials - 1} more trials) carried less than" in said
    (concern,) = (c for c in judged.concerns if "lost their links meanwhile" in c.sentence)
    assert concern.figures["times"] == 2 * trials


def test_a_card_that_loses_its_link_once_is_told_with_its_trial() -> None:
    link = both(RungName.DC_LINK, GOOD)
    first = link.experiments[0]
    lost = NicCounters("ix0", 68 * 10**8, 68 * 10**8, 10**7, 10**7, carrier_lost=1)
    slow = tuple(dataclasses.replace(i, bytes=i.bytes // 3) if i.start == 5 else i for i in first.trials[0].intervals)
    hit = changed(first.trials[0], intervals=slow, nics={"far": lost})
    link = dataclasses.replace(link, experiments=(dataclasses.replace(first, trials=(hit, *first.trials[1:])),))
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), link)).rungs[-1].judgement
    (said,) = (text for text in judged.findings if "lost its link meanwhile" in text)
    assert said.startswith("ix0 of the far end") and said.endswith("near to far, repeat 1).")
