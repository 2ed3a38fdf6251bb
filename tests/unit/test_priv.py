"""The program that runs as root: what it refuses, what it would run, and that it lets go."""

from __future__ import annotations

import base64
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkladder.priv import access, appliance, checks, disks, ping, running, sysctls, verbs
from linkladder.priv.checks import Refused
from linkladder.tools import ping_argv

CAPTURES = Path(__file__).parents[1] / "captures" / "freebsd-15.1"
KEY = base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes(range(32))).decode()
IFACE = "lo" if sys.platform.startswith("linux") else "lo0"
BAD = [
    "",
    "-x",
    "--help",
    "a\nb",
    "a\0b",
    "a b",
    ";reboot",
    "$(reboot)",
    "`id`",
    "../../etc/passwd",
    "/etc/passwd",
    "٣",
    "\uff11\uff12",
    "1e3",
    "0x10",
    "+1",
    "-1",
    " 1",
    "1 ",
    "9" * 400,
    "A" * 10_000_000,
    "\x1b[2J",
    "é",
    "NaN",
    "inf",
]
# For every verb: arguments that are accepted on FreeBSD, each of which is then spoilt in turn.
GOOD = {
    "iface-flags": [IFACE, "-tso"],
    "mtu": [IFACE, "9000"],
    "sysctl": ["net.inet.tcp.sendspace", "262144"],
    "cpuset": ["24", "0,2-3"],
    "ping": [
        "-n",
        "-D",
        "-c",
        "10",
        "-i",
        "0.05",
        "-s",
        "1472",
        "-S",
        "10.0.0.1",
        "10.0.0.2",
    ],
    "frames": [IFACE, "9000"],
    "offloads": [IFACE, "tso=off"],
    "congestion": ["htcp"],
    "module": ["cc_htcp", "on"],
    "trial-open": [IFACE, "10.0.0.2"],
    "hostname": ["alpha.lab"],
    "upgrade": ["/state/export/linkladder-1.2.3-amd64.upgrade", "downgrade"],
    "ssh": ["key", "ssh-ed25519", KEY, "me@desk"],
}
FAIR_NAMES = {"1e3", "0x10", "NaN", "inf"}


def refusal(cls: str, verb: str, args: list[str], system: str = "FreeBSD") -> Refused:
    with pytest.raises(Refused) as caught:
        verbs.build(cls, verb, args, system)
    return caught.value


@pytest.mark.parametrize("verb", GOOD)
def test_each_argument_spoilt_in_turn_is_refused_by_name(verb: str) -> None:
    assert verbs.build("operator", verb, GOOD[verb], "FreeBSD")
    for place, good in enumerate(GOOD[verb]):
        for bad in BAD:
            if (verb == "hostname" or good == "me@desk") and bad in FAIR_NAMES:
                continue
            spoilt = [*GOOD[verb]]
            spoilt[place] = bad
            error = refusal("operator", verb, spoilt)
            assert error.field and len(str(error)) < 300 and str(error).isprintable()


@pytest.mark.parametrize("verb", GOOD)
def test_missing_and_extra_arguments_are_refused(verb: str) -> None:
    assert "is missing" in str(refusal("operator", verb, []))
    if verb != "iface-flags":
        refusal("operator", verb, [*GOOD[verb], "more"])  # which is no offload either
    refusal("operator", verb, [*GOOD[verb], *["x"] * 1000])


@pytest.mark.parametrize(
    "verb",
    ["", "sh", "rm", "ping6", "MTU", "mtu\n", "mtu\0", "../mtu", "м" * 100, "-mtu"],
)
def test_unknown_verbs_are_refused(verb: str) -> None:
    assert refusal("operator", verb, []).field == "verb"
    assert refusal("root", "mtu", [IFACE, "1500"]).field == "class"


