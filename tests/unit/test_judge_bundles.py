"""A bundle told from rates: how many members, how sure, the odds of hashing; reordering told from loss."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from linkladder import plan as plans
from linkladder.judge.bundles import judge_bundles, likely, member_shares, occupied, odds
from linkladder.judge.disorder import reordered_or_lost
from linkladder.judge.lent_bundles import lent_bundles
from linkladder.model import (
    Contract,
    CpuUse,
    Direction,
    EndRecord,
    Experiment,
    ExperimentResult,
    Leg,
    NicCounters,
    Outcome,
    Protocol,
    Rtt,
    RungName,
    RungResult,
    Setting,
    SettingKind,
    TcpCounters,
    TrialResult,
)
from linkladder.report.bundle_tables import _cards, _lent
from linkladder.verdicts import BundleJudgement

DEAL = Contract(port_bps=10e9)
FLOWS, BLOCKS = (1, 2, 4, 8, 16), (20000, 30001)


IDLE = CpuUse(20.0, 30.0, 0.6)


def measured(flows: int, block: int, bps: float) -> ExperimentResult:
    """A trial that neither a core nor a window held."""
    name = f"tcp-{flows}-{block}"
    leg = Leg(Outcome(True, goodput_bps=bps, by_direction={"forward": bps}, rtt=Rtt(9, 9, p50_ms=0.4)))
    trial = TrialResult(name, 0, (leg,), (EndRecord("near", cpu=IDLE), EndRecord("far", cpu=IDLE)))
    return ExperimentResult(Experiment(name, streams=flows, client_port=block), (trial,))


def judged(rates: dict[tuple[int, int], float]) -> BundleJudgement:
    made = tuple(measured(flows, block, bps) for (flows, block), bps in rates.items())
    (found,) = judge_bundles(RungResult(RungName.DC_LINK, experiments=made), DEAL)
    return found


def drawn(members: int, chance: random.Random, one: float = 941e6) -> dict[tuple[int, int], float]:
    """Flows thrown on members; each used member carries what one flow gets alone."""
    rates = {}
    for block in BLOCKS:
        for flows in FLOWS:
            used = len({chance.randrange(members) for _ in range(flows)})
            rates[flows, block] = used * one * chance.uniform(0.97, 1.0)
    return rates


def test_the_odds_of_hashing() -> None:
    assert odds(16, 2, 0.7) == pytest.approx(2 * 2517 / 65536)  # 12 or more of 16 on either
    assert odds(1, 2, 0.7) == 1 and odds(2, 2, 0.7) == pytest.approx(0.5)
    assert occupied(2, 2, 1) == occupied(2, 2, 2) == 0.5 and occupied(16, 3, 3) > 0.99
    assert sum(occupied(8, 5, used) for used in range(1, 6)) == pytest.approx(1)


@pytest.mark.parametrize("members", [3, 4])
@pytest.mark.parametrize("share", [0.5, 0.7])
def test_the_odds_of_three_and_four_members_are_those_of_every_draw(members: int, share: float) -> None:
    flows = 8
    draws = list(itertools.product(range(members), repeat=flows))
    worse = sum(max(map(draw.count, range(members))) >= share * flows for draw in draws)
    assert odds(flows, members, share) == pytest.approx(worse / len(draws))
    for used in range(1, members + 1):
        assert occupied(flows, members, used) == pytest.approx(sum(len(set(d)) == used for d in draws) / len(draws))


@pytest.mark.parametrize(("members", "said"), [(3, "3 members are likely"), (4, "4 members are likely")])
def test_three_and_four_members_in_words(members: int, said: str) -> None:
    most = 0.95 * members * 941e6
    rates = {(n, block): (941e6 if n == 1 else most if n > 4 else 2 * 941e6) for n in FLOWS for block in BLOCKS}
    seen = judged(rates)
    assert seen.members == members and said in seen.sentences[0] and "95 % of them used" in seen.sentences[0]
    assert seen.odds == odds(16, members, 1.4 / members) and len(seen.sentences) == 1


@pytest.mark.parametrize("names", [("ix0", "ix1", "ix2"), ("ix0", "ix1", "ix2", "ix3")])
def test_the_shares_of_three_and_four_cards_are_told_at_both_ends(names: tuple[str, ...]) -> None:
    counted = tuple(NicCounters(name, tx_bytes=1000 * (n + 1), rx_bytes=1000) for n, name in enumerate(names))
    one = measured(16, 20000, 2e9)
    (trial,) = one.trials
    ends = tuple(replace(end, members=counted) for end in trial.ends)
    rung = RungResult(RungName.DC_LINK, experiments=(replace(one, trials=(replace(trial, ends=ends),)),))
    sent, came = member_shares(rung)
    total = sum(range(1, len(names) + 1))
    for n, name in enumerate(names):
        assert f"{100 * (n + 1) / total:.0f} % by {name}" in sent, sent
        assert f"{100 / len(names):.0f} % by {name}" in came, came


@pytest.mark.parametrize("counted", [(5, 3), (8, 0), (4, 2, 2), (6, 1, 1), (3, 2, 2, 1), (5, 1, 1, 1)])
def test_the_odds_beside_shares_are_those_of_a_draw_as_uneven_as_the_one_seen(counted: tuple[int, ...]) -> None:
    """Every way in which eight flows can fall is counted, for shares that a flow's own rate bends a little."""
    cards = tuple(NicCounters(f"ix{n}", tx_bytes=1000 * c + 30 * (c > 0)) for n, c in enumerate(counted))
    one = measured(8, 20000, 2e9)
    (trial,) = one.trials
    ends = tuple(replace(end, members=cards if end.name == "near" else ()) for end in trial.ends)
    (said,) = member_shares(
        RungResult(RungName.DC_LINK, experiments=(replace(one, trials=(replace(trial, ends=ends),)),))
    )
    draws = list(itertools.product(range(len(counted)), repeat=8))
    chance = sum(max(map(draw.count, range(len(counted)))) >= max(counted) for draw in draws) / len(draws)
    told = f"{100 * chance:.0f}" if chance >= 0.01 else "fewer than 1"
    assert said.endswith(f"; hashing alone puts as much or more on one member in {told} of 100 draws.")


