"""A FreeBSD that is not one: its programs write down what they are called with, and make what the build looks at."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]

POUDRIERE = """
[ "$1" = version ] && echo 3.4.4 && exit
[ "$1" = -e ] && . "$2/poudriere.conf" && shift 2
case "$1 $2" in
'jail -i') [ -d "$jail/usr" ] && echo "Jail mount:        $jail" || { echo 'Error: No such jail' >&2; exit 1; } ;;
'jail -c')
	for last; do :; done
	case $last in
	src=*) { echo "obj $MAKEOBJDIRPREFIX"; cat "${last#src=}/sys/conf/newvers.sh"; } >"$LL_WORK/built.seen" ;;
	esac
	mkdir -p "$jail/usr" ;;
'ports -l') ;;
'ports -c') case $4 in *-*) echo 'The ports name should not contain a dash' >&2; exit 1 ;; esac ;;
bulk*)
	[ ! -e "$jail/fails" ] || {
		errors=$POUDRIERE_DATA/logs/bulk/linkladder-linkladder/latest/logs/errors
		mkdir -p "$errors" && echo 'no wheel was built' >"$errors/linkladder-0.1.0.log"
		exit 1
	}
	mkdir -p "$POUDRIERE_DATA/packages/linkladder-linkladder"
	echo built >"$POUDRIERE_DATA/packages/linkladder-linkladder/packagesite.pkg" ;;
image*)
	while [ $# -gt 0 ]; do
		case $1 in -c) overlay=$2 ;; -o) out=$2 ;; -t) kind=$2 ;; esac
		shift
	done
	find "$overlay" -printf '%m %U %G %P\\n' >"$out/../overlay.seen"
	echo disk >"$out/linkladder.$([ "$kind" = iso ] && echo iso || echo img)" ;;
esac
"""
CHROOT = """
case $* in
*buildkernel*) [ ! -e "$jail/fails" ] || exit 1 ;;
*installkernel*)
	mkdir -p "$1/tmp/linkladder-kernel/boot/kernel"
	echo new >"$1/tmp/linkladder-kernel/boot/kernel/kernel" ;;
esac
"""
PROGRAMS = {
    "uname": 'case $1 in -s) echo FreeBSD ;; *) echo "FreeBSD 15.1-RELEASE-p1" ;; esac',
    "id": "echo 0",
    "sysctl": "echo 2",
    "poudriere": POUDRIERE,
    "chroot": CHROOT,
}
# Only written down; a chown of root's is real.
QUIET = ("mount", "umount", "chflags", "pkg", *(() if os.geteuid() == 0 else ("chown",)))


def packed(path: Path, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:xz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


class FreeBSD:
    """The folder of its programs, its jail (there once it has usr/) and what was called."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.jail = folder / "jail"
        self.trace = folder / "called"
        self.programs = folder / "programs"
        self.programs.mkdir()
        self.trace.write_text("")
        for name in (*PROGRAMS, *QUIET):
            program = self.programs / name
            note = "" if name in ("uname", "id", "sysctl") else f"echo {name} \"$@\" >>'{self.trace}'\n"
            program.write_text(f"#!/bin/sh\njail='{self.jail}'\n{note}{PROGRAMS.get(name, '')}\n")
            program.chmod(0o755)

    def build(self, *args: str | Path, top: Path = TOP, **settings: str) -> subprocess.CompletedProcess[str]:
        """`./build.sh image` there."""
        return self.run("image", *args, top=top, **settings)

    def run(self, *args: str | Path, top: Path = TOP, **settings: str) -> subprocess.CompletedProcess[str]:
        words = ["sh", top / "image/build-image.sh", *args, "--work", self.work]
        env = {**os.environ, **settings, "PATH": f"{self.programs}:{os.environ['PATH']}"}
        return subprocess.run(list(map(str, words)), capture_output=True, text=True, env=env, timeout=100)

    def called(self) -> list[str]:
        return self.trace.read_text().splitlines()
