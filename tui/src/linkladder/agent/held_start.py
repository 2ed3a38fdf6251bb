"""A tiny process that turns into a tool at a given moment, so that the time to start a process delays no start.

`held_start.py MOMENT FD ARGV...`: waits until MOMENT on this machine's monotonic clock, writes the clock's reading to
the descriptor FD, and then executes ARGV.
"""

from __future__ import annotations

import os
import sys
import time


def main() -> None:
    moment, pipe, argv = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    time.sleep(max(0.0, moment - time.monotonic()))
    os.write(pipe, repr(time.monotonic()).encode())
    os.close(pipe)
    try:
        os.execv(argv[0], argv)
    except OSError as error:
        sys.exit(f"{argv[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
