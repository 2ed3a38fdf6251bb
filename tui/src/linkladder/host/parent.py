"""Makes the kernel end a child with its parent; called in the child before it executes the tool."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
P_PID = 0
PROC_PDEATHSIG_CTL = 11

_libc = ctypes.CDLL(None, use_errno=True)  # loaded now, as libraries should not be loaded between fork and exec
_is_init = os.getpid() == 1


def die_with_parent() -> None:
    """For preexec_fn: have the kernel kill this process when its parent ends, if the kernel can.

    On Linux the parent is the thread that forked, so children must be started from a thread that stays. The setting is
    lost in a setuid program, so programs that are run by doas or sudo watch their standard input instead.
    """
    with contextlib.suppress(Exception):
        if sys.platform.startswith("linux"):
            _libc.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
        elif sys.platform.startswith("freebsd"):
            wanted = ctypes.c_int(signal.SIGKILL)
            _libc.procctl(P_PID, ctypes.c_int64(0), PROC_PDEATHSIG_CTL, ctypes.byref(wanted))
    if os.getppid() == 1 and not _is_init:  # the parent ended before the call
        os._exit(127)
