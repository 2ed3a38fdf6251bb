"""Inputs of a build as small as they can be: sets, a package repository, and a FreeBSD that only writes down."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from freebsd import FreeBSD, packed

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    folder = tmp_path / "sets"
    folder.mkdir()
    lines = []
    for name in ("base.txz", "kernel.txz", "kernel-LINKLADDER.txz"):
        packed(folder / name, {"boot/kernel/kernel": name.encode()})
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        lines.append(f'{name}\t{digest}\t1\tx\t"words"\ton\n')
    (folder / "MANIFEST").write_text("".join(lines))
    return folder


def listed(folder: Path) -> list[dict[str, object]]:
    """What the list of a repository would say of each line of ports/pkglist, and of one package that textual needs."""
    entries: list[dict[str, object]] = []
    needed = "textproc/py-rich"
    for line in [*(TOP / "ports/pkglist").read_text().split(), needed]:
        origin, _, flavor = line.partition("@")
        name = origin.split("/")[1] + (f"-{flavor}" if flavor else "")
        if name.startswith("py-"):
            name, flavor = name.replace("py-", "py312-", 1), "py312"
        path = f"All/{name}-1.0.pkg"
        (folder / path).write_text(name)
        digest = f"1${hashlib.sha256(name.encode()).hexdigest()}"
        entry: dict[str, object] = {
            "name": name,
            "origin": origin,
            "version": "1.0",
            "path": path,
            "sum": digest,
        }
        entry["annotations"] = {"flavor": flavor} if flavor else {}
        entry["deps"] = {"py312-rich": {"origin": needed, "version": "1.0"}} if "textual" in name else {}
        entries.append(entry)
    return entries


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    folder = tmp_path / "packages"
    (folder / "All").mkdir(parents=True)
    (folder / "Latest").mkdir()
    (folder / "Latest/pkg.pkg").write_text("x")
    text = "".join(json.dumps(entry) + "\n" for entry in listed(folder))
    packed(folder / "packagesite.pkg", {"packagesite.yaml": text.encode()})
    return folder


@pytest.fixture
def freebsd(tmp_path: Path) -> FreeBSD:
    return FreeBSD(tmp_path)
