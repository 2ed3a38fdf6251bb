"""The quick ladder between two real ends: right figures, whole document."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from carried import carried_all
from linkladder.codec import from_json
from linkladder.formats.published import document_schema
from linkladder.judge.withheld import STARVED
from linkladder.model import Direction, Document, End, TrialResult
from linkladder.plan.read import builtin_text
from network import GENTLE, Link
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.calm, pytest.mark.timeout(280)]
RATE = 1e8  # which machines that others use as well still fill: it is the bucket that limits, never a core
L2_CEILING = RATE * 1448 / 1514  # of TCP through a token bucket that counts frames


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("llq", Link(rate=RATE), inside=GENTLE).paired() as made:
        yield made


def run(lab: Lab, plan: str) -> dict[str, Any]:
    """The document as `linkladder run` writes it."""
    done = lab.linkladder("alpha", "run", "--plan", plan, "--peer", "beta", "--json", "-", stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measured(lab: Lab, plan: str) -> Document:
    return from_json(Document, run(lab, plan))


@pytest.fixture(scope="module")
def written(lab: Lab) -> dict[str, Any]:
    """Of the quick plan, with trials as short as a token bucket can be told by.

    The generator's own settings are pinned: finding the strongest has a test of its own (test_generator.py).
    """
    text = builtin_text("quick").replace('streams = "auto"', "streams = 2")
    # Below the link nothing settles: it only has to be measured, and its warm-up is cut short as well. How many
    # repeats an answer needs has a test of its own, too (test_until_settled.py): of each load two are enough.
    for before, shorter in (
        ("duration = 4\n", "duration = 2\n"),
        ("duration = 8\n", "duration = 4\n"),
        ("at_most = 4\n", "at_most = 2\n"),
        ("at_most = 3\n", "at_most = 2\n"),
    ):
        assert text.count(before) == 1
        text = text.replace(before, shorter)
    plan = lab.folder / lab.prefix / "quick.toml"
    plan.write_text(text)
    return run(lab, str(plan))


@pytest.fixture(scope="module")
def quick(written: dict[str, Any]) -> Document:
    return from_json(Document, written)


def trials(document: Document, rung: str, protocol: str) -> list[TrialResult]:
    found = next(r for r in document.rungs if r.name == rung)
    return [t for e in found.experiments if e.parameters.protocol == protocol for t in e.trials]


def withheld_of(trial: TrialResult) -> float:
    """The share of an end's CPU time that it did not get, of the end that got less."""
    return max(end.cpu.starved for end in trial.ends if end.cpu and end.cpu.starved is not None)


def test_the_document_fits_its_schema_and_comes_back(written: dict[str, Any], quick: Document) -> None:
    jsonschema.validate(written, document_schema())
    assert quick.run.state == "complete"


def test_every_rung_is_measured(quick: Document) -> None:
    assert [r.name for r in quick.rungs] == ["localhost", "same-host", "same-vlan", "dc-link"]
    for rung in quick.rungs:
        for experiment in rung.experiments:
            assert [t.ok for t in experiment.trials] == [True] * experiment.parameters.repeats, experiment


def test_where_the_other_ends_time_of_day_was_is_kept(quick: Document) -> None:
    """Both are of one machine here: nothing apart but what an answer took. Another zone or clock is hours away."""
    away = [end.wall_offset_s for t in trials(quick, "dc-link", "tcp") for end in t.ends]
    assert away[::2] == [None] * len(away[::2]) and all(w is not None and abs(w) < 60 for w in away[1::2]), away
    assert not any("clock" in note for note in quick.run.notes)


def test_the_link_s_goodput_is_the_token_bucket_s(
    quick: Document, record_property: Callable[[str, object], None]
) -> None:
    """Where less arrived, the document says that cores were withheld here, and the judge that it cannot judge."""
    both = trials(quick, "dc-link", "tcp")
    assert {w for t in both for w in t.by_direction} == {"forward", "reverse"}
    assert quick.judgement
    judged = next(r for r in quick.judgement.rungs if r.rung == "dc-link").experiments
    for trial in both:
        seconds = [i.bps for i in trial.intervals if i.counted]
        assert trial.goodput_bps == pytest.approx(statistics.mean(seconds), rel=0.01)
        assert trial.goodput_bps < 1.03 * L2_CEILING
        assert trial.flows and sum(f.bps for f in trial.flows) == pytest.approx(trial.goodput_bps, rel=0.01)
        withheld = withheld_of(trial)
        carried = f"{trial.goodput_bps / 1e6:.0f} Mb/s through a token bucket for {L2_CEILING / 1e6:.0f}"
        record_property("figure", f"{carried}, {withheld:.0%} of an end's CPU withheld")
        if not carried_all(trial.goodput_bps, L2_CEILING, withheld):
            own = next(e for e in judged if e.protocol == "tcp" and e.direction in trial.by_direction)
            assert withheld >= STARVED / 2, seconds
            held = (*own.judgement.reasons, *(own.limiter.evidence if own.limiter else ()), own.judgement.sentence)
            assert any("withheld" in said for said in held) and own.judgement.verdict == "CANNOT JUDGE", own


def test_both_ends_were_watched(quick: Document) -> None:
    for trial in trials(quick, "dc-link", "tcp"):
        assert [end.name for end in trial.ends] == ["near", "far"]
        assert all(end.cpu and end.memory and end.tcp and end.sockets for end in trial.ends)
        assert all(len(end.samples) >= trial.seconds - 2 for end in trial.ends)
        assert [c.role for c in trial.commands if c.output] == ["server", "client", "ping", "ping"]
        assert [(leg.role, leg.pinged_by) for leg in trial.legs[1:]] == [("ping", "near"), ("ping", "far")]
        for pinged in (trial.rtt_under_load, trial.pinged_under_load(End.FAR)):
            assert pinged and pinged.received > 15  # five a second, of four seconds
        moved = sum(f.total_bytes for f in trial.flows)
        receiver = trial.receiver(Direction.FORWARD if "forward" in trial.by_direction else Direction.REVERSE)
        assert receiver.carried.rx_bytes == pytest.approx(moved, rel=0.07)


def test_path_mtu_and_round_trip_are_found(quick: Document) -> None:
    for rung in ("same-host", "same-vlan", "dc-link"):
        assert {t.path_mtu.mtu for t in trials(quick, rung, "df") if t.path_mtu} == {1500}
        assert {(t.rtt.received, t.rtt.sent) for t in trials(quick, rung, "echo") if t.rtt} == {(20, 20)}


def test_paced_datagrams_arrive_at_their_rate(lab: Lab, tmp_path: Path) -> None:
    plan = tmp_path / "paced.toml"
    plan.write_text(
        'name = "paced"\n'
        '[[experiment]]\nrungs = "dc-link"\nprotocol = "udp"\nudp_percent = 10\n'
        'direction = "both"\nduration = 3\nwarmup = 1\n'
    )
    document = measured(lab, str(plan))
    both = trials(document, "dc-link", "udp")
    assert len(both) == 2
    for trial in both:
        assert trial.ok, trial.reason
        assert trial.datagrams and trial.goodput_bps < 1.03 * 0.1 * RATE * 1470 / 1512
        if withheld_of(trial) < STARVED / 2:
            assert trial.goodput_bps == pytest.approx(0.1 * RATE * 1470 / 1512, rel=0.03)
            assert trial.lost is not None and trial.lost / trial.datagrams < 0.01
