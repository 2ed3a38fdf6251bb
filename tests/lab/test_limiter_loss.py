"""Random loss is named: as test_limiter.py does it, of links that drop what they could carry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import limits
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.calm]  # what a busy machine loses is taken for the path's


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("llk").paired() as made:
        yield made


@pytest.mark.timeout(limits.PATIENCE)
@pytest.mark.parametrize("kind", limits.LOSSES)
def test_what_limits_is_named(lab: Lab, tmp_path: Path, kind: str) -> None:
    limits.named(lab, kind, tmp_path)
