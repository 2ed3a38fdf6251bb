"""One of a thing is not told as several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from linkladder import cli
from linkladder import plan as plans
from linkladder.app.experiment_text import about
from linkladder.model import Bundle
from linkladder.phrases import (
    accounts,
    arranged,
    bundle,
    contradictions,
    impossible_records,
    limiters,
    loss_signs,
    one_setting,
    remedies,
)

ONE = 'name = "one"\n[[experiment]]\nrungs = "localhost"\nrepeats = 1\n'


def test_a_plan_with_one_trial_has_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "one.toml"
    plan.write_text(ONE)
    assert cli.main(["plan", "check", str(plan)]) == 0
    said = capsys.readouterr().out
    assert ": right: 1 trial, " in said and "1 trials" not in said
    assert about(plans.read_plan(ONE))[0].startswith("Takes 14 s, 1 trial.")


def test_phrases_tell_one_as_one() -> None:
    assert accounts.more_like_that(1) == "1 more trial is like that."
    assert limiters.stalls(1) == "the receiver closed its window 1 time"
    assert bundle(Bundle("lacp", flapping=1)).endswith("flapped 1 time")


@pytest.mark.parametrize(
    ("said", "one", "two"),
    [
        (accounts.without_seconds, "Of 1 trial the seconds are not told one by one: an outage in it would not be seen.",
         "Of 2 trials the seconds are not told one by one: an outage in them would not be seen."),
        (lambda n: accounts.more_dropped("far", n, 9),
         "1 datagram is said to have found full sockets at the far end, whose cards took in 9",
         "2 datagrams are said to have found full sockets at the far end, whose cards took in 9"),
        (lambda n: contradictions.sent_again_by_system("far", n, 3),
         "the far end's system counted 1 segment that was sent again, its seconds or the tool tell of 3",
         "the far end's system counted 2 segments that were sent again, its seconds or the tool tell of 3"),
        (lambda n: contradictions.transactions_not_asked((n, 7, 7), (3, 7, 7)),
         "it tells of 1 session of 7 and 7 bytes, 3 of 7 and 7 were asked for",
         "it tells of 2 sessions of 7 and 7 bytes, 3 of 7 and 7 were asked for"),
        (lambda n: arranged.more_than_planned("tcp", 3 - n, n), "tcp: 2 repeats are there, 1 was planned.",
         "tcp: 1 repeat is there, 2 were planned."),
        (lambda n: arranged.more_repeats_asked("t", n, 4), "t: 1 repeat was asked for, by its own record, and 4 by the "
         "plan.", "t: 2 repeats were asked for, by its own record, and 4 by the plan."),
        (lambda n: loss_signs.streams_add(8, 2e9, n, 1e9), "8 streams carry 2.00 Gb/s where 1 carries 1.00 Gb/s",
         "8 streams carry 2.00 Gb/s where 2 carry 1.00 Gb/s"),
        (lambda n: impossible_records.transactions_under_way(5, n),
         "its rate and its mean latency make 5.00 transactions at once, and 1 session has one",
         "its rate and its mean latency make 5.00 transactions at once, and 2 sessions have one each"),
        (lambda n: one_setting.left_out(n, 3, "why"), "1 of 3 trials failed and is left out: why",
         "2 of 3 trials failed and are left out: why"),
        (lambda n: one_setting.few_measured("So.", n, 4), "So. But only 1 of 4 trials was measured.",
         "So. But only 2 of 4 trials were measured."),
        (lambda n: remedies.more_vcpus(1e9, n, 8, 5e9).rpartition(", ")[2], "about 1 vCPU at each end.",
         "about 2 vCPUs at each end."),
    ],
)  # fmt: skip
def test_a_sentence_agrees_with_its_number(said: Callable[[int], str], one: str, two: str) -> None:
    assert (said(1), said(2)) == (one, two)
