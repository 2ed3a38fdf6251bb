"""The errors that people see: a title, the cause, what to do next, and an exit code."""

from __future__ import annotations

import errno

FULL = (errno.ENOSPC, errno.EDQUOT)
SPOILT = (errno.EIO, errno.EROFS)  # after an I/O error the system may make the disk read-only


class LinkladderError(Exception):
    """An error to tell a person; front ends print it without a traceback."""

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


def why_no_file(error: OSError | UnicodeError) -> str:
    """Why a file cannot be read or written, without the number and the path that Python adds."""
    return "it is no text in UTF-8" if isinstance(error, UnicodeError) else error.strerror or str(error)


def in_a_line(error: BaseException) -> str:
    """What happened, why and what to do, in one line."""
    if not isinstance(error, LinkladderError):
        return str(error)
    said = f"{error.title}: {error.cause}" if error.cause else error.title
    return f"{said}; {error.hint}" if error.hint else said


class UsageError(LinkladderError):
    """A command or a file that the person wrote is wrong."""

    exit_code = 2


class EnvironmentFault(LinkladderError):
    """Something outside is missing or fails: a peer, a tool, a permission, disk space."""

    exit_code = 3


def disk_fault(error: BaseException) -> EnvironmentFault | None:
    """The error to show if the disk is full or broken; None for any other error."""
    number = error.errno if isinstance(error, OSError) else None
    if number in FULL:
        remedy = "delete old runs, or make room, and take the run up again"
        return EnvironmentFault("the disk is full", str(error), remedy)
    return broken_disk(str(error)) if number in SPOILT else None


def broken_disk(cause: str) -> EnvironmentFault:
    remedy = "export the reports that you need; have the disk looked at, then start the machine again"
    return EnvironmentFault("the disk cannot be written", cause, remedy)


def reason_of(error: Exception) -> str:
    """Why a run ended, in one line for people."""
    if isinstance(error, LinkladderError):
        return in_a_line(error)
    fault = disk_fault(error)
    return in_a_line(fault) if fault else f"{type(error).__name__}: {error}"
