"""What a paired key can do over the control channel, and what it cannot: attempts with the real ssh client."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pairing_world import ROUTED, SITES, World
from test_pairing import HALF_OPEN, agree

pytestmark = [pytest.mark.lab, pytest.mark.timeout(120)]
HELLO = b'{"id": 1, "verb": "clock", "args": {}}\n'


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made = World(f"llc{os.getpid()}")
    try:
        made.up()
        for site in SITES:
            made.start_sshd(site)
        beta = made.pair("beta", "--open", "--minutes", "1")
        beta.until("pairing is open")
        agree(made.pair("alpha", ROUTED["beta"], "--minutes", "1"), beta)
        yield made
    finally:
        made.down()


def open_agent(world: World, argv: list[str] | None = None) -> subprocess.Popen[bytes]:
    one = subprocess.Popen(argv or world.ssh("alpha"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)  # fmt: skip
    assert one.stdin and one.stdout
    one.stdin.write(HELLO)
    one.stdin.flush()
    return one


def answers(one: subprocess.Popen[bytes]) -> bool:
    assert one.stdout
    return json.loads(one.stdout.readline() or b"{}").get("id") == 1


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


def test_the_agent_answers(world: World) -> None:
    one = open_agent(world)
    assert answers(one)
    assert one.stdin
    one.stdin.close()
    assert one.wait(5) == 0


@pytest.mark.parametrize("words", [("id",), ("sh", "-c", "id; touch /tmp/x"), ("/bin/sh",), ("cat", "/etc/passwd")])
def test_no_other_command(world: World, words: tuple[str, ...]) -> None:
    done = run(changed(world.ssh("alpha"), words=words), HELLO)
    assert b"uid=" not in done.stdout and b"root:" not in done.stdout
    assert json.loads(done.stdout.splitlines()[0])["id"] == 1  # the agent, whatever was asked for


def test_no_shell_and_no_terminal(world: World) -> None:
    argv = without(world.ssh("alpha"), "RequestTTY", "LogLevel")
    done = run(changed(argv, "-tt"), b"id\n" + HELLO)
    assert b"uid=" not in done.stdout and b"PTY allocation request failed" in done.stderr


def test_no_subsystem_no_copy(world: World, tmp_path: Path) -> None:
    argv = world.ssh("alpha")
    done = run(changed(argv, "-s", words=("sftp",)), b"\0\0\0\5\1\0\0\0\3")
    assert b"\0\0\0" not in done.stdout[:3]
    at = argv.index("ssh")
    options = [w for w in without(argv[at + 1 : argv.index("--") - 2]) if w != "-p"]
    options = [w for w in options if not w.isdigit()]
    source = world.folder / "alpha" / "state" / "peers.json"
    for tool in (["scp", "-O"], ["scp", "-s"]):
        words = [
            *argv[:at],
            *tool,
            "-P",
            "8622",
            *options,
            str(source),
            f"ladder@{ROUTED['beta']}:/tmp/{world.prefix}.x",
        ]
        with contextlib.suppress(subprocess.TimeoutExpired):  # the agent waits for its own language
            assert run(words, seconds=4).returncode
        assert not Path(f"/tmp/{world.prefix}.x").exists()


def test_no_port_forwarding(world: World) -> None:
    argv = without(world.ssh("alpha"), "ClearAllForwardings")
    done = run(changed(argv, "-W", "127.0.0.1:8622")[:-1], b"x", 15)
    assert done.returncode and b"SSH-2.0" not in done.stdout
    done = run(changed(argv, "-o", "ExitOnForwardFailure=yes", "-R", "19001:127.0.0.1:22"), HELLO)
    assert done.returncode and b"forwarding failed" in done.stderr
    one = open_agent(world, changed(argv, "-L", "19002:127.0.0.1:8622", "-D", "19003"))
    assert answers(one)
    code = "import socket; s = socket.create_connection(('127.0.0.1', 19002)); s.settimeout(5); print(s.recv(9))"
    assert "SSH" not in world.python("alpha", code).stdout
    one.kill()
    one.wait()


def test_no_agent_x11_or_tunnel(world: World) -> None:
    argv = without(world.ssh("alpha"), "ClearAllForwardings", "ForwardAgent", "ForwardX11", "LogLevel", "IdentityAgent")
    one = open_agent(world, changed(argv, "-v", "-A", "-X", "-w", "0:0"))
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


def test_no_environment_gets_through(world: World) -> None:
    argv = world.ssh("alpha")
    options = ("-o", "SetEnv=LC_X=evil LD_PRELOAD=/tmp/x PYTHONPATH=/tmp LINKLADDER_STATE=/tmp", "-o", "SendEnv=*")
    one = open_agent(world, changed(argv, *options))
    assert answers(one)
    found = agent_environment(world)
    assert "LC_X" not in found and "LD_PRELOAD" not in found and found.get("PYTHONPATH") != "/tmp"
    assert found["LINKLADDER_STATE"] == str(world.state("beta"))
    one.kill()
    one.wait()


def test_without_a_paired_key_nothing(world: World) -> None:
    """From the third host with a key of its own, with a password and with none."""
    key = world.folder / "stranger"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    base = ["ip", "netns", "exec", world.space("third"), "ssh", "-F", "/dev/null", "-p", "8622", "-o", "BatchMode=yes",
            "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]  # fmt: skip
    for options in (["-i", str(key)], ["-o", "PreferredAuthentications=password,keyboard-interactive"],
                    ["-o", "PreferredAuthentications=none"]):  # fmt: skip
        for user in ("ladder", "root", "nobody"):
            done = run([*base, *options, "-l", user, ROUTED["beta"], "agent"], HELLO)
            assert done.returncode == 255 and not done.stdout and b"(publickey)" in done.stderr
            time.sleep(0.1)
    # The host key of a peer opens nothing either.
    argv = [w.replace("user_ed25519", "host_ed25519") for w in world.ssh("alpha")]
    done = run(argv, HELLO)
    assert done.returncode == 255 and not done.stdout


def test_a_changed_host_key_is_refused_in_words(world: World) -> None:
    code = ("from dataclasses import replace; from linkladder.pairing import peers, keys;"
            "p = peers.find('beta'); k = keys.public(keys.user_key());"
            "peers.add(replace(p, name='gamma', host_key=k))")  # fmt: skip
    assert world.python("alpha", code).returncode == 0
    done = run(world.ssh("alpha", "gamma"), HELLO)
    assert done.returncode == 255 and not done.stdout
    from linkladder.pairing.channel import explain_ssh_failure

    seen = explain_ssh_failure(done.stderr.decode(), 255)
    assert "another key" in seen.title and "sits in between" in seen.hint
    world.linkladder("alpha", "peers", "remove", "gamma")


def test_a_thousand_half_open_connections_stop_no_channel(world: World) -> None:
    running = open_agent(world)
    assert answers(running)
    argv = ["ip", "netns", "exec", world.space("third"), sys.executable, "-c", HALF_OPEN, ROUTED["beta"], "8622"]
    flood = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        assert flood.stdout and flood.stdout.readline() == "held\n"
        for _ in range(3):
            one = open_agent(world)
            assert answers(one)
            one.kill()
            one.wait()
        assert running.stdin
        running.stdin.write(HELLO)
        running.stdin.flush()
        assert answers(running)
    finally:
        flood.kill()
        flood.wait()
        running.kill()
        running.wait()


def test_a_peer_that_crashed_comes_straight_back(world: World) -> None:
    began = time.monotonic()
    for _ in range(6):
        one = open_agent(world)
        assert answers(one)
        one.kill()
        one.wait()
    assert time.monotonic() - began < 30


def test_removing_ends_running_sessions_and_lets_nobody_back(world: World) -> None:
    """The last test: it leaves the two unpaired."""
    one = open_agent(world)
    assert answers(one)
    began = time.monotonic()
    assert world.linkladder("beta", "peers", "remove", "alpha").returncode == 0
    one.wait(5)
    assert time.monotonic() - began < 5
    done = run(world.ssh("alpha"), HELLO)
    assert done.returncode == 255 and b"Permission denied" in done.stderr and not done.stdout
