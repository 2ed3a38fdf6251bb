"""Puts results of paced UDP into words: what arrived, who lost the rest, and which end was at its limit."""

from __future__ import annotations

from linkladder import units
from linkladder.phrases.arms import streams


def arrived(offered: float, median: float, loss: float, worst_of: int = 1, paths: int = 1) -> str:
    """The sentence with which a verdict on UDP begins; `loss`: the worst of `worst_of` trials and `paths` paths."""
    of = f"in the worst of {worst_of} trials " if worst_of > 1 else ""
    of += f"on the worst of {paths} paths " if paths > 1 else ""
    arrived = f"Of {units.rate(offered)} of paced UDP {units.rate(median)} arrived"
    return f"{arrived}, {of}{units.share(loss, 2)} of it was lost."


def more_than_contract(said: str) -> str:
    return f"{said} More was offered than the contract carries, so loss is expected."


def loses(loss: float, offered: float, blame: str) -> str:
    """`blame`: who lost it, '' if that is not known."""
    though = f"; {blame}" if blame else ""
    return f"UDP loses {units.share(loss, 3)} of {units.rate(offered)}, at or below the contract{though}."


def beyond_contract(said: str, allowed: float, blame: str) -> str:
    """`allowed`: loss in percent; `blame`: who lost it, '' if that is not known."""
    return f"{said} The contract allows {allowed:g} % of it to be lost{f'; {blame}' if blame else ''}."


def unknown_loser(said: str, blame: str) -> str:
    return f"{said} Who lost it cannot be told: {blame}."


def pace_not_kept(said: str) -> str:
    return f"{said} The sender did not keep the pace that was asked of it."


def card_dropped(packets: int) -> str:
    return f"the receiving card dropped {units.plural(packets, 'packet')}"


def sent_in_bursts(end: str, share: float) -> str:
    return f"the {end} end did not get {units.share(share)} of its CPU time and sent that much late, in bursts"


def path_lost(share: float) -> str:
    return f"{units.share(share, 2)} of what the sending card put out never reached the receiving one"


def bytes_missing(share: float) -> str:
    return f"the receiving card took in as many packets as were sent, but {units.share(share, 2)} fewer bytes"


def card_did_not_send(packets: int) -> str:
    return f"the sending card dropped {units.plural(packets, 'packet')} before sending"


def sockets_full() -> str:
    return "the receiving end counts as many that found its socket full"


def nobody_dropped(share: float) -> str:
    return (
        "the receiving card took in as many packets as were sent, "
        f"but the end's sockets did not drop the {units.share(share, 2)} that are missing"
    )


def end_lost() -> str:
    return "the receiving card took in all that was sent, so the end lost them"


def stood_still(end: str, share: float) -> str:
    return f"the {end} end stood still for {units.share(share)} of the trial"


def far_behind(end: str, sent: float, asked: float, lossy: int, seconds: int) -> str:
    pace = f"the {end} end sent at {units.rate(sent)} instead of {units.rate(asked)}"
    return f"{pace}, in bursts as far as it could, and {lossy} of {units.plural(seconds, 'second')} lost too much"


def lost_while_still(end: str) -> str:
    return f"it was lost in seconds in which the {end} end stood still"


def withheld(end: str, share: float) -> str:
    return f"{units.share(share)} of the {end} end's CPU time was withheld by a quota or the hypervisor"


def busy_core(end: str, busy: float) -> str:
    return f"a core of the {end} end was {busy:.0f} % busy"


def busy_cpu(end: str, busy: float) -> str:
    return f"the CPU of the {end} end was {busy:.0f} % busy"


def wandering(end: str, cores: float, threads: int) -> str:
    return f"the {end} end used {cores:.2f} cores with {streams(threads)}, spread over all"
