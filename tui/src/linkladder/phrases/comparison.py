"""Puts the comparison of two runs into words: how many settings differ and by how much, and what else differs."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import units
from linkladder.model import Contract, Path
from linkladder.phrases.judgements import short_list, single

PORT, RATE, MTU = "contract: port", "contract: rate", "contract: MTU"  # names of differences in the environment
MEANS = "Rates are the means of the repeats; a change is a share of the first run's."


def setting(rung: str, words: str, which: str) -> str:
    """`words`: a text of `arms_apart`, `which`: its direction or pair in words."""
    return f"{rung}, {words}, {which}"


def only_in(name: str, which: str, tried: bool) -> str:
    """`which`: 'first' or 'second'; `tried`: whether the other run has trials of it, which all failed."""
    return f"{name}: only in the {which} run{', as all trials of the other failed' if tried else ''}"


def nothing_in_common() -> str:
    return "The two runs have no setting in common, so nothing can be compared."


def differ(count: int, settings: int, most: str, causes: Sequence[str]) -> str:
    """`most`: the sentence of the setting that differs most."""
    said = f"{count} of {settings} settings differ beyond the noise; the most: {most}"
    return f"{said} Not the same either: {'; '.join(causes)}." if causes else said


def far_apart(count: int, settings: int, most: str, causes: Sequence[str]) -> str:
    """`most`: the sentence of the setting that differs most."""
    many = f"{count} of {settings} settings lie far apart, in too few repeats to be sure of the noise; the most: {most}"
    if not causes:
        return f"{many} Nothing is known to have changed that would explain it."
    return f"{many} Changed as well, and the likely cause{'s' if len(causes) > 1 else ''}: {'; '.join(causes)}."


def too_few_to_be_sure(name: str, before: float, after: float, percent: float, repeats: tuple[int, int]) -> str:
    """`repeats`: how many each of the two runs has."""
    side = "below" if percent < 0 else "above"
    first, second = repeats
    every = f"all {second} repeats lie far {side} all {first} of the first"
    return f"{_change(name, before, after, percent)}; {every}, and with more repeats it could be told for sure."


def single_repeats(repeats: Sequence[tuple[int, int]]) -> str:
    """`repeats`: how many each run has of each setting; of every setting at least one of them has a single one."""
    said = {single(*pair) for pair in repeats}
    which = said.pop() if len(said) == 1 else "one repeat of every setting in one of the runs"
    return f"{which[:1].upper()}{which[1:]}: whether the runs differ beyond the noise cannot be told."


def all_the_same(count: int, band: float) -> str:
    return f"All {count} settings are the same within {units.share(band)} of the first."


def no_difference(count: int, settings: int, same: int, band: float, seen_percent: float) -> str:
    """`count`: those whose noise is known; `seen_percent`: how large a difference would have been noticed in each of
    them, in percent of the rate.
    """
    alike = f"{same} the same within {units.share(band)} of the first"
    of = f"{count} settings" if count == settings else f"{count} of {settings} settings"
    return f"No difference beyond the noise in {of} ({alike}); {seen_percent:.1f} % of the rate would have been seen."


def noise_unknown_of(count: int, most: str) -> str:
    """`most`: the sentence of the setting that changed most among them."""
    others = "another" if count == 1 else f"{count} others"
    return f"Of {others} the noise is not known; the largest change: {most}"


def besides(said: str, moved: list[str], most: int) -> str:
    """Adds the first few sentences on other figures that differ."""
    return " ".join([said, "Besides:", *short_list(moved, most, "figures differ")])


def with_silent(said: str, silent: list[str], most: int) -> str:
    """Adds the first few texts of `carried_nothing`."""
    return " ".join([said, *short_list(silent, most, "settings had such trials")])


def noise_unknown(name: str, before: float, after: float, percent: float, repeats: tuple[int, int]) -> str:
    return f"{_change(name, before, after, percent)}, {single(*repeats)}: the noise is not known."


def same(name: str, before: float, after: float, percent: float, band: float) -> str:
    return f"{_change(name, before, after, percent)}, the same within {units.share(band)} of the first."


def beyond_noise(name: str, before: float, after: float, percent: float) -> str:
    return f"{_change(name, before, after, percent)}, beyond the noise."


def withheld(end: str, lacked: float, run: str) -> str:
    """`lacked`: the largest share of a trial's rate that the end may lack in that run."""
    return (
        f"But the {end} end was kept from its CPU in the {run} run, for which up to {units.share(lacked)} of a "
        "trial's rate may be missing: whether the link differs cannot be told."
    )


def not_borne_out(doubt: str, run: str) -> str:
    """`doubt`: the sentence on what contradicts the figures."""
    return f"But figures of the {run} run are not borne out, so that nothing can be told. {doubt}"


def doubtful(count: int, settings: int, most: str) -> str:
    """`most`: the sentence of the setting that differs most."""
    return f"Of {count} of {settings} settings nothing can be told, whatever the noise; the most: {most}"


def carried_nothing(runs: Sequence[tuple[int, int, str]], name: str = "") -> str:
    """`runs`: of each such run how many trials carried nothing, of how many, and 'first' or 'second'."""
    said = units.joined([f"{count} of {units.plural(of, 'trial')} of the {run} run" for count, of, run in runs])
    return f"{f'{name}: ' if name else ''}{said} carried nothing or stalled."


def cpu_withheld(end: str) -> str:
    return f"{end} CPU withheld"


def up_to(share: float | None) -> str:
    return f"up to {units.share(share)}" if share else ""


def within_noise(name: str, before: float, after: float, percent: float, noise_percent: float) -> str:
    of = "first" if before > 0 else "second"
    return f"{_change(name, before, after, percent)}, within the noise of ±{noise_percent:.1f} % of the {of}."


def _change(name: str, before: float, after: float, percent: float) -> str:
    share = f"{percent:+.1f} % of the first" if before > 0 else "the first carried nothing"
    return f"{name}: {units.rate(before)} to {units.rate(after)} ({share})"


def both(what: str, left: str, right: str) -> str:
    """A fact with its value in each of the two runs."""
    return f"{what}: {left or 'none'} / {right or 'none'}"


def host(name: str) -> str:
    return f"host {name}"


def rung_path(rung: str) -> str:
    return f"{rung} path"


def path(one: Path) -> str:
    return f"{one.local or '?'} to {one.remote or '?'}"


def rate_sold(deal: Contract) -> str:
    return f"{units.rate(deal.rate_bps)} counted in {deal.layer}" if deal.rate_bps else ""
