"""The kernel settings that a measurement may change, and their allowed values.

FreeBSD's fixed names all exist in a 15.1 GENERIC kernel (captures of it are part of the tests). The names of network
drivers that virtual machines do not use were taken from the drivers' source; sysctl refuses those that a kernel lacks.
"""

from __future__ import annotations

from linkladder.priv.checks import Refused, number, one_of, shown

Range = tuple[int, int]
Rule = Range | tuple[str, ...] | str
SWITCH: Range = (0, 1)
ECN: Range = (0, 4)  # off, requested, only answered (the default), and these two with accurate ECN
BUFFER: Range = (4096, 1 << 30)
TRIPLE = "three numbers"

FREEBSD: dict[str, Rule] = {
    "kern.ipc.maxsockbuf": (262144, 1 << 30),
    "net.inet.tcp.sendbuf_max": (65536, 1 << 30),
    "net.inet.tcp.recvbuf_max": (65536, 1 << 30),
    "net.inet.tcp.sendspace": BUFFER,
    "net.inet.tcp.recvspace": BUFFER,
    "net.inet.tcp.sendbuf_inc": (1024, 1 << 24),
    "net.inet.tcp.sendbuf_auto": SWITCH,
    "net.inet.tcp.recvbuf_auto": SWITCH,
    "net.inet.tcp.cc.algorithm": ("cubic", "newreno", "htcp", "dctcp", "vegas", "cdg", "chd", "hd"),
    "net.inet.tcp.functions_default": ("freebsd", "rack", "bbr"),
    "net.inet.tcp.rfc1323": (0, 3),
    "net.inet.tcp.sack.enable": SWITCH,
    "net.inet.tcp.ecn.enable": ECN,
    "net.inet.tcp.tso": SWITCH,
    "net.inet.tcp.abc_l_var": (1, 128),
    "net.inet.tcp.initcwnd_segments": (1, 256),
    "net.inet.tcp.delayed_ack": SWITCH,
    "net.inet.tcp.path_mtu_discovery": SWITCH,
    "net.inet.tcp.pmtud_blackhole_detection": (0, 3),
    "net.inet.tcp.hostcache.enable": SWITCH,
    "net.inet.tcp.hostcache.purgenow": (1, 1),
    "net.inet.udp.maxdgram": (1024, 65535),
    "net.inet.udp.recvspace": BUFFER,
    "net.inet.raw.maxdgram": (1024, 65535),
    "net.inet.raw.recvspace": BUFFER,
    "net.inet.icmp.icmplim": (0, 100000),
    "net.isr.dispatch": ("direct", "hybrid", "deferred"),
}

LINUX: dict[str, Rule] = {
    "net.core.rmem_max": BUFFER,
    "net.core.wmem_max": BUFFER,
    "net.core.netdev_max_backlog": (100, 1000000),
    "net.ipv4.tcp_rmem": TRIPLE,
    "net.ipv4.tcp_wmem": TRIPLE,
    "net.ipv4.tcp_congestion_control": ("cubic", "reno", "bbr", "htcp", "dctcp", "vegas", "westwood"),
    "net.ipv4.tcp_timestamps": (0, 2),
    "net.ipv4.tcp_window_scaling": SWITCH,
    "net.ipv4.tcp_sack": SWITCH,
    "net.ipv4.tcp_ecn": ECN,
    "net.ipv4.tcp_mtu_probing": (0, 2),
    "net.ipv4.tcp_no_metrics_save": SWITCH,
    "net.ipv4.tcp_slow_start_after_idle": SWITCH,
}

# dev.DRIVER.UNIT.REST
IFLIB = ("vmx", "ix", "ixl", "ice", "em", "igb", "igc", "bnxt")
DRIVERS: dict[str, tuple[tuple[str, ...], Rule]] = {
    "iflib.tx_abdicate": (IFLIB, SWITCH),
    "iflib.rx_budget": (IFLIB, (0, 65535)),
    "enable_aim": (("em", "igb", "igc"), SWITCH),  # not ix, which keeps its last time when it is switched off
    "fc": (("ix", "ixl", "em", "igb", "igc"), (0, 3)),
    "rx_itr": (("ixl", "ice"), (0, 8160)),
    "tx_itr": (("ixl", "ice"), (0, 8160)),
    "conf.rx_coalesce_usecs": (("mce",), (0, 65535)),
    "conf.rx_coalesce_pkts": (("mce",), (0, 65535)),
    "conf.rx_coalesce_mode": (("mce",), (0, 3)),
    "conf.tx_coalesce_usecs": (("mce",), (0, 65535)),
    "conf.tx_coalesce_pkts": (("mce",), (0, 65535)),
    "conf.tx_coalesce_mode": (("mce",), (0, 3)),
    "conf.hw_lro": (("mce",), SWITCH),
    "intr_coal_rx_usecs": (("bnxt",), (0, 65535)),
    "intr_coal_rx_frames": (("bnxt",), (0, 65535)),
    "intr_coal_tx_usecs": (("bnxt",), (0, 65535)),
    "intr_coal_tx_frames": (("bnxt",), (0, 65535)),
}


def adaptive_moderation(interface: str, on: bool) -> str:
    """'dev.em.0.enable_aim=1' for em0; raises Refused where the driver has no such thing that could be put back."""
    driver = interface.rstrip("0123456789")
    name = f"dev.{driver}.{interface.removeprefix(driver)}.enable_aim"
    return f"{name}={check('FreeBSD', name, str(int(on)))}"


def rule(system: str, name: str) -> Rule:
    """The values that a setting may have; raises Refused if it may not be changed."""
    fixed = FREEBSD if system == "FreeBSD" else LINUX
    if name in fixed:
        return fixed[name]
    parts = name.split(".", 3)
    if system == "FreeBSD" and len(name) <= 100 and len(parts) == 4 and parts[0] == "dev" and parts[3] in DRIVERS:
        drivers, values = DRIVERS[parts[3]]
        if parts[1] in drivers:
            number(parts[2], "name", 0, 63)
            return values
    raise Refused("name", f"not a setting that may be changed: {shown(name)}")


def check(system: str, name: str, value: str) -> str:
    """The value to write; raises Refused if it is not allowed."""
    allowed = rule(system, name)
    if isinstance(allowed, str):
        parts = value.split(" ")
        if len(parts) != 3:
            raise Refused("value", f"expected three numbers, got {shown(value)}")
        return " ".join(number(part, "value", *BUFFER) for part in parts)
    if isinstance(allowed[0], int):
        return number(value, "value", int(allowed[0]), int(allowed[1]))
    return one_of(value, "value", tuple(str(choice) for choice in allowed))
