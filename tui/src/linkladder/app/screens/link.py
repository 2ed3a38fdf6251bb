"""The Link screen: the form for the contract, the addresses of each rung, and the plan."""

from __future__ import annotations

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.timer import Timer
from textual.widgets import Input, Static

from linkladder import units
from linkladder.app.backend import HomeView, PlanChoice
from linkladder.app.dialogs import Question
from linkladder.app.link_form import (
    LAYERS,
    UNSAVED,
    carrier,
    ceiling_sentence,
    contract_of,
    far_address,
    first_contract,
    first_contract_source,
    near_address,
    path_typed,
    proposed,
    short_rate,
    usable,
)
from linkladder.app.names import DEFAULT, fitted
from linkladder.app.page import Page
from linkladder.app.plan_warnings import warnings
from linkladder.app.widgets.form import Action, Choice, Field, Form
from linkladder.errors import UsageError
from linkladder.model import Contract, Nic, Path, RungName
from linkladder.plan import SHORT, Link

UNPAIRED = ", not paired"
ROOM = 12  # characters of a peer's name that fit beside two labelled addresses on a console
SETTLED = 0.05  # seconds without a change until the plans are looked at
MOST_PATHS = 8  # paths of the link that this page takes
RUNGS = (RungName.SAME_HOST, RungName.SAME_VLAN, RungName.DC_LINK)


def further(number: int) -> str:
    """The key of the fields for the link's path with that number, from the second on."""
    return f"{RungName.DC_LINK}-{number}"


def plan_words(plan: PlanChoice) -> str:
    if not plan.trials:
        return f"{plan.name}, cannot be used" if plan.title else f"{plan.name}, nothing to measure"
    most = f" to {units.duration(plan.longest)}" if plan.longest > plan.seconds else ""
    trials = f"{units.plural(plan.trials, 'trial')}{' or more' if most else ''}"
    return f"{plan.name}, {units.duration(plan.seconds)}{most}, {trials}"


