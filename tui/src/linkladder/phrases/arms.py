"""Puts the setting of an experiment into words; `arms_apart` tells apart settings whose words are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from linkladder import units
from linkladder.model import KERNEL, Affinity, Direction, Experiment, Path, Protocol, Setting, SettingKind
from linkladder.model.settings import beyond, by_end, together
from linkladder.phrases.ways import loaded, several_ends, way

OF_QUEUES = {
    SettingKind.QUEUES: "{} queue",
    SettingKind.RING: "rings of {} descriptor",
    SettingKind.QUEUE_CORE: "queues from core {}",
}
ACRONYMS = (SettingKind.MTU, SettingKind.TSO, SettingKind.LRO, SettingKind.GSO, SettingKind.GRO)
WORDS = {SettingKind.ADAPTIVE_MODERATION: "adaptive moderation of interrupts"}
PLACES = {
    Affinity.BESIDE: "pinned beside the adapter's queues",
    Affinity.AWAY: "pinned away from the adapter's queues",
    Affinity.SIBLINGS_IDLE: "on one thread of each core, its siblings left idle",
}
_UNITS = (("G", 1 << 30), ("M", 1 << 20), ("k", 1000), ("K", 1 << 10))


def window(size: int | None) -> str:
    """A size such as '800k', '8M', 'default', as in a plan file: k counts thousands; K, M and G powers of 1024."""
    if size is None:
        return "default"
    return next((f"{size // factor}{unit}" for unit, factor in _UNITS if size and size % factor == 0), str(size))


def streams(count: int) -> str:
    return units.plural(count, "stream")


def cores(p: Experiment) -> str:
    """How many cores the tools have, or which ones: '2 cores', 'cores 2,3'; '' where they have all."""
    if p.on_cores:
        return f"core{'' if len(p.on_cores) == 1 else 's'} {units.core_list(p.on_cores)}"
    return units.plural(p.cores, "core") if p.cores else ""


def kernel(name: str) -> str:
    """The kernel that an arm needs, in words that say what sets it apart."""
    known = {"kernel": "the appliance's kernel (RSS)", "generic": "kernel GENERIC (no RSS)"}
    return known.get(name.lower(), f"kernel {name}") if name else "whichever kernel runs"


def arm(p: Experiment, direction: bool = True, paths: Sequence[Path] = ()) -> str:
    """A setting, such as 'TCP, 4 streams, 800k window, near to far'; `direction`: whether to name the direction.

    `paths`: the rung's. With more than two ends the pairs that are loaded stand in the direction's place.
    """
    directed = direction or p.direction is Direction.DUPLEX
    if several_ends(paths):
        named = loaded(p, paths) if direction else way(p.direction)
        return _alone(p, paths) + (f", {named}" if direction or (directed and _directed(p)) else "")
    return _alone(p, paths) + (f", {way(p.direction)}" if directed and _directed(p) else "")


def trial(p: Experiment, repeat: int, direction: bool = True, paths: Sequence[Path] = ()) -> str:
    """A trial, such as 'TCP, 4 streams, 800k window, near to far, repeat 2'; records count from 0, people from 1."""
    return f"{arm(p, direction, paths)}, repeat {repeat + 1}"


def one_way(p: Experiment, direction: str, repeat: int | None = None, paths: Sequence[Path] = ()) -> str:
    """A setting with one of its directions, or one of its trials if `repeat` is given."""
    name = f"{arm(p, False, paths)}, {loaded(p, paths, direction)}"
    return name if repeat is None else f"{name}, repeat {repeat + 1}"


def _alone(p: Experiment, paths: Sequence[Path]) -> str:
    """The setting without direction or pair."""
    return ", ".join([*_parts(p), *_more(p, paths)])


def special(p: Experiment, paths: Sequence[Path] = ()) -> str:
    """What a table of streams and windows does not show, such as 'by netperf, incompressible payload'; mostly ''."""
    return ", ".join(_more(p, paths))


def arms_apart(experiments: Sequence[Experiment], paths: Sequence[Path] = ()) -> dict[str, str]:
    """Each experiment's words by id, without direction; duration and id are added to those that would read alike."""
    alike = Counter(arm(p, paths=paths) for p in experiments)
    return {
        p.id: arm(p, False, paths) + ("" if alike[arm(p, paths=paths)] == 1 else f", {p.duration:g} s ({p.id})")
        for p in experiments
    }


def _parts(p: Experiment) -> list[str]:
    if p.protocol is Protocol.ECHO:
        return ["round trip, idle"]
    if p.protocol is Protocol.DF:
        return ["largest packet that passes"]
    if p.protocol is Protocol.RR:
        return ["TCP request/response", units.plural(p.sessions, "session"), f"{p.request}/{p.response} bytes"]
    paced = f"paced at {units.rate(p.udp_rate_bps)}" if p.udp_rate_bps else f"{window(p.window)} window"
    return [p.protocol.upper(), streams(p.streams), paced]


def _more(p: Experiment, paths: Sequence[Path]) -> list[str]:
    found = []
    if p.tool != Experiment.tool and p.protocol in (Protocol.TCP, Protocol.UDP):
        found.append(f"by {p.tool}")
    if p.udp_rate_bps and p.window:
        found.append(f"{window(p.window)} window")
    if p.write_size:
        found.append(f"{'datagrams' if p.protocol is Protocol.UDP else 'writes'} of {window(p.write_size)} bytes")
    if p.zero_copy:
        found.append("zero copy")
    if p.incompressible:
        found.append("incompressible payload")
    found += [f"on {cores(p)}"] if cores(p) else []
    found += [PLACES[p.affinity]] if p.affinity in PLACES else []
    found += [kernel(p.kernel)] if p.kernel else []
    if p.client_port:
        found.append(f"from port {p.client_port} on")
    if p.dscp:
        found.append(f"DSCP {p.dscp}")
    found += [] if several_ends(paths) else _on_paths(p)
    found += [settings(p)] if p.settings else []
    if p.label:
        found.append(f'"{p.label}"')
    return found


