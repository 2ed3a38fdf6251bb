"""The control sshd: a configuration of its own that lets paired appliances start the agent, and nothing else.

The appliance's image ships the same settings as root's own file; `ensure_config` serves the lab and other hosts,
where whoever starts sshd trusts the state folder.  Limits count per source address, so that a flood from one
address leaves the others in.  The login user needs a shell that runs `-c` and an account that is not locked.
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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from linkladder import measurer, state
from linkladder.errors import EnvironmentFault
from linkladder.trust import files, keys
from linkladder.trust.channel import CIPHERS, MACS, exchanges

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
MaxStartups 500
ClientAliveInterval 5
ClientAliveCountMax 4
Ciphers {CIPHERS}
MACs {MACS}
HostKeyAlgorithms ssh-ed25519
PubkeyAcceptedAlgorithms ssh-ed25519
LogLevel VERBOSE
"""
# Not every OpenSSH has these (the second since 8.5, the last since 9.8); a peer that crashed comes straight back.
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
    """Write the configuration for `user` on `listen`; keys are made when there are none."""
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
    """sshd takes a list from its owner alone; where that is not who logs in, it is shown the list by a program."""
    path = state.trusted(base) / "authorized_keys"
    if not measurer.program():
        return [f"AuthorizedKeysFile {_quoted(path)}"]
    return ["AuthorizedKeysFile none", f"AuthorizedKeysCommand /bin/cat {path}", f"AuthorizedKeysCommandUser {user}"]


def control(base: Path) -> tuple[str, int]:
    """Login user and port that peers use here, as last configured; else the folder's owner and the usual port."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads((base / "sshd" / "control.json").read_text())
        return str(found["user"]), int(found["port"])
    if measurer.program():
        return measurer.USER, 8622
    with contextlib.suppress(OSError, KeyError):
        return base.owner(), 8622
    return "linkladder", 8622


def write_authorized(base: Path) -> None:
    """authorized_keys anew from the list of peers."""
    set_in = state.ensure(base / "sshd") / "environment.json"
    environment = {"LINKLADDER_STATE": str(base), **(json.loads(set_in.read_text()) if set_in.exists() else {})}
    words = ["env", *(f"{k}={v}" for k, v in environment.items()), sys.executable, "-m", "linkladder", "agent"]
    if measurer.program():  # which makes an environment of its own
        words = [measurer.program()]
    if "\n" in "".join(words):
        raise EnvironmentFault("the state folder has a line break in its name", str(base), "use another folder")
    lines = []
    for peer in _listed(base):
        # sh's quotes first, then those of the option itself, where only the double quote is special
        more = ["--introduced"] if peer.get("introduces") else []
        command = shlex.join([*words, "--peer", peer["name"], *more]).replace('"', '\\"')
        lines.append(f'restrict,command="{command}" {peer["user_key"]} {peer["name"]}\n')
    mode = 0o644 if measurer.program() else 0o600  # whoever an agent runs as looks into it
    files.write(state.trusted(base) / "authorized_keys", "".join(lines), mode)


def argv(config: Path) -> list[str]:
    return [program(), "-D", "-e", "-f", str(config)]


def program() -> str:
    return shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin") or "/usr/sbin/sshd"


@contextlib.contextmanager
def register_session(peer: str) -> Iterator[None]:
    """While this lasts, `end_sessions` finds this agent; a lock on the file says that it lives."""
    path = state.ensure(state.measuring() / "run" / "agents") / f"{peer}.{os.getpid()}"
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            # Registered first and looked up after: a removal in between either sees the file or is seen here.
            if peer not in _authorized():
                raise EnvironmentFault(f"{peer} is not paired with this appliance", hint="pair the two again")
            yield
        finally:
            path.unlink(missing_ok=True)


def end_sessions(peer: str, grace: float = 2.0) -> int:
    """End the agents that serve a peer which is no longer trusted; how many of this user's there were."""
    if measurer.command():
        measurer.end_sessions(peer)
        return 0
    found = []
    for path in (state.measuring() / "run" / "agents").glob("*"):
        name, _, number = path.name.rpartition(".")
        if name == peer and number.isdigit() and int(number) != os.getpid():
            if _alive(path):
                found.append((path, int(number)))
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


def _alive(path: Path) -> bool:
    """The agent holds its file's lock as long as it lives, however it ends."""
    try:
        with path.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def _authorized() -> set[str]:
    """The names of those that may start an agent now."""
    with contextlib.suppress(FileNotFoundError):
        return {line.split()[-1] for line in (state.trusted() / "authorized_keys").read_text().splitlines()}
    return set()


def _listed(base: Path) -> list[dict[str, Any]]:
    path = base / "peers.json"
    return json.loads(path.read_text()) if path.exists() else []


def leaks_startups(version: str) -> bool:
    """OpenSSH 10.0 counts who has logged in against PerSourceMaxStartups for ever: after the eighth, nobody gets in."""
    return re.search(r"OpenSSH_10\.0\D", version) is not None


def _version() -> str:
    """What this sshd calls itself; '' where there is none to ask."""
    try:
        done = subprocess.run([program(), "-V"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout + done.stderr


def _complaints(config: Path) -> str:
    """What this sshd says of the file, in lower case; nothing where there is none to ask."""
    try:
        done = subprocess.run([program(), "-t", "-f", str(config)], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return "\n".join(
        line for line in done.stderr.lower().splitlines() if "bad configuration" in line or "unsupported" in line
    )


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("%", "%%") + '"'
