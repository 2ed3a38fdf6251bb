"""Ways to a wrong PASS that somebody may try, on purpose or not: each is found out or at least said."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trials
from judge_documents import (
    GIGABIT,
    GOOD,
    F,
    R,
    both,
    df,
    document,
    ladder,
    one_after_another,
    ping,
    rung,
    tcp,
    trial,
    udp,
    with_facts,
)
from linkladder import cli, codec
from linkladder.judge import Verdict, flaws, judge_document
from linkladder.model import (
    Contract,
    CpuUse,
    Direction,
    Document,
    Fault,
    HostFacts,
    Interval,
    Nic,
    NicCounters,
    PathMtu,
    RungName,
    RungResult,
    SocketsSeen,
    SocketStat,
    TrialResult,
)

HOST = both(RungName.SAME_HOST, 4e9)


def findings(made: Document) -> str:
    return " ".join(judge_document(made).judgement.findings)


def with_link(made: Document, link: RungResult) -> Document:
    return dataclasses.replace(made, rungs=(*made.rungs[:-1], link))


def each(made: Document, **changes: object) -> Document:
    """Every trial of the link changed alike."""
    link = made.rungs[-1]
    experiments = tuple(
        dataclasses.replace(e, trials=tuple(trials.changed(t, **changes) for t in e.trials)) for e in link.experiments
    )
    return with_link(made, dataclasses.replace(link, experiments=experiments))


def test_trials_left_out_of_a_complete_run_make_it_provisional() -> None:
    whole = ladder(GOOD, repeats=5)
    link = whole.rungs[-1]
    fewer = tuple(dataclasses.replace(e, trials=e.trials[:2]) for e in link.experiments)
    judged = judge_document(with_link(whole, dataclasses.replace(link, experiments=fewer)))
    assert judged.provisional and "6 of 10 planned trials were not run" in " ".join(judged.judgement.findings)


def test_a_setting_left_out_is_incomplete() -> None:
    whole = ladder(GOOD)
    link = whole.rungs[-1]
    judged = judge_document(with_link(whole, dataclasses.replace(link, experiments=link.experiments[:1])))
    assert judged.verdict is Verdict.INCOMPLETE


def test_a_failing_rung_cannot_hide_behind_a_plan_without_it() -> None:
    made = ladder(300e6)
    near = both(RungName.SAME_VLAN, GOOD)
    plan = dataclasses.replace(document(HOST, near).run.plan)
    rungs = (HOST, near, both(RungName.DC_LINK, 300e6))
    hidden = one_after_another(Document(dataclasses.replace(made.run, plan=plan), rungs))
    assert judge_document(hidden).verdict is Verdict.FAIL


def test_a_run_that_stopped_below_the_link_is_no_pass_of_the_link() -> None:
    judged = judge_document(document(HOST, both(RungName.SAME_VLAN, GOOD)))
    assert judged.verdict is Verdict.INCOMPLETE and "the link itself was not measured" in judged.sentence


def test_goodput_that_its_seconds_do_not_bear_out_is_no_pass() -> None:
    slow = ladder(600e6)
    lied = each(slow, goodput_bps=GOOD, by_direction={"forward": GOOD, "reverse": GOOD})
    judged = judge_document(lied)
    assert judged.verdict is Verdict.CANNOT_JUDGE and "its seconds make 600 Mb/s" in judged.sentence


def test_only_the_best_seconds_counted_is_no_pass() -> None:
    best = tuple(Interval(float(t), float(t + 1), int(GOOD / 8), counted=t >= 10) for t in range(13))
    back = tuple(dataclasses.replace(i, direction=R) for i in best)
    judged = judge_document(each(ladder(GOOD), intervals=(*best, *back)))
    assert judged.verdict is Verdict.CANNOT_JUDGE and "3.0 of 10 s were counted" in judged.sentence


@pytest.mark.parametrize(
    ("left_out", "ends", "verdict"),
    [
        ((), 13.0, Verdict.PASS),  # a busy end closed the warm-up's last second late
        ((12,), 13.4, Verdict.PASS),  # and that of the trial
        ((11, 12), 13.4, Verdict.PASS),  # one of ten may be missing besides
        ((10, 11, 12), 13.4, Verdict.CANNOT_JUDGE),
        ((11, 12), 13.0, Verdict.CANNOT_JUDGE),  # the last was not late
        ((11, 12), 14.0, Verdict.CANNOT_JUDGE),  # nor is that one second
        ((3, 4, 12), 13.4, Verdict.CANNOT_JUDGE),
    ],
)
@pytest.mark.parametrize("late", [3.2, 3.7])
def test_a_second_that_was_closed_late_may_be_left_out(
    late: float, left_out: tuple[int, ...], ends: float, verdict: Verdict
) -> None:
    seconds = [Interval(float(t), float(t + 1), int(GOOD / 8), counted=t >= 3) for t in range(13)]
    seconds = [dataclasses.replace(i, counted=i.counted and int(i.start) not in left_out) for i in seconds]
    seconds[2] = dataclasses.replace(seconds[2], end=late)
    seconds[3] = dataclasses.replace(seconds[3], start=late, bytes=round((4 - late) * seconds[3].bytes))
    if 11 in left_out:
        seconds[11] = dataclasses.replace(seconds[11], end=11.9)
    seconds[12] = dataclasses.replace(seconds[12], start=seconds[11].end, end=ends)
    there = tuple(seconds)
    back = tuple(dataclasses.replace(i, direction=R) for i in there)
    judged = judge_document(each(ladder(GOOD), intervals=(*there, *back)))
    assert judged.verdict is verdict, judged.sentence
    assert ("of 10 s were counted" in judged.sentence) is (verdict is Verdict.CANNOT_JUDGE)


def test_an_outage_within_a_good_mean_is_said() -> None:
    even = trial(GOOD).intervals
    hole = tuple(dataclasses.replace(i, bytes=0) if i.start == 7 else i for i in even)
    made = ladder(GOOD)
    link = rung(RungName.DC_LINK, *(tcp(d, tuple(trial(GOOD, d, n) for n in range(3))) for d in (F, R)))
    first = link.experiments[0]
    gap = trials.changed(first.trials[1], intervals=hole, goodput_bps=0.9 * GOOD, by_direction={"forward": 0.9 * GOOD})
    after = dataclasses.replace(first, trials=(first.trials[0], gap, first.trials[2]))
    said = findings(with_link(made, dataclasses.replace(link, experiments=(after, link.experiments[1]))))
    assert "repeat 2: one second far below the rest, the least 0 b/s at 7 s" in said


def test_repeats_hours_apart_are_said() -> None:
    link = both(RungName.DC_LINK, GOOD)
    days = ("2026-11-20T10:00:00+00:00", "2026-11-20T10:01:00+00:00", "2026-11-21T10:00:00+00:00")
    spread = tuple(
        dataclasses.replace(
            e, trials=tuple(dataclasses.replace(t, started=d) for t, d in zip(e.trials, days, strict=True))
        )
        for e in link.experiments
    )
    assert "Between two trials of this rung lie" in findings(
        document(HOST, dataclasses.replace(link, experiments=spread))
    )
    odd = each(ladder(GOOD), started="yesterday\x00")
    assert judge_document(odd).verdict is Verdict.PASS


def test_a_lowered_bar_is_said() -> None:
    easy = dataclasses.replace(GIGABIT, pass_ratio=0.6)
    judged = judge_document(ladder(700e6, contract=easy))
    assert judged.verdict is Verdict.PASS and "60 %" in " ".join(judged.judgement.findings)


def test_an_unprobed_path_mtu_is_said() -> None:
    assert "a black hole is not excluded" in findings(ladder(GOOD))
    probed = PathMtu((1500,), (), 1500)
    link = dataclasses.replace(both(RungName.DC_LINK, GOOD))
    whole = dataclasses.replace(link, experiments=(df(F, probed), df(R, probed), *link.experiments))
    assert "black hole" not in findings(document(HOST, whole))


def test_a_path_smaller_than_sold_fails_unless_an_interface_is_the_cause() -> None:
    sold = Contract(port_bps=10e9, rate_bps=1e9, mtu=9000)
    small = PathMtu((1500,), (9000,), 1500)
    link = both(RungName.DC_LINK, 978e6)
    link = dataclasses.replace(link, experiments=(df(F, small), df(R, small), *link.experiments))
    made = document(both(RungName.SAME_HOST, 4e9), link, contract=sold)
    judged = judge_document(made)
    assert judged.verdict is Verdict.FAIL and "1500, not the 9000" in judged.sentence
    near = HostFacts("alpha", nics=(Nic("vmx0", mtu=9000), Nic("vmx1", mtu=1500, addresses=("10.0.0.1",))))
    judged = judge_document(with_facts(made, "near", near))
    assert judged.verdict is Verdict.CANNOT_JUDGE and "vmx1 of the near end is set to MTU 1500" in judged.sentence


def test_larger_segments_than_the_entered_mtu_are_no_pass() -> None:
    seen = {"near": SocketsSeen(9.0, "ss", (SocketStat("a", 1, "b", 2, mss=8948, sent_bytes=10**9),))}
    judged = judge_document(each(ladder(GOOD), sockets=seen))
    assert judged.verdict is Verdict.CANNOT_JUDGE and "segments of 8948 bytes" in judged.sentence
    sends, acknowledges = (SocketStat("a", 1, "b", 2, mss=m, sent_bytes=n) for m, n in ((1448, 10**9), (8948, 28)))
    fits = {"near": SocketsSeen(9.0, "ss", (sends, acknowledges))}
    assert judge_document(each(ladder(GOOD), sockets=fits)).verdict is Verdict.PASS


def test_udp_that_the_card_got_and_the_socket_did_not_is_the_ends_fault() -> None:
    good = both(RungName.DC_LINK, GOOD)
    lossy = udp(F, 480e6, 400e6)
    for got, busy, verdict in ((530_000, 40, Verdict.PASS), (442_000, 40, Verdict.FAIL), (442_000, 100, Verdict.FAIL)):
        cards = {
            "near": NicCounters("eth0", tx_packets=530_000, tx_bytes=530_000 * 1512),
            "far": NicCounters("eth0", rx_packets=got, rx_bytes=got * 1512),
        }
        cpu = {"near": CpuUse(20, 30, 0.4), "far": CpuUse(20, busy, 0.4)}
        seen = dataclasses.replace(lossy, trials=(trials.changed(lossy.trials[0], nics=cards, cpu=cpu),))
        link = dataclasses.replace(good, experiments=(*good.experiments, seen))
        assert judge_document(document(HOST, link)).verdict is verdict, (got, busy)


def test_what_a_starved_sender_sends_in_bursts_is_excused_in_that_measure() -> None:
    """A sixth is lost on the path: by bursts, where the sender did not get a fifth of its time; not where a tenth."""
    good = both(RungName.DC_LINK, GOOD)
    lossy = udp(F, 480e6, 400e6)
    cards = {
        "near": NicCounters("eth0", tx_packets=530_000, tx_bytes=530_000 * 1512),
        "far": NicCounters("eth0", rx_packets=442_000, rx_bytes=442_000 * 1512),
    }
    for withheld, verdict in ((0.2, Verdict.CANNOT_JUDGE), (0.1, Verdict.FAIL), (0.0, Verdict.FAIL)):
        cpu = {"near": CpuUse(40, 60, 0.8, starved=withheld), "far": CpuUse(20, 30, 0.4)}
        seen = dataclasses.replace(lossy, trials=(trials.changed(lossy.trials[0], nics=cards, cpu=cpu),))
        link = dataclasses.replace(good, experiments=(*good.experiments, seen))
        assert judge_document(document(HOST, link)).verdict is verdict, withheld


def test_a_udp_sender_that_was_too_slow_is_no_policer() -> None:
    slow = trials.changed(udp(F, 900e6, 500e6).trials[0], lost=0, offered_bps=500e6)
    offered = dataclasses.replace(udp(F, 900e6, 500e6), trials=(slow,))
    good = both(RungName.DC_LINK, GOOD)
    link = dataclasses.replace(good, experiments=(*good.experiments, offered))
    judged = judge_document(document(HOST, link)).rungs[-1]
    of_udp = next(e for e in judged.experiments if e.protocol == "udp")
    assert of_udp.judgement.verdict is Verdict.CANNOT_JUDGE and "did not keep the pace" in of_udp.judgement.sentence


# --- documents that no run writes


def broken() -> dict[str, Document]:
    made = ladder(GOOD)
    link = made.rungs[-1]
    one = link.experiments[0]

    def trial_of(**changes: object) -> Document:
        bad: TrialResult = trials.changed(one.trials[0], **changes)
        e = dataclasses.replace(one, trials=(bad, *one.trials[1:]))
        return with_link(made, dataclasses.replace(link, experiments=(e, *link.experiments[1:])))

    def deal(**changes: object) -> Document:
        contract = dataclasses.replace(made.run.plan.contract, **changes)
        plan = dataclasses.replace(made.run.plan, contract=contract)
        return dataclasses.replace(made, run=dataclasses.replace(made.run, plan=plan))

    return {
        "the link twice, the good one first": dataclasses.replace(made, rungs=(*made.rungs, ladder(1e8).rungs[-1])),
        "an experiment twice": with_link(made, dataclasses.replace(link, experiments=(one, *link.experiments))),
        "a repeat twice": trial_of(repeat=1),
        "negative": trial_of(goodput_bps=-1.0),
        "good and faulty": trial_of(fault=Fault.TOOL),
        "backwards": trial_of(intervals=(Interval(2.0, 1.0, 5),)),
        "of a thousand years": trial_of(intervals=(Interval(0.0, 3e10, 5),)),
        "a bar on the floor": deal(pass_ratio=0.0),
        "no port": deal(port_bps=0.0),
        "no packet": deal(mtu=0),
        "IPv5": deal(ip_version=5),
    }


@pytest.mark.parametrize("what", list(broken()))
def test_what_no_run_writes_is_refused(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert flaws(broken()[what])
    file = tmp_path / "odd.json"
    file.write_text(json.dumps(codec.to_json(broken()[what])))
    assert cli.main(["judge", str(file)]) == 2
    said = capsys.readouterr().err
    assert "cannot be judged" in said and "why:" in said and "do:" in said


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1e300", f"-{10**40}"])
def test_what_is_no_number_is_refused(number: str, tmp_path: Path) -> None:
    text = json.dumps(codec.to_json(ladder(GOOD))).replace(str(GOOD), number)
    file = tmp_path / "odd.json"
    file.write_text(text)
    assert number in text and cli.main(["judge", str(file)]) == 2


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another reader would take the other of the two figures."""
    text = json.dumps(codec.to_json(ladder(800e6)))
    twice = text.replace('"goodput_bps": 800000000.0', '"goodput_bps": 800000000.0, "goodput_bps": 950000000.0')
    file = tmp_path / "twice.json"
    file.write_text(twice)
    assert twice != text and cli.main(["judge", str(file)]) == 2
    assert "'goodput_bps' is there twice" in capsys.readouterr().err


