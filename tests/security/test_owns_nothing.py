"""What faces the network runs as a user who owns nothing: two appliances of the lab, with the two users of the image.

beta serves; alpha is its paired peer, and asks for what it likes; the network between them is the stranger, who has
stock netperf and sees every frame.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import spaces
import users
from network import GENTLE
from world import Lab, wait_for

pytestmark = pytest.mark.lab
NETPERF = Path(__file__).resolve().parents[2] / ".work/netperf/usr/bin/netperf"
WAIT = 60
SECRET = "ll1-0123-4567-89ab-cdef-ghjk-mnpq-rstv-wxyz-0000"
PORT, KEY = 5301, "0123456789abcdef" * 2
SERVES = f"""
import asyncio, sys
from linkladder import wire
from linkladder.engine.knock import knock
from linkladder.model import Experiment, Protocol
from linkladder.peer import connect, near_end
async def main():
    near = await near_end()
    far = await connect("beta")
    for end in (near, far):
        await end.ask(wire.Reserve("alpha"))
    here, there = sys.argv[1:]
    key = "{KEY}"
    seen = await knock(far, there, near, here, {PORT}, False, key)
    assert seen.state == "open", seen
    exp = Experiment("e", "netperf", Protocol.RR, duration=20)
    await far.ask(wire.Serve(exp, there, {PORT}, here, key))
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await far.close()
    await near.close()
asyncio.run(main())
"""
SNIFFS = """
import socket, sys
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
sock.settimeout(8)
print("ready", flush=True)
wanted, seen = sys.argv[1].encode(), 0
try:
    while wanted not in (data := sock.recv(65536)):
        seen += 1
    print("the secret was sent")
except TimeoutError:
    print("quiet")
"""
PLAN = """
name = "short"
[[experiment]]
rungs = ["localhost", "same-host"]
duration = 1
warmup = 1
[[experiment]]
rungs = ["same-host"]
tool = "netperf"
protocol = "rr"
duration = 1
warmup = 1
[[experiment]]
rungs = ["same-host"]
tool = "ping"
protocol = "echo"
count = 5
interval = 0.2
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(prefix="llown", inside=GENTLE, two_users=True).paired() as made:
        secret = made.state("beta") / "site-secret"
        secret.write_text((SECRET + "\n") * 2000)
        secret.chmod(0o600)
        users.own(secret, users.CONSOLE)
        yield made


def as_user(lab: Lab, site: str, user: tuple[str, int], *argv: str) -> subprocess.CompletedProcess[str]:
    """A command on an appliance as one of its users."""
    inside = lab.command(site, [])
    run = inside[: inside.index("setpriv")]
    run += ["setpriv", f"--reuid={user[1]}", f"--regid={user[1]}", "--clear-groups"]
    return subprocess.run([*run, *argv], capture_output=True, text=True, timeout=WAIT)


