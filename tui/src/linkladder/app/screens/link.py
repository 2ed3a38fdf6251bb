"""Link: what is it sold as, which addresses stand for which rung, which plan."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Input, Static

from linkladder import units
from linkladder.app.backend import HomeView, PlanChoice
from linkladder.app.screens.base import Page
from linkladder.app.widgets.form import Action, Choice, Field
from linkladder.errors import UsageError
from linkladder.model import Contract, HostFacts, Layer, Path, RungName
from linkladder.plan import Link

RUNGS = (RungName.SAME_HOST, RungName.SAME_VLAN, RungName.DC_LINK)
LAYERS = [
    (Layer.L1.value, "wire (L1)"),
    (Layer.L2.value, "frames (L2)"),
    (Layer.L3.value, "IP packets (L3)"),
]


def near_address(host: HostFacts, remote: str) -> str:
    """The own address that most resembles the other one, as the likely end of the same path."""
    own = [a for n in host.nics if not n.loopback and n.up for a in n.addresses]
    alike = [a for a in own if (":" in a) == (":" in remote) and not a.startswith("fe80")]
    return max(alike, key=lambda a: _common(a, remote), default="")


def _common(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def contract_of(values: dict[str, str]) -> Contract:
    """The contract from what was typed; UsageError names the field and what fits."""

    def number(key: str, label: str, low: float, high: float) -> float:
        try:
            found = float(values[key])
        except ValueError:
            found = float("nan")
        if not low <= found <= high:
            raise UsageError(f"{label}: expected a number from {low:g} to {high:g}", hint="it is not saved yet")
        return found

    def rate(key: str, label: str) -> float:
        try:
            return units.parse_rate(values[key])
        except ValueError as error:
            raise UsageError(f"{label}: {error}", hint="it is not saved yet") from None

    port = rate("port", "Port rate")
    sold = values["rate"].strip()
    return Contract(
        port_bps=port,
        rate_bps=rate("rate", "Contracted rate") if sold else None,
        layer=Layer(values["layer"]),
        mtu=int(number("mtu", "MTU", 576, 65535)),
        vlan_tags=int(number("vlan", "VLAN tags", 0, 2)),
        ip_version=int(values["ip"]),
        circuit=values["circuit"].strip(),
        expected_rtt_ms=number("rtt", "Round trip", 0, 10000) if values["rtt"].strip() else None,
    )


def warnings(contract: Contract, cores: int, best: float) -> list[str]:
    """Why this plan on this machine may not prove this contract."""
    found = []
    sold = contract.rate_bps or contract.port_bps
    if contract.layer is not Layer.L1 and contract.rate_bps and best < contract.rate_bps * 0.94:
        found.append(f"At MTU {contract.mtu} at most {units.rate(best)} of TCP fit into {units.rate(sold)}.")
    if sold / max(1, cores) > 10e9:
        found.append(f"{cores} cores are few for {units.rate(sold)}: the machine may be the limit, not the link.")
    if contract.rate_bps and contract.rate_bps > contract.port_bps:
        found.append("The contract is more than the port can carry.")
    return found


def compact(bps: float | None) -> str:
    return (
        "" if bps is None else units.rate(bps).replace("b/s", "").replace(" ", "").replace(".00", "").replace(".0", "")
    )


def plan_words(plan: PlanChoice) -> str:
    return f"{plan.name}, {units.duration(plan.seconds)}, {plan.trials} trial{'s' if plan.trials != 1 else ''}"


class LinkScreen(Page):
    NAME = "Link"
    HELP = """
