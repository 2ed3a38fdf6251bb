"""What lies on the image: every script parses, nothing listens, nothing secret is in it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
OVERLAY = TOP / "overlay"


def scripts() -> list[Path]:
    found = [p for p in OVERLAY.rglob("*") if p.is_file() and p.read_bytes()[:9] == b"#!/bin/sh"]
    return sorted([*found, *(TOP / "image").glob("*.sh")])


@pytest.mark.parametrize("script", scripts(), ids=lambda p: str(p.relative_to(TOP)))
def test_shell_is_well_formed(script: Path) -> None:
    assert subprocess.run(["sh", "-n", script]).returncode == 0
    checker = Path(sys.executable).parent / "shellcheck"
    program = str(checker) if checker.exists() else shutil.which("shellcheck")
    if program is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run([program, "-x", "-s", "sh", script], cwd=TOP, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("script", scripts(), ids=lambda p: str(p.relative_to(TOP)))
def test_patterns_count_no_further_than_freebsd_does(script: Path) -> None:
    """RE_DUP_MAX is 255 there, and a pattern with more matches nothing [lib/libc/regex/regcomp.c]."""
    counts = re.findall(r"\{(\d+)(?:,(\d*))?\}", script.read_text())
    assert [c for pair in counts for c in pair if c and int(c) > 255] == []


def test_scripts_are_executable() -> None:
    folders = ("etc/rc.d", "usr/local/etc/rc.d", "usr/local/libexec")
    files = [p for folder in folders for p in (OVERLAY / folder).iterdir()]
    assert len(files) >= 10
    assert [p.name for p in files if not p.stat().st_mode & 0o111] == []


def rc_order() -> dict[str, dict[str, list[str]]]:
    found = {}
    for folder in ("etc/rc.d", "usr/local/etc/rc.d"):
        for path in (OVERLAY / folder).iterdir():
            lines = re.findall(r"^# (PROVIDE|REQUIRE|BEFORE|KEYWORD):\s*(.*)$", path.read_text(), re.M)
            found[path.name] = {key: words.split() for key, words in lines}
    return found


def test_rc_scripts_are_ordered_without_a_circle() -> None:
    order = rc_order()
    # The base system's own order, as far as ours hang on it.
    before = {("fsck", "root"), ("root", "mountcritlocal"), ("mountcritlocal", "FILESYSTEMS"), ("FILESYSTEMS", "netif")}
    before |= {
        ("FILESYSTEMS", "ldconfig"),
        ("sysctl", "netif"),
        ("netif", "LOGIN"),
        ("sysctl", "hostid"),
        ("hostid", "hostid_save"),
    }
    before |= {("hostid_save", "mountcritlocal"), ("root", "hostid_save")}
    for name, words in order.items():
        assert words["PROVIDE"] == [name]
        before |= {(other, name) for other in words.get("REQUIRE", [])}
        before |= {(name, other) for other in words.get("BEFORE", [])}
    nodes = {node for pair in before for node in pair}
    while nodes:
        free = {node for node in nodes if not any(b == node and a in nodes for a, b in before)}
        assert free, f"a circle among {sorted(nodes)}"
        nodes -= free
    assert "linkladder_control" in order and "llstate" in order["linkladder_control"]["REQUIRE"]


def test_every_enabled_service_of_ours_is_there() -> None:
    text = (OVERLAY / "etc/rc.conf").read_text()
    enabled = re.findall(r'^(ll\w+|linkladder_\w+)_enable="YES"', text, re.M)
    assert set(enabled) <= set(rc_order()) and len(enabled) == 10


def test_nothing_listens_but_the_control_channel() -> None:
    text = (OVERLAY / "etc/rc.conf").read_text()
    for line in (
        'sshd_enable="NO"',
        'sendmail_enable="NONE"',
        'cron_enable="NO"',
        'syslogd_flags="-ss"',
        'ntpd_enable="NO"',
    ):
        assert line in text, line
    control = (OVERLAY / "usr/local/etc/linkladder/sshd_control.conf").read_text()
    assert re.findall(r"^Port (\d+)$", control, re.M) == ["8622"]
    for line in (
        "PasswordAuthentication no",
        "PermitTTY no",
        "DisableForwarding yes",
        "PermitRootLogin no",
        "AllowUsers llmeasure",
    ):
        assert f"\n{line}\n" in control, line


def test_consoles_start_the_ladder_and_keep_ordinary_logins() -> None:
    ttys = dict(re.findall(r'^(tty\w+)\s+"[^"]*getty ([\w.]+)"', (OVERLAY / "etc/ttys").read_text(), re.M))
    assert (ttys["ttyv0"], ttys["ttyu0"], ttys["ttyv1"]) == ("ladder.Pc", "ladder.serial", "Pc")
    entries = (OVERLAY / "etc/gettytab.ladder").read_text()
    for kind in ("ladder.Pc", "ladder.serial"):
        assert re.search(rf"^{re.escape(kind)}:\\\n\t:al=linkladder:tc=", entries, re.M), kind


@pytest.mark.parametrize(("part", "why"), [("", "no room for a state partition"), ("/dev/da0p4", "cannot be mounted")])
def test_state_that_is_in_memory_alone_says_why(tmp_path: Path, part: str, why: str) -> None:
    """The real function, where the partition is not there, or gives errors."""
    text = (OVERLAY / "etc/rc.d/llstate").read_text()
    function = text[text.index("llstate_mount()") : text.index("# What only this machine has")]
    stand_ins = f"""
        state={tmp_path}/state label=llstate
        llstate_make() {{ [ -n "{part}" ] && echo "{part}"; }}
        fsck_ufs() {{ return 8; }}
        tunefs() {{ return 1; }}
        mount() {{ case "$*" in *tmpfs*) ;; -p) ;; *) return 1 ;; esac; }}
    """
    done = subprocess.run(["sh", "-c", f"{stand_ins}\n{function}\nllstate_mount"], capture_output=True, text=True)
    assert done.returncode == 0 and "kept in memory only" in done.stdout, done
    assert why in (tmp_path / "state/in-memory").read_text()


LABELLED, HALF_MADE = ["llroot", "llroot2", "llstate"], ["llroot", "llroot2", "llstate-new"]


@pytest.mark.parametrize(
    ("labels", "holds", "made"),
    [
        (["llroot"], "", True),
        (["llroot"], "ufs llstate", False),  # the disk was written from an image, and the state is found again
        (["llroot"], "ufs other", True),
        (HALF_MADE, "", True),  # the power was cut while it was made
        (HALF_MADE, "ufs llstate", False),
        (LABELLED, "ufs llstate", False),
        (LABELLED, "", False),  # its first block is damaged: fsck looks for a copy of it, and nothing is lost by us
    ],
)
def test_a_state_partition_is_made_once_and_never_over_a_damaged_one(
    tmp_path: Path, labels: list[str], holds: str, made: bool
) -> None:
    """The real functions, with a disk whose partition table is a file of labels."""
    text = (OVERLAY / "etc/rc.d/llstate").read_text()
    functions = text[text.index("# The partition of this label") : text.index("llstate_mount()")]
    table = tmp_path / "table"
    table.write_text("".join(f"=> 0 da0p{number} {label}\n" for number, label in enumerate(labels, 1)))
    stand_ins = f"""
        label=llstate table={table}
        llstate_disk() {{ echo da0; }}
        diskinfo() {{ echo da0 512 8000000000; }}
        dd() {{ :; }}
        mount() {{ echo /dev/da0p1 / ufs rw; }}
        fstyp() {{ [ -z "{holds}" ] || echo "{holds}"; }}
        newfs() {{ echo "newfs $5" >>{tmp_path}/said; }}
        gpart() {{
            case "$*" in
            "show -lp da0") cat $table ;;
            "show -p da0") echo "1 5000 da0p1 freebsd-ufs" ;;
            add*) while [ "$1" != -l ]; do shift; done
                echo "=> 0 da0p$(($(wc -l <$table) + 1)) $2" >>$table ;;
            modify*) sed "s/da0p$3 .*/da0p$3 $5/" $table >$table.new && mv $table.new $table ;;
            esac
        }}
    """
    done = subprocess.run(["sh", "-c", f"{stand_ins}\n{functions}\nllstate_make"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "/dev/da0p3\n"), done
    said = tmp_path / "said"
    assert (said.read_text() if said.exists() else "") == ("newfs /dev/da0p3\n" if made else "")
    assert [line.split()[-1] for line in table.read_text().splitlines()] == LABELLED


def test_reports_are_the_consoles_and_the_operators_alone(tmp_path: Path) -> None:
    """The real function, where an earlier version has left the folder open to everybody."""
    text = (OVERLAY / "etc/rc.d/llstate").read_text()
    ours = text[text.index("\tmkdir -p $state/export") : text.index("\t/usr/local/libexec/linkladder-machine")]
    export = tmp_path / "export"
    export.mkdir(mode=0o755)
    script = f'state={tmp_path}; chown() {{ echo "$@"; }}\n{ours}'
    done = subprocess.run(["sh", "-ec", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"linkladder:admin {export}\n" and export.stat().st_mode & 0o777 == 0o750


def test_root_gives_nothing_away_that_a_link_of_the_measuring_user_leads_to(tmp_path: Path) -> None:
    """The real function, after a broken tool has put a link where its folder was: a boot must not make /etc its own."""
    text = (OVERLAY / "etc/rc.d/llstate").read_text()
    function = text[text.index("llstate_identity()") : text.index("# What the operator chose")]
    function = function.replace("/usr/local/libexec/linkladder-machine", "machine").replace(
        "/etc/hostid", "$state/noted"
    )
    roots, measure = tmp_path / "etc", tmp_path / "state" / "measure"
    roots.mkdir(mode=0o700)
    measure.mkdir(parents=True)
    (measure / "run").symlink_to(roots)
    stand_ins = f"""
        state={tmp_path}/state system={tmp_path}/state/system home={tmp_path}/state/linkladder
        measure={measure} trusted={tmp_path}/state/trusted
        chown() {{ shift; for one; do realpath "$one"; done; }}
        su() {{ echo "as $2: $4"; }}
        llstate_disk() {{ :; }}
        llstate_measure() {{ :; }}
        machine() {{ :; }}
        mkdir -p $system/ssh && echo 1 | tee $system/hostid >$system/ssh/ssh_host_ed25519_key
    """
    done = subprocess.run(["sh", "-c", f"{stand_ins}\n{function}\nllstate_identity"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    given = done.stdout.splitlines()
    assert str(measure) in given and str(roots) not in given
    assert roots.stat().st_mode & 0o777 == 0o700 and not list(roots.iterdir())
    (made,) = [line for line in given if line.startswith("as llmeasure: ")]
    assert f"mkdir -p {measure}/run/agents" in made and "chmod 755" in made


def measure_place(tmp_path: Path, *, unit: str = "md0", holds: str = "ufs", in_memory: bool = False) -> list[str]:
    """What the real function does for the measuring user's place; `holds`: what the file system is, '' if none is."""
    text = (OVERLAY / "etc/rc.d/llstate").read_text()
    functions = text[text.index("llstate_measure()") : text.index("# What only this machine has")]
    state = tmp_path / "state"
    state.mkdir(exist_ok=True)
    (tmp_path / "holds").write_text(holds)
    if in_memory:
        (state / "in-memory").touch()
    stand_ins = f"""
        said() {{ echo "$*" >>{tmp_path}/said; }}
        state={state} measure={state}/measure measure_size=16
        mdconfig() {{ said mdconfig "$@"; case $1 in -a) [ -n "{unit}" ] && echo "{unit}" ;; esac; }}
        fsck_ufs() {{ said fsck_ufs "$@"; return 8; }}
        newfs() {{ said newfs "$@"; echo ufs >{tmp_path}/holds; }}
        mount() {{ case $1 in -p) return ;; esac; said mount "$@"
            case $* in *tmpfs*) ;; *) [ "$(cat {tmp_path}/holds)" = ufs ] ;; esac; }}
    """
    (tmp_path / "said").write_text("")
    done = subprocess.run(["sh", "-c", f"{stand_ins}\n{functions}\nllstate_measure"], capture_output=True, text=True)
    assert done.returncode == 0, done
    return (tmp_path / "said").read_text().splitlines()


