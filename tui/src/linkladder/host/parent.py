"""A child that must not outlive its parent, asked of the kernel before the child becomes the tool."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
P_PID = 0
PROC_PDEATHSIG_CTL = 11

_libc = ctypes.CDLL(None, use_errno=True)  # loaded now: between fork and exec is no time to load libraries
_is_init = os.getpid() == 1


def die_with_parent() -> None:
    """preexec_fn: SIGKILL this process when its parent ends; does nothing where the kernel cannot.

    Linux means the thread that forked, so children must be started from a thread that stays.
    A setuid program drops the wish: what runs through doas or sudo watches its standard input instead.
    """
    with contextlib.suppress(Exception):
        if sys.platform.startswith("linux"):
            _libc.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
        elif sys.platform.startswith("freebsd"):
            wanted = ctypes.c_int(signal.SIGKILL)
            _libc.procctl(P_PID, ctypes.c_int64(0), PROC_PDEATHSIG_CTL, ctypes.byref(wanted))
    if os.getppid() == 1 and not _is_init:  # the parent ended before the wish was made
        os._exit(127)
