"""What a recording does on an appliance of the lab, by the console's own backend: `aboard.py VERB [WORDS]`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

from linkladder import codec, state
from linkladder.app.backend import PairingState, PairStage
from linkladder.app.live_backend import LiveBackend


def plan(name: str) -> Any:
    """The plan with this appliance's link in it, where the runner finds it."""
    made = LiveBackend()
    asked = codec.to_json(made.plan(name, made.link()))
    (state.folder() / "next-plan.json").write_text(json.dumps(asked), encoding="utf-8")
    return asked["name"]


def stored(run: str) -> Any:
    """What Runs and Results know of a run."""
    made = LiveBackend()
    return {"summary": made.runs(run)[0], "document": made.load(run)}


def facts() -> Any:
    """What Home, Link and System show of this appliance."""
    made = LiveBackend()
    peers = [asyncio.run(made.probe(peer)) for peer in made.peers()]
    return {
        "host": made.facts(),
        "findings": made.findings(),
        "settings": made.settings(),
        "switches": made.appliance(),
        "peers": peers,
        "link": made.link(),
    }


def pair(call: str) -> Any:
    """The stages of a pairing as the screen sees them; whoever calls waits until it has heard the other."""
    return asyncio.run(_pair(call == "call"))


async def _pair(call: bool) -> list[PairingState]:
    made = LiveBackend()
    await made.open_pairing()
    seen = [await _until(made, lambda s: bool(s.heard))] if call else []
    if call:
        calling = asyncio.create_task(made.pair_with(seen[0].heard[0].address))  # which lasts as long as the pairing
    seen.append(await _until(made, lambda s: s.stage is PairStage.COMPARE))
    await asyncio.sleep(2)  # which two people take over it
    await made.answer_code(_on_the_other_screen(made))
    seen.append(await _until(made, lambda s: s.stage is PairStage.PAIRED))
    if call:
        await calling
    await made.close_pairing()
    return seen


def _on_the_other_screen(made: LiveBackend) -> str:
    """Read off by a person, elsewhere; here what this end knows must be there."""
    service = made._service()._service
    assert service and service._engaged and service._engaged.session.codes
    return service._engaged.session.codes.due.digits


async def _until(made: LiveBackend, reached: Callable[[PairingState], bool]) -> PairingState:
    try:
        async with asyncio.timeout(60):
            while not reached(made.pairing()):
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise SystemExit(f"pairing came only to {made.pairing()}") from None
    return made.pairing()


if __name__ == "__main__":
    verbs: dict[str, Callable[..., Any]] = {"plan": plan, "stored": stored, "facts": facts, "pair": pair}
    print(json.dumps(codec.to_json(verbs[sys.argv[1]](*sys.argv[2:]))))
