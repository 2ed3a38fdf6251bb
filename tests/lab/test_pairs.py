"""Three pairs over one uplink, and a mesh that loses an end: real legs between ends that do not coordinate."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mischief
import spaces
from carried import carried_all
from linkladder import formats
from linkladder.judge import judge_document
from linkladder.judge.company import judge_company
from linkladder.judge.each_repeat import alone
from linkladder.judge.experiments import reached
from linkladder.judge.withheld import STARVED
from linkladder.model import Direction, Document, Fault, Role, RungResult, TrialResult
from linkladder.verdicts import Cause, Cell, CompanyJudgement
from many import ManyEnds
from network import Link

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]
ALONE, SHARED = 200e6, 400e6
CARRIES = 1448 / 1514  # of a bucket that counts frames
TWICE = 1.05  # what is counted twice is far above it; a reader that was kept waiting moves some of it between seconds
SKEW = 0.1  # seconds between the starts of a trial's legs
SURE = 0.05  # seconds of a core; of 3 % of room, a single second of eight that lacks so much takes 2: (1 + t of 7) / 8
LOADS = """
[[experiment]]
rungs = "dc-link"
company = ["alone", "rounds", "all"]
duration = 3
warmup = 1
"""
LONGER = LOADS.replace("duration = 3", "duration = 8")  # a single repeat is judged by its seconds: three are too few
PAIRS = """name = "pairs"
[[path.dc-link]]
peer = "beta"
[[path.dc-link]]
from = "gamma"
peer = "delta"
[[path.dc-link]]
from = "epsilon"
peer = "zeta"
[[experiment]]
rungs = "dc-link"
tool = "ping"
protocol = "echo"
count = 10
"""
MESH = 'name = "mesh"\nmesh = true\n'


def run(lab: ManyEnds, text: str, loads: str = LOADS) -> subprocess.Popen[str]:
    plan = lab.folder / lab.prefix / "plan.toml"
    plan.write_text(text + loads)
    argv = [sys.executable, "-m", "linkladder", "run", "--plan", str(plan), "--json", "-"]
    pipe = subprocess.PIPE
    return subprocess.Popen(lab.command("alpha", argv), stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[Document, RungResult, CompanyJudgement]:
    out, errors = process.communicate(timeout=200)
    assert out, errors
    document = formats.document(json.loads(out))
    (rung,) = document.rungs
    seen = judge_company(rung, document.run.plan.contract)
    assert seen is not None
    return document, rung, seen


def withheld(rung: RungResult) -> float:
    """The largest share of its time that any end did not get."""
    ends = [end for e in rung.experiments for t in e.trials for end in t.ends]
    return max((end.cpu.starved or 0.0 for end in ends if end.cpu), default=0.0)


def stolen(rung: RungResult) -> float:
    """The most seconds of one core that any end did not get in a trial."""
    used = [(end.cpu, t.seconds) for e in rung.experiments for t in e.trials for end in t.ends if end.cpu]
    return max(((cpu.starved or 0.0) * len(cpu.per_core) * seconds for cpu, seconds in used), default=0.0)


def surely(rung: RungResult, cell: Cell) -> bool:
    """Whether the path's only repeat carries what it needs in the whole interval of its seconds."""
    spread = alone(rung)[cell.path, Direction(cell.direction)].spread
    return spread is not None and reached(spread, cell.judgement.figures["needed_bps"]) is Cause.REACHED


def trial(rung: RungResult, paths: tuple[int, ...]) -> TrialResult:
    return next(
        t for e in rung.experiments if e.parameters.paths == paths for t in e.trials if e.parameters.tool == "iperf"
    )


@pytest.fixture(scope="module")
def pairs() -> Iterator[tuple[Document, RungResult, CompanyJudgement]]:
    with ManyEnds("llz", Link(rate=ALONE), ends=6, shared=SHARED).paired() as lab:
        yield ended(run(lab, PAIRS, LONGER))


@pytest.mark.calm
def test_each_pair_alone_carries_its_own_and_three_what_they_share(
    pairs: tuple[Document, RungResult, CompanyJudgement],
) -> None:
    document, rung, seen = pairs
    assert document.run.state == "complete"
    assert [(path.origin, path.peer) for path in rung.paths] == [("", "beta"), ("gamma", "delta"), ("epsilon", "zeta")]
    for cell in seen.cells:
        assert cell.alone_bps and cell.alone_bps < TWICE * ALONE * CARRIES
        assert cell.rtt_ms is not None and cell.loss_percent == 0
        if withheld(rung) < STARVED / 2:
            assert carried_all(cell.alone_bps, ALONE * CARRIES, withheld(rung)), (cell, withheld(rung))
    assert seen.sum_bps["forward"] < TWICE * SHARED * CARRIES
    if withheld(rung) < STARVED / 2:
        assert carried_all(seen.sum_bps["forward"], SHARED * CARRIES, withheld(rung)), (seen.sum_bps, withheld(rung))
        judged = judge_document(document).rungs[0]
        sure = all(surely(rung, cell) for cell in seen.cells)
        assert sure or stolen(rung) > SURE, "a machine that had its cores lets each second carry as much as the others"
        said = "\n".join([judged.judgement.sentence, *judged.judgement.findings])
        assert judged.verdict == ("PASS" if sure else "CANNOT JUDGE"), said
        (shared,) = seen.sharing
        assert len(shared.paths) > 1 and set(shared.paths) <= {0, 1, 2}


