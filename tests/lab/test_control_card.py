"""An outage of the path under test: timed where control has a card of its own, else kept as a lost attempt."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

import pytest

from linkladder import formats
from linkladder.judge import judge_document
from linkladder.model import Document
from linkladder.verdicts import Cause, Verdict
from network import GENTLE, Link
from under_way import counted_seconds
from world import Lab, wait_for

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]
PLAN = """name = "outage"
[[experiment]]
rungs = "dc-link"
duration = {duration}
warmup = 1
"""


CHAIN = "add chain inet dead forward { type filter hook forward priority 0; policy drop; }"
DROP = ("nft", f"add table inet dead; {CHAIN}")
PASS = ("nft", "delete table inet dead")


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("lli", Link(rate=GENTLE), control_by=("control", "dc-link")).paired() as made:
        yield made


def known_by(lab: Lab, *rungs: str) -> None:
    """As if beta had been paired over the first of them, and had no other addresses."""
    path = lab.state("alpha") / "peers.json"
    (peer,) = json.loads(path.read_text())
    path.write_text(json.dumps([peer | {"addresses": [lab.address("beta", rung) for rung in rungs]}]))


def started(lab: Lab, duration: int) -> subprocess.Popen[str]:
    plan = lab.folder / lab.prefix / "outage.toml"
    plan.write_text(PLAN.format(duration=duration))
    argv = lab.command("alpha", [sys.executable, "-m", "linkladder", "run", "--plan", str(plan), "--json", "-"])
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)


def measured(lab: Lab, duration: int, dead: float, begin: Sequence[str] = DROP, end: Sequence[str] = PASS) -> Document:
    """A trial in whose middle nothing passes for so many seconds: what the router does at both ends of them."""
    process = started(lab, duration)
    wait_for(lambda: counted_seconds(lab) > 1, 60, "no second was counted")
    lab._in("net", *begin)
    time.sleep(dead)
    lab._in("net", *end)
    out, errors = process.communicate(timeout=150)
    assert out, errors
    return formats.document(json.loads(out))


def test_control_leaves_the_card_under_test_where_it_can_and_the_outage_is_timed(lab: Lab) -> None:
    known_by(lab, "dc-link", "control")
    document = measured(lab, duration=16, dead=4)
    (rung,) = document.rungs
    (trial,) = rung.experiments[0].trials
    assert trial.ok and not trial.interruptions, trial.reason
    found = judge_document(document).rungs[0].judgement
    assert found and any("in a row" in text and "Outage" in text for text in (found.sentence, *found.findings))
    assert not any("card under test" in note for note in document.run.notes)


def test_where_it_cannot_that_is_said_and_the_lost_attempt_is_a_result(lab: Lab) -> None:
    known_by(lab, "dc-link")
    document = measured(lab, duration=6, dead=16)
    (rung,) = document.rungs
    (trial,) = rung.experiments[0].trials
    assert trial.ok and trial.interruptions and all(one.shared for one in trial.interruptions)
    assert any("control of beta goes over the card under test" in note for note in document.run.notes)
    judged = judge_document(document).rungs[0]
    assert judged.verdict is Verdict.CANNOT_JUDGE and judged.judgement and judged.judgement.cause is Cause.OUTAGE
    shown = lab.linkladder("alpha", "show", "last").stdout
    assert "the far end was lost in" in shown.lower() and "control of beta goes over the card under test" in shown


def test_that_the_far_card_lost_its_link_is_known_there_and_said(lab: Lab) -> None:
    """Its cable is pulled at the other end, and control goes on by the card of its own."""
    known_by(lab, "control")
    port = ("ip", "link", "set", "dbeta")
    try:
        document = measured(lab, 14, 4, (*port, "down"), (*port, "up"))
    finally:
        lab.impair(lab.link)  # the router lost its routes with the port
    (rung,) = document.rungs
    (trial,) = rung.experiments[0].trials
    assert [(c.end, c.card) for c in trial.carriers_lost] == [("far", "dc0")]
    judged = judge_document(document).rungs[0]
    said = "dc0 of the far end lost its link"
    assert judged.judgement and judged.verdict is Verdict.CANNOT_JUDGE and said in judged.sentence, judged.sentence
    assert any(said in note for note in document.run.notes)
    assert said in lab.linkladder("alpha", "show", "last").stdout


def test_a_card_that_had_no_link_when_the_ends_were_to_meet_is_named(lab: Lab) -> None:
    """Its cable was pulled before: no tool ran, and it is no filter, no black hole and no fault of the link."""
    known_by(lab, "control")
    port = ("ip", "link", "set", "dbeta")
    lab._in("net", *port, "down")
    try:
        out, errors = started(lab, 4).communicate(timeout=150)
    finally:
        lab._in("net", *port, "up")
        lab.impair(lab.link)
    assert out, errors
    document = formats.document(json.loads(out))
    (rung,) = document.rungs
    (trial,) = rung.experiments[0].trials
    assert not trial.ok and [(c.end, c.card) for c in trial.carriers_lost] == [("far", "dc0")], trial.reason
    judged = judge_document(document).rungs[0]
    assert judged.judgement and (judged.verdict, judged.judgement.cause) == (Verdict.CANNOT_JUDGE, Cause.OWN_CARD)
    assert "dc0 of the far end lost its link" in judged.sentence and "black hole" not in judged.sentence
