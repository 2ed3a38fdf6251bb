"""Asks an end for its reservation, and again as long as what this run left there is still being put back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from linkladder import events as ev
from linkladder import phrases, wire
from linkladder.errors import EnvironmentFault
from linkladder.peer import EndPoint, Refused


def own(near: EndPoint, run_id: str) -> str:
    """The name of a run as a holder: an end tells it of a loan, too, that it is still putting back for whoever asks."""
    return f"{near.name}, run {run_id}"


async def ask(end: EndPoint, holder: str, last: bool) -> str:
    """Why it has to be asked again; '' where it is reserved now."""
    try:
        await end.ask(wire.Reserve(holder))
    except Refused as error:
        if last or error.holder != holder:
            raise
        return str(error)
    return ""


async def patiently(
    name: str, asked: Callable[[bool], Awaitable[str]], retries: Sequence[float], emit: Callable[[ev.Event], None]
) -> bool:
    """Ask, as `asked(last)` does, until the end is reserved; whether it was waited for, which a person is told."""
    waited = False
    for pause in (*retries, 0.0):
        why = await asked(pause == 0.0)
        if not why:
            break
        if not waited:
            emit(ev.Notice(phrases.waits(name, why)))
        waited = True
        await asyncio.sleep(pause)  # whoever ends the run ends the wait, and there is no rung yet to be left
    return waited


async def reserve_near(near: EndPoint, run_id: str, retries: Sequence[float], emit: Callable[[ev.Event], None]) -> None:
    """Reserve this appliance before anything is stored, so that a busy appliance leaves no empty run behind."""
    holder = own(near, run_id)
    try:
        if await patiently(near.name, lambda last: ask(near, holder, last), retries, emit):
            emit(ev.Notice(phrases.is_free(near.name)))
    except Refused as error:  # with its own name as the holder where an earlier loan is still being put back
        why = f"{error.holder} is measuring with it" if error.holder not in ("", holder) else str(error)
        raise EnvironmentFault("this appliance is busy", why, "wait for that run to end, or end it") from None
