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
LINE = re.compile(r'(?P<name>[a-z]\w*(?:\.\w+)+)="?(?P<value>[^"\s]*)"?\s+#\s*(?P<why>.*?)\s*\[(?P<source>[^\]]+)\]$')
NIC = re.compile(r"(?:dev|hw)\.(vmx|ix|ixl|ice|igc|bnxt|mce)\.")
# What rc.d/lltune turns on wherever the adapter can.
OFFLOADS = ("tso", "lro", "rxcsum", "txcsum")
# Raised again by rc.d/lltune where there is memory for more.
LEAST = {"kern.ipc.maxsockbuf", "net.inet.tcp.sendbuf_max", "net.inet.tcp.recvbuf_max"}

# What the kernel makes of a value that means "as many as there are cores".
READ_BACK = {"net.isr.maxthreads": ">=1"}


def entries(file: Path, kind: str) -> Iterator[dict[str, str]]:
    """The settings of one file."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if found := LINE.match(line):
            value = f">={found['value']}" if found["name"] in LEAST else found["value"]
            value = READ_BACK.get(found["name"], value)
            entry = {
                "name": found["name"],
                "kind": kind,
                "value": value,
                "why": found["why"],
                "source": found["source"],
            }
            if nic := NIC.match(found["name"]):
                entry["nic"] = nic[1]
            yield entry


def manifest() -> str:
    """The whole file's text."""
    tunables = [*entries(OVERLAY / "boot/loader.conf", "loader"), *entries(OVERLAY / "etc/sysctl.conf", "sysctl")]
    for flag in OFFLOADS:
        why = "on wherever the adapter can; an experiment turns it off"
        tunables.append(
            {"name": flag, "kind": "ifconfig", "nic": "*", "value": "on", "why": why, "source": "rc.d/lltune"}
        )
    return json.dumps({"schema": "linkladder-tunables/1", "tunables": tunables}, indent=1) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(MANIFEST.read_text(encoding="utf-8") != manifest() and f"{MANIFEST} is stale: run image/manifest.py")
    MANIFEST.parent.mkdir(parents=True, exist_ok=True)
    MANIFEST.write_text(manifest(), encoding="utf-8")
