"""Draws a screen's keys on its last line, all in one widget, since every screen has to set it up."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.screen import Screen
from textual.widget import Widget

from linkladder.app.error_handling import Guarded


class KeyLine(Guarded, Widget, can_focus=False):
    """Shows what Textual's Footer shows, which makes a new widget for every key whenever the keys change."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-line--key", "key-line--words"}
    DEFAULT_CSS = """
    KeyLine { dock: bottom; height: 1; text-wrap: nowrap; background: $background; }
    KeyLine > .key-line--key {
        color: $block-cursor-foreground; background: $block-cursor-background; text-style: bold;
    }
    KeyLine > .key-line--words { color: $foreground; background: $background; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: list[tuple[range, str]] = []  # the columns of each key and its words

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[object]) -> None:
        if self.is_attached and screen is self.screen:
            self.refresh()

    def render(self) -> Text:
        out = Text(no_wrap=True, end="")
        key, words = self.get_component_rich_style("key-line--key"), self.get_component_rich_style("key-line--words")
        self._keys, listed = [], set()
        for _, binding, enabled, _ in self.screen.active_bindings.values():
            if not (binding.show and enabled) or binding.action in listed:
                continue
            listed.add(binding.action)
            start = len(out)
            out.append(f" {self.app.get_key_display(binding)} ", key)
            out.append(f" {binding.description} ", words)
            self._keys.append((range(start, len(out)), binding.key))
            out.append(" ")
        return out

    def on_click(self, event: events.Click) -> None:
        for columns, key in self._keys:
            if event.x in columns:
                self.app.simulate_key(key)
