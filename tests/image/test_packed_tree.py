"""A tree of ports, or of FreeBSD's source, is known by its commit and by its files, however it is packed."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {"net/Makefile": b"all:\n", "textproc/py-rich/Makefile": b"PORTNAME=rich\n"}


def packed(path: Path, files: dict[str, bytes], top: str = "freebsd-ports", commit: str = COMMIT) -> Path:
    """As git archive packs it: the commit stands in the header of the whole."""
    mode = "w:" + path.suffix.removeprefix(".")
    with tarfile.open(path, mode, format=tarfile.PAX_FORMAT, pax_headers={"comment": commit} if commit else {}) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def told(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, str(TOP / "image" / "packed_tree.py"), str(path), *options]
    return subprocess.run(program, capture_output=True, text=True, timeout=50)


def test_the_same_files_are_the_same_tree_however_they_are_packed(tmp_path: Path) -> None:
    one = told(packed(tmp_path / "a.tar.gz", FILES)).stdout.split()
    other = told(packed(tmp_path / "b.tar.xz", dict(reversed(FILES.items())), top="ports-0123")).stdout.split()
    assert one == other and one[0] == COMMIT and len(one[1]) == 64
    assert told(packed(tmp_path / "c.tar.gz", FILES, commit="")).stdout.split() == ["unknown", one[1]]


@pytest.mark.parametrize(
    "change",
    [
        {"net/Makefile": b"all: evil\n"},
        {"net/Makefile": FILES["net/Makefile"], "net/more": b""},
        {"net2/Makefile": FILES["net/Makefile"]},
    ],
)
def test_a_file_that_differs_or_is_more_or_less_is_another_tree(change: dict[str, bytes], tmp_path: Path) -> None:
    good = told(packed(tmp_path / "a.tar.gz", FILES)).stdout.split()[1]
    path = packed(tmp_path / "b.tar.gz", {**{k: v for k, v in FILES.items() if k.startswith("text")}, **change})
    done = told(path, "--name", "ports tree", "--commit", COMMIT, "--digest", good)
    assert done.returncode == 1 and "not the pinned ports tree: its digest is" in done.stderr


@pytest.mark.parametrize(
    ("name", "kind", "why"),
    [
        ("net/more", tarfile.LNKTYPE, "holds freebsd-ports/net/more, which is no file, folder or symbolic link"),
        ("net/more", tarfile.FIFOTYPE, "holds freebsd-ports/net/more, which is no file, folder or symbolic link"),
        ("net/Makefile", tarfile.LNKTYPE, "holds freebsd-ports/net/Makefile twice"),
        ("net/Makefile", tarfile.DIRTYPE, "holds freebsd-ports/net/Makefile twice"),
    ],
    ids=["a-hard-link", "a-fifo", "a-file-replaced", "a-file-taken-away"],
)
def test_what_the_digest_does_not_tell_is_in_no_tree(name: str, kind: bytes, why: str, tmp_path: Path) -> None:
    good = told(packed(tmp_path / "a.tar", FILES)).stdout.split()[1]
    path = packed(tmp_path / "b.tar", FILES)
    with tarfile.open(path, "a:", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo(f"freebsd-ports/{name}")
        member.type = kind
        member.linkname = "freebsd-ports/textproc/py-rich/Makefile" if kind == tarfile.LNKTYPE else ""
        tar.addfile(member)
    done = told(path, "--digest", good)
    assert done.returncode == 1 and f"{path} cannot be read: it {why}; remove it and try again" in done.stderr, done
    assert done.stdout == ""


def test_a_tree_as_git_packs_it_is_read(tmp_path: Path) -> None:
    """With its folders, a symbolic link, a program, and the commit in a header of its own."""
    (tmp_path / "net").mkdir()
    (tmp_path / "net/run").write_text("#!/bin/sh\n")
    (tmp_path / "net/run").chmod(0o755)
    (tmp_path / "net/link").symlink_to("run")
    who = ["-c", "user.name=x", "-c", "user.email=x"]
    for words in (["init", "-q"], ["add", "net"], [*who, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    pack = ["git", "archive", "--prefix=ports-main/", "-o", "tree.tar.gz", "HEAD"]
    subprocess.run(pack, cwd=tmp_path, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True).stdout.strip()
    done = told(tmp_path / "tree.tar.gz", "--commit", head)
    assert done.returncode == 0 and done.stdout.split()[0] == head, done.stderr


def test_another_commit_and_half_a_file_are_refused(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.tar.gz", FILES)
    done = told(path, "--commit", COMMIT[::-1])
    assert done.returncode == 1 and f"its commit is {COMMIT}, not {COMMIT[::-1]}" in done.stderr
    path.write_bytes(path.read_bytes()[:-40])
    assert told(path).returncode == 1 and "cannot be read" in told(path).stderr


def test_a_tree_that_was_read_is_not_read_again_until_it_is_another(tmp_path: Path) -> None:
    path, known = packed(tmp_path / "a.tar.gz", FILES), tmp_path / "known"
    first = told(path, "--known", str(known)).stdout
    known.write_text(known.read_text().replace(COMMIT, COMMIT[::-1]))
    assert told(path, "--known", str(known)).stdout.split() == [COMMIT[::-1], first.split()[1]], "as it was noted"
    packed(path, {**FILES, "net/more": b"x"})
    again = told(path, "--known", str(known)).stdout.split()
    assert again[0] == COMMIT and again[1] != first.split()[1]
    known.write_text("damaged")
    assert told(path, "--known", str(known)).stdout.split() == again
