"""The ways to root and to what is kept, tried on a booted image by those who might take them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .machine import SLOW
from .pair import PROGRAM, Pair

FILL = "cd /state/measure && for n in $(seq 40); do dd if=/dev/zero of=fill$n bs=64k count=200 || break; done"
PLAN = """\
name = "amid"
[[experiment]]
rungs = ["same-vlan"]
streams = 1
duration = 2
warmup = 1
repeats = 2
"""
GREETERS = """
import select, socket, sys, time
held = [socket.create_connection((sys.argv[1], 8622), 60) for _ in range(30)]
for one in held:
    try:
        one.sendall(b"SSH-2.0-x\\r\\n")
    except OSError:
        pass
greeted, limit = 0, time.monotonic() + float(sys.argv[2])
while held and time.monotonic() < limit:
    for one in select.select(held, [], [], 1)[0]:
        held.remove(one)
        try:
            greeted += one.recv(64).startswith(b"SSH-2.0-")
        except OSError:
            pass
print(greeted, len(held))
"""
PF = Path(__file__).resolve().parents[2] / "overlay/etc/pf.conf"
KEPT = ("/state/linkladder/peers.json", "/state/linkladder/keys/host_ed25519", "/state/linkladder/keys/user_ed25519")


@pytest.fixture(autouse=True)
def entered(pair: Pair) -> None:
    """By the tests' own way in, without which every attack would fail."""
    pair.enter()


def tried(pair: Pair, who: str, command: str) -> tuple[int, str]:
    """What a user of the appliance gets of a command; a line of nothing answers what may ask for a password."""
    line = f"su -m {who} -c {shlex.quote(command)} 2>&1"
    # The helper takes the end of a pipe for its caller's, and ends what it started.
    line = f"{line} </dev/null" if command.startswith("doas") else f"echo | {line}"
    done = pair.beta.ssh(f'{line}; echo "ended with $?"')
    said, _, status = done.stdout.rpartition("ended with ")
    return int(status), said


@pytest.mark.parametrize("who", ["admin", "llmeasure", "linkladder"])
def test_nobody_becomes_root_by_his_empty_password(pair: Pair, who: str) -> None:
    for command in ("su root -c id", "su - root -c id", "login root", "doas -n id", "doas -n -u root sh -c id"):
        status, said = tried(pair, who, command)
        assert (status or "Login incorrect" in said) and "uid=0" not in said, (who, command, said)


def test_two_programs_run_as_somebody_else(pair: Pair) -> None:
    found = pair.beta.ssh("find / -xdev -type f \\( -perm -4000 -o -perm -2000 \\)").stdout.split()
    assert set(found) == {"/sbin/ping", "/sbin/ping6", "/usr/local/bin/doas"}, "ping6 is ping by another name"
    assert tried(pair, "llmeasure", "ping -c 1 127.0.0.1")[0] == 0


def test_nobody_leaves_a_job(pair: Pair) -> None:
    for who in ("admin", "llmeasure"):
        for command in ("echo id | at now", "echo '* * * * * id' | crontab -"):
            assert tried(pair, who, command)[0], (who, command)


def test_the_measuring_user_reads_nothing_and_asks_for_measuring_verbs_alone(pair: Pair) -> None:
    pair.paired()
    for path in KEPT:
        status, said = tried(pair, "llmeasure", f"cat {path}")
        assert status and "Permission denied" in said, (path, said)
    status, said = tried(pair, "llmeasure", "ls /state/export")
    assert status and "Permission denied" in said and tried(pair, "admin", "ls /state/export")[0] == 0, said
    for verb in ("reboot", "ssh on", "install da0", "kernel-next GENERIC"):
        assert tried(pair, "llmeasure", f"doas -n /usr/local/libexec/linkladder-priv {verb}")[0], verb
        status, said = tried(pair, "llmeasure", f"doas -n /usr/local/libexec/linkladder-measure {verb}")
        assert status == 2 and "operator at the console only" in said, (verb, said)
    assert tried(pair, "llmeasure", "doas -n /usr/local/libexec/linkladder-measure trial-close")[0] == 0


def test_the_firewall_is_in_force_and_shut(pair: Pair) -> None:
    assert "Status: Enabled" in pair.beta.ssh("pfctl -s info").stdout
    rules = pair.beta.ssh("pfctl -s rules").stdout
    assert 'anchor "trial"' in rules and "5301:5400" in rules and "max-src-conn 12" in rules
    assert pair.beta.ssh("pfctl -a trial -s rules").stdout.strip() == ""
    asked = f"nc -z -w 5 {pair.beta.test} 5301"
    assert pair.alpha.user(asked, check=False).returncode


def test_of_thirty_connections_of_one_source_only_as_many_as_pf_allows_are_greeted(pair: Pair) -> None:
    (most,) = re.findall(r"port 8622 .*max-src-conn (\d+)", PF.read_text())
    argv = ["ip", "netns", "exec", pair.beta.space, sys.executable, "-c", GREETERS, pair.beta.management]
    argv.append(str(60 * SLOW))
    said = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=600 * SLOW).stdout
    greeted, unanswered = map(int, said.split())
    assert 0 < greeted <= int(most) == 12 and not unanswered, said


def test_a_full_place_of_the_measuring_user_leaves_the_state_its_room_and_runs_go_on(pair: Pair) -> None:
    pair.paired()
    pair.describe()
    free = "df -k /state | awk 'NR == 2 { print $4 }'"
    before = int(pair.beta.ssh(free).stdout)
    mounted = pair.beta.ssh("mount -p | awk '$2 == \"/state/measure\"'").stdout
    assert mounted.startswith("/dev/md") and "nosuid" in mounted and "noexec" in mounted, mounted
    try:
        _, said = tried(pair, "llmeasure", FILL)
        assert "No space left" in said, said
        assert before - int(pair.beta.ssh(free).stdout) < 4096, "kilobytes of the state partition"
        assert tried(pair, "linkladder", "dd if=/dev/zero of=/state/linkladder/mine bs=1m count=64")[0] == 0
        pair.alpha.ssh("cat >/tmp/amid.toml; chmod 644 /tmp/amid.toml", given=PLAN)
        done = pair.alpha.user(f"{PROGRAM} run --plan /tmp/amid.toml", check=False, seconds=600)
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        pair.beta.ssh("rm -f /state/linkladder/mine /state/measure/fill*")
