"""What the first boot does with OVF properties, and how the console wrapper behaves: the real scripts, run here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
LIBEXEC = TOP / "overlay/usr/local/libexec"


def apply(tmp_path: Path, **properties: str) -> tuple[str, str]:
    """rc.conf afterwards, and what was said."""
    system = tmp_path / "system"
    (system / "ssh").mkdir(parents=True, exist_ok=True)
    (tmp_path / "linkladder").mkdir(exist_ok=True)
    (system / "rc.conf.new").write_text(
        'hostname="linkladder-aabbcc"\nifconfig_vmx0="DHCP"\nlinkladder_management="vmx0"\n'
    )
    lines = "".join(f'  <Property oe:key="linkladder.{k}" oe:value="{v}"/>\n' for k, v in properties.items())
    document = tmp_path / "ovfenv.xml"
    document.write_text(
        f'<?xml version="1.0"?>\n<Environment>\n<PropertySection>\n{lines}</PropertySection></Environment>\n'
    )
    (tmp_path / "ifconfig").write_text("#!/bin/sh\necho vmx0 vmx1 vmx2\n")
    (tmp_path / "ifconfig").chmod(0o755)
    env = {**os.environ, "LINKLADDER_OVF_ENV": str(document), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", LIBEXEC / "linkladder-ovf", system], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return (system / "rc.conf.new").read_text(), done.stderr


def test_properties_are_applied(tmp_path: Path) -> None:
    key = "ssh-ed25519 " + "A" * 68 + " me@desk"
    text, said = apply(
        tmp_path,
        hostname="dc1-ladder",
        address="192.0.2.10/24",
        gateway="192.0.2.1",
        test_address="198.51.100.1/30",
        ssh_key=key,
        secret="ll1-0123-4567-89ab-cdef-ghjk-mnpq-rstv-wxyz-0000",
        contract="1G L2",
    )
    assert said == ""
    tail = text.splitlines()[3:]
    assert tail == [
        'hostname="dc1-ladder"',
        'ifconfig_vmx0="inet 192.0.2.10/24"',
        'defaultrouter="192.0.2.1"',
        'linkladder_router_of="vmx0"',
        'ifconfig_vmx1="inet 198.51.100.1/30"',
        'sshd_enable="YES"',
    ]
    assert (tmp_path / "system/ssh/operator_keys").read_text() == key + "\n"
    assert (tmp_path / "system/ssh/operator_keys").stat().st_mode & 0o777 == 0o644  # sshd reads it as the operator
    secret = tmp_path / "linkladder/site-secret"
    assert (
        secret.read_text() == "ll1-0123-4567-89ab-cdef-ghjk-mnpq-rstv-wxyz-0000\n"
        and secret.stat().st_mode & 0o777 == 0o600
    )


def test_empty_properties_change_nothing(tmp_path: Path) -> None:
    text, said = apply(
        tmp_path, hostname="", address="", gateway="", test_address="", secret="", ssh_key="", contract=""
    )
    assert len(text.splitlines()) == 3 and said == ""


def test_hostile_values_are_left_out_and_said(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text, said = apply(
        tmp_path,
        hostname=f"x&quot;; touch {mark}; &quot;",
        address="192.0.2.10/24 up; reboot",
        test_address="vmx9",
        ssh_key="command=&quot;sh&quot; ssh-ed25519 " + "A" * 68,
        secret="$(id)",
        contract="1G`id`",
    )
    assert len(text.splitlines()) == 3
    assert not mark.exists() and not (tmp_path / "system/ssh/operator_keys").exists()
    for name in ("hostname", "address", "test_address", "ssh_key", "secret", "contract"):
        assert f"linkladder.{name} is not in the form" in said
    kept = tmp_path / "linkladder/site-secret"  # for pairing to find that there is none, and to tell it
    assert "is no site secret" in kept.read_text() and "id" not in kept.read_text()


def wrapper(tmp_path: Path, program: str, keys: str, *args: str) -> subprocess.CompletedProcess[str]:
    """The wrapper with a linkladder of ours on its path."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    tool = folder / "linkladder"
    tool.write_text(f"#!/bin/sh\n{program}\n")
    tool.chmod(0o755)
    (folder / "sleep").write_text("#!/bin/sh\nexit 0\n")
    (folder / "sleep").chmod(0o755)
    text = (
        (LIBEXEC / "linkladder-console")
        .read_text()
        .replace("PATH=/usr/local/bin:", f"PATH={folder}:/usr/local/bin:", 1)
    )
    script = tmp_path / "console"
    script.write_text(text)
    return subprocess.run(["sh", script, *args], input=keys, capture_output=True, text=True, timeout=20)


def test_wrapper_restarts_after_a_crash_and_offers_a_shell_after_the_third(tmp_path: Path) -> None:
    done = wrapper(tmp_path, f"echo x >>{tmp_path}/starts; exit 3", "s\necho from-the-shell\nexit\n")
    assert (tmp_path / "starts").read_text().count("x") >= 3
    assert "3 times in a row" in done.stdout and "from-the-shell" in done.stdout
    assert done.stdout.index("3 times in a row") < done.stdout.index("from-the-shell")


def test_wrapper_clears_up_and_waits_after_a_clean_end(tmp_path: Path) -> None:
    done = wrapper(tmp_path, f"echo x >>{tmp_path}/starts; exit 0", "\n")
    assert (tmp_path / "starts").read_text().count("x") == 2  # Enter started it once more, then the input ended
    assert "\033[?25h" in done.stdout and "\033[2J" in done.stdout


def test_wrapper_sets_what_the_console_can_show(tmp_path: Path) -> None:
    wrapper(tmp_path, f"env >{tmp_path}/env", "")
    env = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines() if "=" in line)
    assert env["TEXTUAL_COLOR_SYSTEM"] == "standard" and env["TEXTUAL_THEME"] == "ansi-dark"
    assert "COLORTERM" not in env and env["LANG"] == "C.UTF-8"


def test_wrapper_runs_forced_commands_as_a_shell_does(tmp_path: Path) -> None:
    done = wrapper(tmp_path, "exit 9", "", "-c", "echo one; exit 4")
    assert (done.stdout, done.returncode) == ("one\n", 4)
