"""A tiny process that outlives a killed agent just long enough to end the tools it had started.

It reads `+PGID` and `-PGID` lines on stdin; when stdin closes, whatever is still listed is
killed.  So even `kill -9` of an agent leaves no orphan, netserver's forked children included.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        if line[:1] == "+":
            groups.add(int(line[1:]))
        elif line[:1] == "-":
            groups.discard(int(line[1:]))
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
