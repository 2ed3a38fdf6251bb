"""The control sshd: has a separate configuration with which paired appliances can start the agent and nothing else.

The appliance's image has the same settings in a file of root. `ensure_config` serves the lab and other hosts, where the
user who starts sshd trusts the state folder. Limits count per source address, so that a flood from one address does not
lock the others out. The login user needs a shell that runs `-c` and an account that is not locked.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from linkladder import measurer, state
from linkladder.errors import EnvironmentFault
from linkladder.trust import files, keys
from linkladder.trust.channel import CIPHERS, MACS, exchanges

MOST = 8  # agents that serve one peer at once: a run's, what its screens look at, and some more
SETTINGS = f"""\
AddressFamily any
AuthenticationMethods publickey
PubkeyAuthentication yes
PasswordAuthentication no
PermitEmptyPasswords no
KbdInteractiveAuthentication no
HostbasedAuthentication no
StrictModes yes
DisableForwarding yes
AllowAgentForwarding no
AllowTcpForwarding no
AllowStreamLocalForwarding no
PermitTTY no
PermitUserRC no
PermitUserEnvironment no
PermitTunnel no
GatewayPorts no
X11Forwarding no
PrintMotd no
Compression no
UseDNS no
MaxAuthTries 2
MaxSessions 4
LoginGraceTime 10
MaxStartups 150:10:500
ClientAliveInterval 5
ClientAliveCountMax 4
Ciphers {CIPHERS}
MACs {MACS}
HostKeyAlgorithms ssh-ed25519
PubkeyAcceptedAlgorithms ssh-ed25519
LogLevel VERBOSE
"""
# Not every OpenSSH has these: PerSourceMaxStartups came with 8.5, PerSourcePenalties with 9.8. Penalties are short, so
# that a peer that crashed can come back at once.
OPTIONAL = (
    "UsePAM no",
    "PerSourceMaxStartups 8",
    "PerSourceNetBlockSize 32:128",
    "PerSourcePenalties crash:2s authfail:2s noauth:1s grace-exceeded:2s max:10s min:5s",
)


def ensure_config(
    base: Path,
    user: str,
    listen: tuple[str, ...],
    port: int,
    environment: Mapping[str, str] | None = None,
) -> Path:
    """Write the configuration for `user` on the addresses `listen`; missing keys are made."""
    folder = state.ensure(base / "sshd")
    addresses = [f"ListenAddress [{a}]:{port}" if ":" in a else f"ListenAddress {a}:{port}" for a in listen]
    lines = [*addresses, f"Port {port}", f"HostKey {_quoted(keys.host_key(base))}"]
    lines += [*_keys_of(user, base), f"AllowUsers {user}"]
    lines += [f"KexAlgorithms {exchanges()}"]
    lines += [f"PermitRootLogin {'forced-commands-only' if user == 'root' else 'no'}", f"PidFile {folder}/sshd.pid"]
    config = folder / "sshd_config"
    optional = list(OPTIONAL)
    files.write(config, "\n".join([*lines, *optional]) + "\n" + SETTINGS)
    forgetful = leaks_startups(_version())
    for option in OPTIONAL:
        name = option.split()[0]
        if (forgetful and name == "PerSourceMaxStartups") or name.lower() in _complaints(config):
            optional.remove(option)
            files.write(config, "\n".join([*lines, *optional]) + "\n" + SETTINGS)
    files.write(folder / "environment.json", json.dumps(dict(environment or {})))
    files.write(folder / "control.json", json.dumps({"user": user, "port": port}))
    keys.user_key(base)
    write_authorized(base)
    return config


def _keys_of(user: str, base: Path) -> list[str]:
    """The options for the list of keys. sshd reads only the login user's own file; for another user's it runs cat."""
    path = state.trusted(base) / "authorized_keys"
    if not measurer.program():
        return [f"AuthorizedKeysFile {_quoted(path)}"]
    return ["AuthorizedKeysFile none", f"AuthorizedKeysCommand /bin/cat {path}", f"AuthorizedKeysCommandUser {user}"]


def control(base: Path) -> tuple[str, int]:
    """Login user and port for peers, as last configured; else the measuring user or the folder's owner, and 8622."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads((base / "sshd" / "control.json").read_text())
        return str(found["user"]), int(found["port"])
    if measurer.program():
        return measurer.USER, 8622
    with contextlib.suppress(OSError, KeyError):
        return base.owner(), 8622
    return "linkladder", 8622


