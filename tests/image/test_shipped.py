"""What is shipped in loader.conf, sysctl.conf and rc.conf: every name exists, every line says why and where from."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cited
from cited import OVERLAY, Setting, settings

TOP = Path(__file__).resolve().parents[2]
CAPTURES = TOP / "tests/captures/freebsd-15.1"
# Told about on the web, or in a manual, and in no 15.1 kernel.
MYTHS = re.compile(r"net\.inet\.rss\.enabled|hw\.vmx\.|net\.inet\.tcp\.recvbuf_inc|hw\.ixl\.dynamic_[rt]x_itr")


def captured() -> set[str]:
    """Every name that a running 15.1 kernel gave."""
    names: set[str] = set()
    for file in ("sysctl-names.txt", "sysctl-tunables.txt", "sysctl-writable.txt", "sysctl-net.txt"):
        for line in (CAPTURES / file).read_text().splitlines():
            names.add(re.split(r"[:=\s]", line, maxsplit=1)[0])
    return names


def by_name() -> dict[str, str]:
    return {one.name: one.value for one in settings()}


@pytest.mark.parametrize("one", settings(), ids=lambda one: one.name)
def test_every_setting_exists_and_says_why(one: Setting) -> None:
    why, source = re.fullmatch(r"# *(.*?) *\[([^\]]+)\]", one.comment).groups()  # type: ignore[union-attr]
    assert len(why) > 4, f"{one.name} does not say what it is for"
    assert one.value, one.name
    assert not MYTHS.match(one.name), f"{one.name} does not exist in FreeBSD"
    if source == "captured":
        assert one.name in captured(), f"{one.name} is in none of the captured lists"
    elif re.search(r":\d+$", source):
        line = cited.kept()[source]
        leaf = re.search(rf"(?<![a-z_]){re.escape(one.name.rpartition('.')[2])}(?![a-z_])", line.text)
        assert leaf, f"{one.name} is not in {source}: {line.text}"
        assert line.condition == "", f"{one.name} is compiled only where {line.condition}"
    else:
        # A service of ours, or of a package that is on the image.
        packages = {name.partition("@")[0] for name in (TOP / "ports/pkglist").read_text().split()}
        assert (OVERLAY / source).is_file() or source in packages, f"{one.name} is known from nowhere: {source}"


def test_a_driver_reads_each_of_its_settings() -> None:
    """hw.ix. is of the file in which _hw_ix is; dev.ix. is iflib's, which the driver uses."""
    for one in settings():
        if found := re.match(r"hw\.(ix|igc)\.", one.name):
            (source,) = re.findall(r"\[(.*)\]", one.comment)
            assert f"_hw_{found[1]}," in cited.kept()[source].text


def test_a_line_within_an_if_that_never_holds_is_seen() -> None:
    text = ["#ifndef _X_H_", "#define _X_H_", "a", "#if 0", "b", "#else", "c", "#endif", "#ifdef RSS /* x */", "d"]
    told = dict(zip(text, cited.conditions(text), strict=True))
    assert (told["a"], told["b"], told["c"], told["d"]) == ("", "0", "!(0)", "defined(RSS)")


@pytest.mark.skipif("LINKLADDER_FREEBSD_SRC" not in os.environ, reason="LINKLADDER_FREEBSD_SRC names no source of 15.1")
def test_what_was_kept_is_what_the_source_says() -> None:
    found = cited.look_up(Path(os.environ["LINKLADDER_FREEBSD_SRC"]))
    assert {one.place: one for one in found} == cited.kept()


def test_loader_settings_can_be_set_there() -> None:
    tunables = set((CAPTURES / "sysctl-tunables.txt").read_text().split())
    for one in settings():
        if one.file == "boot/loader.conf" and one.comment.endswith("[captured]"):
            assert one.name in tunables or one.name == "kern.msgbuf_show_timestamp", f"{one.name} is no loader tunable"


def test_sysctl_settings_are_writable_when_running() -> None:
    writable = set((CAPTURES / "sysctl-writable.txt").read_text().split())
    for one in settings():
        if one.file == "etc/sysctl.conf" and one.name.startswith(("net.", "kern.ipc.")):
            assert one.name in writable, f"{one.name} cannot be changed in a running system"


def test_tuned_by_memory_names_exist() -> None:
    names = captured()
    text = (OVERLAY / "etc/rc.d/lltune").read_text()
    raised = re.findall(r"lltune_raise ([a-z][\w.]+) \d+\s+# \w.*\[captured\]$", text, re.M)
    assert len(raised) == len(re.findall(r"^\s+lltune_raise ", text, re.M)) == 7, "one does not say why"
    assert [name for name in raised if name not in names] == []


