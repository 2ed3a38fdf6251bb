"""A built image under QEMU: started, watched on its serial console, cut off, ended.  Standard library only."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

OVMF = Path("/usr/share/ovmf/OVMF.fd")
# vmware's controller where the firmware has a driver for it: Debian's OVMF has none, SeaBIOS has.
DISKS = {
    "efi": "virtio-blk-pci,drive=d0,bootindex=1",
    "efi, AHCI": "ide-hd,drive=d0,bootindex=1",
    "bios": "scsi-hd,drive=d0,bus=scsi0.0,bootindex=1",
}
ESCAPE = re.compile(r"\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b[()][A-Za-z0-9]|\x1b[=>78c]|[\x00\x07\x0e\x0f]")
KEYS = {" ": "spc", "-": "minus", "/": "slash", "<": "shift-comma", ">": "shift-dot", "&": "shift-7", "\n": "ret"}
# What the first screen always shows.
TUI = r"Next step"
# Emulation takes many times what hardware takes: every wait is multiplied.
# Soft updates write a name up to half a minute after the file that it names: before the plug is pulled on purpose.
WRITTEN = "sync; sleep 35; sync; sync"
SLOW = float(os.environ.get("LINKLADDER_VM_SLOW", "1"))
CORES = int(os.environ.get("LINKLADDER_VM_CORES", "2"))  # of a machine, unless a test needs another number


def accelerator() -> list[str]:
    """KVM if a machine really starts with it, else emulation: a KVM without the processor's help runs no firmware."""
    helped = re.search(r"^flags\s*:.*\b(vmx|svm)\b", Path("/proc/cpuinfo").read_text(encoding="ascii"), re.MULTILINE)
    if helped and os.access("/dev/kvm", os.W_OK):
        probe = [
            "qemu-system-x86_64",
            "-accel",
            "kvm",
            "-cpu",
            "host",
            "-display",
            "none",
            "-nodefaults",
        ]
        try:
            tried = subprocess.run(
                [*probe, "-monitor", "stdio"],
                input=b"quit\n",
                capture_output=True,
                timeout=10,
            )
            if tried.returncode == 0:
                return ["-accel", "kvm", "-cpu", "host"]
        except subprocess.TimeoutExpired:
            pass
    # With fewer cores than two machines have between them, one emulated core waits for what another holds that is not
    # running: seen on two, standstills of seconds, and a third of the rate without TSO. Each takes its cores in turn.
    threads = "multi" if (os.cpu_count() or 1) >= 2 * CORES else "single"
    return ["-accel", f"tcg,thread={threads},tb-size=256", "-cpu", "qemu64,+rdrand"]


class Console:
    """The serial line: everything it ever said, and a way to type.

    A thread takes what comes at once, and keeps it in a file: a line that nobody reads is full after some 300 bytes,
    each sent by itself, and QEMU's own log then has bytes twice.
    """

    def __init__(self, path: Path) -> None:
        self.line = socket.socket(socket.AF_UNIX)
        self.kept = path.with_name("console.log").open("ab", buffering=0)
        self.line.connect(str(path))
        self.raw = bytearray()
        self.read_to = 0
        self.pumped = 0
        self.came = threading.Condition()
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        with contextlib.suppress(OSError):
            while new := self.line.recv(65536):
                with self.came:
                    self.raw += new
                    self.kept.write(new)
                    self.came.notify_all()
                if b"\x1b[6n" in new:
                    # What a terminal of 80x25 says when its size is asked by moving the cursor to the far corner.
                    self.line.sendall(b"\x1b[25;80R")

    def pump(self, seconds: float) -> bytes:
        """What came since the last time, or comes within some time."""
        with self.came:
            if self.pumped == len(self.raw):
                self.came.wait(seconds)
            new = bytes(self.raw[self.pumped :])
            self.pumped = len(self.raw)
        return new

    @property
    def text(self) -> str:
        """All of it, without the escape sequences."""
        with self.came:
            raw = bytes(self.raw)
        return ESCAPE.sub("", raw.decode("utf-8", "replace"))

    def expect(self, pattern: str, seconds: float) -> str:
        """Wait for a pattern in what comes after the last one found."""
        limit = time.monotonic() + seconds * SLOW
        while True:
            text = self.text
            if found := re.search(pattern, text[self.read_to :]):
                self.read_to += found.end()
                return found[0]
            if time.monotonic() > limit:
                raise AssertionError(f"{pattern!r} did not come within {seconds * SLOW:.0f} s; last: {text[-1500:]!r}")
            self.pump(0.5)

    def type(self, text: str) -> None:
        """Keys, one at a time as a person's: a UART holds only 16."""
        for key in text.encode():
            self.line.sendall(bytes([key]))
            time.sleep(0.01)

    def settle(self, seconds: float = 3.0) -> None:
        """Until nothing has come for a while; some screens count time and are never still."""
        end = time.monotonic() + 10 * seconds
        while self.pump(seconds) and time.monotonic() < end:
            pass


