"""Running a stage: once, with its time and log; again when its inputs change; nothing is left of an interrupted one."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]


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
    name, seconds, outcome, ended = (tmp_path / "ran/try").read_text().rstrip().split("\t")
    assert (name, outcome) == ("try", "run") and int(seconds) >= 0 and ended.endswith("Z")


def test_a_stage_that_did_less_than_its_name_says_tells_the_record(tmp_path: Path) -> None:
    stage(tmp_path, "outcome nothing was built")
    assert "\tnothing was built\t" in (tmp_path / "ran/try").read_text()
    assert "\trun\t" not in (tmp_path / "ran/try").read_text()


def test_a_failing_stage_shows_its_log_and_is_not_taken_for_done(tmp_path: Path) -> None:
    done = stage(tmp_path, "echo the real reason; false; echo never")
    assert done.returncode == 1
    assert "FAILED after" in done.stderr and "the real reason" in done.stderr and "log/try.log" in done.stderr
    assert "never" not in done.stderr
    assert not (tmp_path / "done/try").exists()
    assert not (tmp_path / "ran/try").exists()


STAGES = ("jail", "kernel", "ports", "bulk", "image")


def fingerprints(
    tmp_path: Path,
    sets: Path,
    packages: Path | str = "",
    ports: Path | str = "",
    top: Path = TOP,
    branch: str = "2026Q4",
) -> dict[str, str]:
    """What each stage depends on, in one word a stage."""
    script = f"""
set -eu
top='{top}' here='{top}/image' sets='{sets}' packages='{packages}' ports='{ports}' work='{tmp_path}'
LL_RELEASE=15.1-RELEASE LL_ARCH=amd64 LL_PORTS_BRANCH=2026Q4
. "$here/stages.sh"
rm -f "$work/ports.sum"
for name in {" ".join(STAGES)}; do fingerprint "$name"; done
"""
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    return dict(zip(STAGES, done.stdout.splitlines(), strict=True))


def changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return [stage for stage in STAGES if before[stage] != after[stage]]


def test_a_stage_depends_on_what_its_inputs_hold_and_not_on_where_they_lie(
    sets: Path, packages: Path, tmp_path: Path
) -> None:
    first = fingerprints(tmp_path, sets, packages)
    assert len(set(first.values())) == 5
    assert fingerprints(tmp_path, sets.rename(tmp_path / "elsewhere"), packages) == first
    (packages / "packagesite.pkg").write_text("another list")
    second = fingerprints(tmp_path, tmp_path / "elsewhere", packages)
    assert changed(first, second) == ["ports", "bulk", "image"]
    (tmp_path / "elsewhere/MANIFEST").write_text("other sets")
    third = fingerprints(tmp_path, tmp_path / "elsewhere", packages)
    assert changed(second, third) == ["jail", "kernel", "bulk", "image"]  # given packages are what they are


def test_the_ports_tree_counts_by_what_is_in_it_for_all_that_is_built_of_it(sets: Path, tmp_path: Path) -> None:
    tree = tmp_path / "a/ports"
    (tree / "net/iperf").mkdir(parents=True)
    (tree / "net/iperf/Makefile").write_text("one")
    first = fingerprints(tmp_path, sets, ports=tree)
    other = (tmp_path / "a").rename(tmp_path / "b") / "ports"
    assert fingerprints(tmp_path, sets, ports=other) == first
    (other / "net/iperf/Makefile").write_text("two")
    assert changed(first, fingerprints(tmp_path, sets, ports=other)) == ["ports", "bulk", "image"]
    packed = tmp_path / "ports.tar.gz"
    packed.write_text("one")
    first = fingerprints(tmp_path, sets, ports=packed)
    packed.write_text("two")
    assert changed(first, fingerprints(tmp_path, sets, ports=packed)) == ["ports", "bulk", "image"]


def test_what_was_built_of_this_tree_is_built_again_with_it(sets: Path, packages: Path, tmp_path: Path) -> None:
    top = tmp_path / "top"
    for name in ("image", "overlay", "ports", "tui/src/linkladder/plan"):
        shutil.copytree(TOP / name, top / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "tui/pyproject.toml"):
        shutil.copy(TOP / name, top / name)
    (tmp_path / "tree.tar.gz").write_text("x")
    for given, expected in (
        ({"packages": packages}, {"image/LINKLADDER": ["kernel", "image"], "ports/pkglist": ["bulk", "image"]}),
        (
            {"ports": tmp_path / "tree.tar.gz"},
            {
                "ports/make.conf": ["ports", "bulk", "image"],
                "tui/pyproject.toml": ["bulk", "image"],
                "overlay/etc/rc.conf": ["image"],
                "image/post-build.sh": ["image"],
            },
        ),
    ):
        for file, stages in expected.items():
            first = fingerprints(tmp_path, sets, top=top, **given)
            with (top / file).open("a") as opened:
                opened.write("# changed\n")
            assert changed(first, fingerprints(tmp_path, sets, top=top, **given)) == stages, file


def test_what_changes_while_a_stage_runs_is_not_taken_for_done(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("before")
    script = f"""
