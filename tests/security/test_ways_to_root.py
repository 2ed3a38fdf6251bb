"""Root has no password on the local consoles: from anywhere else nothing leads to him but doas.conf's two doors."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
OVERLAY = TOP / "overlay"
DOAS_CONF = OVERLAY / "usr/local/etc/doas.conf"
LIBEXEC = "/usr/local/libexec"
PASSWD = """\
root:x:0:0:root:/root:/bin/sh
linkladder:x:862:862:linkladder:/var/db/linkladder:/bin/sh
admin:x:863:863:operator:/home/admin:/bin/sh
llmeasure:x:864:864:measuring:/var/empty:/bin/sh
"""
GROUP = "root:x:0:\nlinkladder:x:862:\nadmin:x:863:\nllmeasure:x:864:\n"
NUMBERS = {"linkladder": 862, "admin": 863, "llmeasure": 864}
MINUTE = 60


def permitted(who: str, as_whom: str, *command: str) -> bool:
    """What the real doas makes of the shipped file, asked by users of the image that live in this question alone."""
    script = """
set -e
mount -t tmpfs none /mnt
printf %s "$PASSWD" >/mnt/passwd; printf %s "$GROUP" >/mnt/group; cp "$1" /mnt/doas.conf
mount --bind /mnt/passwd /etc/passwd; mount --bind /mnt/group /etc/group
uid=$2; as=$3; shift 3
exec setpriv --reuid="$uid" --regid="$uid" --clear-groups doas -C /mnt/doas.conf -u "$as" "$@"
"""
    argv = ["unshare", "-m", "sh", "-c", script, "sh", str(DOAS_CONF), str(NUMBERS[who]), as_whom, *command]
    environment = {**os.environ, "PASSWD": PASSWD, "GROUP": GROUP}
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=MINUTE)
    assert done.returncode in (0, 1) and done.stdout.split()[:1] in (["permit"], ["deny"]), done
    return done.stdout.split()[0] == "permit"


@pytest.mark.skipif(not shutil.which("doas") or os.geteuid() != 0, reason="needs doas (Debian's opendoas) and root")
class TestDoors:
    def test_each_user_has_the_door_that_is_his(self) -> None:
        assert permitted("linkladder", "root", f"{LIBEXEC}/linkladder-priv", "reboot")
        assert permitted("llmeasure", "root", f"{LIBEXEC}/linkladder-measure", "mtu", "vmx1", "9000")
        assert permitted("admin", "linkladder", "/usr/local/bin/linkladder")

    @pytest.mark.parametrize("verb", ["ssh", "install", "reboot", "shutdown", "kernel-next", "mtu"])
    def test_the_measuring_user_has_not_the_consoles(self, verb: str) -> None:
        for words in ([verb], ["operator", verb], ["measure", verb]):
            assert not permitted("llmeasure", "root", f"{LIBEXEC}/linkladder-priv", *words)

    @pytest.mark.parametrize("who", list(NUMBERS))
    def test_nobody_becomes_root_by_another_way(self, who: str) -> None:
        for command in ("/bin/sh", "sh", "su", "/usr/bin/python3", "/usr/local/bin/linkladder", "doas"):
            assert not permitted(who, "root", command), (who, command)

    def test_the_measuring_user_and_the_operator_become_nobody_else(self) -> None:
        for command in ("/bin/sh", "/usr/local/bin/linkladder", f"{LIBEXEC}/linkladder-priv"):
            assert not permitted("llmeasure", "linkladder", command)
            assert not permitted("admin", "llmeasure", command)
        for door in ("priv", "measure"):
            assert not permitted("admin", "root", f"{LIBEXEC}/linkladder-{door}", "reboot")


@pytest.mark.parametrize("name", ["reboot", "ssh", "install", "hostname", "usb-mount", "address", "shutdown"])
def test_no_word_opens_the_consoles_verbs_to_the_measuring_door(name: str) -> None:
    """The class stands in root's own script; what the caller says comes after it."""
    door = (OVERLAY / "usr/local/libexec/linkladder-measure").read_text().splitlines()[-1]
    assert door == 'exec /usr/local/bin/python3 -I -m linkladder.priv measure "$@"'
    for words in ([name], ["operator", name], ["--", "operator", name], ["measure", name]):
        argv = [sys.executable, "-I", "-m", "linkladder.priv", "measure", *words, "now"]
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=MINUTE, env={"LINKLADDER_AUDIT": os.devnull}
        )
        assert done.returncode == 2, done
        assert "for the operator at the console only" in done.stderr or "there is no" in done.stderr


