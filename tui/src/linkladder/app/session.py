"""A run seen from a screen: its log tailed, its controls spoken to, and who holds them."""

from __future__ import annotations

import asyncio
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkladder import eventlog, events
from linkladder.errors import EnvironmentFault
from linkladder.model import RunState


@dataclass(frozen=True)
class Where:
    """What run.json says."""

    pid: int
    log: Path
    socket: str
    began: float


def where(folder: Path) -> Where | None:
    """The run that goes on or was the last, if any; an unreadable file is none."""
    found = _read(folder / "run.json")
    try:
        return Where(int(found["pid"]), Path(found["log"]), str(found["socket"]), float(found["began"]))
    except (KeyError, TypeError, ValueError):
        return None


def alive(pid: int) -> bool:
    """Whether the process is there and no zombie of ours."""
    try:
        done, _ = os.waitpid(pid, os.WNOHANG)
        if done == pid:
            return False
    except ChildProcessError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class LiveSession:
    """Watches; steers while `controller.json` names this process."""

    def __init__(self, folder: Path, found: Where, who: str) -> None:
        self._folder = folder
        self._where = found
        self._who = who
        self._tail = eventlog.Tail(found.log)
        self._over = False
        self.run_id = ""
        self.controlling = False
        self.holder = "another screen"
        self._claim_if_free()

    # --- watching

    async def poll(self) -> list[eventlog.Entry]:
        return await asyncio.to_thread(self._poll)

    def _poll(self) -> list[eventlog.Entry]:
        self._look_who()
        running = alive(self._where.pid)  # asked before reading, so that its last words are not missed
        entries = self._tail.poll()
        for _, event in entries:
            self.run_id = getattr(event, "run_id", "") or self.run_id
            self._over = self._over or isinstance(event, events.RunFinished)
        if not running and not self._over:
            self._over = True
            gone = "the measuring process is gone"
            reason = str(_read(self._folder / "run.json").get("ended") or gone)
            entries.append((self._now(), events.RunFinished(self.run_id, RunState.INCOMPLETE, 0, reason)))
        if self._over:
            self._tail.close()
        return entries

    async def ended(self) -> bool:
        """Whether the run has said its last word."""
        await self.poll()
        return self._over

    @property
    def log(self) -> str:
        return str(self._where.log)

    async def now(self) -> float:
        return self._now()

    def _now(self) -> float:
        # The monotonic clock is one for all processes of a boot.
        return max(0.0, time.monotonic() - self._where.began)

    # --- steering

    async def control(self, verb: str, text: str = "") -> None:
        found = await asyncio.to_thread(where, self._folder)
        address = found.socket if found and found.pid == self._where.pid else self._where.socket
        try:
            async with asyncio.timeout(5):
                reader, writer = await asyncio.open_unix_connection(address)
                writer.write(json.dumps({"do": verb, "text": text}).encode() + b"\n")
                answer = json.loads(await reader.readline())
                writer.close()
        except (OSError, TimeoutError, ValueError) as error:
            raise EnvironmentFault(
                "the measuring process does not answer", str(error), "what it measured is kept"
            ) from error
        if not answer.get("ok"):
            raise EnvironmentFault(f"the measuring process refused {verb}")

    async def take_over(self) -> None:
        await asyncio.to_thread(self._claim)

    def _claim(self) -> None:
        draft = self._folder / f"controller.{os.getpid()}"
        draft.write_text(json.dumps({"pid": os.getpid(), "who": self._who}), encoding="utf-8")
        draft.replace(self._folder / "controller.json")
        self.controlling, self.holder = True, "this screen"

    def _claim_if_free(self) -> None:
        self._look_who()
        if not self.controlling and not self._held():
            self._claim()

    def _held(self) -> bool:
        pid = _read(self._folder / "controller.json").get("pid")
        return isinstance(pid, int) and pid > 0 and alive(pid)

    def _look_who(self) -> None:
        found = _read(self._folder / "controller.json")
        self.controlling = found.get("pid") == os.getpid()
        self.holder = "this screen" if self.controlling else str(found.get("who") or "another screen")


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
