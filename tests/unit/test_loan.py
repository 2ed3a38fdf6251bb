"""What a run has on loan from several ends, held against ends that take their time."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from linkladder import wire
from linkladder.engine import leases
from linkladder.engine.route import Route, Side
from linkladder.model import End, Setting, SettingKind
from linkladder.peer import Refused


class Slow:
    """Ends of which the near one has its settings only after the far one has been renewed twice."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.renewed = asyncio.Event()

    def end(self, name: str) -> Any:
        async def ask(request: object) -> object:
            word = f"{name} {type(request).__name__}"
            if isinstance(request, wire.TakeLease) and name == "near":
                await self.renewed.wait()
            if isinstance(request, wire.RenewLease):
                if f"{name} TakeLease" not in self.heard:
                    raise Refused("nothing is on loan from this end")
                if self.heard.count(word) == 1:
                    self.renewed.set()
            self.heard.append(word)
            return wire.LeaseReply(())

        return SimpleNamespace(ask=ask)


async def test_an_end_is_renewed_while_the_next_one_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "RENEWAL", 0.01)
    slow = Slow()
    near = Side(0, slow.end("near"), "near", "127.0.0.1", "lo")
    far = Side(1, slow.end("far"), "far", "127.0.0.2", "lo")
    route = Route(cast(Any, None), near, far)
    loan = leases.Loan((Setting(SettingKind.MTU, "9000", (End.NEAR, End.FAR)),), [route], ["127.0.0.1"])
    async with asyncio.timeout(30):
        async with loan:
            loan.check()
    first = [word for word in slow.heard if word != "near RenewLease"]
    assert first[:4] == ["far TakeLease", "far RenewLease", "far RenewLease", "near TakeLease"]
    assert [word for word in slow.heard if "Return" in word] == ["near ReturnLease", "far ReturnLease"]
