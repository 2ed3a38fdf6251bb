"""Checks that everything is here which measuring needs, and lists findings, each with what to do about it.

`examine()` changes nothing. It blocks and may take a second or more, so call it from a thread.

The appliance lists the settings that it ships in /usr/local/share/linkladder/tunables.json, and each is compared with
what is in force:

    {"schema": "linkladder-tunables/1",
     "tunables": [
       {"name": "kern.ipc.maxsockbuf", "kind": "sysctl", "value": "67108864", "why": "largest socket buffer"},
       {"name": "hw.pci.honor_msi_blacklist", "kind": "loader", "value": "0", "why": "..."},
       {"name": "dev.vmx.*.iflib.tx_abdicate", "kind": "sysctl", "nic": "vmx", "value": "1", "why": "..."},
       {"name": "lro", "kind": "ifconfig", "nic": "*", "value": "on", "why": "..."}]}

`kind`: `sysctl` is set at run time; `loader` is set in loader.conf and looked up as a sysctl (if the kernel has no such
sysctl, kenv tells whether it was given; names without a dot are the loader's own and looked up only by kenv); `kernel`
is made by the kernel itself; `rc` is a line of rc.conf; `ifconfig` is an offload (tso, tso4, tso6, lro, rxcsum, txcsum,
with the value on or off) or `mtu`.
`nic`: a driver's name, or `*` for every adapter; the `*` in `dev.vmx.*.` stands for each unit.
`value` with `>=` before a number, or before `cores`, is a minimum.
`memory`: the entry is for machines with at least so many gigabytes; of several entries of one name the largest that
fits counts. Unknown keys are ignored.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from linkladder import damage, host, privilege, state, units
from linkladder.errors import FULL, LinkladderError, broken_disk
from linkladder.findings import Finding, Health
from linkladder.host import programs
from linkladder.host.programs import tool_version
from linkladder.model import HostFacts
from linkladder.priv.checks import REFUSED
from linkladder.settings import overview
from linkladder.settings.tunables import settings_in_force
from linkladder.tools import TOOLS, Need, ping_argv
from linkladder.upgrade import status as upgrade_status
from linkladder.upgrade.parcel import development

LEAST_SPACE = 256 << 20  # bytes
GOOD_WINDOW = 8 << 20  # bytes of the ladder's largest buffer
VIRTUAL = ("vmx", "vmxnet3", "vtnet", "virtio_net", "hn", "hv_netvsc", "xn", "xen-netfront")  # drivers of virtual cards
HERE = "127.0.0.1"
ORIGINS = Path("/usr/local/share/linkladder/origins")  # written by the image's build
HELPER_WAIT = 30.0  # seconds; five were too few when two machines booted on one host


def examine(*, of_measuring: bool = True) -> tuple[Finding, ...]:
    """All findings, in the order in which a person would check things.

    `of_measuring` off: without those that the measuring user can bring about: a full disk, a record of a loan.
    """
    try:
        facts = host.facts()
    except LinkladderError as error:
        return (Finding("this machine", Health.BAD, error.title, error.hint),)
    return (
        *_tools(facts.os),
        _helper(),
        *_pings(facts.os),
        _window(facts),
        _cores(facts),
        _space(of_measuring),
        *_kept(),
        *(_leftovers() if of_measuring else ()),
        *_damaged(),
        *_upgrade(facts),
        *_patches(facts),
        *_adapters(facts),
        *_bundles(facts),
        *_tunables(),
    )


def _tools(system: str) -> Iterator[Finding]:
    for tool in TOOLS.values():
        version = tool_version(tool.name)
        package = tool.packages[system]
        how = f"{'pkg' if system == 'FreeBSD' else 'apt'} install {package}" if package else "it is part of the system"
        if not version and tool.need == Need.NONE:
            continue
        if not version:
            worst = Health.BAD if tool.need == Need.ALL else Health.WARN
            yield Finding(tool.name, worst, f"not found; {tool.without}", how)
        elif version != "present" and _numbers(version) < tool.oldest:
            oldest = ".".join(map(str, tool.oldest))
            yield Finding(tool.name, Health.BAD, f"version {version} is too old", f"{how}: {oldest} or newer")
        else:
            yield Finding(tool.name, Health.OK, version)
        for program in tool.companions if version else ():
            if not programs.find(program):
                said = f"{tool.name} is here, its {program} is not; {tool.without}"
                yield Finding(program, Health.WARN, said, how)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _helper() -> Finding:
    title = "changing settings"
    if reason := privilege.available():
        return Finding(title, Health.WARN, f"not possible: {reason}", "run as root, or install linkladder-priv")
    if os.geteuid() == 0:
        return Finding(title, Health.OK, "running as root")
    # It refuses this adapter, which does not exist; the answer alone shows that the helper works.
    code, said = _ask(privilege.command("mtu", "no-such", "1500"))
    if code == REFUSED:
        return Finding(title, Health.OK, "the privileged helper answers")
    remedy = "doas.conf must permit it" if host.system() == "FreeBSD" else "sudoers must permit it without a password"
    return Finding(title, Health.WARN, f"the privileged helper cannot be started: {said[-200:]}", remedy)


def _pings(system: str) -> Iterator[Finding]:
    """Try the two kinds of ping that ordinary users may not send, to this host itself, as a trial would send them."""
    for title, mtu in (("fast pings", None), ("DF pings", 1428)):
        argv = ping_argv(system, HERE, HERE, 2, 0.05, mtu)
        try:
            wrapped = privilege.wrap(argv) if system == "FreeBSD" else [shutil.which("ping") or "ping", *argv[1:]]
        except LinkladderError as error:
            yield Finding(title, Health.WARN, error.cause, error.hint)
            continue
        code, said = _ask(wrapped)
        if code == 0:  # the ping was answered
            yield Finding(title, Health.OK, "permitted")
        else:
            last = said.strip().splitlines()[-1:] or ["no answer"]
            yield Finding(title, Health.WARN, last[0][:200], "install the privileged helper, or run as root")


def _ask(argv: list[str]) -> tuple[int | None, str]:
    """A program's exit status and its output; the status is None if it could not be started or did not end."""
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=HELPER_WAIT,
            check=False,
            stdin=subprocess.DEVNULL,
            env=privilege.ENVIRONMENT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    return done.returncode, done.stdout + done.stderr


