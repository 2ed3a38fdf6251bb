"""Of repeats that lost unlike shares, the sentence names what the worst of them lost, once."""

from __future__ import annotations

import dataclasses

from judge_documents import GOOD, F, both, document, trial, udp
from linkladder.judge import judge_document
from linkladder.model import NicCounters, RungName
from linkladder.verdicts import Verdict
from trials import changed

SENT = 48000


def test_the_share_that_the_path_lost_is_the_worst_repeat_s_and_named_once() -> None:
    made = udp(F, 480e6, 400e6)
    repeats = []
    for n, lost in enumerate((19000, 23000, 21000)):
        nics = {
            "near": NicCounters("ix0", tx_bytes=SENT * 1512, tx_packets=SENT),
            "far": NicCounters("ix0", rx_bytes=(SENT - lost) * 1512, rx_packets=SENT - lost),
        }
        one = trial(480e6 * (1 - lost / SENT), F, n, lost=lost, datagrams=SENT)
        repeats.append(changed(one, nics=nics))
    lossy = dataclasses.replace(made, trials=tuple(repeats))
    good = both(RungName.DC_LINK, GOOD)
    link = dataclasses.replace(good, experiments=(*good.experiments, lossy))
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), link))
    assert judged.verdict is Verdict.FAIL
    (said,) = (r for r in judged.judgement.reasons if "UDP" in r)
    assert said.count("never reached the receiving one") == 1 and "47.92 %" in said
