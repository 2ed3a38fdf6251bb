"""The firewall of the image, said in nftables: test ports are the trial's peers' alone, and nobody is crowded out."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import users
from linkladder.priv import firewall, verbs
from linkladder.priv.checks import Refused
from network import GENTLE
from world import CONTROL_PORT, Lab, wait_for

TOP = Path(__file__).resolve().parents[2]
PF, NFT = (TOP / "overlay/etc/pf.conf").read_text(), (TOP / "tests/lab/firewall.nft").read_text()
SSHD = TOP / "overlay/usr/local/etc/linkladder/sshd_control.conf"
NOT_HERE = ("PerSourcePenalties", "mlkem768x25519-sha256,", "sntrup761x25519-sha512,")  # in Debian's older OpenSSH
WAIT = 90
PLAN = """
name = "short"
[[experiment]]
rungs = ["same-host", "dc-link"]
duration = 2
warmup = 1
direction = "reverse"
[[experiment]]
rungs = ["dc-link"]
protocol = "udp"
udp_rate = "20M"
duration = 4
warmup = 1
[[experiment]]
rungs = ["same-host"]
tool = "netperf"
protocol = "rr"
sessions = 4
duration = 1
warmup = 1
[[experiment]]
rungs = ["same-host"]
tool = "ping"
protocol = "echo"
count = 5
interval = 0.2
"""
DATAGRAMS = """
import socket, sys, time
sock = socket.socket(type=socket.SOCK_DGRAM)
print("ready", flush=True)
end = time.monotonic() + 40
while time.monotonic() < end:
    for port in range(5301, 5401):
        sock.sendto(b"x" * 200, (sys.argv[1], port))
    time.sleep(0.4)  # 0.5 Mb/s: a twentieth of a trial's bytes by others is told, and this is half of that
"""
FROM_EVERYWHERE = """
import socket, sys, time
host, port = sys.argv[1], int(sys.argv[2])
held, family = [], socket.AF_INET6 if ":" in host else socket.AF_INET
for source in sys.argv[3:]:
    sock = socket.socket(family)
    sock.bind((source, 0))
    sock.connect((host, port))
    held.append(sock)
print("ready", flush=True)
sys.stdin.read()
"""
SILENT = """
import socket, sys, time
held = []
for n in range(150):
    sock = socket.socket()
    sock.setblocking(False)
    sock.connect_ex((sys.argv[1], int(sys.argv[2])))
    held.append(sock)
