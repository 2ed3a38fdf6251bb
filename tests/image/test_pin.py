"""Every build takes one tree of ports and one of FreeBSD's source: the first one pins them, `./build.sh pin` moves the
pins, and nothing else does.
"""

from __future__ import annotations

import functools
import http.server
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from freebsd import TOP, FreeBSD
from test_packed_tree import COMMIT, FILES, packed, told

OTHER = COMMIT[::-1]
TREES = {"ports": "2026Q4", "source": "releng/15.1"}  # each with its branch
BOTH = pytest.mark.parametrize("tree", TREES)
LATER = {**FILES, "net/more": b"x"}


class Mirror:
    """What is served of ports trees, by commit and by branch, and what was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.half = False  # whether the connection ends in the middle of a file
        mirror = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
                mirror.asked.append(self.path.removeprefix("/"))

            def copyfile(self, source: object, outputfile: object) -> None:
                data = source.read()  # type: ignore[attr-defined]
                outputfile.write(data[: len(data) // 2] if mirror.half else data)  # type: ignore[attr-defined]

        handler = functools.partial(Handler, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.place = f"http://127.0.0.1:{self.server.server_port}"

    def has(self, commit: str, files: dict[str, bytes], *, newest: bool = True) -> str:
        """Serve a commit, as the newest of each branch too; returns the digest of its files."""
        tree = packed(self.folder / "new.tar.gz", files, commit=commit).rename(self.folder / commit)
        for branch in TREES.values() if newest else ():
            (self.folder / "refs/heads" / branch).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tree, self.folder / "refs/heads" / branch)
        return told(tree).stdout.split()[1]

    def settings(self) -> dict[str, str]:
        return {"LL_PORTS_ARCHIVE": self.place, "LL_SOURCE_ARCHIVE": self.place}


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    (tmp_path / "mirror").mkdir()
    made = Mirror(tmp_path / "mirror")
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A checkout whose poudriere.conf may be written."""
    folder = tmp_path / "checkout"
    for name in ("image", "overlay", "ports", "tui/src"):
        shutil.copytree(TOP / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "build.sh", "poudriere.conf", "tui/pyproject.toml"):
        shutil.copy(TOP / name, folder / name)
    return folder


def pin_of(top: Path, tree: str, branch: str = "") -> tuple[str, str]:
    """What poudriere.conf holds builds to."""
    script = f'. "$0"; echo "$LL_{tree.upper()}_COMMIT:$LL_{tree.upper()}_SHA256"'
    env = {"PATH": os.environ["PATH"], **({f"LL_{tree.upper()}_BRANCH": branch} if branch else {})}
    done = subprocess.run(["sh", "-euc", script, top / "poudriere.conf"], capture_output=True, text=True, env=env)
    commit, _, digest = done.stdout.strip().partition(":")
    return commit, digest


def pin(
    top: Path, mirror: Mirror, *words: str | Path, before: str = "", **settings: str
) -> subprocess.CompletedProcess[str]:
    argv = ["sh", str(top / "build.sh"), "pin", *map(str, words)]
    if before:
        argv = ["unshare", "-m", "sh", "-euc", f'{before}; exec "$@"', "sh", *argv]
    env = {**os.environ, **mirror.settings(), **settings}
    return subprocess.run(argv, capture_output=True, text=True, env=env, timeout=50)


@BOTH
def test_the_pin_is_moved_to_the_newest_commit_and_both_are_told(top: Path, mirror: Mirror, tree: str) -> None:
    assert pin_of(top, tree) == ("", "")
    first = mirror.has(COMMIT, FILES)
    done = pin(top, mirror, tree)
    assert done.returncode == 0 and "before: none\n" in done.stderr, done.stderr
    assert pin_of(top, tree) == (COMMIT, first)
    second = mirror.has(OTHER, LATER)
    done = pin(top, mirror, tree)
    assert f"before: {COMMIT}, files {first}\n  now:    {OTHER}, files {second}\n" in done.stderr
    assert pin_of(top, tree) == (OTHER, second)
    assert "it was pinned already" in pin(top, mirror, tree).stderr
    done = pin(top, mirror, tree, "--commit", COMMIT)
    assert pin_of(top, tree) == (COMMIT, first) and mirror.asked[-1] == COMMIT
    # Nothing else of the file has changed, and another branch has a pin of its own.
    text = (top / "poudriere.conf").read_text()
    assert re.sub(rf"(LL_{tree.upper()}_\w+):=[0-9a-f]+}}", r"\1:=}", text) == (TOP / "poudriere.conf").read_text()
    (mirror.folder / "refs/heads/2027Q1").write_bytes((mirror.folder / OTHER).read_bytes())
    assert pin(top, mirror, tree, **{f"LL_{tree.upper()}_BRANCH": "2027Q1"}).returncode == 0
    assert pin_of(top, tree, "2027Q1") == (OTHER, second) and pin_of(top, tree) == (COMMIT, first)


@BOTH
def test_a_packed_tree_is_pinned_without_a_network(top: Path, mirror: Mirror, tmp_path: Path, tree: str) -> None:
    file = packed(tmp_path / "tree.tar.xz", FILES)
    done = pin(top, mirror, f"--{tree}", file)
    assert done.returncode == 0 and pin_of(top, tree) == (COMMIT, told(file).stdout.split()[1]), done.stderr
    done = pin(top, mirror, f"--{tree}", file, "--commit", OTHER)
    assert done.returncode == 3 and f"its commit is {COMMIT}, not {OTHER}" in done.stderr
    done = pin(top, mirror, f"--{tree}", packed(tmp_path / "bare.tar.gz", LATER, commit=""))
    assert done.returncode == 3 and "does not tell its commit" in done.stderr
    assert pin_of(top, tree)[0] == COMMIT and not mirror.asked


