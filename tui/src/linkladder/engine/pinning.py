"""Shows on which cores each end will run a trial's tools, as the command that it puts before theirs."""

from __future__ import annotations

from collections.abc import Mapping

from linkladder import host
from linkladder.model import Affinity, End, Experiment, HostFacts, Path
from linkladder.phrases.arms import PLACES
from linkladder.tools import ToolVersions


def command_prefix(
    exp: Experiment, end: End, path: Path, known: ToolVersions, facts: Mapping[str, HostFacts]
) -> tuple[str, ...]:
    """What stands before a command at this end; of an end that is not in `facts` (by peer), what it is to be in words.

    An end that counts only some of its cores takes the first of those.
    """
    name = path.origin if end is End.NEAR else path.peer
    here = not name or path.local == path.remote
    freebsd = known.os == "FreeBSD"
    try:
        if exp.affinity is Affinity.FREE:
            if here:
                return host.confined(exp.cores, exp.on_cores)
            cores = exp.on_cores or tuple(range(exp.cores or 0))
            return host.on_cores(cores, freebsd) if cores else ()
        there = host.facts() if here else facts.get(name)
        if there is None:
            return (f"({PLACES[exp.affinity]})",)
        nic = there.card(*path.side(end))
        queues = nic.queue_cores if nic else ()
        if here:
            return host.pinned(exp.affinity, queues, there.threads)
        mine = tuple(core for threads in there.threads for core in threads) or tuple(range(there.cores))
        return host.on_cores(host.place(exp.affinity, mine, queues, there.threads), freebsd)
    except ValueError as error:
        return (f"({error})",)
