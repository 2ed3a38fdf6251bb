"""An undo process by itself, and its holder's end of the socket, for tests."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from linkladder import host
from linkladder.settings.arming import ARMED
from linkladder.settings.journal import Entry, Journal, Record

LOOPBACK = "lo" if sys.platform == "linux" else "lo0"
MTU = str(host.setting("mtu", LOOPBACK))
HERE = Record(host.boot_id(), (Entry("mtu", LOOPBACK, MTU, "1500"),))
Process = subprocess.Popen[bytes]


@pytest.fixture
def journal(own_state: Path) -> Iterator[Journal]:
    made = Journal(own_state)
    assert made.lock()
    made.write(HERE)
    yield made
    made.unlock()


UNDO = """
import sys
from linkladder.priv import undo, verbs
undo.SLOT = sys.argv[1]
undo.serve(lambda verb, words: verbs.build("measure", verb, words, sys.argv[2]))
"""


def script(journal: Journal, slot: str) -> list[str]:
    return [sys.executable, "-I", "-c", UNDO, f"{journal.folder}/{slot}-{{}}", host.system()]


@dataclass
class Armed:
    """An undo process, and its holder's end of the socket."""

    process: Process
    said: socket.socket

    def say(self, word: bytes) -> None:
        self.said.sendall(word)

    def ended(self, seconds: float = 20) -> int:
        return self.process.wait(seconds)


def asked(journal: Journal, seconds: float, steps: object = (("mtu", LOOPBACK, MTU),)) -> bytes:
    return json.dumps({"folder": str(journal.folder), "seconds": seconds, "steps": steps}).encode() + b"\n"


def started(journal: Journal, line: bytes, program: str = UNDO, **options: Any) -> Armed:
    ours, theirs = socket.socketpair()
    argv = [program if word == UNDO else word for word in script(journal, "slot")]
    process = subprocess.Popen(argv, stdin=theirs.fileno(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    theirs.close()
    socket.send_fds(ours, [line], [journal.descriptor])
    return Armed(process, ours)


def armed(journal: Journal, seconds: float, program: str = UNDO, **options: Any) -> Armed:
    made = started(journal, asked(journal, seconds), program, **options)
    assert made.said.recv(len(ARMED), socket.MSG_WAITALL) == ARMED
    return made
