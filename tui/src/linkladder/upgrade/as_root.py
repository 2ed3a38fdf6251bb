"""As root: verifies the file once more, writes it to the other slot, makes it bootable and marks it to start once."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from linkladder import __version__
from linkladder.errors import LinkladderError, in_a_line
from linkladder.upgrade import writing
from linkladder.upgrade.parcel import SIGNERS, Manifest, UpgradeFault, admit, read_head, verify
from linkladder.upgrade.slots import Slot, Slots, slots_of

RECORD = Path("/state/system/upgrade.json")  # which system was written last
WHY = Path("/state/system/upgrade.why")  # why a new system was not kept after its trial
PROGRESS = Path("/var/run/linkladder-upgrade.progress")
LOCK = Path("/var/run/linkladder-upgrade.lock")
PLACE = Path("/var/run/linkladder-upgrade")  # where the new system is mounted for a short time
DEVICES = Path("/dev")
ENVIRONMENT = {"PATH": "/sbin:/bin:/usr/sbin:/usr/bin", "LC_ALL": "C"}
Run = Callable[[Sequence[str]], str]


def main(words: Sequence[str]) -> int:
    if not 1 <= len(words) <= 2 or words[1:] not in ([], ["downgrade"]):
        print("usage: linkladder-upgrade FILE [downgrade]", file=sys.stderr)
        return 2
    try:
        manifest = upgrade(words[0], downgrade=len(words) == 2)
    except (LinkladderError, OSError) as error:
        print(in_a_line(error), file=sys.stderr)
        return 1
    print(f"{manifest.version} is written, and starts once at the next boot")
    return 0


def upgrade(path: str, *, downgrade: bool, run: Run | None = None, signers: Path = SIGNERS) -> Manifest:
    """Write the system in the file to the slot that is not running, and mark it to start once.

    If anything goes wrong on the way, or the power fails, the running system starts the next time.
    """
    run = run or _run
    with _alone():
        slots, target = _target(here(run))
        with writing.open_file(path) as source:
            manifest = verify(read_head(source), signers)
            admit(manifest, __version__, target.size, downgrade=downgrade)
            for mark in ("bootme", "bootonce", "bootfailed"):
                run(["/sbin/gpart", "unset", "-a", mark, "-i", str(target.index), slots.disk])
            run(["/sbin/gpart", "set", "-a", "bootme", "-i", str(slots.running.index), slots.disk])
            WHY.unlink(missing_ok=True)
            RECORD.unlink(missing_ok=True)
            writing.write(source, manifest, DEVICES / target.device, writing.Telling(PROGRESS))
        _own_root(target, run)
        _record(manifest)
        # This must be the last step. It also sets bootme, in the same write of the partition table.
        run(["/sbin/gpart", "set", "-a", "bootonce", "-i", str(target.index), slots.disk])
        return manifest


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Keep a second upgrade out: of two at once each would write to the slot that the other one has compared."""
    lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UpgradeFault(
                "an upgrade is being written already",
                "it was begun at another console",
                "wait until it is done; linkladder system upgrade --status says what starts next",
            ) from None
        try:
            yield
        finally:
            PROGRESS.unlink(missing_ok=True)
    finally:
        os.close(lock)


def here(run: Run | None = None) -> Slots | None:
    """The slots of the disk with the root file system; None on a live medium and if this is not an appliance."""
    run = run or _run
    rows = [line.split() for line in run(["/sbin/mount", "-p"]).splitlines()]
    root = next((row[0] for row in rows if len(row) > 2 and row[1:3] == ["/", "ufs"]), "")
    return slots_of(run(["/sbin/sysctl", "-b", "kern.geom.confxml"]), root) if root else None


def _target(slots: Slots | None) -> tuple[Slots, Slot]:
    if slots is None or slots.other is None:
        raise UpgradeFault(
            "this system cannot be upgraded in its place",
            "its disk has no second slot for a system: it is a live medium, small, or was laid out for one",
            "write the new image to the disk; the state is kept (docs/image.md)",
        )
    if slots.on_trial:
        raise UpgradeFault(
            "this system is on trial itself",
            "it was started for the first time, and is not confirmed as healthy yet",
            "wait some minutes; linkladder system upgrade --status says when it is kept",
        )
    return slots, slots.other


def _own_root(target: Slot, run: Run) -> None:
    """Make the new system mount its root by its partition's UUID, so that other disks cannot be confused with it."""
    if not re.fullmatch(r"[0-9a-f-]{36}", target.uuid):
        raise UpgradeFault("the slot has no number of its own", f"{target.device}: {target.uuid!r}")
    PLACE.mkdir(mode=0o700, exist_ok=True)
    run(["/sbin/mount", "-t", "ufs", "-o", "sync", str(DEVICES / target.device), str(PLACE)])
    try:
        file = PLACE / "etc/fstab"
        lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line.split()[1:2] != ["/"]]
        lines.append(f"/dev/gptid/{target.uuid}\t/\tufs\trw\t1\t1")
        with file.open("r+", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")
            out.truncate()
            out.flush()
            os.fsync(out.fileno())
        if not (PLACE / "boot/loader.efi").is_file():
            raise UpgradeFault("the new system has no loader", hint="take another upgrade file")
    finally:
        run(["/sbin/umount", str(PLACE)])


def _record(manifest: Manifest) -> None:
    draft = RECORD.with_suffix(".new")
    with draft.open("w", encoding="utf-8") as file:
        json.dump({"from": __version__, "to": manifest.version}, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(RECORD)


def _run(argv: Sequence[str]) -> str:
    done = subprocess.run(argv, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise UpgradeFault(f"{argv[0]} {argv[1]} did not work", said)
    return done.stdout.decode("utf-8", "replace")


def progress() -> tuple[int, int, float] | None:
    """Bytes done, bytes in all and seconds so far of the writing under way; None if there is none."""
    try:
        done, total, seconds = PROGRESS.read_text(encoding="ascii").split()
        return int(done), int(total), float(seconds)
    except (OSError, ValueError):
        return None
