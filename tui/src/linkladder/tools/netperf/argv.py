"""Decides which end runs netperf, and builds its exact commands."""

from __future__ import annotations

from linkladder.model import Direction, End, Experiment, Protocol
from linkladder.tools.address_family import family, number
from linkladder.tools.contract import TEST_PORTS
from linkladder.tools.records import Layout, ToolVersions, Unavailable

OLDEST = (2, 7)
APART, EACH = 3.0, 0.1  # seconds after the first in which the last stream may start: at least, and per stream
LATEST = 30.0  # the same for transactions; their sessions are told to end, so a larger value costs no time
SPARE = 20.0  # extra seconds, as netperf's own timer would kill it if it fired while netperf prints its figures
WAIT = 2.0  # seconds that each of several sessions is connected before it sends; netserver waits at most four
RANDOM = "/dev/urandom"
RANDOM_WIDTH = 64  # how many buffers of RANDOM_WRITE bytes are sent in turn: more data than a compressor looks back
RANDOM_WRITE = 128 << 10
ITSELF = 96 << 20  # bytes that are enough for it and its buffers if a plan says nothing of them; it has 10 MB
WINDOW = 128 << 20  # bytes, twice the largest that an appliance grants
SELECTORS = {
    Protocol.TCP: "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,LOCAL_BYTES_RECVD,REMOTE_BYTES_SENT,"
    "LSR_SIZE_END,RSS_SIZE_END,REMOTE_TRANSPORT_RETRANS",
    Protocol.RR: "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,MIN_LATENCY,MEAN_LATENCY,P50_LATENCY,P90_LATENCY,"
    "P99_LATENCY,MAX_LATENCY,STDDEV_LATENCY,LSS_SIZE_END,RSR_SIZE_END,LSR_SIZE_END,RSS_SIZE_END",
}


def layout(exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
    if exp.protocol not in (Protocol.TCP, Protocol.RR):
        raise Unavailable(f"netperf is used for tcp and rr, not {exp.protocol}")
    for end, versions in ((End.NEAR, near), (End.FAR, far)):
        version = versions.of("netperf")
        if version is None:
            raise Unavailable(f"netperf is not installed at the {end} end")
        if version < OLDEST:
            raise Unavailable(f"netperf {'.'.join(map(str, version))} at the {end} end is too old: 2.7 is needed")
    if exp.direction == Direction.DUPLEX:
        raise Unavailable("netperf measures one way at a time: use iperf for full duplex")
    forward = exp.direction == Direction.FORWARD
    if exp.protocol == Protocol.RR:
        client, server = (End.NEAR, End.FAR) if forward else (End.FAR, End.NEAR)
        return Layout(server, client, clients=max(1, exp.sessions), protocol_port="tcp")
    client, server = (End.FAR, End.NEAR) if forward else (End.NEAR, End.FAR)  # netperf at the receiver
    return Layout(server, client, clients=max(1, exp.streams), protocol_port="tcp")


def seconds(exp: Experiment) -> float:
    """How long a session runs: streams start one after the other, and only the time that all share counts."""
    several = exp.protocol != Protocol.RR and exp.streams > 1  # a stream's sender ends by its own time
    return exp.warmup + exp.duration + (max(APART, round(exp.streams * EACH)) if several else 0.0)


def latest(exp: Experiment) -> float:
    return LATEST if exp.protocol == Protocol.RR and exp.sessions > 1 else 0.0


def _longest(exp: Experiment) -> float:
    """How many seconds a session runs if it is not told to end."""
    late = latest(exp)
    return seconds(exp) + late + (SPARE if late else 0.0)


def waits(exp: Experiment) -> float:
    """How many seconds a session waits before it sends: all must connect first, as busy sessions slow others down."""
    return WAIT if exp.protocol == Protocol.RR and exp.sessions > 1 else 0.0


def memory(exp: Experiment) -> int:
    """The most bytes that a process may have: it writes from, or reads into, as many buffers as fill its window."""
    size = exp.write_size or RANDOM_WRITE
    return ITSELF + 2 * (min(exp.window or 0, WINDOW) + size * (RANDOM_WIDTH if exp.incompressible else 1))


def server(bind: str, port: int) -> tuple[str, ...]:
    return ("netserver", "-D", f"-{family(bind)}", "-L", bind, "-p", str(port))


def client(exp: Experiment, local: str, remote: str, port: int, index: int) -> tuple[str, ...]:
    """The command of session `index`, whose data connection uses its own port beside the control port."""
    ip = family(local)
    argv = ["netperf", f"-{ip}", "-H", f"{remote},{ip}", "-L", f"{local},{ip}", "-p", str(port)]
    argv += ["-t", "TCP_RR" if exp.protocol == Protocol.RR else "TCP_MAERTS"]
    argv += ["-l", number(max(1.0, round(_longest(exp)))), "-D", "-1", "-P", "0", "-j"]
    if waits(exp):
        argv += ["-s", number(waits(exp))]
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
    """The port of a session's data connection: one after the control port, inside the documented range."""
    if port not in TEST_PORTS:
        return port + 1 + index
    return TEST_PORTS[(port - TEST_PORTS.start + 1 + index) % len(TEST_PORTS)]
