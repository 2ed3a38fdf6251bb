"""One of a thing is not told as several."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkladder import cli
from linkladder import plan as plans
from linkladder.app.experiment_text import about
from linkladder.model import Bundle
from linkladder.phrases import accounts, bundle, limiters

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