def _window(facts: HostFacts) -> Finding:
    title, limit = "socket buffers", facts.window_limit
    raising = "kern.ipc.maxsockbuf" if facts.os == "FreeBSD" else "net.core.rmem_max and net.core.wmem_max"
    if limit is None:
        return Finding(title, Health.WARN, "the largest buffer is not known")
    if limit < GOOD_WINDOW:
        detail = f"at most {units.size(limit)}; trials that ask for {units.size(GOOD_WINDOW)} will fail"
        return Finding(title, Health.WARN, detail, f"raise {raising}")
    return Finding(title, Health.OK, f"up to {units.size(limit)}")


def _cores(facts: HostFacts) -> Finding:
    total = os.cpu_count() or facts.cores
    counted = f" (of {total}; LINKLADDER_CORES names them)" if facts.cores < total else ""
    detail = f"{facts.cores}{counted}, {facts.cpu or facts.machine}"
    if facts.cores < 2:
        return Finding(
            "cores", Health.WARN, f"{detail}: tool and network stack share one", "give the machine two or more"
        )
    return Finding("cores", Health.OK, detail)


def _space(wanted: bool = True) -> Finding:
    folder = state.folder()
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(there).free
    if not os.access(there, os.W_OK):
        return Finding(
            "storage", Health.BAD, f"{there} cannot be written to", "set LINKLADDER_STATE to a folder of yours"
        )
    if wanted and free < LEAST_SPACE:
        return Finding(
            "storage", Health.BAD, f"{units.size(free)} are free in {there}", "make room, or delete old runs"
        )
    if trouble := _unwritable(there, () if wanted else FULL):
        return Finding("storage", Health.BAD, f"{there} cannot be written ({trouble})", broken_disk(trouble).hint)
    return Finding("storage", Health.OK, f"{units.size(free)} free in {there}")


def _unwritable(folder: Path, accepted: Collection[int] = ()) -> str:
    """The error of writing a file to a disk that may be broken although its folders look fine; '' if it works, or if
    the error is one of those accepted."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return "" if error.errno in accepted else error.strerror or str(error)
    return ""


def _kept() -> Iterator[Finding]:
    """Warn if the state is only in memory, as the medium is read-only or the state partition is beyond repair."""
    if why := state.lost_at_power_off():
        detail = f"name, keys and results are in memory, and lost at power off: {why}"
        remedy = "export what you need; install onto a disk, or have the partition repaired (docs/image.md, State)"
        yield Finding("keeping results", Health.WARN, detail, remedy)


def _leftovers() -> Iterator[Finding]:
    """Report settings that a loan left changed, and what a restart did to a loan, until somebody has seen it."""
    for blocks, what, remedy in overview.findings():
        yield Finding("settings", Health.BAD if blocks else Health.WARN, what, remedy)


def _damaged() -> Iterator[Finding]:
    """Report the damaged files that were set aside, until somebody removes them."""
    for one in damage.found(state.folder()):
        yield Finding(
            one.name, Health.WARN, one.why, f"it is kept in {one.folder}; remove that folder when it is not needed"
        )


def _upgrade(facts: HostFacts) -> Iterator[Finding]:
    """Report which of an appliance's two systems runs, and by which key its upgrades must be signed."""
    if facts.os != "FreeBSD":
        return
    now = upgrade_status.status()
    yield Finding(
        "system", Health.WARN if now.trouble else Health.OK, now.words, "linkladder system upgrade with another file"
    )
    own = development()
    if own is not None:
        remedy = "install an image of a release before this appliance is relied on"
        yield Finding("upgrade key", Health.WARN if own else Health.OK, upgrade_status.key_words(), remedy)


