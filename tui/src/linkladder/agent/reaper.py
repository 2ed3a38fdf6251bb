"""A tiny process that outlives a killed agent just long enough to end the tools it had started.

It reads `+PGID` and `-PGID` lines on stdin, and `!` with a command (JSON); when stdin closes, whatever is still listed
is killed, and then the last command is run.  So even `kill -9` of an agent leaves no orphan, netserver's forked
children included, and no port open; whoever waits for the reservation, which this process has inherited, gets it after
that.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    command: list[str] = []
    for line in sys.stdin:
        if line[:1] == "+":
            groups.add(int(line[1:]))
        elif line[:1] == "-":
            groups.discard(int(line[1:]))
        elif line[:1] == "!":
            command = json.loads(line[1:])
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    if command:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the helper would end with a pipe that closes
        os.execve(command[0], command, {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"})


if __name__ == "__main__":
    main()