print("ready", flush=True)
sys.stdin.read()
"""


def test_both_say_the_same() -> None:
    """Limits per source, and the ports that are open at all."""
    said = {}
    for port, most, rate, seconds in re.findall(
        r"port (\d+) flags S/SA keep state \(max-src-conn (\d+), max-src-conn-rate (\d+)/(\d+)\)", PF
    ):
        said[port] = (most, rate, int(rate) / int(seconds))
    for version in ("ip", "ip6"):  # pf's hold for both
        here = {}
        for port in said:
            (most,) = re.findall(rf"dport {port} .* {version} saddr ct count over (\d+)", NFT)
            limit = rf"dport {port} .* {version} saddr limit rate over (\d+)/second burst (\d+) packets"
            ((rate, burst),) = re.findall(limit, NFT)
            here[port] = (most, burst, float(rate))
        assert said == here and set(said) == {"22", "8622", "8623"}, version
    for text, ports in ((PF, "5301:5400"), (NFT, "5301-5400")):
        assert ports in text
    assert (firewall.FIRST, firewall.LAST) == (5301, 5400)
    rules = [line for line in PF.splitlines() if line and line[0] != "#"]
    assert sum(line.startswith("block") for line in rules) == 2
    order = [i for i, line in enumerate(rules) if line.startswith(("anchor", "block in quick", "pass"))]
    assert rules[order[0]] == 'anchor "trial"' and "5301:5400" in rules[order[1]]


def test_what_is_over_a_limit_comes_in_by_no_other_rule() -> None:
    """pf counts where the handshake ends: it forgets the state and drops that one packet; the kernel waits for more."""
    rules = [line.partition("#")[0].strip() for line in PF.splitlines() if line and line[0] != "#"]
    *_, shut, rest = rules
    found = re.fullmatch(r"block in quick proto tcp from any to any port \{ ([\d ]+) \}", shut)
    assert found and rest == "pass in all no state"
    limited = {port for line in rules for port in re.findall(r"port (\d+) .*max-src-conn", line)}
    assert set(found[1].split()) == limited
    for line in rules[:-2]:  # nothing before lets in what begins no connection
        assert "no state" not in line or "icmp" in line, line
        assert not line.startswith("pass in") or "flags S/SA keep state" in line, line
    ((ports, flags),) = re.findall(r"tcp dport \{ (.*?) \} ct state new tcp flags (.*) reject with tcp reset", NFT)
    assert set(ports.split(", ")) == limited and flags == "& (syn | ack) != syn"


def test_a_connection_that_is_over_counts_against_its_source_no_longer() -> None:
    """pf counts states, and by itself keeps one for a minute and a half: 12 at once would be 8 a minute."""
    (line,) = re.findall(r"^set timeout \{ (.*) \}", PF, re.M)
    seconds = {name: int(number) for name, number in (part.split() for part in line.split(", "))}
    for over in ("tcp.finwait", "tcp.closed"):
        assert seconds.get(over, 90) + seconds["interval"] <= 15


def test_begun_connections_from_invented_addresses_leave_room() -> None:
    """Of 20,000 states, each kept for two minutes, 200 a second took all, and no peer came in or was reached."""
    (limits,) = re.findall(r"^set limit \{ states (\d+), src-nodes (\d+) \}", PF, re.M)
    (line,) = re.findall(r"^set timeout \{ (.*) \}", PF, re.M)
    seconds = {name: int(number) for name, number in (part.split() for part in line.split(", "))}
    most = min(map(int, limits))
    for begun in ("tcp.first", "tcp.opening"):
        assert most / (seconds[begun] + seconds["interval"]) > 5000, "a second"
    # The fuller it is the sooner all are forgotten; a control channel says something every five seconds.
    assert seconds["adaptive.start"] < most
    left = (seconds["adaptive.end"] - most) / (seconds["adaptive.end"] - seconds["adaptive.start"])
    established = 86400  # pf's default
    assert established * left > 60
    order = [one.split()[0] for one in PF.splitlines() if one and one[0] != "#"]
    assert order == sorted(order, key=lambda word: ["set", "scrub"].index(word) if word in ("set", "scrub") else 2)


def test_a_trial_opens_to_its_peers_and_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[tuple[list[str], str]] = []
    monkeypatch.setattr(firewall, "feed", lambda argv, text: fed.append((argv, text)))
    (step,) = verbs.build("measure", "trial-open", ["lo", "10.0.0.2", "lo", "fd00::2"], "FreeBSD")
    assert callable(step)
    step()
    ((argv, text),) = fed
    assert argv == ["/sbin/pfctl", "-q", "-a", "trial", "-f", "-"]
    lines = text.splitlines()
    assert len(lines) == 8 and all(line.startswith("pass quick on lo inet") for line in lines)
    assert all("10.0.0.2" in line for line in lines[:4]) and all("fd00::2" in line for line in lines[4:])
    assert lines[0] == "pass quick on lo inet proto { tcp udp } from 10.0.0.2 to any port 5301:5400 no state"
    assert verbs.build("measure", "trial-close", [], "FreeBSD") == [["/sbin/pfctl", "-q", "-a", "trial", "-F", "rules"]]
    for bad in (["lo"], ["lo", "any"], ["lo", "10.0.0.2", "lo"], ["lo", "10.0.0.0/8"], ["lo", "10.0.0.2\n"],
                ["no-such0", "10.0.0.2"], ["lo", "224.0.0.1"], ["lo", "10.0.0.2"] * 65, []):  # fmt: skip
        with pytest.raises(Refused):
            verbs.build("measure", "trial-open", bad, "FreeBSD")


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(prefix="llwall", inside=GENTLE, firewall=True).paired() as made:
        yield made


def stranger(lab: Lab, script: str, *words: str) -> subprocess.Popen[str]:
    argv = ["ip", "netns", "exec", lab.space("net"), sys.executable, "-c", script, *words]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


def trial_rules(lab: Lab, site: str) -> str:
    argv = ["ip", "netns", "exec", lab.space(site), "nft", "list", "chain", "inet", "linkladder", "trial"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


@pytest.mark.lab
def test_a_run_passes_and_a_strangers_datagrams_do_not_fail_it(lab: Lab) -> None:
    plan = lab.folder / lab.prefix / "short.toml"
    plan.write_text(PLAN)
    noise = stranger(lab, DATAGRAMS, lab.address("beta", "dc-link"))
    try:
        argv = [sys.executable, "-m", "linkladder", "run", "--plan", str(plan), "--peer", "beta"]
        pipe = subprocess.PIPE
        run = subprocess.Popen(lab.command("alpha", argv), stdout=pipe, stderr=pipe, text=True)
        seen = set()
        while run.poll() is None:
            seen |= {line.strip() for line in trial_rules(lab, "beta").splitlines() if "saddr" in line}
            time.sleep(0.1)
        out, errors = run.communicate()
    finally:
        noise.kill()
        noise.communicate()
    assert run.returncode == 0, out + errors
    shown = json.loads(lab.linkladder("alpha", "show", "last", "--json").stdout)
    assert sum(len(e["trials"]) for r in shown["rungs"] for e in r["experiments"]) == 5
    # open to alpha alone, on the interface of each rung; and afterwards to nobody
    sources = {found for line in seen for found in re.findall(r'iifname "(\w+)" ip saddr (\S+)', line)}
    assert sources == {("sh0", lab.address("alpha", "same-host")), ("dc0", lab.address("alpha", "dc-link"))}
    wait_for(lambda: "saddr" not in trial_rules(lab, "beta"), 5, "the ports stayed open")
    assert "saddr" not in trial_rules(lab, "alpha")


@pytest.fixture
def shipped() -> Iterator[Lab]:
    """The control channel as the image has it: its sshd_config, its user, its firewall."""
    lab = Lab(prefix="llship", two_users=True)
    with lab.paired():
        for site in ("alpha", "beta"):
            lab._in(site, "nft", "-f", str(TOP / "tests/lab/firewall.nft"))
        lab.stop_control("beta")
        base = lab.state("beta").parent
        text = SSHD.read_text()
        text = text.replace("/var/db/linkladder-trusted", str(base / "trusted")).replace("/var/run", str(base))
        text = text.replace("/var/db/linkladder/", f"{base}/state/")
        for name in NOT_HERE:
            text = re.sub(rf"^{name}.*\n", "", text, flags=re.M) if name[0].isupper() else text.replace(name, "")
        config = base / "shipped.conf"
        config.write_text(text.replace("Port 8622", f"Port {CONTROL_PORT}"))
        run = lab.command("beta", [])
        run = run[: run.index("setpriv")]
        wait_for(lambda: not lab._listens("beta"), 10, "the lab's own sshd stayed")
        log = (base / "shipped.log").open("w")
        sshd = subprocess.Popen([*run, "/usr/sbin/sshd", "-D", "-e", "-f", str(config)], stdout=log, stderr=log)
        try:
            wait_for(lambda: lab._listens("beta"), 10, f"sshd did not start: {log.name}")
            yield lab
        finally:
            sshd.terminate()
            sshd.wait()


REACH = """
import asyncio
from linkladder.peer import connect, near_end
async def main():
    near = await near_end()
    far = await connect("beta")
    print(far.hello.name)
    await far.close()
    await near.close()