def test_the_measuring_user_has_a_place_of_a_fixed_size(tmp_path: Path) -> None:
    state = tmp_path / "state"
    old = state / "measure"
    (old / "run").mkdir(parents=True)
    (old / "run/fills-the-partition").write_text("x")
    (old / "away").symlink_to(tmp_path)
    attach, mounted = f"mdconfig -a -t vnode -f {state}/measure.ufs", f"mount -o noatime,nosuid,noexec /dev/md0 {old}"
    checked = ["fsck_ufs -p /dev/md0", "fsck_ufs -y /dev/md0"]
    made = measure_place(tmp_path, holds="")
    assert made == [attach, *checked, mounted, "newfs -U /dev/md0", mounted]
    room = state / "measure.ufs"
    # Whole, so that a full partition has room for it, and root's; what lay there before is gone, not what it led to.
    assert room.stat().st_size == 16 << 20 and room.stat().st_blocks * 512 >= 16 << 20
    assert room.stat().st_mode & 0o777 == 0o600 and not list(old.iterdir()) and room.parent.is_dir()
    room.write_bytes(b"kept")
    assert measure_place(tmp_path) == [attach, *checked, mounted] and room.read_bytes() == b"kept"
    # Where a disk cannot be had for it, or nothing is kept on one, it is as large in memory.
    in_memory = f"mount -t tmpfs -o nosuid,noexec,size=16m tmpfs {old}"
    assert measure_place(tmp_path, unit="")[-1] == in_memory
    assert measure_place(tmp_path, in_memory=True) == [in_memory]


