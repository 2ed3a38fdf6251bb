"""`./build.sh lab --vm`: which image it takes, and whose rights it asks for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What `lab --vm` is made of, and programs that write down what they are called with."""
    (tmp_path / "image").mkdir()
    (tmp_path / "programs").mkdir()
    for name in ("build.sh", "image/lab-vm.sh", "image/lib.sh"):
        (tmp_path / name).write_text((TOP / name).read_text())
    for name in ("qemu-system-x86_64", "qemu-img", "ip", "tmux", "socat", "sudo", "apt-get"):
        program(tmp_path, name)
    return tmp_path


def program(tree: Path, name: str, body: str = "") -> None:
    path = tree / "programs" / name
    path.write_text(f"#!/bin/sh\necho {name} \"$@\" >>'{tree}/called'\n{body}\n")
    path.chmod(0o755)


def lab(tree: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": f"{tree}/programs:{os.environ['PATH']}", "LL_VM_FIRMWARE": "bios"}
    words = ["sh", str(tree / "build.sh"), "lab", "--vm", *args]
    return subprocess.run(words, capture_output=True, text=True, env=env, timeout=50)


def called(tree: Path) -> list[str]:
    return (tree / "called").read_text().splitlines() if (tree / "called").exists() else []


def test_the_image_built_last_is_taken_whatever_its_number(tree: Path) -> None:
    program(tree, "id", "echo 0")
    assert "there is no image; ./build.sh image makes one" in lab(tree, "--no-tmux").stderr
    (tree / "out").mkdir()
    for age, name in ((100, "linkladder-0.10.0-amd64.qcow2"), (200, "linkladder-0.9.0-amd64.qcow2")):
        (tree / "out" / name).write_text("x")
        os.utime(tree / "out" / name, (1_700_000_000 - age, 1_700_000_000 - age))
    done = lab(tree, "--no-tmux")
    assert done.returncode == 0, done.stderr
    bases = {line.split(" -b ")[1].split()[0] for line in called(tree) if line.startswith("qemu-img create")}
    assert bases == {str(tree / "out/linkladder-0.10.0-amd64.qcow2")}


@pytest.mark.parametrize(("cores", "threads"), [(2, "single"), (3, "single"), (4, "multi")])
def test_emulated_cores_take_turns_where_there_are_too_few_for_both_machines(
    tree: Path, cores: int, threads: str
) -> None:
    """Seen on two cores: each machine stood still for seconds, and carried a third of what it does with its own."""
    program(tree, "id", "echo 0")
    program(tree, "nproc", f"echo {cores}")
    program(tree, "qemu-system-x86_64", 'case "$*" in *kvm*) exit 1 ;; esac')
    (tree / "out").mkdir()
    (tree / "out/linkladder-0.1.0-amd64.qcow2").write_text("x")
    assert lab(tree, "--no-tmux").returncode == 0
    started = [line for line in called(tree) if " qemu-system-x86_64 " in line]
    assert len(started) == 2 and all(f"-accel tcg,thread={threads} -cpu" in line for line in started), started


@pytest.mark.parametrize("args", [["some.qcow2"], ["--down"]], ids=["up", "down"])
def test_what_needs_root_asks_sudo_for_it(tree: Path, args: list[str]) -> None:
    program(tree, "id", "echo 1001")
    done = lab(tree, *args)
    assert done.returncode == 0, done.stderr
    asked = [line for line in called(tree) if line.startswith("sudo")]
    assert len(asked) == 1 and asked[0].endswith(f"sh {tree}/image/lab-vm.sh {args[0]}")
    assert "LL_VM_FIRMWARE" in asked[0]
    # By itself it never does half of it.
    env = {**os.environ, "PATH": f"{tree}/programs:{os.environ['PATH']}"}
    alone = subprocess.run(["sh", str(tree / "image/lab-vm.sh"), *args], capture_output=True, text=True, env=env)
    assert alone.returncode == 3 and "this needs root" in alone.stderr


def test_what_is_missing_is_installed_but_not_for_the_end_of_it(tree: Path) -> None:
    program(tree, "id", "echo 0")
    for name in ("env", "dirname", "uname", "mkdir", "rm", "sh", "grep", "cat", "tail", "find", "sort", "cut"):
        (tree / "programs" / name).unlink(missing_ok=True)
        real = subprocess.check_output(["sh", "-c", f"command -v {name}"], text=True).strip()
        (tree / "programs" / name).symlink_to(real)
    (tree / "programs/socat").unlink()
    env = {"PATH": f"{tree}/programs", "HOME": str(tree)}
    up = subprocess.run(["/bin/sh", str(tree / "build.sh"), "lab", "--vm"], capture_output=True, text=True, env=env)
    assert "socat is not installed" in up.stderr
    assert any(line.startswith("apt-get") and line.endswith(" socat") for line in called(tree))
    (tree / "called").unlink()
    down = subprocess.run(
        ["/bin/sh", str(tree / "build.sh"), "lab", "--vm", "--down"], capture_output=True, text=True, env=env
    )
    assert down.returncode == 0, down.stderr
    assert not [line for line in called(tree) if line.startswith("apt-get")]
