"""Two machines out of the box, on their consoles alone: addresses, a code compared, the ladder climbed, a report."""

from __future__ import annotations

import concurrent.futures
import json
import os
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkladder.priv.firewall import FIRST, LAST

from .machine import SLOW
from .pair import PORT, PROGRAM, Pair
from .screen import Screen

CODE = re.compile(r"\b(\d{3} \d{3})\b")
ENDED = ("The run is complete", "ended early")


@pytest.fixture(scope="module")
def keep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the screens go: LINKLADDER_ARTIFACTS, for people to look at."""
    return Path(os.environ.get("LINKLADDER_ARTIFACTS", tmp_path_factory.mktemp("screens"))) / "vm"


@pytest.fixture
def screens(pair: Pair, keep: Path) -> Iterator[tuple[Screen, Screen]]:
    alpha, beta = (Screen(machine, keep) for machine in pair.machines)
    yield alpha, beta
    alpha.close()
    beta.close()


def test_two_consoles_pair_by_code_climb_and_keep_the_report(
    pair: Pair, screens: tuple[Screen, Screen], keep: Path
) -> None:
    alpha, beta = screens
    for screen, site in ((alpha, pair.alpha), (beta, pair.beta)):
        print(f"{screen.machine.name}: power on to TUI {screen.machine.to_tui:.1f} s")
        screen.until("> Open pairing", 180)
        screen.keys("s")
        screen.until("Host name")
        screen.keys("Down", "Enter")
        screen.until("written with its prefix")
        # The test adapter instead of the first, a fixed address, no router; the safe answer to the question is no.
        screen.keys("Right", "Enter")
        screen.until("< vmx1,")
        screen.keys("Right", "Enter")
        screen.until("< fixed >")
        screen.until_still(2.0)  # nobody types faster than the field comes
        screen.keys(f"{site.test}/24", "Enter", "Enter")
        screen.until(f"{site.test}/24")
        screen.keys("Enter")
        screen.until("Change vmx1 now?")
        screen.keys("Left", "Enter")
        screen.until(f"vmx1 has {site.test}/24", 180)
        screen.keys("Escape")
        screen.until("> Open pairing")
    began = time.monotonic()
    for screen in screens:
        screen.keys("Enter")
    alpha.until("heard")
    beta.until("heard")
    alpha.keys("Enter")
    codes = [CODE.findall(screen.until("What does the other screen show?"))[-1] for screen in screens]
    assert codes[0] != codes[1]
    print(f"the consoles show {codes[0]} and {codes[1]}")
    for screen, theirs in zip(screens, reversed(codes), strict=True):
        screen.keys("Enter", theirs, "Enter")
    alpha.until("is paired")
    beta.until("is paired")
    alpha.keys("Enter")
    alpha.until(pair.beta.test, 180)  # the address of the test adapter is offered
    alpha.until("[ Climb the ladder ]")
    alpha.keys("F2")
    alpha.until("localhost", 180)
    end = time.monotonic() + 900 * SLOW
    while not any(words in (text := alpha.text()) for words in ENDED):
        assert time.monotonic() < end, text
        if "press Enter" in " ".join(text.split()):  # the machine stands where the next rung wants it
            alpha.keys("Enter")
        alpha.machine.console.pump(2.0)
    alpha.until("The run is complete")
    print(f"from two unpaired consoles to the end of quick: {time.monotonic() - began:.0f} s")
    alpha.keys("Enter")
    print(alpha.until("dc-link"))
    alpha.keys("x")
    alpha.until("HTML report")
    alpha.keys("Enter")
    alpha.until("Written:", 120)
    pair.enter()
    report = pair.alpha.ssh("cat /state/export/*.html").stdout
    (keep / "report.html").write_text(report)
    assert pair.beta.test in report and report.rstrip().endswith("</html>")
    told = pair.alpha.user(f"{PROGRAM} judge last", check=False).stdout
    print(told)
    assert "localhost" in told and "same-vlan" in told


def test_nothing_but_the_control_channel_answers_a_scan(pair: Pair) -> None:
    """Every TCP port of both adapters, and of one by IPv6, tried from the other machine with nc of the base system."""
    pair.enter()
    local = pair.alpha.ssh("ifconfig vmx1 inet6 | awk '$1 == \"inet6\" { print $2; exit }'").stdout.strip()
    assert local.startswith("fe80:") and local.endswith("%vmx1"), local
    pair.beta.ssh("pfctl -qd")  # with its own filter, connections that it refused itself are neither open nor closed
    try:
        for address in (pair.alpha.test, pair.alpha.management, local):
            # pf's refusal finds no way to a link-local address: there the tools' ports are silent, and as shut.
            silent = set(range(FIRST, LAST + 1)) if address == local else set()
            assert _scanned(pair, address) == ({8622, PORT}, silent)  # PORT: the tests' own way in, on every address
    finally:
        pair.beta.ssh("pfctl -qe")


def _scanned(pair: Pair, address: str) -> tuple[set[int], set[int]]:
    """What is open, and what gives no answer; of every other port comes a refusal."""
    ranges = [f"{first}-{first + 8191}" for first in range(8192, 65536, 8192)]
    ranges += [f"1-{FIRST - 1}", f"{LAST + 1}-8191", *(f"{first}-{first + 9}" for first in range(FIRST, LAST, 10))]
    one = f"nc -nzv -w 5 {address} $r 2>&1 | grep -v ': Connection refused$' >/tmp/scan.$r &"
    scan = f"rm -f /tmp/scan.*; for r in {' '.join(ranges)}; do {one} done; wait; cat /tmp/scan.*"
    began = time.monotonic()
    said = pair.beta.ssh(scan, check=False, seconds=1800).stdout
    print(f"{address}: all ports tried in {time.monotonic() - began:.0f} s\n{said}")
    found = {int(port) for port in re.findall(r"(\d+) port \[tcp/.*\] succeeded", said)}
    silent = {int(port) for port in re.findall(r"port (\d+) \(tcp\) failed: Operation timed out", said)}
    assert len(said.splitlines()) == len(found) + len(silent), f"neither open nor shut nor silent: {said}"
    return found, silent


def test_a_paired_key_starts_the_agent_and_nothing_else(pair: Pair) -> None:
    """What tests/lab/test_pairing_channel.py tries on Linux, tried on the OpenSSH of the image."""
    pair.paired()
    attempts = {
        "a command": ("id", "uid="),
        "a shell": ("/bin/sh -c 'id; echo in-a-shell'", "in-a-shell"),
        "a terminal": ("-tt", "/dev/pts"),
        "sftp": ("-s sftp", "sftp-server"),
        "forwarding": ("-W 127.0.0.1:22", "SSH-2.0"),
    }
    refused = {"a terminal": "PTY allocation", "sftp": "subsystem"}
    base = (
        "ssh -F /dev/null -T -p 8622 -i /var/db/linkladder/keys/user_ed25519 -o StrictHostKeyChecking=no "
        "-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o BatchMode=yes -o IdentitiesOnly=yes"
    )
    hello = json.dumps({"id": 1, "verb": "clock", "args": {}})
    for what, (words, sign) in attempts.items():
        options, command = (words, "") if words.startswith("-") else ("", words)
        if what == "sftp":
            options, command = "-s", "sftp"
        line = f"{base} {options} llmeasure@{pair.beta.management} {shlex.quote(command) if command else ''}"
        asked = f"(echo '{hello}'; sleep {8 + 4 * SLOW:.0f}) | timeout 90 {line} 2>&1"
        said = pair.alpha.user(asked, check=False, seconds=120).stdout
        print(f"{what}: {said.strip()[:160]!r}")
        assert sign not in said, (what, said)
        if what in refused:  # the client goes when it is refused what it insisted on
            assert said.strip() == f"{refused[what]} request failed on channel 0", said
        elif what != "forwarding":
            assert '"id":1' in said.replace(" ", ""), f"{what}: the agent did not answer: {said}"
    with concurrent.futures.ThreadPoolExecutor() as beside:
        line = f"(echo '{hello}'; sleep {8 * SLOW:.0f}) | {base} llmeasure@{pair.beta.management}"
        served = beside.submit(pair.alpha.user, line, False)
        time.sleep(5 * SLOW)
        memory = pair.beta.ssh("ps -axo rss,command | grep '[l]inkladder.* agent'").stdout
        served.result()
    print(f"agents (KB): {memory}")
    assert 0 < max(int(one.split()[0]) for one in memory.splitlines()) < 100_000
    stranger = pair.alpha.user(f"{base} -o PubkeyAuthentication=no llmeasure@{pair.beta.management} id", check=False)
    assert stranger.returncode == 255 and "Permission denied (publickey)" in stranger.stderr + stranger.stdout


def test_root_and_the_operator_stay_outside(pair: Pair) -> None:
    """On the control channel, and on port 22, where nothing listens until the operator's ssh is switched on."""
    pair.paired()
    key = "-i /var/db/linkladder/keys/user_ed25519 -o IdentitiesOnly=yes"
    base = f"ssh -F /dev/null {key} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes"
    for name in ("root", "admin"):
        tried = pair.alpha.user(f"{base} -p 8622 {name}@{pair.beta.management} id", check=False)
        assert tried.returncode == 255 and "Permission denied" in tried.stderr + tried.stdout, (name, tried)
        tried = pair.alpha.user(f"{base} -p 22 {name}@{pair.beta.management} id", check=False)
        assert tried.returncode == 255 and "Connection refused" in tried.stderr + tried.stdout, (name, tried)
    # Switched on with a key, it lets in the operator and nobody else.
    public = pair.alpha.user("cat /var/db/linkladder/keys/user_ed25519.pub").stdout.split()
    pair.beta.ssh(f"{PROGRAM} system ssh key {public[0]} {public[1]} tests && {PROGRAM} system ssh on")
    tried = pair.alpha.user(f"{base} -p 22 root@{pair.beta.management} id", check=False)
    assert tried.returncode == 255 and "Permission denied" in tried.stderr + tried.stdout
    let_in = pair.alpha.user(f"{base} -p 22 admin@{pair.beta.management} id -un", check=False)
    assert let_in.stdout.strip() == "admin", let_in
    # His linkladder is the appliance's own: its peers, and on a terminal its console, the second one.
    there = f"{base} -p 22 -tt admin@{pair.beta.management}"
    peers = pair.alpha.user(f"{base} -p 22 admin@{pair.beta.management} {PROGRAM} peers list").stdout
    assert "alpha" in peers, peers
    shown = pair.alpha.user(
        f"(sleep {20 * SLOW:.0f}; printf q; sleep {4 * SLOW:.0f}) | {there} 'stty rows 25 columns 80; {PROGRAM}'",
        check=False,
        seconds=60 * SLOW,
    ).stdout
    assert "Next step" in shown and "alpha" in shown, shown[-3000:]
    pair.beta.ssh(f"{PROGRAM} system ssh off")
    assert "Connection refused" in pair.alpha.user(f"{base} -p 22 admin@{pair.beta.management} id", check=False).stderr
