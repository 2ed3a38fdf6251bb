"""Agents and the tools that they run face the network: on an appliance they run as a user who owns nothing.

That user can read no key, no secret, no list of peers and no run, and asks root for measuring verbs alone.  The
console's user starts its own end's agent through the same door that leads to root (doas.conf):
  permit nopass CONSOLE as MEASURER cmd /usr/local/libexec/linkladder-agent
Elsewhere agents run as whoever starts them.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess

from linkladder.errors import EnvironmentFault

USER = "llmeasure"
PROGRAM = "/usr/local/libexec/linkladder-agent"  # root's: an agent in the folder that is the measuring user's own
PATH = "/usr/local/bin:/usr/bin:/bin"
WAIT = 60.0  # seconds that agents may take to end: an emulated machine needs ten to start Python alone


def program() -> str:
    """What starts an agent as the measuring user, who runs it; '' where there is no such user."""
    named = os.environ.get("LINKLADDER_AGENT", PROGRAM)
    return named if os.access(named, os.X_OK) else ""


def command(*words: str) -> list[str] | None:
    """Starts an agent as the measuring user; None where it is to run as whoever asks."""
    if not program() or _me() == USER:
        return None
    door = next((found for name in ("doas", "sudo") if (found := shutil.which(name, path=PATH))), None)
    if door is None:
        raise EnvironmentFault("agents run as another user here", "doas is not installed", "install it")
    return [door, "-n", "-u", USER, program(), *words]


def end_sessions(peer: str) -> None:
    """The agents that serve a peer are the measuring user's, who alone may end them."""
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
