"""The shape of the tree itself: modules that can be read in one sitting, and parts that do not go round in circles."""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path

import linkladder

TOP = Path(linkladder.__file__).parent
MODULES = sorted(TOP.rglob("*.py"))
TESTS = Path(__file__).parents[1]
LONGEST = 400  # lines


def test_no_module_is_too_long_to_be_read_in_one_sitting() -> None:
    all_of_them = [*MODULES, *TESTS.rglob("*.py")]
    long = {str(m): n for m in all_of_them if (n := len(m.read_text().splitlines())) > LONGEST}
    assert not long, f"more than {LONGEST} lines: take out what has a name of its own"


def part(name: str) -> str:
    """Which package or module of linkladder's first level a dotted name belongs to; '' for others' modules."""
    words = name.split(".")
    return words[1] if words[0] == "linkladder" and len(words) > 1 else ""


def imported(module: Path) -> set[str]:
    """The parts that a module imports, wherever in it, and for its types alone too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            found |= {part(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "linkladder":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(part(node.module or ""))
    return {name for name in found if (TOP / name).is_dir() or (TOP / f"{name}.py").exists()} - {""}


def test_no_circle_among_the_parts() -> None:
    graph: dict[str, set[str]] = {}
    for module in MODULES:
        own = module.relative_to(TOP).parts[0].removesuffix(".py")
        graph.setdefault(own, set()).update(imported(module) - {own})
    assert {"model", "engine", "app", "store"} <= set(graph) and "model" in graph["engine"], "it sees imports"
    tuple(graphlib.TopologicalSorter(graph).static_order())  # CycleError names the circle


def test_no_two_parts_share_a_name() -> None:
    """wire.py beside wire/ would mean two things by one word."""
    both = {m.stem for m in TOP.glob("*.py")} & {m.name for m in TOP.iterdir() if m.is_dir()}
    assert not both
