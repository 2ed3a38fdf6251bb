"""A site of three and more appliances with one secret: all are paired, each with each, and then the secret goes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from segment import Segment, segment

from linkladder import cli, damage, doctor
from linkladder.findings import Health
from linkladder.pairing import secret

TOP = Path(__file__).resolve().parents[2]
NAMES = ("alpha", "beta", "gamma", "delta")
PATIENCE = 120.0  # seconds for a whole site, on a machine that may be busy

MADE_UP = """
import os, socket, sys, threading, time
from linkladder.pairing import discovery
silent = socket.create_server((sys.argv[1], 0), backlog=4096)
wire = socket.socket(type=socket.SOCK_DGRAM)
wire.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
def speak():
    sent = 0
    while True:
        number, port = os.urandom(16).hex(), silent.getsockname()[1]
        beacon = discovery.Beacon(1, number, "x" + number[:8], "1", (), port, "SHA256:" + "A" * 43)
        wire.sendto(discovery.encode(beacon), ("10.94.0.255", discovery.PORT))
        sent += 1
        if sent == 200:
            print("ready", flush=True)
        time.sleep(0.01)
threading.Thread(target=speak, daemon=True).start()
sys.stdin.read()
silent.setblocking(False)
calls = 0
try:
    while silent.accept():
        calls += 1
except BlockingIOError:
    print(f"called {calls} times")
