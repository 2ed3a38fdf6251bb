"""The development environment is the locked one: every package of it pinned, with the digests of its files."""

from __future__ import annotations

import contextlib
import re
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TUI = Path(__file__).resolve().parents[2] / "tui"


def locked() -> dict[str, tuple[str, str, int]]:
    """Version, marker and number of digests of each package."""
    text = (TUI / "locked.txt").read_text().replace("\\\n", " ")
    found: dict[str, tuple[str, str, int]] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        entry = re.fullmatch(r"([\w.-]+)==(\S+)(?:\s*;\s*(.*?))?((?:\s+--hash=sha256:[0-9a-f]{64})+)\s*", line)
        assert entry, line[:80]
        found[str(canonicalize_name(entry[1]))] = (entry[2], entry[3] or "", entry[4].count("--hash"))
    return found


def test_all_that_the_project_asks_for_is_locked_as_it_asks() -> None:
    project = tomllib.loads((TUI / "pyproject.toml").read_text())
    asked = [*project["project"]["dependencies"], *project["project"]["optional-dependencies"]["dev"]]
    asked += project["build-system"]["requires"]
    known = locked()
    for text in asked:
        need = Requirement(text)
        version, _, digests = known[canonicalize_name(need.name)]
        assert need.specifier.contains(version), f"{text} is locked to {version}: make tui/locked.txt anew"
        assert digests >= 1


def installed() -> dict[str, str]:
    """What of it is here, with its version: an environment of before the lock lacks what only builds."""
    here = {}
    for name, (_, marker, _) in locked().items():
        if not marker or Marker(marker).evaluate():
            with contextlib.suppress(metadata.PackageNotFoundError):
                here[name] = metadata.version(name)
    return here


def test_nothing_needs_what_is_not_locked() -> None:
    known = locked()
    for name in installed():
        for text in metadata.requires(name) or ():
            need = Requirement(text)
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                assert canonicalize_name(need.name) in known, f"{name} needs {need}"


def test_these_tests_run_with_what_is_locked() -> None:
    here = installed()
    assert here == {name: entry[0] for name, entry in locked().items() if name in here} and "pytest" in here
