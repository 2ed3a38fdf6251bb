"""README's pictures can be drawn from the recording, and what they show is what was measured."""

from __future__ import annotations

import html
import importlib.util
import re
from datetime import datetime
from pathlib import Path
from types import ModuleType

import pytest

import recordings
from helpers import present
from linkladder import units
from linkladder.model import Protocol

TOP = Path(__file__).resolve().parents[2]
MAIN = ("home", "pair", "link", "ladder", "results", "runs", "system")


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures", TOP / "docs" / "pictures.py")
    made = importlib.util.module_from_spec(present(spec))
    present(present(spec).loader).exec_module(made)
    return made


def text(svg: str) -> str:
    """What a person reads there."""
    said = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return " ".join(html.unescape("".join(said)).replace("\xa0", " ").split())


def figures(name: str) -> list[str]:
    """What a picture must say, from the recording."""
    run = recordings.load("quick")
    link = run.verdict("dc-link")
    contract, path = run.document.run.plan.contract, run.rung("dc-link").path
    match name:
        case "home":
            round_trip = units.milliseconds(recordings.peers()[0].rtt_ms)
            return [run.id, round_trip, *(units.rate(best) for best in run.summary.best_bps.values())]
        case "pair":
            return [recordings.pairing()[1].code, *recordings.pairing()[1].words]
        case "link":
            return [contract.circuit, path.local, path.remote]
        case "ladder":
            at = run.trial_began("dc-link", "tcp", 1) + 10.5
            trial = present(run.progress(at).trial)
            return [
                f"{units.rate(trial.intervals[-1].bps)} to near",
                f"contract {units.rate(present(link.ceiling).bps)}",
            ]
        case "results":
            matrix = recordings.load("matrix")
            tcp = [e for e in matrix.rung("dc-link").experiments if e.parameters.protocol is Protocol.TCP]
            return [f"{matrix.judged.verdict}: ", matrix.id, *(units.rate(e.max_bps) for e in tcp)]
        case "runs":
            return [
                f"{recordings.load(one).id} {recordings.load(one).document.run.plan.name}" for one in recordings.NAMES
            ]
    return ["alpha", "Host name", f"{datetime.fromisoformat(run.document.run.ended):%d %b %H:%M}"]


@pytest.mark.parametrize("name", MAIN)
async def test_a_picture_is_drawn_and_has_the_run_s_figures(pictures: ModuleType, name: str) -> None:
    shown = text(await pictures.draw(name))
    for figure in figures(name):
        assert figure in shown


@pytest.mark.parametrize("name", MAIN)
def test_the_pictures_that_are_kept_are_of_this_recording(name: str) -> None:
    kept = text((TOP / "docs" / f"{name}.svg").read_text(encoding="utf-8"))
    for figure in figures(name):
        assert figure in kept


def test_the_readme_shows_the_main_screens() -> None:
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    assert len(re.findall(r"!\[[^\]]+\]\(docs/\w+\.svg\)", readme)) in (2, 3)
    assert set(re.findall(r"docs/(\w+)\.svg", readme)) == set(MAIN)
