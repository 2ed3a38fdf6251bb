"""Look through a package repository before a build: what the list needs is there, and as the repository says it is.

    tar -xOf REPO/packagesite.pkg packagesite.yaml | repository.py REPO PKGLIST

prints one line for each fault and nothing else; standard library only.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

OWN = "net-mgmt/linkladder"  # packed from this tree, whatever the repository has
BASE32 = "ybndrfg8ejkmcpqxot1uwisza345h769"  # libpkg's alphabet [libpkg/pkg_checksum.c]


@dataclass(frozen=True)
class Package:
    """One line of packagesite.yaml."""

    name: str
    origin: str
    flavor: str
    path: str
    sum: str
    needs: tuple[str, ...]


def read(lines: Iterable[str]) -> Iterator[Package]:
    """The packages that a repository lists."""
    for line in lines:
        entry = json.loads(line)
        flavor = entry.get("annotations", {}).get("flavor", "")
        needs = tuple(entry.get("deps", {}))
        yield Package(entry["name"], entry["origin"], flavor, entry["path"], entry["sum"], needs)


def base32(data: bytes) -> str:
    """libpkg's base32: five bits at a time, the lowest first."""
    number, length = int.from_bytes(data, "little"), -(-len(data) * 8 // 5)
    return "".join(BASE32[number >> (5 * place) & 31] for place in range(length))


def intact(file: Path, want: str) -> bool:
    """Whether a file has the sum that pkg wrote: hexadecimal SHA-256, or its kind, `$` and the sum."""
    kind, _, value = want.rpartition("$")
    with file.open("rb") as opened:
        if kind in ("", "1"):
            return hashlib.file_digest(opened, "sha256").hexdigest() == value
        if kind == "2":
            return base32(hashlib.file_digest(opened, "blake2b").digest()) == value
    return True  # a kind that came later: pkg itself checks it when it installs


def wanted(packages: Iterable[Package], origin: str) -> list[Package]:
    """The packages of one line of the list; without a flavor there, any will do."""
    place, _, flavor = origin.partition("@")
    return [one for one in packages if one.origin == place and flavor in ("", one.flavor)]


def faults(folder: Path, packages: Mapping[str, Package], origins: Iterable[str]) -> Iterator[str]:
    """Everything that would stop the build hours later."""
    due: list[str] = []
    for origin in origins:
        found = wanted(packages.values(), origin)
        due += [one.name for one in found]
        if not found and origin != OWN:
            yield f"{folder} has no package of {origin}"
    seen: set[str] = set()
    while due:
        name = due.pop()
        if name in seen:
            continue
        seen.add(name)
        package = packages[name]
        if package.origin == OWN:
            continue
        file = folder / package.path
        if not file.is_file():
            yield f"{file} is missing, and the repository lists it"
        elif not intact(file, package.sum):
            yield f"{file} is damaged: its sum is not the one that the repository lists"
        for need in package.needs:
            if need in packages:
                due.append(need)
            else:
                yield f"{folder} has no package {need}, which {name} needs"


def main(folder: Path, pkglist: Path) -> int:
    """Print the faults; they are not this program's own failure."""
    packages = {one.name: one for one in read(sys.stdin)}
    for fault in faults(folder, packages, pkglist.read_text(encoding="utf-8").split()):
        print(fault)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
