"""Reads and writes the operator's description of the link: contract and paths, in link.toml of the state folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

from linkladder import atomic_files, damage
from linkladder.errors import UsageError, in_a_line, why_no_file
from linkladder.model import Contract, Path, Plan, RungName
from linkladder.plan import company, fields
from linkladder.plan.read import PlanError, Reader

FILE = "link.toml"
MEND = "mend the file, or delete it and describe the link again in the console"


@dataclass(frozen=True)
class Side:
    """The address and interface that an end uses in paths that do not name their own, and its site."""

    address: str = ""
    interface: str = ""
    site: str = ""  # traffic within a site does not use the shared link of the contract


@dataclass(frozen=True)
class Link:
    """The link description that the Link screen edits: contract, paths, and the plan to offer."""

    contract: Contract | None = None
    paths: dict[RungName, tuple[Path, ...]] = field(default_factory=dict)
    plan: str = ""  # the plan that the console offers first
    ends: dict[str, Side] = field(default_factory=dict)  # by name: "near", and the paired peers

    def path(self, rung: RungName) -> Path | None:
        """The rung's first path, if it has one."""
        return next(iter(self.paths.get(rung, ())), None)

    def every_path(self) -> Iterator[tuple[RungName, Path]]:
        return ((rung, path) for rung, paths in self.paths.items() for path in paths)


def rungs_to_try(link: Link) -> tuple[RungName, ...]:
    """The rungs between two ends that are described, the one where an experiment runs by itself first: where no long
    link is in the machines' way, or else the highest.
    """
    known = [name for name in reversed(RungName) if name in link.paths and name is not RungName.LOCALHOST]
    return tuple(sorted(known, key=lambda name: name is not RungName.SAME_VLAN))


def load_link(folder: FilePath) -> Link:
    """Read the link description; an empty one if there is none yet.

    A damaged description is an error, so that nobody measures against a contract that was never written.
    """
    try:
        return _read_link(folder / FILE)
    except PlanError as error:
        raise UsageError(error.title, hint=MEND) from error


def load_link_or_empty(folder: FilePath) -> Link:
    """The same, but a damaged description is moved away, so that the console can ask for a new one."""
    try:
        return load_link(folder)
    except UsageError as error:
        why = in_a_line(UsageError(error.title, error.cause))
        damage.set_aside([folder / FILE], f"the link description was damaged ({why}): describe it again")
        return Link()


def _read_link(path: FilePath) -> Link:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Link()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the link description {path} cannot be read", why_no_file(error), MEND) from error
    reader = Reader(text, str(path))
    data = reader.parse()
    reader.only(data, ("plan", "contract", "path", "end"), "")
    contract = reader.contract(data["contract"], None) if "contract" in data else None
    plan = reader.value(data, "plan", fields.text, "") if "plan" in data else ""
    return Link(contract, reader.paths(data.get("path", {})), plan, _ends(reader, data.get("end", {})))


def _ends(reader: Reader, data: Any) -> dict[str, Side]:
    """The tables [end.beta]: an end's own address and interface on the link, and the site where it stands."""
    if not isinstance(data, dict):
        reader.fail("end", "", "expected tables such as [end.beta]")
    found = {}
    for name, table in data.items():
        reader.only(table, tuple(fields.SIDE), f"end.{name}")
        given = ((key, to, check) for key, (to, check) in fields.SIDE.items() if key in table)
        found[name] = Side(**{to: reader.value(table, key, check, f"end.{name}") for key, to, check in given})
    return found


def save_link(folder: FilePath, link: Link) -> None:
    """Write a new file and rename it over the old one, so that a power cut leaves one of them whole."""
    lines = [f"plan = {_quoted(link.plan)}", ""] if link.plan else []
    if link.contract:
        lines += ["[contract]", *_lines(link.contract, {k: a for k, (a, _) in fields.CONTRACT.items()}), ""]
    for name, path in link.every_path():
        header = f"[path.{name}]" if len(link.paths[name]) == 1 else f"[[path.{name}]]"
        lines += [header, *_lines(path, {k: a for k, (a, _) in fields.PATH.items()}), ""]
    for end, side in link.ends.items():
        lines += [f"[end.{_quoted(end)}]", *_lines(side, {k: a for k, (a, _) in fields.SIDE.items()}), ""]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    atomic_files.replace(folder / FILE, "\n".join(lines))


