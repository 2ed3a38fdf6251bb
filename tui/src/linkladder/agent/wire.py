"""JSON lines: `{"id", "verb", "args"}` one way; `{"id", "ok"}`, `{"id", "error"}` and `{"event", "data"}` the other."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from linkladder.agent.requests import EVENTS, REQUEST_LIMIT
from linkladder.codec import to_json

REPLY_LIMIT = 96 << 20  # a collected tool output, escaped; the near end reads no longer line
IDLE_LIMIT = 30.0  # seconds without a word from the near end after which the agent gives up
KEEPALIVE = 5.0  # the near end's word, when it has nothing else to say


class WireError(ValueError):
    """A line that is none of ours."""


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def event(value: Any) -> dict[str, Any]:
    name = next(n for n, kind in EVENTS.items() if isinstance(value, kind))
    return {"event": name, "data": to_json(value)}


def decode(line: bytes) -> dict[str, Any]:
    """The object in a line; WireError for anything else, however it is broken."""
    try:
        message = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not a JSON line: {str(error)[:100]}") from None
    if not isinstance(message, dict):
        raise WireError("expected an object")
    return message


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


async def lines(reader: asyncio.StreamReader, limit: int = REQUEST_LIMIT) -> Any:
    """Lines of at most `limit` bytes; of a longer one None is yielded and the rest is passed over unread."""
    while True:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return
        except asyncio.LimitOverrunError as error:
            await _skip(reader, error.consumed)
            yield None
            continue
        yield line if len(line) <= limit else None


async def _skip(reader: asyncio.StreamReader, consumed: int) -> None:
    while True:
        await reader.readexactly(consumed)
        try:
            await reader.readuntil(b"\n")
            return
        except asyncio.LimitOverrunError as error:
            consumed = error.consumed
        except asyncio.IncompleteReadError:
            return
