"""Two booted appliances on one segment, and the way in that the tests make for themselves.

The image lets nobody in as root by network, so that the way in is made by hand on the serial console: an address
on the management adapter and an sshd of the tests' own, neither of which outlives the machine.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from pathlib import Path

from .machine import SLOW, WRITTEN, Machine
from .network import Network

PORT = 2222
NAMES = ("alpha", "beta")
PROGRAM = "/usr/local/bin/linkladder"
USER = "linkladder"
CARDS = ("vmx1", "vmx2")  # of a machine with two test cards
SSHD = """\
Port {port}
HostKey /tmp/way-in/host
AuthorizedKeysFile /tmp/way-in/keys
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
UseDNS no
MaxSessions 100
PidFile /tmp/way-in/pid
"""


class Site:
    """One of the two, reached as root by ssh over the management adapter."""

    def __init__(self, machine: Machine, folder: Path, space: str) -> None:
        self.machine, self.folder, self.space = machine, folder, space
        self.card = CARDS[0] if not machine.intel else "igb0" if machine.intel[0] == "igb" else "em0"
        self.management = f"10.98.0.{machine.number}"
        self.test = f"10.77.0.{machine.number}"

    def open_way_in(self) -> None:
        """Addresses as an operator gives them, then the tests' own sshd."""
        shell = self.machine.root()
        for nic, address in (("vmx0", self.management), (self.card, self.test)):
            status, said = shell.run(f"{PROGRAM} system address {nic} static {address}/24", 180)
            assert status == 0, said
        key = (self.folder / "key.pub").read_text().strip()
        config = SSHD.format(port=PORT).replace("\n", "\\n")
        for line in (
            "mkdir -p /tmp/way-in && rm -f /tmp/way-in/host*",
            "ssh-keygen -q -t ed25519 -N '' -f /tmp/way-in/host",
            f"echo '{key}' >/tmp/way-in/keys",
            f"printf '{config}' >/tmp/way-in/sshd_config",
            "/usr/sbin/sshd -f /tmp/way-in/sshd_config",
        ):
            status, said = shell.run(line, 60)
            assert status == 0, said
        # The console on the video screen is not watched here, and would take half of an emulated machine. A plug pulled
        # before the new file is on disk leaves an empty one, and no console at the next boot.
        shell.run("sed -i '' '/^ttyv0/s/onifexists/off/' /etc/ttys; fsync /etc/ttys; kill -HUP 1; pkill -t v0", 60)
        end = time.monotonic() + 120 * SLOW
        *way, target = self.command()
        while subprocess.run([*way, "-M", "-N", "-f", target], stderr=subprocess.DEVNULL, check=False).returncode:
            assert time.monotonic() < end, "the machine does not answer by ssh"
            time.sleep(1)

    def command(self) -> list[str]:
        """A command that runs its last argument there as root, over one connection that stays."""
        options = {
            "ControlPath": f"{self.folder}/{self.machine.name}.ssh",
            "StrictHostKeyChecking": "no",
            "UserKnownHostsFile": "/dev/null",
            "LogLevel": "ERROR",
            "BatchMode": "yes",
            "ConnectTimeout": "60",
            "IdentitiesOnly": "yes",
        }
        words = [f"-o{k}={v}" for k, v in options.items()]
        target = ["-i", str(self.folder / "key"), "-p", str(PORT), f"root@{self.management}"]
        return ["ip", "netns", "exec", self.space, "ssh", "-F/dev/null", *words, *target]

    def ssh(
        self, script: str, check: bool = True, given: str | None = None, seconds: float = 300
    ) -> subprocess.CompletedProcess[str]:
        run = [*self.command(), script]
        done = subprocess.run(
            run, capture_output=True, text=True, input=given or "", timeout=seconds * SLOW, check=False
        )
        assert not check or done.returncode == 0, f"{script}: {done.stdout}{done.stderr}"
        return done

    def user(self, script: str, check: bool = True, seconds: float = 300) -> subprocess.CompletedProcess[str]:
        """The same as the user that the console and the agent run as."""
        return self.ssh(f"su -m {USER} -c {shlex.quote(script)}", check=check, seconds=seconds)

    def close(self) -> None:
        subprocess.run([*self.command()[:-1], "-O", "exit", "there"], capture_output=True, check=False)

    def unplug(self) -> None:
        """The power first: whoever talks to it is not hung up on."""
        self.machine.cut()
        self.close()