What the link is sold as, and which addresses stand for which rung.
A rung without an address at the other end is not measured. The same peer may
stand for several rungs when you move it between hosts: linkladder asks before each.

  Contracted rate   leave empty if the port rate is the contract
  counts            which bytes the contract counts; carriers mostly count frames (L2)
  Enter             on a choice or field goes on; on [ ... ] it does it
  left, right       change a choice
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "app.focus_next", "Next", key_display="Enter"),
        Binding("f2", "climb", "Climb", key_display="F2"),
        Binding("f3", "save", "Save", key_display="F3"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]
    DEFAULT_CSS = """
    LinkScreen .row { width: 1fr; }
    LinkScreen Field { margin: 0 1 0 0; }
    LinkScreen .rungname { width: 11; }
    LinkScreen #note { height: auto; margin: 1 0 0 0; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.view: HomeView | None = None
        self.choices: dict[str, PlanChoice] = {}

    def body(self) -> ComposeResult:
        yield VerticalScroll(Static("looking ..."), classes="body", id="form", can_focus=False)

    def on_mount(self) -> None:
        self.load()

    @work(exclusive=True, group="link")
    async def load(self) -> None:
        app = self.ladder_app
        view = await app.ask(app.backend.home)
        if view is None:
            return
        self.view = view
        form = self.query_one("#form")
        await form.remove_children()
        await form.mount_all(self._rows(view))
        await self._plans(view.link)
        self.query_one("#climb").focus()
        self._note()

    def _rows(self, view: HomeView) -> list[Static | Horizontal]:
        c = view.link.contract or Contract()
        rows: list[Static | Horizontal] = [
            Static("The contract", classes="heading"),
            Horizontal(
                Field("Circuit", c.circuit, 20, key="circuit", label_width=15),
                Field("Expected round trip, ms", f"{c.expected_rtt_ms or ''}", 7, key="rtt"),
                classes="row",
            ),
            Horizontal(
                Field("Port rate", compact(c.port_bps), 8, key="port", label_width=15),
                Field("Contracted rate", compact(c.rate_bps), 8, key="rate"),
                Choice("counts", LAYERS, c.layer.value, key="layer"),
                classes="row",
            ),
            Horizontal(
                Field("MTU", f"{c.mtu}", 8, key="mtu", label_width=15),
                Field("VLAN tags", f"{c.vlan_tags}", 3, key="vlan"),
                Choice("IP version", [("4", "4"), ("6", "6")], f"{c.ip_version}", key="ip"),
                classes="row",
            ),
            Static("Rungs: which peer and addresses (empty there: not measured)", classes="heading"),
        ]
        names = [(p.name, p.name) for p in view.peers] or [("", "nobody")]
        for rung in RUNGS:
            path = view.link.paths.get(rung) or self._guess(view, rung)
            rows.append(
                Horizontal(
                    Static(rung.value, classes="rungname"),
                    Choice("by", names, path.peer, key=f"peer-{rung}"),
                    Field("here", path.local, 15, key=f"local-{rung}"),
                    Field("there", path.remote, 15, key=f"remote-{rung}"),
                    classes="row",
                )
            )
        rows += [
            Static("Plan", classes="heading"),
            Horizontal(Choice("Plan", [("quick", "quick")], "quick", key="plan"), classes="row"),
            Static("", id="note", markup=False),
            Horizontal(Action("Climb the ladder", key="climb"), Action("Save", key="save"), classes="buttons"),
        ]
        return rows

    def _guess(self, view: HomeView, rung: RungName) -> Path:
        """The first peer at the address it was paired by: true for at least one rung."""
        if not view.peers or (view.link.paths and rung not in view.link.paths):
            return Path()
        peer = view.peers[0]
        remote = peer.addresses[0] if peer.addresses else ""
        return Path(near_address(view.host, remote), remote, peer.name)

    def values(self) -> dict[str, str]:
        found = {box.id or "": box.value for box in self.query(Input)}
        return found | {choice.id or "": choice.value for choice in self.query(Choice)}

    def described(self) -> Link:
        """The link as the form has it; raises UsageError."""
        values = self.values()
        paths = {}
        for rung in RUNGS:
            remote = values[f"remote-{rung}"].strip()
            if remote:
                old = self.view.link.paths.get(rung, Path()) if self.view else Path()
                local = values[f"local-{rung}"].strip()
                paths[rung] = replace(old, local=local, remote=remote, peer=values[f"peer-{rung}"])
        return Link(contract_of(values), paths)

    async def _plans(self, link: Link) -> None:
        app = self.ladder_app
        found = await app.ask(app.backend.plans, link)
        self.choices = {p.name: p for p in found or ()}
        words = [
            (p.name, f"{p.name}, {units.duration(p.seconds)}, {p.trials} trial{'s' if p.trials != 1 else ''}")
            for p in self.choices.values()
        ]
        words.sort(key=lambda item: (item[0] != "quick", self.choices[item[0]].seconds))
        self.query_one("#plan", Choice).set_options(words)

    def _note(self) -> None:
        from linkladder.judge import ceiling

        note = self.query_one("#note", Static)
        try:
            link = self.described()
        except UsageError as error:
            note.update(error.title)
            return
        assert link.contract and self.view
        most = ceiling(link.contract)
        choice = self.choices.get(self.query_one("#plan", Choice).value)
        lines = [f"{choice.title}." if choice and choice.title else "", most.sentence]
        lines += [f"! {w}" for w in warnings(link.contract, self.view.host.cores, most.bps)]
        if not link.paths:
            lines.append("! No rung has an address there: only this machine itself will be measured.")
        note.update("\n".join(line for line in lines if line))

    @on(Input.Changed)
    @on(Choice.Changed)
    def changed(self) -> None:
        if self.view and self.query("#note"):
            self._note()

    @on(Input.Submitted)
    def entered(self) -> None:
        self.focus_next()

    @on(Action.Pressed)
    def pressed(self, event: Action.Pressed) -> None:
        if event.action.id == "climb":
            self.action_climb()
        else:
            self.action_save()

    def action_save(self) -> None:
        self.keep(False)

    def action_climb(self) -> None:
        self.keep(True)

    @work(exclusive=True, group="keep")
    async def keep(self, climb: bool) -> None:
        app = self.ladder_app
        if self.view is None:
            return
        try:
            link = self.described()
        except UsageError as error:
            app.complain(error)
            return
        try:
            await app.run_blocking(app.backend.save_link, link)
        except Exception as error:
            app.complain(error)
            return
        if climb:
            plan = await app.ask(app.backend.plan, self.query_one("#plan", Choice).value, link)
            if plan:
                app.climb(plan)
        else:
            self.notify("The link is saved")
            app.pop_screen()