def _on_paths(p: Experiment) -> list[str]:
    """Which of a rung's paths carry the load, where it names some."""
    if not p.paths:
        return []
    numbers = ", ".join(str(number + 1) for number in p.paths)
    return [f"path {numbers} alone" if len(p.paths) == 1 else f"paths {numbers} side by side"]


def difference(p: Experiment, before: Experiment) -> str:
    """How an arm differs from the arm that it is compared with, such as 'TSO off' or '8 streams instead of 1'."""
    found = [setting(one) for one in beyond(p.settings, before.settings)]
    here = by_end(p.settings)
    gone = together(one for key, one in by_end(before.settings).items() if key not in here)
    found += [f"{setting(one)} no more" for one in gone]
    if p.affinity is not before.affinity:
        found.append(f"{PLACES.get(p.affinity, 'free')} instead of {PLACES.get(before.affinity, 'free')}")
    if p.on_cores != before.on_cores:
        found.append(f"{cores(p) or 'all cores'} instead of {cores(before) or 'all cores'}")
    if p.kernel != before.kernel:
        found.append(f"{kernel(p.kernel)} instead of {kernel(before.kernel)}")
    for words, now, then in (
        (streams(p.streams), p.streams, before.streams),
        (f"{window(p.window)} window", p.window, before.window),
        (f"writes of {window(p.write_size)}", p.write_size, before.write_size),
        *([(cores(p) or "all cores", p.cores, before.cores)] if p.on_cores == before.on_cores else []),
        (units.plural(p.sessions, "session"), p.sessions, before.sessions),
        (p.tool, p.tool, before.tool),
    ):
        if now != then:
            before_it = window(then) if isinstance(then, int) and then >= 1000 else str(then or "default")
            found.append(f"{words} instead of {before_it}")
    return ", ".join(found) or "the same again"


def beside(p: Experiment, before: Experiment, paths: Sequence[Path] = ()) -> str:
    """What an arm has in common with the arm that it is compared with, such as '1 stream' or '50 sessions'."""
    where = _on_paths(p) if p.paths == before.paths else []
    if several_ends(paths):
        where = [loaded(p, paths, Direction.FORWARD)]
    if p.protocol is Protocol.RR:
        return ", ".join([units.plural(p.sessions, "session")] * (p.sessions == before.sessions) + where)
    loads = p.protocol is not Protocol.ECHO
    shared = [streams(p.streams)] if loads and p.streams == before.streams else []
    shared += [f"{window(p.window)} window"] if p.window and p.window == before.window else []
    shared += [f"writes of {window(p.write_size)}"] if p.write_size and p.write_size == before.write_size else []
    shared += [cores(p)] if cores(p) and cores(p) == cores(before) else []
    return ", ".join([*shared, *where, *map(setting, _in_common(p, before))])


def load(p: Experiment, before: Experiment, paths: Sequence[Path] = ()) -> str:
    """The same in a list of sentences on every load: also whether both ways were loaded at once."""
    both_ways = p.direction is before.direction is Direction.DUPLEX
    return ", ".join(filter(None, [beside(p, before, paths), way(Direction.DUPLEX) if both_ways else ""]))


def _in_common(p: Experiment, before: Experiment) -> tuple[Setting, ...]:
    there = by_end(before.settings)
    return together(one for key, one in by_end(p.settings).items() if there.get(key) == one)


def settings(p: Experiment) -> str:
    """An experiment's settings on loan, such as 'MTU 9000, TSO off at the near end'."""
    return ", ".join(map(setting, p.settings))


def setting(one: Setting) -> str:
    at = f" at the {one.ends[0]} end" if len(one.ends) == 1 else ""
    if one.of_bundle:
        return f"all cards a {one.value} bundle{at}"
    if one.of_member:
        return f"member {one.value} of the bundle down{at} from {one.since:g} s to {one.until:g} s"
    if one.kind is SettingKind.MODERATION:
        return f"interrupts {one.value} microseconds after a packet{at}"
    if one.kind in OF_QUEUES:
        plural = "s" if one.value != "1" and one.kind is not SettingKind.QUEUE_CORE else ""
        return f"{OF_QUEUES[one.kind].format(one.value)}{plural}{at}"
    name = (
        KERNEL[one.kind].words
        if one.of_machine
        else one.kind.upper()
        if one.kind in ACRONYMS
        else WORDS.get(one.kind, one.kind.value)
    )
    return f"{name} {one.value}{at}"


def _directed(p: Experiment) -> bool:
    return p.protocol not in (Protocol.ECHO, Protocol.RR)


def restarts(count: int) -> str:
    """What is told before anything begins, for so many restarts at most."""
    return (
        f"Restarts this machine, and no other, up to {units.plural(count, 'time')}: each repeat is a boot of its own, "
        "and a pair is two boots, so that with so few only a large difference can be told from chance. Another kernel "
        "is booted once and never stays: whatever happens, the restart after it brings the machine's own back. The "
        "run goes on by itself, and ends with what it has if the machine comes up otherwise than planned."
    )


def agreed(count: int) -> str:
    return f"{restarts(count)} Each restart can be stopped in the 20 seconds before it, by cancelling the run."
