"""What the documents say of the tree: its parts are all in architecture.md, and the files and names they name exist."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

import linkladder

HOUSE = Path(linkladder.__file__).parent
TOP = Path(__file__).resolve().parents[2]
ARCHITECTURE = (TOP / "docs/architecture.md").read_text(encoding="utf-8")
PARTS = {m.stem for m in HOUSE.glob("*.py") if not m.stem.startswith("__")} | {
    m.parent.name for m in HOUSE.glob("*/__init__.py")
}
SAID = re.findall(r"`([^`\n]+)`", ARCHITECTURE.replace("```", ""))  # what stands in it as code
FILE = re.compile(r"(?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:py|sh|md|toml|json)")


def test_the_picture_shows_every_part_in_the_order_of_the_import_contract() -> None:
    contract = tomllib.loads((TOP / "tui/pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layer = {part: n for n, names in enumerate(contract["layers"]) for part in names.split(" | ")}
    picture = ARCHITECTURE.split("```\n")[1]
    rows = [line[14:].partition("|")[0].split() for line in picture.splitlines()]
    shown = [name for row in rows for name in row]
    assert sorted(name.strip("/") for name in shown) == sorted(PARTS)
    assert [n for n in shown if n.endswith("/") != (HOUSE / n.strip("/")).is_dir()] == [], "a package has a /"
    heights = [{layer[name.strip("/")] for name in row} for row in rows if row]
    assert all(len(one) == 1 for one in heights), "a line is of one layer"
    assert [min(one) for one in heights] == sorted(min(one) for one in heights), "and stands on those that it imports"


def test_the_contract_about_textual_names_every_part_but_the_screens() -> None:
    """A part that it forgets could draw."""
    contracts = tomllib.loads((TOP / "tui/pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (drawing,) = [one for one in contracts if one.get("forbidden_modules") == ["textual", "rich"]]
    assert set(drawing["source_modules"]) == {f"linkladder.{part}" for part in PARTS - {"app", "cli"}}


def there(name: str) -> bool:
    return any((root / name).exists() for root in (TOP, HOUSE, TOP / "docs"))


def test_every_file_that_the_picture_of_the_house_names_is_there() -> None:
    named = [file for code in SAID for file in FILE.findall(code) if file != "output.py"]  # one in each tool's room
    assert len(named) > 60 and not [file for file in named if not there(file)]


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/security.md", "docs/statistics.md"])
def test_every_file_of_the_tree_that_a_document_names_is_there(document: str) -> None:
    tops = {f"{one.name}/" for root in (TOP, HOUSE) for one in root.iterdir() if one.is_dir()} - {"out/"}
    text = (TOP / document).read_text(encoding="utf-8")
    named = [
        file for file in re.findall(r"(?<![\w./-])(?:[\w-]+/)+[\w.-]*\w", text) if file.partition("/")[0] + "/" in tops
    ]
    assert not [file for file in named if not there(file)]


def test_every_name_that_the_picture_of_the_house_names_is_there() -> None:
    """Keys, attributes, functions and classes: whatever is one word, and neither a file nor a program's option."""
    kept = set()
    for tree in (ast.parse(module.read_text(encoding="utf-8")) for module in HOUSE.rglob("*.py")):
        for node in ast.walk(tree):
            kept |= {str(getattr(node, key)) for key in ("name", "id", "attr", "arg") if hasattr(node, key)}
            kept |= {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()
    words = {
        word for code in SAID if (word := code.partition("(")[0].rpartition(".")[2]).isidentifier() and "/" not in code
    }
    assert len(words) > 20 and words - kept - PARTS - {"py", "md", "sh", "toml", "json"} == set()
