"""The Trusted screen: the appliances with which this one is paired, to rename or remove them."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from linkladder.app.backend import PeerView
from linkladder.app.dialogs import Ask, Question
from linkladder.app.page import Page
from linkladder.app.widgets.menu import Menu


def trusted_line(peer: PeerView) -> str:
    """A peer, such as 'beta              10.7.0.2          SHA256:...', with as much of the fingerprint as fits."""
    return f"{peer.name:<17} {peer.addresses[0] if peer.addresses else 'no address':<17} {peer.fingerprint}"


def trusted_text(peer: PeerView) -> str:
    """A peer's name, all its addresses, and its key's whole fingerprint."""
    return f"{peer.name}: {', '.join(peer.addresses) or 'no address'}\n{peer.fingerprint or 'no key'}"


class TrustedScreen(Page):
    NAME = "Trusted"
    HELP = """
The appliances that this one trusts, each by its own key.

  n   another name for it, at this end only
  x   trust it no more: its sessions end at once; then pair it again, or not
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "rename", "Rename"),
        Binding("x,delete", "remove", "Remove", key_display="x"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]
    CSS = (
        "TrustedScreen #peers { height: 1fr; } TrustedScreen #one { height: auto; }"  # scrolls, as 32 peers do not fit
    )

    def __init__(self) -> None:
        super().__init__()
        self._peers: tuple[PeerView, ...] = ()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Without peers there is none to rename or to remove."""
        return action not in ("rename", "remove") or bool(self._peers)

    def body(self) -> ComposeResult:
        with Vertical(classes="body"):
            yield Static("Trusted by this appliance", classes="heading")
            yield Static("none yet: pair with the appliance at the other end", id="none", markup=False)
            yield Menu("peers")
            yield Static("", id="one", markup=False)

    def on_mount(self) -> None:
        self.query_one("#none").display = False
        self.load()

    @work(exclusive=True, group="trusted")
    async def load(self) -> None:
        app = self.ladder_app
        found = await app.ask(app.backend.paired)
        if found is None:
            return
        self._peers = found
        self.refresh_bindings()
        box = self.query_one("#peers", OptionList)
        kept = box.highlighted or 0
        box.clear_options()
        box.add_options([Option(Text(trusted_line(p), no_wrap=True, overflow="ellipsis"), id=p.name) for p in found])
        box.highlighted = min(kept, len(found) - 1) if found else None
        box.display = bool(found)
        self.looked_at()
        self.query_one("#none").display = not found
        box.focus()

    @on(OptionList.OptionHighlighted, "#peers")
    def looked_at(self) -> None:
        peer = self._current()
        self.query_one("#one", Static).update(trusted_text(peer) if peer else "")

    def _current(self) -> PeerView | None:
        at = self.query_one("#peers", OptionList).highlighted
        return self._peers[at] if at is not None and at < len(self._peers) else None

    @on(OptionList.OptionSelected, "#peers")
    def chosen(self) -> None:
        self.action_rename()

    @work(exclusive=True, group="change")
    async def action_rename(self) -> None:
        app, peer = self.ladder_app, self._current()
        if peer is None:
            return
        text = "Letters, digits, dots and dashes. The appliance itself keeps its own name."
        new = await app.push_screen_wait(Ask(f"What is {peer.name} to be called here?", text, peer.name))
        if new and new != peer.name:
            await app.ask(app.backend.rename_peer, peer.name, new)
            self.load()

    @work(exclusive=True, group="change")
    async def action_remove(self) -> None:
        app, peer = self.ladder_app, self._current()
        if peer is None:
            return
        text = "Its sessions end at once, a running trial included. To measure with it again, pair again."
        if await app.push_screen_wait(Question(f"Trust {peer.name} no more?", text, "Remove", "Keep", safe=True)):
            await app.ask(app.backend.remove_peer, peer.name)
            self.load()