@pytest.mark.parametrize("members", [1, 2, 3, 4])
def test_the_members_of_a_bundle_are_told_from_rates_alone(members: int) -> None:
    chance = random.Random(members)
    right = [judged(drawn(members, chance)) for _ in range(50)]
    assert sum(one.members == members for one in right) >= 48
    assert sum(one.chance > 0.8 for one in right) >= 45


def test_two_members_in_words() -> None:
    rates = {(n, block): (941e6 if n == 1 else 1.74e9) for n in FLOWS for block in BLOCKS}
    seen = judged(rates)
    assert (seen.members, seen.most_flows) == (2, 16) and seen.chance > 0.9
    assert seen.sentences[0].startswith(
        "Near to far: one flow gets 941 Mb/s; 16 get 1.74 Gb/s, 1.85 times as much: 2 members are likely"
    )
    assert "92 % of them used" in seen.sentences[0] and len(seen.sentences) == 1


def test_a_hash_by_addresses_gives_one_pair_of_machines_one_member() -> None:
    seen = judged({(n, block): 941e6 for n in FLOWS for block in BLOCKS})
    assert seen.members == 1 and "hashes by addresses only" in seen.sentences[0]


@pytest.mark.parametrize(("one", "many"), [(500e6, 750e6), (660e6, 950e6)])
def test_more_than_one_flow_gets_and_less_than_two_members_carry_is_no_single_link(one: float, many: float) -> None:
    seen = judged({(n, block): one if n == 1 else many for n in FLOWS for block in BLOCKS})
    (said,) = seen.sentences
    assert said.startswith(f"Near to far: one flow gets {one / 1e6:.0f} Mb/s; 16 get {many / 1e6:.0f} Mb/s, 1.")
    assert "cannot be told" in said and "single link" not in said and (seen.members, seen.chance) == (0, 0.0)
    alike = judged({(n, block): 941e6 if n == 1 else 945e6 for n in FLOWS for block in BLOCKS})
    assert alike.members == 1 and "no more than one, so this is a single link" in alike.sentences[0]


