"""Two appliances in network namespaces, each with its state, its own sshd and its user; network.py lies between them.

`down` finds what is there by the lab's name, whatever state a crash left it in.  A lock a prefix, held while the lab is
up, keeps a second lab of the same name from taking the first for a crashed one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import hostwide
import spaces
import users
from network import CONGESTION, Network
from spaces import ip
from taken import LabError, hold, release

TOP = Path(__file__).resolve().parents[2]
# bash, started by sshd, reads .bashrc of whoever tests here, which no appliance has; not where it is within a shell.
NO_BASHRC = "SetEnv SHLVL=2\n"
CONTROL_PORT = 8622
PAIRING_PORT = 8623


@dataclass
class Lab(Network):
    folder: Path = field(default_factory=lambda: safe_folder())
    patience: float = 900.0  # how long to wait for another lab of this name to go
    firewall: bool = False  # as on the appliance
    control_by: tuple[str, ...] = ("control",)  # the rungs whose addresses the appliances' sshds listen at
    two_users: bool = False  # agents and tools run as a user of their own, as on the appliance
    _lock: int | None = None

    @contextlib.contextmanager
    def unpaired(self) -> Iterator[Self]:
        """Up, with two appliances as out of the box; then gone, with all that they stored."""
        self._lock = hold(self.prefix, self.patience)  # who waits in vain has nothing to take down
        try:
            self.up()
            for site in self.sites:
                self.start_control(site)
            yield self
        finally:
            self.down(forget=True)

    @contextlib.contextmanager
    def paired(self) -> Iterator[Self]:
        """The same, and they know the link and each other."""
        with self.unpaired():
            self.describe_link()
            self.pair()
            yield self

    # --- names

    def state(self, site: str) -> Path:
        return self.folder / self.prefix / site / "state"

    @property
    def user(self) -> str:
        """Whose appliances these are: the person behind sudo, or root."""
        if self.two_users:
            return users.CONSOLE[0]
        return os.environ.get("SUDO_USER") or pwd.getpwuid(os.geteuid()).pw_name

    # --- up and down

    def up(self) -> None:
        """Everything but the control channel; a crashed lab of the same name is removed first."""
        self._lock = hold(self.prefix, self.patience) if self._lock is None else self._lock
        self._clear()
        while not (self.folder / self.prefix).is_dir():
            with contextlib.suppress(
                FileNotFoundError
            ):  # another lab, the last one so far, took the folder of all away
                (self.folder / self.prefix).mkdir(parents=True, exist_ok=True)
        self.left_out = []
        for site in (*self.sites, *self.between):
            ip("netns", "add", self.space(site))
        hostwide.raise_for(self.prefix, CONGESTION)  # which takes a lab without namespaces for one that is gone
        self._lay()
        for site in self.sites:
            self.state(site).mkdir(mode=0o700, parents=True, exist_ok=True)
            self._own(self.folder / self.prefix / site)
            if self.two_users:
                self._part(site)
            if self.firewall:
                self._in(site, "nft", "-f", str(TOP / "tests/lab/firewall.nft"))

    def down(self, forget: bool = False) -> None:
        """No process, namespace, interface or raised ceiling of this lab is left; its results are, unless forgotten."""
        self._clear()
        if forget:
            shutil.rmtree(self.folder / self.prefix, ignore_errors=True)
            with contextlib.suppress(OSError):  # until one holds another lab
                for folder in (self.folder, *([self.folder.parent] if self.folder.name != ".lab" else [])):
                    folder.rmdir()
        if self._lock is not None:
            release(self.prefix, self._lock)
            self._lock = None

    def _clear(self) -> None:
        for site in self.sites:
            self.stop_control(site)
        spaces.remove(*map(self.space, (*self.sites, *self.between)))
        self._delay.stop()
        hostwide.lower_after(self.prefix)

    # --- appliances

    def command(self, site: str, argv: Sequence[str], env: dict[str, str] | None = None) -> list[str]:
        """`argv` as run on an appliance: in its namespace, under its name, on its own cores, as its user."""
        cores = self.cores(site)
        settings = {
            "LINKLADDER_STATE": str(self.state(site)),
            "LINKLADDER_CORES": cores,
            "LINKLADDER_TOOLS_PATH": str(TOP / ".work" / "netperf" / "usr" / "bin"),
            "PATH": f"{TOP}/.venv/bin:{os.environ.get('PATH', '/usr/bin:/bin')}:/usr/sbin:/sbin",
            **(self._apart(site) if self.two_users else {}),
            **({"LINKLADDER_FIREWALL": "nft"} if self.firewall else {}),
            **(env or {}),
        }
        pairs = [f"{k}={v}" for k, v in settings.items()]
        inner = ["hostname " + site, 'exec "$@"']
        if self.two_users:
            inner.insert(0, users.prologue(self.folder / self.prefix / "etc"))
        # not `ip netns exec`: it mounts a /sys without control groups, where a CPU quota cannot be seen
        own = ["--uts", "--mount"] if self.two_users else ["--uts"]
        run = ["nsenter", f"--net=/run/netns/{self.space(site)}", "taskset", "-c", cores,
               "unshare", *own, "sh", "-c", "\n".join(inner), "sh"]  # fmt: skip
        if self.two_users:
            run += ["setpriv", f"--reuid={users.CONSOLE[1]}", "--clear-groups", f"--regid={users.CONSOLE[1]}"]
        elif self.user != "root":
            run += ["setpriv", f"--reuid={self.user}", "--init-groups", f"--regid={pwd.getpwnam(self.user).pw_gid}"]
        return [*run, "env", *pairs, *argv]

    @staticmethod
    def cores(site: str) -> str:
        """Half of the machine's cores each, so that each end's CPU is its own."""
        mine = sorted(os.sched_getaffinity(0))
        half = len(mine) // 2
        if half == 0:
            return str(mine[0])
        return ",".join(map(str, mine[:half] if site == "alpha" else mine[half:]))

    def linkladder(self, site: str, *args: str, **options: object) -> subprocess.CompletedProcess[str]:
        argv = self.command(site, [sys.executable, "-m", "linkladder", *args])
        settings: dict[str, object] = {"capture_output": True, "text": True, "check": False, **options}
        return subprocess.run(argv, **settings)  # type: ignore[call-overload,no-any-return]

    def describe_link(self) -> None:
        """link.toml at alpha: what a person would enter on the Link screen."""
        rate = int(self.link.rate)
        lines = ["[contract]", 'port = "10G"', f"rate = {rate}", 'layer = "L2"', f"mtu = {self.link.mtu}",
                 'circuit = "lab"']  # fmt: skip
        lines += [f"expected_rtt_ms = {self.link.delay_ms}", ""] if self.link.delay_ms else [""]
        for rung in ("same-host", "same-vlan", "dc-link"):
            lines += [f"[path.{rung}]", f'local = "{self.address("alpha", rung)}"',
                      f'remote = "{self.address("beta", rung)}"', 'peer = "beta"', ""]  # fmt: skip
        path = self.state("alpha") / "link.toml"
        path.write_text("\n".join(lines))
        self._own(path)

    def start_control(self, site: str) -> subprocess.Popen[bytes]:
        """The appliance's own sshd on the control address."""
        from linkladder.trust import sshd  # late: the lab is also torn down where nothing is installed

        Path("/run/sshd").mkdir(exist_ok=True)
        config = self.environment(site)
        run = self.command(site, [])[: self.command(site, []).index("sh") + 4]
        log = (self.folder / self.prefix / site / "sshd.log").open("ab")
        # an account without a password counts as locked (any cloud image's), unless PAM is asked
        pam = ["-o", "UsePAM=yes"] if locked(self.user) else []
        argv = [*run, sshd.program(), "-D", "-e", "-f", str(config), *pam]
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        (self.folder / self.prefix / site / "sshd.pid").write_text(str(process.pid))
        wait_for(lambda: self._listens(site), 5.0, f"sshd of {site} did not start; see {log.name}")
        return process

    def environment(self, site: str, **settings: str) -> Path:
        """What the site's agent sees from the next connection on, beside what it always has."""
        from linkladder.trust import sshd  # late, as above

        base = {"LINKLADDER_CORES": self.cores(site), "LINKLADDER_TOOLS_PATH": str(TOP / ".work/netperf/usr/bin")}
        listen = tuple(self.address(site, rung) for rung in self.control_by)
        base |= {"LINKLADDER_FIREWALL": "nft"} if self.firewall else {}
        before = {name: os.environ.get(name) for name in self._apart(site)} if self.two_users else {}
        os.environ.update(self._apart(site) if self.two_users else {})
        try:
            login = users.MEASURER[0] if self.two_users else self.user
            config = sshd.ensure_config(self.state(site), login, listen, CONTROL_PORT, environment={**base, **settings})
            config.write_text(config.read_text() + NO_BASHRC)
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
        self._own(self.state(site))
        return config

    def _apart(self, site: str) -> dict[str, str]:
        """Where the console finds what belongs to the measuring user, and how it starts an agent as that user."""
        base = self.folder / self.prefix / site
        return {
            "LINKLADDER_MEASURING": str(base / "measure"),
            "LINKLADDER_TRUSTED": str(base / "trusted"),
            "LINKLADDER_AGENT": str(base / "agent"),
        }

    def _part(self, site: str) -> None:
        """The two users' folders, and the program that starts an agent."""
        base = self.folder / self.prefix / site
        for folder in (self.folder, self.folder / self.prefix, base):
            folder.chmod(0o755)
        os.chown(base, 0, 0)
        (base / "measure/run/agents").mkdir(parents=True, exist_ok=True)
        users.own(base / "measure", users.MEASURER)
        (base / "trusted").mkdir(exist_ok=True)
        users.own(base / "trusted", users.CONSOLE)
        lines = ["#!/bin/sh", f"export LINKLADDER_STATE={base}/measure LINKLADDER_TRUSTED={base}/trusted"]
        lines += [f"export LINKLADDER_CORES={self.cores(site)} LINKLADDER_TOOLS_PATH={TOP}/.work/netperf/usr/bin"]
        lines += ["cd /", f'exec {sys.executable} -m linkladder agent "$@"', ""]
        (base / "agent").write_text("\n".join(lines))
        (base / "agent").chmod(0o755)
        agents = [self.folder / self.prefix / one / "agent" for one in self.sites]
        users.write(self.folder / self.prefix / "etc", agents)

    def pair(self) -> None:
        """The first with each of the others, as people would, with a site secret in the place of their eyes."""
        made = self.linkladder("alpha", "pair", "--new-secret")
        secret = self.folder / self.prefix / "secret"
        secret.touch(mode=0o600)
        secret.write_text(made.stdout)
        self._own(secret)
        try:
            for site in self.sites[1:]:
                self._pair_with(site, secret)
        finally:
            secret.unlink()

    def _pair_with(self, site: str, secret: Path) -> None:
        argv = [sys.executable, "-m", "linkladder", "pair", "--secret-file", str(secret)]
        pipe = subprocess.PIPE
        waiting = subprocess.Popen(
            self.command(site, [*argv, "--open"]), stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
        )
        try:
            wait_for(lambda: self._listens(site, PAIRING_PORT), 15.0, f"{site} opened no pairing window")
            calling = subprocess.run(
                self.command("alpha", [*argv, self.address(site, "control")]),
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
            )  # fmt: skip
            if calling.returncode:
                raise LabError(
                    f"alpha and {site} could not be paired: {calling.stderr.strip() or calling.stdout.strip()}"
                )
            waiting.wait(15)
        finally:
            if waiting.poll() is None:
                waiting.kill()
            waiting.communicate()

    def unpair(self) -> list[str]:
        """As out of the box; the appliances that knew another one from an earlier lab."""
        knew = []
        for site in self.sites:
            for line in self.linkladder(site, "peers").stdout.splitlines():
                if self.linkladder(site, "peers", "remove", line.split()[0]).returncode == 0:
                    knew.append(site)
        return knew

    def stop_control(self, site: str) -> None:
        file = self.folder / self.prefix / site / "sshd.pid"
        with contextlib.suppress(FileNotFoundError, ValueError, ProcessLookupError, PermissionError):
            pid = int(file.read_text())
            if b"sshd" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGTERM)
        file.unlink(missing_ok=True)

    def _listens(self, site: str, port: int = CONTROL_PORT) -> bool:
        seen = self._in(site, "ss", "-Hltn", f"sport = :{port}", check=False)
        return bool(seen.stdout.strip())

    # --- plumbing

    def _own(self, path: Path) -> None:
        if self.two_users:
            users.own(path, users.CONSOLE)
        elif self.user != "root":
            user = pwd.getpwnam(self.user)
            for one in (path, *path.rglob("*")) if path.is_dir() else (path,):
                os.chown(one, user.pw_uid, user.pw_gid)


def safe_folder() -> Path:
    """.lab of the checkout; elsewhere when others may write on the way there, since sshd then trusts no key in it."""
    for folder in (TOP, *TOP.parents):
        seen = folder.stat()
        if seen.st_mode & 0o022 or seen.st_uid not in (0, os.geteuid()):
            return Path("/var/lib/linkladder-lab") / hashlib.sha256(str(TOP).encode()).hexdigest()[:8]
    return TOP / ".lab"


def locked(user: str) -> bool:
    """Does sshd take the account for locked?"""
    fields = next((f for line in Path("/etc/shadow").read_text().splitlines() if (f := line.split(":"))[0] == user), [])
    return len(fields) > 1 and fields[1].startswith("!")


def wait_for(ready: object, seconds: float, otherwise: str) -> None:
    deadline = time.monotonic() + seconds
    while not ready():  # type: ignore[operator]
        if time.monotonic() > deadline:
            raise LabError(otherwise)
        time.sleep(0.05)
