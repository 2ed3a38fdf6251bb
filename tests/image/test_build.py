"""The build's front: options, inputs and stages are checked before anything is started."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PROGRAM = TOP / "image/build-image.sh"


def build(*args: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run(["sh", PROGRAM, *map(str, args)], capture_output=True, text=True, env=env, timeout=50)


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    folder = tmp_path / "sets"
    folder.mkdir()
    lines = []
    for name in ("base.txz", "kernel.txz", "kernel-LINKLADDER.txz"):
        (folder / name).write_bytes(name.encode() * 100)
        digest = hashlib.sha256(name.encode() * 100).hexdigest()
        lines.append(f'{name}\t{digest}\t1\tx\t"words"\ton\n')
    (folder / "MANIFEST").write_text("".join(lines))
    return folder


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    folder = tmp_path / "packages"
    (folder / "All").mkdir(parents=True)
    (folder / "Latest").mkdir()
    (folder / "Latest/pkg.pkg").write_text("x")
    (folder / "packagesite.pkg").write_text("x")
    for origin in (TOP / "ports/pkglist").read_text().split():
        name = origin.split("/")[1].split("@")[0]
        name = name.replace("py-", "py312-", 1) if name.startswith("py-") else name
        (folder / "All" / f"{name}-1.0.pkg").write_text("x")
    return folder


def test_good_inputs_pass(sets: Path, packages: Path) -> None:
    done = build("image", "--check", "--sets", sets, "--packages", packages)
    assert done.returncode == 0, done.stderr
    assert "inputs: good" in done.stderr


def test_every_fault_is_named_at_once(sets: Path, packages: Path) -> None:
    (sets / "base.txz").write_bytes(b"damaged")
    (sets / "kernel.txz").unlink()
    (packages / "All/netperf-1.0.pkg").unlink()
    (packages / "Latest/pkg.pkg").unlink()
    done = build("image", "--check", "--sets", sets, "--packages", packages, "--builder", "/nowhere/b.qcow2")
    assert done.returncode == 3
    for words in (
        "base.txz is damaged",
        "kernel.txz is missing",
        "no package of benchmarks/netperf",
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


def stage(tmp_path: Path, body: str, again: bool = False) -> subprocess.CompletedProcess[str]:
    """run_stage by itself, around a stage that we make."""
    script = f"""
set -eu
work='{tmp_path}' top='{TOP}' here='{TOP}/image'
. "$here/lib.sh"
fingerprint() {{ echo "${{FINGER-same}}"; }}
stage_try() {{ {body}; }}
run_stage try stage_try
"""
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=50)


def test_a_stage_runs_once_and_again_when_its_inputs_change(tmp_path: Path) -> None:
    body = f"echo ran >>'{tmp_path}/trace'"
    assert "good" in stage(tmp_path, body).stderr
    assert "done before" in stage(tmp_path, body).stderr
    assert (tmp_path / "trace").read_text() == "ran\n"
    os.environ["FINGER"] = "other"
    try:
        assert "good" in stage(tmp_path, body).stderr
    finally:
        del os.environ["FINGER"]
    assert (tmp_path / "trace").read_text() == "ran\nran\n"
    assert [line.split("\t")[2] for line in (tmp_path / "stages").read_text().splitlines()] == [
        "run",
        "done before",
        "run",
    ]


def test_a_failing_stage_shows_its_log_and_is_not_taken_for_done(tmp_path: Path) -> None:
    done = stage(tmp_path, "echo the real reason; false; echo never")
    assert done.returncode == 1
    assert "FAILED after" in done.stderr and "the real reason" in done.stderr and "log/try.log" in done.stderr
    assert "never" not in done.stderr
    assert not (tmp_path / "done/try").exists()
