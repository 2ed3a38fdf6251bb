"""What a paired peer, or whoever broke the measuring user, may say to confuse who hears it: on the real readers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from linkladder import reservation, wire
from linkladder.agent.answering import Service
from linkladder.priv import undo
from linkladder.priv.running import Failed
from linkladder.priv.verbs import MEASURE, build

KEY = "0" * 32


@pytest.mark.parametrize("text", ["\ud800", "a\x9b31m", "\u202egnp.exe", "one\u2028two", "\x7f", "\n"], ids=ascii)
def test_a_name_that_a_terminal_obeys_or_no_file_holds_is_refused(text: str) -> None:
    with pytest.raises(wire.Refused, match="holder: expected one line"):
        wire.request_of("reserve", {"holder": text})
    with pytest.raises(wire.Refused, match="label: expected one line"):
        experiment = {"id": "x", "label": text}
        wire.request_of("serve", {"experiment": experiment, "bind": "::1", "port": 5301, "peer": "::1", "key": KEY})
    assert wire.request_of("reserve", {"holder": "Zürich\u00a0\u2013 1 \xd7 8\u202fM"})


def test_a_name_that_cannot_be_written_leaves_no_lock_that_nobody_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINKLADDER_STATE", str(tmp_path))
    mine = reservation.Reservation()
    assert mine.take("\ud800") is None and mine.held and reservation.holder() == "?"
    mine.release()
    other = reservation.Reservation()
    assert other.take("beta") is None
    other.release()


@pytest.mark.parametrize(
    "address", ["255.255.255.255", "::ffff:255.255.255.255", "::ffff:224.0.0.1", "::ffff:0.0.0.0", "ff02::1%eth0", "::"]
)
def test_nobody_is_knocked_at_who_is_many(address: str) -> None:
    knock = {"local": "10.0.0.1", "remote": address, "port": 5301, "key": KEY, "udp": True}
    with pytest.raises(wire.Refused, match="remote: expected an IP address"):
        wire.request_of("probe", knock)
    assert wire.request_of("probe", {**knock, "remote": "::ffff:10.0.0.2"})


async def test_a_server_of_a_tool_that_has_none_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINKLADDER_STATE", str(tmp_path))
    service = Service(lambda event: None)
    try:
        await service.do(wire.request_of("reserve", {"holder": "alpha"}))
        asked = {"id": "x", "tool": "ping", "protocol": "echo"}
        serve = {"experiment": asked, "bind": "127.0.0.1", "port": 5301, "peer": "127.0.0.1", "key": KEY}
        with pytest.raises(wire.Refused, match="ping has no server"):
            await service.do(wire.request_of("serve", serve))
    finally:
        await service.close()


def test_who_floods_the_undo_process_fills_no_memory_of_roots_and_has_his_loan_undone() -> None:
    near, far = socket.socketpair()

    def flood() -> None:
        sent = 0
        try:
            while sent < 16 << 20:
                sent += near.send(bytes(65536))
        except OSError:
            pass

    talking = threading.Thread(target=flood)
    talking.start()
    try:
        assert undo._wait(far.fileno(), 2.0, b"renew\nre") == "closed"
    finally:
        far.close()
        talking.join()
        near.close()
    near, far = socket.socketpair()
    with near, far:
        near.sendall(b"renew\n" * 5000 + b"done\n")  # honest words, however many, are heard
        assert undo._wait(far.fileno(), 2.0, b"") == "done"


@pytest.mark.parametrize("said", [b"", b'{"folder": "/x"'], ids=["nothing", "half"])
def test_who_says_nothing_holds_no_undo_process(said: bytes) -> None:
    """There are 32 of them for everybody, and each waits as root."""
    script = "from linkladder.priv import undo; undo.PATIENCE = 0.3; undo._heard()"
    near, far = socket.socketpair()
    with near, far:
        near.sendall(said)
        done = subprocess.run(
            [sys.executable, "-c", script], stdin=far.fileno(), capture_output=True, text=True, timeout=50
        )
    assert done.returncode == 1 and "nobody said in time what is to be undone" in done.stderr


def test_an_undo_nested_without_end_is_refused_in_words() -> None:
    line = b'{"folder": "/x", "seconds": 5, "steps": ' + b"[" * 16000 + b"]" * 16000 + b"}"
    with pytest.raises(Failed, match="not said as it must be"):
        undo._checked(line, lambda verb, words: build(MEASURE, verb, words, os.uname().sysname))
