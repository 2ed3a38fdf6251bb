"""netserver does what its client asks: on the image it is patched to read no file, and to send to nobody else.

The patch is tried on the source of netperf 2.7.1 that `./build.sh test` fetches from Debian.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PATCH = TOP / "ports/patches/netserver-closed.patch"
CLIENT = TOP / ".work/netperf/usr/bin/netperf"
SOURCE = TOP / ".work/netperf-source"
SECRET = "ll1-0123-4567-89ab-cdef-ghjk-mnpq-rstv-wxyz-0000\n"


def test_the_port_is_built_with_the_patch() -> None:
    conf = (TOP / "ports/make.conf").read_text()
    (block,) = re.findall(r"^\.if \$\{\.CURDIR:M\*/benchmarks/netperf\}\n(.*?)^\.endif", conf, re.M | re.S)
    (named,) = re.findall(r"^EXTRA_PATCHES\+=\s+/overlays/linkladder_overlay/(\S+):-p1$", block, re.M)
    assert TOP / "ports" / named == PATCH
    files = re.findall(r"^\+\+\+ b/(\S+)$", PATCH.read_text(), re.M)
    assert files == ["src/netserver.c", "src/nettest_omni.c"]


@pytest.fixture(scope="module")
def patched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The patched program, built."""
    if not SOURCE.is_dir():
        pytest.skip("the source of netperf could not be had from Debian (.work/set-up.log says why)")
    folder = tmp_path_factory.mktemp("netperf") / "netperf"
    shutil.copytree(SOURCE, folder, symlinks=True)
    script = f"""
set -e
patch -s -p1 <{PATCH}
sh autogen.sh
./configure -q --enable-omni --enable-demo --enable-burst --enable-histogram CFLAGS='-O1 -fcommon -w'
make -s -C src netserver
"""
    done = subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "src/netserver"


@pytest.fixture
def port(patched: Path, tmp_path: Path) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
    # As root it takes /dev/null, its log, from everybody else (chmod 644): it gets one of its own.
    own = tmp_path / "null"
    own.touch()
    alone = ["unshare", "-m", "sh", "-c", f'mount --bind {own} /dev/null && exec "$@"', "sh"]
    server = subprocess.Popen(
        [*alone, patched, "-D", "-N", "-L", "127.0.0.1,inet", "-p", str(number)], stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 10
    while not answers(number):
        assert time.monotonic() < deadline, "netserver does not listen"
        time.sleep(0.02)
    yield number
    server.kill()
    server.wait()
    assert os.stat("/dev/null").st_mode & 0o777 == 0o666


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except ConnectionRefusedError:
        return False
    return True


def ask(port: int, *words: str) -> str:
    argv = [CLIENT, "-H", "127.0.0.1", "-p", str(port), "-l", "1", "-P", "0", *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    return f"{done.stdout}{done.stderr}"


def test_a_file_that_the_client_names_is_not_read(port: int, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET * 4000)
    assert not re.search(r"\d+\.\d\d\s*$", ask(port, "-t", "TCP_MAERTS", "-F", f"/dev/null,{secret}"))


@pytest.mark.parametrize("test", ["UDP_STREAM", "UDP_RR", "TCP_SENDFILE"])
def test_nothing_is_sent_but_over_the_clients_own_connection(port: int, test: str) -> None:
    assert "Operation not permitted" in ask(port, "-t", test)


@pytest.mark.parametrize("words", [("TCP_MAERTS",), ("TCP_RR",), ("TCP_MAERTS", "-F", "/dev/urandom,/dev/urandom")])
def test_what_is_measured_is_measured_still(port: int, words: tuple[str, ...]) -> None:
    assert re.search(r"\d+\.\d\d", ask(port, "-t", *words))


@pytest.mark.parametrize(
    ("which", "says"),
    [("patched", ""), ("stock", "netserver-closed.patch"), ("none", "does not answer")],
)
def test_an_image_is_built_with_no_other_netserver(patched: Path, tmp_path: Path, which: str, says: str) -> None:
    """Packages that others have built, or a port that takes no patch of ours, put an open one on the image."""
    programs = tmp_path / "root/usr/local/bin"
    programs.mkdir(parents=True)
    if which != "none":
        (programs / "netserver").symlink_to({"patched": patched, "stock": CLIENT.with_name("netserver")}[which])
    (programs / "netperf").symlink_to(CLIENT)
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "chroot").write_text('#!/bin/sh\nroot=$1$2\nshift 2\nexec "$root" "$@"\n')
    (shims / "chroot").chmod(0o755)
    script, calls = (TOP / "image/post-build.sh").read_text().split("\nll_users\n")
    assert calls.split().index("ll_netserver") < calls.split().index("ll_clean")  # what it may leave in /dev goes there
    path = f"{shims}:{os.environ['PATH']}"
    own = tmp_path / "null"  # as above: run as root it takes it from everybody else
    own.touch()
    argv = ["unshare", "-m", "sh", "-euc", f"mount --bind {own} /dev/null\n{script}\nll_netserver"]
    done = subprocess.run(
        argv, env={**os.environ, "PATH": path, "WORLDDIR": str(tmp_path / "root"), "LL_WORK": "/none"},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert bool(done.returncode) == bool(says) and says in done.stderr, done
