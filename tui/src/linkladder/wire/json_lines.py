"""JSON lines: requests `{"id", "verb", "args"}`; back `{"id", "ok"}`, `{"id", "error"}` and `{"event", "data"}`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from linkladder.codec import CodecError, from_json, text
from linkladder.wire.replies import EVENTS, Event
from linkladder.wire.requests import Request, request_of

REQUEST_LIMIT = 64 * 1024  # bytes of a request's line
REPLY_LIMIT = 96 << 20  # bytes of a reply's line, which may hold a tool's whole output, escaped
LARGE = 4 << 20  # bytes of a line that are no text: as lists of nothing a whole line would take gigabytes of memory
QUOTES = 100_000  # in such a line, at most
EVENT_LIMIT = 512 * 1024  # bytes of an event's line, which holds a few lines of a tool or a second of counters
IDLE_LIMIT = 30.0  # seconds without a line from the near end after which the agent ends
KEEPALIVE = 8.0  # seconds without a question after which the near end sends one to keep the channel open


class WireError(ValueError):
    """A line that has not the form of this protocol."""


@dataclass(frozen=True)
class Question:
    """A request as it was received; its number may be known even if the rest is refused."""

    number: int | None
    verb: Any
    arguments: Any

    def request(self) -> Request[Any]:
        """The checked request; raises Refused with the name of what is wrong."""
        return request_of(self.verb, self.arguments)


@dataclass(frozen=True)
class Answer:
    """A reply or a refusal to the question with this number."""

    number: int
    value: Any = None
    refused: str | None = None
    holder: str = ""  # who is measuring with the end that refused

    def reply_to(self, request: Request[Any]) -> Any:
        """The reply in the type that the request names; raises CodecError if it has another form."""
        return None if request.reply is type(None) else from_json(request.reply, self.value, request.verb)


def question(number: int, request: Request[Any]) -> bytes:
    return _line({"id": number, "verb": request.verb, "args": request})


def answer(number: int | None, reply: Any) -> bytes:
    return _line({"id": number, "ok": reply})


def refusal(number: int | None, why: str, holder: str = "") -> bytes:
    return _line({"id": number, "error": why, **({"holder": holder} if holder else {})})


def event(value: Event) -> bytes:
    name = next(n for n, kind in EVENTS.items() if isinstance(value, kind))
    return _line({"event": name, "data": value})


def read_question(line: bytes) -> Question:
    message = _object(line)
    return Question(_number(message), message.get("verb"), message.get("args"))


def read_answer(line: bytes) -> Answer | Event:
    message = _object(line)
    if "event" in message:
        if len(line) > EVENT_LIMIT:
            raise WireError("an event is too long")
        kind = EVENTS.get(str(message["event"]))
        if kind is None:
            raise WireError(f"unknown event {str(message['event'])[:40]!r}")
        try:
            return from_json(kind, message.get("data"))
        except CodecError as error:
            raise WireError(str(error)) from None
    refused = str(message["error"]) if "error" in message else None
    return Answer(_number(message) or 0, message.get("ok"), refused, str(message.get("holder", "")))


async def read_lines(reader: asyncio.StreamReader, limit: int = REQUEST_LIMIT) -> AsyncIterator[bytes | None]:
    """Yield lines of at most `limit` bytes; for a longer line None is yielded and its content is skipped."""
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


def _line(message: dict[str, Any]) -> bytes:
    return text(message).encode() + b"\n"


def _object(line: bytes) -> dict[str, Any]:
    """The JSON object in a line; raises WireError for anything else."""
    if len(line) > LARGE and not _is_text(line):
        raise WireError("only a tool's output makes a line so long")
    try:
        message = _DECODER.decode(line.decode())
    except (ValueError, RecursionError) as error:
        raise WireError(f"not a JSON line: {str(error)[:100]}") from None
    if not isinstance(message, dict):
        raise WireError("expected an object")
    return message if b"\\ud" not in line.lower() else _writable(message)


def _writable(message: dict[str, Any]) -> dict[str, Any]:
    """The same with a question mark for each half of a character, which JSON can name and no file or screen takes."""
    whole: dict[str, Any] = json.loads(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))
    return whole


def _is_text(line: bytes) -> bool:
    """Whether nearly all of a JSON line stands between quotes."""
    bare = line.replace(b"\\\\", b"").replace(b'\\"', b"")
    return bare.count(b'"') <= QUOTES and sum(map(len, bare.split(b'"')[::2])) <= LARGE


def _number(message: dict[str, Any]) -> int | None:
    given = message.get("id")
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)  # once, as lines come each second


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
