"""The judge names what really limits: real runs over links whose rate, buffer and delay are drawn at random.

Nothing is replaced: `linkladder run` measures between two appliances, and what is held against the draw is the limiter
in the document that it writes.  One draw of each kind; LINKLADDER_DRAWS=10 measures ten of each and asks for nine right
ones (with the other test_limiter_*.py about forty minutes).  LINKLADDER_DRAWS_KEEP=FOLDER keeps every document.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import limits
from world import Lab

pytestmark = pytest.mark.lab
ALONE = ("own-card", "busy-sender", "busy-queue")  # need the cores, or take them away
KINDS = [
    pytest.param(kind, marks=pytest.mark.alone if kind in ALONE else pytest.mark.calm)
    for kind in limits.RIGHT
    if kind not in (*limits.LOSSES, *limits.POLICERS, *limits.SET_IN_LATE, *limits.UNSHAPED)
]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("llj").paired() as made:
        yield made


@pytest.mark.timeout(limits.PATIENCE)
@pytest.mark.parametrize("kind", KINDS)
def test_what_limits_is_named(lab: Lab, tmp_path: Path, kind: str) -> None:
    limits.named(lab, kind, tmp_path)
