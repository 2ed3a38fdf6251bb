"""whole_ladder.py DATABASE: how long the plan ladder takes to its end, with whatever verdict.

In a lab of its own, where nothing is known yet of how strong the machine is; prints JSON. DATABASE is not used.
"""

from __future__ import annotations

import json

import to_the_end

from linkladder.model import RunState


def main() -> None:
    took, document, _ = to_the_end.timed("ladder")
    print(json.dumps({"ladder": [took] if document.run.state is RunState.COMPLETE else []}))


if __name__ == "__main__":
    main()
