"""Effects that were put there are found with the right sign, and where nothing was put there nothing is found.

In every run of the tests one draw, another on each day, and its first arm against itself, where nothing is planted;
LINKLADDER_DRAWS=20 measures twenty of each kind and asks for all of them, or for nineteen where nothing
is planted. LINKLADDER_DRAWS_FROM is the first seed: with that of a draw that failed, LINKLADDER_DRAWS=1 repeats it.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

import planted
from planted import DRAWS, FIRST, KINDS
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(planted.PATIENCE * max(1, DRAWS))]
TODAY, SEED = planted.of_day(datetime.date.today())
OFTEN = {"nothing": 0.95}  # of the draws; of what was planted all


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("lxq").paired() as made:
        yield made


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.alone) for kind in KINDS]
    if DRAWS
    else [pytest.param(TODAY, marks=pytest.mark.alone if TODAY in planted.NEED_CORES else pytest.mark.calm)],
)
def test_what_was_planted_is_found_and_nothing_else(kind: str, lab: Lab, tmp_path: Path) -> None:
    found, wrong = 0, []
    for seed in range(FIRST, FIRST + DRAWS) if DRAWS else [SEED]:
        for one in planted.measured(lab, kind, seed, tmp_path, control=not DRAWS):
            said = f"{kind}, seed {seed}: {'right' if one.right else 'WRONG'}: {one.said}"
            print(said, flush=True)
            found += 1
            wrong += [] if one.right else [said]
    print(f"{kind}: {found - len(wrong)} of {found}", flush=True)
    assert found - len(wrong) >= OFTEN.get(kind, 1.0) * found, "\n".join(wrong)


def test_each_kind_that_plants_something_has_its_day() -> None:
    days = [datetime.date(2026, 1, 1) + datetime.timedelta(n) for n in range(len(KINDS) - 1)]
    drawn = [planted.of_day(day) for day in days]
    assert {kind for kind, _ in drawn} == set(KINDS) - {"nothing"}
    assert len({seed for _, seed in drawn}) == len(days)
