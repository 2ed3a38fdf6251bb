"""Puts into words what was asked, what was measured and what it means; all sentences for people are made here.

    way(direction)          'near to far'; files keep the words of linkladder.model ("forward", "reverse")
    loaded(experiment, p)   'gamma to delta': with more than two ends, which of them are loaded
    arm(experiment)         'TCP, 4 streams, 800k window, near to far': everything that distinguishes a setting
    window(bytes)           '800k', '8M', 'default': as in a plan file
    cores(experiment)       '2 cores', 'cores 2,3': how many cores the tools have, or which
    settings(experiment)    'MTU 9000, TSO off at the near end'
    difference(arm, base)   '8 streams instead of 1': how two arms differ; beside(...), load(...): what they share
    change(said, beside, c) what a change did, with every figure; briefly(...): one sentence for each change
    offloads(changes)       what large sends and receives gain: '+140 % throughput with 20 % fewer cores; ...'
    bundle(bundle)          'lacp of ix0 (active) and ix1 (not active), hash l2,l3,l4'
    compared(figure)        one figure other than throughput in two runs
    card_state(nic)         'up', 'no carrier', 'down'
    generator(setting)      'by iperf2, 2 streams, writes of 1M bytes'; found_strength(...): the result of a search
    outcome(experiment, t)  the result of a trial in one line
    under_test(peer, a)     a warning that control goes over the card that a test loads
    each_path(...)          the result of each path of a trial that has several

Numbers and their units are formatted by linkladder.units.
"""

from __future__ import annotations

from linkladder.phrases.arms import (
    agreed,
    arm,
    arms_apart,
    beside,
    cores,
    difference,
    kernel,
    load,
    restarts,
    settings,
    special,
    streams,
    trial,
    window,
)
from linkladder.phrases.cards import bundle, card_speed, card_state
from linkladder.phrases.changes import briefly, change, compared, pairs_once_more
from linkladder.phrases.control_channel import (
    back,
    is_free,
    once_more_with,
    one_address,
    out_of_reach,
    put_off,
    under_test,
    waits,
)
from linkladder.phrases.judgements import headed, latency, opening, rests_on, rests_on_repeats, short_list, verdict_word
from linkladder.phrases.offloads import offloads
from linkladder.phrases.outcomes import CONTRADICTED_BRIEFLY, besides_the_rates, checked, each_path, outcome, reached
from linkladder.phrases.stairs import begins_at, staircase
from linkladder.phrases.strength import (
    OVER_SEVERAL_PATHS,
    found_strength,
    generator,
    known_strength,
    looking,
    not_yet_looked,
    search_broke,
)
from linkladder.phrases.to_set import for_application, to_set
from linkladder.phrases.ways import WAYS, loaded, several_ends, way

__all__ = [
    "CONTRADICTED_BRIEFLY",
    "OVER_SEVERAL_PATHS",
    "WAYS",
    "agreed",
    "arm",
    "arms_apart",
    "back",
    "begins_at",
    "beside",
    "besides_the_rates",
    "briefly",
    "bundle",
    "card_speed",
    "card_state",
    "change",
    "checked",
    "compared",
    "cores",
    "difference",
    "each_path",
    "for_application",
    "found_strength",
    "generator",
    "headed",
    "is_free",
    "kernel",
    "known_strength",
    "latency",
    "load",
    "loaded",
    "looking",
    "not_yet_looked",
    "offloads",
    "once_more_with",
    "one_address",
    "opening",
    "out_of_reach",
    "outcome",
    "pairs_once_more",
    "put_off",
    "reached",
    "restarts",
    "rests_on",
    "rests_on_repeats",
    "search_broke",
    "settings",
    "several_ends",
    "short_list",
    "special",
    "staircase",
    "streams",
    "to_set",
    "trial",
    "under_test",
    "verdict_word",
    "waits",
    "way",
    "window",
]