def write_authorized(base: Path, granted: Collection[str] | None = None) -> None:
    """Write authorized_keys from the list of peers; `granted`: only for the peers of these names."""
    set_in = state.ensure(base / "sshd") / "environment.json"
    environment = {"LINKLADDER_STATE": str(base), **(json.loads(set_in.read_text()) if set_in.exists() else {})}
    words = ["env", *(f"{k}={v}" for k, v in environment.items()), sys.executable, "-m", "linkladder", "agent"]
    if measurer.program():  # it sets its own environment
        words = [measurer.program()]
    if "\n" in "".join(words):
        raise EnvironmentFault("the state folder has a line break in its name", str(base), "use another folder")
    try:
        lines = [_line(words, peer) for peer in _listed(base) if granted is None or peer["name"] in granted]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        lines = []  # a damaged list trusts nobody; whoever loads it sets it aside and tells
    mode = 0o644 if measurer.program() else 0o600  # an agent reads it as another user
    files.write(state.trusted(base) / "authorized_keys", "".join(lines), mode)


def program() -> str:
    return shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin") or "/usr/sbin/sshd"


@contextlib.contextmanager
def register_session(peer: str) -> Iterator[None]:
    """Register this agent so that `end_sessions` finds it; a lock on its file shows that it is alive."""
    path = state.ensure(state.measuring() / "run" / "agents") / f"{peer}.{os.getpid()}"
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # who looks whether it lives has it for a moment
        try:
            if sum(map(_alive, _sessions(peer))) >= MOST:
                raise EnvironmentFault(f"{peer} has {MOST} sessions here already", hint="end one of them first")
            # Checked after registering: a peer removed at this moment is noticed here, or its removal finds the file.
            if peer not in _authorized():
                raise EnvironmentFault(f"{peer} is not paired with this appliance", hint="pair the two again")
            yield
        finally:
            path.unlink(missing_ok=True)


def end_sessions(peer: str, grace: float = 2.0) -> int:
    """End the agents that serve a peer which is no longer trusted; returns how many of this user's were found."""
    if measurer.command():
        measurer.end_sessions(peer)
        return 0
    found = []
    for path in _sessions(peer):
        if _alive(path):
            found.append((path, int(path.name.rpartition(".")[2])))
        else:
            path.unlink(missing_ok=True)
    for sent, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, 1.0)):
        for path, process in found:
            if _alive(path):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process, sent)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and any(_alive(path) for path, _ in found):
            time.sleep(0.02)
    for path, _ in found:
        if not _alive(path):
            path.unlink(missing_ok=True)
    return len(found)


def _sessions(peer: str) -> list[Path]:
    """The files of this peer's other agents, of which some may have ended."""
    found = []
    for path in (state.measuring() / "run" / "agents").glob("*"):
        name, _, number = path.name.rpartition(".")
        if name == peer and number.isdecimal() and int(number) != os.getpid():
            found.append(path)
    return found


def _alive(path: Path) -> bool:
    """Whether the agent of this file lives; it holds the file's lock until it ends, in whatever way."""
    try:
        with path.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def _authorized() -> set[str]:
    """The names of the peers that may start an agent now."""
    with contextlib.suppress(FileNotFoundError):
        return {line.split()[-1] for line in (state.trusted() / "authorized_keys").read_text().splitlines()}
    return set()


def _line(words: list[str], peer: dict[str, Any]) -> str:
    # quoted for sh first, then for the option, in which only the double quote is special
    more = ["--introduced"] if peer.get("introduces") else []
    command = shlex.join([*words, "--peer", peer["name"], *more]).replace('"', '\\"')
    return f'restrict,command="{command}" {peer["user_key"]} {peer["name"]}\n'


def _listed(base: Path) -> list[dict[str, Any]]:
    path = base / "peers.json"
    return json.loads(path.read_text()) if path.exists() else []


def leaks_startups(version: str) -> bool:
    """Whether it is OpenSSH 10.0, which counts logins against PerSourceMaxStartups forever, so that 8 lock it."""
    return re.search(r"OpenSSH_10\.0\D", version) is not None


def _version() -> str:
    """What this sshd prints as its version; '' if there is no sshd."""
    try:
        done = subprocess.run([program(), "-V"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout + done.stderr


def _complaints(config: Path) -> str:
    """This sshd's complaints about options in the file, in lower case; '' if there is no sshd."""
    try:
        done = subprocess.run([program(), "-t", "-f", str(config)], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return "\n".join(
        line for line in done.stderr.lower().splitlines() if "bad configuration" in line or "unsupported" in line
    )


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("%", "%%") + '"'
