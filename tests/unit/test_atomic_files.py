"""What is written whole is written into a new file, and what is written down stays short."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkladder import atomic_files, locks, log_file
from linkladder.peer import ends
from linkladder.peer.piped import Piped
from linkladder.trust.calling import start
from linkladder.wire import WireError, json_lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    return made


def test_a_link_under_the_drafts_name_is_not_followed(folder: Path) -> None:
    victim, file = folder / "victim", folder / "file"
    victim.write_text("precious")
    (folder / f".file.{os.getpid()}").symlink_to(victim)
    atomic_files.replace(file, "new")
    assert victim.read_text() == "precious" and file.read_text() == "new" and not file.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o600 and {p.name for p in folder.iterdir()} == {"victim", "file"}


def test_what_comes_under_the_drafts_name_at_the_last_moment_is_not_written_into(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, opened = folder / "victim", os.open
    victim.write_text("precious")

    def late(path: Path, flags: int, mode: int = 0o777) -> int:
        if path.name == f".file.{os.getpid()}":
            path.hardlink_to(victim)
        return opened(path, flags, mode)

    monkeypatch.setattr(os, "open", late)
    with pytest.raises(FileExistsError):
        atomic_files.replace(folder / "file", "new")
    assert victim.read_text() == "precious" and not (folder / "file").exists()


def test_a_file_that_is_a_link_is_replaced_and_its_target_left_alone(folder: Path) -> None:
    victim, file = folder / "victim", folder / "file"
    victim.write_text("precious")
    file.symlink_to(victim)
    atomic_files.replace(file, b"new", 0o644)
    assert victim.read_text() == "precious" and not file.is_symlink() and file.stat().st_mode & 0o777 == 0o644


def test_what_cannot_be_finished_leaves_the_old_one_and_no_draft(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder / "file"
    atomic_files.replace(file, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(os, "fsync", full)
        atomic_files.replace(file, "new")
    assert file.read_text() == "old" and [p.name for p in folder.iterdir()] == ["file"]


@pytest.mark.parametrize("before", [None, "old"])
def test_a_disk_that_fills_up_leaves_no_half_of_a_delivered_file(folder: Path, before: str | None) -> None:
    file = folder / "run.json"
    if before:
        file.write_text(before)

    def pieces() -> Iterator[str]:
        yield "half of it"
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        atomic_files.deliver(file, pieces())
    assert {p.name: p.read_text() for p in folder.iterdir()} == ({"run.json": before} if before else {})
    atomic_files.deliver(file, ["all ", "of it"])
    assert {p.name: p.read_text() for p in folder.iterdir()} == {"run.json": "all of it"}


def test_what_is_delivered_takes_the_usual_mode_or_the_files_own_and_goes_through_links(folder: Path) -> None:
    file, link, usual = folder / "run.json", folder / "link", folder / "usual"
    usual.touch()
    atomic_files.deliver(file, ["one"])
    assert file.stat().st_mode == usual.stat().st_mode
    file.chmod(0o600)
    link.symlink_to(file)
    for name in (file, link):
        atomic_files.deliver(name, [name.name])
        assert file.read_text() == name.name and file.stat().st_mode & 0o777 == 0o600
    assert link.is_symlink()
    with pytest.raises(OSError, match="No space"):
        atomic_files.deliver(Path("/dev/full"), ["a device is written into"])


def test_a_lock_is_not_made_through_a_link(folder: Path) -> None:
    (folder / "lock").symlink_to(folder / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        locks.HeldFile(folder / "lock").take()
    assert not (folder / "elsewhere").exists()


def test_the_diary_stays_short_and_is_not_turned_elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "MOST", 10_000)
    top = logging.getLogger("linkladder")
    level = top.level
    try:
        log_file.start(folder, logging.WARNING)
        log_file.start(folder, logging.WARNING)
        assert sum(isinstance(handler, log_file.LogFile) for handler in top.handlers) == 1
        for number in range(2000):
            logging.getLogger("linkladder.test").warning("line %d of many that nobody asked for", number)
        kept = {p.name: p.stat() for p in folder.iterdir()}
        assert set(kept) == {"linkladder.log", "linkladder.log.1"}
        assert all(one.st_size <= 10_000 and one.st_mode & 0o777 == 0o600 for one in kept.values())
        assert "line 1999" in (folder / "linkladder.log").read_text()
    finally:
        for handler in [handler for handler in top.handlers if isinstance(handler, log_file.LogFile)]:
            top.removeHandler(handler)
            handler.close()
        top.setLevel(level)
    elsewhere = folder / "other"
    elsewhere.mkdir()
    (elsewhere / "linkladder.log").symlink_to(folder / "victim")
    with pytest.raises(OSError, match="symbolic"):
        log_file.LogFile(elsewhere, logging.WARNING)._open()


ENDLESS = """
import json, sys
sys.stdin.readline()
hello = {"name": "beta", "version": "1", "protocol": 0, "addresses": [], "tools": {}}
line = json.dumps({"event": "exited", "data": {"process": 1}})
while True:
    print(line)
"""


async def test_a_peer_that_talks_without_end_is_let_go(folder: Path) -> None:
    process = await Piped.over(start([sys.executable, "-c", ENDLESS]), ends.wire.REPLY_LIMIT)
    far = ends.FarEnd("beta", process)
    try:
        with pytest.raises(ends.PeerLost, match="talks without end"):
            await far.ask(ends.wire.Clock())
        assert far.lost and far.events.qsize() == ends.MOST_EVENTS
    finally:
        process.kill()
        await far.close()


def test_an_event_is_never_long() -> None:
    long = b'{"event":"lines","data":{"process":1,"lines":["' + b"x" * json_lines.EVENT_LIMIT + b'"]}}\n'
    with pytest.raises(WireError, match="too long"):
        json_lines.read_answer(long)
