"""Checks whether a socket buffer was granted; each operating system reports that in its own way."""

from __future__ import annotations


def window_reason(asked: int, read_back: int | None, os: str) -> str:
    """Why the buffer was not granted, or ''. Linux reports twice the size and caps it silently; FreeBSD rounds up."""
    if read_back is None:
        return f"{asked} bytes were asked and iperf does not say what was granted"
    if os == "Linux":
        if abs(read_back - 2 * asked) <= 2 * asked * 0.006:  # without -f b iperf prints only three digits
            return ""
        return f"{asked} bytes were asked, {read_back // 2} granted"
    if asked * 0.994 <= read_back <= asked * 1.1 + 65536:
        return ""
    return f"{asked} bytes were asked, {read_back} granted"
