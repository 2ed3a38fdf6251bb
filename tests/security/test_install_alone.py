"""What root does while it installs: nobody else can enter the folders in which it keeps what it will run."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
OVERLAY = TOP / "overlay"
INSTALL = OVERLAY / "usr/local/libexec/linkladder-install"
NOBODY = 65534
MINUTE = 60

# bsdinstall as 15.1 has it, as far as others could get at it: what it runs it keeps in TMPDIR and in the new system's
# /tmp, which is open to all.  Somebody else then writes wherever he can.
BSDINSTALL = f"""#!/bin/sh
set -e
: "${{TMPDIR:=/tmp}}" "${{BSDINSTALL_CHROOT:=/mnt}}"
awk '/^#!/ {{ setup = 1 }} setup' "$2" >"$TMPDIR/bsdinstall-installscript-setup"
mount -t tmpfs tmpfs "$BSDINSTALL_CHROOT"
mkdir -m 1777 "$BSDINSTALL_CHROOT/tmp"
echo kept >"$BSDINSTALL_CHROOT/kept"
for place in "$TMPDIR" "$BSDINSTALL_CHROOT/tmp"; do
	setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups sh -c 'ls "$1" && : >"$1/mine"' sh "$place" 2>&1 &&
		echo "$place is open to others" >>"$SEEN"
done
echo "$TMPDIR $BSDINSTALL_CHROOT" >>"$PLACES"
echo words of bsdinstall >>"$BSDINSTALL_LOG"
[ -z "$FAILS" ]
"""
STUBS = {
    "diskinfo": "echo /dev/null 512 8000000000 15625000",
    "gpart": "true",
    "glabel": "true",
    "dd": "true",
    "newfs_msdos": "true",
    "umount": 'shift $(($# - 1)); /bin/umount "$1"',
    # As FreeBSD prints them, and only those of its own that are asked for
    "mount": """[ "$1" != -p ] || { awk '{ print $1, $2, $3, $4 }' /proc/mounts; exit; }
case $2 in msdosfs) exit 1 ;; esac
exec /bin/mount "$@" """,
}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, as an installation does")
@pytest.mark.parametrize("fails", ["", "yes"])
def test_nobody_else_enters_where_the_installer_works(tmp_path: Path, fails: str) -> None:
    """What is run as root lay in /tmp under names that everybody knows, and in the new system's own /tmp."""
    tmp_path.chmod(0o755)
    programs, sets = tmp_path / "bin", tmp_path / "sets"
    for folder in (programs, sets, tmp_path / "run", tmp_path / "log"):
        folder.mkdir()
    (sets / "MANIFEST").write_text("linkladder.tzst\n")
    for name, text in {**STUBS, "bsdinstall": ""}.items():
        (programs / name).write_text(BSDINSTALL if name == "bsdinstall" else f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    script = """set -e
mount --make-rprivate /
mkdir -p /usr/freebsd-dist
mount --bind "$1/sets" /usr/freebsd-dist
mount -t tmpfs -o mode=755 tmpfs /var
mkdir /var/run /var/log
mount --bind "$1/log" /var/log
mount -t tmpfs -o mode=1777 tmpfs /mnt
status=0
sh "$2" null || status=$?
ls -A /var/run /tmp/install* 2>/dev/null >"$1/left" || true
exit $status"""
    environment = {"PATH": f"{programs}:/usr/sbin:/usr/bin:/sbin:/bin", "FAILS": fails}
    environment |= {"SEEN": str(tmp_path / "seen"), "PLACES": str(tmp_path / "places")}
    argv = ["unshare", "-m", "sh", "-c", script, "sh", str(tmp_path), str(INSTALL)]
    before = {f"{folder}:" for folder in Path("/tmp").glob("install*")}  # of this machine's own
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=MINUTE)
    assert not (tmp_path / "seen").exists(), (tmp_path / "seen").read_text()
    assert (tmp_path / "places").exists(), done
    assert (done.returncode != 0) == bool(fails), done
    assert ("bsdinstall did not end well" in done.stderr) == bool(fails), done
    left = (tmp_path / "left").read_text().split()
    assert not [name for name in left if "install." in name and name not in before]
    log = next((tmp_path / "log").iterdir())
    assert str(Path("/var/log") / log.name) in done.stdout and "words of bsdinstall" in log.read_text()


def test_no_script_of_roots_uses_a_name_in_a_shared_folder_that_can_be_known_before() -> None:
    for folder in ("etc/rc.d", "usr/local/etc/rc.d", "usr/local/libexec"):
        for path in sorted((OVERLAY / folder).iterdir()):
            for line in path.read_text().splitlines():
                words = line.partition("# ")[0]
                for place in re.findall(r"(?<![\w}])/(?:var/)?tmp/\S*", words):
                    assert "XXXXXX" in place and "mktemp" in words, f"{path.name}: {line.strip()}"
