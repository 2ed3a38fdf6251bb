"""What a paired key can do over the control channel, and what it cannot: attempts with the real ssh client."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import trials
from pairing_world import ROUTED, SITES, UID, World, agree, flood, opened

pytestmark = [pytest.mark.lab, pytest.mark.timeout(120)]
HELLO = b'{"id": 1, "verb": "clock", "args": {}}\n'


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(f"llc{os.getpid()}").standing() as made:
        for site in SITES:
            made.start_sshd(site)
        beta = opened(made, "beta", "--open")
        agree(made.pair("alpha", ROUTED["beta"]), beta)
        yield made


@pytest.fixture(scope="module")
def client(world: World) -> list[str]:
    """The ssh client's words, as linkladder runs it."""
    return world.ssh("alpha")


def open_agent(argv: list[str]) -> subprocess.Popen[bytes]:
    one = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert one.stdin and one.stdout
    one.stdin.write(HELLO)
    one.stdin.flush()
    return one


def answers(one: subprocess.Popen[bytes]) -> bool:
    assert one.stdout
    return bool(json.loads(one.stdout.readline() or b"{}").get("id") == 1)


def changed(argv: list[str], *options: str, words: tuple[str, ...] = ()) -> list[str]:
    """The client's words with other options before, and another command than `agent` after."""
    at = argv.index("ssh") + 1
    return [*argv[:at], *options, *argv[at:-1], *(words or ("agent",))]


def without(argv: list[str], *names: str) -> list[str]:
    """Without the restrictions that our own client puts on itself; the far end's are what is tried here."""
    kept: list[str] = []
    for word in argv:
        if word in ("-T", "-a", "-x"):
            continue
        if kept and kept[-1] == "-o" and word.split("=")[0] in names:
            kept.pop()
            continue
        kept.append(word)
    return kept


def run(argv: list[str], given: bytes = b"", seconds: float = 15) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(argv, input=given, capture_output=True, check=False, timeout=seconds)


def test_no_other_command_and_no_shell(client: list[str]) -> None:
    """Whatever is asked for, and without any command, what starts is the agent."""
    asked = [
        ("id",),
        ("sh", "-c", "id; touch /tmp/x"),
        ("/bin/sh",),
        ("cat", "/etc/passwd"),
        ("agent", "--peer", "root"),
        (),
    ]
    running = [open_agent([*changed(client)[:-1], *words]) for words in asked]
    for one in running:
        out, _ = one.communicate(timeout=30)
        assert b"uid=" not in out and b"root:" not in out
        assert json.loads(out.splitlines()[0])["id"] == 1 and one.returncode == 0


def test_no_terminal(client: list[str]) -> None:
    done = run(changed(without(client, "RequestTTY", "LogLevel"), "-tt"), b"id\n" + HELLO)
    assert b"uid=" not in done.stdout and b"PTY allocation request failed" in done.stderr


def test_no_subsystem_no_copy(world: World, client: list[str]) -> None:
    """scp in both its languages, sftp itself and the subsystem by name: each gets the agent, which speaks neither."""
    done = run(changed(client, "-s", words=("sftp",)), b"\0\0\0\5\1\0\0\0\3")
    assert b"\0\0\0" not in done.stdout[:3]
    at = client.index("ssh")
    options = [w for w in without(client[at + 1 : client.index("--") - 2]) if w != "-p" and not w.isdigit()]
    source, target = world.state("alpha") / "peers.json", f"/tmp/{world.prefix}.x"
    there = f"ladder@{ROUTED['beta']}"
    attempts = [
        [*client[:at], "scp", "-O", "-P", "8622", *options, str(source), f"{there}:{target}"],
        [*client[:at], "scp", "-s", "-P", "8622", *options, str(source), f"{there}:{target}"],
        [*client[:at], "scp", "-O", "-P", "8622", *options, f"{there}:/etc/passwd", target],
        [*client[:at], "sftp", "-P", "8622", *options, f"{there}:/etc/passwd", target],
    ]
    pipe = subprocess.PIPE
    running = [subprocess.Popen(w, stdin=pipe, stdout=pipe, stderr=pipe) for w in attempts]
    deadline = time.monotonic() + 3  # the agent waits for its own language
    for one in running:
        with contextlib.suppress(subprocess.TimeoutExpired):
            assert one.wait(max(0.1, deadline - time.monotonic()))
        one.kill()
        one.communicate()
    assert not Path(target).exists()


