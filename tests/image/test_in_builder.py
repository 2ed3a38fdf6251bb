"""On Linux: the same stages in a virtual machine, which here is a folder and an ssh that runs commands in it."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from freebsd import TOP, FreeBSD, packed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="FreeBSD needs no builder")

SSH = """
while [ "$1" != root@127.0.0.1 ]; do shift; done
shift
echo "$*" >>'{room}/said'
command=$(printf '%s\\n' "$*" | sed -E "s#(^|[ '=>])/(build|root|firstboot|var/cache)#\\\\1{room}/\\\\2#g")
PATH='{programs}':$PATH exec /bin/sh -c "$command"
"""
QEMU = """
case $* in *-nodefaults*) exit 1 ;; esac
echo $$ >'{room}/pid'
exec /bin/sleep 100
"""


class Machine:
    """The builder: what lies in it, what was said to it, and whether it runs."""

    def __init__(self, folder: Path, freebsd: FreeBSD) -> None:
        self.freebsd = freebsd
        self.room = folder / "machine"
        self.room.mkdir()
        self.outside = folder / "outside"
        self.outside.mkdir()
        words = {"room": self.room, "programs": freebsd.programs}
        self.qemu = QEMU.format(**words)
        for name, text in (("ssh", SSH), ("qemu-system-x86_64", QEMU), ("sleep", "exec /bin/sleep 0.1\n")):
            self.program(self.outside / name, text.format(**words))
        self.program(freebsd.programs / "shutdown", f"kill $(cat '{self.room}/pid')\n")

    def program(self, path: Path, text: str) -> None:
        path.write_text(f"#!/bin/sh\n{text}")
        path.chmod(0o755)

    def build(self, *args: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, **settings, "PATH": f"{self.outside}:{os.environ['PATH']}"}
        words = ["sh", TOP / "image/build-image.sh", *args, "--work", self.freebsd.work]
        return subprocess.run(list(map(str, words)), capture_output=True, text=True, env=env, timeout=100)

    def said(self) -> list[str]:
        return (self.room / "said").read_text().splitlines()

    def runs(self) -> bool:
        pid = (self.room / "pid").read_text().strip()
        try:
            return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
        except OSError:  # it has ended, perhaps just now
            return False


@pytest.fixture
def machine(tmp_path: Path, freebsd: FreeBSD) -> Iterator[Machine]:
    made = Machine(tmp_path, freebsd)
    yield made
    if (made.room / "pid").exists() and made.runs():
        os.kill(int((made.room / "pid").read_text()), signal.SIGKILL)


@pytest.fixture
def builder(tmp_path: Path) -> Path:
    (tmp_path / "builder.img").write_bytes(bytes(1 << 16))
    return tmp_path / "builder.img"


STAGES = [word for name in ("jail", "kernel", "ports", "bulk", "image") for word in ("--stage", name)]


def test_a_build_in_the_builder_leaves_its_disks_logs_and_record_here(
    machine: Machine, builder: Path, sets: Path, packages: Path
) -> None:
    given = ["--sets", sets, "--packages", packages, "--builder", builder]
    done = machine.build("image", *STAGES, *given)
    assert done.returncode == 0, done.stderr
    work = machine.freebsd.work
    assert {path.name for path in (work / "images").iterdir()} == {"linkladder.img", "linkladder.iso"}
    assert {path.name for path in (work / "done").iterdir()} == {"jail", "kernel", "ports", "bulk", "image"}
    assert "poudriere\t3.4.4" in (work / "tools").read_text()
    assert (work / "packagesite").read_bytes() == (packages / "packagesite.pkg").read_bytes()
    assert not machine.runs()
    # All is as it was: nothing is started for that, and what was marked there is understood here.
    again = machine.build("image", *STAGES, *given)
    assert again.returncode == 0 and "its stages were done before" in again.stderr, again.stderr


def test_the_builders_first_boot_is_waited_for_and_does_not_start_it_anew(
    machine: Machine, builder: Path, sets: Path, packages: Path
) -> None:
    (machine.room / "firstboot").touch()
    text = (machine.outside / "ssh").read_text()
    ended = f"[ \"$(grep -c firstboot '{machine.room}/said')\" -lt 3 ] || rm -f '{machine.room}/firstboot'\ncommand="
    (machine.outside / "ssh").write_text(text.replace("command=", ended))
    done = machine.build("image", "--stage", "jail", "--sets", sets, "--packages", packages, "--builder", builder)
    assert done.returncode == 0, done.stderr
    assert machine.said()[:3] == ["test ! -e /firstboot"] * 3
    assert "firstboot" not in machine.said()[3]
    seed = (machine.freebsd.work / "builder/seed/user-data").read_text()
    assert subprocess.run(["sh", "-n"], input=seed, text=True).returncode == 0
    # rc has read rc.conf when this runs, but not yet the file of a service that comes later.
    assert 'firstboot_pkg_upgrade_enable="NO"\' >/etc/rc.conf.d/firstboot_pkg_upgrade\n' in seed
    assert "rm -f /firstboot-reboot\n" in seed


def test_a_failing_build_says_why_even_when_nothing_can_be_carried_out(
    machine: Machine, builder: Path, sets: Path, packages: Path
) -> None:
    machine.program(machine.freebsd.programs / "sh", "echo the real reason >&2\nexit 7\n")
    done = machine.build("image", *STAGES, "--sets", sets, "--packages", packages, "--builder", builder)
    assert done.returncode == 3
    assert "the real reason" in done.stderr and "the build in the builder ended with 7" in done.stderr


def test_an_interrupted_build_ends_the_builder(machine: Machine, builder: Path, sets: Path, packages: Path) -> None:
    machine.program(machine.freebsd.programs / "sh", "exec /bin/sleep 60\n")
    slowly = "trap '/bin/sleep 0.5; exit' TERM\nwhile :; do /bin/sleep 0.1; done"  # it takes a moment to end
    machine.program(machine.outside / "qemu-system-x86_64", machine.qemu.replace("exec /bin/sleep 100", slowly))
    words = ["--work", machine.freebsd.work, "--sets", sets, "--packages", packages, "--builder", builder]
    process = subprocess.Popen(
        ["sh", TOP / "image/build-image.sh", "image", *map(str, words)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PATH": f"{machine.outside}:{os.environ['PATH']}"},
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "carrying the tree" in line:
                break
        deadline = time.monotonic() + 20
        while not any("--inside" in line for line in machine.said()):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 130
    finally:
        process.kill()
    assert not machine.runs()


def carried(tmp_path: Path, call: str, through: str) -> subprocess.CompletedProcess[str]:
    """What one of the real functions does over a connection that `through` cuts short, or does not."""
    there = tmp_path / "build"
    there.mkdir(exist_ok=True)
    script = f"""set -eu
        work={tmp_path}/work
        . image/lib.sh
        . image/builder.sh
        builder_run() {{ {through} | sh -c "$(echo "$1" | sed 's,/build/,{there}/,g')"; }}
        options=$({call}; echo carried)
        echo "$options" """
    return subprocess.run(["sh", "-c", script], cwd=TOP, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def test_half_a_file_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    there = tmp_path / "build"
    file = tmp_path / "source.tar.gz"
    file.write_bytes(bytes(range(256)) * 16)
    done = carried(tmp_path, f"carry_file {file}", "head -c 1000")
    assert done.returncode != 0 and f"{file} did not come whole into the builder" in done.stderr, done
    assert not (there / "source.tar.gz").exists() and not (there / "source.tar.gz.mark").exists()
    assert carried(tmp_path, f"carry_file {file}", "cat").stdout == "carried\n"
    assert (there / "source.tar.gz").read_bytes() == file.read_bytes()
    # What is there is not carried again; what was there and is being replaced is not there meanwhile.
    assert carried(tmp_path, f"carry_file {file}", "head -c 1000").stdout == "carried\n"
    file.write_bytes(b"another" * 1000)
    assert carried(tmp_path, f"carry_file {file}", "head -c 1000").returncode != 0
    assert not (there / "source.tar.gz.mark").exists()


def test_half_a_folder_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    """Cut between two files tar sees nothing wrong: an archive may end there."""
    there, folder = tmp_path / "build", tmp_path / "given"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / name).write_text(name)
    call = f"carry_in {folder} /build/ports"
    done = carried(tmp_path, call, f"head -c {3 * 512}")  # the folder itself, a file's name, its one block
    assert done.returncode != 0 and f"{folder} did not come whole into the builder" in done.stderr, done
    assert not (there / "ports.mark").exists()
    assert carried(tmp_path, call, "cat").stdout == "carried\n"
    assert {path.name: path.read_text() for path in (there / "ports").iterdir()} == {"one": "one", "two": "two"}
    assert carried(tmp_path, call, "head -c 100").stdout == "carried\n", "what is there is not carried again"


@pytest.mark.parametrize("released", [True, False], ids=["released", "patched"])
def test_a_fetched_builder_lets_in_whoever_builds_with_it(
    machine: Machine, builder: Path, sets: Path, packages: Path, tmp_path: Path, released: bool
) -> None:
    (sets / "kernel-LINKLADDER.txz").rename(sets / "src.txz")
    manifest = (sets / "MANIFEST").read_text().replace("kernel-LINKLADDER", "src")
    (sets / "MANIFEST").write_text(manifest)
    packed(tmp_path / "ports.tar.xz", {"ports/textproc/Makefile": b""})
    # The framework refuses an empty FLAVOR, and asks for the options that the packages will be built with.
    refused = "case \" $* \" in *' FLAVOR= '*) echo 'FLAVOR may not be passed empty' >&2; exit 1 ;; esac\n"
    asked = f"{refused}echo \"$*\" >>'{machine.room}/made'\n"
    file = f"echo x >'{machine.room}/build/fetch/distfiles/one.tar.gz'\n"
    machine.program(machine.freebsd.programs / "make", asked + file)
    (machine.room / "root/.ssh").mkdir(parents=True)
    (machine.room / "var/cache/nuageinit").mkdir(parents=True)
    settings = {
        "LL_SETS_URL": f"file://{sets}",
        "LL_PORTS_URL": f"file://{tmp_path}/ports.tar.xz",
        "LL_MANIFEST_SHA256": hashlib.sha256(manifest.encode()).hexdigest(),
        "LL_SOURCE_URL": f"file://{tmp_path}/source.tar.xz",
    }
    packed(tmp_path / "source.tar.xz", {"source/sys/conf/newvers.sh": b""})
    folder = tmp_path / "offline"
    how = ["--as-released"] if released else []
    done = machine.build("fetch", folder, "--unpinned", *how, "--builder", builder, **settings)
    assert done.returncode == 0, done.stderr
    assert (machine.room / "firstboot").exists()
    assert not list((machine.room / "root").iterdir()) and not list((machine.room / "var/cache").iterdir())
    made = [line.split() for line in (machine.room / "made").read_text().splitlines()]
    ports = (TOP / "ports/pkglist").read_text().split()
    assert len(made) == len(ports)
    for words, port in zip(made, ports, strict=True):
        origin, _, flavor = port.partition("@")
        assert words[1].endswith(origin) or origin == "net-mgmt/linkladder"
        assert [word for word in words if word.startswith("FLAVOR")] == ([f"FLAVOR={flavor}"] if flavor else [])
        assert any(word.startswith("__MAKE_CONF=") and word.endswith("/ports/make.conf") for word in words)
    listed = {line.split()[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    assert {"builder.qcow2", "ports.tar.gz", "distfiles/one.tar.gz"} <= listed
    assert ("sets/MANIFEST" in listed) is released and ("source.tar.gz" in listed) is not released
    # And a build from it looks no further than the folder.
    check = machine.build("image", "--check", "--unpinned", "--offline", folder)
    assert check.returncode == 0 and "inputs: good" in check.stderr, check.stderr
    assert "stays unpinned: commit unknown, files " in done.stderr and "unpinned, as it was on the day" in check.stderr
    pin = re.findall(r"the ports tree stays unpinned: .* files ([0-9a-f]{64})", done.stderr)[0]
    pinned = machine.build("image", "--check", "--offline", folder, LL_PORTS_SHA256=pin)
    assert pinned.returncode == 0, pinned.stderr
    other = machine.build("image", "--check", "--offline", folder, LL_PORTS_SHA256=pin[::-1])
    assert other.returncode == 3 and "not the pinned ports tree" in other.stderr


def test_a_folder_that_lacks_a_distfile_is_not_complete(machine: Machine, builder: Path, tmp_path: Path) -> None:
    """Wherever in the list it fails: what can be fetched is, all that cannot is named, and only then it ends."""
    packed(tmp_path / "ports.tar.xz", {"ports/textproc/Makefile": b""})
    packed(tmp_path / "source.tar.xz", {"source/sys/conf/newvers.sh": b""})
    settings = {f"LL_{tree.upper()}_URL": f"file://{tmp_path}/{tree}.tar.xz" for tree in ("ports", "source")}
    fails = "case $2 in */benchmarks/iperf | */sysutils/py-psutil) echo 'timed out' >&2; exit 1 ;; esac\n"
    came = f'echo x >\'{machine.room}/build/fetch/distfiles/\'"$(basename "$2")"\n'
    machine.program(machine.freebsd.programs / "make", fails + came)
    folder = tmp_path / "offline"
    done = machine.build("fetch", folder, "--unpinned", "--builder", builder, **settings)
    assert done.returncode == 3 and "is complete" not in done.stderr, done.stderr
    assert "could not all be fetched, what each said stands above: benchmarks/iperf sysutils/py-psutil." in done.stderr
    assert not (folder / "SHA256SUMS").exists() and not machine.runs()
    ports = {Path(port.partition("@")[0]).name for port in (TOP / "ports/pkglist").read_text().split()}
    there = {path.name for path in (machine.room / "build/fetch/distfiles").iterdir()}
    assert there == ports - {"iperf", "py-psutil", "linkladder"} | {"py-hatchling"}
    # Tried again with a network that is there
    machine.program(machine.freebsd.programs / "make", came)
    again = machine.build("fetch", folder, "--unpinned", "--builder", builder, **settings)
    assert again.returncode == 0 and f"{folder} is complete" in again.stderr, again.stderr