def test_what_a_run_writes_has_no_flaws() -> None:
    lost = dataclasses.replace(ladder(GOOD), rungs=(rung(RungName.DC_LINK, ping(1.0), udp(F, 4e8, 3e8)),))
    assert not flaws(ladder(GOOD)) and not flaws(lost)


# --- one edit anywhere

SHORT = codec.to_json(ladder(800e6))


def leaves(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if isinstance(value, dict):
        return [p for k, v in value.items() for p in leaves(v, (*path, k))]
    if isinstance(value, list):
        return [path, *(p for n, v in enumerate(value) for p in leaves(v, (*path, n)))]
    return [path]


LEAVES = leaves(SHORT)
WORDS = ["", "reverse", "forward", "udp", "duplex", "complete", "dc-link", "same-host"]


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(LEAVES), st.sampled_from([0, 0.5, 1.2, 10, "list", *WORDS]))
def test_no_single_edit_makes_a_pass_of_a_fail(path: tuple[str | int, ...], edit: float | str) -> None:
    """But for the bar itself, which the report then tells."""
    edited = copy.deepcopy(SHORT)
    place = edited
    for key in path[:-1]:
        place = place[key]
    old = place[path[-1]]
    if isinstance(old, list):
        place[path[-1]] = old[1:] if edit == "list" else []
    elif isinstance(old, bool):
        place[path[-1]] = not old
    elif isinstance(old, (int, float)) and isinstance(edit, (int, float)):
        place[path[-1]] = type(old)(old * edit)
    else:
        place[path[-1]] = edit
    try:
        made = codec.from_json(Document, edited)
    except codec.CodecError:
        return
    if flaws(made) or path[-1] == "pass_ratio":
        return
    assert judge_document(made).verdict is not Verdict.PASS


