"""Two ends' wall clocks: how far apart they are is kept and told, and one that is set during a run is noticed."""

from __future__ import annotations

import time

import pytest

from linkladder import units
from linkladder.engine.clocks import TimesOfDay
from linkladder.model import Document, EndRecord, ExperimentResult, Plan, RungName, RungResult, RunInfo, TrialResult
from linkladder.model.asked import Experiment
from linkladder.report import page_text


def trial(*away: float | None) -> TrialResult:
    names = ("near", "far") if len(away) == 1 else ("near", "beta", "gamma")
    ends = [EndRecord("near"), *(EndRecord(n, wall_offset_s=one) for n, one in zip(names[1:], away, strict=True))]
    return TrialResult("t", 0, ends=tuple(ends))


def test_clocks_that_agree_are_not_spoken_of() -> None:
    times = TimesOfDay()
    assert [times.news(trial(away)) for away in (0.2, -0.5, 0.4, None)] == [[], [], [], []]


def test_an_hour_apart_is_said_once() -> None:
    times = TimesOfDay()
    assert times.news(trial(3600.2)) == ["the clock of the far end is 1 h 00 min ahead of this end's"]
    assert times.news(trial(3600.1)) == []
    assert TimesOfDay().news(trial(-12.0, 0.1)) == ["the clock of the end beta is 12 s behind this end's"]


def test_a_far_clock_that_is_set_is_noticed() -> None:
    times = TimesOfDay()
    times.news(trial(0.1))
    assert times.news(trial(-7200.0)) == ["the clock of the far end was set back by 2 h 00 min while the run went on"]
    assert times.news(trial(-7200.0)) == []


def test_this_ends_own_is_noticed_and_not_laid_at_the_others_door(monkeypatch: pytest.MonkeyPatch) -> None:
    times, real = TimesOfDay(), time.time
    times.news(trial(0.1))
    monkeypatch.setattr(time, "time", lambda: real() + 90)
    assert times.news(trial(-89.9)) == ["this end's clock was set forward by 1 min 30 s while the run went on"]
    assert times.news(trial(-89.9)) == []


def test_the_report_tells_where_each_clock_was() -> None:
    plan = Plan("p")
    done = ExperimentResult(Experiment("tcp"), (trial(None), trial(61.0), trial(3.0)))
    document = Document(RunInfo("r", "", plan), (RungResult(RungName.DC_LINK, experiments=(done,)),))
    assert page_text.clock(document, "beta") == "1 min 01 s ahead of the near end's"
    assert page_text.clock(document, "near") == ""
    assert units.apart(0.3) == "within 1 s of"