@pytest.mark.parametrize("verb", [v for v, (owner, _) in verbs.VERBS.items() if owner == verbs.OPERATOR])
def test_a_peer_cannot_reach_the_operators_verbs(verb: str) -> None:
    assert "operator" in str(refusal("measure", verb, []))
    assert "Linux" in str(refusal("operator", verb, [], "Linux"))


def words(verb: str, args: list[str], system: str) -> list[str]:
    return [" ".join(s) for s in verbs.build("operator", verb, args, system) if isinstance(s, list)]


@pytest.mark.parametrize(
    ("verb", "change", "makes"),
    [
        ("mtu", "9000", f"/sbin/ifconfig {IFACE} mtu 9000"),
        ("frames", "9000", f"/sbin/ifconfig {IFACE} mtu 9000"),
        ("iface-flags", "-tso", f"/sbin/ifconfig {IFACE} -tso"),
    ],
)
def test_the_management_adapter_stays_as_it_is(
    verb: str, change: str, makes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "rc.conf"
    kept.write_text(f'linkladder_management="em7"\nlinkladder_management="{IFACE}"\n')
    monkeypatch.setattr(appliance, "RC_CONF", str(kept))
    assert "management adapter" in str(refusal("operator", verb, [IFACE, change]))
    kept.write_text('linkladder_management="em7"\n')
    assert words(verb, [IFACE, change], "FreeBSD")[0] == makes


def test_a_frame_size_is_kept_for_the_next_boot() -> None:
    assert words("frames", [IFACE, "9000"], "FreeBSD")[1].endswith(f"linkladder_mtu_{IFACE}=9000")
    assert "1500 9000" in str(refusal("operator", "frames", [IFACE, "65000"]))


def test_offloads_are_kept_beside_those_kept_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "rc.conf"
    kept.write_text(f'linkladder_offloads_{IFACE}="-lro tso"\n')
    monkeypatch.setattr(appliance, "RC_CONF", str(kept))
    now, later = words("offloads", [IFACE, "tso=off", "rxcsum=on"], "FreeBSD")
    assert now == f"/sbin/ifconfig {IFACE} -lro -tso rxcsum"
    assert later.endswith(f"linkladder_offloads_{IFACE}=-lro -tso rxcsum")


def test_a_congestion_control_is_kept_for_the_next_boot() -> None:
    module, now, later = words("congestion", ["newreno"], "FreeBSD")
    assert module == "/sbin/kldload -n cc_newreno"  # nothing tells here that the kernel has it
    assert now == "/sbin/sysctl net.inet.tcp.cc.algorithm=newreno" and later.endswith("linkladder_congestion=newreno")


@pytest.mark.parametrize("verb", sorted(verbs.VERBS))
def test_what_no_command_may_hold_is_refused_before_a_verb_looks_at_it(verb: str) -> None:
    for bad in ("a\0b", "a\nb", "\x1b[2J", "é", "\uff11", "x" * (checks.LIMIT + 1)):
        assert refusal("operator", verb, ["1", bad]).field == "argument 2", ascii(bad[:9])


WORDS, SHORT = sorted({word for words in GOOD.values() for word in words}), [bad for bad in BAD if len(bad) < 99]


@settings(max_examples=300)
@given(st.data())
def test_no_text_leads_to_anything_but_a_refusal_or_a_clean_command(data: st.DataObject) -> None:
    """Good words with a few characters put into one of them, or with another verb's in its place."""
    verb = data.draw(st.sampled_from(sorted(GOOD)) | st.sampled_from(sorted(verbs.VERBS)))
    args = [*GOOD.get(verb, data.draw(st.lists(st.sampled_from(WORDS) | st.text(), min_size=1, max_size=6)))]
    place = data.draw(st.integers(0, len(args) - 1))
    at, more = data.draw(st.integers(0, len(args[place]))), data.draw(st.text(max_size=3) | st.sampled_from(SHORT))
    put_in = args[place][:at] + more + args[place][at:]
    args[place] = data.draw(st.sampled_from([put_in, data.draw(st.sampled_from(WORDS))]))
    try:
        steps = verbs.build("operator", verb, args, "FreeBSD")
    except Refused:
        assert args != GOOD.get(verb)
        return
    for step in steps:
        if isinstance(step, list):
            assert step[0].startswith("/")
            assert all(word.isascii() and word.isprintable() for word in step)


def test_the_commands_are_those_of_each_system() -> None:
    assert words("iface-flags", [IFACE, "-tso", "lro"], "FreeBSD") == [f"/sbin/ifconfig {IFACE} -tso lro"]
    assert words("iface-flags", [IFACE, "-rxcsum"], "Linux") == [f"/usr/sbin/ethtool -K {IFACE} rx off"]
    assert words("mtu", [IFACE, "9000"], "FreeBSD") == [f"/sbin/ifconfig {IFACE} mtu 9000"]
    assert words("sysctl", ["dev.vmx.0.iflib.tx_abdicate", "1"], "FreeBSD") == [
        "/sbin/sysctl dev.vmx.0.iflib.tx_abdicate=1"
    ]
    assert words("address", [IFACE, "static", "10.1.0.2/24", "10.1.0.1"], "FreeBSD")[:2] == [
        f"/usr/sbin/sysrc -f /state/system/rc.conf ifconfig_{IFACE}=inet 10.1.0.2/24",
        "/usr/sbin/sysrc -f /state/system/rc.conf defaultrouter=10.1.0.1",
    ]
    assert words("reboot", [], "FreeBSD") == ["/sbin/shutdown -r now"]


@pytest.mark.parametrize(
    ("args", "field"),
    [
        (["10.0.0.2"], "-c"),
        (["-c", "5", "-f", "10.0.0.2"], "option"),
        (["-c", "5", "-c", "6", "10.0.0.2"], "option"),
        (["-c5", "10.0.0.2"], "option"),
        (["-c", "5", "-i", "0.001", "10.0.0.2"], "-i"),
        (["-c", "5", "-i", "0", "10.0.0.2"], "-i"),
        (["-c", "5", "-s", "70000", "10.0.0.2"], "-s"),
        (["-c", "1000000", "-i", "60", "10.0.0.2"], "-c"),
        (["-c", "5", "example.org"], "address"),
        (["-c", "5", "localhost"], "address"),
        (["-c", "5", "224.0.0.1"], "address"),
        (["-c", "5", "255.255.255.255"], "address"),
        (["-c", "5", "0.0.0.0"], "address"),
        (["-c", "5", "ff02::1"], "address"),
        (["-c", "5", "10.1"], "address"),
        (["-c", "5", "10.0.0.2%lo"], "address"),
        (["-c", "5", "fe80::1%nosuch"], "address"),
        (["-c"], "-c"),
    ],
)
def test_pings_are_bounded_and_go_to_one_literal_address(args: list[str], field: str) -> None:
    with pytest.raises(Refused) as caught:
        ping.parse("FreeBSD", args)
    assert caught.value.field == field


@pytest.mark.parametrize("system", ["FreeBSD", "Linux"])
@pytest.mark.parametrize("remote", ["10.0.0.2", "fd00::2"])
@pytest.mark.parametrize("mtu", [None, 1500, 9000])
def test_the_pings_that_a_measurement_sends_are_allowed(system: str, remote: str, mtu: int | None) -> None:
    local = "10.0.0.1" if remote.startswith("10") else "fd00::1"
    argv = ping_argv(system, local, remote, 100, 0.05, mtu, dscp=46)
    assert ping.parse(system, list(argv[1:])) == list(argv[1:])


def test_every_fixed_freebsd_name_is_one_that_the_kernel_has() -> None:
    there = {
        line.partition(":")[0].strip()
        for path in CAPTURES.glob("sysctl-*.txt")
        for line in path.read_text().splitlines()
    }
    assert [name for name in sysctls.FREEBSD if name not in there] == []
    assert "net.inet.rss.enabled" not in sysctls.FREEBSD
    assert {"dev.vmx.0.iflib.tx_abdicate", "dev.vmx.0.iflib.rx_budget"} <= there


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kern.ipc.maxsockbuf", "1"),
        ("kern.ipc.maxsockbuf", "99999999999999999999"),
        ("net.inet.tcp.cc.algorithm", "evil"),
        ("dev.vmx.0.iflib.tx_abdicate", "2"),
        ("dev.mce.0.iflib.tx_abdicate", "1"),
        ("dev.vmx.99.iflib.tx_abdicate", "1"),
        ("dev.vmx.0.%desc", "1"),
        ("kern.securelevel", "-1"),
        ("security.bsd.see_other_uids", "1"),
    ],
)
def test_other_settings_and_values_are_refused(name: str, value: str) -> None:
    with pytest.raises(Refused):
        sysctls.check("FreeBSD", name, value)
    assert sysctls.check("Linux", "net.ipv4.tcp_rmem", "4096 131072 33554432") == "4096 131072 33554432"
    with pytest.raises(Refused):
        sysctls.check("Linux", "net.ipv4.tcp_rmem", "4096 131072 33554432\n1")