class LinkScreen(Page):
    NAME = "Link"
    HELP = """
What the link is sold as, and which addresses stand for which rung.
A rung without an address at the other end is not measured. The same peer may
stand for several rungs when you move it between hosts: linkladder asks before each.

  Expected round    what the carrier promises; a much shorter one means that
  trip              the traffic did not cross the link
  Limits            loss of datagrams at the contracted rate, idle round
                    trip, jitter, and the share of seconds that must carry
  Contracted rate   leave empty if the port rate is the contract
  counts            which bytes the contract counts; mostly frames (L2)
  F4                one more path of the link: another card, another peer;
                    the plan "cards" loads each alone and all at once
  Enter             on a choice or field goes on; on [ ... ] it does it
  left, right       change a choice; plans of your own are files such as
                    my.toml in the folder plans of the state folder
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "app.focus_next", "Next", key_display="Enter"),
        Binding("f2", "climb", "Climb", key_display="F2"),
        Binding("f3", "save", "Save", key_display="F3"),
        Binding("f4", "another", "Another path", key_display="F4"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]
    DEFAULT_CSS = """
    LinkScreen .row { width: 1fr; }
    LinkScreen Field { margin: 0 1 0 0; }
    LinkScreen .rungname { width: 11; }
    LinkScreen .tight { width: 10; }
    LinkScreen #note { height: auto; margin: 1 0 0 0; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.view: HomeView | None = None
        self.choices: dict[str, PlanChoice] = {}
        self.ways: dict[str, str] = {}  # address -> own interface
        self._keeping = False
        self._kept: dict[str, str] = {}  # what the fields held when they were read or saved last
        self.whole = False  # whether all fields are there, as the first reports a change before the others exist
        self.more = 0  # paths of the link besides the first
        self._to_look: Timer | None = None
        self.carrier: Nic | None = None  # the card for the link's traffic, from which the first contract comes

    def body(self) -> ComposeResult:
        yield Form(Static("looking ..."), classes="body", id="form")

    def on_mount(self) -> None:
        self.load()

    def on_screen_resume(self) -> None:
        """Show the warnings again, as after a run that could not be started."""
        self.changed()

    @work(exclusive=True, group="link")
    async def load(self) -> None:
        app = self.ladder_app
        view = await app.ask(app.backend.home)
        if view is None:
            return
        self.view = view
        self.ways = await app.ask(self._ways, view) or {}
        form = self.query_one("#form")
        await form.remove_children()
        await form.mount_all(self._rows(view))
        self.whole, self._kept = True, self.values()
        self.query_one("#climb").focus()
        self.changed()

    def _ways(self, view: HomeView) -> dict[str, str]:
        """This machine's interface on the route to each address at which a peer may be measured."""
        there = {address for peer in view.peers for address in usable(peer.addresses)}
        return {address: self.ladder_app.backend.leaves_by(address) for address in there}

    def _leaving(self, link: Link) -> dict[tuple[str, str], str]:
        """This machine's interface by which packets of each path leave, by its two addresses."""
        typed = [(path.local, path.remote) for _, path in link.every_path() if path.local and path.remote]
        return {(local, remote): self.ladder_app.backend.leaves_by(remote, local) for local, remote in typed}

    def _near(self, view: HomeView, remote: str) -> str:
        return near_address(view.host, remote, self.ways.get(remote, ""))

    def _rows(self, view: HomeView) -> list[Static | Horizontal]:
        if view.link.contract is None:
            of_link = view.link.path(RungName.DC_LINK) or self._guess(view, RungName.DC_LINK)
            self.carrier = carrier(view.host, of_link.local)
        c = view.link.contract or first_contract(self.carrier)
        last = "" if view.last_plan in SHORT else view.last_plan  # none that changes settings
        first = view.link.plan or last or "quick"
        empty = "only a mesh measures it" if view.link.ends else "not measured"
        rows: list[Static | Horizontal] = [
            Static("The contract", classes="heading"),
            Horizontal(
                Field("Circuit", c.circuit, 20, key="circuit", label_width=15),
                Field("Expected round trip, ms", f"{c.expected_rtt_ms or ''}", 7, key="rtt"),
                classes="row",
            ),
            Horizontal(
                Field("Port rate", short_rate(c.port_bps), 8, key="port", label_width=15),
                Field("Contracted rate", short_rate(c.rate_bps), 8, key="rate"),
                Choice("counts", LAYERS, c.layer.value, key="layer"),
                classes="row",
            ),
            Horizontal(
                Field("MTU", f"{c.mtu}", 8, key="mtu", label_width=15),
                Field("VLAN tags", f"{c.vlan_tags}", 3, key="vlan"),
                Choice("IP version", [("4", "4"), ("6", "6")], f"{c.ip_version}", key="ip"),
                classes="row",
            ),
            Horizontal(
                Field("Limits: loss, %", f"{c.loss_percent:g}", 5, key="loss", label_width=15),
                Field("delay, ms", f"{c.delay_ms or ''}", 5, key="delay"),
                Field("jitter, ms", f"{c.jitter_ms or ''}", 5, key="jitter"),
                Field("up, %", f"{c.availability_percent:g}", 6, key="up"),
                classes="row",
            ),
            Static(f"Rungs: which peer and addresses (empty there: {empty})", classes="heading"),
        ]
        for rung in RUNGS:
            rows.append(self._row(view, rung.value, view.link.path(rung) or self._guess(view, rung)))
        self.more = len(view.link.paths.get(RungName.DC_LINK, ())[1:])
        for number, path in enumerate(view.link.paths.get(RungName.DC_LINK, ())[1:], 2):
            rows.append(self._row(view, further(number), path))
        rows += [
            Static("Plan", classes="heading"),
            Horizontal(Choice("Plan", [(first, first)], first, key="plan"), classes="row"),
            Static("", id="note", markup=False),
            Horizontal(Action("Climb the ladder", key="climb"), Action("Save", key="save"), classes="buttons"),
        ]
        return rows

    def _row(self, view: HomeView, key: str, path: Path) -> Horizontal:
        """The fields of a path: the far end's name, the addresses here and there."""
        narrow = self.size.width < 110
        wide, most = (15, DEFAULT) if narrow else (26, 40)
        names = [(p.name, fitted(p.name, most)) for p in view.peers] or [("", "nobody")]
        if path.peer and path.peer not in [name for name, _ in names]:
            names = [(path.peer, f"{fitted(path.peer, most - len(UNPAIRED))}{UNPAIRED}"), *names]
        tight = narrow and max(len(shown) for _, shown in names) > ROOM
        number = key.removeprefix(further(0)[:-1])
        return Horizontal(
            Static(f"  path {number}" if number != key else key, classes="rungname tight" if tight else "rungname"),
            Choice("" if tight else "by", names, path.peer, key=f"peer-{key}"),
            Field("here", path.local, wide, key=f"local-{key}"),
            Field("there", path.remote, wide, key=f"remote-{key}"),
            classes="row",
        )

    async def action_another(self) -> None:
        """Add a path, if possible to an address that is reached through a card that no path uses yet."""
        view = self.view
        if view is None or not self.whole or self.more >= MOST_PATHS - 1:
            return
        values = self.values()
        last = further(self.more + 1) if self.more else RungName.DC_LINK.value
        used = [value for key, value in values.items() if key.startswith(("remote-dc-link", "local-dc-link"))]
        path = proposed(view, self.ways, values[f"peer-{RungName.DC_LINK}"], used)
        self.more += 1
        row = self._row(view, further(self.more + 1), path)
        above = self.query_one(f"#remote-{last}").ancestors
        before = next(one for one in above if isinstance(one, Horizontal) and one.has_class("row"))
        self.whole = False
        await self.query_one("#form").mount(row, after=before)
        self.whole = True
        self.query_one(f"#remote-{further(self.more + 1)}").focus()
        self.changed()

    def _guess(self, view: HomeView, rung: RungName) -> Path:
        """A guess for a rung's path: the first peer at its first usable address, if no mesh is described."""
        if not view.peers or view.link.ends or (view.link.paths and rung not in view.link.paths):
            return Path()
        peer = view.peers[0]
        # A link-local address is good for pairing, but nothing is measured over it.
        remote = far_address(peer.addresses)
        return Path(self._near(view, remote) if remote else "", remote, peer.name)

    def values(self) -> dict[str, str]:
        found = {box.id or "": box.value for box in self.query(Input)}
        return found | {choice.id or "": choice.value for choice in self.query(Choice)}

    def link_typed(self) -> Link:
        """The link as typed, with what has no field as it was; raises UsageError if a value is wrong."""
        values = self.values()
        known = self.view.link if self.view else Link()
        paths = {rung: path for rung, path in known.paths.items() if rung not in RUNGS}
        for rung in RUNGS:
            remote = values[f"remote-{rung}"].strip()
            if remote:
                old, more = known.path(rung) or Path(), known.paths.get(rung, ())[1:]  # the form shows the first
                try:
                    first = path_typed(values[f"local-{rung}"].strip(), remote, old, values[f"peer-{rung}"])
                except ValueError as error:
                    raise UsageError(f"{rung}: {error}", hint=UNSAVED) from None
                paths[rung] = self._further(values, known, first) if rung is RungName.DC_LINK else (first, *more)
        return Link(contract_of(values, known.contract or Contract()), paths, values["plan"], known.ends)

    def _further(self, values: dict[str, str], known: Link, first: Path) -> tuple[Path, ...]:
        """The link's paths: `first`, and the others without those whose far address is empty."""
        before = known.paths.get(RungName.DC_LINK, ())[1:]
        found = [first]
        for number in range(2, self.more + 2):
            key = further(number)
            old = before[number - 2] if number - 2 < len(before) else Path()
            if remote := values.get(f"remote-{key}", "").strip():
                try:
                    found.append(path_typed(values[f"local-{key}"].strip(), remote, old, values[f"peer-{key}"], found))
                except ValueError as error:
                    raise UsageError(f"path {number}: {error}", hint=UNSAVED) from None
        return tuple(found)

    @work(exclusive=True, group="look")
    async def look(self) -> None:
        """Show how long the plans take with the typed link, and what the chosen plan cannot prove."""
        app, view = self.ladder_app, self.view
        if not self.whole:
            return
        note = self.query_one("#note", Static)
        try:
            link = self.link_typed()
        except UsageError as error:
            note.update(f"! {error.title}")
            return
        assert link.contract and view
        found = await app.ask(app.backend.plans, link) or ()
        self.choices = {p.name: p for p in found}
        box = self.query_one("#plan", Choice)
        words = [(p.name, plan_words(p)) for p in found]
        words.sort(key=lambda item: (item[0] != "quick", self.choices[item[0]].seconds))
        before = box.value
        box.set_options(words, before)
        if self._kept.get("plan") == before:  # nobody chose another where that plan is not there any more
            self._kept["plan"] = box.value
        choice = self.choices.get(box.value)
        lines = [f"{choice.title}." if choice and choice.title else "", ceiling_sentence(link.contract)]
        lines += [first_contract_source(self.carrier, view.lost_link)] if self._untouched() else []
        if choice and choice.trials:
            try:
                plan = await app.run_blocking(app.backend.plan, box.value, link)
                known = {peer.name: usable(peer.addresses) for peer in view.peers}
                ways = await app.ask(self._leaving, link) or {}
                lines += [f"! {text}" for text in warnings(link, plan, view.host, view.hosts, known, ways)]
            except UsageError as error:
                lines.append(f"! {error.title}")
        note.update("\n".join(line for line in lines if line))
        if self.focused:  # the note above may have pushed the button out of view
            self.call_after_refresh(self.focused.scroll_visible, animate=False)

    @on(Input.Changed)
    def changed(self) -> None:
        """Look at the plans once the page stands and no further change has come for a moment."""
        if self._to_look:
            self._to_look.stop()
        self._to_look = self.set_timer(SETTLED, self.look)

    @on(Choice.Changed)
    def chosen(self, event: Choice.Changed) -> None:
        name = event.choice.id or ""
        if name.startswith("peer-") and self.whole:
            self._fill(name.removeprefix("peer-"), event.choice.value)
        self.changed()

    def _fill(self, rung: str, name: str) -> None:
        """Fill in the addresses of another peer, but keep an address that a person has typed."""
        assert self.view
        there = self.query_one(f"#remote-{rung}", Input)
        known = {address for peer in self.view.peers for address in peer.addresses}
        peer = next((p for p in self.view.peers if p.name == name), None)
        far = far_address(peer.addresses) if peer else ""
        if far and (not there.value or there.value in known):
            there.value = far
            self.query_one(f"#local-{rung}", Input).value = self._near(self.view, there.value)
            if rung == RungName.DC_LINK and self._untouched():
                self.carrier = carrier(self.view.host, self._near(self.view, far))
                first = first_contract(self.carrier)
                self.query_one("#port", Input).value = short_rate(first.port_bps)
                self.query_one("#mtu", Input).value = f"{first.mtu}"

    def _untouched(self) -> bool:
        """Whether the contract is still the proposed one."""
        if self.view is None or self.view.link.contract:
            return False
        first = first_contract(self.carrier)
        fields = (self.query_one("#port", Input).value, self.query_one("#mtu", Input).value)
        return fields == (short_rate(first.port_bps), f"{first.mtu}")

    @on(Input.Submitted)
    def entered(self) -> None:
        self.focus_next()

    @on(Action.Pressed)
    def pressed(self, event: Action.Pressed) -> None:
        self.keep(event.action.id == "climb")

    def action_back(self) -> None:
        self.leave()

    @work(exclusive=True, group="leave")
    async def leave(self) -> None:
        """Leave; a question goes before if something was typed that is not saved."""
        ask = Question("Leave without saving?", "What was changed here is forgotten.", "Leave", "Stay", safe=True)
        if not self.whole or self.values() == self._kept or await self.app.push_screen_wait(ask):
            super().action_back()

    def action_save(self) -> None:
        self.keep(False)

    def action_climb(self) -> None:
        self.keep(True)

    def keep(self, climb: bool) -> None:
        """Save the link and, with `climb`, start the run; ignored while an earlier call is in progress."""
        if self.whole and not self._keeping and not self.ladder_app.starting:
            self._keeping = True
            self._keep(climb)

    @work(group="keep")
    async def _keep(self, climb: bool) -> None:
        try:
            await self._save(climb)
        finally:
            self._keeping = False

    async def _save(self, climb: bool) -> None:
        app = self.ladder_app
        try:
            values, link = self.values(), self.link_typed()
            await app.run_blocking(app.backend.save_link, link)
        except Exception as error:
            app.complain(error)
            return
        self._kept = values
        if climb:
            plan = await app.ask(app.backend.plan, self.query_one("#plan", Choice).value, link)
            if plan:
                self.query_one("#note", Static).update("The run is being started ...")
                app.climb(plan)
        else:
            self.notify("The link is saved")
            app.pop_screen()
