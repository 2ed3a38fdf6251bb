"""Two cards to one appliance: each alone, then both at once, and a card that traffic would not leave by."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

import run_logs
from carried import carried_all
from linkladder import events, formats
from linkladder.judge import judge_document
from linkladder.judge.company import judge_company
from linkladder.judge.withheld import STARVED
from linkladder.model import Document, RungResult
from linkladder.verdicts import Cause, CompanyJudgement
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.calm, pytest.mark.timeout(200)]
RATES = {"sh0": 2e8, "sv0": 3e8}
CARRIES = [rate * 1448 / 1514 for rate in RATES.values()]
PLAN = """name = "two-cards"
{paths}
[[experiment]]
rungs = "same-host"
company = ["alone", "all"]
streams = 2
duration = 4
warmup = 1
"""


def path(local: str, remote: str) -> str:
    return f'[[path.same-host]]\nlocal = "{local}"\nremote = "{remote}"\npeer = "beta"\n'


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("llc").paired() as made:
        for name, rate in RATES.items():
            made.pace(name, rate)
        yield made


def measured(lab: Lab, *paths: str, rung: str = "same-host") -> tuple[Document, RungResult, CompanyJudgement]:
    plan = lab.folder / lab.prefix / "cards.toml"
    plan.write_text(PLAN.format(paths="".join(paths)).replace('"same-host"', f'"{rung}"'))
    done = lab.linkladder("alpha", "run", "--plan", str(plan), "--json", "-", stdin=subprocess.DEVNULL)
    assert done.stdout, done.stderr
    document = formats.document(json.loads(done.stdout))
    (result,) = document.rungs
    seen = judge_company(result, document.run.plan.contract)
    assert seen
    return document, result, seen


Measured = tuple[RungResult, CompanyJudgement, list[events.IntervalSeen]]


@pytest.fixture(scope="module")
def both_cards(lab: Lab) -> Measured:
    """What was measured of both, what is judged of it, and the seconds that were shown live."""
    _, rung, seen = measured(lab, path("10.98.1.1", "10.98.1.2"), path("10.98.2.1", "10.98.2.2"))
    (log,) = (lab.state("alpha") / "live").glob("*.jsonl")
    return rung, seen, [e for _, e in run_logs.whole(log) if isinstance(e, events.IntervalSeen)]


def test_two_hundred_and_three_hundred_are_five_hundred_with_the_shares_right(both_cards: Measured) -> None:
    rung, seen, _ = both_cards
    trials = [t for e in rung.experiments for t in e.trials]
    assert [len(t.legs) for t in trials] == [1, 1, 2] and all(t.ok for t in trials), [t.reason for t in trials]
    withheld = max(end.cpu.starved or 0.0 for t in trials for end in t.ends if end.cpu)
    for cell, carries in zip(seen.cells, CARRIES, strict=True):
        assert cell.alone_bps and cell.together_bps and cell.together_bps < 1.03 * carries
        if withheld < STARVED / 2:
            assert carried_all(cell.alone_bps, carries, withheld), cell
            assert carried_all(cell.together_bps, carries, withheld), cell
    if withheld < STARVED / 2:
        assert carried_all(seen.sum_bps["forward"], sum(CARRIES), withheld), (seen.sum_bps, withheld)
        assert seen.fairness["forward"] > 0.99 and not seen.sharing
    routes = [c.argv for t in trials for leg in t.legs for c in leg.commands if c.role == "route" and c.end == "near"]
    assert [argv[5].partition(".")[0] for argv in routes] == ["sh0", "sv0", "sh0", "sv0"]


def test_what_each_card_carries_is_shown_live(both_cards: Measured) -> None:
    _, _, seconds = both_cards
    apart, together = ([e for e in seconds if bool(e.paths) is several] for several in (False, True))
    assert len(apart) > len(together) > 2, "of a trial over one card there is nothing to tell apart"
    whole = [e for e in together if len(e.paths) == 2]
    assert len(whole) > 2 and all([one.path for one in e.paths] == [0, 1] for e in whole)
    for e in whole:
        span = e.interval.end - e.interval.start  # of two seconds that began a little apart
        assert sum(one.bps for one in e.paths) * span == pytest.approx(8 * e.interval.bytes, rel=0.1)
    slow, quick = (sum(e.paths[n].bps for e in whole) for n in (0, 1))
    assert slow < quick, "300 Mb/s beside 200"


def test_a_card_over_ipv4_and_one_over_ipv6_are_each_held_to_their_own_ceiling(lab: Lab) -> None:
    """The whole rung was said to be measured over another IP version than the contract's."""
    over = path("10.98.1.1", "10.98.1.2"), path("fd98:0:0:2::1", "fd98:0:0:2::2")
    contract = '[contract]\nport = "10G"\nrate = "200M"\n'
    document, rung, _ = measured(lab, contract, *(one.replace("same-host", "dc-link") for one in over), rung="dc-link")
    assert all(t.ok for e in rung.experiments for t in e.trials), [t.reason for e in rung.experiments for t in e.trials]
    judged = judge_document(document).rungs[-1]
    assert judged.company
    ceilings = [round((cell.ceiling_bps or 0) / 1e6, 2) for cell in judged.company.cells]
    assert ceilings == [round(2e2 * payload / 1514, 2) for payload in (1448, 1428)]
    assert all(c.cause is not Cause.NOT_AS_SOLD for c in judged.judgement.concerns), judged.judgement.sentence
    assert any("Some paths use IPv4 and others IPv6" in said for said in judged.judgement.findings)


def test_what_would_leave_by_the_wrong_card_is_not_sent_and_what_to_do_is_told(lab: Lab) -> None:
    """From the second card's address to the first one's network: the system would send it by the first."""
    document, rung, _ = measured(lab, path("10.98.1.1", "10.98.1.2"), path("10.98.2.1", "10.98.1.2"))
    together = next(e for e in rung.experiments if not e.parameters.paths).trials[0]
    good, wrong = together.legs
    assert good.outcome.ok and not wrong.outcome.ok and not together.ok
    assert "leave by sh0, not by sv0" in wrong.outcome.reason and "a network of its own" in wrong.outcome.reason
    assert [c.role for c in wrong.commands] == ["route"], "no tool was started"
    shown = lab.linkladder("alpha", "plan", "check", str(lab.folder / lab.prefix / "cards.toml")).stdout
    assert "by sh0 and NOT by sv0" in shown and document.run.state == "complete"


def test_a_card_without_link_is_named_and_not_its_network(lab: Lab) -> None:
    """Its address keeps no route, so that the system would send by another card."""
    lab._in("beta", "ip", "link", "set", "sv0", "down")
    try:
        _, rung, _ = measured(lab, path("10.98.1.1", "10.98.1.2"), path("10.98.2.1", "10.98.2.2"))
    finally:
        lab._in("beta", "ip", "link", "set", "sv0", "up")
    reasons = {leg.outcome.reason for e in rung.experiments for t in e.trials for leg in t.legs if leg.path == 1}
    assert len(reasons) == 1 and all("sv0 of the far end has no link, and " in reason for reason in reasons), reasons
