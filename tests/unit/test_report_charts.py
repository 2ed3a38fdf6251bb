"""What the report draws of a trial's seconds."""

from __future__ import annotations

import re

from judge_documents import F, document, rung, tcp, trial
from linkladder import report
from linkladder.model import Interval, RungName
from trials import changed


def drawn(*last: Interval) -> list[str]:
    """What a page says of the lines of its charts to who cannot see them."""
    one = trial(950e6, F)
    made = changed(one, intervals=(*one.intervals, *last))
    page = report.html(document(rung(RungName.DC_LINK, tcp(F, (made,)))))
    return re.findall(r"goodput: ([^;<\"]+ to [^;<\"]+)", page)


def test_the_rest_of_a_second_that_a_tool_prints_last_is_no_outage() -> None:
    assert drawn() and drawn(Interval(13.0, 13.2, 500, F, counted=True)) == drawn()
    silent = Interval(13.0, 14.0, 500, F, counted=True)
    assert drawn(silent) != drawn(), "a whole second is drawn whatever it carried"
