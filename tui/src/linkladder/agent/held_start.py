"""A tiny process that becomes a tool at a stated moment: several ends start at once, and starting one takes its time.

`held_start.py MOMENT FD ARGV...`: at the moment, on this machine's monotonic clock, it writes to the descriptor what
the clock says, and turns into the program.
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
