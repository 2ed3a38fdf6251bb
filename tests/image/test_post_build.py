"""What the last step of an image writes down of its packages."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PKG = """#!/bin/sh
case $4 in
%n*) printf 'netperf\\t2.7.1\\t\\niperf\\t2.1.8\\tBSD2CLAUSE\\nglib\\t2.74\\tLGPL21, MIT\\n' ;;
%At*) printf 'stand_in\\tpackage doas-6.3: made elsewhere\\nother\\tpackage iperf-2.1.8: no\\n' ;;
esac
"""


def test_every_package_has_a_licence_or_the_word_that_its_port_states_none(tmp_path: Path) -> None:
    """As benchmarks/netperf, whose port names no licence: its line had an empty field."""
    function = re.search(r"^ll_manifest\(\) \{\n.*?^\}\n", (TOP / "image/post-build.sh").read_text(), re.M | re.S)
    assert function
    (tmp_path / "pkg").write_text(PKG)
    (tmp_path / "pkg").chmod(0o755)
    script = f"set -eu; PATH={tmp_path}:$PATH; ll_world=/w; ll_packages={tmp_path}/list\n{function[0]}\nll_manifest"
    subprocess.run(["sh", "-c", script], check=True)
    assert (tmp_path / "list").read_text().splitlines() == [
        "glib\t2.74\tLGPL21, MIT",
        "iperf\t2.1.8\tBSD2CLAUSE",
        "netperf\t2.7.1\tnot stated by its port",
    ]
    assert (tmp_path / "list.stand-ins").read_text() == "package doas-6.3: made elsewhere\n"
