"""Adapts the pairing service to the Pair screen: keeps one state up to date from the service's events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import replace

from linkladder import units
from linkladder.app.backend import Heard, PairingState, PairStage
from linkladder.pairing import handoff
from linkladder.pairing import window_events as say
from linkladder.pairing.service import PairingService

log = logging.getLogger("linkladder.app")


class PairingAdapter:
    """Keeps the state of a pairing; used in the event loop only. `state` is cheap enough for every tick."""

    def __init__(self, service: PairingService | None = None) -> None:
        self._service = service
        self._task: asyncio.Task[None] | None = None
        self._shown = PairingState()

    async def open(self, minutes: float) -> None:
        """Open the pairing window, or go back to listening if it is still open."""
        if self._service is None or not self._service.is_open:
            self._service = self._service if self._service and self._task is None else PairingService()
            await self._service.open(minutes)
            if self._task:
                self._task.cancel()
            self._task = asyncio.create_task(self._follow(self._service))
        self._shown = PairingState(PairStage.LISTENING)

    async def _follow(self, service: PairingService) -> None:
        try:
            async with handoff.serve(service):  # `linkladder pair --yes-code` may answer in place of the person
                async for event in service.events():
                    self._shown = state_after(self._shown, event)
        except Exception as error:  # nothing awaits this task, so the error must be shown here
            log.exception("pairing ended")
            said = f"pairing ended: {error or type(error).__name__}. Nothing was kept."
            self._shown = replace(self._shown, stage=PairStage.FAILED, message=said)

    def state(self) -> PairingState:
        service = self._service
        if service is None:
            return self._shown
        now = time.monotonic()
        heard = tuple(
            Heard(a.name, a.addresses[0], a.interface, max(0.0, now - a.heard), a.rtt_ms, a.fingerprint, note(a))
            for a in service.heard()
            if a.addresses
        )
        return replace(self._shown, left=service.seconds_left, heard=heard)

    async def pair_with(self, address: str) -> None:
        assert self._service
        if self._shown.waits:  # the other end called first, and its code is about to be shown
            return
        self._shown = replace(self._shown, stage=PairStage.CALLING, message=f"Calling {address} ...")
        await self._service.dial(address)

    async def answer(self, typed: str) -> None:
        assert self._service
        await self._service.answer(typed)

    async def refuse(self) -> None:
        assert self._service
        await self._service.refuse()

    async def close(self) -> None:
        if self._service:
            await self._service.close()
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._shown = PairingState()


def note(one: say.Appliance) -> str:
    """What else is known about an appliance, such as 'paired as beta; also 10.1.2.3, fd00::2'."""
    parts = [f"not the only {one.name}: {one.fingerprint[:20]}..."] if one.same_name else []
    parts += [f"paired as {one.known_as}"] if one.known_as else []
    parts += [f"also {', '.join(one.addresses[1:])}"] if one.addresses[1:] else []
    return "; ".join(parts)


def state_after(shown: PairingState, event: say.Event) -> PairingState:
    """The state after the event."""
    match event:
        case say.CodeReady():
            return replace(
                shown,
                stage=PairStage.CONFIRMED if event.by_secret else PairStage.COMPARE,
                peer=f"{event.name} at {event.address}",
                code=event.code,
                words=event.words,
                message="",
            )
        case say.Dialling() if not shown.waits:  # if both call each other, the code stays
            return replace(shown, stage=PairStage.CALLING, message=f"Calling {event.address} ...")
        case say.Confirmed():
            return replace(shown, stage=PairStage.CONFIRMED)
        case say.Storing():
            return replace(shown, stage=PairStage.STORING, message=f"Both said yes. Storing {event.name}'s keys ...")
        case say.Paired():
            sure = "" if event.certain else " The other end has not said so; if it fails, pair again."
            other = f" It calls itself {event.own_name}." if event.own_name != event.peer.name else ""
            return replace(shown, stage=PairStage.PAIRED, message=f"{event.peer.name} is paired.{other}{sure}")
        case say.Refused():
            who = "here" if event.here else f"by {event.name or 'the other end'}"
            why = f" {say.OTHER_CODE}" if event.other_code else ""
            said = f"refused {who}; nothing was kept.{why} {_left(event.left)}"
            return replace(shown, stage=PairStage.FAILED, message=said)
        case say.Failed():
            why = units.sentence(": ".join(p for p in (event.title, event.cause) if p))
            what = f" {event.hint[:1].upper()}{units.sentence(event.hint[1:])}" if event.hint else ""
            return replace(shown, stage=PairStage.FAILED, message=f"{why}{what} {_left(event.left)}")
        case say.WindowClosed() if shown.stage not in (PairStage.PAIRED, PairStage.FAILED):
            return replace(shown, stage=PairStage.FAILED, message=f"the window is closed: {event.reason}")
    return shown


def _left(attempts: int) -> str:
    return f"{units.plural(attempts, 'attempt')} left." if attempts else "The window is closed."
