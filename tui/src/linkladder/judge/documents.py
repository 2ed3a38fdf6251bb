"""A whole run: every rung's verdict, and in plain words where on the ladder the throughput went."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from linkladder.model import Contract, Document, Layer
from linkladder.verdicts import DocumentJudgement


@dataclass(frozen=True)
class Overrides:
    """Other assumptions about the link than the plan's; None keeps the plan's."""

    port_bps: float | None = None
    rate_bps: float | None = None
    layer: Layer | None = None
    mtu: int | None = None
    vlan_tags: int | None = None
    encap_bytes: int | None = None
    ip_version: int | None = None
    timestamps: bool | None = None
    pass_ratio: float | None = None

    def apply(self, contract: Contract) -> Contract:
        given = {k: v for k, v in dataclasses.asdict(self).items() if v is not None}
        return dataclasses.replace(contract, **given)


def judge_document(document: Document, overrides: Overrides = Overrides()) -> DocumentJudgement:
    """Every rung judged, the run's verdict, and the ladder's diagnosis."""
    raise NotImplementedError


def with_judgement(document: Document, overrides: Overrides = Overrides()) -> Document:
    """The same document with its judgement in it."""
    return dataclasses.replace(document, judgement=judge_document(document, overrides))
