"""The Link screen: what it starts from, and what it keeps of a description that it has no field for."""

from __future__ import annotations

import pytest

from helpers import until
from linkladder.app.live import LiveBackend
from linkladder.app.main import LadderApp
from linkladder.model import Path, RungName
from linkladder.plan import load_link

pytestmark = pytest.mark.asyncio

WRITTEN = """
plan = "quick"
[contract]
port = "9.95328G"
encapsulation_bytes = 50
dscp = 46
timestamps = false
pass = 0.95
[path.localhost]
local = "127.0.0.2"
remote = "127.0.0.2"
[path.dc-link]
local = "127.0.0.1"
remote = "10.99.0.2"
peer = "beta"
interface = "lo"
"""


async def test_what_has_no_field_survives_saving(own_state, monkeypatch):
    """A contract saved with a default in place of what was written would be judged against another ceiling."""
    (own_state / "link.toml").write_text(WRITTEN)
    before = load_link(own_state)
    backend = LiveBackend("this screen")
    monkeypatch.setattr(backend, "findings", tuple)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        await pilot.press("e")
        await until(pilot, "[ Climb the ladder ]")
        await until(pilot, "At most")
        app.screen.query_one("#circuit").focus()
        await pilot.press(*"C-7", "f3")
        await until(pilot, "Next step")
    after = load_link(own_state)
    kept = after.contract
    assert (kept.encap_bytes, kept.pass_ratio, kept.dscp, kept.timestamps) == (50, 0.95, 46, False)
    assert (kept.port_bps, kept.circuit) == (before.contract.port_bps, "C-7")
    assert after.paths == before.paths and after.paths[RungName.LOCALHOST] == Path("127.0.0.2", "127.0.0.2")