set -eu
work='{tmp_path}'
. '{TOP}/image/lib.sh'
fingerprint() {{ cat '{tmp_path}/input'; }}
stage_try() {{ echo after >'{tmp_path}/input'; }}
run_stage try stage_try
run_stage try stage_try
run_stage try stage_try
"""
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=50)
    assert [line.split(",")[0] for line in done.stderr.splitlines() if "started" not in line] == [
        "try: good",
        "try: good",
        "try: done before",
    ]


def running(word: str) -> list[str]:
    """The processes whose command line has this word; what only waits to be asked for its status is over."""
    listed = subprocess.check_output(["ps", "-A", "-o", "stat=,pid=,args="], text=True)
    return [line for line in listed.splitlines() if word in line and not line.startswith("Z")]


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
def test_an_interrupted_stage_leaves_nothing_running_and_may_clean_up(tmp_path: Path, name: str) -> None:
    # As poudriere does: a shell that starts others, and takes its mounts down when it is told to end.
    word = f"31.{os.getpid()}{len(name)}"
    inner = f"trap 'sleep 1; echo down >>{tmp_path}/cleaned; exit 1' TERM; sleep {word} & sleep {word}; wait"
    script = f"""
set -eu
work='{tmp_path}'
. '{TOP}/image/lib.sh'
fingerprint() {{ echo same; }}
stage_try() {{ sh -c "{inner}"; }}
run_stage try stage_try
"""
    # As from a terminal: what a shell started beside itself, or nohup, would have inherited that it ignores the signal.
    heed = partial(signal.signal, signal.Signals[f"SIG{name}"], signal.SIG_DFL)
    process = subprocess.Popen(["sh", "-c", script], stderr=subprocess.PIPE, text=True, preexec_fn=heed)
    try:
        deadline = time.monotonic() + 30
        while len([line for line in running(f"sleep {word}") if "sh -c" not in line]) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(signal.Signals[f"SIG{name}"])
        _, told = process.communicate(timeout=40)
    finally:
        process.kill()
    assert process.returncode == 130 and "interrupted" in told
    assert running(word) == []
    assert (tmp_path / "cleaned").read_text() == "down\n"
    assert not (tmp_path / "done/try").exists() and not (tmp_path / "ran/try").exists()


def watched(tmp_path: Path, stderr: int) -> subprocess.CompletedProcess[bytes]:
    """A stage of about two seconds in a world where each look at the clock is 40 s later."""
    script = f"""
set -eu
work='{tmp_path}'
. '{TOP}/image/lib.sh'
echo 0 >'{tmp_path}/clock'
date() {{ now=$(($(cat '{tmp_path}/clock') + 40)); echo "$now" | tee '{tmp_path}/clock'; }}
fingerprint() {{ echo same; }}
stage_try() {{ echo first; printf '[12/34] \\033[1mpacking'; echo; sleep 4; }}
run_stage try stage_try
"""
    return subprocess.run(["sh", "-c", script], stderr=stderr, timeout=50, check=True)


def test_progress_is_a_line_a_minute_without_a_terminal(tmp_path: Path) -> None:
    said = watched(tmp_path, subprocess.PIPE).stderr.decode().splitlines()
    lines = [line for line in said if "packing" in line]
    assert [line.split()[0] for line in lines][:2] == ["1:20", "2:00"]
    assert said[-1].startswith("try: good, ")


def test_progress_is_one_line_that_changes_on_a_terminal(tmp_path: Path) -> None:
    mine, theirs = pty.openpty()
    try:
        watched(tmp_path, theirs)
        text = os.read(mine, 65536).decode()
    finally:
        os.close(theirs)
        os.close(mine)
    # What a log brings along must not move the cursor.
    assert "\r\x1b[K  0:40  [12/34] [1mpacking\r\x1b[K  1:20  [12/34] [1mpacking" in text
    assert text.splitlines()[-1].lstrip("\r").startswith("\x1b[Ktry: good, ")
