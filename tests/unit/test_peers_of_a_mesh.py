"""Which ends a mesh is made of, and that it does not begin without one of them."""

from __future__ import annotations

import pytest

import judge_documents
from linkladder import cli, state
from linkladder.commands import measuring
from linkladder.model import Direction, Experiment, Plan, Rung, RungName, RunState
from linkladder.model import Path as Way
from linkladder.store import Store
from linkladder.trust import peers


def test_of_a_mesh_some_of_the_paired_ends_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two names with a comma between were taken for the name of one, which is not paired."""
    paired = [peers.Peer(name, ("192.0.2.2",), name, name) for name in ("beta", "gamma", "delta")]
    monkeypatch.setattr(peers, "load", lambda *_: paired)
    asked: list[Plan] = []

    def measured(args: object, plan: Plan, *_: object) -> int:
        asked.append(plan)
        return 0

    monkeypatch.setattr(measuring, "_measure", measured)
    assert cli.main(["run", "--plan", "mesh", "--peer", "gamma, beta"]) == 0
    assert [path.peers for path in asked[0].rungs[-1].paths] == [("gamma",), ("beta",), ("gamma", "beta")]
    assert cli.main(["run", "--plan", "mesh", "--peer", "beta,gama"]) == 3
    assert "no peer is called 'gama'" in capsys.readouterr().err
    assert cli.main(["run", "--plan", "quick", "--peer", "beta,gamma"]) == 2
    assert "plan quick measures with one appliance, and --peer names several" in capsys.readouterr().err


def test_a_mesh_does_not_go_on_without_an_end_that_is_not_paired_any_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that it took part in failed for good, and the run could not be made whole once it was paired again."""
    paths = (Way("192.0.2.1", "192.0.2.2", "beta"), Way("192.0.2.1", "192.0.2.3", "gamma"))
    plan = Plan("m", rungs=(Rung(RungName.DC_LINK, paths, (Experiment("tcp", repeats=2),)),))
    store = Store(state.folder())
    run = store.begin(plan)
    store.finish(run, RunState.INCOMPLETE, reason="cancelled")
    monkeypatch.setattr(peers, "load", lambda *_: [peers.Peer("beta", ("192.0.2.2",), "b", "b")])
    monkeypatch.setattr(measuring, "_measure", lambda *_: 0)
    assert cli.main(["run", "--resume", run]) == 3
    assert "no peer is called 'gamma'" in capsys.readouterr().err
    for n in range(2):
        store.keep_trial(run, RungName.DC_LINK, "tcp", judge_documents.trial(1e9, Direction.FORWARD, n))
    assert cli.main(["run", "--resume", run]) == 0, "nothing of it is left to be measured with gamma"


def test_nor_does_a_run_with_a_single_end_that_is_not_paired(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It began, and ended early once the ladder came to that end. An end may be named by its key's fingerprint."""
    beta = peers.Peer("beta", ("192.0.2.2",), "b", "b", fingerprint="SHA256:0123456789abcdef")
    monkeypatch.setattr(peers, "load", lambda *_: [beta])
    monkeypatch.setattr(measuring, "_measure", lambda *_: 0)
    store = Store(state.folder())
    for name, status in (("gamma", 3), ("beta", 0), ("SHA256:0123456789", 0)):
        rung = Rung(RungName.DC_LINK, (Way("192.0.2.1", "192.0.2.3", name),), (Experiment("tcp"),))
        run = store.begin(Plan("m", rungs=(rung,)))
        store.finish(run, RunState.INCOMPLETE, reason="cancelled")
        assert cli.main(["run", "--resume", run]) == status
    assert capsys.readouterr().err.count("no peer is called") == 1