def test_what_depends_on_the_machine_is_set_again_after_the_last_reading_of_sysctl_conf() -> None:
    """FreeBSD reads it twice: a congestion control that was kept, and larger buffers, were lost at every boot."""
    last = (OVERLAY / "etc/rc.d/lltune_last").read_text()
    assert re.search(r"^# REQUIRE: .*\bsysctl_lastload\b", last, re.M) and "/etc/rc.d/lltune kernel" in last
    loans = (OVERLAY / "etc/rc.d/llloans").read_text()
    assert "# REQUIRE: lltune_last" in loans, "what a restart has ended is told by the settings as configured"
    tuned = (OVERLAY / "etc/rc.d/lltune").read_text()
    again = tuned.partition("lltune_kernel()\n{\n")[2].partition("}")[0].split()
    assert again == ["lltune_memory", "lltune_congestion"] and 'kernel_cmd="lltune_kernel"' in tuned


def test_socket_buffers_fit_their_ceiling() -> None:
    """FreeBSD grants at most 2048/2304 of the ceiling."""
    value = {name: int(v) for name, v in by_name().items() if v.isdigit()}
    for name in ("net.inet.tcp.sendbuf_max", "net.inet.tcp.recvbuf_max", "net.inet.udp.recvspace"):
        assert value[name] <= value["kern.ipc.maxsockbuf"] * 2048 // 2304, name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("autoboot_delay", "2"),
        ("boot_multicons", "YES"),
        ("comconsole_speed", "115200"),
        ("kernel", "kernel"),
        ("kernels", "kernel kernel.GENERIC"),
        ("kernels_autodetect", "NO"),
        ("fsck_y_enable", "YES"),
        ("background_fsck", "NO"),
        ("growfs_enable", "NO"),
        ("powerd_enable", "NO"),
        ("blanktime", "NO"),
        ("cron_enable", "NO"),
        ("sendmail_enable", "NONE"),
        ("sendmail_submit_enable", "NO"),
        ("sendmail_outbound_enable", "NO"),
        ("sendmail_msp_queue_enable", "NO"),
        ("sshd_enable", "NO"),
        ("ntpd_enable", "NO"),
        ("syslogd_flags", "-ss"),
        ("net.inet.tcp.hostcache.enable", "0"),
        ("net.isr.maxthreads", "-1"),
        ("net.isr.bindthreads", "1"),
    ],
)
def test_what_the_appliance_promises_is_set(name: str, value: str) -> None:
    assert by_name()[name] == value


def test_nothing_is_set_twice() -> None:
    names = [one.name for one in settings()]
    assert sorted(names) == sorted(set(names))


def test_rings_of_every_port_are_set() -> None:
    """ESXi gives a machine ten adapters, a card has up to four ports."""
    names = set(by_name())
    for driver, ports in (("vmx", 10), ("ix", 4), ("ixl", 4), ("ice", 4), ("igc", 4)):
        for unit in range(ports):
            assert {f"dev.{driver}.{unit}.iflib.override_n{way}xds" for way in "rt"} <= names
    assert {f"dev.mce.{unit}.conf.{way}x_queue_size" for unit in range(4) for way in "rt"} <= names