def test_no_port_forwarding(world: World, client: list[str]) -> None:
    argv = without(client, "ClearAllForwardings")
    done = run(changed(argv, "-W", "127.0.0.1:8622")[:-1], b"x")
    assert done.returncode and b"SSH-2.0" not in done.stdout
    socket = f"/tmp/{world.prefix}.sock"
    for far in ("19001:127.0.0.1:22", f"{socket}:127.0.0.1:22"):
        done = run(changed(argv, "-o", "ExitOnForwardFailure=yes", "-R", far), HELLO)
        assert done.returncode and b"forwarding failed" in done.stderr
    one = open_agent(changed(argv, "-L", "19002:127.0.0.1:8622", "-D", "19003", "-L", f"19004:{world.state('beta')}/x"))
    assert answers(one)
    assert "left" in world.python("alpha", FORWARDED).stdout
    one.kill()
    one.wait()


FORWARDED = """
import socket
for port, first in ((19002, b""), (19004, b""), (19003, bytes([5, 1, 0]))):
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(5)
    s.sendall(first or b"x")
    if first:
        s.recv(2)
        s.sendall(bytes([5, 1, 0, 1, 127, 0, 0, 1, 33, 174]))  # SOCKS: connect to its port 8622
    try:
        got = s.recv(99)
    except ConnectionError:
        got = b""
    assert b"SSH" not in got and got[:2] != bytes([5, 0]), got
print("left with nothing")
"""


def test_no_agent_x11_or_tunnel(world: World, client: list[str]) -> None:
    argv = without(client, "ClearAllForwardings", "ForwardAgent", "ForwardX11", "LogLevel", "IdentityAgent")
    one = open_agent(changed(argv, "-v", "-A", "-X", "-w", "0:0"))
    assert answers(one) and one.stdin and one.stderr
    environment = agent_environment(world)
    assert not [name for name in environment if name.startswith(("SSH_AUTH", "DISPLAY", "XAUTH"))]
    assert not any(b"tun0" in line for line in world.within("beta", "ip", "link").encode().splitlines())
    one.kill()
    one.wait()


def agent_environment(world: World) -> dict[str, str]:
    for file in (world.state("beta") / "run" / "agents").iterdir():
        try:
            data = Path(f"/proc/{file.name.rpartition('.')[2]}/environ").read_bytes()
        except OSError:
            continue
        return dict(p.split("=", 1) for p in data.decode().split("\0") if "=" in p)
    raise AssertionError("no agent is running")


def test_no_environment_gets_through(world: World, client: list[str]) -> None:
    options = ("-o", "SetEnv=LC_X=evil LD_PRELOAD=/tmp/x PYTHONPATH=/tmp LINKLADDER_STATE=/tmp", "-o", "SendEnv=*")
    one = open_agent(changed(client, *options))
    assert answers(one)
    found = agent_environment(world)
    assert "LC_X" not in found and "LD_PRELOAD" not in found and found.get("PYTHONPATH") != "/tmp"
    assert found["LINKLADDER_STATE"] == str(world.state("beta"))
    one.kill()
    one.wait()


def test_without_a_paired_key_nothing(world: World, client: list[str]) -> None:
    """From the third host with a key of its own, with a password and with none; with a peer's host key neither."""
    key = world.folder / "stranger"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    base = ["ip", "netns", "exec", world.space("third"), "ssh", "-F", "/dev/null", "-p", "8622", "-o", "BatchMode=yes",
            "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]  # fmt: skip
    own = ["-i", str(key)]
    password = ["-o", "PreferredAuthentications=password,keyboard-interactive,hostbased,gssapi-with-mic"]
    attempts = [[*base, *how, "-l", user, ROUTED["beta"], "agent"] for how, user in (
        (own, "ladder"), (own, "root"), (own, "nobody"), (password, "ladder"), (password, "root"),
        (["-o", "PreferredAuthentications=none"], "ladder"),
    )]  # fmt: skip
    attempts.append([w.replace("user_ed25519", "host_ed25519") for w in client])
    pipe = subprocess.PIPE
    running = [subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe) for argv in attempts]
    for one in running:
        out, err = one.communicate(HELLO, timeout=20)
        assert one.returncode == 255 and not out and b"(publickey)" in err, (one.args, err)


