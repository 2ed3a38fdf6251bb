"""Says in words what happened while a member of a bundle was taken down and came back."""

from __future__ import annotations

from linkladder import units
from linkladder.model import Experiment
from linkladder.phrases.arms import trial
from linkladder.phrases.ways import way
from linkladder.verdicts import MemberDown

OTHER_MOMENTS = "those are not the moments that were asked for"
TOO_SHORT = "too little of the time that was asked for was left then to see it stand still"
NO_COUNTERS = "its own counters do not tell of that time"


def counters_moved(count: float) -> str:
    return f"its own counters moved by {count:.0f} bytes meanwhile"


def card_down(seen: MemberDown) -> str:
    """The label of the shaded part of a chart in which the member was down."""
    return f"{seen.card} at the {seen.end} end down"


def never_went_down(p: Experiment, repeat: int) -> str:
    return f"{trial(p, repeat)}: no end says that a member went down, so its seconds count as any others."


def not_believed(seen: MemberDown, doubt: str) -> str:
    return (
        f"{_which(seen)} is said to have been down from {seen.since:.1f} s to {seen.until:.1f} s, but {doubt}: "
        "that is not believed, and these seconds count as any others."
    )


def sentences(seen: MemberDown, p: Experiment, returned: bool | None) -> tuple[str, ...]:
    """Sentences on what the bundle carried, how long nothing arrived, what was lost, and where its flows went."""
    load = units.plural(seen.flows or p.streams, "flow")
    carried = (
        f"{_which(seen)} was down from {seen.since:.1f} s to {seen.until:.1f} s, as planned ({load}, "
        f"{way(seen.direction)}): {_rate(seen.before_bps)} before, {_rate(seen.without_bps)} without it, "
        f"{_rate(seen.after_bps)} after it came back."
    )
    return tuple(filter(None, (carried, _silence(seen), _lost(seen), _shares(seen, returned))))


def _which(seen: MemberDown) -> str:
    return f"{seen.card} at the {seen.end} end"


def _rate(bps: float | None) -> str:
    return "an unknown rate" if bps is None else units.rate(bps)


def _silence(seen: MemberDown) -> str:
    if seen.silent_down_s is None or seen.resolution_s is None:
        return ""
    each = f"{seen.resolution_s:.1f} s"
    said = f"Nothing arrived for {_for(seen.silent_down_s, each)} when it went down"
    said += f" and for {_for(seen.silent_back_s, each)} when it came back" if seen.silent_back_s is not None else ""
    said += f" (looked at every {each})"
    if not seen.flows:
        return f"{said}."
    if not seen.stopped:
        return f"{said}; no flow stopped for a second."
    said += (
        f"; {seen.stopped} of {units.plural(seen.flows, 'flow')} stopped, for {seen.longest_stop_s:.0f} s at the most"
    )
    return f"{said} (to the second), {f'{seen.not_back} for good' if seen.not_back else 'and all went on'}."


def _for(seconds: float, each: str) -> str:
    return f"{seconds:.1f} s" if seconds >= 0.05 else f"less than {each}"


def _lost(seen: MemberDown) -> str:
    if seen.lost is not None:
        return f"From then on {units.plural_does(seen.lost, 'datagram', 'was', 'were')} lost."
    if seen.again is None:
        return ""
    return f"{units.plural(seen.again, 'segment')} sent again from then on, {seen.again_before or 0} before."


def _shares(seen: MemberDown, returned: bool | None) -> str:
    if seen.share_before is None or seen.share_without is None or seen.share_after is None:
        return ""
    does = "sent" if seen.sends else "received"
    said = (
        f"Of what {seen.end} {does} it had {units.share(seen.share_before)} before, {units.share(seen.share_without)} "
        f"meanwhile, the other members all else, and {units.share(seen.share_after)} after it came back"
    )
    where = {True: ": flows came back to it", False: ": flows stayed on the others", None: ""}[returned]
    return f"{said}{where}."