def test_manifest_is_what_the_files_say_and_the_doctor_reads_it() -> None:
    done = subprocess.run([sys.executable, TOP / "image/manifest.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    from linkladder.settings.tunables import parse

    text = (OVERLAY / "usr/local/share/linkladder/tunables.json").read_text()
    assert json.loads(text)["schema"] == "linkladder-tunables/1"
    read = parse(text)
    units = {re.sub(r"^(dev\.\w+)\.\d+\.", r"\1.*.", one.name) for one in settings()}
    tuned = (OVERLAY / "etc/rc.d/lltune").read_text()
    raised = set(re.findall(r"lltune_raise ([\w.]+)", tuned))
    flags = {flag.replace("tso4", "tso") for flag in re.findall(r" [A-Z0-9]+:([a-z0-9]+)\b", tuned)}
    assert len(flags) == 5
    assert {one.name for one in read} == units | raised | flags | {"net.inet.rss.buckets"}
    assert all(one.why for one in read)
    by_class = {(one.name, one.memory): one.value for one in read if one.memory}
    assert by_class["kern.ipc.nmbclusters", 4] == ">=500000" and by_class["kern.ipc.maxsockbuf", 8] == ">=134217728"
    # A least value of one class must not be more than the one of the next.
    assert next(one.value for one in read if one.name == "kern.ipc.maxsockbuf" and not one.memory) == ">=67108864"


def test_every_log_is_kept_short() -> None:
    """Nothing runs by cron; what is in no newsyslog.conf grows until the disk is full."""
    rotated = set(re.findall(r"^(/var/log/\S+)", (OVERLAY / "etc/newsyslog.conf").read_text(), re.M))
    ours = [*OVERLAY.rglob("*"), *(TOP / "tui/src").rglob("*.py"), *(TOP / "image").glob("*.sh")]
    text = "\n".join(path.read_text(errors="replace") for path in ours if path.is_file())
    written = set(re.findall(r"(/var/log/[\w.-]*\w)", text))
    assert {"/var/log/linkladder-priv.log", "/var/log/linkladder_pair.log", "/var/log/auth.log"} <= written
    # pw(8) and login(1) write these by themselves.
    assert written | {"/var/log/userlog", "/var/log/utx.log"} == rotated
    by_name_enabled = by_name()
    assert by_name_enabled["newsyslog_enable"] == by_name_enabled["lllogs_enable"] == "YES"


def test_who_keeps_a_log_open_begins_it_anew_when_it_is_trimmed() -> None:
    """newsyslog renames, packs and removes the old file; whoever still writes to it fills the disk unseen."""
    lines = [line.split() for line in (OVERLAY / "etc/newsyslog.conf").read_text().splitlines() if line[:1] == "/"]
    told = {words[0]: words[6:] for words in lines}
    for script in (OVERLAY / "usr/local/etc/rc.d").iterdir():
        text = script.read_text()
        for log in re.findall(r"-o (/var/log/\S+)", text):
            (pidfile,) = re.findall(r'^pidfile="(.*)"', text, re.M)
            assert told[log] == [pidfile], f"{script.name} is not told of a new {log}"
            assert re.search(r'"\$command" -f -H -P \$pidfile -o ', text), f"{script.name} does not listen to that"


# kilobytes of logs, and after how many minutes they are trimmed although a tool runs in the 60th and the 61st
@pytest.mark.parametrize(("size", "after"), [(2000, 62), (70_000, 1)])
def test_logs_are_trimmed_between_trials_and_before_they_fill_the_disk(tmp_path: Path, size: int, after: int) -> None:
    """The loop of rc.d/lllogs. In the hour for which it slept strangers could write a gigabyte."""
    script = (OVERLAY / "etc/rc.d/lllogs").read_text()
    (loop,) = re.findall(r"wait_and_trim='(.*?)'", script, re.S)
    said = tmp_path / "said"
    for name, body in {
        "sleep": f'echo "sleep $1" >>{said}; ! grep -q trimmed {said}',
        "ps": '[ "$*" = "-U llmeasure -o comm=" ] || exit 1; echo python3.13\n'
        f'[ "$(grep -c sleep {said})" -ge 62 ] || echo iperf',
        "du": f"printf '{size}\\t/var/log\\n'",
        "newsyslog": f"echo trimmed >>{said}",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    loop = loop.replace("/usr/sbin/newsyslog", "newsyslog")
    subprocess.run(["sh", "-c", loop], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, timeout=20)
    assert said.read_text().splitlines() == [*["sleep 60"] * after, "trimmed", "sleep 60"]


# What rc.d/routing and rc.d/netoptions set whenever they run, which is at every boot: the variable that they ask, and
# what they make of each of its values.
LAST_WORD = {
    "net.inet.icmp.drop_redirect": ("icmp_drop_redirect", {"YES": "1", "NO": "0", "auto": "0"}, "auto"),
    "net.inet.icmp.log_redirect": ("icmp_log_redirect", {"YES": "1", "NO": "0"}, "NO"),
    "net.inet.icmp.bmcastecho": ("icmp_bmcastecho", {"YES": "1", "NO": "0"}, "NO"),
    "net.inet.ip.forwarding": ("gateway_enable", {"YES": "1", "NO": "0"}, "NO"),
    "net.inet6.ip6.forwarding": ("ipv6_gateway_enable", {"YES": "1", "NO": "0"}, "NO"),
    "net.inet.ip.sourceroute": ("forward_sourceroute", {"YES": "1", "NO": "0"}, "NO"),
    "net.inet.ip.accept_sourceroute": ("accept_sourceroute", {"YES": "1", "NO": "0"}, "NO"),
    "net.link.ether.inet.proxyall": ("arpproxy_all", {"YES": "1", "NO": "0"}, "NO"),
    "net.inet.tcp.rfc1323": ("tcp_extensions", {"YES": "1", "NO": "0"}, "YES"),
    "net.inet.tcp.drop_synfin": ("tcp_drop_synfin", {"YES": "1", "NO": "0"}, "NO"),
}


@pytest.mark.parametrize("name", sorted(LAST_WORD.keys() & by_name().keys()))
def test_no_rc_script_takes_a_shipped_setting_back(name: str) -> None:
    variable, makes, unset = LAST_WORD[name]
    asked = by_name().get(variable, unset)
    assert makes[asked] == by_name()[name], f"{name} is {by_name()[name]} until {variable}={asked} has its say"
