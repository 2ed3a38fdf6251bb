"""What a command does whose streams are full, closed or never there, as under cron and in pipes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from linkladder.plan import builtin_text

WORDS = (("ceiling",), ("runs", "--json"), ("plan", "list"), ("--help",))


def command(state: Path, redirect: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command by the shell, with Python's own buffering as a user has it."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    return subprocess.run(
        ["sh", "-c", f'exec "$0" -m linkladder "$@" {redirect}', sys.executable, *words],
        env=kept | {"LINKLADDER_STATE": str(state)}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", WORDS)
def test_output_that_finds_no_room_is_an_error_with_words(words: tuple[str, ...], own_state: Path) -> None:
    done = command(own_state, ">/dev/full", *words)
    assert done.returncode == 3 and done.stderr.startswith("linkladder: the disk is full\n"), done
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("words", WORDS)
def test_a_reader_that_has_gone_ends_a_command_without_a_word(words: tuple[str, ...], own_state: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, "-m", "linkladder", *words], env=kept | {"LINKLADDER_STATE": str(own_state)},
        stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_where_standard_input_is_closed_there_is_nobody_to_ask(own_state: Path) -> None:
    done = command(own_state, "<&-", "tune", "--keep", "--dry-run")
    assert done.returncode == 2 and done.stderr.startswith("linkladder: there is nobody to ask"), done.stderr


def test_no_file_takes_the_place_of_a_closed_output(own_state: Path) -> None:
    done = command(own_state, ">&- <&-", "runs")
    assert (done.returncode, done.stderr) == (0, "")
    assert (own_state / "linkladder.db").read_bytes().startswith(b"SQLite format 3\0")


def test_a_plan_file_is_found_by_any_path_and_name(own_state: Path, tmp_path: Path) -> None:
    for name in ("mine.toml", "mine"):
        (tmp_path / name).write_text(builtin_text("quick"))
        for said in (str(tmp_path / name), os.path.relpath(tmp_path / name)):
            done = command(own_state, "", "plan", "check", said)
            assert done.returncode == 0, done.stderr
