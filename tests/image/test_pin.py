"""Every build takes one ports tree: the first one pins it, `./build.sh pin` moves the pin, and nothing else does."""

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
from test_ports_tree import COMMIT, FILES, packed, told

OTHER = COMMIT[::-1]
BRANCH = "refs/heads/2026Q4"
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
        """Serve a commit, as the branch's newest too; returns the digest of its files."""
        (self.folder / "refs/heads").mkdir(parents=True, exist_ok=True)
        tree = packed(self.folder / "new.tar.gz", files, commit=commit).rename(self.folder / commit)
        if newest:
            shutil.copy(tree, self.folder / BRANCH)
        return told(tree).stdout.split()[1]


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


def pin_of(top: Path, branch: str = "") -> tuple[str, str]:
    """What poudriere.conf holds builds to."""
    script = '. "$0"; echo "$LL_PORTS_COMMIT:$LL_PORTS_SHA256"'
    env = {"PATH": os.environ["PATH"], **({"LL_PORTS_BRANCH": branch} if branch else {})}
    done = subprocess.run(["sh", "-euc", script, top / "poudriere.conf"], capture_output=True, text=True, env=env)
    commit, _, digest = done.stdout.strip().partition(":")
    return commit, digest


def pin(
    top: Path, mirror: Mirror, *words: str | Path, before: str = "", **settings: str
) -> subprocess.CompletedProcess[str]:
    argv = ["sh", str(top / "build.sh"), "pin", *map(str, words)]
    if before:
        argv = ["unshare", "-m", "sh", "-euc", f'{before}; exec "$@"', "sh", *argv]
    env = {**os.environ, "LL_PORTS_ARCHIVE": mirror.place, **settings}
    return subprocess.run(argv, capture_output=True, text=True, env=env, timeout=50)


def test_the_pin_is_moved_to_the_newest_commit_and_both_are_told(top: Path, mirror: Mirror) -> None:
    assert pin_of(top) == ("", "")
    first = mirror.has(COMMIT, FILES)
    done = pin(top, mirror)
    assert done.returncode == 0 and "before: none\n" in done.stderr, done.stderr
    assert pin_of(top) == (COMMIT, first)
    second = mirror.has(OTHER, LATER)
    done = pin(top, mirror)
    assert f"before: {COMMIT}, files {first}\n  now:    {OTHER}, files {second}\n" in done.stderr
    assert pin_of(top) == (OTHER, second)
    assert "it was pinned already" in pin(top, mirror).stderr
    done = pin(top, mirror, "--commit", COMMIT)
    assert pin_of(top) == (COMMIT, first) and mirror.asked[-1] == COMMIT
    # Nothing else of the file has changed, and another branch has a pin of its own.
    text = (top / "poudriere.conf").read_text()
    assert re.sub(r"(LL_PORTS_\w+):=[0-9a-f]+}", r"\1:=}", text) == (TOP / "poudriere.conf").read_text()
    (mirror.folder / "refs/heads/2027Q1").write_bytes((mirror.folder / OTHER).read_bytes())
    assert pin(top, mirror, LL_PORTS_BRANCH="2027Q1").returncode == 0
    assert pin_of(top, "2027Q1") == (OTHER, second) and pin_of(top) == (COMMIT, first)


def test_a_packed_tree_is_pinned_without_a_network(top: Path, mirror: Mirror, tmp_path: Path) -> None:
    tree = packed(tmp_path / "tree.tar.xz", FILES)
    done = pin(top, mirror, "--ports", tree)
    assert done.returncode == 0 and pin_of(top) == (COMMIT, told(tree).stdout.split()[1]), done.stderr
    done = pin(top, mirror, "--ports", tree, "--commit", OTHER)
    assert done.returncode == 3 and f"its commit is {COMMIT}, not {OTHER}" in done.stderr
    done = pin(top, mirror, "--ports", packed(tmp_path / "bare.tar.gz", LATER, commit=""))
    assert done.returncode == 3 and "does not tell its commit" in done.stderr
    assert pin_of(top)[0] == COMMIT and not mirror.asked


