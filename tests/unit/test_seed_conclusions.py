"""What the seeds conclude is reached, refuted, or said to need more: by the judge, of their own numbers."""

from __future__ import annotations

import pytest

from conclusions import CONCLUSIONS, Conclusion, Outcome


@pytest.mark.parametrize("row", [c for c in CONCLUSIONS if c.check], ids=lambda c: f"{c.seed}: {c.says}"[:60])
def test_the_judge_says_so(row: Conclusion) -> None:
    assert row.check is not None and row.check(), row


def test_every_seed_is_asked_and_every_answer_has_its_reason() -> None:
    assert len({c.seed for c in CONCLUSIONS}) == 5
    assert all(len(c.because) > 20 for c in CONCLUSIONS)
    assert all(c.check for c in CONCLUSIONS if c.outcome is not Outcome.NEEDS), "only what needs more goes unasked"
