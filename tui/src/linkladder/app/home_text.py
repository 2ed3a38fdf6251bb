"""Makes Home's lines about this machine, its health, its peers and the last run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from textwrap import fill, shorten, wrap
from typing import TYPE_CHECKING

from rich.text import Text

from linkladder import units
from linkladder.app.backend import HomeView, PeerView
from linkladder.app.widgets.verdict import verdict
from linkladder.findings import Finding, Health

if TYPE_CHECKING:
    from linkladder.model import HostFacts, Nic
    from linkladder.settings.overview import OnLoan

WIDTH = 76  # characters of a line of words
SHORTEST = 8  # characters of a trouble's title below which none of it is shown
PEERS = 4  # most lines for peers
LADDER = (  # as in linkladder.model, which is not imported here, so that the first frame comes sooner
    "localhost",
    "same-host",
    "same-vlan",
    "dc-link",
)


def nic_line(nic: Nic) -> str:
    """An interface, such as 'vmx0  10.7.0.1  10.0 Gb/s, MTU 9000  vmxnet3, 4 queues  tso lro'."""
    from linkladder import phrases  # imported late, so that the first frame comes sooner

    speed = phrases.card_speed(nic)
    queues = f", {units.plural(nic.rx_queues, 'queue')}" if nic.rx_queues else ""
    flags = " ".join(name for name, on in sorted(nic.offloads.items()) if on and name in ("tso", "lro", "gso", "gro"))
    state = phrases.card_state(nic)
    address = nic.addresses[0] if nic.addresses else "no address"
    words = [word for word in (state if state != "up" else "", speed, f"MTU {nic.mtu}") if word]
    return f"{nic.name:<8} {address:<15} {', '.join(words)}  {nic.driver}{queues}  {flags}".rstrip()


def host_lines(host: HostFacts, most: int = 4) -> list[str]:
    """A line about the machine, then its interfaces, those that are up and have an address first; if `most` is below
    0, the first line counts them.
    """
    where = host.virtual or "bare metal"
    system = host.release if host.os in host.release else f"{host.os} {host.release}"
    cores = units.plural(host.cores, "core")
    first = f"{host.name}  {system}, {cores}, {units.size(host.memory)} memory, {where}"
    nics = sorted((n for n in host.nics if not n.loopback), key=lambda n: (not n.up, not n.addresses, n.name))
    if most < 0:
        return [f"{first}, {units.plural(len(nics), 'interface')}"]
    lines = [first, *(nic_line(n) for n in nics[:most])]
    if len(nics) > most:
        more = len(nics) - most
        said = f"and {units.plural(more, 'more interface')}" if most else units.plural(more, "interface")
        lines.append(f"{said}  (m: all of them)")
    if not nics:
        lines.append("no network interface was found")
    return lines


def time_of_day(at: float, now: float) -> str:
    """A moment as the clock of the System page shows it, with its day if that is not today."""
    day = "" if time.localtime(at)[:3] == time.localtime(now)[:3] else "%d %b "
    return time.strftime(f"{day}%H:%M", time.localtime(at))


def health_line(
    troubles: tuple[Finding, ...],
    found: tuple[Finding, ...] | None,
    measuring: bool,
    width: int = 78,
    as_of: str = "",
) -> Text:
    """What is wrong, in one line of that width; `found` is None while the doctor has no result yet. `as_of`: when it
    looked, if what it found may be another by now.
    """
    all_found = (*troubles, *(found or ()))
    bad = [f for f in all_found if f.state is Health.BAD]
    wrong = bad + [f for f in all_found if f.state is Health.WARN]
    out = Text("Health   ", no_wrap=True, overflow="ellipsis")
    if wrong:
        one = len(wrong) == 1
        word = f"need{'s' if one else ''} you" if bad else f"want{'s' if one else ''} a look"
        of = (
            f"{len(wrong)} of {len(all_found)} checks"
            if found is not None
            else f"{len(wrong)} thing{'' if one else 's'}"
        )
        out.append(f"{of} {word}", "bold red" if bad else "yellow")
    as_of = f"as of {as_of}" if as_of and found is not None else ""
    tail = f"(d: details{'; ' if as_of else ''}{as_of})" if wrong else ""
    if found is None and measuring:
        tail = "(d: look now)" if wrong else "not looked at while a run goes on  (d: look now)"
    elif found is None:
        tail = "looking at this machine ..."
    if wrong:
        room = width - len(out.plain) - len(tail) - 4
        out.append(_titles([f.title for f in wrong], room))
        out.append("  ")
    if tail:
        out.append(tail)
    else:
        assert found is not None
        out.append("good", "green")
        out.append(": its only check is right" if len(found) == 1 else f": all {len(found)} checks are right")
        out.append(f" ({as_of})" if as_of else "")
    return out


def _titles(titles: Sequence[str], room: int) -> str:
    """As ': cores, storage': as many as there is room for; '' if not even the first is worth its room."""
    several = ((", ".join(titles[:count]), ", ..." * (count < len(titles))) for count in range(len(titles), 0, -1))
    said, more = next((one for one in several if len("".join(one)) <= room), (titles[0], ", ..." * (len(titles) > 1)))
    said = shorten(said, room - len(more), placeholder=" ...") if room - len(more) >= SHORTEST else ""
    return f": {said}{more}" if said else ""


def loan_line(loan: OnLoan) -> Text:
    """As 'On loan  mtu vmx1: 1500 -> 9000, put back in 12 s unless renewed'; red if nothing will restore it, yellow if
    a restart has ended it and nobody has seen that."""
    if loan.notice and not loan.changes and not loan.left_behind:
        return Text(f"(d: details)  {loan.notice}", "yellow", no_wrap=True, overflow="ellipsis")
    first, more = loan.changes[0] if loan.changes else loan.failed, len(loan.changes) - 1
    changes = f"{first}{f' and {more} more' if more > 0 else ''}"
    if loan.left_behind:
        return Text(f"Left changed  (d: details)  {changes}", "bold red", no_wrap=True, overflow="ellipsis")
    left = "" if loan.seconds_left is None else f", put back in {loan.seconds_left:.0f} s unless renewed"
    return Text(f"On loan  {changes}{left}", "yellow", no_wrap=True, overflow="ellipsis")


def peer_lines(peers: Sequence[PeerView], measuring: bool, lost: str = "", most: int = PEERS) -> list[Text]:
    """A line for each peer; if there are too many, the last counts the rest. `lost`: why none is known any more."""
    if not peers and lost:
        return [Text(line) for line in wrap(f"none: {lost}  (d: details)", WIDTH)]
    if not peers:
        return [Text("none yet: pair with the appliance at the other end")]
    if len(peers) > most == 1:
        from linkladder.phrases.control_channel import OUT_OF_REACH  # imported late, for the same reason

        silent = len([p for p in peers if p.reachable is False])
        out = Text(f"{len(peers)} appliances", no_wrap=True, overflow="ellipsis")
        out.append(f", {silent} {OUT_OF_REACH}" if silent else "", "bold red")
        return [out.append("  (p, then F4: all of them)")]
    shown = peers if len(peers) <= most else peers[: most - 1]
    lines = [peer_line(p, measuring) for p in shown]
    if more := len(peers) - len(shown):
        lines.append(Text(f"and {more} more  (p, then F4: all of them)"))
    return lines


def peer_line(peer: PeerView, measuring: bool = False) -> Text:
    """A peer, such as 'beta  10.7.0.2  reachable, round trip 0.21 ms'."""
    from linkladder.phrases.control_channel import OUT_OF_REACH  # imported late, so that the first frame comes sooner

    address = peer.addresses[0] if peer.addresses else "no address"
    out = Text(f"{peer.name:<12} {address:<16} ", no_wrap=True, overflow="ellipsis")
    if peer.reachable is None:
        out.append("not asked while a run goes on" if measuring else "asking ...", "dim")
    elif peer.reachable:
        out.append("reachable", "green")
        if peer.rtt_ms is not None:
            out.append(f", round trip {units.milliseconds(peer.rtt_ms)}")
    elif peer.rtt_ms is not None:
        out.append(peer.reason, "bold red")
    else:
        out.append(OUT_OF_REACH, "bold red")
        out.append(f": {peer.reason}" if peer.reason else "")
    return out


def last_lines(view: HomeView) -> Text:
    """The last complete run with its verdicts, below a newer one that stopped early, measured nothing, or waits for a
    restart.
    """
    last, newer = view.last, view.resumable or view.empty
    out = Text(no_wrap=True)
    if view.restart:
        out.append(fill(view.restart, WIDTH), "yellow")
    if newer:
        out.append("\n" if view.restart else "")
        how = f"{units.plural(newer.trials, 'trial')}, stopped early" if newer.trials else "nothing was measured"
        out.append(f"{newer.id}  plan {newer.plan}, {how}")
    if last is None:
        none = f"none: {view.lost_runs}  (d: details)" if view.lost_runs else "none yet"
        none = f"cannot be read: {view.unreadable}" if view.unreadable else fill(none, WIDTH)
        return out if newer or view.restart else Text(none)
    out.append("\n" if newer or view.restart else "")
    out.append(f"{last.id}  plan {last.plan}, {units.plural(last.trials, 'trial')}, {last.failed} failed")
    if not last.verdicts and last.verdict:  # a run from before verdicts of rungs were stored
        out.append("  ")
        out.append_text(verdict(last.verdict.word, last.verdict.provisional))
    for rung in [name for name in reversed(LADDER) if name in last.best_bps or name in last.verdicts]:
        best = units.rate(last.best_bps[rung]) if rung in last.best_bps else ""
        out.append(f"\n  {rung:<10} {best:>10}  ")
        if kept := last.verdicts.get(rung):
            out.append_text(verdict(kept.word, kept.provisional))
    return out
