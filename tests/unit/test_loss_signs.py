"""What tells random loss from a policer counts the datagrams: few lost ones leave open what they are a share of."""

from __future__ import annotations

from dataclasses import replace

from linkladder.judge.evidence import Evidence, Paced
from linkladder.judge.limiters import limiter_of
from linkladder.judge.loss_signs import loss_signs, policer_signs
from linkladder.model import PathMtu
from linkladder.verdicts import LimiterKind


def paced(offered: float, lost: int, datagrams: int) -> Paced:
    share = lost / datagrams
    return Paced(offered, offered * (1 - share), share, datagrams)


def seen(*trials: Paced, goodput: float = 59.8e6, loss: float = 0.0047) -> tuple[bool, bool]:
    """Whether there are signs of a policer, and of random loss."""
    evidence = Evidence(goodput, 95e6, 2, 1448, "near", "far", loss=loss, retransmits=180, paced=trials)
    return bool(policer_signs(evidence)), bool(loss_signs(evidence))


def test_three_lost_of_eight_thousand_do_not_tell_a_policer() -> None:
    assert seen(paced(48.6e6, 3, 8300), paced(87.5e6, 12, 14_900)) == (False, True)


def test_none_lost_below_and_many_above_is_a_policer() -> None:
    assert seen(paced(48.6e6, 0, 8300), paced(87.5e6, 3300, 14_900)) == (True, False)
    assert seen(paced(48.6e6, 3, 8300), paced(87.5e6, 3300, 14_900)) == (True, False)


def test_none_lost_where_tcp_loses_much_is_a_policer() -> None:
    assert seen(paced(48.6e6, 0, 8300)) == (True, False)
    assert seen(paced(48.6e6, 0, 4000)) == (False, False)  # too few to tell a tenth of 0.47 %


def test_the_same_share_at_both_rates_is_random_loss() -> None:
    assert seen(paced(48.6e6, 80, 8300), paced(87.5e6, 150, 14_900), loss=0.01) == (False, True)
    assert seen(paced(48.6e6, 20, 8300), paced(87.5e6, 600, 14_900), loss=0.01)[1] is False


def test_tcp_that_a_tenth_of_loss_brought_to_a_standstill_met_no_outage() -> None:
    """Of a real trial: 178 kB in the first second, then nothing, while 16 of 20 pings and nine tenths of UDP came."""
    stalled = Evidence(
        0.0, 95e6, 1, 1448, "near", "far", loss=0.119, retransmits=24, flows=1, idle_ms=14.7, loaded_ms=14.7,
        seconds=(0.0, 0.0, 0.0, 0.0), total_bytes=178_164,
        paced=(paced(48.6e6, 867, 8266), paced(87.5e6, 1446, 14_882)),
    )  # fmt: skip
    assert limiter_of(stalled, bounded=True).kind is LimiterKind.LOSS
    assert limiter_of(replace(stalled, paced=()), bounded=True).kind is LimiterKind.OUTAGE


def test_tcp_that_a_tenth_of_loss_brought_to_a_trickle_met_no_broken_card() -> None:
    """A real trial carried 52 kb/s, timeout upon timeout. Probes of full size pass where large sends vanish as well."""
    trickles = Evidence(
        52.1e3, 38.2e6, 1, 1448, "near", "far", loss=0.12, retransmits=24, flows=1, idle_ms=13.0, loaded_ms=13.0,
        seconds=(0.0, 150e3, 0.0, 58e3), total_bytes=40_544, path_mtu=PathMtu((1500,), mtu=1500),
        paced=(paced(19.5e6, 320, 3317), paced(35.1e6, 583, 5969)),
    )  # fmt: skip
    assert limiter_of(trickles, bounded=True).kind is LimiterKind.LOSS
    unharmed = tuple(replace(p, delivered_bps=p.offered_bps, loss=0.0) for p in trickles.paced)
    for others in ((), unharmed):
        beside = replace(trickles, paced=others, by_streams=((4, 400e3),))
        assert limiter_of(beside, bounded=True).kind is LimiterKind.LARGE_SENDS, "more streams trickle more"


