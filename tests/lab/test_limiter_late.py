"""What limits only once the trial is under way is named: as test_limiter.py does it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import limits
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.calm]  # a quota leaves an end a tenth of a core, whatever the others do


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("lll").paired() as made:
        yield made


@pytest.mark.timeout(limits.PATIENCE)
@pytest.mark.parametrize("kind", limits.SET_IN_LATE)
def test_what_limits_is_named(lab: Lab, tmp_path: Path, kind: str) -> None:
    limits.named(lab, kind, tmp_path)