@BOTH
def test_what_cannot_be_trusted_moves_nothing(top: Path, mirror: Mirror, tree: str) -> None:
    first = mirror.has(COMMIT, FILES)
    assert pin(top, mirror, tree).returncode == 0
    mirror.has(COMMIT, LATER)  # the same commit, and other files
    done = pin(top, mirror, tree)
    assert done.returncode == 3 and f"commit {COMMIT} has other files than the pinned ones" in done.stderr
    (mirror.folder / OTHER).write_bytes((mirror.folder / COMMIT).read_bytes())  # asked for one, sent another
    done = pin(top, mirror, tree, "--commit", OTHER)
    assert done.returncode == 3 and f"its commit is {COMMIT}, not {OTHER}" in done.stderr
    mirror.has(OTHER, LATER)
    mirror.half = True
    done = pin(top, mirror, tree)
    assert done.returncode == 3 and "could not be downloaded" in done.stderr
    assert pin(top, mirror, tree, "--commit", "newest").returncode == 3
    assert pin_of(top, tree) == (COMMIT, first)
    # What came half is not gone on with: the branch may have moved.
    mirror.half = False
    assert pin(top, mirror, tree).returncode == 0 and pin_of(top, tree)[0] == OTHER


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for a file that root cannot write")
@BOTH
def test_a_configuration_that_cannot_be_written_is_said_with_what_to_do(top: Path, mirror: Mirror, tree: str) -> None:
    mirror.has(COMMIT, FILES)
    conf = top / "poudriere.conf"
    done = pin(top, mirror, tree, before=f"mount --bind '{conf}' '{conf}' && mount -o remount,ro,bind '{conf}'")
    assert done.returncode == 3, done.stderr
    assert "cannot be written" in done.stderr and f"set LL_{tree.upper()}_COMMIT={COMMIT}" in done.stderr
    assert "--unpinned" in done.stderr and pin_of(top, tree) == ("", "")
    assert [path.name for path in top.glob("poudriere.conf*")] == ["poudriere.conf"]


def test_both_pins_are_moved_where_none_is_named(top: Path, mirror: Mirror) -> None:
    digest = mirror.has(COMMIT, FILES)
    done = pin(top, mirror)
    assert done.returncode == 0 and pin_of(top, "ports") == pin_of(top, "source") == (COMMIT, digest), done.stderr
    mirror.has(OTHER, LATER)
    assert pin(top, mirror, "source").returncode == 0
    assert (pin_of(top, "ports")[0], pin_of(top, "source")[0]) == (COMMIT, OTHER)
    done = pin(top, mirror, "--commit", OTHER)
    assert done.returncode == 3 and "--commit is of one tree" in done.stderr


STAGE = ("--stage", "ports")


def test_the_first_build_pins_what_it_takes_and_later_ones_take_nothing_else(
    freebsd: FreeBSD, sets: Path, top: Path, mirror: Mirror
) -> None:
    online = mirror.settings()
    first = mirror.has(COMMIT, FILES)
    done = freebsd.build(*STAGE, "--sets", sets, top=top, **online)
    assert done.returncode == 0, done.stderr
    assert "holds every later build to this one" in done.stderr and pin_of(top, "ports") == (COMMIT, first)
    assert (freebsd.work / "origins").read_text() == f"ports pinned {COMMIT} {first}\nsystem given as sets\n"
    mirror.has(OTHER, LATER)  # the branch moves on
    done = freebsd.build(*STAGE, "--again", "ports", "--sets", sets, top=top, **online)
    assert done.returncode == 0 and not (freebsd.work / "ports/net/more").exists(), done.stderr
    assert mirror.asked == ["refs/heads/2026Q4", COMMIT] and pin_of(top, "ports") == (COMMIT, first)
    # What is sent under the pinned commit's name, and is not it, is not built.
    mirror.has(COMMIT, LATER, newest=False)
    done = freebsd.build(*STAGE, "--again", "ports", "--sets", sets, top=top, **online)
    assert done.returncode == 3 and "not the pinned ports tree: its digest is" in done.stderr
    assert pin_of(top, "ports") == (COMMIT, first)


def test_a_build_that_is_not_pinned_says_so_wherever_it_is_asked(
    freebsd: FreeBSD, sets: Path, top: Path, mirror: Mirror
) -> None:
    online = mirror.settings()
    digest = mirror.has(COMMIT, FILES)
    done = freebsd.build(*STAGE, "--unpinned", "--sets", sets, top=top, **online)
    assert done.returncode == 0, done.stderr
    assert f"stays unpinned: commit {COMMIT}, files {digest}" in done.stderr and pin_of(top, "ports") == ("", "")
    assert (freebsd.work / "origins").read_text().startswith(f"ports unpinned {COMMIT} {digest}\n")
    # A tree that was given is the pinned one where it holds the same, wherever it lies.
    given = [*STAGE, "--sets", sets, "--ports", mirror.folder / "given.tar.gz"]
    packed(mirror.folder / "given.tar.gz", FILES)
    assert "given.tar.gz was given" in freebsd.build(*given, top=top, **online).stderr
    assert (freebsd.work / "origins").read_text().startswith("ports unpinned ")
    assert pin(top, mirror, "ports").returncode == 0
    assert "was given" not in freebsd.build(*given, top=top, **online).stderr
    assert (freebsd.work / "origins").read_text().startswith(f"ports pinned {COMMIT} {digest}\n")
