"""A line for every use: in syslog, and in a file that is only ever appended to."""

from __future__ import annotations

import os
import sys
import syslog
import time

FILE = "/var/log/linkladder-priv.log"


def caller() -> str:
    """Who asked, as doas or sudo tell; root itself otherwise."""
    return os.environ.get("DOAS_USER") or os.environ.get("SUDO_USER") or f"uid {os.getuid()}"


def path() -> str:
    """Root may name another file (tests do); nobody who came through doas or sudo can."""
    through_a_door = "DOAS_USER" in os.environ or "SUDO_USER" in os.environ
    return FILE if through_a_door else os.environ.get("LINKLADDER_AUDIT", FILE)


def write(words: list[str], outcome: str) -> None:
    """Never fails: a full disk must not keep a setting from being put back."""
    request = " ".join(ascii(word[:80]) for word in words[:12])
    line = f"{caller()[:40]!a} {request} {outcome[:300]!a}"
    syslog.openlog("linkladder-priv", syslog.LOG_PID, syslog.LOG_AUTH)
    syslog.syslog(syslog.LOG_NOTICE, line)
    if os.geteuid() != 0:
        return  # refused for that, and the file is root's
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        descriptor = os.open(path(), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            os.write(descriptor, f"{stamp} {line}\n".encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        print(f"linkladder-priv: no audit line in {path()}: {error.strerror}", file=sys.stderr)
