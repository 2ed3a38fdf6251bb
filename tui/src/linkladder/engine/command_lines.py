"""Shows a trial's commands to people, before the trial runs or for a plan that is only looked at."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping, Sequence

from linkladder import host, tools
from linkladder.engine.leg import load_ping
from linkladder.engine.route import Route
from linkladder.model import Affinity, End, Experiment, HostFacts, Path, Setting
from linkladder.model.several_legs import loads
from linkladder.phrases import control_channel
from linkladder.settings import on_adapter


def commands_of(exp: Experiment, routes: Sequence[Route], ports: Sequence[int], key: str) -> tuple[str, ...]:
    """The trial's commands as a shell would write them."""
    versions = [{end: route.at(end).point.hello.versions for end in End} for route in routes]
    return planned(exp, [route.path for route in routes], versions, ports, key)


def planned(
    exp: Experiment,
    paths: Sequence[Path],
    versions: Sequence[dict[End, tools.ToolVersions]],
    ports: Sequence[int],
    key: str = "",
    facts: Mapping[str, HostFacts] | None = None,
) -> tuple[str, ...]:
    """The same for a planned trial, from what is known of its ends (`facts`, by peer); where a trial is impossible, the
    reason instead.
    """
    lines: list[str] = []
    several = len({path.peer for path in paths if path.peer}) > 1 or any(path.origin for path in paths)
    for (_, load), path, known, port in zip(loads(exp, len(paths)), paths, versions, ports, strict=True):
        lines += _of_leg(load, path, known, port, key, _names(path, several), lines, facts or {})
    return tuple(lines)


def _names(path: Path, several: bool) -> dict[End, str]:
    """What a path's two ends are called, as in the commands that a trial keeps."""
    return {End.NEAR: path.origin or "near", End.FAR: (path.peer if several else "") or "far"}


def _of_leg(
    exp: Experiment,
    path: Path,
    versions: dict[End, tools.ToolVersions],
    port: int,
    key: str,
    names: dict[End, str],
    before: Sequence[str],
    facts: Mapping[str, HostFacts],
) -> tuple[str, ...]:
    """`before`: the lines of the trial's other legs, as an adapter of several paths is set once."""
    address = {End.NEAR: path.local, End.FAR: path.remote}
    if not (path.local and path.remote):
        return (control_channel.not_measured(names[End.NEAR], names[End.FAR]),)
    try:
        where = tools.layout(exp, versions[End.NEAR], versions[End.FAR])
    except tools.Unavailable as error:
        return (f"not available: {error}",)

    def pinned(end: End, argv: Sequence[str]) -> str:
        if not exp.cores and not exp.on_cores and exp.affinity is Affinity.FREE:
            return shlex.join(argv)
        from linkladder.engine.pinning import command_prefix  # imported late, as few trials are pinned

        return " ".join([*command_prefix(exp, end, path, versions[end], facts), shlex.join(argv)])

    lines = [line for line in _settings(exp, path, names, versions, facts) if line not in before]
    if where.server is not None:
        argv = tools.server_argv(exp, versions[where.server], address[where.server], port)
        lines.append(f"{names[where.server]}: {pinned(where.server, tools.named(exp.tool).guarded(argv, key))}")
    other = End.FAR if where.client == End.NEAR else End.NEAR
    for index in range(where.clients):
        argv = tools.client_argv(
            exp,
            versions[where.client],
            where,
            address[where.client],
            address[other],
            port if where.server else 0,
            index,
        )
        argv = tools.named(exp.tool).guarded(argv, key)
        as_root = where.privileged
        lines.append(f"{names[where.client]}: {shlex.join(argv) if as_root else pinned(where.client, argv)}")
    if exp.ping_under_load and tools.named(exp.tool).loads:
        lines += _pings_beside(load_ping(exp), path, versions, names)
    return tuple(lines)


def _pings_beside(
    ping: Experiment, path: Path, versions: dict[End, tools.ToolVersions], names: dict[End, str]
) -> list[str]:
    """The pings that both ends of a path send during the load; none where an end has no ping."""
    lines = []
    with contextlib.suppress(tools.Unavailable):
        for end, here, there in ((End.NEAR, path.local, path.remote), (End.FAR, path.remote, path.local)):
            if end is End.NEAR or here != there:
                known = versions[end]
                argv = tools.client_argv(ping, known, tools.layout(ping, known, known), here, there, 0)
                lines.append(f"{names[end]}: {shlex.join(argv)}")
    return lines


def _of_machine(
    setting: Setting,
    path: Path,
    names: dict[End, str],
    versions: Mapping[End, tools.ToolVersions],
    facts: Mapping[str, HostFacts],
) -> list[str]:
    """What each end's own system calls it, and has at present as far as this is known."""
    lines = []
    for end in setting.ends:
        peer, system = path.origin if end is End.NEAR else path.peer, versions[end].os or host.system()
        if not (name := setting.sysctl(system)):
            lines.append(f"{names[end]}: no {setting.lacked}, as {system} has none that could be set: left out")
            continue
        here = end is End.NEAR and not path.origin
        before = host.setting("sysctl", name) if here else facts[peer].sysctls.get(name) if peer in facts else None
        if module := setting.module(system):
            if not here:
                lines.append(f"{names[end]}: load kernel module {module} if it is not there; undo: unload it then")
            elif host.setting("module", module) == "off":
                lines.append(f"{names[end]}: load kernel module {module}; undo: unload it")
        undo = f"set it back to {before or 'what it was'}"
        lines.append(f"{names[end]}: set {name} to {setting.in_kernel(system, before or '')}; undo: {undo}")
    return lines


def _bundle(setting: Setting) -> str:
    return (
        f"make the cards of all paths one {setting.value} bundle (lagg), which takes their addresses; "
        "undo: destroy it, and give each card its addresses, MAC, MTU and offloads back, up or down as it was"
    )


def _member(setting: Setting, exp: Experiment) -> str:
    since, until = exp.member_down or (0.0, 0.0)
    return (
        f"switch member {setting.value} of the bundle down {since:g} s after the start, and up again at {until:g} s; "
        "undo: switch it up, whatever happens"
    )


def _settings(
    exp: Experiment,
    path: Path,
    names: dict[End, str],
    versions: Mapping[End, tools.ToolVersions],
    facts: Mapping[str, HostFacts],
) -> list[str]:
    """Each change and the command that undoes it; only the other ends know their own current values."""
    lines = []
    for setting in exp.settings:
        if setting.of_machine:
            lines += _of_machine(setting, path, names, versions, facts)
            continue
        if setting.of_bundle or setting.of_member:
            line = _bundle(setting) if setting.of_bundle else _member(setting, exp)
            lines += [f"{names[end]}: {line}" for end in (End.FAR, End.NEAR) if end in setting.ends]
            continue
        if End.FAR in setting.ends:
            adapter = path.remote_interface or f"the adapter of {path.remote}"
            what = f"set {setting.kind} of {adapter} to {setting.value}"
            lines.append(f"{names[End.FAR]}: {what}; undo: set it back to what it was")
        if End.NEAR in setting.ends:
            name = path.local_interface or ("" if path.origin else host.interface_of(path.local))
            change = on_adapter(setting, name)
            before = None if path.origin else host.setting(change.kind, change.target)
            adapter = name or f"the adapter of {path.local}"
            undo = f"set it back to {before or 'what it was'}"
            lines.append(f"{names[End.NEAR]}: set {setting.kind} of {adapter} to {setting.value}; undo: {undo}")
    return lines