@contextmanager
def serving(lab: Lab) -> Iterator[None]:
    """beta's netserver runs, for alpha, over the DC link."""
    argv = [sys.executable, "-c", SERVES, lab.address("alpha", "dc-link"), lab.address("beta", "dc-link")]
    pipe = subprocess.PIPE
    asks = subprocess.Popen(lab.command("alpha", argv), stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert asks.stdin and asks.stdout
    try:
        assert asks.stdout.readline() == "ready\n", asks.communicate()
        yield
    finally:
        asks.stdin.close()
        asks.stdin = None
        asks.communicate(timeout=WAIT)


def owner(pid: int) -> tuple[int, int, str]:
    """(user, group, further groups)"""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return int(lines["Uid"].split()[1]), int(lines["Gid"].split()[1]), lines["Groups"].strip()


def test_agents_and_tools_are_the_measuring_users_at_both_ends(lab: Lab) -> None:
    with serving(lab):
        found = {}
        for site in ("alpha", "beta"):
            for pid, line in spaces.processes(lab.space(site)).items():
                for what in ("linkladder agent --peer", "linkladder agent --near", "netserver"):
                    if what in line and " doas" not in line and not line.startswith(("doas", "/usr/bin/doas", "sh ")):
                        with suppress(OSError):  # one that has ended since they were listed
                            found[site, what] = owner(pid)
    number = users.MEASURER[1]
    assert set(found) == {
        ("alpha", "linkladder agent --near"),
        ("beta", "linkladder agent --peer"),
        ("beta", "netserver"),
    }
    assert set(found.values()) <= {(number, number, ""), (number, number, str(number))}


@pytest.mark.skipif(not NETPERF.exists(), reason="netperf could not be had")
@pytest.mark.parametrize("passphrase", [[], ["-Z", KEY]], ids=["stranger", "paired"])
def test_nobody_reads_a_secret_by_netserver(lab: Lab, passphrase: list[str]) -> None:
    """netserver opens the file that its client names, as whoever it runs as; a paired peer has the passphrase."""
    beta, file = lab.address("beta", "dc-link"), lab.state("beta") / "site-secret"
    stranger = ["ip", "netns", "exec", lab.space("net")]
    with serving(lab):
        argv = [*stranger, sys.executable, "-c", SNIFFS, SECRET]
        sniffs = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert sniffs.stdout and sniffs.stdout.readline() == "ready\n"
        asks = [NETPERF, *passphrase, "-H", beta, "-p", str(PORT), "-l", "2", "-t", "TCP_MAERTS"]
        subprocess.run([*stranger, *asks, "-F", f"/dev/null,{file}"], capture_output=True, timeout=WAIT)
        assert sniffs.communicate(timeout=WAIT)[0] == "quiet\n"


@pytest.mark.skipif(not NETPERF.exists(), reason="netperf could not be had")
def test_a_stranger_gets_no_test_without_the_trials_passphrase(lab: Lab) -> None:
    stranger = ["ip", "netns", "exec", lab.space("net")]
    asks = [*stranger, NETPERF, "-H", lab.address("beta", "dc-link"), "-p", str(PORT), "-l", "1", "-t", "TCP_STREAM"]
    with serving(lab):
        for more in ([], ["-Z", "0" * 32]):
            done = subprocess.run([*asks, *more], capture_output=True, text=True, timeout=WAIT)
            assert done.returncode or "bits/sec" not in done.stdout, done


def test_the_measuring_user_can_read_nothing_that_is_kept(lab: Lab) -> None:
    for site in ("alpha", "beta"):
        state = lab.state(site)
        kept = [p for p in state.rglob("*") if p.is_file()]
        assert {"peers.json", "host_ed25519", "user_ed25519"} <= {p.name for p in kept}
        for path in kept:
            done = as_user(lab, site, users.MEASURER, "cat", str(path))
            assert done.returncode and "Permission denied" in done.stderr, path
        # nor change what it may look into: whose keys start an agent
        for command in (f"echo >>{state.parent}/trusted/authorized_keys", f"echo >{state.parent}/trusted/x",
                        f"mv {state.parent}/trusted {state.parent}/gone", f"echo >>{state.parent}/agent"):  # fmt: skip
            assert as_user(lab, site, users.MEASURER, "sh", "-c", command).returncode, command
    own = lab.folder / lab.prefix  # beside it lie other labs, whose agents go on
    search = ["find", str(own), "-user", str(users.MEASURER[1]), "-type", "f"]

    def owned() -> set[str]:
        lines = as_user(lab, "beta", users.MEASURER, *search).stdout.split()
        return {"/".join(Path(line).parts[-2:]) for line in lines}

    # an agent that has served an earlier test is noted until it has ended, and it ends after the one who asked it
    wait_for(lambda: not any(name.startswith("agents/") for name in owned()), 30, "an agent goes on")
    found = owned()
    held = {"run/trial.lock", "measure/settings.lock", "knocks/alpha"}  # the last: whom alpha had it knock at in vain
    assert found <= held, found


def test_the_measuring_user_becomes_nobody_else(lab: Lab) -> None:
    for whom in ("root", users.CONSOLE[0]):
        done = as_user(lab, "beta", users.MEASURER, "doas", "-n", "-u", whom, "id")
        assert done.returncode and "Operation not permitted" in done.stderr


def test_a_run_goes_through_as_ever(lab: Lab, tmp_path: Path) -> None:
    plan = lab.folder / lab.prefix / "short.toml"
    plan.write_text(PLAN)
    done = lab.linkladder("alpha", "run", "--plan", str(plan), "--peer", "beta")
    shown = json.loads(lab.linkladder("alpha", "show", "last", "--json").stdout)
    trials = [t for r in shown["rungs"] for e in r["experiments"] for t in e["trials"]]
    assert done.returncode == 0 and len(trials) == 4, done  # 1 where a trial failed


def test_whoever_is_trusted_no_more_is_served_no_more(lab: Lab) -> None:
    """The console ends agents that are another user's."""
    with serving(lab):
        assert lab.linkladder("beta", "peers", "remove", "alpha").returncode == 0
        deadline = time.monotonic() + 10
        while any("agent --peer" in line for line in spaces.processes(lab.space("beta")).values()):
            assert time.monotonic() < deadline, spaces.processes(lab.space("beta"))
            time.sleep(0.1)
        assert not any("netserver" in line for line in spaces.processes(lab.space("beta")).values())
