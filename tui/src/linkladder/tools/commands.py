"""The exact commands, for both systems."""

from __future__ import annotations

from linkladder.model import Direction, Experiment, Protocol, Tool
from linkladder.tools.face import Layout, ToolVersions

TEST_PORTS = range(5301, 5401)  # documented: what a firewall between the ends must let through
UDP_PAYLOAD = {4: 1470, 6: 1450}  # iperf's own defaults, fitting 1500
ICMP_OVERHEAD = {4: 28, 6: 48}  # IP and ICMP headers
RANDOM = "/dev/urandom"
RANDOM_WIDTH = 64  # buffers of RANDOM_WRITE bytes, filled once and sent in turn: more than a compressor looks back
RANDOM_WRITE = 128 << 10
PROBE_COUNT = 3
PROBE_INTERVAL = 0.2
PROBE_WAIT = 1.0  # seconds for the last answer of a probe
ECHO_WAIT = 2.0
SELECTORS = {
    Protocol.TCP: "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,LOCAL_BYTES_RECVD,REMOTE_BYTES_SENT,"
    "LSR_SIZE_END,RSS_SIZE_END,REMOTE_TRANSPORT_RETRANS",
    Protocol.RR: "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,MIN_LATENCY,MEAN_LATENCY,P50_LATENCY,P90_LATENCY,"
    "P99_LATENCY,MAX_LATENCY,STDDEV_LATENCY,LSS_SIZE_END,RSR_SIZE_END,LSR_SIZE_END,RSS_SIZE_END",
}


def server_argv(exp: Experiment, versions: ToolVersions, bind: str, port: int) -> tuple[str, ...]:
    if exp.tool == Tool.PING:
        return ()
    if exp.tool == Tool.NETPERF:
        return ("netserver", "-D", f"-{_version(bind)}", "-L", bind, "-p", str(port))
    argv = ["iperf", "-s", "-B", bind, "-p", str(port), "-e", "-i", "1", "-f", "b", *_both_ends(exp, bind)]
    return tuple(argv)


def client_argv(
    exp: Experiment, versions: ToolVersions, where: Layout, local: str, remote: str, port: int, index: int = 0
) -> tuple[str, ...]:
    if exp.tool == Tool.PING:
        mtu = exp.sizes[index] if exp.protocol == Protocol.DF else None
        return ping_argv(versions.os, local, remote, exp.count, exp.interval, mtu, exp.dscp)
    if exp.tool == Tool.NETPERF:
        return _netperf(exp, local, remote, port, index)
    argv = ["iperf", "-c", remote, "-B", local, "-p", str(port), "-e", "-i", "1", "-f", "b"]
    argv += ["-t", _number(exp.warmup + exp.duration), "-P", str(exp.streams), *_both_ends(exp, local)]
    if exp.protocol == Protocol.UDP:
        argv += ["-b", str(stream_rate(exp))]
    if exp.direction == Direction.DUPLEX:
        argv.append("--full-duplex")
    if where.reverse_flag:
        argv.append("-R")
    return tuple(argv)


def _both_ends(exp: Experiment, address: str) -> list[str]:
    """iperf's -w and -l are local to an end, so both get them; its -S and -V too."""
    argv = ["-V"] if _version(address) == 6 else []
    if exp.protocol == Protocol.UDP:
        argv += ["-u", "-l", str(datagram(exp, address))]
    elif exp.write_size is not None:
        argv += ["-l", str(exp.write_size)]
    if exp.window is not None:
        argv += ["-w", str(exp.window)]
    if exp.dscp:
        argv += ["-S", str(exp.dscp << 2)]
    return argv


def datagram(exp: Experiment, address: str) -> int:
    """Payload bytes of a UDP datagram."""
    return exp.write_size or UDP_PAYLOAD[_version(address)]


def stream_rate(exp: Experiment) -> int:
    """iperf's -b counts for each stream."""
    return max(1, round((exp.udp_rate_bps or 0.0) / max(1, exp.streams)))


def _netperf(exp: Experiment, local: str, remote: str, port: int, index: int) -> tuple[str, ...]:
    """Session `index`; its data connection goes to a port of its own beside the control port."""
    family = _version(local)
    argv = ["netperf", f"-{family}", "-H", f"{remote},{family}", "-L", f"{local},{family}", "-p", str(port)]
    argv += ["-t", "TCP_RR" if exp.protocol == Protocol.RR else "TCP_MAERTS"]
    argv += ["-l", _number(max(1.0, round(exp.warmup + exp.duration))), "-D", "-1", "-P", "0", "-j"]
    if exp.dscp:
        argv += ["-Y", f"{exp.dscp << 2},{exp.dscp << 2}"]
    size = exp.write_size
    if exp.incompressible:
        size = size or RANDOM_WRITE
        argv += ["-F", f"{RANDOM},{RANDOM}", "-W", f"{RANDOM_WIDTH},{RANDOM_WIDTH}"]
    argv += ["--", "-P", f"0,{data_port(port, index)}"]
    if exp.protocol == Protocol.RR:
        argv += ["-D", "-r", f"{exp.request},{exp.response}"]
    elif size is not None:
        argv += ["-m", f"{size},{size}", "-M", f"{size},{size}"]
    if exp.window is not None:
        argv += ["-s", str(exp.window), "-S", str(exp.window)]
    return (*argv, "-k", SELECTORS[exp.protocol])


def data_port(port: int, index: int) -> int:
    """The port of a netperf session's data connection: those after the control port, inside the documented range."""
    if port not in TEST_PORTS:
        return port + 1 + index
    return TEST_PORTS[(port - TEST_PORTS.start + 1 + index) % len(TEST_PORTS)]


def ping_argv(
    os: str, local: str, remote: str, count: int, interval: float, mtu: int | None = None, dscp: int = 0
) -> tuple[str, ...]:
    """FreeBSD waits in milliseconds and knows -D and -S, Linux in seconds, -M do and -I; both take -4 and -6."""
    family = _version(remote)
    freebsd = os == "FreeBSD"
    wait = ECHO_WAIT
    if mtu is not None:
        count, interval, wait = PROBE_COUNT, PROBE_INTERVAL, PROBE_WAIT
    argv = ["ping", f"-{family}", "-n", "-c", str(count), "-i", _number(interval)]
    argv += ["-W", _number(wait * 1000) if freebsd else _number(wait)]
    argv += ["-S" if freebsd else "-I", local]
    if dscp:
        argv += ["-z" if freebsd else "-Q", str(dscp << 2)]
    if mtu is not None:
        argv += [*(["-D"] if freebsd else ["-M", "do"]), "-s", str(max(0, mtu - ICMP_OVERHEAD[family]))]
    return (*argv, remote)


def default_mtus(contract_mtu: int) -> tuple[int, ...]:
    below = (576, 1280, 1400, 1450, 1476, 1492, 1500, 4470, 8950, 9000)
    return tuple(
        sorted({m for m in (*below, contract_mtu - 50, contract_mtu - 8) if 576 <= m < contract_mtu} | {contract_mtu})
    )


def expected_seconds(exp: Experiment) -> float:
    if exp.tool != Tool.PING:
        return exp.warmup + exp.duration
    if exp.protocol == Protocol.DF:
        one = (PROBE_COUNT - 1) * PROBE_INTERVAL
        return len(exp.sizes) * (one + PROBE_WAIT / 2)  # about half of them go unanswered
    return max(0, exp.count - 1) * exp.interval


def _version(address: str) -> int:
    """A dry run may show a name or a question mark in an address's place; the agent is strict about real ones."""
    return 6 if ":" in address else 4


def _number(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")
