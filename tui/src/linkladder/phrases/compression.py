"""Says in words whether compression on the path explains a result above the ceiling."""

from __future__ import annotations

from linkladder import units

UNTRIED = "Compression on the way would do it too: repeat once with incompressible payload before saying so."


def none(bps: float, direction: str) -> str:
    return f"It is not compression: {_carried(bps)} {direction}, above the ceiling as well."


def unknown(bps: float) -> str:
    return f"Whether it is compression cannot be told: {_carried(bps)}, but a core of the generator was saturated."


def found(bps: float) -> str:
    return (
        f"Something on the way compresses: {_carried(bps)}, while payload that can be made smaller carried more than "
        "the link can. Judge the link by incompressible payload."
    )


def _carried(bps: float) -> str:
    return f"incompressible payload carried {units.rate(bps)}"