def test_uneven_is_said_only_of_two_blocks_and_with_the_odds() -> None:
    short = {(1, 20000): 941e6, (2, 20000): 1.88e9, (8, 20000): 1.88e9, (16, 20000): 1.5e9}
    one = judged(short)
    assert "a second block of ports tells" in one.sentences[1]
    both = judged({**short, (16, 30001): 1.52e9})
    assert "in each of 2 blocks of ports" in both.sentences[1] and "8 of 100 draws" in both.sentences[1]
    assert "the fullest member gets 70 % of them or more" in both.sentences[1]
    lucky = judged({**short, (16, 30001): 1.87e9})
    assert len(lucky.sentences) == 1


def test_with_four_members_the_odds_are_those_of_one_that_gets_as_much_above_its_even_share() -> None:
    steps = {1: 1.0, 2: 2.0, 4: 3.0, 8: 4.0, 16: 3.4}
    seen = judged({(flows, block): times * 941e6 for flows, times in steps.items() for block in BLOCKS})
    assert seen.members == 4, seen
    assert f"35 % of them or more in {100 * odds(16, 4, 0.35):.0f} of 100 draws" in seen.sentences[1]


def test_nothing_is_said_where_ports_were_the_system_s_choice() -> None:
    plain = ExperimentResult(Experiment("p", streams=8), (TrialResult("p", 0, (Leg(Outcome(True, goodput_bps=1e9)),)),))
    assert judge_bundles(RungResult(RungName.DC_LINK, experiments=(plain,)), DEAL) == ()
    assert likely([]) and likely([(2, 50.0)])


@pytest.mark.parametrize("case", range(20))
def test_reordering_is_told_from_loss_in_twenty_of_twenty_planted_cases(case: int) -> None:
    chance = random.Random(case)
    segments = chance.randrange(50_000, 2_000_000)
    if case % 2:  # a bundle that takes turns: many overtake, some are sent again, nearly all of those for nothing
        mixed = int(segments * chance.uniform(0.02, 0.4))
        again = int(mixed * chance.uniform(0.01, 0.3))
        seen = reordered_or_lost(mixed, segments, again, int(again * chance.uniform(0.6, 1.0)))
        assert seen.kind == "reordering", seen
    else:  # each lost segment leaves a train out of order behind it, and is missed
        again = max(20, int(segments * chance.uniform(0.0005, 0.02)))
        seen = reordered_or_lost(again * chance.randrange(5, 60), segments, again, int(again * chance.uniform(0, 0.1)))
        assert seen.kind == "loss", seen


def test_where_too_little_came_out_of_order_nothing_is_told() -> None:
    assert reordered_or_lost(10, 1_000_000, 3, 0).kind == ""
    assert reordered_or_lost(750, 1_000_000, 8000, 0).kind == "loss", "the receiver's card had merged what came late"
    assert reordered_or_lost(50_000, 1_000_000, 0, 0).kind == "reordering", "the sender saw through it"
    assert reordered_or_lost(50_000, 1_000_000, 1000, None).kind == "", "nobody counted what came twice"
    assert reordered_or_lost(50_000, 1_000_000, 900, 300).kind == "both"


def test_the_plan_has_both_blocks_and_both_ways() -> None:
    (rung,) = (r for r in plans.builtin("bundle", 2, DEAL).rungs if r.name is RungName.DC_LINK)
    asked = [e for e in rung.experiments if e.client_port]
    assert {(e.streams, e.client_port) for e in asked} == {(n, block) for n in FLOWS for block in BLOCKS}
    assert {e.direction for e in asked} == {Direction.FORWARD, Direction.REVERSE} and len({e.id for e in asked}) == 20
    ports = [range(block, block + 16) for block in BLOCKS]
    assert not set(ports[0]) & set(ports[1])


def lent(
    kind: str, flows: int, bps: float, by_card: tuple[int, int], tcp: tuple[TcpCounters, TcpCounters]
) -> ExperimentResult:
    """One good trial over a bundle on loan, with what its cards and its ends' TCP counted."""
    near, far = (
        EndRecord(
            name,
            tcp=counters,
            members=tuple(
                NicCounters(f"vmx{n}", tx_bytes=moved * sends, rx_bytes=moved * (1 - sends))
                for n, moved in enumerate(by_card, 1)
            ),
        )
        for name, counters, sends in (("near", tcp[0], 1), ("far", tcp[1], 0))
    )
    exp = Experiment(f"{kind}-{flows}", streams=flows, settings=(Setting(SettingKind.LAGG, kind),))
    leg = Leg(Outcome(True, goodput_bps=bps, by_direction={"forward": bps}))
    return ExperimentResult(exp, (TrialResult(exp.id, 0, (leg,), (near, far)),))


