"""The stages as they run on FreeBSD, with its programs written down instead of run."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import shutil
from pathlib import Path

import pytest

from freebsd import TOP, FreeBSD, packed
from test_packed_tree import COMMIT, told
from test_packed_tree import packed as tree


@pytest.fixture
def source(sets: Path) -> Path:
    """Sets with the release's source in place of a kernel."""
    (sets / "kernel-LINKLADDER.txz").rename(sets / "src.txz")
    text = (sets / "MANIFEST").read_text()
    (sets / "MANIFEST").write_text(text.replace("kernel-LINKLADDER.txz", "src.txz"))
    return sets


@pytest.fixture
def ports(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


def test_a_stage_alone_says_which_comes_first_and_touches_nothing(
    freebsd: FreeBSD, source: Path, ports: Path, packages: Path
) -> None:
    given = ["--sets", source, "--ports", ports]

    def refused(stage: str, lacking: str, first: str) -> None:
        done = freebsd.build("--stage", stage, *given)
        words = f"there is no {lacking} yet: the stage {first} comes before this one (./build.sh image --stage {first})"
        assert done.returncode == 1 and words in done.stderr, done.stderr

    for stage in ("kernel", "bulk", "image"):
        refused(stage, "jail", "jail")
    refused("pack", "disk", "image")
    (freebsd.jail / "usr").mkdir(parents=True)
    refused("bulk", "ports tree", "ports")
    refused("image", "kernel", "kernel")
    (freebsd.work / "kernel/boot/kernel").mkdir(parents=True)
    (freebsd.work / "kernel/boot/kernel/kernel").write_text("x")
    refused("image", "package repository", "bulk")
    assert not [line for line in freebsd.called() if not line.startswith("poudriere") or " -i " not in line]


def test_a_kernel_needs_the_jails_source(freebsd: FreeBSD, source: Path) -> None:
    (freebsd.jail / "usr").mkdir(parents=True)
    done = freebsd.build("--stage", "kernel", "--sets", source)
    assert done.returncode == 1 and "src.txz was not among its sets" in done.stderr
    assert not [line for line in freebsd.called() if "mount" in line.split()[0]]


@pytest.mark.parametrize("fails", [False, True], ids=["good", "failing"])
def test_a_kernel_is_built_in_the_jail_whose_devices_go_again(freebsd: FreeBSD, source: Path, fails: bool) -> None:
    configuration = freebsd.jail / "usr/src/sys/amd64/conf"
    stale = freebsd.jail / "tmp/linkladder-kernel/boot/kernel/stale.ko"
    for folder in (configuration, stale.parent):
        folder.mkdir(parents=True)
    stale.write_text("of a run before")
    if fails:
        (freebsd.jail / "fails").touch()
    done = freebsd.build("--stage", "kernel", "--sets", source)
    assert (done.returncode == 0) is not fails, done.stderr
    assert (configuration / "LINKLADDER").read_text() == (TOP / "image/LINKLADDER").read_text()
    devices = [line for line in freebsd.called() if "mount" in line.split()[0]]
    assert devices == [f"mount -t devfs devfs {freebsd.jail}/dev", f"umount {freebsd.jail}/dev"]
    if not fails:
        assert [file.name for file in (freebsd.work / "kernel/boot/kernel").iterdir()] == ["kernel"]


def of_someone(folder: Path, umask: int) -> Path:
    """This tree as a person with another umask, who is not root, would have checked it out."""
    for name in ("image", "overlay", "ports", "tui/src"):
        shutil.copytree(TOP / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "poudriere.conf", "tui/pyproject.toml"):
        shutil.copy(TOP / name, folder / name)
    for path in [folder, *folder.rglob("*")]:
        wide = 0o777 if path.is_dir() or path.stat().st_mode & 0o100 else 0o666
        path.chmod(wide & ~umask)
        if os.geteuid() == 0:
            os.chown(path, 1000, 1000)
    return folder


@pytest.mark.parametrize("umask", [0o002, 0o077], ids=oct)
def test_what_is_built_has_not_the_modes_of_the_checkout(
    freebsd: FreeBSD, sets: Path, packages: Path, tmp_path: Path, umask: int
) -> None:
    top = of_someone(tmp_path / "checkout", umask)
    stages = [word for name in ("jail", "kernel", "ports", "bulk", "image") for word in ("--stage", name)]
    done = freebsd.build(*stages, "--sets", sets, "--packages", packages, top=top)
    assert done.returncode == 0, done.stderr
    seen = [line.split(" ", 3) for line in (freebsd.work / "overlay.seen").read_text().splitlines()]
    # What the build adds: whose upgrades the system takes.
    added = [words for words in seen if words[3] == "usr/local/etc/linkladder/upgrade_signers"]
    assert [words[0] for words in added] == ["644"]
    seen.remove(added[0])
    seen.remove(["644", *added[0][1:3], "usr/local/share/linkladder/origins"])  # and what it was built of
    signers = (freebsd.work / "upgrade_signers").read_text()
    assert re.fullmatch(
        r'linkladder namespaces="linkladder-upgrade,linkladder-sums" ssh-ed25519 \S+ development\n', signers
    )
    assert (freebsd.work / "upgrade-key").stat().st_mode & 0o077 == 0
    assert {path for *_, path in seen} == {
        "" if path == TOP / "overlay" else str(path.relative_to(TOP / "overlay"))
        for path in [TOP / "overlay", *(TOP / "overlay").rglob("*")]
    }
    for mode, owner, group, path in seen:
        mine = TOP / "overlay" / path
        runs = mine.is_dir() or mine.stat().st_mode & 0o100
        assert mode == ("755" if runs else "644"), path
        assert os.geteuid() != 0 or (owner, group) == ("0", "0"), path
    root = freebsd.work / "own-package/root"
    assert {oct(path.stat().st_mode & 0o777) for path in root.rglob("*")} == {"0o755", "0o644"}
    assert (freebsd.work / "tools").read_text() == "system\tFreeBSD 15.1-RELEASE-p1\npoudriere\t3.4.4\n"
    assert (freebsd.work / "packagesite").read_bytes() == (packages / "packagesite.pkg").read_bytes()
    created = next(line for line in freebsd.called() if "jail -c" in line)
    assert created.endswith(f"-m url=file://{sets}")


def test_what_is_not_given_is_downloaded_once_checked_and_recorded(
    freebsd: FreeBSD, source: Path, tmp_path: Path
) -> None:
    packed(tmp_path / "branch.tar.xz", {"freebsd-ports/net/Makefile": b"all:"})
    published = hashlib.sha256((source / "MANIFEST").read_bytes()).hexdigest()
    online = {"LL_SETS_URL": f"file://{source}", "LL_PORTS_URL": f"file://{tmp_path}/branch.tar.xz"}
    stages = ["--as-released", *(word for name in ("jail", "ports", "bulk") for word in ("--stage", name))]
    done = freebsd.build("--unpinned", *stages, **online)
    assert done.returncode == 3 and "MANIFEST is not the one published" in done.stderr
    assert not [line for line in freebsd.called() if "-c" in line.split()]
    done = freebsd.build("--unpinned", *stages, **online, LL_MANIFEST_SHA256=published, LL_PORTS_COMMIT=40 * "a")
    assert done.returncode == 3 and "its commit is not told, not aaaa" in done.stderr
    (freebsd.work / f"ports-{40 * 'a'}.tar.gz").unlink()
    done = freebsd.build("--unpinned", *stages, **online, LL_MANIFEST_SHA256=published)
    assert done.returncode == 0, done.stderr
    here = freebsd.work / "sets-15.1-RELEASE-amd64"
    assert {path.name for path in here.iterdir()} == {"MANIFEST", "base.txz", "kernel.txz", "src.txz"}
    created = [line.split(" -c ")[1] for line in freebsd.called() if " -c " in line]
    assert created == [
        f"-j linkladder -v 15.1-RELEASE -a amd64 -m url=file://{here}",
        f"-p linkladder -m null -M {freebsd.work}/ports",
        f"-p linkladder_overlay -m null -M {freebsd.work}/overlay-ports",
    ]
    assert (freebsd.work / "ports/net/Makefile").is_file()
    # Each input is in the record, by its digest.
    (freebsd.work / "images").mkdir()
    (freebsd.work / "images/linkladder.img").write_bytes(bytes(1 << 20))
    (freebsd.programs / "python3").write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >'{tmp_path}/packed'\n")
    (freebsd.programs / "python3").chmod(0o755)
    assert (
        freebsd.build(
            "--unpinned", "--as-released", "--stage", "pack", **online, LL_MANIFEST_SHA256=published
        ).returncode
        == 0
    )
    given = (tmp_path / "packed").read_text().splitlines()
    options = itertools.pairwise(given)
    inputs = dict(value.split("=", 1) for option, value in options if option == "--input")
    assert set(inputs) == {
        *(f"sets/{name}" for name in ("MANIFEST", "base.txz", "kernel.txz", "src.txz")),
        "bulk/packagesite",
        "ports",
    }
    assert all(Path(place).is_file() for place in inputs.values())
    # The branch as it is now, when it is asked for again; and linkladder as it is in this tree now.
    # And netperf, which poudriere would keep although the patch that it is built with has become another.
    folder = freebsd.work / "poudriere/data/packages/linkladder-linkladder/All"
    folder.mkdir()
    for name in ("linkladder-0.1.0", "netperf-2.7.1.p20210121_2", "iperf-2.2.1"):
        (folder / f"{name}.pkg").write_text("of another tree")
    packed(tmp_path / "branch.tar.xz", {"freebsd-ports/net/Makefile": b"later:"})
    assert (
        freebsd.build("--unpinned", *stages, "--again", "ports", **online, LL_MANIFEST_SHA256=published).returncode == 0
    )
    assert (freebsd.work / "ports/net/Makefile").read_text() == "later:"
    assert [path.name for path in folder.iterdir()] == ["iperf-2.2.1.pkg"]
    version = re.findall(r'__version__ = "(.*)"', (TOP / "tui/src/linkladder/__init__.py").read_text())[0]
    port = freebsd.work / "overlay-ports/net-mgmt/linkladder"
    assert (port / "Makefile.local").read_text() == f"LINKLADDER_VERSION=\t{version}\n"
    assert "DISTVERSION=\t${LINKLADDER_VERSION" in (port / "Makefile").read_text()


NEWVERS = {"sys/conf/newvers.sh": b'REVISION="15.1"\nBRANCH="RELEASE-p3"\n'}


def test_the_system_is_built_of_the_releases_source_with_its_patches(
    freebsd: FreeBSD, packages: Path, tmp_path: Path
) -> None:
    """Unless sets are given: of one commit, which is recorded and told by the image, as its digest is."""
    source = tree(tmp_path / "source.tar.gz", NEWVERS, top="freebsd-src")
    (freebsd.programs / "python3").symlink_to(shutil.which("python3") or "")
    online = {"LL_SOURCE_URL": f"file://{source}"}
    given = ["--unpinned", "--stage", "jail", "--packages", packages]
    done = freebsd.build(*given, **online)
    assert done.returncode == 0, done.stderr
    (created,) = [line for line in freebsd.called() if " -c " in line]
    assert created.endswith(f"-v 15.1-RELEASE -a amd64 -b -K GENERIC -m src={freebsd.work}/src")
    assert not (freebsd.work / "src").exists() and not (freebsd.work / "obj").exists()
    seen = (freebsd.work / "built.seen").read_text().splitlines()
    assert seen[0] == f"obj {freebsd.work}/obj" and 'BRANCH="RELEASE-p3"' in seen
    options = (freebsd.work / "etc/poudriere.d/linkladder-src.conf").read_text()
    assert options == (TOP / "image/src.conf").read_text()
    digest = told(source).stdout.split()[1]
    origins = (freebsd.work / "origins").read_text().splitlines()
    assert origins == ["ports given as packages", f"system unpinned {COMMIT} {digest}"]
    assert f"the source of FreeBSD stays unpinned: commit {COMMIT}, files {digest}" in done.stderr
    assert "jail: done before" in freebsd.build(*given, **online).stderr
    # Another source is another jail, and what is no source is none.
    tree(source, {**NEWVERS, "more": b"x"}, top="freebsd-src")
    (freebsd.work / "source-releng-15.1.tar.gz").unlink()
    assert "jail: good" in freebsd.build(*given, **online).stderr
    tree(source, {"README": b"x"}, top="freebsd-src")
    (freebsd.work / "source-releng-15.1.tar.gz").unlink()
    done = freebsd.build(*given, **online)
    assert done.returncode == 1 and "is no source of FreeBSD" in done.stderr
    # A source that is given in its place, and sets, are told as what they are.
    given = ["--check", "--packages", packages]
    assert (
        "source: source.tar.gz was given, it is not the pinned source of FreeBSD"
        in freebsd.build(*given, "--source", source).stderr
    )
    assert freebsd.build(*given, "--source", tmp_path / "none").returncode == 3


def test_a_released_system_says_that_it_has_no_patches(freebsd: FreeBSD, sets: Path, packages: Path) -> None:
    published = hashlib.sha256((sets / "MANIFEST").read_bytes()).hexdigest()
    given = ["--stage", "jail", "--sets", sets, "--packages", packages]
    done = freebsd.build(*given, LL_MANIFEST_SHA256=published)
    assert done.returncode == 0 and "as it was released, without the security patches since" in done.stderr
    assert (freebsd.work / "origins").read_text().splitlines()[1] == "system released 15.1-RELEASE"


def test_what_this_machine_lacks_is_said_before_any_work(freebsd: FreeBSD, sets: Path, tmp_path: Path) -> None:
    """A FreeBSD without poudriere, without root, and a release that nobody vouches for."""
    for name in ("id", "poudriere"):
        (freebsd.programs / name).unlink()
    (freebsd.programs / "id").write_text("#!/bin/sh\necho 1001\n")
    (freebsd.programs / "id").chmod(0o755)
    for args in (["image", "--check"], ["fetch", tmp_path / "offline"]):
        done = freebsd.run(*args, "--as-released", LL_RELEASE="14.5-RELEASE")
        assert done.returncode == 3
        for words in ("poudriere is not installed", "run this as root", "set LL_MANIFEST_SHA256"):
            assert words in done.stderr
    assert not (tmp_path / "offline").exists()
    # Packing wants neither.
    assert "as root" not in freebsd.run("image", "--check", "--stage", "pack").stderr


def test_nobody_who_builds_reads_the_overlay_and_the_source(freebsd: FreeBSD, sets: Path, tmp_path: Path) -> None:
    """poudriere's jobs run as nobody, whoever checked the tree out and whatever root's shell takes away."""
    top = of_someone(tmp_path / "checkout", 0o077)
    packed(tmp_path / "ports.tar.xz", {"freebsd-ports/net/Makefile": b"all:"})
    before = os.umask(0o077)
    try:
        stages = [word for name in ("jail", "ports", "bulk") for word in ("--stage", name)]
        done = freebsd.build(*stages, "--sets", sets, "--ports", tmp_path / "ports.tar.xz", top=top)
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    assert (freebsd.work / "ports").stat().st_mode & 0o777 == 0o755
    made = list((freebsd.work / "overlay-ports").rglob("*"))
    assert {"source.tar", "Makefile.local"} <= {path.name for path in made}
    assert {oct(path.stat().st_mode & 0o777) for path in made} == {"0o755", "0o644"}


def test_why_a_port_failed_is_told_and_kept_with_the_stages_logs(freebsd: FreeBSD, sets: Path, ports: Path) -> None:
    given = ["--sets", sets, "--ports", ports]
    assert freebsd.build("--stage", "jail", "--stage", "ports", *given).returncode == 0
    (freebsd.jail / "fails").touch()
    done = freebsd.build("--stage", "bulk", *given)
    assert done.returncode == 1 and "no wheel was built" in done.stderr, done.stderr
    assert (freebsd.work / "log/ports/linkladder-0.1.0.log").read_text() == "no wheel was built\n"
    # And nothing of it is left when the ports are good.
    (freebsd.jail / "fails").unlink()
    assert freebsd.build("--stage", "bulk", *given).returncode == 0
    assert not (freebsd.work / "log/ports").exists()


def test_no_package_of_another_tree_is_kept_under_the_same_version(freebsd: FreeBSD, sets: Path, ports: Path) -> None:
    given = ["--sets", sets, "--ports", ports]
    assert freebsd.build("--stage", "jail", "--stage", "ports", *given).returncode == 0
    kept = freebsd.work / "poudriere/data/packages/linkladder-linkladder"
    # What a run that failed had built lies in .building, and the next run goes on from there.
    for folder in (kept / "All", kept / ".building/All"):
        folder.mkdir(parents=True)
        for name in ("linkladder-0.1.0", "netperf-2.7.1.p20210121_2", "iperf3-3.19.1"):
            (folder / f"{name}.pkg").touch()
    assert freebsd.build("--stage", "bulk", *given).returncode == 0
    assert [str(path.relative_to(kept)) for path in sorted(kept.rglob("*.pkg")) if path.name != "packagesite.pkg"] == [
        ".building/All/iperf3-3.19.1.pkg",
        "All/iperf3-3.19.1.pkg",
    ]
