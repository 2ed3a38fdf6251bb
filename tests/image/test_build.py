"""The build's front: options, inputs and stages are checked before anything is started."""

from __future__ import annotations

import functools
import hashlib
import http.server
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from freebsd import packed

TOP = Path(__file__).resolve().parents[2]
PROGRAM = TOP / "image/build-image.sh"


@pytest.fixture(autouse=True)
def emulator(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Checks ask whether there is one, and start none: a machine that only tests need not have it."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "qemu-system-x86_64").write_text("#!/bin/sh\nexit 1\n")
    (folder / "qemu-system-x86_64").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def build(*args: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run(["sh", PROGRAM, *map(str, args)], capture_output=True, text=True, env=env, timeout=50)


def test_good_inputs_pass(sets: Path, packages: Path) -> None:
    done = build("image", "--check", "--sets", sets, "--packages", packages)
    assert done.returncode == 0, done.stderr
    assert "inputs: good" in done.stderr


def test_a_program_that_is_missing_is_named(sets: Path, packages: Path, tmp_path: Path) -> None:
    for folder in map(Path, ("/usr/bin", "/bin", "/usr/sbin", "/sbin")):
        for program in folder.iterdir():
            if program.name != "qemu-system-x86_64" and not (tmp_path / program.name).is_symlink():
                (tmp_path / program.name).symlink_to(program)
    done = build("image", "--check", "--sets", sets, "--packages", packages, PATH=str(tmp_path))
    assert done.returncode == 3
    assert "qemu-system-x86_64 is not installed (package qemu-system-x86)" in done.stderr


def test_every_fault_is_named_at_once(sets: Path, packages: Path) -> None:
    (sets / "base.txz").write_bytes(b"damaged")
    (sets / "kernel.txz").unlink()
    (packages / "All/netperf-1.0.pkg").unlink()
    (packages / "All/iperf-1.0.pkg").write_text("damaged")
    (packages / "All/py312-rich-1.0.pkg").unlink()
    (packages / "Latest/pkg.pkg").unlink()
    done = build("image", "--check", "--sets", sets, "--packages", packages, "--builder", "/nowhere/b.qcow2")
    assert done.returncode == 3
    for words in (
        "base.txz is damaged",
        "kernel.txz is missing",
        "All/netperf-1.0.pkg is missing",
        "All/iperf-1.0.pkg is damaged",
        "All/py312-rich-1.0.pkg is missing",
        "Latest/pkg.pkg is missing",
    ):
        assert words in done.stderr
    assert "/nowhere/b.qcow2" in done.stderr and "nothing was started" in done.stderr


def test_sets_without_any_way_to_the_kernel_are_refused(sets: Path) -> None:
    (sets / "kernel-LINKLADDER.txz").unlink()
    done = build("image", "--check", "--sets", sets)
    assert done.returncode == 3 and "the kernel cannot be built" in done.stderr


def test_a_set_that_manifest_does_not_name_is_refused(sets: Path) -> None:
    text = (sets / "MANIFEST").read_text().splitlines(keepends=True)
    (sets / "MANIFEST").write_text("".join(text[1:]))
    done = build("image", "--check", "--sets", sets)
    assert done.returncode == 3 and "does not name base.txz" in done.stderr


def test_every_set_that_is_unpacked_is_vouched_for(sets: Path) -> None:
    text = (sets / "MANIFEST").read_text().splitlines(keepends=True)
    (sets / "MANIFEST").write_text("".join([*text[:2], text[2].replace("kernel-LINKLADDER", "src")]))
    done = build("image", "--check", "--sets", sets)
    assert done.returncode == 3 and "does not name kernel-LINKLADDER.txz" in done.stderr
    assert "src.txz is missing: MANIFEST names it" in done.stderr


def test_a_package_that_another_needs_and_a_list_that_cannot_be_read_are_faults(
    sets: Path, packages: Path, tmp_path: Path
) -> None:
    words = ["image", "--check", "--sets", sets, "--packages", packages, "--work", tmp_path / "work"]
    text = subprocess.check_output(["tar", "-xOf", packages / "packagesite.pkg", "packagesite.yaml"], text=True)
    lines = [line for line in text.splitlines(keepends=True) if '"name": "py312-rich"' not in line]
    packed(packages / "packagesite.pkg", {"packagesite.yaml": "".join(lines[1:]).encode()})
    done = build(*words)
    assert done.returncode == 3 and "has no package py312-rich, which py312-textual needs" in done.stderr
    packed(packages / "packagesite.pkg", {"packagesite.yaml": "".join(lines[2:]).encode()})
    assert "has no package of benchmarks/iperf" in build(*words).stderr
    (packages / "packagesite.pkg").write_text("no archive")
    assert "packagesite.pkg is damaged" in build(*words).stderr


def test_a_package_is_known_by_the_sum_that_pkg_writes(tmp_path: Path) -> None:
    """SHA-256 in hexadecimal, or BLAKE2b in libpkg's base32 [libpkg/pkg_checksum.c]."""
    sys.path.insert(0, str(TOP / "image"))
    try:
        from repository import intact
    finally:
        sys.path.remove(str(TOP / "image"))
    file = tmp_path / "one.pkg"
    file.write_bytes(b"")
    of_nothing = (
        "2$au4ro5mebesgyd5a7xbmnjj41mr91dbeb8sqwojtgwaxt59dwkgrpxbnt3m7qcpkuenjgnp1qnczrek8e5sebr7siki9gajd69gfq8d"
    )
    assert intact(file, of_nothing)
    assert intact(file, "1$" + hashlib.sha256(b"").hexdigest()) and intact(file, hashlib.sha256(b"").hexdigest())
    file.write_bytes(b"x")
    assert not intact(file, of_nothing)
    assert not intact(file, "1$" + hashlib.sha256(b"").hexdigest())


def test_offline_folder_is_checked_against_its_sums(sets: Path, tmp_path: Path) -> None:
    done = build("image", "--check", "--offline", tmp_path / "none")
    assert done.returncode == 3 and "fetch" in done.stderr
    (tmp_path / "ports.tar.gz").write_text("ports")
    (tmp_path / "builder.qcow2").write_text("builder")
    good = hashlib.sha256(b"ports").hexdigest()
    (tmp_path / "SHA256SUMS").write_text(f"{good}  ports.tar.gz\n{good}  builder.qcow2\n{good}  distfiles/gone\n")
    done = build("image", "--check", "--offline", tmp_path)
    assert done.returncode == 3
    assert "builder.qcow2 is damaged" in done.stderr and "distfiles/gone is missing" in done.stderr
    assert "ports.tar.gz is damaged" not in done.stderr
    (tmp_path / "SHA256SUMS").write_text(f"{good}  ports.tar.gz\n")
    assert "SHA256SUMS does not name builder.qcow2" in build("image", "--check", "--offline", tmp_path).stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["image", "--stage", "nonsense"], "there is no stage nonsense"),
        (["image", "--setz", "x"], "there is no option --setz"),
        (["image", "--sets"], "--sets wants a value"),
        (["image", "stray"], "what is stray?"),
        (["fetch"], "fetch wants a folder"),
        (["bake"], "there is no command bake"),
    ],
)
def test_mistakes_are_said_plainly(args: list[str], words: str) -> None:
    done = build(*args)
    assert done.returncode == 3 and words in done.stderr