def test_state_of_a_read_only_medium_says_why_it_is_in_memory(tmp_path: Path) -> None:
    """The real functions, as a boot from the ISO runs them one after the other: llstate finds a state mounted."""
    live, later = ((OVERLAY / "etc/rc.d" / name).read_text() for name in ("lllive", "llstate"))
    start = live[live.index("lllive_start()") : live.index("load_rc_config")]
    later = later[later.index("llstate_mount()") : later.index("# What only this machine has")]
    state = tmp_path / "state"
    for folder in (tmp_path / "etc", state):
        folder.mkdir(exist_ok=True)
    stand_ins = f"""
        state={state} measure={state}/measure measure_size=16
        llstate_make() {{ return 1; }}
        lllive_cover() {{ :; }}
        kill() {{ :; }}
        mdconfig() {{ echo mdconfig "$@" >>{tmp_path}/said; return 1; }}
        mount() {{
            if [ "$1" != -p ]; then echo mount "$@" >>{tmp_path}/said; return; fi
            printf '/dev/cd0\\t/\\tcd9660\\tro\\t0\\t0\\n'
            ! grep -q ' {state}$' {tmp_path}/said 2>/dev/null || printf 'tmpfs\\t{state}\\ttmpfs\\trw\\t0\\t0\\n'
        }}
    """
    start = start.replace("/etc/", f"{tmp_path}/etc/").replace("/state", str(state))
    script = f"{stand_ins}\n{start}\n{later}\nlllive_start && llstate_mount && llstate_measure"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done
    assert (state / "in-memory").read_text() == "what is running was started from a read-only medium\n"
    said = (tmp_path / "said").read_text().splitlines()
    assert said[-2:] == [
        f"mount -t tmpfs -o size=512m tmpfs {state}",
        f"mount -t tmpfs -o nosuid,noexec,size=16m tmpfs {state}/measure",
    ]
    assert not (state / "measure.ufs").exists() and "mdconfig" not in " ".join(said)


