"""What the person sees, as text."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from textual.app import App
from textual.pilot import Pilot
from textual.widget import Widget

from terminals import PATIENCE

SIZES = [(80, 25), (120, 40)]
Compare = Callable[..., bool]  # what the fixture `snap_compare` gives
Ticks = Callable[[Pilot[Any], int], Awaitable[None]]  # what the fixture `ticks` gives


Found = TypeVar("Found")


def present(found: Found | None) -> Found:
    """What must be there by now."""
    assert found is not None
    return found


def seen(app: App[Any]) -> str:
    """The screen's lines, through the app's own line filters."""
    lines = []
    for strip in app.screen._compositor.render_strips():
        for line_filter in app._filters if hasattr(app, "_filters") else ():
            if line_filter.enabled:
                strip = strip.apply_filter(line_filter, app.screen.background_colors[1])
        lines.append(strip.text.rstrip())
    return "\n".join(lines)


async def until(pilot: Pilot[Any], words: str, seconds: float = PATIENCE) -> str:
    """Wait for words to appear; the screen as it then is, with all that was being put on it."""
    last = time.monotonic() + seconds
    while time.monotonic() < last:
        await pilot.pause(0.05)
        text = seen(pilot.app)
        if words in " ".join(text.split()):  # lines wrap where they like
            return await _whole(pilot, words, text)
    raise AssertionError(f"never saw {words!r} on:\n{seen(pilot.app)}")


async def until_true(pilot: Pilot[Any], so: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait for what does not show: a page's state, what its backend was told."""
    last = time.monotonic() + seconds
    while not so():
        assert time.monotonic() < last, f"it never came to that, on:\n{seen(pilot.app)}"
        await pilot.pause(0.05)


async def at_rest(pilot: Pilot[Any]) -> None:
    """Wait until all that the keys so far began is done, and nothing is asked."""
    await pilot.pause(0)
    app = pilot.app
    await until_true(pilot, lambda: not app.screen.is_modal and all(one.is_finished for one in app.workers))


async def resized(pilot: Pilot[Any], size: tuple[int, int], so: Callable[[str], object]) -> str:
    """The screen once it is drawn at that size and as it must be: its first frames may be of the old size."""
    await pilot.resize_terminal(*size)
    await until_true(pilot, lambda: len(seen(pilot.app).splitlines()) <= size[1] and so(seen(pilot.app)))
    return seen(pilot.app)


async def _whole(pilot: Pilot[Any], words: str, text: str) -> str:
    """The parts of a page come one after the other: its last button may be seen before its first field."""
    while not all(widget.is_mounted for widget in pilot.app.screen.walk_children(Widget)):
        await pilot.pause(0)
    await pilot.pause(0)  # what they were sent meanwhile is done
    after = seen(pilot.app)
    return after if words in " ".join(after.split()) else text  # words of a moment were seen all the same


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until nothing on the screen has moved for a while: a picture taken on a loaded machine is the same."""
    last, still = "", 0
    for _ in range(int(PATIENCE / 0.1)):
        await pilot.pause(0.1)
        text = seen(pilot.app)
        still = still + 1 if text == last else 0
        last = text
        if still == 8:  # longer than a screen takes from one refresh to the next
            return
    raise AssertionError(f"the screen never came to rest:\n{last}")
