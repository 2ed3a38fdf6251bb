"""An offload that a card has switched off for good is one that it does not have: nothing is measured with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

TOLD = """
import json
from linkladder import host
print(json.dumps({nic.name: nic.offloads for nic in host.facts().nics}))
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="a network namespace needs root and Linux")
def test_a_virtual_pair_has_large_sends_and_no_large_receives() -> None:
    lines = (
        "ip link add sh0 type veth peer name sh1",
        "ethtool -K sh0 tso off",
        "ethtool -k sh0 | grep large-receive >&2",
    )
    script = "\n".join([*lines, 'exec "$@"'])
    argv = ["unshare", "--net", "sh", "-ec", script, "sh", sys.executable, "-c", TOLD]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "large-receive-offload: off [fixed]", "or this says nothing"
    offloads = json.loads(done.stdout)
    assert "lro" not in offloads["sh0"]
    assert (offloads["sh0"]["tso"], offloads["sh1"]["tso"]) == (False, True), "what is off for now stays"