@pytest.mark.parametrize(
    ("sector", "reached", "why"),
    [("4096", False, "null has sectors of 4096 bytes, and a system on it would not start"), ("512", True, "in use?")],
)
def test_a_disk_that_would_not_start_is_left_as_it_is(tmp_path: Path, sector: str, reached: bool, why: str) -> None:
    """The real script as far as to where it takes the disk's partitions away, which here cannot be."""
    programs, said = tmp_path / "bin", tmp_path / "said"
    programs.mkdir()
    stand_ins = {
        "id": "echo 0",
        "diskinfo": f"printf 'null\\t{sector}\\t8000000000\\t1\\n'",
        "mount": "printf '/dev/iso9660/LINKLADDER\\t/\\tcd9660\\tro\\n'",
        "glabel": "true",
        "gpart": f'echo "$*" >>{said}; [ "$1" = show ]',
        "dd": f'echo dd "$*" >>{said}',
    }
    for name, text in stand_ins.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    (tmp_path / "MANIFEST").write_text("linkladder.tzst\n")
    text = (OVERLAY / "usr/local/libexec/linkladder-install").read_text()
    text = text.replace("sets=/usr/freebsd-dist", f"sets={tmp_path}").replace("/var/run/", f"{tmp_path}/")
    env = {"PATH": f"{programs}:/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", text, "linkladder-install", "null"], capture_output=True, text=True, env=env)
    assert done.returncode == 1 and why in done.stderr, done
    assert (said.exists() and "destroy -F null" in said.read_text()) is reached
    assert reached or ("nvmecontrol format" in done.stderr and "choose another disk" in done.stderr)