def world(folder: Path) -> Path:
    """A root file system with the programs of FreeBSD that become root, each as `find` sees it there."""
    setuid = [f"usr/bin/{name}" for name in ("su", "login", "at", "crontab", "passwd", "chsh")]
    setuid += ["sbin/shutdown", "usr/sbin/authpf", "usr/local/bin/fusermount", "usr/local/bin/doas", "sbin/ping"]
    for name in (*setuid, "usr/bin/wall", "bin/ls"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        path.chmod(0o4555 if name in setuid else 0o2555 if name == "usr/bin/wall" else 0o555)
    (folder / "sbin/ping6").hardlink_to(folder / "sbin/ping")  # one file, whose mode goes by either name
    return folder


def test_what_everybody_may_write_is_in_memory_and_bounded(tmp_path: Path) -> None:
    """/var/tmp lay on the system's disk, which the measuring user could fill, 16 MB a file."""
    root = tmp_path / "root"
    (root / "var/tmp").mkdir(parents=True)
    build = (TOP / "image/post-build.sh").read_text()
    script, calls = build.split("\nll_users\n")
    assert calls.split().index("ll_clean") < calls.split().index("ll_tmp") < calls.split().index("ll_installer")
    settings = {**os.environ, "WORLDDIR": str(root), "LL_WORK": "/none"}
    for _ in range(2):  # post-build runs once a medium
        subprocess.run(["sh", "-euc", f"{script}\nll_tmp"], env=settings, check=True, timeout=MINUTE)
    assert (root / "var/tmp").readlink() == Path("/tmp")
    (mounted,) = [line.split() for line in (TOP / "overlay/etc/fstab").read_text().splitlines() if "/tmp" in line]
    assert mounted[:3] == ["tmpfs", "/tmp", "tmpfs"] and "size=256m" in mounted[3]


def test_a_broken_tool_has_bounds() -> None:
    """Terminals were without one: who opens all of them leaves the operator's ssh none."""
    said = dict(re.findall(r":(\w+)=(\w+):", (TOP / "overlay/etc/login.conf.ladder").read_text().replace(":\\", ":")))
    bounds = {"maxproc": "600", "openfiles": "4096", "filesize": "16M", "coredumpsize": "0", "pseudoterminals": "0"}
    assert bounds.items() <= said.items()


def test_two_programs_of_the_image_run_as_somebody_else(tmp_path: Path) -> None:
    root = world(tmp_path / "root")
    script = (TOP / "image/post-build.sh").read_text().split("\nll_users\n")[0]
    done = subprocess.run(
        ["sh", "-euc", f"{script}\nll_setuid"], env={**os.environ, "WORLDDIR": str(root), "LL_WORK": "/none"},
        capture_output=True, text=True, timeout=MINUTE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    left = {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() and p.stat().st_mode & 0o6000}
    assert left == {"usr/local/bin/doas", "sbin/ping", "sbin/ping6"}
    assert (root / "usr/bin/su").stat().st_mode & 0o777 == 0o555


def test_nobody_of_the_image_is_in_wheel_or_has_a_password() -> None:
    made = re.findall(r"useradd (\w+)(.*)", (TOP / "image/post-build.sh").read_text())
    assert [name for name, _ in made] == ["linkladder", "admin", "llmeasure"]
    for name, options in made:
        assert "-G" not in options and "wheel" not in options, name
        assert options.endswith("-h -"), name


def test_su_is_roots_alone() -> None:
    rules = [line.split() for line in (OVERLAY / "etc/pam.d/su").read_text().splitlines() if line[:1] != "#"]
    auth = [(control, module) for facility, control, module, *_ in rules if facility == "auth"]
    assert auth == [("required", "pam_rootok.so")]


def test_no_job_can_be_left_for_root_or_anybody() -> None:
    for name in ("var/cron/allow", "var/at/at.allow"):  # those who may, root aside: nobody
        assert (OVERLAY / name).read_bytes() == b""
    assert not (OVERLAY / "var/at/at.deny").exists() and not (OVERLAY / "var/cron/deny").exists()
    assert 'cron_enable="NO"' in (OVERLAY / "etc/rc.conf").read_text()


def test_no_sshd_lets_root_in_nor_an_empty_password() -> None:
    for name in ("etc/ssh/sshd_config", "usr/local/etc/linkladder/sshd_control.conf"):
        lines = (OVERLAY / name).read_text().splitlines()
        for line in ("PermitRootLogin no", "PermitEmptyPasswords no", "UsePAM no"):
            assert line in lines, (name, line)
        assert sum(line.startswith("AllowUsers ") for line in lines) == 1
        assert not any(line.startswith("AllowUsers ") and "root" in line for line in lines)


def test_root_comes_in_at_the_screen_alone() -> None:
    """Where the firmware has its serial over LAN on COM2, that is the console: it asked for a login, and took root.

    login takes root on secure terminals only [pam_securetty], and on those that ttys does not name not at all.
    """
    lines = [shlex.split(line) for line in (OVERLAY / "etc/ttys").read_text().splitlines() if line[:1] not in ("", "#")]
    started = [line for line in lines if "off" not in line]
    assert [name for name, *words in started if "secure" in words] == ["ttyv0", "ttyv1", "ttyv2", "ttyv3"]
    serial = [(name, getty) for name, getty, *_ in started if not re.fullmatch(r"ttyv\d", name)]
    assert serial == [(f"ttyu{number}", "/usr/libexec/getty ladder.serial") for number in range(4)]
