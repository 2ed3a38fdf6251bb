"""The control sshd: a configuration of its own that lets paired appliances start the agent, and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from linkladder import state
from linkladder.pairing import keys

SETTINGS = """\
AddressFamily any
AuthenticationMethods publickey
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
HostbasedAuthentication no
UsePAM no
PermitRootLogin forced-commands-only
DisableForwarding yes
PermitTTY no
PermitUserRC no
PermitUserEnvironment no
PermitTunnel no
GatewayPorts no
X11Forwarding no
PrintMotd no
MaxAuthTries 2
MaxSessions 4
LoginGraceTime 10
MaxStartups 200
PerSourceMaxStartups 16
ClientAliveInterval 5
ClientAliveCountMax 4
LogLevel VERBOSE
"""


def ensure_config(
    base: Path,
    user: str,
    listen: tuple[str, ...],
    port: int,
    environment: Mapping[str, str] | None = None,
) -> Path:
    """Write the configuration for `user` on `listen`; keys are made when there are none."""
    folder = state.ensure(base / "sshd")
    lines = [f"ListenAddress {a}" for a in listen] + [f"Port {port}", f"HostKey {keys.host_key(base)}"]
    lines += [f"AuthorizedKeysFile {base}/sshd/authorized_keys", f"AllowUsers {user}", f"PidFile {folder}/sshd.pid"]
    config = folder / "sshd_config"
    config.write_text("\n".join(lines) + "\n" + SETTINGS)
    (folder / "environment.json").write_text(json.dumps(dict(environment or {})))
    keys.user_key(base)
    write_authorized(base)
    return config


def write_authorized(base: Path) -> None:
    """authorized_keys anew from the list of peers."""
    folder = state.ensure(base / "sshd")
    listed = json.loads((base / "peers.json").read_text()) if (base / "peers.json").exists() else []
    set_in = folder / "environment.json"
    environment = {"LINKLADDER_STATE": str(base), **(json.loads(set_in.read_text()) if set_in.exists() else {})}
    words = ["env", *(f"{k}={v}" for k, v in environment.items()), sys.executable, "-m", "linkladder", "agent"]
    lines = []
    for peer in listed:
        command = shlex.join([*words, "--peer", peer["name"]]).replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'restrict,command="{command}" {peer["user_key"]}\n')
    draft = folder / f".authorized.{os.getpid()}"
    draft.write_text("".join(lines))
    draft.chmod(0o600)
    draft.replace(folder / "authorized_keys")


def argv(config: Path) -> list[str]:
    path = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin") or "/usr/sbin/sshd"
    return [path, "-D", "-e", "-f", str(config)]


@contextlib.contextmanager
def register_session(peer: str) -> Iterator[None]:
    """While this lasts, `end_sessions` finds this agent."""
    path = state.ensure(state.folder() / "run" / "agents") / f"{peer}.{os.getpid()}"
    path.touch()
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def end_sessions(peer: str) -> None:
    """End the agents that serve a peer which is no longer trusted."""
    for path in (state.folder() / "run" / "agents").glob(f"{peer}.*"):
        with contextlib.suppress(ProcessLookupError, ValueError, PermissionError):
            os.kill(int(path.suffix[1:]), signal.SIGTERM)