def test_the_disks_of_the_running_system_are_known_through_their_labels() -> None:
    mounts = "/dev/ufs/linkladder\t/\tufs\trw\t1 1\ndevfs\t/dev\tdevfs\trw\t0 0\n/dev/vtbd1p1\t/x\tufs\trw\t0 0\n"
    labels = "ufs/linkladder  N/A  da0p3\n   gpt/efi  N/A  da0p1\n"
    swap = "Device          512-blocks     Used    Avail Capacity\n/dev/nda0p2  1 1 1 0%\n"
    assert disks.disks_of(mounts, swap, labels, "\t/dev/ada2p4  ONLINE 0 0 0\n") == {
        "da0",
        "vtbd1",
        "nda0",
        "ada2",
    }


@pytest.mark.parametrize(
    "driver", ["da", "ada", "nda", "nvd", "vtbd", "mmcsd", "mfid", "mfisyspd", "xbd", "aacd", "ipsd", "idad", "mlxd"]
)
def test_each_kind_of_disk_that_the_kernel_knows_is_one(driver: str) -> None:
    """Such as the mfid0 of a server whose controller shows its volumes itself."""
    assert disks.split(f"{driver}0", "disk") == (f"{driver}0", "")
    assert disks.split(f"{driver}12p3", "disk") == (f"{driver}12", "p3")
    mounts = f"/dev/{driver}0p3\t/\tufs\trw\t1 1\n/dev/ufs/kept\t/x\tufs\trw\t1 1\n"
    assert disks.disks_of(mounts, "", f"ufs/kept  N/A  {driver}1p1\n", "") == {f"{driver}0", f"{driver}1"}


