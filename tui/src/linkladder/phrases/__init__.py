"""The one phrasebook: what was asked, what came out and what it means, as people are told it.  Pure, no I/O.

    way(direction)          'near to far'; files keep the words of linkladder.model ("forward", "reverse")
    arm(experiment)         'TCP, 4 streams, 800k window, near to far': everything that sets it apart from others
    window(bytes)           '800k', '8M', 'default': as a plan file writes it
    settings(experiment)    'MTU 9000, TSO off at the near end'
    change(said, change)    what a changed setting did, in a sentence
    card_state(nic)         'up', 'no carrier', 'down'
    outcome(experiment, t)  one line for what a trial came to
    each_path(...)          what each path of it carried, where it had several

Numbers and their units are linkladder.units'.
"""

from __future__ import annotations

from linkladder.phrases.arms import arm, arms_apart, settings, special, streams, window
from linkladder.phrases.cards import card_speed, card_state
from linkladder.phrases.changes import change
from linkladder.phrases.judgements import headed, opening, short_list, verdict_word
from linkladder.phrases.outcomes import checked, each_path, outcome, reached
from linkladder.phrases.ways import WAYS, way

__all__ = [
    "WAYS",
    "arm",
    "arms_apart",
    "card_speed",
    "card_state",
    "change",
    "checked",
    "each_path",
    "headed",
    "opening",
    "outcome",
    "reached",
    "settings",
    "short_list",
    "special",
    "streams",
    "verdict_word",
    "way",
    "window",
]