def test_what_cannot_be_trusted_moves_nothing(top: Path, mirror: Mirror) -> None:
    first = mirror.has(COMMIT, FILES)
    assert pin(top, mirror).returncode == 0
    mirror.has(COMMIT, LATER)  # the same commit, and other files
    done = pin(top, mirror)
    assert done.returncode == 3 and f"commit {COMMIT} has other files than the pinned ones" in done.stderr
    (mirror.folder / OTHER).write_bytes((mirror.folder / COMMIT).read_bytes())  # asked for one, sent another
    done = pin(top, mirror, "--commit", OTHER)
    assert done.returncode == 3 and f"its commit is {COMMIT}, not {OTHER}" in done.stderr
    mirror.has(OTHER, LATER)
    mirror.half = True
    done = pin(top, mirror)
    assert done.returncode == 3 and "could not be downloaded" in done.stderr
    assert pin(top, mirror, "--commit", "newest").returncode == 3
    assert pin_of(top) == (COMMIT, first)
    # What came half is not gone on with: the branch may have moved.
    mirror.half = False
    assert pin(top, mirror).returncode == 0 and pin_of(top)[0] == OTHER


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for a file that root cannot write")
def test_a_configuration_that_cannot_be_written_is_said_with_what_to_do(top: Path, mirror: Mirror) -> None:
    mirror.has(COMMIT, FILES)
    conf = top / "poudriere.conf"
    done = pin(top, mirror, before=f"mount --bind '{conf}' '{conf}' && mount -o remount,ro,bind '{conf}'")
    assert done.returncode == 3, done.stderr
    assert "cannot be written" in done.stderr and f"set LL_PORTS_COMMIT={COMMIT}" in done.stderr
    assert "--unpinned" in done.stderr and pin_of(top) == ("", "")
    assert [path.name for path in top.glob("poudriere.conf*")] == ["poudriere.conf"]


STAGE = ("--stage", "ports")


def test_the_first_build_pins_what_it_takes_and_later_ones_take_nothing_else(
    freebsd: FreeBSD, sets: Path, top: Path, mirror: Mirror
) -> None:
    online = {"LL_PORTS_ARCHIVE": mirror.place}
    first = mirror.has(COMMIT, FILES)
    done = freebsd.build(*STAGE, "--sets", sets, top=top, **online)
    assert done.returncode == 0, done.stderr
    assert "holds every later build to this one" in done.stderr and pin_of(top) == (COMMIT, first)
    assert (freebsd.work / "ports_origin").read_text() == f"pinned {COMMIT} {first}\n"
    mirror.has(OTHER, LATER)  # the branch moves on
    done = freebsd.build(*STAGE, "--again", "ports", "--sets", sets, top=top, **online)
    assert done.returncode == 0 and not (freebsd.work / "ports/net/more").exists(), done.stderr
    assert mirror.asked == [BRANCH, COMMIT] and pin_of(top) == (COMMIT, first)
    # What is sent under the pinned commit's name, and is not it, is not built.
    mirror.has(COMMIT, LATER, newest=False)
    done = freebsd.build(*STAGE, "--again", "ports", "--sets", sets, top=top, **online)
    assert done.returncode == 3 and "not the pinned tree of ports: its digest is" in done.stderr
    assert pin_of(top) == (COMMIT, first)


def test_a_build_that_is_not_pinned_says_so_wherever_it_is_asked(
    freebsd: FreeBSD, sets: Path, top: Path, mirror: Mirror
) -> None:
    online = {"LL_PORTS_ARCHIVE": mirror.place}
    digest = mirror.has(COMMIT, FILES)
    done = freebsd.build(*STAGE, "--unpinned", "--sets", sets, top=top, **online)
    assert done.returncode == 0, done.stderr
    assert f"stays unpinned: commit {COMMIT}, files {digest}" in done.stderr and pin_of(top) == ("", "")
    assert (freebsd.work / "ports_origin").read_text() == f"unpinned {COMMIT} {digest}\n"
    # A tree that was given is the pinned one where it holds the same, wherever it lies.
    given = [*STAGE, "--sets", sets, "--ports", mirror.folder / "given.tar.gz"]
    packed(mirror.folder / "given.tar.gz", FILES)
    assert "given.tar.gz was given" in freebsd.build(*given, top=top, **online).stderr
    assert (freebsd.work / "ports_origin").read_text().startswith("unpinned ")
    assert pin(top, mirror).returncode == 0
    assert "was given" not in freebsd.build(*given, top=top, **online).stderr
    assert (freebsd.work / "ports_origin").read_text() == f"pinned {COMMIT} {digest}\n"