LOST = Evidence(59.8e6, 95e6, 2, 1448, "near", "far", loss=0.01, retransmits=180, sender_busy=40.0, receiver_busy=40.0)
ALIKE = (paced(48.6e6, 80, 8300), paced(87.5e6, 150, 14_900))


def candidates(evidence: Evidence) -> set[LimiterKind]:
    found = limiter_of(evidence, bounded=True)
    return {found.kind, *found.candidates}


def test_what_a_busy_end_did_not_pace_evenly_may_have_been_dropped_for_its_bursts() -> None:
    assert candidates(replace(LOST, paced=ALIKE)) == {LimiterKind.LOSS}
    hurried = tuple(replace(p, uneven=True) for p in ALIKE)
    assert candidates(replace(LOST, paced=hurried)) == {LimiterKind.LOSS, LimiterKind.BURST}
    found = limiter_of(replace(LOST, paced=hurried), bounded=True)
    assert "too busy to pace its datagrams evenly" in found.sentence and "idle" in found.experiment


def test_what_tcp_loses_several_times_as_much_of_may_be_lost_of_its_bursts() -> None:
    """Of a real trial through a bucket of 21 packets: UDP as even as its sender keeps it loses a few of them too."""
    few = (paced(38.9e6, 6, 6600), paced(70.0e6, 8, 12_000))
    burst = replace(LOST, loss=0.0064, paced=few)
    assert candidates(burst) == {LimiterKind.LOSS, LimiterKind.BURST}
    assert candidates(replace(burst, loss=0.003)) == {LimiterKind.LOSS}


def test_loss_alone_may_be_a_small_buffer_s_and_beside_a_saturated_core_an_end_s() -> None:
    either = {LimiterKind.LOSS, LimiterKind.POLICER, LimiterKind.BURST}
    assert candidates(LOST) == either
    assert candidates(replace(LOST, sender_busy=99.0)) == either | {LimiterKind.SENDER}
    assert candidates(replace(LOST, receiver_busy=99.0)) == either | {LimiterKind.RECEIVER}
    ends = {LimiterKind.SENDER, LimiterKind.RECEIVER}
    assert candidates(replace(LOST, sender_busy=99.0, receiver_busy=100.0)) == either | ends, "either may be it"
    assert candidates(replace(LOST, paced=ALIKE, sender_busy=99.0)) == {LimiterKind.LOSS}, "UDP shows who loses it"


def test_a_policer_that_only_a_busy_sender_s_bursts_met_may_be_random_loss() -> None:
    """A lossy link, its sender kept from its core: quicker in the first second, and UDP in bursts."""
    policed = (paced(48.6e6, 0, 8300), paced(87.5e6, 3300, 14_900))
    assert candidates(replace(LOST, paced=policed)) == {LimiterKind.POLICER}
    hurried = tuple(replace(p, uneven=True) for p in policed)
    assert {LimiterKind.POLICER, LimiterKind.LOSS} < candidates(replace(LOST, paced=hurried))


def test_shares_that_their_counts_tell_apart_may_be_what_bursts_lost() -> None:
    """Of real trials behind a bucket of some twenty packets, which an uneven sender and TCP both overran."""
    met = replace(LOST, goodput=15e6, streams=1, idle_ms=9.0, loaded_ms=9.0)
    unlike = (paced(58.3e6, 85, 19_800), paced(87.5e6, 68, 29_800))
    assert LimiterKind.BURST in candidates(replace(met, paced=unlike, loss=0.0102))
    half_of_tcp = (paced(58.3e6, 99, 19_800), paced(87.5e6, 1100, 29_800))
    assert LimiterKind.BURST in candidates(replace(met, paced=half_of_tcp, loss=0.0079))
    same = (paced(58.3e6, 190, 19_800), paced(87.5e6, 290, 29_800))
    assert candidates(replace(met, paced=same, loss=0.0102)) == {LimiterKind.LOSS}


