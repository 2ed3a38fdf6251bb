"""Keeps the settings that won a staircase on this appliance for good, after trying them on loan.

A person must confirm them in time; if a change cuts the person off, they are restored by themselves. The far end is
another operator's machine, so only the commands to type there are printed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from linkladder import host, judge, phrases, privilege, wire
from linkladder.errors import EnvironmentFault, UsageError
from linkladder.model import Document, End, Path, Setting, SettingKind
from linkladder.model.settings import by_end, together
from linkladder.peer import Refused, near_end
from linkladder.peer.connector import in_order
from linkladder.priv.appliance import FRAMES, OFFLOADS
from linkladder.trust import peers

SECONDS = 60.0  # seconds in which the person must confirm
Confirm = Callable[[tuple[str, ...], float], Awaitable[bool]]  # takes what has changed, and the seconds to answer
SHORT = {"frames": "mtu"}  # a verb of the helper -> its name on the command line
NOT_THE_MACHINE = "nothing is to be made permanent on these machines: what was best is for the application"


class NothingWon(UsageError):
    """Nothing that was tried in a run was surely better, so there is nothing to keep."""


@dataclass(frozen=True)
class Winners:
    """The settings that won a run's staircases, and where to make them."""

    settings: tuple[Setting, ...]
    paths: tuple[Path, ...]  # the paths that start at this end
    elsewhere: tuple[str, ...]  # the commands to type at the other ends
    for_application: tuple[str, ...] = ()  # what it does itself: streams, buffers, how it writes

    @property
    def of_machines(self) -> bool:
        """Whether anything is to be made permanent on a machine."""
        return bool(self.settings or self.elsewhere)


def winners(document: Document) -> Winners:
    """What won in a run; raises UsageError if nothing did, or if a person has to choose: two of its settings contradict
    each other, one loses elsewhere what it wins here, or not all cards are to have the same.
    """
    kept: dict[tuple[SettingKind, End], Setting] = {}
    by_card: dict[tuple[End, str], set[Setting]] = {}
    paths: list[Path] = []
    rungs = [judge.proven(rung, document) for rung in document.rungs]
    arms = [(rung, arm) for rung in rungs for arm in judge.won(rung, document.run.plan)]
    for_application = phrases.for_application([arm for _, arm in arms])
    for rung, arm in arms:
        for key, setting in by_end(arm.settings).items():
            other = kept.setdefault(key, setting)
            if other.value != setting.value:
                raise _unclear(f"{setting.kind} {other.value} won one way and {setting.value} another")
            for path in () if setting.of_machine else rung.paths:
                card = path.local if End.NEAR in setting.ends else path.remote
                by_card.setdefault((key[1], card), set()).add(setting)
        paths += [judge.with_cards(path, document) for path in rung.paths if arm.settings]
    if not kept and not for_application:
        raise NothingWon(
            f"run {document.run.id} kept no setting", "nothing was surely better", "linkladder tune tries some"
        )
    losers = set(by_end(setting for rung in rungs for setting in judge.lost(rung, document.run.plan)).values())
    if lost := [one for one in kept.values() if one in losers]:
        raise _unclear(f"{lost[0].kind} {lost[0].value} won one way and lost another")
    for end in End:
        cards = {card: of for (at, card), of in by_card.items() if at is end}
        if uneven := [(card, one) for one in set().union(*cards.values()) for card in cards if one not in cards[card]]:
            raise _unclear(f"{uneven[0][1].kind} {uneven[0][1].value} won, and not over {uneven[0][0]}")
    settings = together(kept.values())
    here = [path for path in dict.fromkeys(paths) if not path.origin]
    at_peers = [
        f"at {path.peer}: {line}"
        for path in here
        for line in _lines(_verbs([s for s in settings if End.FAR in s.ends], [path.remote_interface or "IFACE"]))
    ]
    return Winners(
        tuple(s for s in settings if End.NEAR in s.ends),
        tuple(here),
        tuple(dict.fromkeys(at_peers)),
        for_application,
    )


def _unclear(what: str) -> UsageError:
    return UsageError("what is to be kept?", what, "choose one and set it by linkladder system")


async def keep(found: Winners, confirmed: Confirm) -> tuple[str, ...]:
    """Try settings on loan, ask the person, and keep them; returns the commands, or () if everything was restored."""
    privilege.need_appliance("keep")
    if away := [path.local for path in found.paths if not host.interface_of(path.local)]:
        raise UsageError(
            f"no card here has {away[0]}, over which this won",
            "this is another machine than the one that measured, or its addresses have changed",
            "linkladder keep there, or linkladder tune once more here",
        )
    adapters = [name for path in found.paths if (name := host.interface_of(path.local))]
    verbs = _verbs(found.settings, list(dict.fromkeys(adapters)))
    if not await tried(found, confirmed):
        return ()
    for verb, *words in verbs:
        done = await privilege.run(verb, *words)
        if not done.ok:
            raise EnvironmentFault(f"{verb} {' '.join(words)} was not kept", done.reason, "the others before it were")
    return _lines(verbs)


async def tried(found: Winners, confirmed: Confirm) -> bool:
    """Try settings on loan; returns whether the person confirmed. The undo acts when time is up or the process dies."""
    near = await near_end()
    try:
        addresses = tuple(dict.fromkeys(path.local for path in found.paths))
        request = wire.TakeLease(found.settings, addresses, SECONDS, _control(found.paths))
        try:
            await near.ask(wire.Reserve("linkladder keep"))
            lent = await near.ask(request)
            began = time.monotonic()
            await near.ask(wire.RenewLease())  # so the person has a whole minute, however long adapters took
        except Refused as error:
            raise EnvironmentFault("the settings cannot be tried here", str(error), "nothing was changed") from None
        yes = await confirmed(lent.changes, SECONDS - (time.monotonic() - began))  # the undo waits only so long
        try:
            await near.ask(wire.ReturnLease())
        except Refused as error:
            raise EnvironmentFault(
                "the settings were not put back", str(error), "linkladder doctor, or reboot"
            ) from None
        return yes
    finally:
        await near.close()


def _control(paths: Sequence[Path]) -> tuple[str, ...]:
    """The addresses by which people and peers connect; the adapters that lead there must not be changed."""
    login = os.environ.get("SSH_CONNECTION", "").split()[2:3]
    known = [tuple(in_order(one.addresses, one.name, paths)) for one in peers.load()]
    return tuple(dict.fromkeys([*login, *(addresses[0] for addresses in known if addresses)]))


def _verbs(settings: Sequence[Setting], adapters: Sequence[str]) -> list[list[str]]:
    """The helper's verbs and arguments; raises UsageError for a setting that it would refuse."""
    found: list[list[str]] = []
    for setting in settings:
        if setting.kind is SettingKind.CONGESTION:
            found.append(["congestion", setting.value])
        elif setting.kind is SettingKind.MTU:
            if setting.value not in FRAMES:
                raise UsageError(f"an MTU of {setting.value} is not kept", f"an appliance keeps {' or '.join(FRAMES)}")
            found += [["frames", adapter, setting.value] for adapter in adapters]
        elif setting.kind in OFFLOADS:
            found += [["offloads", adapter, f"{setting.kind}={setting.value}"] for adapter in adapters]
        else:
            raise UsageError(
                f"{setting.kind} is nothing that an appliance keeps", hint="linkladder system keeps the rest"
            )
    return found


def _lines(verbs: list[list[str]]) -> tuple[str, ...]:
    return tuple(f"linkladder system {' '.join([SHORT.get(verb, verb), *words])}" for verb, *words in verbs)