def drifting(slowest: float) -> RungResult:
    """A lower rung of one repeat a way, whose five counted seconds drift as a busy machine's do."""
    rates = (*[22e9] * 3, 41.0e9, 21.7e9, 19.5e9, slowest, 21.8e9)

    def one(way: Direction) -> TrialResult:
        seconds = tuple(
            Interval(t, t + 1.0, int(bps / (8 if way is F else 8.1)), way, counted=t >= 3)
            for t, bps in enumerate(rates)
        )
        return trial(8 * sum(i.bytes for i in seconds[3:]) / 5, way, intervals=seconds)

    return rung(RungName.SAME_VLAN, *(tcp(way, (one(way),), streams=1, duration=5) for way in (F, R)))


@pytest.mark.parametrize(("slowest", "verdict"), [(18.8e9, Verdict.PASS), (0.5e9, Verdict.CANNOT_JUDGE)])
def test_a_lower_rung_whose_every_second_carries_the_need_is_not_too_scattered(
    slowest: float, verdict: Verdict
) -> None:
    judged = judge_document(document(HOST, drifting(slowest), both(RungName.DC_LINK, GOOD)))
    below = next(r for r in judged.rungs if r.rung == RungName.SAME_VLAN)
    assert below.judgement.verdict is verdict, below.judgement.sentence
    assert "0 b/s" not in below.judgement.sentence