@pytest.mark.parametrize("name", ["", "da", "da0x", "sda", "md0", "da0/../x", "cd0", "da0p", "zvol", "da1p1"])
def test_odd_disk_names_are_refused(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(disks, "DEVICES", str(tmp_path))
    monkeypatch.setattr(disks, "in_use", lambda: {"da0"})
    for there in ("da0", "da1", "da1p1", "da2"):
        (tmp_path / there).touch()
    with pytest.raises(Refused):
        disks.unused_disk(name)
    with pytest.raises(Refused, match="running system"):
        disks.unused_disk("da0")
    with pytest.raises(Refused, match="running system"):
        disks.usb_partition("da0")
    assert disks.unused_disk("da2") == "da2"
    assert disks.usb_partition("da1p1") == "da1p1"


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "Europe/../x", "/Europe/Prague", "Europe", "Europe/Nowhere", ".x"]
)
def test_a_time_zone_is_one_that_the_system_has(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appliance, "ZONES", str(tmp_path))
    (tmp_path / "Europe").mkdir()
    (tmp_path / "Europe" / "Prague").touch()
    assert refusal("operator", "timezone", [name]).field == "zone"
    kept, link = verbs.build("operator", "timezone", ["Europe/Prague"], "FreeBSD")
    assert isinstance(kept, list) and "linkladder_timezone=Europe/Prague" in kept
    assert link == ["/bin/ln", "-sf", f"{tmp_path}/Europe/Prague", "/etc/localtime"]


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The operator's ssh in a folder of the test's own."""
    monkeypatch.setattr(access, "FOLDER", str(tmp_path))
    for name, file in (("KEYS", "keys"), ("PASSWORDS", "conf/password.conf"), ("HASH", "hash")):
        monkeypatch.setattr(access, name, str(tmp_path / file))
    monkeypatch.setattr(appliance, "RC_CONF", str(tmp_path / "rc.conf"))
    return tmp_path


def ssh(*args: str) -> list[object]:
    """Do what needs no program, and return the command lines."""
    steps = verbs.build("operator", "ssh", list(args), "FreeBSD")
    for step in steps:
        if callable(step):
            step()
    return [" ".join(step) for step in steps if isinstance(step, list)]


def test_ssh_is_not_switched_on_before_somebody_can_come_in(door: Path) -> None:
    assert refusal("operator", "ssh", ["on"]).field == "switch"
    assert ssh("key", "ssh-ed25519", KEY, "me@desk") == []
    ssh("key", "ssh-ed25519", KEY, "me@desk")
    assert (door / "keys").read_text() == f"ssh-ed25519 {KEY} me@desk\n"  # once, however often it is given
    assert ssh("on")[-1] == "/usr/sbin/service sshd restart"
    (door / "rc.conf").write_text('sshd_enable="YES"\n')
    assert ssh("off")[-1] == "/usr/sbin/service sshd onestop"
    assert ssh("forget")[-1] == "/usr/sbin/pw usermod admin -h -"
    assert not (door / "keys").exists()
    assert refusal("operator", "ssh", ["on"]).field == "switch"


@pytest.mark.parametrize("said", ["", "short", "x" * 129, "tab\tbed word", "pässword!"])
def test_a_poor_password_is_not_taken(said: str, door: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{said}\n"))
    monkeypatch.setattr(access, "feed", lambda *_: pytest.fail("it was set"))
    with pytest.raises(running.Failed, match="8 to 128"):
        ssh("password")
    assert not (door / "conf").exists()


def test_a_password_goes_by_standard_input_alone(door: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    given: list[object] = []
    monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse\n"))
    monkeypatch.setattr(access, "feed", lambda *words: given.append(words))
    monkeypatch.setattr(access, "MASTER", str(door / "master"))
    (door / "master").write_text(
        "root::0:0::0:0:x:/root:/bin/sh\nadmin:$6$salt$hash:863:863::0:0:x:/home/admin:/bin/sh\n"
    )
    (door / "rc.conf").write_text('sshd_enable="NO"\nsshd_enable="YES"\n')
    assert ssh("password") == ["/usr/sbin/service sshd restart"]
    assert given == [(["/usr/sbin/pw", "usermod", "admin", "-h", "0"], "correct horse\n")]
    assert (door / "hash").read_text() == "$6$salt$hash\n" and (door / "hash").stat().st_mode & 0o777 == 0o600
    assert (door / "conf" / "password.conf").read_text() == "PasswordAuthentication yes\n"
    assert ssh("on")


def test_a_program_is_fed(tmp_path: Path) -> None:
    running.feed(["/bin/sh", "-c", f"cat >{tmp_path}/got"], "one line\n")
    assert (tmp_path / "got").read_text() == "one line\n"
    with pytest.raises(running.Failed, match="ended with 3"):
        running.feed(["/bin/sh", "-c", "exit 3"], "")
