"""What two runs differ by beside their throughput: differs, the same for all purposes, or cannot tell."""

from __future__ import annotations

import random

from judge_documents import GOOD, F, R, both, document, link_pings, tcp, trial, udp
from linkladder import phrases
from linkladder.judge import compare
from linkladder.model import CpuUse, Document, Rtt, RungName
from linkladder.verdicts import Answer, Measured


def pings(middle: float, seed: int, count: int = 40) -> Rtt:
    rng = random.Random(seed)
    samples = tuple(middle * rng.uniform(0.98, 1.02) for _ in range(count))
    return Rtt(count, count, min(samples), middle, max(samples), middle, max(samples), 0.1, samples)


def run(seed: int, idle: float = 4.0, loaded: float = 6.0, cores: float = 1.0, lost: float = 0.0) -> Document:
    rng = random.Random(seed)

    def one(way: str, n: int) -> object:
        use = {end: CpuUse(20.0, 30.0, cores * rng.uniform(0.99, 1.01)) for end in ("near", "far")}
        return trial(GOOD, way, n, cpu=use, rtt_under_load=pings(loaded * rng.uniform(0.99, 1.01), seed + n))  # type: ignore[arg-type]

    arms = [tcp(way, tuple(one(way, n) for n in range(3))) for way in (F, R)]  # type: ignore[misc]
    paced = [udp(F, 5e8, 5e8 * (1 - lost))]
    return document(both(RungName.SAME_HOST, 4e9), link_pings(pings(idle, seed), *arms, *paced))


def answers(a: Document, b: Document) -> dict[Measured, set[Answer]]:
    found: dict[Measured, set[Answer]] = {}
    for f in compare(a, b).figures:
        if f.rung == "dc-link":
            found.setdefault(f.measured, set()).add(f.answer)
    return found


def test_the_same_link_twice_differs_in_nothing() -> None:
    found = answers(run(1), run(2))
    assert set(found) == {
        Measured.IDLE_RTT, Measured.LOADED_RTT, Measured.SENDER_CORES, Measured.RECEIVER_CORES, Measured.LOSS,
    }  # fmt: skip
    assert not any(Answer.DIFFERS in said for said in found.values())
    assert found[Measured.IDLE_RTT] == {Answer.SAME} and found[Measured.LOSS] == {Answer.UNDECIDED}, "one UDP trial"


def test_each_figure_that_moved_is_named_and_no_other() -> None:
    for changed, measured in (
        ({"idle": 8.0}, {Measured.IDLE_RTT}),
        ({"loaded": 9.0}, {Measured.LOADED_RTT}),
        ({"cores": 1.5}, {Measured.SENDER_CORES, Measured.RECEIVER_CORES}),
    ):
        found = answers(run(1), run(2, **changed))
        assert {m for m, said in found.items() if Answer.DIFFERS in said} == measured
    said = compare(run(1), run(2, idle=8.0)).sentence
    assert "Besides: dc-link" in said and "idle round trip 3.99 ms to 8.02 ms, differs" in said


def test_identical_runs_hardly_ever_differ_in_any_figure() -> None:
    wrong = sum(
        any(f.answer is Answer.DIFFERS for f in compare(run(seed), run(seed + 500)).figures) for seed in range(40)
    )
    assert wrong <= 3, wrong


def test_a_figure_is_told_with_its_unit() -> None:
    said = [phrases.compared(f) for f in compare(run(1), run(2)).figures]
    assert any("cores at the sender 1.0" in text for text in said) and any("ms (" not in text for text in said)
    assert any("one repeat each" in text and "loss 0 %" in text for text in said)