def rename_peer(folder: FilePath, old: str, new: str) -> None:
    """Call a peer by its new name in the link description, too; a damaged one stays as it is."""
    try:
        link = load_link(folder)
    except UsageError:
        return
    paths = {rung: tuple(replace(p, peer=new) if p.peer == old else p for p in link.paths[rung]) for rung in link.paths}
    after = replace(link, paths=paths, ends={new if end == old else end: side for end, side in link.ends.items()})
    if after != link:
        save_link(folder, after)


def _lines(record: Contract | Path | Side, names: dict[str, str]) -> list[str]:
    lines = []
    for key, attribute in names.items():
        value = getattr(record, attribute)
        if value is None or value == "":
            continue
        if isinstance(value, bool):
            shown = "true" if value else "false"
        elif isinstance(value, (int, float)):
            shown = f"{int(value)}" if float(value).is_integer() else repr(float(value))
        else:
            shown = _quoted(str(value))
        lines.append(f"{key} = {shown}")
    return lines


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def with_link(plan: Plan, link: Link, peer: str = "", paired: Sequence[str] = ()) -> Plan:
    """The plan, with what it leaves out filled in from the link description.

    `peer` becomes the far side of every path. A mesh is made of all `paired` peers, or of those that `peer` names,
    separated by commas. The same ends also make the paths of experiments with neighbours, if the plan and the link
    describe none.
    """
    ends = _ends_of_mesh(plan, link, peer, paired)
    every = company.mesh(ends) if plan.mesh else ()
    rungs = []
    for rung in plan.rungs:
        paths = rung.paths
        if every and rung.name != RungName.LOCALHOST:
            paths = every
        elif len(paths) == 1 and not paths[0].remote and rung.name in link.paths:
            own = {key: value for key, value in vars(paths[0]).items() if value}
            paths = tuple(replace(one, **own) for one in link.paths[rung.name])
        elif len(ends) > 2 and company.asks_for_neighbours(rung) and not any(path.peer for path in paths):
            paths = company.apart(ends, {name: side.site for name, side in link.ends.items()})
        if rung.name == RungName.LOCALHOST:
            paths = tuple(_within(path, plan.contract.ip_version) for path in paths)
        elif peer and "," not in peer and not every:
            paths = tuple(path if path.origin else replace(path, peer=peer) for path in paths)
        paths = tuple(_between(path, link.ends) if len(paths) > 1 else path for path in paths)
        rungs.append(company.spread(replace(rung, paths=paths)))
    return replace(plan, rungs=tuple(rungs))


def _ends_of_mesh(plan: Plan, link: Link, peer: str, paired: Sequence[str]) -> tuple[str, ...]:
    if peer:
        return (company.NEAR, *(name.strip() for name in peer.split(",")))
    return plan.ends or (company.NEAR, *(paired or (name for name in link.ends if name != company.NEAR)))


def _between(path: Path, ends: dict[str, Side]) -> Path:
    """Fill in what a path does not say about its two sides from what is known of their ends."""
    here, there = ends.get(path.origin or company.NEAR, Side()), ends.get(path.peer, Side())
    return replace(
        path,
        local=path.local or here.address,
        remote=path.remote or there.address,
        local_interface=path.local_interface or ("" if path.local else here.interface),
        remote_interface=path.remote_interface or ("" if path.remote else there.interface),
        origin_site=here.site,
        peer_site=there.site,
    )


def _within(path: Path, ip_version: int) -> Path:
    """A path of the localhost rung, which has no peer; it uses the loopback unless it has addresses."""
    path = replace(path, peer="") if path.remote else Path(local="127.0.0.1", remote="127.0.0.1")
    return Path(local="::1", remote="::1") if ip_version == 6 and path.remote == "127.0.0.1" else path