def _patches(facts: HostFacts) -> Iterator[Finding]:
    """Report patch level and packages, for comparing them with published security notices."""
    if facts.os != "FreeBSD":
        return
    levels = programs.output(["freebsd-version", "-kru"]).split()
    if len(levels) == 3:
        installed, running, userland = levels
        releases = f"userland {userland}, kernel {running}"
        odd = "" if installed == running else f"; the kernel on disk is {installed}: it runs after a reboot"
        yield Finding("patch level", Health.OK, releases + odd)
    if packages := programs.output(["pkg", "query", "%n-%v"], timeout=HELPER_WAIT).split():
        yield Finding("packages", Health.OK, f"{len(packages)}: {' '.join(sorted(packages))}")
    yield from _origins()


def _origins() -> Iterator[Finding]:
    """Report what an image's system and packages were built of; warn of what is not pinned, or without patches."""
    try:
        lines = ORIGINS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    titles = {"ports": "ports tree", "system": "system's source"}
    for line in lines:
        what, _, said = line.partition(" ")
        if what in titles:
            yield _origin(titles[what], *said.split(" ", 2))  # a later build may say more


def _origin(title: str, how: str, which: str = "", files: str = "") -> Finding:
    if how == "pinned":
        return Finding(title, Health.OK, f"pinned: commit {which}, files {files}")
    if how == "released":
        detail = f"FreeBSD {which} as it was released, without the security patches since"
        return Finding(title, Health.WARN, detail, "an image with them: ./build.sh image without --as-released")
    of = f"commit {which}" if files else "a tree of unknown commit"
    of = "given sets or packages" if how == "given" else of
    remedy = "for a build that can be repeated: ./build.sh pin, then ./build.sh image"
    return Finding(title, Health.WARN, f"not pinned: built of {of}", remedy)


def _adapters(facts: HostFacts) -> Iterator[Finding]:
    real = [nic for nic in facts.nics if not nic.loopback and nic.addresses]
    if not any(nic.up for nic in real):
        remedy = "linkladder system address sets one" if facts.os == "FreeBSD" else "ip link set DEV up, ip address add"
        yield Finding("adapters", Health.BAD, "none is up and has an address", remedy)
    for nic in real:
        if nic.up and nic.carrier is False:
            remedy = "check its cable, and the port at the other end; on a hypervisor, whether the adapter is connected"
            yield Finding(f"adapter {nic.name}", Health.WARN, "no carrier: nothing is at the other end of it", remedy)
        if nic.up and facts.cores >= 4 and nic.rx_queues == 1:
            detail = "one receive queue: one core takes all packets"
            counts = "vmstat -i" if facts.os == "FreeBSD" else f"ethtool -l {nic.name}, /proc/interrupts"
            remedy = f"check MSI-X ({counts}) and the hypervisor's settings"
            yield Finding(f"adapter {nic.name}", Health.WARN, detail, remedy)


def _bundles(facts: HostFacts) -> Iterator[Finding]:
    """Warn of bundles that carry less than their cards could, for a reason that this end can see."""
    drivers = {nic.name: nic.driver for nic in facts.nics}
    for nic in facts.nics:
        if nic.bundle is None:
            continue
        silent = [m.name for m in nic.bundle.unanswered]
        idle = [m.name for m in nic.bundle.members if not m.active and m.name not in silent]
        title = f"bundle {nic.name}"
        if nic.bundle.lacp and facts.virtual and any(drivers.get(m.name) in VIRTUAL for m in nic.bundle.members):
            detail = f"LACP in a guest of {facts.virtual}: a virtual switch does not speak it"
            remedy = (
                "measure the cards side by side instead (plan cards), or take a static bundle (loadbalance, "
                "roundrobin, failover) with MAC changes and forged transmits allowed; LACP is for the host's own cards"
            )
            yield Finding(title, Health.WARN, detail, remedy)
        elif silent:
            remedy = "set LACP up on the ports at the other end, or take a static bundle at both"
            yield Finding(title, Health.WARN, f"nobody answers LACP on {', '.join(silent)}", remedy)
        if idle:
            failover = nic.bundle.protocol == "failover"
            if not failover or len(idle) == len(nic.bundle.members):
                remedy = "check cable and port of each: the other end may still send to it"
                yield Finding(title, Health.WARN, f"{', '.join(idle)} not at work", remedy)


def _tunables() -> Iterator[Finding]:
    for one in settings_in_force():
        worst = Health.WARN if one.in_force is False else Health.OK
        values = ", ".join(
            f"{word} {value}" for word, value in (("now", one.current), ("shipped", one.shipped)) if value
        )
        detail = f"{values}: {one.status}" if values else one.status
        yield Finding(f"setting {one.name}", worst, f"{detail}; {one.why}".rstrip("; "), setting=one)