def test_what_is_repeated_repeats_what_depends_on_it(tmp_path: Path, sets: Path) -> None:
    (tmp_path / "work/done").mkdir(parents=True)
    for name in ("jail", "kernel", "ports", "bulk", "image", "pack"):
        (tmp_path / "work/done" / name).write_text("x")
    done = build("image", "--check", "--work", tmp_path / "work", "--sets", sets, "--again", "bulk")
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (tmp_path / "work/done").iterdir()) == ["jail", "kernel", "ports"]


def test_what_is_not_official_is_said_before_the_build(sets: Path, packages: Path, tmp_path: Path) -> None:
    (sets / "STAND-IN").write_text("base.txz: built by hand\n")
    (tmp_path / "builder.qcow2").write_text("x")
    given = ["--sets", sets, "--packages", packages, "--builder", tmp_path / "builder.qcow2", "--stand-in", "my words"]
    said = build("image", "--check", *given).stderr
    for words in (
        "MANIFEST is not the one that was published",
        "sets: base.txz: built by hand",
        "kernel LINKLADDER: from a given set",
        "not built by poudriere bulk",
        "builder.qcow2 was given",
        "my words",
    ):
        assert words in said
    published = hashlib.sha256((sets / "MANIFEST").read_bytes()).hexdigest()
    assert "published with" not in build("image", "--check", "--sets", sets, LL_MANIFEST_SHA256=published).stderr


@pytest.mark.skipif(sys.platform != "linux", reason="FreeBSD needs no builder")
def test_a_builder_image_that_nobody_vouches_for_is_refused(sets: Path) -> None:
    assert build("image", "--check", "--sets", sets).returncode == 0  # the default release has its digest pinned
    done = build("image", "--check", "--sets", sets, LL_RELEASE="14.5-RELEASE")
    assert done.returncode == 3 and "LL_BUILDER_SHA256" in done.stderr and "nothing was started" in done.stderr