class Machine:
    """One virtual machine on a disk of its own over the image."""

    def __init__(
        self,
        folder: Path,
        image: Path,
        name: str,
        number: int,
        *,
        firmware: str = "efi",
        space: str = "",
        cpus: int = CORES,
        memory: int = 1024,
        taps: tuple[str, ...] = (),
        virtio: int = 0,  # of the last adapters; the others are vmxnet3
        intel: tuple[str, ...] = (),  # the models of the last ones, where they are Intel's
        cdrom: Path | None = None,
        stick: Path | None = None,
        vmware: bool = False,
    ) -> None:
        self.folder = folder / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.image, self.name, self.number, self.firmware = (
            image,
            name,
            number,
            firmware,
        )
        self.space, self.cpus, self.memory, self.taps, self.cdrom = (
            space,
            cpus,
            memory,
            taps,
            cdrom,
        )
        self.stick, self.vmware, self.virtio, self.intel = stick, vmware, virtio, intel
        self.disk = self.folder / "disk.qcow2"
        self.process: subprocess.Popen[bytes] | None = None
        self.started = 0.0
        if not self.disk.exists():
            info = subprocess.check_output(["qemu-img", "info", str(image)], text=True)
            form = re.search(r"file format: (\w+)", info)
            assert form
            base = ["-b", str(image.resolve()), "-F", form[1]]
            subprocess.run(
                [
                    "qemu-img",
                    "create",
                    "-q",
                    "-f",
                    "qcow2",
                    *base,
                    str(self.disk),
                    "8G",
                ],
                check=True,
            )

    def arguments(self) -> list[str]:
        """QEMU's command line."""
        words = ["ip", "netns", "exec", self.space] if self.space else []
        words += [
            "qemu-system-x86_64",
            "-name",
            self.name,
            *accelerator(),
            "-machine",
            "q35",
        ]
        words += [
            "-smp",
            str(self.cpus),
            "-m",
            str(self.memory),
            "-display",
            "none",
            "-vga",
            "std",
        ]
        if self.firmware != "bios":
            words += ["-bios", str(OVMF)]
        words += [
            "-device",
            "pvscsi,id=scsi0",
            "-drive",
            f"file={self.disk},if=none,id=d0,format=qcow2,cache=writethrough",
        ]
        words += ["-device", DISKS[self.firmware]]
        taps = self.taps or ("", "")
        models = [*["vmxnet3"] * len(taps), *["virtio-net-pci"] * self.virtio, *self.intel][-len(taps) :]
        for place, tap in enumerate(taps):
            bus = ""
            if models[place] == "igb":  # its virtual functions take the places of others on the same bus
                words += ["-device", f"pcie-root-port,id=port{place},chassis={place}"]
                bus = f",bus=port{place}"
            words += [
                "-device",
                f"{models[place]},netdev=n{place},mac=52:54:00:1b:{self.number:02x}:{place:02x}{bus}",
            ]
            words += [
                "-netdev",
                f"tap,id=n{place},ifname={tap},script=no,downscript=no" if tap else f"user,id=n{place},restrict=on",
            ]
        if self.cdrom is not None:
            words += [
                "-drive",
                f"file={self.cdrom},media=cdrom,if=none,id=cd0,format=raw,readonly=on",
            ]
            words += ["-device", "ide-cd,drive=cd0,bootindex=0"]
        if self.stick is not None:
            # QEMU's xHCI loses the end of a transfer now and then under emulation, and the stick answers no more.
            words += ["-device", "usb-ehci", "-drive", f"file={self.stick},if=none,id=u0,format=qcow2"]
            words += ["-device", "usb-storage,drive=u0,bootindex=0"]
        if self.vmware:  # told by the serial number and by the answer of the port that VMware's guests ask
            words[words.index("-cpu") + 1] += ",-hypervisor"
            words += ["-smbios", "type=1,serial=VMware-56 4d 00 00 00 00 00 00-00 00 00 00 00 00 00 00"]
        path = self.folder / "console"
        path.unlink(missing_ok=True)
        words += ["-monitor", f"unix:{self.folder}/monitor,server=on,wait=off"]
        words += [
            "-chardev",
            f"socket,id=c,path={path},server=on,wait=off",
            "-serial",
            "chardev:c",
        ]
        return words

    def start(self, *more: str) -> Console:
        """Power on, with more words to QEMU."""
        self.rooted: Shell | None = None
        self.process = subprocess.Popen(
            [*self.arguments(), *more],
            stdout=(self.folder / "qemu.out").open("wb"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.started = time.monotonic()
        path = self.folder / "console"
        while not path.exists():
            assert self.process.poll() is None, (self.folder / "qemu.out").read_text()
            time.sleep(0.05)
        time.sleep(0.2)
        self.console = Console(path)
        return self.console

    def monitor(self, command: str) -> str:
        """QEMU's answer to one command."""
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(f"{self.folder}/monitor")
            line.settimeout(60)
            said = b""
            for given in ("", f"{command}\n"):
                line.sendall(given.encode())
                said = b""
                while not said.endswith(b"(qemu) "):
                    said += line.recv(65536)
        return ESCAPE.sub("", said.decode("utf-8", "replace")).replace("\r", "").removesuffix("(qemu) ")

    def cut(self) -> None:
        """Pull the plug: nothing is written back that the guest was not told is on disk."""
        if self.process is not None:
            self.lasted = self.seconds()
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def await_tui(self) -> float:
        """Seconds from power on to the TUI's first whole frame on the serial line."""
        self.console.expect(TUI, 300)
        self.to_tui = self.seconds()
        self.console.settle(3.0)
        return self.to_tui

    def root(self) -> Shell:
        """A root shell on the serial line; root's login is open on the screen alone, so it comes from there.

        The console on the serial line is left to a shell that sleeps; root logs in on the screen's third terminal and
        lends the line a shell of his.
        """
        if self.rooted is not None:
            return self.rooted
        self.leave_tui()
        self.console.type("exec sleep 100000000\n")
        self.monitor("sendkey alt-f3")
        self.press("root\n", 4.0)
        self.press("exec sh -i <>/dev/ttyu0 >&0 2>&0\n", 0.0)
        self.console.expect(r"# ", 60)
        self.monitor("sendkey alt-f1")
        self.rooted = Shell(self.console)
        return self.rooted

    def leave_tui(self) -> None:
        """To the console user's shell on the serial line."""
        self.console.settle(1.0)
        self.console.type("\x11")  # Ctrl-Q
        self.console.expect(r"s and Enter opens a shell", 60)
        self.console.type("s\n")
        self.console.expect(r"[$#] ", 60)

    def press(self, text: str, rest: float) -> None:
        """Type at the screen's keyboard, then give whoever reads it so many seconds."""
        time.sleep(2.0 * SLOW)
        for letter in text:
            self.monitor(f"sendkey {KEYS.get(letter, letter)}")
            time.sleep(0.15)
        time.sleep(rest * SLOW)

    def seconds(self) -> float:
        """Since power on."""
        return time.monotonic() - self.started


class Shell:
    """Commands on a shell at the serial line, with their output and status."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.count = 0
        console.type("stty -echo; PS1=; unset HISTFILE\n")
        console.settle(1.0)

    def run(self, command: str, seconds: float = 60.0) -> tuple[int, str]:
        """Exit status and what it printed."""
        self.count += 1
        begin, end = f"<<{self.count}<", f">{self.count}>>"
        # The marks are put together by the shell, so that an echo of the line does not look like the answer.
        self.console.type(
            f"printf '%s%s\\n' '<<{self.count}' '<'; {command}; printf '%s%s %s\\n' '>{self.count}' '>>' $?\n"
        )
        self.console.expect(re.escape(begin), seconds)
        place = self.console.read_to
        self.console.expect(re.escape(end) + r" \d+\s", seconds)
        said = self.console.text[place : self.console.read_to]
        body, _, status = said.rpartition(end)
        return int(status.strip()), body.replace("\r", "").strip("\n")


def can_run() -> str:
    """'' if machines can be started here, else why not."""
    for tool in ("qemu-system-x86_64", "qemu-img", "ip"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    return "" if os.geteuid() == 0 else "the network between machines needs root"
