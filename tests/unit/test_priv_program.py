"""The privileged helper as a program: what it runs, ends, and says."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from linkladder.priv import appliance, verbs


def start(tmp_path: Path, *words: str, stdin: int = subprocess.PIPE) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-I", "-m", "linkladder.priv", *words],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"LINKLADDER_AUDIT": str(tmp_path / "audit")},
    )


def test_a_refusal_has_exit_status_2_and_an_audit_line(tmp_path: Path) -> None:
    process = start(tmp_path, "measure", "ping", "-c", "1", "10.0.0.1;reboot")
    _, errors = process.communicate(timeout=10)
    assert process.returncode == 2
    assert errors.startswith("linkladder-priv: address: expected an IP address, got '10.0.0.1;reboot'")
    if os.geteuid() == 0:
        assert "refused address" in (tmp_path / "audit").read_text()


IFACE = "lo" if sys.platform.startswith("linux") else "lo0"
root = pytest.mark.skipif(os.geteuid() != 0, reason="the helper works as root only")


@root
def test_no_link_leads_the_audit_line_into_another_file(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("as it was")
    (tmp_path / "audit").symlink_to(other)
    _, errors = start(tmp_path, "measure", "ping", "-c", "1", "10.0.0.1;reboot").communicate(timeout=10)
    assert "linkladder-priv: no audit line in" in errors
    assert other.read_text() == "as it was"


@root
def test_a_ping_runs_and_leaves_its_lines(tmp_path: Path) -> None:
    process = start(
        tmp_path,
        "measure",
        "ping",
        "-c",
        "2",
        "-i",
        "0.05",
        "127.0.0.1",
        stdin=subprocess.DEVNULL,
    )
    output, errors = process.communicate(timeout=10)
    assert (process.returncode, errors) == (0, "")
    assert "2 packets transmitted, 2" in output
    audit = (tmp_path / "audit").read_text().splitlines()
    assert [line.split()[-1] for line in audit] == ["'started'", "'done'"]
    assert (tmp_path / "audit").stat().st_mode & 0o777 == 0o600


@root
def test_it_ends_the_ping_when_its_input_closes_and_the_summary_is_kept(
    tmp_path: Path,
) -> None:
    process = start(tmp_path, "measure", "ping", "-c", "9999", "-i", "0.05", "127.0.0.1")
    assert process.stdin and process.stdout
    process.stdout.readline()
    process.stdin.close()
    output = process.stdout.read()
    process.wait(30)
    sent = re.search(r"(\d+) packets transmitted", output)
    assert sent and int(sent[1]) < 9999


@root
def test_a_signal_ends_the_ping_too(tmp_path: Path) -> None:
    process = start(
        tmp_path,
        "measure",
        "ping",
        "-c",
        "1000",
        "-i",
        "0.05",
        "127.0.0.1",
        stdin=subprocess.DEVNULL,
    )
    assert process.stdout
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=30)
    assert "packets transmitted" in output


@root
def test_a_failing_ping_is_left_its_own_words_and_status(tmp_path: Path) -> None:
    source = ["-I" if IFACE == "lo" else "-S", "192.0.2.77"]
    process = start(tmp_path, "measure", "ping", "-c", "1", *source, "127.0.0.1", stdin=subprocess.DEVNULL)
    _, errors = process.communicate(timeout=10)
    assert process.returncode == 2
    assert "ping: " in errors and "linkladder-priv" not in errors
    assert "ping ended with 2" in (tmp_path / "audit").read_text()


@root
def test_what_fails_is_told_with_exit_status_1(tmp_path: Path) -> None:
    process = start(tmp_path, "measure", "cpuset", "65535", "0", stdin=subprocess.DEVNULL)
    _, errors = process.communicate(timeout=10)
    assert process.returncode == 1
    assert errors.startswith("linkladder-priv: ")


@root
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_what_nobody_waits_for_any_more_is_not_begun(tmp_path: Path, kind: str) -> None:
    """Its caller was ended while it started: that one takes the setting for what it was before."""
    if kind == "pipe":
        ours, theirs = os.pipe()[::-1]
    else:
        ours, theirs = (one.detach() for one in socket.socketpair())
    os.close(ours)
    process = start(tmp_path, "measure", "ping", "-c", "1", "127.0.0.1", stdin=theirs)
    os.close(theirs)
    output, errors = process.communicate(timeout=30)
    assert (process.returncode, output) == (1, "")
    assert errors == "linkladder-priv: who asked for it has gone\n"
    assert "'failed who asked for it has gone'" in (tmp_path / "audit").read_text()


def test_a_stick_is_mounted_for_the_console_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appliance, "usb_partition", lambda name: name)
    _, mount = verbs.build("operator", "usb-mount", ["da1s1"], "FreeBSD")
    assert isinstance(mount, list) and mount[-2:] == ["/dev/da1s1", "/media/usb"]
    assert set(mount[4].split(",")) == {"nosuid", "noexec", "-u=linkladder", "-g=linkladder", "-m=600", "-M=700"}
