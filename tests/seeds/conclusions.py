"""What each of the five seeds concludes, and what the judge says to its numbers.

REACHED: the same numbers lead the judge there.  REFUTED: they do not bear it, and `because` says why.  NEEDS: nobody
can tell from what was published, and `because` says what would have to be measured.  Each row with a check is asked of
the judge by tests/unit/test_seed_conclusions.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import aix_large_send
import freebsd_dci
from linkladder.judge import ceiling, judge_document
from linkladder.judge.pairs import judge_pairs
from linkladder.model import Contract, RungName
from linkladder.verdicts import Answer, Cause, Verdict


class Outcome(StrEnum):
    REACHED = "reached"
    REFUTED = "refuted"
    NEEDS = "needs"


@dataclass(frozen=True)
class Conclusion:
    seed: str
    says: str
    outcome: Outcome
    because: str
    check: Callable[[], bool] | None = None  # that the judge says so


def gigabit(count: float, mtu: int = 1500) -> float:
    """What ports of 1 Gb/s carry together."""
    return count * ceiling(Contract(port_bps=1e9, mtu=mtu)).bps


def link_is_impossible() -> bool:
    judged = judge_document(freebsd_dci.document())
    return judged.verdict is Verdict.IMPOSSIBLE and judged.judgement.cause is Cause.ABOVE_CEILING


def jumbo_is_not_proven() -> bool:
    """Within the ceiling of MTU 9000, but one number without seconds, bytes or counters."""
    judged = judge_document(freebsd_dci.document(mtu=9000))
    causes = {c.cause for c in judged.rungs[-1].judgement.concerns}
    return judged.verdict is Verdict.CANNOT_JUDGE and Cause.UNACCOUNTED in causes


def half_the_cores_is_not_best() -> bool:
    """Of 8 vCPUs 4 streams; on the same host 8 of them with 800k carry the most, though their worst is not."""
    rows = freebsd_dci.TABLE[RungName.SAME_HOST]
    return max(rows, key=lambda row: row[3])[0] == 8 and max(rows, key=lambda row: row[2])[0] == 4


def one_stream_on_a_host_is_a_weak_generator() -> bool:
    """6.7 Gb/s cannot fill 10 Gb/s with half as much again to spare; 20 Gb/s can."""
    judged = {r.rung: r for r in judge_document(freebsd_dci.document()).rungs}
    best = judged["same-host"].best_bps or 0.0
    return 6.71e9 < 1.5 * 10e9 < best


def one_pair_tells_nothing() -> bool:
    rows = [row for row in aix_large_send.THROUGHPUT if row[0] == 8]
    off, on = ([cores for _, bypass, cores, _ in rows if bypass is state] for state in (False, True))
    said = judge_pairs(off, on)
    return said.answer is Answer.UNDECIDED and said.more_pairs == 3


def four_such_pairs_would_tell() -> bool:
    return judge_pairs([5.52, 5.50, 5.54, 5.51], [4.13, 4.12, 4.15, 4.13]).answer is Answer.DIFFERS


def large_sends_stay_within_the_port() -> bool:
    return all(mbps * 1e6 < ceiling(Contract(port_bps=10e9)).bps for _, _, _, mbps in aix_large_send.THROUGHPUT)


def equal_transactions_are_one_pair_each() -> bool:
    rates = {on: [rate for _, bypass, _, rate in aix_large_send.TRANSACTIONS if bypass is on] for on in (False, True)}
    return judge_pairs(rates[False], rates[True]).answer is Answer.UNDECIDED


def two_cards_exceed_one() -> bool:
    """18.4 Gb/s over two cards of 16 Gb/s: more than one can carry, less than both can."""
    one = ceiling(Contract(port_bps=100e9, rate_bps=16e9)).bps
    return one < 18.4e9 < 2 * one


def tuned_is_above_two_caps() -> bool:
    """32 Gb/s of payload need more than 32 Gb/s of frames."""
    return 2 * ceiling(Contract(port_bps=100e9, rate_bps=16e9)).bps < 32e9


def a_gigabit_card_carries_more() -> bool:
    """110 MB/s are 93 % of what a port of 1 Gb/s carries: below the usual bar, not its limit."""
    return 0.93 < 110e6 * 8 / gigabit(1) < 0.97


def two_members_can_carry_one_flow() -> bool:
    return gigabit(1) < 220e6 * 8 < gigabit(2)


DCI, AIX, NICS, HOST, BOND = "FreeBSD interconnect", "AIX large send", "several cards", "dedicated host", "bonding"
R, X, N = Outcome.REACHED, Outcome.REFUTED, Outcome.NEEDS

CONCLUSIONS = (
    Conclusion(DCI, "9.74 Gb/s of TCP: the link of 10 Gb/s delivers what was sold", X,
               "a port of 10 Gb/s carries at most 9.41 Gb/s at MTU 1500: it is not the link that was entered",
               link_is_impossible),
    Conclusion(DCI, "the same, had it been MTU 9000", N,
               "seconds, bytes, the cards' counters and repeats: one number is no evidence", jumbo_is_not_proven),
    Conclusion(DCI, "the best number of streams is half of the vCPUs", X,
               "on the same host 8 streams with 800k reach the most and 4 the best worst case: two numbers a cell",
               half_the_cores_is_not_best),
    Conclusion(DCI, "the virtual machines can fill the link, so that what is lost is the link's", R,
               "same-host carries 20 Gb/s with several streams, twice what was sold; one stream would not do",
               one_stream_on_a_host_is_a_weak_generator),
    Conclusion(AIX, "large sends save 25 % of the cores", N,
               "at least four pairs in mirrored order: one measurement each has no noise to compare with",
               one_pair_tells_nothing),
    Conclusion(AIX, "so clear a saving would be seen", R,
               "four pairs that scatter by 1 % say that it differs", four_such_pairs_would_tell),
    Conclusion(AIX, "8.8 Gb/s with large sends on a port of 10 Gb/s", R,
               "it is within the ceiling of 9.41 Gb/s", large_sends_stay_within_the_port),
    Conclusion(AIX, "transactions of 700 bytes neither gain nor lose", N,
               "repeats: equal figures of one trial each are not the same within 2 %",
               equal_transactions_are_one_pair_each),
    Conclusion(NICS, "two cards carry more than the limit of one", R,
               "18.4 Gb/s are above the ceiling of one path and below that of both", two_cards_exceed_one),
    Conclusion(NICS, "tuned, two cards reach the theoretical maximum of 32 Gb/s", X,
               "two caps of 16 Gb/s carry 30.6 Gb/s of TCP at MTU 1500: the cap or the MTU is not what was entered",
               tuned_is_above_two_caps),
    Conclusion(NICS, "each of the three steps adds something", N,
               "each step against the one before in pairs: the article changes one after another, once"),
    Conclusion(HOST, "several pairs together come near the 20 Gb/s of the host", N,
               "the pairs at the same time, counted over the seconds they share, with the uplink's ceiling"),
    Conclusion(HOST, "7 % more with 4 than with 32 vCPUs comes of CPU affinity and does not matter", N,
               "the affinity changed alone, in pairs: 7 % lies far outside of the 2 % that do not matter"),
    Conclusion(HOST, "MTU 9000 and more connections carry more", N,
               "repeats and the cores' figures of each cell; the article shows means in a chart"),
    Conclusion(BOND, "a card of 1 Gb/s provides about 110 MB/s", X,
               "it carries 117.7 MB/s at MTU 1500; 110 are 93 % of it, below the usual bar",
               a_gigabit_card_carries_more),
    Conclusion(BOND, "220 MB/s of a single copy over two cards", R,
               "above the ceiling of one member and below that of two: it used both", two_members_can_carry_one_flow),
    Conclusion(BOND, "round robin's reordering does not hurt TCP", N,
               "out-of-order segments and each member's share, which nothing in the article tells"),
)  # fmt: skip