def test_a_policer_that_lets_four_times_as_much_udp_through_may_be_a_small_bucket() -> None:
    beyond = (paced(58.3e6, 2, 19_800), paced(105e6, 3500, 35_700))
    plain = (paced(19.4e6, 0, 6600), paced(35e6, 1100, 11_900))
    met = replace(LOST, goodput=22.3e6, streams=1, loss=0.0067, idle_ms=9.0, loaded_ms=9.0)
    assert candidates(replace(met, paced=beyond)) == {LimiterKind.POLICER, LimiterKind.BURST}
    assert candidates(replace(met, paced=plain, loss=0.08)) == {LimiterKind.POLICER}


def test_what_loses_below_tcp_s_own_rate_as_well_is_no_policer_alone() -> None:
    """As a lab with other work measured a link of rare loss: the quicker UDP met its bucket in bursts besides."""
    below = (paced(48.6e6, 20, 16_534), paced(87.5e6, 446, 29_760))
    found = candidates(replace(LOST, goodput=52.5e6, loss=0.007, paced=below))
    assert {LimiterKind.POLICER, LimiterKind.LOSS} <= found
    clean = (paced(48.6e6, 1, 16_534), paced(87.5e6, 446, 29_760))
    assert candidates(replace(LOST, goodput=52.5e6, loss=0.007, paced=clean)) == {LimiterKind.POLICER}


def test_a_first_second_of_a_busy_sender_names_no_policer_alone() -> None:
    """Of a real trial whose sender's cores others took from its second second on: it lost a few segments of its own."""
    met = replace(LOST, goodput=145e6, ceiling=2.8e9, loss=0.0014, burst=1.6, seconds=(145e6, 146e6, 144e6, 145e6))
    assert candidates(replace(met, sender_busy=60.0)) == {LimiterKind.POLICER}
    found = limiter_of(replace(met, sender_busy=100.0), bounded=True)
    assert {found.kind, *found.candidates} == {LimiterKind.POLICER, LimiterKind.SENDER}
    assert "a core of the sender is 100 % busy" in found.sentence
    policed = (paced(70e6, 0, 8300), paced(290e6, 8000, 16_000))
    assert candidates(replace(met, sender_busy=100.0, paced=policed)) == {LimiterKind.POLICER}, "UDP shows who drops"


def test_streams_that_add_nothing_where_a_core_is_nearly_busy_name_no_policer_alone() -> None:
    """Of emulated machines whose link has none: the receiver's busiest core was 91 % busy, whatever the streams."""
    met = replace(LOST, goodput=3.28e9, ceiling=9.4e9, streams=8, loss=1e-4, by_streams=((1, 3.1e9), (4, 3.2e9)))
    assert candidates(replace(met, receiver_busy=60.0)) == {LimiterKind.POLICER}
    assert candidates(replace(met, receiver_busy=91.0)) == {LimiterKind.POLICER, LimiterKind.RECEIVER}


def test_what_bursts_lose_beside_a_saturated_core_may_be_lost_in_that_end() -> None:
    clean = (paced(48.6e6, 0, 16_534), paced(87.5e6, 0, 29_760))
    met = replace(LOST, goodput=30e6, loss=0.01, paced=clean)
    assert candidates(met) == {LimiterKind.BURST}
    assert candidates(replace(met, sender_busy=99.0)) == {LimiterKind.BURST, LimiterKind.SENDER}


def test_two_packets_that_wait_while_some_are_lost_may_be_a_buffer_too_small_for_bursts() -> None:
    """Of a real bucket of a few kilobytes; a queue that holds more of them is a shaper's."""
    waits = Evidence(20.3e6, 95e6, 1, 1448, "near", "far", loss=0.0083, retransmits=150, idle_ms=12.3, loaded_ms=13.4)
    assert candidates(waits) == {LimiterKind.SHAPER, LimiterKind.BURST}
    assert candidates(replace(waits, loaded_ms=18.3)) == {LimiterKind.SHAPER}
    shown = (paced(18e6, 0, 8300), paced(87.5e6, 3300, 14_900))  # the path takes no more than that
    assert candidates(replace(waits, paced=shown)) == {LimiterKind.SHAPER}
