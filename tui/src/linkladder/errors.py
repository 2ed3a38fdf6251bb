"""The one error that reaches people: a title, the cause, what to do next, and an exit code."""

from __future__ import annotations

import errno

FULL = (errno.ENOSPC, errno.EDQUOT)
SPOILT = (errno.EIO, errno.EROFS)  # a system that meets the first may let nothing be written any more


class LinkladderError(Exception):
    """Something a person must be told; front ends print it, nothing prints a traceback for it."""

    exit_code = 3

    def __init__(self, title: str, cause: str = "", hint: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.cause = cause
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.title]
        if self.cause:
            lines.append(f"  why: {self.cause}")
        if self.hint:
            lines.append(f"  do:  {self.hint}")
        return "\n".join(lines)


def in_a_line(error: BaseException) -> str:
    """What happened, why and what to do, where only one line is shown."""
    if not isinstance(error, LinkladderError):
        return str(error)
    said = f"{error.title}: {error.cause}" if error.cause else error.title
    return f"{said}; {error.hint}" if error.hint else said


class UsageError(LinkladderError):
    """The command or a file the person wrote is wrong."""

    exit_code = 2


class EnvironmentFault(LinkladderError):
    """No peer, no tool, no permission, no space."""

    exit_code = 3


def disk_fault(error: BaseException) -> EnvironmentFault | None:
    """What a full or broken disk answers, wherever it is met; None of any other error."""
    number = error.errno if isinstance(error, OSError) else None
    if number in FULL:
        remedy = "delete old runs, or make room, and take the run up again"
        return EnvironmentFault("the disk is full", str(error), remedy)
    return broken_disk(str(error)) if number in SPOILT else None


def broken_disk(cause: str) -> EnvironmentFault:
    remedy = "export the reports that you need; have the disk looked at, then start the machine again"
    return EnvironmentFault("the disk cannot be written", cause, remedy)
