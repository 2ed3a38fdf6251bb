"""A machine brought to three moments and frozen: before an upgrade, with it written, with the new system started."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

from .frozen import Frozen, freeze
from .machine import SLOW, WRITTEN, Machine, Shell
from .test_power import put

FILE = "/state/export/new.upgrade"
APPLY = f"su -m linkladder -c '/usr/local/bin/linkladder system upgrade {FILE} --yes'"
LONG = 900.0  # seconds, before emulation multiplies them
PLAN = """\
name = "kept"
[[experiment]]
rungs = ["localhost"]
streams = 1
duration = 1
warmup = 1
repeats = 2
"""
# The console on the video screen is not watched here, and would take half of an emulated machine.
ONE_CONSOLE = "sed -i '' '/^ttyv0/s/onifexists/off/' {}/etc/ttys"
# What the console user sees of the machine: everything before the last line is the same whatever was cut.
LOOK = """\
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
cd /state || exit
cksum system/hostid system/ssh/*.pub system/rc.conf linkladder/keys/* linkladder/link.toml linkladder/mine
/usr/local/bin/python3 - <<'ROWS'
import hashlib, sqlite3
db = sqlite3.connect("file:/state/linkladder/linkladder.db?mode=ro", uri=True)
for table in ("runs", "trials"):
    rows = db.execute(f"select * from {table} order by id").fetchall()
    print(table, len(rows), hashlib.sha256(repr(rows).encode()).hexdigest())
print("database", db.execute("pragma integrity_check").fetchone()[0], db.execute("pragma foreign_key_check").fetchall())
ROWS
report=$(mktemp -d)/kept.html
linkladder report last --html "$report" >/dev/null 2>&1 && linkladder verify "$report" >/dev/null
echo "verified $?"
linkladder doctor --json | /usr/local/bin/python3 -c '
import json, sys
print("bad", sorted(one["title"] for one in json.load(sys.stdin) if one["state"] == "bad"))'
linkladder system upgrade --status | head -n 1
"""
LOOKS = "su -m linkladder -c 'sh /state/look.sh'"


@dataclass(frozen=True)
class Moment:
    """Where cases begin, and how long it took from here to the next."""

    frozen: Frozen
    lasts: float
    begin: str  # what is typed to go on


@dataclass(frozen=True)
class Prepared:
    moments: dict[str, Moment]
    old: str
    look: str  # what LOOK said on the machine before any of it


class Looked:
    """What LOOK says, told apart."""

    def __init__(self, shell: Shell) -> None:
        status, said = shell.run("sh /state/look.sh", 300)
        assert status == 0, said
        self.state, _, self.system = said.replace("\r", "").rpartition("\n")


MARKED = "sysctl -b kern.geom.confxml | grep -q bootonce"  # while it is on trial


def settled(machine: Machine) -> Shell:
    """The console user's shell, from the console that is up, once the system is on trial no longer.

    A system that is on trial needs the console to stay: it is left for a look and started again.
    """
    limit = machine.seconds() + LONG * SLOW
    while True:
        machine.leave_tui()
        shell = Shell(machine.console)
        if shell.run(MARKED, 60)[0]:
            return shell
        assert machine.seconds() < limit, shell.run("cat /state/system/upgrade.why")[1]
        machine.console.type("exit\n")
        machine.await_tui()
        machine.console.pump(0.1)
        until = machine.seconds() + 30
        while machine.seconds() < until:
            machine.console.pump(1.0)


def bring(machine: Machine, shell: Shell, file: Path, tmp_path: Path) -> None:
    """The file into the machine, as the content of a disk that is plugged in and out."""
    assert file.is_file(), file
    size = file.stat().st_size
    disk = tmp_path / "carrier"
    disk.write_bytes(file.read_bytes() + bytes(-size % 512))
    machine.monitor(f"drive_add 0 file={disk},if=none,id=carrier,format=raw")
    machine.monitor("device_add scsi-hd,drive=carrier,bus=scsi0.0,id=carried,scsi-id=5,serial=carrier")
    find = "sh -c 'camcontrol rescan all >/dev/null; sleep 2; for d in /dev/da?; do echo $d; done | tail -1'"
    status, said = shell.run(find, 120)
    assert status == 0 and "/dev/da" in said, said
    copy = f"dd if={said.strip()} of={FILE} bs=1m 2>&1; truncate -s {size} {FILE}; ls -l {FILE}"
    status, said = shell.run(copy, 300)
    assert status == 0 and str(size) in said, said
    machine.monitor("device_del carried")


def version(said: str) -> str:
    found = re.search(r"(\d+\.\d+\.\d+) (?:runs|is on trial)", said)
    assert found, said
    return found[1]


def prepare(image: Path, folder: Path, firmware: str, upgrade: Path) -> Prepared:
    machine = Machine(folder, image, "ready", 14 if firmware == "bios" else 15, firmware=firmware)
    machine.start()
    moments = {}
    try:
        machine.await_tui()
        shell = machine.root()
        put(shell, "/state/look.sh", LOOK)
        put(shell, "/state/kept.toml", PLAN)
        run = "su -m linkladder -c '/usr/local/bin/linkladder run --quiet --plan /state/kept.toml'"
        told(shell.run(run, 300))
        chosen = "printf '[contract]\\nport = \"10G\"\\n' >/state/linkladder/link.toml"
        status, said = shell.run(f"{chosen}; echo mine >/state/linkladder/mine; chown linkladder /state/linkladder/*")
        assert status == 0, said
        shell.run(f"sysrc -f /state/system/rc.conf hostname=kept-name; {ONE_CONSOLE.format('')}", 60)
        bring(machine, shell, upgrade, folder)
        look = shell.run(LOOKS, 300)[1]
        assert "trials 2 " in look and "verified 0" in look and "database ok []" in look, look
        old = version(look)
        shell.run(WRITTEN, 120)
        ready = freeze(machine, folder / "ready.memory")

        machine, shell = thawed(ready, folder, "written")
        began = machine.seconds()
        status, said = shell.run(APPLY, LONG)
        assert status == 0 and "starts once" in said, said
        moments["writing"] = Moment(ready, machine.seconds() - began, APPLY)
        # An emulated machine takes many times as long for everything.
        patient = f"echo lltrial_seconds={900 * SLOW:.0f} >>/mnt/etc/rc.conf && {ONE_CONSOLE.format('/mnt')}"
        assert shell.run(f"mount /dev/gpt/llroot2 /mnt && {patient} && umount /mnt", 120)[0] == 0
        written = freeze(machine, folder / "written.memory")

        machine, shell = thawed(written, folder, "trial")
        began = machine.seconds()
        shell.console.type("shutdown -r now\n")
        machine.await_tui()
        moments["starting"] = Moment(written, machine.seconds() - began, "shutdown -r now")
        trial = freeze(machine, folder / "trial.memory")

        moments["trial"] = Moment(trial, moments["starting"].lasts / 4, "")
    finally:
        machine.cut()
    return Prepared(moments, old, look.replace("\r", "").rpartition("\n")[0])


def thawed(frozen: Frozen, folder: Path, name: str) -> tuple[Machine, Shell]:
    machine = frozen.thaw(folder, name)
    machine.console.type("\n")
    machine.console.settle(1.0)
    return machine, Shell(machine.console)


def read(noted: dict[str, object]) -> Prepared:
    moments = {}
    given = noted["moments"]
    assert isinstance(given, dict)
    for name, one in given.items():
        cold = one["frozen"]
        frozen = Frozen(Path(cold["disk"]), Path(cold["memory"]), cold["number"], cold["firmware"])
        moments[name] = Moment(frozen, one["lasts"], one["begin"])
    return Prepared(moments, str(noted["old"]), str(noted["look"]))


def told(*words: object) -> None:
    print(time.strftime("%H:%M:%S"), *words, flush=True)
