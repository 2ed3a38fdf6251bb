"""Make overlay/usr/local/share/linkladder/tunables.json, which `linkladder doctor` reads, from the shipped files.

The configuration files are the truth; `--check` fails when the manifest is older than they are.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

OVERLAY = Path(__file__).resolve().parents[1] / "overlay"
MANIFEST = OVERLAY / "usr/local/share/linkladder/tunables.json"
FILES = {"loader": "boot/loader.conf", "sysctl": "etc/sysctl.conf", "rc": "etc/rc.conf"}
WHY = r"\s*#\s*(?P<why>.*?)\s*\[(?P<source>[^\]]+)\]$"
LINE = re.compile(r'(?P<name>[A-Za-z]\w*(?:\.\w+)*)=(?:"(?P<quoted>[^"]*)"|(?P<plain>[^"\s]*))' + WHY)
NIC = re.compile(r"(?:dev|hw)\.(vmx|ix|ixl|ice|igc|bnxt|mce)\.|(ice)_ddp_load$")
UNIT = re.compile(r"^(dev\.[a-z]+)\.\d+\.")
# rc.d/lltune: from how many gigabytes on, what it raises, and the offloads it turns on wherever the adapter can.
TUNE = OVERLAY / "etc/rc.d/lltune"
LEAST_MEMORY = re.compile(r'if \[ "\$gigabytes" -ge (\d+) \]')
RAISE = re.compile(r"\s*lltune_raise (?P<name>[\w.]+) (?P<value>\d+)" + WHY)
OFFLOAD = re.compile(r"\b[A-Z0-9]+:([a-z0-9]+)\b")
PLAIN = {"tso4": "tso"}  # ifconfig's word, and the one that everything else uses
# What the kernel makes of a value that means "as many as there are cores", and what it makes by itself.
READ_BACK = {"net.isr.maxthreads": ">=cores"}
BUCKETS = {
    "name": "net.inet.rss.buckets",
    "kind": "kernel",
    "value": ">=cores",
    "why": "receive side scaling: a bucket of flows for every core at least",
    "source": "sys/net/rss_config.c",
}

Entry = dict[str, str | int]


def entries(kind: str, least: set[str]) -> Iterator[Entry]:
    """The settings of one file; an adapter's units, set alike, are one entry."""
    told = set()
    for line in (OVERLAY / FILES[kind]).read_text(encoding="utf-8").splitlines():
        if found := LINE.match(line):
            value = found["plain"] if found["quoted"] is None else found["quoted"]
            value = READ_BACK.get(found["name"], f">={value}" if found["name"] in least else value)
            name = UNIT.sub(r"\1.*.", found["name"])
            entry: Entry = {"name": name, "kind": kind, "value": value, "why": found["why"], "source": found["source"]}
            if nic := NIC.match(found["name"]):
                entry["nic"] = nic[1] or nic[2]
            if name not in told:
                yield entry
            told.add(name)


def raised() -> Iterator[Entry]:
    """What rc.d/lltune raises, with the memory from which on it does."""
    memory = 0
    for line in TUNE.read_text(encoding="utf-8").splitlines():
        if least := LEAST_MEMORY.search(line):
            memory = int(least[1])
        elif found := RAISE.match(line):
            value = f">={found['value']}"
            yield {
                "name": found["name"],
                "kind": "sysctl",
                "memory": memory,
                "value": value,
                "why": found["why"],
                "source": "etc/rc.d/lltune",
            }


def offloads() -> Iterator[Entry]:
    """What rc.d/lltune turns on."""
    loop = next(
        line for line in TUNE.read_text(encoding="utf-8").splitlines() if line.strip().startswith("for flag in")
    )
    why = "on wherever the adapter can; an experiment turns it off"
    for flag in OFFLOAD.findall(loop):
        name = PLAIN.get(flag, flag)
        yield {"name": name, "kind": "ifconfig", "nic": "*", "value": "on", "why": why, "source": "etc/rc.d/lltune"}


def manifest() -> str:
    """The whole file's text."""
    by_memory = list(raised())
    least = {str(one["name"]) for one in by_memory}
    files = [entry for kind in FILES for entry in entries(kind, least)]
    tunables = [*files, *by_memory, BUCKETS, *offloads()]
    return json.dumps({"schema": "linkladder-tunables/1", "tunables": tunables}, indent=1) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(MANIFEST.read_text(encoding="utf-8") != manifest() and f"{MANIFEST} is stale: run image/manifest.py")
    MANIFEST.parent.mkdir(parents=True, exist_ok=True)
    MANIFEST.write_text(manifest(), encoding="utf-8")
