"""The whole table: what is forged, and the verdict and cause that the link (or the named rung) must get.

The cause is the rule that decides; of a PASS, a rule that speaks among its findings (or "reached", where none need to).
"UNSURE" is a PASS that must be provisional.
"""

from __future__ import annotations

from forged_able import counted_nothing, shown_elsewhere, window_or_queue
from forged_again import another_contract, once_more, seconds_and_sums
from forged_answers import answers
from forged_arranged import carriers, legs, odd_figures, rearranged, relabelled
from forged_bands import busy_in_bands, policers, windows
from forged_below import by_an_end, of_udp, on_a_shorter_way
from forged_commands import commanded
from forged_contradictions import another_machine, impossible_figures, lost_ends, wrong_times
from forged_counted import COUNTED
from forged_culprits import culprits, holes
from forged_details import around, seconds, whose
from forged_firm import FIRM
from forged_limits import as_sold, bars, both_ways, healthy_all_the_same
from forged_missing import laid_out, not_there
from forged_odd import ODD
from forged_of_plan import both_of_them, claimed_loans, of_ends, of_other_kinds, promised, told_twice, unplugged
from forged_own_ends import own_ends, windows_and_queues
from forged_own_output import own_output
from forged_parts import nothing_changed, parts
from forged_records import damaged
from forged_shortfall import behind_a_card, excused_alike, not_as_printed
from forged_slow import slow_runs
from forged_taken import TAKEN
from forged_told import answered, told
from forged_trials import repeats, silent_things, time
from forged_words import Row

PARTS = (
    healthy_all_the_same, bars, time, repeats, as_sold, silent_things, both_ways, damaged, culprits, holes, slow_runs,
    impossible_figures, wrong_times, another_machine, lost_ends,
    rearranged, carriers, relabelled, legs, odd_figures, commanded, parts, nothing_changed,
    not_there, laid_out, answers, whose, seconds, around,
    once_more, seconds_and_sums, another_contract, by_an_end, of_udp, on_a_shorter_way,
    promised, both_of_them, claimed_loans, of_other_kinds, unplugged, told_twice, of_ends,
    shown_elsewhere, window_or_queue, counted_nothing,
    excused_alike, not_as_printed, behind_a_card,
    busy_in_bands, windows, policers, own_ends, windows_and_queues,
    own_output, told, answered, *FIRM, *COUNTED, *ODD, *TAKEN,
)  # fmt: skip


def table() -> list[Row]:
    rows = [Row(*row) for part in PARTS for row in part()]
    assert len({r.name for r in rows}) == len(rows)
    return rows
