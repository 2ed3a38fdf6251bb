"""Runs an end's tools: each in its own process group, with its output collected, and none left running afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Sequence

from linkladder import host
from linkladder.agent import reaper
from linkladder.host.programs import search_path
from linkladder.model import Experiment
from linkladder.reservation import Reservation
from linkladder.tools import OUTPUT_LIMIT
from linkladder.wire import Exited, Finished, Line, Refused

HELD_START = os.path.join(os.path.dirname(__file__), "held_start.py")  # run as a separate program, never imported
GRACE = 1.0  # seconds between asking a process to end and killing it
LOOKS = 10  # waits that a grace is split into, so that a pause of this machine uses up only one
AT_GATE = 'read -r go; exec "$0" "$@"'  # waits in a shell rather than in Python, since there may be fifty processes
OPENS = 30.0  # seconds after which a gate opens even if some clients have not arrived
MOST = 192  # tools that may run at once; no layout needs more
PRINTED = 3 * OUTPUT_LIMIT  # bytes of output that are kept for all tools together
BUFFERS = 1 << 30  # bytes that tools may be asked to write at once, as each stream has a buffer of that size
BLOCK = 131_072  # bytes that a tool writes at once if a plan names no size
INSISTENCE = (0.01, 0.1)  # seconds to wait after the first and the second SIGINT


class Reaper:
    """Holds the pipe to the process that runs `reaper.main` and keeps what `inherited` names until it ends."""

    def __init__(self, inherited: Callable[[], tuple[int, ...]]) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._inherited = inherited

    @property
    def started(self) -> bool:
        return self._process is not None

    def tell(self, line: str) -> None:
        if self._process is None:
            argv = [sys.executable, "-I", "-S", reaper.__file__]  # it imports nothing of linkladder, so it starts fast
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, start_new_session=True, pass_fds=self._inherited()
            )
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()

    def close(self) -> None:
        if self._process and self._process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.wait()
            self._process = None


class Gate:
    """Makes the processes of a trial's clients wait until all exist, so that their tools start together.

    Otherwise the tools that already run would compete for CPU time with the start of the others.
    """

    def __init__(self, of: tuple[int, str], awaited: int) -> None:
        self.of = of  # the trial's port and key
        self._awaited = awaited
        self.reading, self._writing = os.pipe()
        self.is_open = False
        asyncio.get_running_loop().call_later(OPENS, self.open)

    def arrive(self) -> None:
        """Count one more client as there, or as failed to start; the last one opens the gate."""
        self._awaited -= 1
        if self._awaited <= 0:
            self.open()

    def open(self) -> None:
        if not self.is_open:
            self.is_open = True
            os.close(self._writing)  # end of file on the pipe lets the waiting shells go on
            os.close(self.reading)


class Room:
    """Bytes that are there to be taken, and come back."""

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, wanted: int) -> int:
        """How many of the wanted bytes may be kept."""
        taken = min(wanted, self._left)
        self._left -= taken
        return taken

    def give(self, back: int) -> None:
        self._left += back


class Child:
    """One running tool."""

    def __init__(
        self, number: int, process: asyncio.subprocess.Process, say: Callable[[Line | Exited], None], room: Room
    ) -> None:
        self.number = number
        self.process = process
        self.say = say
        self.buffers = 0  # bytes that it may have taken for its buffers
        self.loads = False  # whether it puts a load on the path
        self.held = 0  # bytes of the room that it has taken
        self._room = room
        self._finished: Finished | None = None
        self.output: list[bytes] = []
        self.errors: list[bytes] = []
        self.hung = False
        self.cut = 0
        self.enough_by: signal.Signals | None = None  # the signal that makes the tool finish as if its time were over
        self.started = time.monotonic()
        self.done = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        assert self.process.stdout and self.process.stderr
        await asyncio.gather(
            self._read(self.process.stdout, self.output, True), self._read(self.process.stderr, self.errors, False)
        )
        await self.process.wait()
        self.say(Exited(self.number))

    async def _read(self, stream: asyncio.StreamReader, kept: list[bytes], live: bool) -> None:
        """Read in blocks rather than lines: fewer wake-ups keep our own CPU use out of the measurement."""
        size, rest = 0, ""
        while data := await stream.read(65536):
            taken = self._room.take(min(len(data), max(0, OUTPUT_LIMIT - size)))
            size += len(data)
            self.held += taken
            self.cut += len(data) - taken
            if taken:
                kept.append(data[:taken])
            if live:
                *lines, rest = (rest + data.decode("utf-8", "replace"))[-65536:].split("\n")
                if lines:
                    self.say(Line(self.number, tuple(lines), time.monotonic()))

    async def finished(self) -> Finished:
        await self.done
        return self._as_finished(self.process.returncode, self.hung)

    def _as_finished(self, code: int | None, hung: bool) -> Finished:
        """The same to whoever asks; the pieces are let go, so that a long output is not kept twice."""
        if self._finished is None:
            self._finished = Finished(self.number, code, _text(self.output), _text(self.errors), hung, self.cut)
        return self._finished

    def enough(self) -> None:
        """Tell the tool that its time is over, so that it prints its results and ends."""
        if self.enough_by is not None and not self.done.done():
            self._signal(self.enough_by)

    async def stop(self, at_once: bool = False) -> Finished:
        """Ask it to end, and kill it if it does not."""
        if not self.done.done():
            if self.process.stdin:
                self.process.stdin.close()
            if at_once:  # programs take a second SIGINT as "now"; after one alone iperf needs 0.7 s
                for pause in INSISTENCE:
                    self._signal(signal.SIGINT)
                    await asyncio.wait([self.done], timeout=pause)
            if not self.done.done():
                self._signal(signal.SIGTERM)
            if not await self._ends():
                self.hung = True
                self._signal(signal.SIGKILL)
                if not await self._ends():  # a grandchild outside the group holds the pipe open; stop reading it
                    self.done.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await self.done
                    return self._as_finished(None, True)
        self._signal(signal.SIGKILL)  # children it forked and left in its group
        return await self.finished()

    async def _ends(self) -> bool:
        """Whether it ends within the grace. Short waits are used so that a pause of this process does not use up the
        grace.
        """
        for _ in range(LOOKS):
            if (await asyncio.wait([self.done], timeout=GRACE / LOOKS))[0]:
                return True
        return False

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


def _text(pieces: list[bytes]) -> str:
    whole = b"".join(pieces)
    pieces.clear()
    return whole.decode("utf-8", "replace")


class Children:
    """All tools of this end. Should this process be killed, `inherited` stays open until all of them are ended."""

    def __init__(
        self, say: Callable[[Line | Exited], None], inherited: Callable[[], tuple[int, ...]] = lambda: ()
    ) -> None:
        self._say = say
        self._running: dict[int, Child] = {}
        self._next = 1
        self._reaper = Reaper(inherited)
        self._room = Room(PRINTED)

    def check(self, exp: Experiment) -> None:
        """Refuse one more tool, for this experiment, if those that run are too many or may take too much memory."""
        if len(self) >= MOST:
            raise Refused(f"{MOST} tools run here already")
        if sum(child.buffers for child in self._running.values()) + buffers(exp) > BUFFERS:
            raise Refused(f"the tools here would have more than {BUFFERS >> 20} MB of buffers: write in smaller pieces")

    async def start(
        self, argv: Sequence[str], privileged: bool = False, at: float = 0.0, gate: Gate | None = None, most: int = 0
    ) -> Child:
        """Start a tool, at the moment `at` if given, or when the gate opens; with `most` bytes of memory for each
        of its processes, if given. Raises FileNotFoundError or PermissionError if it cannot be run.

        A privileged tool runs as root, where we may not signal it; it ends when its standard input is closed. It has
        the memory that it wants, as root's door is not what a peer can say anything to.
        """
        if gate:
            return await self.start_at(gate, argv, most)
        reading, writing = os.pipe() if at else (-1, -1)
        try:
            if at:  # the process starts early and turns into the tool at that moment
                argv = [sys.executable, "-I", "-S", HELD_START, repr(at), str(writing), *argv]
            stdin = subprocess.PIPE if privileged else subprocess.DEVNULL
            child = await self._spawn(argv, stdin, (writing,) if at else (), 0 if privileged else most)
        except BaseException:
            if at:
                os.close(reading)
            raise
        finally:
            if at:
                os.close(writing)
        if at:
            child.started = await _moment(reading) or child.started
        return child

    async def start_at(self, gate: Gate, argv: Sequence[str], most: int = 0) -> Child:
        """Start a process that waits at the gate and turns into the tool when the gate opens, normally with the last
        arrival.
        """
        child = await self._spawn(["/bin/sh", "-c", AT_GATE, *argv], gate.reading, most=most)
        gate.arrive()
        return child

    async def _spawn(self, argv: Sequence[str], stdin: int, inherited: tuple[int, ...] = (), most: int = 0) -> Child:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            cwd="/",
            start_new_session=True,
            preexec_fn=host.bounded(most) if most else host.die_with_parent,
            pass_fds=inherited,
            limit=1 << 20,
        )
        self._reaper.tell(f"+{process.pid}")
        child = Child(self._next, process, self._say, self._room)
        self._running[self._next] = child
        self._next += 1
        return child

    def __getitem__(self, number: int) -> Child:
        return self._running[number]

    def __len__(self) -> int:
        return len(self._running)

    def __contains__(self, number: int) -> bool:
        return number in self._running

    async def stop(self, number: int, at_once: bool = False) -> Finished:
        return await self.end(self._running[number], at_once)

    async def end(self, child: Child, at_once: bool = False) -> Finished:
        finished = await child.stop(at_once)
        self._forget(child)
        weakref.finalize(finished, self._room.give, child.held)  # what waits to be sent takes room still
        child.held = 0
        return finished

    async def stop_all(self) -> None:
        await asyncio.gather(*map(self.end, self._running.values()))

    def at_end(self, argv: Sequence[str]) -> None:
        """Have a command run should this process be killed, in place of any earlier one; none if it is empty."""
        if argv or self._reaper.started:
            self._reaper.tell(f"!{json.dumps(list(argv))}")

    async def close(self) -> None:
        await self.stop_all()
        self._reaper.close()

    def _forget(self, child: Child) -> None:
        child._signal(signal.SIGKILL)
        self._running.pop(child.number, None)
        self._reaper.tell(f"-{child.process.pid}")


def buffers(exp: Experiment) -> int:
    """Bytes of the buffers that one process of this experiment may have."""
    return max(exp.streams, exp.sessions) * max(exp.write_size or BLOCK, exp.request, exp.response)


async def _moment(reading: int) -> float | None:
    """The moment at which a held process turned into the tool; None if it was ended before that."""
    reader, pipe = asyncio.StreamReader(), os.fdopen(reading, "rb", buffering=0)
    loop = asyncio.get_running_loop()
    made, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        words = await reader.read(64)
        return float(words) if words else None
    finally:
        made.close()


def _environment() -> dict[str, str]:
    return {"PATH": search_path(), "LC_ALL": "C", "TZ": "UTC"}


class Turn:
    """One run's hold of this end: what it asks for is carried out while that lasts, and nothing of it outlasts it."""

    def __init__(self) -> None:
        self.lock = Reservation()
        self.trial = 0  # the number of the trial that tools are started for; each order to cancel ends one
        self._ending = False
        self._under_way = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    @contextlib.contextmanager
    def carrying_out(self) -> Iterator[None]:
        """Count a request that needs the reservation; refused without one, and once it is being given back."""
        if not self.lock.held or self._ending:
            raise Refused("reserve this appliance first")
        self._under_way += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._quiet.set()

    def go_on(self, trial: int | None = None) -> None:
        """Refuse what a request would still begin that was taken for a trial which is over, as the run may be."""
        if self._ending:
            raise Refused("the reservation of this appliance is over")
        if trial not in (None, self.trial):
            raise Refused("the trial was cancelled")

    @contextlib.contextmanager
    def ending(self) -> Iterator[None]:
        """Take no more requests meanwhile; the reservation is free afterwards, unless what had to be ended was not."""
        self._ending = True
        try:
            yield
            self.lock.release()
        finally:
            self._ending = False

    async def quiet(self) -> None:
        """Wait until every request that was taken before has been carried out or refused."""
        await self._quiet.wait()
