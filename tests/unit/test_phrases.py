"""One name for each setting, and one answer to whether two of them are the same."""

from __future__ import annotations

import dataclasses

import pytest

from judge_documents import GOOD, F, R, document, rung, tcp, trial
from linkladder import phrases
from linkladder.judge import compare, judge_document
from linkladder.model import Command, CpuUse, Direction, End, Experiment, MemoryUse, Protocol, RungName
from linkladder.model.same_setting import identity, setting
from linkladder.report import view

PLAIN = Experiment("a", streams=4)
OTHERS = {
    "tool": "netperf",
    "protocol": Protocol.UDP,
    "direction": Direction.REVERSE,
    "streams": 8,
    "window": 800_000,
    "write_size": 131072,
    "dscp": 46,
    "label": "with TSO off",
    "incompressible": True,
    "udp_rate_bps": 1e9,
}


@pytest.mark.parametrize("size,words", [(None, "default"), (800_000, "800k"), (8 << 20, "8M"), (65536, "64K")])
def test_a_window_reads_as_a_plan_writes_it(size: int | None, words: str) -> None:
    assert phrases.window(size) == words


def test_an_arm_in_words() -> None:
    assert phrases.arm(dataclasses.replace(PLAIN, window=800_000)) == "TCP, 4 streams, 800k window, near to far"
    udp = Experiment("u", protocol=Protocol.UDP, udp_rate_bps=9.5e9, direction=Direction.REVERSE)
    assert phrases.arm(udp) == "UDP, 1 stream, paced at 9.50 Gb/s, far to near"


@pytest.mark.parametrize("field", OTHERS)
def test_what_sets_an_arm_apart_is_in_its_identity_and_in_its_words(field: str) -> None:
    other = dataclasses.replace(PLAIN, **{field: OTHERS[field]})
    assert identity(other) != identity(PLAIN) and phrases.arm(other) != phrases.arm(PLAIN)
    assert (setting(other) == setting(PLAIN)) == (field == "direction")


def test_a_name_and_a_number_of_repeats_set_nothing_apart() -> None:
    assert identity(dataclasses.replace(PLAIN, id="b", repeats=5)) == identity(PLAIN)


def test_a_duration_sets_apart_and_is_said_where_the_words_would_be_alike() -> None:
    longer = dataclasses.replace(PLAIN, id="b", duration=30.0)
    words = phrases.arms_apart([PLAIN, longer])
    assert identity(longer) != identity(PLAIN) and words["a"] != words["b"] and "30 s" in words["b"]


def test_settings_that_differ_in_tool_label_or_duration_are_compared_each_with_its_own() -> None:
    def run(*rates: float) -> object:
        changes = ({}, {"tool": "netperf"}, {"label": "x"}, {"duration": 30.0}, {"dscp": 46})
        made = []
        for n, (bps, change) in enumerate(zip(rates, changes, strict=True)):
            e = tcp(F, tuple(trial(bps + 1e3 * k, F, k) for k in range(3)))
            made.append(dataclasses.replace(e, parameters=dataclasses.replace(e.parameters, id=f"e{n}", **change)))
        return document(rung(RungName.DC_LINK, *made))

    found = compare(run(9e8, 8e8, 7e8, 6e8, 5e8), run(9e8, 8e8, 7e8, 6e8, 4e8))
    assert [round(d.a_bps / 1e8) for d in found.differences] == [9, 8, 7, 6, 5]
    assert [d.beyond_noise for d in found.differences] == [False, False, False, False, True]
    assert len({d.experiment for d in found.differences}) == 5


def page_matrices(*experiments: object) -> tuple[view.Matrix, ...]:
    made = document(rung(RungName.DC_LINK, *experiments))
    return view.rungs(made, judge_document(made), made.run.plan.contract)[0].matrices


def test_in_the_report_no_cell_replaces_another() -> None:
    special = tcp(F, (trial(2e8),))
    special = dataclasses.replace(
        special,
        parameters=dataclasses.replace(special.parameters, id="np", tool="netperf", incompressible=True),
    )
    plain, other = page_matrices(tcp(F, (trial(GOOD),)), special)
    assert plain.special == "" and "950 Mb/s" in str(plain.rows)
    assert other.special == "by netperf, incompressible payload" and "200 Mb/s" in str(other.rows)


def test_the_client_is_the_end_that_ran_it() -> None:
    """In reverse with a window the far end runs the client, which sends and so sets its window before it connects."""
    near, far = CpuUse(11.0, 20.0, 1.0), CpuUse(77.0, 90.0, 3.0)
    memory = {"near": MemoryUse(8 << 30, 1 << 30, 1 << 30), "far": MemoryUse(8 << 30, 2 << 30, 2 << 30)}
    ran = (Command(End.NEAR, "server", ("iperf", "-s")), Command(End.FAR, "client", ("iperf", "-c", "x")))
    turned = trial(GOOD, R, cpu={"near": near, "far": far}, commands=ran, memory=memory)
    (matrix,) = page_matrices(tcp(R, (turned,), window=800_000))
    cell = matrix.rows[0][1][0]
    assert cell is not None and (cell.server, cell.client) == ("11 %", "77 %")
    assert cell.memory == "1.00 GB / 2.00 GB"
    usual = trial(GOOD, R, cpu={"near": near, "far": far}, memory=memory)
    (matrix,) = page_matrices(tcp(R, (usual,)))
    cell = matrix.rows[0][1][0]
    assert cell is not None and (cell.server, cell.client) == ("77 %", "11 %")


def test_what_is_compared_on_each_path_says_on_which() -> None:
    plain = Experiment("tcp", direction=F, paths=(1,))
    off = dataclasses.replace(plain, streams=8)
    assert phrases.beside(off, plain) == "path 2 alone"
    assert phrases.beside(dataclasses.replace(off, streams=1), plain) == "1 stream, path 2 alone"
    pairs = [Experiment("rr", protocol=Protocol.RR, sessions=n, paths=(0, 2)) for n in (10, 10, 50)]
    assert phrases.beside(pairs[1], pairs[0]) == "10 sessions, paths 1, 3 side by side"
    assert phrases.beside(pairs[2], pairs[0]) == "paths 1, 3 side by side"
