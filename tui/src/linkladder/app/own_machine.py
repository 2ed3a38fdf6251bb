"""Implements the backend's part about this machine: settings, appliance, disks, upgrade, and ways to export."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from linkladder import host, privilege, state, upgrading
from linkladder.app.backend import Reach, Setting
from linkladder.errors import EnvironmentFault
from linkladder.findings import Health
from linkladder.host import disks, switches
from linkladder.host.disks import Disk
from linkladder.host.switches import EXPORT, STICK, Appliance, Stick
from linkladder.upgrade import Manifest

if TYPE_CHECKING:
    from linkladder.keeping import Confirm, Winners
    from linkladder.upgrade.status import Status

FAR = "198.51.100.1"  # an address for documentation, to find the interface of the default route
INSTALLATION = 3600.0  # seconds for a slow stick


class Machine:
    """This machine's part of the backend; plain methods may block, coroutines do not."""

    def settings(self) -> tuple[Setting, ...]:
        """The shipped settings and whether they are in force; then offloads for which nothing is shipped."""
        from linkladder.settings.tunables import settings_in_force

        rows = [
            Setting(s.name, s.shipped, s.current, s.in_force, "" if s.in_force else s.status, s.why)
            for s in settings_in_force()
        ]
        listed = {row.name for row in rows}
        for nic in sorted(host.facts().nics, key=lambda n: (not n.up, not n.addresses, n.name)):
            for flag, on in sorted(nic.offloads.items()):
                if not nic.loopback and f"{nic.name} {flag}" not in listed:
                    rows.append(Setting(f"{nic.name} {flag}", "", "on" if on else "off", None, "as the driver has it"))
        return tuple(rows)

    def appliance(self) -> Appliance:
        return switches.appliance()

    def disks(self) -> tuple[Disk, ...]:
        return disks.disks()

    def sticks(self) -> tuple[Stick, ...]:
        return switches.sticks()

    def reach(self) -> Reach:
        """The address by which other computers most likely reach this one, and the user for ssh."""
        import getpass  # imported late, so that the first frame comes sooner

        nics = [n for n in host.facts().nics if n.up and not n.loopback and n.addresses]
        way = host.route_interface(FAR)
        own = [a for n in sorted(nics, key=lambda n: n.name != way) for a in n.addresses if not a.startswith("fe80")]
        plain = sorted(own, key=lambda a: ":" in a)
        user = state.OPERATOR if EXPORT.is_dir() else getpass.getuser()
        return Reach(user, plain[0] if plain else "", switches.appliance().ssh)

    def export_folder(self, own: Path) -> Path:
        """The folder from which the operator can fetch files if it is writable, else the folder `own`."""
        return EXPORT if os.access(EXPORT, os.W_OK) else own

    async def to_stick(self, paths: tuple[str, ...], stick: Stick | None) -> str:
        """Mount the stick, copy the files, and unmount it; without one, copy to a stick that is already mounted.

        Returns what was done, in words.
        """
        folder = await asyncio.to_thread(switches.mounted_stick)
        if folder:
            names = await asyncio.to_thread(_copy, paths, folder)
            return f"Written to {folder}: {', '.join(names)}.\nIt is mounted still: unmount it before you pull it out."
        if stick is None:
            ours = "put one in that has a FAT file system, wait a few seconds, and try again"
            hint = (
                ours
                if host.system() == "FreeBSD"
                else "mount one below /media, where you can write to it, and try again"
            )
            raise EnvironmentFault("no USB stick was found", hint=hint)
        await self.system("usb-mount", stick.device)
        try:
            names = await asyncio.to_thread(_copy, paths, str(STICK))
        finally:
            await self.system("usb-unmount")
        return f"Written to the stick: {', '.join(names)}.\nIt is unmounted: pull it out."

    def upgrade_status(self) -> Status:
        from linkladder.upgrade.status import status  # imported late, so that the first frame comes sooner

        return status()

    async def upgrade(
        self, source: str, progress: upgrading.Progress, agreed: Callable[[Manifest], Awaitable[bool]]
    ) -> str:
        from linkladder import doctor  # imported late, as it needs much else

        async with upgrading.obtained(source, progress) as (file, manifest):
            await asyncio.to_thread(upgrading.admitted, manifest, downgrade=False)
            if not await agreed(manifest):
                return ""
            found = await asyncio.to_thread(doctor.examine)
            upgrading.note_red(f.title for f in found if f.state == Health.BAD)
            return await upgrading.write(file, progress)

    async def keep(self, found: Winners, confirmed: Confirm) -> tuple[str, ...]:
        from linkladder import keeping  # imported late, as it needs the agent and is rarely used

        return await keeping.keep(found, confirmed)

    async def system(self, verb: str, *words: str, said: str = "") -> str:
        """Run one of the operator's verbs through the privileged helper, and return what it printed."""
        limit = INSTALLATION if verb == "install" else 120.0
        done = await privilege.run(privilege.NAMES.get(verb, verb), *words, timeout=limit, said=said)
        if not done.ok:
            raise EnvironmentFault(f"{verb} was not done", done.reason, "the doctor says whether the helper is there")
        return done.output.strip()


def _copy(paths: tuple[str, ...], folder: str) -> list[str]:
    """Copy files to the folder and write them out to the medium; returns their names."""
    names = []
    for path in paths:
        target = Path(shutil.copyfile(path, Path(folder) / Path(path).name))
        with target.open("rb") as file:
            os.fsync(file.fileno())
        names.append(target.name)
    return names
