"""Modules of one package import each other in one direction, also where an import stands within a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import linkladder

HOUSE = Path(linkladder.__file__).parent


def named(path: Path) -> str:
    parts = ("linkladder", *path.relative_to(HOUSE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {named(path): path for path in HOUSE.rglob("*.py")}
PACKAGES = sorted({name for name, path in MODULES.items() if path.name == "__init__.py"})


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All but what is there for the checker of types alone; expressions, the most by far, have no statement in them."""
    for child in ast.iter_child_nodes(node):
        types_alone = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        if not types_alone and not isinstance(child, ast.expr):
            yield child
            yield from statements(child)


@cache
def imported(module: str) -> frozenset[str]:
    found: set[str] = set()
    for node in statements(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = {one.name: f"{node.module}.{one.name}" for one in node.names}
            found |= {name if name in MODULES else node.module for name in whole.values()}
    return frozenset(found & set(MODULES)) - {module}


def circle(within: dict[str, frozenset[str]]) -> list[str]:
    """What is left of the modules when those that import none of the others go, again and again."""
    left = dict(within)
    while free := [name for name, uses in left.items() if not uses & set(left)]:
        for name in free:
            del left[name]
    return sorted(left)


def test_a_circle_is_seen() -> None:
    a, b, c = frozenset("a"), frozenset("b"), frozenset("c")
    assert circle({"a": b, "b": c, "c": frozenset(), "d": a}) == []
    assert circle({"a": b, "b": c, "c": b}) == ["a", "b", "c"]
    assert "linkladder.host.freebsd" in imported("linkladder.host.backends"), "an import within a function counts"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_of_a_package_import_each_other_in_a_circle(package: str) -> None:
    mine = {name for name in MODULES if name.startswith(f"{package}.")}
    assert circle({name: imported(name) & mine for name in mine}) == []
