"""The lines to take away at the end of a staircase: each for its end and system, and those for Linux really run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from judge_documents import document
from linkladder import plan as plans
from linkladder.judge import judge_rung
from linkladder.model import KERNEL, Direction, End, Experiment, HostFacts, Path, Setting, SettingKind
from linkladder.phrases import to_set
from linkladder.phrases.to_set import BEFORE_IT, ETHTOOL
from linkladder.priv.verbs import LINUX_FLAGS
from staircases import PLAN, climbed_with

PATH = Path("10.0.0.1", "10.0.0.2", "beta", "vmx1", "ens192")
SAME = Path("10.0.0.1", "10.0.0.2", "beta", "sh0", "sh0")
K = SettingKind


def lines(*settings: Setting, path: Path = PATH, hosts: Sequence[HostFacts] = (), **load: object) -> list[str]:
    return list(to_set([Experiment("won", settings=settings, **load)], [path], hosts))  # type: ignore[arg-type]


def of(system: str, found: list[str]) -> list[str]:
    return [line.split(f", {system}: ")[1] for line in found if f", {system}: " in line]


def test_each_end_has_its_own_card() -> None:
    found = lines(Setting(K.MTU, "9000"))
    assert "To set, MTU 9000, at the near end, Linux: ip link set dev vmx1 mtu 9000" in found
    assert "To set, MTU 9000, at the far end, beta, Linux: ip link set dev ens192 mtu 9000" in found
    assert of("FreeBSD", found) == ["ifconfig vmx1 mtu 9000", "ifconfig ens192 mtu 9000"]
    assert of("FreeBSD at boot", found)[0] == 'sysrc ifconfig_vmx1+=" mtu 9000"'
    (host,) = set(of("ESXi host", found))
    standard, example = host.split("  # ")
    assert standard == "esxcli network vswitch standard set --vswitch-name=vSwitch0 --mtu=9000"
    assert example == "vSwitch0 is an example: esxcli network vswitch standard list names them"
    (distributed,) = set(of("vCenter (PowerCLI)", found))
    assert distributed.startswith("Set-VDSwitch -VDSwitch NAME -Mtu 9000  # ")
    assert all(", at both ends" in line for line in lines(Setting(K.MTU, "9000"), path=SAME))


def test_what_was_set_at_one_end_is_said_of_that_one() -> None:
    found = lines(Setting(K.CONGESTION, "htcp", (End.NEAR,)))
    assert found and all(", at the near end, " in line and "both" not in line for line in found)


def test_a_kernel_module_is_loaded_now_and_at_boot() -> None:
    found = lines(Setting(K.CONGESTION, "htcp"), Setting(K.STACK, "rack"))
    assert of("FreeBSD", found) == [
        "kldload -n cc_htcp", "sysctl net.inet.tcp.cc.algorithm=htcp",
        "kldload -n tcp_rack", "sysctl net.inet.tcp.functions_default=rack",
    ]  # fmt: skip
    assert of("FreeBSD at boot", found) == [
        "sysrc -f /boot/loader.conf cc_htcp_load=YES",
        "echo 'net.inet.tcp.cc.algorithm=htcp' >>/etc/sysctl.conf",
        "sysrc -f /boot/loader.conf tcp_rack_load=YES",
        "echo 'net.inet.tcp.functions_default=rack' >>/etc/sysctl.conf",
    ]
    assert of("Linux", found) == ["modprobe tcp_htcp", "sysctl -w net.ipv4.tcp_congestion_control=htcp"]


@pytest.mark.parametrize(
    ("asked", "freebsd", "linux"),
    [("cubic", "cubic", "cubic"), ("reno", "newreno", "reno"), ("newreno", "newreno", "reno")],
)
def test_what_every_kernel_has_needs_no_module(asked: str, freebsd: str, linux: str) -> None:
    found = lines(Setting(K.CONGESTION, asked))
    modules = [] if freebsd == "cubic" else ["kldload -n cc_newreno"]  # FreeBSD has had cubic alone built in since 14
    assert of("FreeBSD", found) == [*modules, f"sysctl net.inet.tcp.cc.algorithm={freebsd}"]
    assert of("Linux", found) == [f"sysctl -w net.ipv4.tcp_congestion_control={linux}"]


def test_linux_has_three_numbers_to_a_buffer() -> None:
    found = lines(Setting(K.SEND_BUFFER, "8388608"), Setting(K.RECEIVE_BUFFER, "1048576"))
    assert of("Linux", found) == [
        'sysctl -w net.ipv4.tcp_wmem="4096 16384 8388608"', 'sysctl -w net.ipv4.tcp_rmem="4096 131072 1048576"',
    ]  # fmt: skip
    assert of("FreeBSD", found) == [
        "sysctl kern.ipc.maxsockbuf=16777216", "sysctl net.inet.tcp.sendbuf_max=8388608",
        "sysctl net.inet.tcp.recvbuf_max=1048576",
    ]  # fmt: skip


def test_a_buffer_that_the_application_asks_for_lowers_no_ceiling() -> None:
    small, large = lines(window=800_000), lines(window=8 << 20)
    assert of("FreeBSD", small) == [] and of("FreeBSD", large) == ["sysctl kern.ipc.maxsockbuf=16777216"]
    assert of("Linux", small) == ["sysctl -w net.core.rmem_max=800000 net.core.wmem_max=800000"]
    assert of("Linux", lines(window=100_000)) == []
    assert small[-1] == (
        "To set, socket buffers of 800k, at both ends: let the application ask for 800000 bytes (SO_SNDBUF, SO_RCVBUF)"
    )


SHIPPED = FilePath(__file__).parents[2] / "overlay/etc/sysctl.conf"


def test_no_line_lowers_what_an_end_has_already() -> None:
    shipped = dict(re.findall(r"^([a-z.]+)=(\d+)", SHIPPED.read_text(), re.MULTILINE))
    most = shipped["kern.ipc.maxsockbuf"]
    assert int(most) > 2 * (8 << 20), "more than 8M need"
    appliance = HostFacts("alpha", "FreeBSD", sysctls=shipped)
    tuned = {"net.core.rmem_max": "268435456", "net.core.wmem_max": "65536", "net.ipv4.tcp_wmem": "8192\t65536\t999999"}
    guest = HostFacts("beta", "Linux", sysctls=tuned)
    found = lines(window=8 << 20, hosts=[HostFacts("bare"), appliance, guest])
    assert of("FreeBSD", found) == [f"sysctl kern.ipc.maxsockbuf={most}"]
    assert of("FreeBSD at boot", found) == [f"echo 'kern.ipc.maxsockbuf={most}' >>/etc/sysctl.conf"]
    assert of("Linux", found) == ["sysctl -w net.core.rmem_max=268435456 net.core.wmem_max=8388608"]
    assert of("Linux at boot", found) == [
        "echo 'net.core.rmem_max = 268435456' >>/etc/sysctl.d/90-linkladder.conf",
        "echo 'net.core.wmem_max = 8388608' >>/etc/sysctl.d/90-linkladder.conf",
    ]
    found = lines(Setting(K.SEND_BUFFER, "8388608"), hosts=[appliance, guest])
    assert of("FreeBSD", found)[0] == f"sysctl kern.ipc.maxsockbuf={most}"
    assert of("Linux", found) == ['sysctl -w net.ipv4.tcp_wmem="8192 65536 8388608"'], "the other two stay"
    larger = lines(window=64 << 20, hosts=[appliance])
    assert of("FreeBSD", larger) == [f"sysctl kern.ipc.maxsockbuf={2 * (64 << 20)}"]


def test_the_ends_of_the_run_are_asked_what_they_have() -> None:
    _, result = climbed_with(plans.read_plan(PLAN), lambda e, way: 3e9 if e.window == 8 << 20 else 1e9)
    made = document(result)
    ends = tuple(replace(e, facts=replace(e.facts, sysctls={"kern.ipc.maxsockbuf": "67108864"})) for e in made.run.ends)
    made = replace(made, run=replace(made.run, ends=ends))
    found = list(judge_rung(result, made).judgement.findings)
    assert of("FreeBSD", found) == ["sysctl kern.ipc.maxsockbuf=67108864"]


def test_what_an_esxi_host_does_for_its_guests_is_named_where_it_won_in_one() -> None:
    guest = HostFacts("alpha", "FreeBSD", virtual="vmware (VMware, Inc. VMware7,1)")
    on = [Setting(K.TSO, "on"), Setting(K.LRO, "on"), Setting(K.GRO, "on")]
    names = ("UseHwTSO", "UseHwTSO6", "Vmxnet3HwLRO", "Vmxnet3SwLRO")
    found = [line.split("  # ")[0] for line in of("ESXi host", lines(*on, path=SAME, hosts=[HostFacts("b"), guest]))]
    assert found == [f"esxcli system settings advanced set -o /Net/{name} -i 1" for name in names]
    assert of("ESXi host", lines(*on, hosts=[HostFacts("b", virtual="QEMU")])) == []
    off = lines(Setting(K.LRO, "off"), path=SAME, hosts=[guest])
    assert of("ESXi host", off) == [], "of this guest alone, as its other guests would lose it too"
    assert of("FreeBSD", off) == ["ifconfig sh0 -lro"]


def test_what_the_application_has_to_do_is_said_however_it_won() -> None:
    found = lines(tool="iperf3", write_size=1 << 20, zero_copy=True)
    assert found == [
        "To set, sending as iperf3 does, at both ends: no promise for an application that sends otherwise",
        "To set, writes of 1M, at the sender: let it write 1048576 bytes at a time",
        "To set, zero copy, at the sender: let the application hand the kernel a file (sendfile) instead of a copy",
    ]
    assert lines() == [], "nothing is said of what every application does"


def test_a_system_without_an_offload_has_no_line_for_it() -> None:
    assert of("FreeBSD", lines(Setting(K.GRO, "off"), Setting(K.GSO, "off"))) == []
    assert of("FreeBSD", lines(Setting(K.TXCSUM, "off"), path=SAME)) == ["ifconfig sh0 -txcsum"]
    assert {str(kind): name for kind, name in ETHTOOL.items()} == LINUX_FLAGS, "as the helper itself does it"


def test_what_was_not_kept_in_every_direction_says_in_which() -> None:
    jumbo = Setting(K.MTU, "9000")
    forward = Experiment("f", settings=(jumbo,), streams=4)
    back, both = (
        Experiment(str(way), settings=(jumbo,), direction=way) for way in (Direction.REVERSE, Direction.DUPLEX)
    )
    found = to_set([forward, back, both], [SAME])
    assert found[0] == "To set, MTU 9000, at both ends, FreeBSD: ifconfig sh0 mtu 9000"
    assert found[-1] == (
        "To set, 4 streams (near to far only), at the end that connects: let the application open 4 connections"
    )


def every_setting() -> list[Setting]:
    named = {K.CONGESTION: "reno", K.STACK: "freebsd"}
    numbers = {K.INITIAL_WINDOW: "16", K.SEND_BUFFER: "8388608", K.RECEIVE_BUFFER: "8388608"}
    numbers |= {K.SEND_DEFAULT: "262144", K.RECEIVE_DEFAULT: "262144"}
    whole_machine = {K.SEND_CEILING, K.RECEIVE_CEILING}  # no namespace has its own
    mine = [kind for kind in KERNEL if kind not in whole_machine]
    kernel = [Setting(kind, named.get(kind) or numbers.get(kind) or "on") for kind in mine]
    return [Setting(K.MTU, "4000"), *(Setting(kind, "off") for kind in ETHTOOL), *kernel]


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="a network namespace needs root and Linux")
@pytest.mark.parametrize("one", every_setting(), ids=lambda one: one.label)
def test_the_lines_for_linux_run_there(one: Setting, tmp_path: FilePath) -> None:
    """In a network namespace of their own, with a card."""
    script = tmp_path / "lines"
    typed = of("Linux", lines(one, path=SAME))
    checks = {K.MTU: "ip -o link show sh0 | grep -o 'mtu [0-9]*'"}
    if one.kind in BEFORE_IT:
        checks[one.kind] = f"cat /proc/sys/{KERNEL[one.kind].sysctls['Linux'].replace('.', '/')}"
    begin = "set -e\nip link add sh0 type veth peer name sh1\n"
    script.write_text(begin + "\n".join(typed) + f"\n{checks.get(one.kind, 'true')}\n")
    done = subprocess.run(["unshare", "--net", "sh", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (typed, done.stdout, done.stderr)
    if one.kind is K.MTU:
        assert done.stdout.strip() == "mtu 4000"
    if one.kind in BEFORE_IT:
        least, first, most = done.stdout.splitlines()[-1].split()
        assert least == "4096" and one.value == (first if "default" in one.kind else most)
    assert typed or "Linux" not in KERNEL[one.kind].sysctls


def test_what_a_card_adapts_by_itself_is_one_variable_of_its_own() -> None:
    card = Path("10.0.0.1", "10.0.0.2", "beta", "em1", "em1")
    found = lines(Setting(K.ADAPTIVE_MODERATION, "off"), path=card)
    assert of("FreeBSD", found) == ["sysctl dev.em.1.enable_aim=0"]
    assert of("FreeBSD at boot", found) == ["echo 'dev.em.1.enable_aim=0' >>/etc/sysctl.conf"]
    assert lines(Setting(K.ADAPTIVE_MODERATION, "off"), path=SAME) == [], "where the driver has none that goes back"