def test_current_algorithms_only(world: World) -> None:
    """An old client is turned away before anybody says who they are."""
    base = ["ip", "netns", "exec", world.space("third"), "ssh", "-F", "/dev/null", "-p", "8622", "-o", "BatchMode=yes",
            "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]  # fmt: skip
    for old in ("KexAlgorithms=diffie-hellman-group14-sha256", "Ciphers=aes128-ctr", "HostKeyAlgorithms=rsa-sha2-512"):
        done = run([*base, "-o", old, "-l", "ladder", ROUTED["beta"], "agent"])
        assert done.returncode == 255 and b"no matching" in done.stderr, done.stderr


def test_a_changed_host_key_is_refused_in_words(world: World) -> None:
    """Beta's address under the pin of another appliance: what the command line says of it."""
    code = ("from dataclasses import replace; from linkladder.trust import peers, keys; import secrets;"
            "p = peers.find('beta'); k = keys.public(keys.user_key());"
            "import base64; u = 'ssh-ed25519 ' + base64.b64encode(bytes([0, 0, 0, 11]) + b'ssh-ed25519'"
            " + bytes([0, 0, 0, 32]) + secrets.token_bytes(32)).decode();"
            "peers.add(replace(p, name='gamma', host_key=k, user_key=u))")  # fmt: skip
    made = world.python("alpha", code)
    assert made.returncode == 0, made.stderr
    done = world.linkladder("alpha", "facts", "--peer", "gamma")
    assert done.returncode == 3 and not done.stdout
    for words in (
        "another key than it was paired with",
        "installed anew",
        "sits in between",
        "linkladder peers remove",
    ):
        assert words in done.stderr, done.stderr
    assert world.linkladder("alpha", "peers", "remove", "gamma").returncode == 0


HOSTILE = [
    (b'{"id": 2, "verb": "probe", "args": {"local": "10.91.2.2", "remote": "-h", "port": 5301, "key": "k"}}', "remote"),
    (b'{"id": 3, "verb": "listen", "args": {"address": "10.91.2.2", "port": 6, "peer": "::1", "key": "k"}}', "port"),
    (b'{"id": 4, "verb": "reserve", "args": {"holder": "a\\nb"}}', "holder"),
    (b'{"id": 5, "verb": "reserve", "args": {"holder": NaN}}', "NaN"),
    (b'{"id": 6, "verb": "reserve", "args": {"holder": ' + b"[" * 30000 + b"]" * 30000 + b"}}", "not a JSON line"),
    (b'{"id": 7, "verb": "reserve", "args": {"holder": "' + b"x" * 10_000_000 + b'"}}', "65536 bytes"),
    (b'{"id": 8, "verb": "counters", "args": {"address": "127.0.0.1", "interface": "/etc/passwd"}}', "interface"),
    (b'{"id": 9, "verb": "shell", "args": {}}', "unknown verb"),
]


def test_hostile_requests_over_the_real_channel(client: list[str]) -> None:
    """Each is refused by name and the same agent goes on; all of them, field by field, are in test_agent_hostile."""
    one = open_agent(client)
    assert answers(one) and one.stdin and one.stdout
    for line, named in HOSTILE:
        one.stdin.write(line + b"\n")
        one.stdin.flush()
        said = json.loads(one.stdout.readline())
        assert "ok" not in said and named in said["error"], said
    one.stdin.write(HELLO)
    one.stdin.flush()
    assert answers(one)
    one.kill()
    one.wait()


PLAN = """
name = "short"
[[experiment]]
tool = "iperf"
protocol = "tcp"
rungs = "dc-link"
streams = 1
duration = 4
warmup = 1
"""
FLOODER = "10.91.3.9"


def test_a_thousand_half_open_connections_stop_no_trial_and_no_pairing(world: World, client: list[str]) -> None:
    """A thousand each to 8622 and 8623, held while iperf runs between alpha and beta and a third appliance pairs."""
    plan = world.folder / "short.toml"
    plan.write_text(PLAN)
    (world.state("alpha") / "link.toml").write_text(
        f'[path.dc-link]\nlocal = "{ROUTED["alpha"]}"\nremote = "{ROUTED["beta"]}"\npeer = "beta"\n'
    )
    os.chown(world.state("alpha") / "link.toml", UID, UID)
    world.within("third", "ip", "addr", "add", f"{FLOODER}/24", "dev", "rt0")
    beta = opened(world, "beta", "--open")
    held = flood(world, FLOODER, "8622", "8623")
    try:
        words = ("run", "--plan", str(plan), "--peer", "beta", "--json", "-")
        argv = world.command("alpha", world.interpreter, "-m", "linkladder", *words)
        pipe = subprocess.PIPE
        trial = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)
        other = world.pair("third", ROUTED["beta"])
        agree(other, beta)
        out, err = trial.communicate(timeout=90)
        assert trial.returncode == 0, err
        (found,) = trials.of(out)
        assert found.ok and found.goodput_bps > 1e6, found.reason
        one = open_agent(client)  # and one more channel
        assert answers(one)
        one.kill()
        one.wait()
        assert held.poll() is None
    finally:
        held.kill()
        held.wait()
    assert world.linkladder("beta", "peers", "remove", "third").returncode == 0


