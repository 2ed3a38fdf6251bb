"""The Pair screen: appliances that are heard, an address to type, the code to compare, the outcome."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from linkladder import units
from linkladder.app.backend import Heard, PairingState, PairStage
from linkladder.app.page import Page
from linkladder.app.widgets.bigcode import big
from linkladder.app.widgets.form import Action, Field
from linkladder.app.widgets.menu import Menu


def heard_line(found: Heard) -> str:
    """An appliance, such as 'beta  10.7.0.2  on vmx0, heard 2 s ago, round trip 0.210 ms'."""
    trip = f", round trip {units.milliseconds(found.rtt_ms)}" if found.rtt_ms is not None else ""
    where = f"on {found.interface}, " if found.interface else ""
    return f"{found.name:<12} {found.address:<16} {where}heard {units.duration(found.age)} ago{trip}"


def heard_text(found: Heard) -> Text:
    """An appliance's line, and below it what else is known about it."""
    out = Text(heard_line(found), no_wrap=True, overflow="ellipsis")
    if found.note:
        out.append(f"\n  {found.note}", "dim")
    return out


READ_OUT = "Read it out, on the phone or walking over, and ask what is shown there."
ONE_IS_ENOUGH = "From here on one of the two screens is enough; leave the other appliance on."


class PairScreen(Page):
    NAME = "Pair"
    HELP = """
Open this screen on both appliances. Each hears the other if they share a segment;
otherwise type the address of the other one. Each then shows a code of its own:
type here the code that the other screen shows, and there the one that is shown here.
Another code than the one that is due refuses: somebody sits in between, or it was
read off the wrong machine. Esc refuses too; Enter alone does nothing.

The window is open for ten minutes and closes by itself. Once you have typed the
code, Esc leaves yours on the screen for the other end: Go on pairing, on Home,
comes back to it.
F4 lists whom this appliance trusts already, to rename or remove them.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "address", "Address"),
        Binding("o", "open", "Open again"),
        Binding("f4,t", "trusted", "Trusted", key_display="F4"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]
    DEFAULT_CSS = """
    PairScreen #search, PairScreen #compare, PairScreen #asked { height: auto; }
    PairScreen #heard { height: auto; max-height: 8; }
    PairScreen #code { height: 5; margin: 1 0; }
    PairScreen #outcome { height: auto; text-style: bold; margin: 1 0 0 0; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._stage: PairStage | None = None
        self._names: list[str] = []
        self._listed: tuple[Heard, ...] = ()
        self._calling = ""  # the address of a call in progress
        self._answered = False  # whether the other screen's code was typed and is being sent

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="body", can_focus=False):
            yield Static("", id="window", markup=False)
            with Vertical(id="search"):
                yield Static("Open pairing at the other end too; then choose it here and press Enter.")
                yield Static("")
                yield Static("Heard on this segment", classes="heading")
                yield Menu("heard")
                yield Static("nobody yet; open pairing on the other appliance too", id="nobody")
                yield Static("")
                yield Static("Further away, behind a router: its address or name", classes="heading")
                yield Field("Address", "", 40, key="address")
            with Vertical(id="compare"):
                yield Static("", id="who", markup=False)
                yield Static("", id="code", markup=False)
                yield Static("", id="words", markup=False)
                with Vertical(id="asked"):
                    yield Static(READ_OUT)
                    yield Static("")
                    yield Field("What does the other screen show?", "", 30, key="theirs")
            yield Static("", id="outcome", markup=False)
            with Horizontal(classes="buttons", id="onward"):
                yield Action("Describe the link", key="done")
                yield Action("Try again", key="retry")

    def on_mount(self) -> None:
        for part in ("#compare", "#onward"):
            self.query_one(part).display = False  # shown later
        self.action_open()  # or show the code that is still due

    @work(exclusive=True, group="pair")
    async def action_open(self) -> None:
        app = self.ladder_app
        try:
            if not app.backend.pairing().waits:
                await app.backend.open_pairing()
        except Exception as error:
            app.complain(error)
        self._stage = None
        self.on_tick()

    def on_tick(self) -> None:
        if self.is_mounted:
            self._show(self.ladder_app.backend.pairing())

    def _show(self, state: PairingState) -> None:
        window = f"The pairing window is open for {units.duration(state.left)} more."
        if state.left <= 0:
            window = "The pairing window is closed; o opens it again."
        self.query_one("#window", Static).update(window)
        self._heard(state)
        if state.stage is self._stage:
            return
        self._stage = state.stage
        comparing = state.stage is PairStage.COMPARE
        # After it was confirmed here, the other end still needs it.
        shows_code = comparing or (state.stage is PairStage.CONFIRMED and bool(state.code))
        ended = state.stage in (PairStage.PAIRED, PairStage.FAILED)
        self.query_one("#search").display = state.stage in (PairStage.LISTENING, PairStage.CALLING, PairStage.CLOSED)
        self.query_one("#compare").display = shows_code
        self.query_one("#asked").display = comparing
        self.query_one("#onward").display = ended
        self.query_one("#retry").display = state.stage is PairStage.FAILED
        self.query_one("#done").display = state.stage is PairStage.PAIRED
        outcome = Text(state.message)
        if shows_code:
            self.query_one("#who", Static).update(f"For {state.peer or 'the other appliance'}:")
            self.query_one("#code", Static).update(big(state.code))
            self.query_one("#words", Static).update(f"{state.code}   {' '.join(state.words)}")
        if comparing:
            self._answered = False
            theirs = self.query_one("#theirs", Input)
            theirs.value = ""
            self.set_focus(theirs)  # at once, so that nothing typed quickly is lost
        elif state.stage is PairStage.CALLING:
            outcome = Text(state.message or "Calling ...")
        elif state.stage is PairStage.CONFIRMED:
            outcome = Text(f"Confirmed here. Waiting for {state.peer or 'the other end'} to confirm ...")
        elif state.stage is PairStage.STORING:
            outcome = Text(f"{state.message} A slow machine takes up to a minute for it.")
        elif state.stage is PairStage.PAIRED:
            message = state.message or f"{state.peer} is paired."
            outcome = Text(f"{message}{'' if message.endswith('.') else '.'} {ONE_IS_ENOUGH}", "bold green")
            self.query_one("#done").focus()
        elif state.stage is PairStage.FAILED:
            outcome = Text(f"Not paired: {state.message}", "bold red")
            self.query_one("#retry").focus()
        elif state.heard:
            self.query_one("#heard").focus()
        else:
            self.query_one("#address", Input).focus()
        self.query_one("#outcome", Static).update(outcome)

    def _heard(self, state: PairingState) -> None:
        box = self.query_one("#heard", OptionList)
        names = [f"{h.name} {h.address}" for h in state.heard]
        self.query_one("#nobody").display = not names
        box.display = bool(names)
        if names == self._names:
            for index, found in enumerate(state.heard):
                box.replace_option_prompt_at_index(index, heard_text(found))
            return
        first, kept = not self._names, box.highlighted or 0
        chosen = self._names[kept] if kept < len(self._names) else ""
        self._names, self._listed = names, state.heard
        box.clear_options()
        box.add_options([Option(heard_text(h)) for h in state.heard])  # without ids, as two may claim one address
        at = names.index(chosen) if chosen in names else min(kept, len(names) - 1)
        box.highlighted = at if names else None
        typing = self.query_one("#address", Input).value
        if first and names and not typing and state.stage is PairStage.LISTENING:
            box.focus()

    # --- keys ---------------------------------------------------------------------------

    @on(OptionList.OptionSelected, "#heard")
    def chosen(self, event: OptionList.OptionSelected) -> None:
        self.call(self._listed[event.option_index].address)

    @on(Input.Submitted, "#address")
    def typed(self, event: Input.Submitted) -> None:
        if event.value.strip():
            self.call(event.value.strip())

    def call(self, address: str) -> None:
        """Call this address, unless such a call is already in progress, which a new one would end."""
        if address != self._calling:
            self._calling = address
            self.call_up(address)

    @work(exclusive=True, group="call")
    async def call_up(self, address: str) -> None:
        try:
            await self.ladder_app.backend.pair_with(address)
        except Exception as error:
            self.ladder_app.complain(error)
        self._calling = ""
        self.on_tick()

    @on(Action.Pressed)
    def pressed(self, event: Action.Pressed) -> None:
        match event.action.id:
            case "retry":
                self.action_open()
            case "done":
                self.go_on()

    @on(Input.Submitted, "#theirs")
    def read_off(self, event: Input.Submitted) -> None:
        if not self._answered and (typed := event.value.strip()):
            self.answer(typed)

    @work(exclusive=True, group="answer")
    async def answer(self, typed: str) -> None:
        """Send the typed code, or refuse if it is ''; on a slow machine signing a yes takes seconds."""
        backend = self.ladder_app.backend
        self._answered = True
        try:
            await (backend.answer_code(typed) if typed else backend.refuse_code())
            if self._stage is PairStage.COMPARE:
                self.query_one("#outcome", Static).update("Answered. Telling the other end ...")
        except Exception as error:
            self._answered = False
            self.ladder_app.complain(error)
        self.on_tick()

    def go_on(self) -> None:
        """Open the Link screen, as describing the link comes after pairing."""
        self.ladder_app.open_instead("link")

    def action_address(self) -> None:
        self.query_one("#address", Input).focus()

    def action_trusted(self) -> None:
        self.ladder_app.open("trusted")

    def action_back(self) -> None:
        if self.ladder_app.backend.pairing().stage is PairStage.COMPARE and not self._answered:
            self.answer("")
        else:
            self.leave()

    @work(exclusive=True, group="close")
    async def leave(self) -> None:
        """Leave the screen; closes the pairing window unless a code still waits for the other end."""
        backend = self.ladder_app.backend
        try:
            if not backend.pairing().waits:
                await backend.close_pairing()
        except Exception as error:
            self.ladder_app.complain(error)
            return
        self.app.pop_screen()
