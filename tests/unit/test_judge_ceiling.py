"""The ceiling, the intervals, and published tables as worked cases."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aix_large_send
import freebsd_dci
from judge_documents import GIGABIT, F, document, rung, tcp, trial
from linkladder import tools
from linkladder.judge import Overrides, Verdict, ceiling, compare, judge_document, judge_rung
from linkladder.judge.ceilings import datagram
from linkladder.judge.stats import spread, t95
from linkladder.model import Contract, CpuUse, Experiment, Layer, Protocol, RungName
from linkladder.verdicts import Cause

# --- the ceiling


@pytest.mark.parametrize(
    ("contract", "gbps"),
    [
        (Contract(), 9.415),
        (Contract(timestamps=False), 9.493),
        (Contract(mtu=9000), 9.900),
        (Contract(mtu=9000, timestamps=False), 9.914),
        (Contract(vlan_tags=1), 9.390),
        (Contract(mtu=9000, vlan_tags=1), 9.896),
        (Contract(ip_version=6), 9.285),
        (Contract(rate_bps=1e9), 0.9564),
        (Contract(rate_bps=1e9, layer=Layer.L1), 0.9415),
        (Contract(rate_bps=1e9, layer=Layer.L3), 0.9653),
        (Contract(rate_bps=1e9, encap_bytes=50), 0.9258),
        (
            Contract(port_bps=1e9, rate_bps=1e9),
            0.9415,
        ),  # the port is lower than what L2 counting would allow
    ],
)
def test_ceiling(contract: Contract, gbps: float) -> None:
    assert ceiling(contract).bps / 1e9 == pytest.approx(gbps, abs=0.0006)


def test_udp_ceiling_depends_on_the_datagram() -> None:
    assert ceiling(Contract(), Protocol.UDP).bps / 1e9 == pytest.approx(10 * 1470 / 1536, abs=1e-3)
    assert ceiling(Contract(), Protocol.UDP, 64).bps < ceiling(Contract(), Protocol.UDP).bps / 1.5


@pytest.mark.parametrize("version", [4, 6])
def test_a_datagram_of_no_stated_size_is_as_large_as_the_tools_send_it(version: int) -> None:
    deal = Contract(ip_version=version)
    assert ceiling(deal, Protocol.UDP).payload_bytes == tools.default_datagram(version)
    assert datagram(Experiment("u", protocol=Protocol.UDP), deal) == tools.default_datagram(version)
    assert ceiling(replace(deal, mtu=1400), Protocol.UDP).payload_bytes == 1400 - 8 - (20 if version == 4 else 40)


def test_ceiling_names_what_sets_it() -> None:
    assert ceiling(GIGABIT).which == "contract"
    assert ceiling(Contract(port_bps=1e9, rate_bps=2e9)).which == "port"
    assert "956.4 Mb/s" in ceiling(GIGABIT).sentence


@given(st.floats(1e6, 4e11), st.sampled_from([1500, 9000]), st.floats(0.1, 10))
def test_ceiling_is_unit_safe(port: float, mtu: int, factor: float) -> None:
    """Ten times the rate is ten times the ceiling: no unit is mixed in."""
    a, b = (
        ceiling(Contract(port_bps=port, mtu=mtu)),
        ceiling(Contract(port_bps=port * factor, mtu=mtu)),
    )
    assert b.bps == pytest.approx(a.bps * factor)
    assert 0 < a.bps < port


# --- statistics


def test_t_interval_of_three_and_five() -> None:
    three, five = spread([1.0, 2.0, 3.0]), spread([1.0, 2.0, 3.0, 4.0, 5.0])
    assert three.high - three.mean == pytest.approx(2.484, abs=0.01)  # 2.48 times s
    assert five.high - five.mean == pytest.approx(1.2417 * 1.5811, abs=0.01)
    assert t95(10_000) == pytest.approx(1.96, abs=0.001) and t95(40) >= 2.021


# --- worked cases: published tables


def test_seed_is_impossible_at_1500() -> None:
    judged = judge_document(freebsd_dci.document(mtu=1500))
    assert judged.verdict is Verdict.IMPOSSIBLE
    assert "9.41 Gb/s" in judged.sentence and "103.5 % of the ceiling" in judged.sentence
    assert "MTU is 9000" in " ".join(judged.judgement.remedies)
    assert "incompressible" in " ".join(judged.judgement.remedies)


def test_seed_fits_the_ceiling_at_9000_and_needs_evidence_for_a_verdict() -> None:
    """An article gives figures alone: no seconds, no bytes, no counters."""
    judged = judge_document(freebsd_dci.document(mtu=9000))
    assert judged.verdict is Verdict.CANNOT_JUDGE and judged.judgement.cause is Cause.UNACCOUNTED
    link = judged.rungs[-1]
    assert link.experiments[0].percent_of_ceiling == pytest.approx(98.4, abs=0.05)
    assert any("Only near to far" in f for f in link.judgement.findings)


def test_seed_judged_again_under_other_assumptions() -> None:
    stored = freebsd_dci.document(mtu=1500)
    assert judge_document(stored, Overrides(mtu=9000)).verdict is Verdict.CANNOT_JUDGE
    assert judge_document(stored, Overrides(mtu=9000)).overridden == ("MTU",)
    assert judge_document(stored, Overrides(port_bps=25e9)).verdict is not Verdict.PASS


def test_what_may_be_lost_is_shown_beside_what_was_sold() -> None:
    """Else the reader of a report sees a PASS beside a loss, and not what it was held against."""
    assumed = judge_document(freebsd_dci.document()).assumptions
    assert assumed["loss at most"] == "0.1 % of the packets"
    assert assumed["availability at least"] == "99.9 % of the time"
    assert "delay at most" not in assumed
    stored = freebsd_dci.document()
    contract = replace(stored.run.plan.contract, delay_ms=7.5, jitter_ms=0.5)
    run = replace(stored.run, plan=replace(stored.run.plan, contract=contract))
    sold = judge_document(replace(stored, run=run)).assumptions
    assert (sold["delay at most"], sold["jitter at most"]) == ("7.50 ms", "0.500 ms")


def test_seed_generator_would_be_strong_enough() -> None:
    by_name = {r.rung: r for r in judge_document(freebsd_dci.document()).rungs}
    assert by_name["same-host"].judgement.figures["headroom"] > 1.9
    assert {r.judgement.cause for name, r in by_name.items() if name != "dc-link"} == {Cause.UNACCOUNTED}


def test_seed_ladder_diagnosis_names_the_steps() -> None:
    said = judge_document(freebsd_dci.document(mtu=9000)).diagnosis
    assert any("localhost to same-host" in s and "virtual switch" in s for s in said)
    assert any("same-host to same-vlan" in s and "no difference" in s for s in said)


def test_aix_gain_is_in_throughput_per_core() -> None:
    """What the article calls 20 % fewer cores is three times the throughput per core."""
    per_core = {(n, on): mbps / cores for n, on, cores, mbps in aix_large_send.THROUGHPUT}
    assert per_core[1, False] == pytest.approx(622, abs=1) and per_core[1, True] == pytest.approx(1925, abs=1)
    off, on = (
        document(
            rung(
                RungName.SAME_VLAN,
                *(
                    tcp(
                        F,
                        tuple(trial(mbps * 1e6, n=n, cpu=_cores(cores)) for n in range(3)),
                        streams,
                    )
                    for streams, bypass, cores, mbps in aix_large_send.THROUGHPUT
                    if bypass is setting
                ),
            ),
            contract=Contract(),
        )
        for setting in (False, True)
    )
    differences = compare(off, on).differences
    assert [round(d.change_percent) for d in differences] == [
        148,
        126,
    ]  # the article rounds to 140 and 124
    assert all(d.beyond_noise for d in differences)
    judged = judge_rung(off.rungs[0], off)
    assert judged.verdict is not Verdict.PASS  # 3.9 Gb/s is no proof of 10


def _cores(used: float) -> dict[str, CpuUse]:
    return {"near": CpuUse(60, 70, used / 2), "far": CpuUse(60, 70, used / 2)}


def test_a_rate_of_frames_may_count_their_fcs() -> None:
    """MEF's way: 1448 of 1518 bytes."""
    sold = Contract(port_bps=10e9, rate_bps=1e9, fcs=True)
    assert ceiling(sold).bps == pytest.approx(1e9 * 1448 / 1518)
    assert "L2 frames with FCS" in ceiling(sold).sentence


def test_a_datagram_larger_than_the_mtu_pays_for_every_fragment() -> None:
    """8192 bytes and their header in six fragments at MTU 1500, each with an IP header and a frame of its own."""
    port = Contract(port_bps=1e9)
    assert ceiling(port, Protocol.UDP, 8192).bps == pytest.approx(1e9 * 8192 / (8200 + 6 * (20 + 38)))
    assert ceiling(port, Protocol.UDP, 1472).bps == pytest.approx(1e9 * 1472 / 1538)
    six = Contract(port_bps=1e9, ip_version=6)
    assert ceiling(six, Protocol.UDP, 2000).bps == pytest.approx(1e9 * 2000 / (2008 + 2 * (48 + 38)))