@pytest.mark.calm
def test_the_legs_of_three_pairs_start_together_and_each_end_is_recorded(
    pairs: tuple[Document, RungResult, CompanyJudgement],
) -> None:
    _, rung, seen = pairs
    together = trial(rung, ())
    every = [t for e in rung.experiments if e.parameters.tool == "iperf" for t in e.trials]
    began = [[leg.began for leg in t.legs if leg.role is Role.LOAD] for t in every]
    several = [of_one for of_one in began if len(of_one) > 1]
    assert statistics.median(itertools.chain(*several)) < SKEW, several
    skews = [max(of_one) for of_one in several]
    assert seen.skew_ms == pytest.approx(1000 * max(skews), abs=1), "a busy machine may hold up one, and that is told"
    assert [end.name for end in together.ends] == ["near", "beta", "gamma", "delta", "epsilon", "zeta"]
    assert all(end.cpu and end.nics and end.samples for end in together.ends)
    second = trial(rung, (1,))
    assert [end.name for end in second.ends] == ["near", "gamma", "delta"] and second.ends[0].cpu is None
    (one,) = second.legs
    assert {command.end for command in one.commands} == {"gamma", "delta"}


@pytest.mark.calm  # of three seconds alone: who reads late counts in them what came before, and more than the path has
def test_a_mesh_goes_on_to_its_end_without_the_end_that_was_killed() -> None:
    with ManyEnds("llm", Link(rate=ALONE), ends=4).paired() as lab:
        process = run(lab, MESH)
        mischief.until(lambda: True if finished(lab) >= 3 else None, 120, "no three trials came to an end")
        end_control(lab, "delta")
        document, rung, seen = ended(process)
    assert document.run.state == "complete"
    assert len(rung.paths) == 6 and len(rung.experiments) == 6 + 3 + 1
    with_delta = {n for n, path in enumerate(rung.paths) if "delta" in path.peers}
    last = trial(rung, ())
    for leg in last.legs:
        lost = leg.path in with_delta
        assert leg.outcome.ok is not lost, leg.outcome.reason
        assert not lost or (leg.outcome.fault is Fault.PEER and "delta" in leg.outcome.reason)
    (lacking,) = seen.lacking
    assert lacking.startswith("near to delta, beta to delta and gamma to delta are not in the sum: delta")
    assert seen.whole.verdict == "INCOMPLETE" and len(seen.cells) == 6
    every = [t for e in rung.experiments for t in e.trials]
    assert len(every) == 10, "no trial is missing"
    assert sum(t.ok for t in every) >= 3


def finished(lab: ManyEnds) -> int:
    """The trials of the run that have come to an end."""
    return sum(log.read_text().count('"TrialFinished"') for log in (lab.state("alpha") / "live").glob("*.jsonl"))


def end_control(lab: ManyEnds, site: str) -> None:
    """Its sshd and all that runs there, as if somebody had pulled the plug."""
    Path(lab.folder / lab.prefix / site / "sshd.pid").unlink(missing_ok=True)
    while found := spaces.processes(lab.space(site)):  # what one of them started meanwhile, too
        for pid in found:
            with contextlib.suppress(ProcessLookupError):  # a tool may have ended by itself
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


EIGHT = """
[[experiment]]
rungs = "dc-link"
company = "rounds"
duration = 1
warmup = 0
"""


def test_a_mesh_of_eight_is_measured_to_its_end_but_for_the_one_that_was_killed() -> None:
    with ManyEnds("le8", Link(rate=5e7), ends=8).paired() as lab:
        process = run(lab, MESH, EIGHT)
        mischief.until(lambda: True if finished(lab) >= 3 else None, 120, "no three rounds came to an end")
        end_control(lab, "epsilon")
        document, rung, seen = ended(process)
    assert document.run.state == "complete"
    assert len(rung.paths) == 28 and len(rung.experiments) == 7 and len(seen.cells) == 28
    trials = [t for e in rung.experiments for t in e.trials]
    assert [len(t.legs) for t in trials] == [4] * 7, "each end is in one pair of every round"
    legs = [leg for t in trials for leg in t.legs]
    assert sorted(leg.path for leg in legs) == list(range(28)), "no pair is missing"
    with_it = {n for n, path in enumerate(rung.paths) if "epsilon" in path.peers}
    lost = [leg for leg in legs if not leg.outcome.ok]
    assert {leg.path for leg in lost} <= with_it, [leg.outcome.reason for leg in lost]
    assert 3 <= len(lost) <= 4, "of seven rounds three were over"
    assert all(leg.outcome.fault is Fault.PEER and "epsilon" in leg.outcome.reason for leg in lost)
