"""The overlay's ports: what the framework and portlint ask of them, and that they say what the tree says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PORTS = sorted(path.parent for path in (TOP / "ports").glob("*/*/Makefile"))
PROJECT = tomllib.loads((TOP / "tui/pyproject.toml").read_text())


def variables(port: Path) -> dict[str, str]:
    """The assignments of a Makefile, their lines joined and without comments."""
    text = (port / "Makefile").read_text().replace("\\\n", " ")
    found = re.findall(r"^([A-Z_]+)=[ \t]*(.*)$", text, re.M)
    return {name: value.partition("#")[0].strip() for name, value in found}


@pytest.mark.parametrize("port", PORTS, ids=lambda port: port.name)
def test_a_port_has_the_form_that_is_asked_of_one(port: Path) -> None:
    has = variables(port)
    for name in ("CATEGORIES", "MAINTAINER", "COMMENT", "WWW", "LICENSE", "LICENSE_FILE"):
        assert has[name], name
    assert has["CATEGORIES"].split()[0] == port.parent.name
    assert len(has["COMMENT"]) <= 70 and has["COMMENT"][0].isupper() and not has["COMMENT"].endswith(".")
    assert all(len(line) <= 80 for line in (port / "pkg-descr").read_text().splitlines())
    text = (port / "Makefile").read_text()
    assert text.rstrip().endswith(".include <bsd.port.mk>")
    # A name, its lowest version, its origin and, for a Python module, the flavor of ours.
    for need in f"{has['BUILD_DEPENDS']} {has['RUN_DEPENDS']}".split():
        python = re.fullmatch(r"\$\{PYTHON_PKGNAMEPREFIX\}[\w.-]+>=?[\d.]+:[a-z]+/py-[\w-]+@\$\{PY_FLAVOR\}", need)
        assert python or re.fullmatch(r"\w+:[a-z]+/\w+", need), need


def test_what_linkladder_needs_is_what_its_port_asks_for() -> None:
    needs = variables(TOP / "ports/net-mgmt/linkladder")["RUN_DEPENDS"].lower()
    for line in PROJECT["project"]["dependencies"]:
        found = re.match(r"([\w-]+)[=>]=([\d.]+)", line)
        assert found and f"}}{found[1]}>={found[2]}:" in needs, line
    assert (
        f"}}{PROJECT['build-system']['requires'][0]}>" in variables(TOP / "ports/net-mgmt/linkladder")["BUILD_DEPENDS"]
    )


def test_textual_is_the_one_that_linkladder_is_made_for() -> None:
    port = TOP / "ports/textproc/py-textual"
    version = variables(port)["DISTVERSION"]
    assert f"textual=={version}" in PROJECT["project"]["dependencies"]
    assert re.findall(r"\((.*)\)", (port / "distinfo").read_text()) == [f"textual-{version}.tar.gz"] * 2


def test_what_make_conf_names_of_the_overlay_lies_where_poudriere_mounts_it() -> None:
    (tree,) = re.findall(r"\boverlay=(\w+)\n", (TOP / "image/stages.sh").read_text())
    named = re.findall(r"/overlays/([^/\s]+)/([^\s:]+)", (TOP / "ports/make.conf").read_text())
    assert [name for name, _ in named] == [tree]
    assert all((TOP / "ports" / path).is_file() for _, path in named)