def fetched(sets: Path, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """fetch from a mirror on this disk, as far as the ports tree, which the mirror lacks."""
    mirror = {"LL_SETS_URL": f"file://{sets}", "LL_PORTS_URL": f"file://{sets}/no-ports.tar.gz"}
    return build("fetch", folder, "--as-released", **{**mirror, **settings})


def test_fetch_takes_nothing_that_was_not_published(sets: Path, tmp_path: Path) -> None:
    digest = hashlib.sha256(b"source").hexdigest()
    (sets / "src.txz").write_bytes(b"source")
    with (sets / "MANIFEST").open("a") as manifest:
        manifest.write(f'src.txz\t{digest}\t1\tsrc\t"words"\toff\n')
    base = (sets / "base.txz").read_bytes()
    folder = tmp_path / "offline"
    done = fetched(sets, folder, LL_RELEASE="14.5-RELEASE")
    assert done.returncode == 3 and "nothing was fetched" in done.stderr and not folder.exists()
    done = fetched(sets, folder)
    assert done.returncode == 3 and "MANIFEST is not the one published" in done.stderr
    published = hashlib.sha256((sets / "MANIFEST").read_bytes()).hexdigest()
    (sets / "base.txz").write_bytes(b"half a set")
    (folder / "sets/base.txz").unlink()
    done = fetched(sets, folder, LL_MANIFEST_SHA256=published)
    assert done.returncode == 3 and "base.txz is damaged" in done.stderr
    # A sound set replaces the damaged one, the others are not fetched again, and the next thing is asked for.
    (sets / "base.txz").write_bytes(base)
    (sets / "kernel.txz").unlink()
    (folder / "sets/base.txz").unlink()
    done = fetched(sets, folder, LL_MANIFEST_SHA256=published)
    assert done.returncode == 3 and "no-ports.tar.gz could not be downloaded" in done.stderr


def test_the_package_of_this_tree_has_its_programs_and_names_its_needs(packages: Path, tmp_path: Path) -> None:
    (packages / "All/py312-textual-1.0.pkg").rename(packages / "All/py312-textual-8.2.8_1,1.pkg")
    script = f"""
set -eu
work='{tmp_path}' top='{TOP}' version=9.8.7
. "$top/image/package.sh"
pkg() {{ printf '%s ' pkg "$@" >>'{tmp_path}/trace'; echo >>'{tmp_path}/trace'; }}
own_package '{packages}'
"""
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    root = tmp_path / "own-package/root"
    site = root / "usr/local/lib/python3.12/site-packages"
    assert (site / "linkladder/cli.py").is_file() and not list(site.rglob("__pycache__"))
    for program in ("linkladder", "linkladder-priv", "linkladder-measure"):
        assert os.access(root / "usr/local/bin" / program, os.X_OK)
    run = subprocess.run(
        [sys.executable, root / "usr/local/bin/linkladder", "--version"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert run.returncode == 0 and "linkladder" in run.stdout
    manifest = (tmp_path / "own-package/manifest").read_text()
    assert 'py312-textual: { origin: "textproc/py-textual", version: "8.2.8_1,1" }' in manifest
    assert 'iperf: { origin: "benchmarks/iperf", version: "1.0" }' in manifest
    assert not (packages / "All/linkladder-1.0.pkg").exists()
    listed = (tmp_path / "own-package/plist").read_text()
    assert "/usr/local/bin/linkladder-priv\n" in listed
    assert [line.split()[1] for line in (tmp_path / "trace").read_text().splitlines()] == ["create", "repo"]


def test_a_download_goes_on_or_begins_anew_and_is_whole(tmp_path: Path) -> None:
    (tmp_path / "served").write_bytes(b"the whole file")
    (tmp_path / "file.part").write_bytes(b"the whole")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))  # it knows no ranges
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{server.server_port}"

        def get(name: str) -> subprocess.CompletedProcess[str]:
            script = f". '{TOP}/image/lib.sh'; download {place}/{name} '{tmp_path}/file'"
            return subprocess.run(["sh", "-euc", script], capture_output=True, text=True, timeout=50)

        gone = get("gone")
        assert gone.returncode == 3 and "could not be downloaded" in gone.stderr and not (tmp_path / "file").exists()
        done = get("served")
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "file").read_bytes() == b"the whole file" and not (tmp_path / "file.part").exists()