asyncio.run(main())
"""


@pytest.mark.lab
def test_silent_connections_of_one_stranger_keep_no_peer_out(shipped: Lab) -> None:
    """A hundred and fifty, where sshd has a hundred places and gives each ten seconds."""
    crowd = stranger(shipped, SILENT, shipped.address("beta", "dc-link"), str(CONTROL_PORT))
    try:
        argv = shipped.command("alpha", [sys.executable, "-c", REACH])
        for _ in range(3):
            done = subprocess.run(argv, capture_output=True, text=True, timeout=WAIT)
            assert done.stdout == "beta\n", done
    finally:
        crowd.kill()
        crowd.communicate()
    assert users.MEASURER[0] in SSHD.read_text()


@pytest.mark.lab
@pytest.mark.parametrize("version", [4, 6])
def test_silent_connections_from_many_addresses_keep_no_peer_out(shipped: Lab, version: int) -> None:
    """A hundred and twenty, none of which any limit by source concerns; by IPv6 anybody has as many addresses."""
    there = shipped.address("beta", "dc-link", version)
    net = there.rpartition(":" if version == 6 else ".")[0]
    sources = [f"{net}:a{n:x}" if version == 6 else f"{net}.{n}" for n in range(100, 220)]
    for source in sources:
        shipped._in("net", "ip", "addr", "add", f"{source}/{64 if version == 6 else 24}", "dev", "dbeta",
                    *(["nodad"] if version == 6 else []))  # fmt: skip
    crowd = stranger(shipped, FROM_EVERYWHERE, there, str(CONTROL_PORT), *sources)
    try:
        done = subprocess.run(shipped.command("alpha", [sys.executable, "-c", REACH]), capture_output=True, text=True,
                              timeout=WAIT)  # fmt: skip
        assert done.stdout == "beta\n", done
    finally:
        crowd.kill()
        crowd.communicate()
