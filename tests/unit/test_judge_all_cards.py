"""Several cards of one pair, of which the contract states a port alone: together they have as many ports."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkladder.judge import judge_document, unsettled
from linkladder.judge.all_cards import cards_apart, of_cards
from linkladder.model import Contract, HostFacts, Nic, RungName, Setting, SettingKind
from linkladder.report import view
from linkladder.verdicts import Cause, Verdict
from paths_documents import CARDS, PAIRS, of_paths

PORTS = Contract(port_bps=10e9)
NICS = tuple(Nic(f"eth{n}", speed_bps=10e9) for n in range(2))
KNOWN = {name: HostFacts(name, nics=NICS) for name in ("near", "beta")}


@pytest.mark.parametrize("facts", [None, KNOWN], ids=["cards unknown", "cards of 10 Gb/s"])
def test_two_cards_on_a_port_each_carry_what_two_ports_allow(facts: dict[str, HostFacts] | None) -> None:
    judged = judge_document(of_paths(CARDS, 9.38e9, 9.38e9, PORTS, 40e9, facts))
    link = judged.rungs[-1]
    assert link.verdict is Verdict.PASS, link.sentence
    assert link.ceiling is not None and link.ceiling.bps == pytest.approx(18.83e9, rel=1e-3)
    assert "99.7 % of the ceiling" in link.sentence
    assert judged.diagnosis[-1] == "Every rung measured carries the 18.3 Gb/s that is needed."


def test_two_ports_that_together_carry_as_much_as_one_do_not_pass() -> None:
    judged = judge_document(of_paths(CARDS, 9.38e9, 4.68e9, PORTS, 40e9, KNOWN))
    link = judged.rungs[-1]
    assert (link.verdict, link.judgement.cause) == (Verdict.FAIL, Cause.SHORT)
    assert "18.3 Gb/s (97 % of 18.8 Gb/s) is needed" in link.sentence
    assert "below the 18.3 Gb/s that is needed is dc-link" in judged.diagnosis[-1]


def test_more_than_two_ports_allow_is_impossible() -> None:
    link = judge_document(of_paths(CARDS, 9.38e9, 10e9, PORTS, 40e9)).rungs[-1]
    assert (link.verdict, link.judgement.cause) == (Verdict.IMPOSSIBLE, Cause.ABOVE_CEILING)
    assert "above the ceiling of 18.8 Gb/s" in link.sentence


def test_a_generator_must_show_what_both_ports_are_sold_as() -> None:
    link = judge_document(of_paths(CARDS, 9.38e9, 9.38e9, PORTS, 20e9)).rungs[-1]
    assert (link.verdict, link.judgement.cause) == (Verdict.CANNOT_JUDGE, Cause.WEAK_GENERATOR)


def test_only_cards_that_differ_at_both_ends_have_a_port_each() -> None:
    document = of_paths(CARDS, 9.38e9, 9.38e9, PORTS)
    one_far = tuple(replace(path, remote_interface="eth0") for path in CARDS)
    tagged = tuple(replace(path, local_interface=f"em0.{n}") for n, path in enumerate(CARDS))
    unnamed = tuple(replace(path, local_interface="", remote_interface="") for path in CARDS)
    assert [cards_apart(paths, document) for paths in (CARDS, one_far, tagged, unnamed)] == [2, 1, 1, 2]
    both = HostFacts("beta", nics=(Nic("vmx0", addresses=("10.0.0.2", "10.0.1.2")),))
    assert cards_apart(unnamed, of_paths(CARDS, 9e9, 9e9, PORTS, facts={"beta": both})) == 1


def test_a_rate_or_a_shared_link_is_one_for_all_cards_and_other_pairs_have_their_own() -> None:
    document = of_paths(CARDS, 9.38e9, 9.38e9, PORTS)
    for deal in (replace(PORTS, rate_bps=5e9), replace(PORTS, shared_bps=5e9)):
        assert of_cards(deal, CARDS, document) == deal
    assert of_cards(PORTS, PAIRS, document) == PORTS


def test_a_bundle_on_loan_of_both_cards_has_two_ports_and_no_more() -> None:
    document = of_paths(CARDS, 9.38e9, 9.38e9, PORTS, 40e9)
    below, link = document.rungs
    plain = next(e for e in link.experiments if not e.parameters.paths)
    bundle = (Setting(SettingKind.LAGG, "roundrobin"),)
    lent = replace(plain, parameters=replace(plain.parameters, id="lent", settings=bundle))
    link = replace(link, experiments=(*link.experiments, lent))
    seen = judge_document(replace(document, rungs=(below, link))).rungs[-1].experiments
    of_both = [j for j in seen if "(" not in j.experiment]
    (needed,) = {j.judgement.figures["needed_bps"] for j in of_both}
    assert [j.experiment for j in of_both if not j.counts] == ["lent"] and needed == pytest.approx(18.27e9, rel=1e-3)
    (of_one,) = {j.judgement.figures["needed_bps"] for j in seen if j not in of_both}
    assert of_one == pytest.approx(9.13e9, rel=1e-3)


def test_more_repeats_are_asked_for_by_what_both_cards_are_sold_as() -> None:
    """Of a rung whose repeats lie about the 18.3 Gb/s of two ports, and all above the 9.1 Gb/s of one."""
    for bps, wanted in ((9.13e9, True), (9.38e9, False)):
        document = of_paths(CARDS, 9.38e9, bps, PORTS, 40e9)
        rung = replace(document.rungs[-1], name=RungName.SAME_VLAN)
        ids = {e.parameters.id for e in rung.experiments if not e.parameters.paths}
        more = tuple(replace(e, parameters=replace(e.parameters, at_most=8)) for e in rung.experiments)
        assert bool(ids & set(unsettled(replace(rung, experiments=more), document))) is wanted


def test_the_page_draws_the_sum_against_all_ports() -> None:
    document = of_paths(CARDS, 9.38e9, 9.38e9, PORTS, 40e9)
    held = view.of_the_link(document, PORTS)
    assert held is not None and held.port_bps == 20e9