"""


class Site:
    """Appliances on one segment, each with a state folder and a copy of the secret."""

    def __init__(self, world: Segment, folder: Path, *names: str) -> None:
        self.world, self.folder, self.names = world, folder, names
        self.text = secret.new()
        for name in names:
            (folder / name).mkdir(mode=0o700)
            self.give(name)

    def file(self, name: str) -> Path:
        return self.folder / name / "site-secret"

    def give(self, name: str) -> None:
        self.file(name).touch(mode=0o600)
        self.file(name).write_text(self.text)

    def start(self, name: str, *words: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "linkladder", "pair", "--name", name, "--secret-file", str(self.file(name))]
        return self.world.start(
            name, *argv, "--forget-secret", *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env={**os.environ, "LINKLADDER_STATE": str(self.folder / name)},
        )  # fmt: skip

    @contextmanager
    def running(self, *words: str, names: tuple[str, ...] = ()) -> Iterator[dict[str, subprocess.Popen[str]]]:
        made = {name: self.start(name, *words) for name in names or self.names}
        try:
            yield made
        finally:
            for one in made.values():
                one.kill()
                one.wait()

    def peers(self, name: str) -> dict[str, bool]:
        """Who is trusted, and whether each may introduce others."""
        path = self.folder / name / "peers.json"
        return {p["name"]: p["introduces"] for p in json.loads(path.read_text())} if path.exists() else {}

    def meshed(self) -> bool:
        return all(self.peers(one) == dict.fromkeys(set(self.names) - {one}, True) for one in self.names)


@pytest.fixture(scope="module")
def world() -> Iterator[Segment]:
    with segment(*NAMES) as made:
        yield made


@pytest.mark.lab
@pytest.mark.parametrize("many", [3, 4])
def test_so_many_ends_pair_each_with_each_and_delete_the_secret(world: Segment, tmp_path: Path, many: int) -> None:
    site = Site(world, tmp_path, *NAMES[:many])
    with site.running("--ends", str(many), "--minutes", "4") as ends:
        said = {name: one.communicate(timeout=PATIENCE)[0] for name, one in ends.items()}
    assert {name: one.returncode for name, one in ends.items()} == dict.fromkeys(site.names, 0), said
    assert site.meshed()
    for name in site.names:
        assert not site.file(name).exists() and "the site secret is deleted here" in said[name]
        assert len(re.findall("^paired with", said[name], re.M)) == many - 1


@pytest.mark.lab
def test_where_nobody_knows_the_number_it_rests_before_it_goes(world: Segment, tmp_path: Path) -> None:
    """The last end is started once the others have long met; its coming makes them wait anew."""
    site = Site(world, tmp_path, *NAMES[:3])
    until = ("--wait", "0.25", "--minutes", "4")
    with site.running(*until, names=("alpha", "beta")) as first:
        for one in first.values():
            assert one.stdout
            while not one.stdout.readline().startswith("paired with"):
                assert one.poll() is None
        assert all(site.file(name).exists() for name in first)
        with site.running(*until, names=("gamma",)) as third:
            every = {**first, **third}
            said = {name: one.communicate(timeout=PATIENCE)[0] for name, one in every.items()}
    assert site.meshed(), said
    for name, one in every.items():
        assert one.returncode == 0 and "no further end has come for 15 s" in said[name], said[name]
        assert not site.file(name).exists() and "the site secret is deleted here" in said[name]


@pytest.mark.lab
def test_names_that_a_stranger_makes_up_are_not_called(world: Segment, tmp_path: Path) -> None:
    """A hundred a second, at an address that takes calls and says nothing: each took a place among four for seconds."""
    stranger = world.python("delta", MADE_UP, world.address("delta"))
    try:
        site = Site(world, tmp_path, "alpha", "beta")
        with site.running("--minutes", "4") as ends:
            said = {name: one.communicate(timeout=PATIENCE)[0] for name, one in ends.items()}
        assert site.meshed() and f"calling {world.address('delta')}" not in "".join(said.values()), said
    finally:
        calls = stranger.communicate()[0]
    assert calls == "called 0 times\n"


@pytest.mark.lab
def test_an_end_that_lost_power_while_it_waited_deletes_the_secret_in_the_end(world: Segment, tmp_path: Path) -> None:
    """It has its peers already, and nobody new comes: the rest is counted from the opening of the window."""
    site = Site(world, tmp_path, "alpha", "beta")
    with site.running("--ends", "2") as ends:
        for one in ends.values():
            one.communicate(timeout=PATIENCE)
    assert site.meshed() and not site.file("alpha").exists()
    site.give("alpha")
    with site.running("--wait", "0.02", names=("alpha",)) as ends:
        said = ends["alpha"].communicate(timeout=PATIENCE)[0]
    assert not site.file("alpha").exists(), said


@pytest.mark.lab
def test_one_that_misses_an_end_keeps_the_secret_and_says_what_is_missing(world: Segment, tmp_path: Path) -> None:
    site = Site(world, tmp_path, "alpha", "beta")
    with site.running("--ends", "3", "--minutes", "0.4") as ends:
        said = {name: one.communicate(timeout=PATIENCE)[0] for name, one in ends.items()}
    assert site.meshed()
    for name, one in ends.items():
        assert one.returncode == 1 and site.file(name).exists()
        assert "1 of 2 others are paired; the secret is kept" in said[name]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--ends", "3"), "by a site secret"),
        (("--secret-file", "s", "--ends", "1"), "2 to 99 ends"),
        (("--secret-file", "s", "--ends", "3", "192.0.2.1"), "not by an address"),
        (("--secret-file", "s", "--wait", "20"), "at most the 10 that the window is open"),
        (("--secret-file", "s", "--wait", "nan"), "above 0"),
    ],
)
def test_what_makes_no_site(words: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["pair", *words]) == 2
    assert why in capsys.readouterr().err


def test_the_images_pairing_comes_back_until_the_secret_is_gone() -> None:
    script = (TOP / "overlay/usr/local/etc/rc.d/linkladder_pair").read_text()
    assert 'until_gone="while [ -e $secret ]; do' in script
    (words,) = re.findall(
        r"linkladder pair --secret-file \$secret --forget-secret --wait (\d+) --minutes (\d+)", script
    )
    assert int(words[0]) <= int(words[1]) <= 60


DAMAGED = {
    "empty": b"",
    "of another form": b"what was given at deployment is no site secret\n",
    "with a mistake": secret.new().replace("-", "-0", 1)[:-1].encode(),
    "no text": b"\xff\xfe\0",
}


@pytest.mark.parametrize("damaged", [*DAMAGED, "open to others", "a folder"])
def test_one_that_cannot_be_used_is_told_on_home_and_by_doctor(own_state: Path, tmp_path: Path, damaged: str) -> None:
    """It was told nowhere: an empty one started nothing, and with another the loop began anew every five seconds."""
    file = own_state / "site-secret"
    if damaged == "a folder":
        file.mkdir()
    else:
        file.write_bytes(DAMAGED.get(damaged, secret.new().encode()))
        file.chmod(0o644 if damaged == "open to others" else 0o600)
    script = (TOP / "overlay/usr/local/etc/rc.d/linkladder_pair").read_text()
    (loop,) = re.findall(r'until_gone="(.*?)"', script, re.S)
    program = tmp_path / "linkladder"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m linkladder "$@"\n')
    program.chmod(0o755)
    loop = loop.replace("/usr/local/bin/linkladder", str(program)).replace("sleep 5", "exit 77")
    done = subprocess.run(
        ["sh", "-c", f"secret={file}; {loop}; exit 78"], capture_output=True, text=True, timeout=PATIENCE
    )
    assert not file.exists(), done
    (found,) = [one for one in doctor.examine() if one.title == "site-secret"]
    assert found.state == Health.WARN and "No end is paired by it" in found.detail, found
    assert "remove that folder" in found.remedy


def test_a_secret_that_a_person_names_stays_where_it_is(own_state: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.touch(mode=0o600)
    assert cli.main(["pair", "--secret-file", str(theirs)]) == 2
    assert theirs.exists() and not damage.found(own_state)
