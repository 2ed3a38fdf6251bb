"""What is done for a run grows with its trials, and with nothing else: counted, for seconds are the machine's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from judge_documents import ladder
from linkladder.codec import from_json, to_json
from linkladder.judge import judge_document, trial_figures
from linkladder.model import TrialResult


def test_every_trial_is_held_against_its_own_figures_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rung of a run asks whether the others are borne out; what was printed is not read again for each."""
    asked: list[str] = []
    look = trial_figures._contradicted

    def counted(t: TrialResult, *rest: Any) -> Any:
        asked.append(t.id)
        return look(t, *rest)

    monkeypatch.setattr(trial_figures, "_contradicted", counted)
    found = ladder(9.4e8, repeats=6)
    judge_document(found)
    trials = sum(len(e.trials) for r in found.rungs for e in r.experiments)
    assert 0 < len(asked) <= trials


def test_a_decoded_record_is_what_its_constructor_makes() -> None:
    """Decoding fills records itself: defaults and all that they are asked for must be the same."""
    for rung in ladder(9.4e8, repeats=2).rungs:
        for e in rung.experiments:
            for t in e.trials:
                read = from_json(TrialResult, to_json(t))
                assert read == t and hash(read.legs[0].path) == hash(t.legs[0].path)
                assert replace(read, repeat=5) == replace(t, repeat=5) and repr(read) == repr(t)
    assert from_json(TrialResult, {"id": "x", "repeat": 0}) == TrialResult("x", 0)
