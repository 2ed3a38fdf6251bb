"""Effects that were put there are found with the right sign, and where nothing was put there nothing is found.

In every run of the tests one draw, and its first arm against itself, where nothing is planted; LINKLADDER_DRAWS=20
measures twenty of each kind, in six pairs, and asks for all of them, or for nineteen where nothing is planted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import planted
from planted import DRAWS, FIRST, KINDS
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(planted.PATIENCE * max(1, DRAWS))]
QUICK = "small buffer at 5 ms"
OFTEN = {"nothing": 0.95}  # of the draws; of what was planted all


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("lxq").paired() as made:
        yield made


# What is measured without a limit needs the cores; the one of every run is held to far less.
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.alone) for kind in KINDS]
    if DRAWS
    else [pytest.param(QUICK, marks=pytest.mark.calm)],
)
def test_what_was_planted_is_found_and_nothing_else(kind: str, lab: Lab, tmp_path: Path) -> None:
    found = []
    for seed in range(FIRST, FIRST + max(1, DRAWS)):
        for one in planted.measured(lab, kind, seed, tmp_path, control=not DRAWS):
            print(f"{kind} {seed}: {'right' if one.right else 'WRONG'}: {one.said}", flush=True)
            found.append(one)
    right = sum(one.right for one in found)
    print(f"{kind}: {right} of {len(found)}", flush=True)
    assert right >= OFTEN.get(kind, 1.0) * len(found), [one.said for one in found if not one.right]
