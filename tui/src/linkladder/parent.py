"""Has the kernel end a child with its parent and bound its memory; called in the child before it executes the tool."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
P_PID = 0
PROC_PDEATHSIG_CTL = 11
THREAD = 2 << 20  # bytes of a thread's stack, as FreeBSD has it; Linux goes by this limit, and has 8 MB

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


def bounded(most: int) -> Callable[[], None]:
    """For preexec_fn: the same, and every process of the tool gets at most so many bytes of memory.

    FreeBSD holds what is mapped against the limit of the address space alone. On Linux that counts what is only set
    aside too, such as 64 MB for a thread's heap; there the limit of the data holds for what is mapped.
    """

    def before() -> None:
        die_with_parent()
        if sys.platform.startswith("linux"):
            _lower(resource.RLIMIT_STACK, THREAD, resource.getrlimit(resource.RLIMIT_STACK)[1])
            _lower(resource.RLIMIT_DATA, most, most)
        else:
            _lower(resource.RLIMIT_AS, most, most)

    return before


def _lower(limit: int, soft: int, hard: int) -> None:
    """Lower a limit; one that is lower already stays."""
    now = [sys.maxsize if one == resource.RLIM_INFINITY else one for one in resource.getrlimit(limit)]
    then = [sys.maxsize if one == resource.RLIM_INFINITY else one for one in (soft, hard)]
    lower = [resource.RLIM_INFINITY if one == sys.maxsize else one for one in map(min, now, then)]
    resource.setrlimit(limit, (lower[0], lower[1]))