QUIET = (TcpCounters(segments_sent=1000, retransmits=0, dsacks=0), TcpCounters(out_of_order=0))
MIXED = (
    TcpCounters(segments_sent=1000, retransmits=40, dsacks=30, reorderings=1, duplicate_acks=210),
    TcpCounters(out_of_order=180, came_twice=31),
)


def test_what_a_bundle_on_loan_gives_is_said_in_words() -> None:
    made = (
        lent("loadbalance", 1, 941e6, (990, 10), QUIET),
        lent("loadbalance", 8, 1.74e9, (520, 480), QUIET),
        lent("roundrobin", 1, 1.24e9, (500, 500), MIXED),
    )
    first, sent, received, turns, *_ = lent_bundles(RungResult(RungName.DC_LINK, experiments=made))
    assert first == (
        "Loadbalance bundle of 2 cards on loan, near to far: one flow gets one member: 941 Mb/s, 0 % out of order; "
        "8 get 1.74 Gb/s, 92 % of two."
    )
    assert sent.startswith("near sent 8 flows 52 % by vmx1, 48 % by vmx2; hashing alone puts as much or more ")
    assert sent.endswith(" in 100 of 100 draws.")
    assert received.startswith("far received 8 flows 52 % by vmx1")
    assert turns == (
        "Roundrobin bundle of 2 cards on loan, near to far: 1.24 Gb/s for one flow, 18 % out of order, "
        "3 % sent again for nothing. Counted: near sent 1000 segments and 40 again, was told of 30 that came twice, "
        "noticed reordering 1 time, got 210 duplicate ACKs; far had 180 out of order, got 31 twice."
    )


def test_a_flow_over_two_cards_of_a_hashing_bundle_is_not_said_to_have_one_member() -> None:
    made = (lent("loadbalance", 1, 941e6, (600, 400), QUIET),)
    assert "941 Mb/s for one flow" in lent_bundles(RungResult(RungName.DC_LINK, experiments=made))[0]


def test_round_robin_with_tso_and_without_are_told_apart() -> None:
    whole, each = (lent("roundrobin", 1, bps, (500, 500), MIXED) for bps in (1.2e9, 0.8e9))
    off = (*each.parameters.settings, Setting(SettingKind.TSO, "off"))
    each = replace(each, parameters=replace(each.parameters, id="off", settings=off))
    said = [s for s in lent_bundles(RungResult(RungName.DC_LINK, experiments=(whole, each))) if "bundle of" in s]
    assert "on loan, near to far: 1.20 Gb/s" in said[0] and "on loan, TSO off, near to far: 800 Mb/s" in said[1]


def test_the_built_in_plan_lends_each_kind_and_the_single_card_is_there_to_hold_it_against() -> None:
    (rung,) = plans.builtin("lagg").rungs
    lent = {(e.bundled, len(e.settings)) for e in rung.experiments if e.protocol is Protocol.TCP}
    assert lent == {("", 0), ("roundrobin", 1), ("roundrobin", 2), ("loadbalance", 1), ("loadbalance", 2)}


def test_without_a_bundle_on_loan_nothing_is_said() -> None:
    assert lent_bundles(RungResult(RungName.DC_LINK, experiments=(measured(8, 20000, 1e9),))) == []


def test_the_report_has_a_table_of_the_cards_of_each_bundle_on_loan() -> None:
    made = (lent("loadbalance", 1, 941e6, (990, 10), QUIET), lent("loadbalance", 8, 1.74e9, (520, 480), QUIET))
    rung = RungResult(RungName.DC_LINK, experiments=made)
    (settings,) = _lent(rung)
    table = _cards(rung, Direction.FORWARD, settings)
    assert "all cards a loadbalance bundle" in table.caption
    assert table.rows[0][:2] == ("near vmx1", "sent") and table.rows[0][3].endswith("52 %")
    assert _cards(rung, Direction.FORWARD, ()).rows == ()
