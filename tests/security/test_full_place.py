"""The measuring user's place is small, and whoever breaks a tool can fill it: what is honest goes on all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FILL = """
import os, sys
from pathlib import Path
from linkladder import locks, reservation, settings
from linkladder.agent.knocks import Knocks
from linkladder.errors import LinkladderError
from linkladder.settings.journal import Entry, Journal, Record
folder = Path(sys.argv[1])
with open(folder / "filled", "wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(4096))
    except OSError as error:
        print(error.strerror)
mine = reservation.Reservation()
print(mine.take("alpha's run"), mine.held, repr(reservation.holder()))
print(reservation.Reservation().take("another"))
try:
    Journal(folder).write(Record("boot", (Entry("mtu", "vmx1", "1500"),)))
except LinkladderError as error:
    print(error.title)
knocks = Knocks("alpha")
knocks.answered("10.0.0.1")
print(sum(knocks.may(f"10.0.0.{n}") for n in range(40)))
mine.release()
os.unlink(folder / "filled")
print(mine.take("alpha's run"), repr(reservation.holder()))
"""
# /tmp, to which everybody writes, is full, and the caller stands in a folder that he cannot write to.
FULL_TMP = """
mount -t tmpfs -o size=64k none /tmp; mount --bind /tmp /var/tmp; mount -t tmpfs none /mnt
dd if=/dev/zero of=/tmp/filled bs=4k 2>/dev/null || :
cd /proc; unset TMPDIR; export HOME=/mnt LINKLADDER_STATE=/mnt/state
exec "$1" -c "$2"
"""
VERIFIES = """
from pathlib import Path
from linkladder.report import signing
from linkladder.trust import keys
mine = keys.user_key()
print(keys.signed(b"what was said", keys.sign(b"what was said", mine), keys.public(mine)))
print(keys.signed(b"another thing", keys.sign(b"what was said", mine), keys.public(mine)))
written = keys.sign(b"a page", mine, signing.NAMESPACE)
print(signing.check("a page", written, {keys.public(mine): "this"}).valid)
print(*(path.name for path in Path("/mnt").iterdir()))
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs Linux and root, to fill /tmp")
def test_a_full_tmp_keeps_no_signature_from_being_verified() -> None:
    """Pairing verifies keys, and a report is checked."""
    source = Path(__file__).resolve().parents[2] / "tui/src"
    argv = ["unshare", "-m", "sh", "-euc", FULL_TMP, "sh", sys.executable, VERIFIES]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=60)
    assert done.stdout.splitlines() == ["True", "False", "True", "state"], done


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs Linux and root, to mount a small place")
def test_a_full_place_stops_loans_and_neither_a_reservation_nor_a_knock(tmp_path: Path) -> None:
    mounted = 'mount -t tmpfs -o size=64k none "$1"; exec "$2" -c "$3" "$1"'
    argv = ["unshare", "-m", "sh", "-euc", mounted, "sh", str(tmp_path), sys.executable, FILL]
    environment = {**os.environ, "LINKLADDER_STATE": str(tmp_path), "LINKLADDER_MEASURING": str(tmp_path)}
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=60)
    assert done.stdout.splitlines() == [
        "No space left on device",
        "None True 'somebody'",
        "somebody",
        "nothing was changed, as the old values cannot be remembered",
        "16",
        'None "alpha\'s run"',
    ], done
