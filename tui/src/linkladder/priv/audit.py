"""Writes a line for every use to syslog and to the end of a file."""

from __future__ import annotations

import os
import sys
import syslog
import time

FILE = "/var/log/linkladder-priv.log"


def caller() -> str:
    """The user who started the helper, as doas or sudo tell, or else the process's own user."""
    return os.environ.get("DOAS_USER") or os.environ.get("SUDO_USER") or f"uid {os.getuid()}"


def path() -> str:
    """The audit file. Only root itself can name another one, as the tests do, but no caller through doas or sudo."""
    through_a_door = "DOAS_USER" in os.environ or "SUDO_USER" in os.environ
    return FILE if through_a_door else os.environ.get("LINKLADDER_AUDIT", FILE)


def write(words: list[str], outcome: str) -> None:
    """Write the line; never fails, as a full disk must not keep a setting from being restored."""
    request = " ".join(ascii(word[:80]) for word in words[:12])
    line = f"{caller()[:40]!a} {request} {outcome[:300]!a}"
    syslog.openlog("linkladder-priv", syslog.LOG_PID, syslog.LOG_AUTH)
    syslog.syslog(syslog.LOG_NOTICE, line)
    if os.geteuid() != 0:
        return  # the request is refused anyway, and only root can write the file
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        descriptor = os.open(path(), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            os.write(descriptor, f"{stamp} {line}\n".encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        print(f"linkladder-priv: no audit line in {path()}: {error.strerror}", file=sys.stderr)