class Pair:
    """alpha and beta, powered on together."""

    def __init__(self, image: Path, network: Network, folder: Path, first: int = 1) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "key").exists():
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True)
        self.machines = tuple(
            Machine(
                folder,
                image,
                name,
                number,
                space=network.name,
                taps=network.taps(number),
                virtio=network.virtio,
                intel=network.intel,
            )
            for number, name in enumerate(NAMES, first)
        )
        self.alpha, self.beta = (Site(m, folder, network.name) for m in self.machines)
        self.entered = False

    def start(self) -> None:
        for machine in self.machines:
            machine.start()
        for machine in self.machines:
            machine.await_tui()

    def site(self, name: str) -> Site:
        return self.alpha if name == "alpha" else self.beta

    def enter(self) -> None:
        """Leave both TUIs for root's shell and let the tests in."""
        if not self.entered:
            self.alpha.open_way_in()
            self.beta.open_way_in()
            self.entered = True

    def again(self) -> None:
        """Both written, cut off and powered on once more, and the tests let in anew."""
        sites = (self.alpha, self.beta)
        for site in sites:
            site.ssh(WRITTEN)
            site.close()
            site.machine.cut()
        for site in sites:
            site.machine.start()
        for site in sites:
            site.machine.await_tui()
            site.open_way_in()

    def paired(self) -> None:
        """As alpha and beta, by a site secret and over the management adapters, whose link the tests leave alone."""
        self.enter()
        if self.names(self.alpha) == ["beta"]:
            return
        for site in (self.alpha, self.beta):
            for name in self.names(site):
                site.user(f"{PROGRAM} peers remove {name}")
        secret = self.alpha.user(f"{PROGRAM} pair --new-secret").stdout.strip()
        for site in (self.alpha, self.beta):
            site.user(f"umask 077; echo {secret} >/var/db/linkladder/secret")
        wait = f"{PROGRAM} pair --open --secret-file /var/db/linkladder/secret --name beta"
        waiting = subprocess.Popen(
            [*self.beta.command(), f"su -m {USER} -c '{wait}'"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert waiting.stdout
        while "pairing is open" not in (line := waiting.stdout.readline()):
            assert line, "the pairing window did not open"
        call = f"{PROGRAM} pair {self.beta.management} --secret-file /var/db/linkladder/secret --name alpha"
        done = self.alpha.user(call, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        waiting.communicate(timeout=60 * SLOW)
        assert self.names(self.alpha) == ["beta"] and self.names(self.beta) == ["alpha"]

    def names(self, site: Site) -> list[str]:
        return [peer["name"] for peer in json.loads(site.user(f"{PROGRAM} peers list --json").stdout)]

    def describe(self, rung: str = "same-vlan", rate: str = "10G") -> None:
        """alpha's link.toml: one rung over the test adapters."""
        self.alpha.user(
            f'printf \'[contract]\\nport = "{rate}"\\n[path.{rung}]\\nlocal = "{self.alpha.test}"\\n'
            f'remote = "{self.beta.test}"\\npeer = "beta"\\n\' >/var/db/linkladder/link.toml'
        )

    def close(self) -> None:
        for site in (self.alpha, self.beta):
            site.close()
        for machine in self.machines:
            machine.cut()


def addressed(site: Site) -> None:
    for n, card in enumerate(CARDS, 1):
        site.ssh(f"{PROGRAM} system address {card} static 10.77.{n}.{site.machine.number}/24")
