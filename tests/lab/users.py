"""Two users as on the appliance, in a mount namespace of their own: the machine's own users stay as they are.

linkladder keeps the state and runs the console; llmeasure runs agents and tools, and owns nothing.  Each command of
such a lab runs in a namespace whose /etc knows both, and in which what is the tester's own (his checkout, his Python)
can be seen by them.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

CONSOLE, MEASURER = ("linkladder", 59862), ("llmeasure", 59864)
TOP = Path(__file__).resolve().parents[2]


def write(folder: Path, agents: list[Path]) -> None:
    """What /etc has besides the machine's own."""
    folder.mkdir(parents=True, exist_ok=True)
    people = [("passwd", "{0}:x:{1}:{1}::/:/bin/sh"), ("shadow", "{0}:*:19000::::::"), ("group", "{0}:x:{1}:")]
    for name, form in people:
        text = "".join(form.format(*one) + "\n" for one in (CONSOLE, MEASURER))
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    conf = folder / "doas.conf"
    conf.write_text("".join(f"permit nopass {CONSOLE[0]} as {MEASURER[0]} cmd {agent}\n" for agent in agents))
    conf.chmod(0o600)


def prologue(folder: Path) -> str:
    """Shell commands that make a new mount namespace such a place."""
    there = shlex.quote(str(folder))
    lines = [
        "set -e",
        "mount -t tmpfs -o mode=755 none /mnt",
        "cp -a /etc /mnt/etc",
        f"for f in passwd shadow group; do cat {there}/$f >>/mnt/etc/$f; done",
        f"cp {there}/doas.conf /mnt/etc/doas.conf",
        "mount --bind /mnt/etc /etc",
    ]
    for name, minor in (("null", 3), ("zero", 5), ("urandom", 9)):  # some machines keep these for root
        if os.stat(f"/dev/{name}").st_mode & 0o006 != 0o006:
            lines += [f"mknod -m 666 /mnt/{name} c 1 {minor}", f"mount --bind /mnt/{name} /dev/{name}"]
    for number, (closed, inside) in enumerate(hidden(TOP, Path(sys.base_prefix))):
        kept, place = f"/mnt/see{number}", shlex.quote(str(inside))
        lines += [f"mkdir {kept}", f"mount --bind {place} {kept}"]
        lines += [f"mount -t tmpfs -o mode=755 none {shlex.quote(str(closed))}"]
        lines += [f"mkdir -p {place}", f"mount --bind {kept} {place}"]
    return "\n".join([*lines, "set +e"])


def hidden(*paths: Path) -> list[tuple[Path, Path]]:
    """(the folder that others may not pass, the path below it), for each path that only its owner gets to."""
    found = []
    for path in paths:
        for folder in reversed(path.parents):
            if not folder.stat().st_mode & 0o001:
                found.append((folder, path))
                break
    return found


def own(path: Path, user: tuple[str, int]) -> None:
    for one in (path, *path.rglob("*")) if path.is_dir() else (path,):
        os.chown(one, user[1], user[1])
