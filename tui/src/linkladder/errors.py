"""The one error that reaches people: a title, the cause, what to do next, and an exit code."""

from __future__ import annotations


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