def test_a_peer_that_crashed_comes_straight_back(client: list[str]) -> None:
    for _ in range(4):
        one = open_agent(client)
        assert answers(one)
        one.kill()
        one.wait()


def test_an_agent_does_not_start_on_open_keys_and_says_why(world: World, client: list[str]) -> None:
    key = world.state("beta") / "keys" / "user_ed25519"
    key.chmod(0o640)
    done = run(client, HELLO)
    told = world.linkladder("alpha", "facts", "--peer", "beta")
    key.chmod(0o600)
    assert done.returncode == 3 and not done.stdout and b"open to others" in done.stderr
    assert told.returncode == 3 and "the peer says: " in told.stderr and "at the peer: chmod 600" in told.stderr, told


def test_the_thirty_second_peer_is_as_good_as_the_first(world: World, client: list[str]) -> None:
    made = world.python("beta", MANY)
    assert made.returncode == 0, made.stderr
    lines = (world.state("beta") / "sshd" / "authorized_keys").read_text().splitlines()
    assert len(lines) == 32 and lines[-1].endswith(" alpha")
    one = open_agent(client)
    assert answers(one)
    one.kill()
    one.wait()
    shown = world.linkladder("beta", "peers").stdout.splitlines()
    assert len(shown) == 32 and len({line.split()[0] for line in shown}) == 32


MANY = r"""
import base64, secrets
from linkladder.trust import peers
def key():
    return "ssh-ed25519 " + base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0 " + secrets.token_bytes(32)).decode()
alpha = peers.find("alpha")
for number in range(31):
    peers.pin(peers.Peer("alpha" if number % 2 else "site", (f"192.0.2.{number}",), key(), key()))
peers.pin(alpha)
"""


def test_removing_ends_running_sessions_and_lets_nobody_back(world: World, client: list[str]) -> None:
    """The last test: it leaves the two unpaired."""
    one = open_agent(client)
    assert answers(one)
    assert world.linkladder("beta", "peers", "remove", "alpha").returncode == 0
    one.wait(30)
    done = run(client, HELLO)
    assert done.returncode == 255 and b"Permission denied" in done.stderr and not done.stdout
    told = world.linkladder("alpha", "facts", "--peer", "beta")
    assert told.returncode == 3 and "does not know this appliance" in told.stderr and "pair" in told.stderr
