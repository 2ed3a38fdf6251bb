"""The house as a stranger meets it: modules that can be read in one sitting, each in a package of DESIGN's layout."""

from __future__ import annotations

from pathlib import Path

import pytest

import linkladder

MODULES = sorted(Path(linkladder.__file__).parent.rglob("*.py"))
MOST_LINES = 400


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(MODULES[0].parent)))
def test_no_module_is_longer_than_one_sitting(module: Path) -> None:
    lines = len(module.read_text(encoding="utf-8").splitlines())
    assert lines <= MOST_LINES, f"{module.name} has {lines} lines: split it"
