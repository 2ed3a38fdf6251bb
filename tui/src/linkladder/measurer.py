"""Runs agents and tools, which face the network, as a separate user of an appliance who owns nothing.

That user can read no key, no secret, no list of peers and no run, and may ask root only for measuring verbs. The
console's user starts the agent of its own end by doas, which also leads to root (doas.conf):
  permit nopass CONSOLE as MEASURER cmd /usr/local/libexec/linkladder-agent
On other hosts agents run as the user who starts them.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess

from linkladder.errors import EnvironmentFault

USER = "llmeasure"
PROGRAM = "/usr/local/libexec/linkladder-agent"  # root's script; it starts an agent in the measuring user's folder
PATH = "/usr/local/bin:/usr/bin:/bin"
WAIT = 60.0  # seconds that agents may take to end; an emulated machine needs ten just to start Python


def program() -> str:
    """The program with which the measuring user starts an agent; '' if there is no such user here."""
    named = os.environ.get("LINKLADDER_AGENT", PROGRAM)
    return named if os.access(named, os.X_OK) else ""


def command(*words: str) -> list[str] | None:
    """The command that starts an agent as the measuring user; None if it must run as the present user."""
    if not program() or _me() == USER:
        return None
    door = next((found for name in ("doas", "sudo") if (found := shutil.which(name, path=PATH))), None)
    if door is None:
        raise EnvironmentFault("agents run as another user here", "doas is not installed", "install it")
    return [door, "-n", "-u", USER, program(), *words]


def end_sessions(peer: str) -> None:
    """End the agents that serve a peer, as the measuring user, who alone may do that."""
    argv = command("--end", peer)
    assert argv
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=WAIT)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFault(f"the sessions of {peer} may still run", str(error), "restart this appliance") from None
    if done.returncode:
        raise EnvironmentFault(f"the sessions of {peer} may still run", done.stderr.strip(), "restart this appliance")


def _me() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""
