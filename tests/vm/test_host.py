"""host, settings and the privileged helper inside a booted appliance, as root on its test adapter."""

from __future__ import annotations

import base64
from pathlib import Path

from .machine import Machine

SCRIPT = Path(__file__).with_name("host_on_freebsd.py")
CHUNK = 600  # a line on a serial console holds 1024 characters


def test_host_settings_and_helper_on_the_appliance(booted: Machine) -> None:
    shell = booted.root()
    text = base64.b64encode(SCRIPT.read_bytes()).decode()
    shell.run("rm -f /tmp/host.b64")
    for place in range(0, len(text), CHUNK):
        assert shell.run(f"printf %s {text[place : place + CHUNK]} >>/tmp/host.b64")[0] == 0
    assert shell.run("b64decode -r </tmp/host.b64 >/tmp/host_on_freebsd.py")[0] == 0
    status, said = shell.run("/usr/local/bin/python3 /tmp/host_on_freebsd.py vmx1", 600)
    print(said)
    assert status == 0, said
