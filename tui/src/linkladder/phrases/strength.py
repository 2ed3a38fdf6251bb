"""Says in words with which setting the generator is strongest."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import units
from linkladder.model import Experiment, Generator, Strength
from linkladder.phrases.arms import streams, window

LOOKING = "Looking for the setting in which the generator is strongest, for {limit} s at most ..."
OVER_SEVERAL_PATHS = "over several paths no stronger setting of the generator is looked for than the plan has"


def looking(limit: float) -> str:
    return LOOKING.format(limit=f"{limit:g}")


def not_yet_looked(limit: float) -> str:
    """Shown for a plan if the strongest setting of its machines is not known, or they cannot be asked now."""
    return (
        f"its generator's strongest setting is found first, by short looks of {limit:g} s at most, unless it is known"
    )


def search_broke(attempts: int) -> str:
    """`attempts`: in how many a far end was lost."""
    lost = f"the far end was lost in {units.plural(attempts, 'attempt')} to find it"
    return f"the generator's strongest setting is not known, as {lost}; the plan's own is used, which may be too weak"


def known_strength(found: Strength, on: str = "") -> str:
    """As 'the generator is strongest by iperf2, 1 stream, writes of 1M bytes: 41 Gb/s (9 settings looked at, ...)'.

    `on`: the rung on which that was found, if another than the one of which it is said.
    """
    if not found.looked:
        return "no setting of the generator carried anything, so the plan's own is used"
    best = found.looked[0]
    day = f", found {found.when[:10]}" if found.when else ""
    where = f" on {on}" if on else ""
    many = f"{units.plural(len(found.looked), 'setting')} looked at{day}"
    return f"the generator is strongest {generator(best.generator)}: {units.rate(best.bps)}{where} ({many})"


def found_strength(found: Strength, on: str = "", failed: Sequence[str] = ()) -> str:
    """The same after a search, with how long it took and the rate of the default setting; `failed`: why looks did."""
    said = known_strength(Strength(found.looked), on)
    default = next((one for one in found.looked if one.generator.of(_PLAIN) == _plain(one.generator.streams)), None)
    if default and default is not found.looked[0]:
        said += f"; {generator(default.generator)} {units.rate(default.bps)}"
        if default.bps > found.looked[0].bps:
            said += ", which may be chance after so few looks"
    if failed:
        said += f"; {units.plural(len(failed), 'look')} failed, the first: {failed[0]}"
    return f"{said}; it took {found.seconds:.0f} s"


_PLAIN = Experiment("")


def _plain(count: int) -> Experiment:
    return Generator(streams=count).of(_PLAIN)


def generator(one: Generator) -> str:
    """A generator's setting, such as 'by iperf2, 2 streams, writes of 1M bytes'."""
    parts = [f"by {one.tool}", streams(one.streams)]
    parts += [f"{window(one.window)} window"] if one.window else []
    parts += [f"writes of {window(one.write_size)} bytes"] if one.write_size else []
    return ", ".join([*parts, *(["zero copy"] if one.zero_copy else [])])
