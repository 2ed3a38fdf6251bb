"""The console's part of an upgrade: gets the file, and watches while root writes it.

The signature is verified here before the image is fetched and the person asked, and again by root before it is written.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from linkladder import __version__, privilege, state, units
from linkladder.errors import EnvironmentFault, UsageError, why_no_file
from linkladder.host import switches
from linkladder.upgrade import Manifest, UpgradeFault, admit, as_root, read_head, verify
from linkladder.upgrade.parcel import SIGNERS, order

SUFFIX = ".upgrade"
WORDS = 'a file, an https address, or "stick"'
LIMIT = 7200.0  # seconds that root may take to write to a slow disk
RED = "upgrade-red.json"
Progress = Callable[[str, int, int, float], None]  # takes an action, bytes done, bytes in all, seconds so far


def line(what: str, done: int, total: int, seconds: float) -> str:
    """The progress in words, such as 'writing 42 %, 1 min 10 s to go'."""
    share = done / total if total else 0.0
    left = f", {units.duration(seconds * (1 - share) / share)} to go" if share > 0.02 and done < total else ""
    return f"{what} {100 * share:.0f} %{left}"


@asynccontextmanager
async def obtained(source: str, progress: Progress, signers: Path = SIGNERS) -> AsyncIterator[tuple[Path, Manifest]]:
    """Get a file to where root can read it, and its verified manifest; a fetched file is deleted afterwards."""
    if source == "stick":
        async with _on_stick() as folder:
            file = await asyncio.to_thread(_best, folder, signers)
            yield file, manifest_of(file, signers)
    elif "://" in source:
        if not source.startswith("https://"):
            raise UsageError(f"{source.split(':')[0]} is no way to fetch an upgrade", hint=f"give {WORDS}")
        from linkladder.upgrading import fetching  # imported late, as it is seldom needed and slow to load

        folder = state.ensure(state.folder() / "upgrade")
        try:
            target = folder / f"new{SUFFIX}"
            yield target, await fetching.fetch(source, target, progress, signers)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    else:
        file = Path(source).absolute()
        yield file, manifest_of(file, signers)


def manifest_of(file: Path, signers: Path = SIGNERS) -> Manifest:
    try:
        with file.open("rb") as source:
            return verify(read_head(source), signers)
    except OSError as error:
        raise UsageError(f"{file} cannot be read", why_no_file(error), f"give {WORDS}") from None


def admitted(manifest: Manifest, *, downgrade: bool) -> None:
    """Refuse now, before a person is asked, what root would refuse later."""
    slots = as_root.here()
    admit(manifest, __version__, slots.other.size if slots and slots.other else 1 << 62, downgrade=downgrade)


async def write(file: Path, progress: Progress, *, downgrade: bool = False) -> str:
    """Let root verify and write the file, and report progress meanwhile; returns what root's program printed."""
    asked = asyncio.create_task(
        privilege.run("upgrade", str(file), *(["downgrade"] if downgrade else []), timeout=LIMIT)
    )
    try:
        while not (await asyncio.wait({asked}, timeout=0.5))[0]:
            if now := as_root.progress():
                progress("writing", *now)
    finally:
        if not asked.done():
            asked.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asked
    done = asked.result()
    if not done.ok:
        raise EnvironmentFault(
            "the upgrade was not written", done.reason, "what runs now starts the next time, as before"
        )
    return done.output.strip()


def note_red(titles: Iterable[str]) -> None:
    """Store the doctor's bad findings from before the upgrade, so that they are not blamed on the new system."""
    (state.ensure(state.folder()) / RED).write_text(json.dumps(sorted(titles)), encoding="utf-8")


def noted_red() -> frozenset[str]:
    try:
        return frozenset(map(str, json.loads((state.folder() / RED).read_text(encoding="utf-8"))))
    except (OSError, ValueError, TypeError):
        return frozenset()


@asynccontextmanager
async def _on_stick() -> AsyncIterator[Path]:
    mounted = await asyncio.to_thread(switches.mounted_stick)
    if mounted:
        yield Path(mounted)
        return
    sticks = await asyncio.to_thread(switches.sticks)
    if not sticks:
        raise EnvironmentFault("no USB stick was found", hint="put one in that has a FAT file system, wait, try again")
    done = await privilege.run("usb-mount", sticks[0].device)
    if not done.ok:
        raise EnvironmentFault("the stick could not be mounted", done.reason, "try another stick")
    try:
        yield switches.STICK
    finally:
        await privilege.run("usb-unmount")


def _best(folder: Path, signers: Path) -> Path:
    """The newest of the files that are signed for this system; raises the first file's fault if there is none."""
    files = sorted(folder.glob(f"*{SUFFIX}"))
    if not files:
        raise UpgradeFault("no upgrade is on the stick", f"no file in its first folder ends in {SUFFIX}")
    good: list[tuple[tuple[int, int, int, int], Path]] = []
    faults: list[UpgradeFault] = []
    for file in files:
        try:
            good.append((order(manifest_of(file, signers).version), file))
        except UpgradeFault as fault:
            faults.append(fault)
    if not good:
        raise faults[0]
    return max(good)[1]