def test_root_comes_from_the_screen_and_from_the_loaders_menu_alone() -> None:
    """As docs/security.md has it: no login on the serial line, and single user mode asks for no password."""
    lines = [line.split() for line in (OVERLAY / "etc/ttys").read_text().splitlines() if line[:1] not in ("", "#")]
    assert [one[-1] for one in lines if one[0] == "console"] == ["secure"]
    loader = (OVERLAY / "boot/loader.conf").read_text()
    assert 'beastie_disable="NO"' in loader and 'boot_multicons="YES"' in loader and "\npassword" not in loader
    asking = [line[0] for line in lines if "getty" in line[1] and not line[2].startswith("ladder.")]
    assert asking == ["ttyv1", "ttyv2", "ttyv3"], "where root may log in while it runs"
    assert not (OVERLAY / "etc/pam.d/login").exists()


def test_no_secret_key_or_machine_is_in_the_tree() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "overlay", "image", "ports", "poudriere.conf"], cwd=TOP, capture_output=True
    )
    files = [TOP / name for name in listed.stdout.decode().split("\0") if name]
    assert len(files) > 30
    for path in files:
        data = path.read_bytes()
        assert b"PRIVATE KEY" not in data, path
        assert not re.search(rb"(ssh-ed25519|ssh-rsa|ecdsa-sha2-\S+) AAAA", data), path
        assert not re.search(rb"\$[156]\$[./A-Za-z0-9]+\$", data), f"a password hash in {path}"
        assert not path.name.startswith("ssh_host_"), path
    assert not (OVERLAY / "etc/hostid").exists() and not (OVERLAY / "etc/master.passwd").exists()


def test_kernel_configuration() -> None:
    words = [
        line.split()[:2]
        for line in (TOP / "image/LINKLADDER").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert words == [["include", "GENERIC"], ["ident", "LINKLADDER"], ["options", "RSS"]]


def test_package_list_matches_what_the_port_needs() -> None:
    listed = {line.split("@")[0] for line in (TOP / "ports/pkglist").read_text().split()}
    port = (TOP / "ports/net-mgmt/linkladder/Makefile").read_text()
    needs = set(
        re.findall(r":((?:textproc|sysutils|devel|databases|benchmarks)/[\w-]+)", port.split("RUN_DEPENDS", 1)[1])
    )
    assert needs <= listed, needs - listed
    assert not any("rust" in one or "numpy" in one for one in listed)
