"""A rung of which one path is IPv4 and another IPv6: each is held to the ceiling of its own, and what all carry too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkladder.judge import judge_document
from linkladder.judge.ceilings import OverBoth, ceiling
from linkladder.judge.families import of_its_family, over_its_paths
from linkladder.model import Contract, Document, Leg, Path, Protocol
from linkladder.verdicts import RungJudgement, Verdict
from paths_documents import CARDS, PAIRS, of_paths

DEAL = Contract(port_bps=10e9, rate_bps=1e9)
FOUR, SIX = (ceiling(replace(DEAL, ip_version=version)).bps for version in (4, 6))
NEEDED = DEAL.pass_ratio * FOUR


def six(path: Path) -> Path:
    """The same over IPv6."""
    return replace(path, local="fd00::1", remote=f"fd00::{path.remote.rpartition('.')[2]}{path.remote.split('.')[2]}")


def mixed(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    return paths[0], six(paths[1])


def measured(
    paths: tuple[Path, ...], alone: float, together: float, deal: Contract = DEAL, below: float = 20e9
) -> Document:
    """Flows are named by the addresses of the paths, as tools tell them."""

    def over(leg: Leg) -> Leg:
        path = paths[leg.path]
        flows = tuple(replace(f, local=path.local, remote=path.remote) for f in leg.outcome.flows)
        return replace(leg, outcome=replace(leg.outcome, flows=flows))

    document = of_paths(paths, alone, together, deal, below)
    *lower, last = document.rungs
    made = tuple(
        replace(e, trials=tuple(replace(t, legs=tuple(map(over, t.legs))) for t in e.trials)) for e in last.experiments
    )
    return replace(document, rungs=(*lower, replace(last, experiments=made)))


def link(document: Document) -> RungJudgement:
    return judge_document(document).rungs[-1]


@pytest.mark.parametrize("paths", [CARDS, PAIRS])
def test_a_rung_of_both_families_has_a_verdict(paths: tuple[Path, ...]) -> None:
    """It was said to be measured over IPv6 while the contract is for IPv4, and could not be judged."""
    found = link(measured(mixed(paths), 0.995 * SIX, 0.995 * SIX / 2, replace(DEAL, shared_bps=1e9)))
    assert found.verdict is Verdict.PASS, (found.judgement.sentence, found.judgement.reasons)
    assert any("Some paths use IPv4 and others IPv6" in said for said in found.judgement.findings)


def test_each_path_is_held_to_the_ceiling_of_its_own() -> None:
    """What is enough over IPv6 is too little over IPv4, as its headers are shorter."""
    assert SIX < FOUR
    between = (DEAL.pass_ratio * SIX + NEEDED) / 2
    found = link(measured(mixed(PAIRS), between, between / 2, replace(DEAL, shared_bps=2e9)))
    assert found.company
    cells = {(c.path, c.direction): c for c in found.company.cells}
    for way in ("forward", "reverse"):
        assert [cells[n, way].ceiling_bps for n in (0, 1)] == pytest.approx([FOUR, SIX])
        assert cells[1, way].judgement.verdict is Verdict.PASS, cells[1, way].judgement.sentence
        assert cells[0, way].judgement.verdict is not Verdict.PASS
    above = link(measured(mixed(PAIRS), 1.005 * FOUR, FOUR / 2, replace(DEAL, shared_bps=2e9)))
    assert above.company and above.verdict is Verdict.IMPOSSIBLE
    over = {c.path for c in above.company.cells if c.judgement.verdict is Verdict.IMPOSSIBLE}
    assert over == {1}, "within what IPv4 can be read to, and above what IPv6 allows"


def test_all_of_the_other_family_is_still_not_what_was_sold() -> None:
    for paths in (CARDS, PAIRS):
        found = link(measured(tuple(map(six, paths)), 0.995 * SIX, 0.995 * SIX / 2, replace(DEAL, shared_bps=1e9)))
        assert found.verdict is Verdict.CANNOT_JUDGE
        assert any("Measured over IPv6; the contract is for IPv4" in said for said in found.judgement.reasons)


def test_what_both_carry_together_lies_between_the_ceilings_by_what_each_carried() -> None:
    rung = measured(mixed(CARDS), 9e8, 4.5e8).rungs[-1]
    both = over_its_paths(DEAL, rung)
    assert isinstance(both, OverBoth) and both.six == pytest.approx(0.5, abs=0.01)
    assert ceiling(replace(both, six=0.0)).bps == pytest.approx(FOUR)
    assert ceiling(replace(both, six=1.0)).bps == pytest.approx(SIX)
    assert ceiling(replace(both, six=0.5)).bps == pytest.approx(2 / (1 / FOUR + 1 / SIX))
    assert ceiling(both, Protocol.UDP).bps > ceiling(both).bps and "IPv6, which carries" in ceiling(both).sentence
    assert [of_its_family(both, rung.paths, (n,)) for n in (0, 1)] == [DEAL, replace(DEAL, ip_version=6)]
    assert of_its_family(both, rung.paths) is both and of_its_family(DEAL, rung.paths, (1,)) is DEAL
    assert over_its_paths(DEAL, replace(rung, paths=CARDS)) is DEAL
