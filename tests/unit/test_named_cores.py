"""Cores by number, and hyperthreads left idle: what a plan may say, who has them, and where the tool then runs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from linkladder import cli, codec, host, phrases, units
from linkladder import plan as plans
from linkladder.agent.answering import Service
from linkladder.app.experiment_text import about
from linkladder.engine import Engine
from linkladder.engine.left_out import left_out, refuse_too_many_cores
from linkladder.errors import UsageError
from linkladder.host import cores as own
from linkladder.host import freebsd_text, linux
from linkladder.model import Affinity, End, Experiment, HostFacts, Path, Plan, Rung, RungName
from linkladder.store import Store
from linkladder.wire import Facts, Refused

PATH = Path("192.0.2.1", "192.0.2.2", "beta")
FOUR = HostFacts("alpha", cores=4, threads=((0,), (1,), (2,), (3,)))
TWO = replace(FOUR, name="beta", cores=2, threads=((0,), (1,)))
THREADED = replace(FOUR, name="gamma", threads=((0, 2), (1, 3)))


def read(more: str) -> tuple[Experiment, ...]:
    return plans.read_plan(f'name = "p"\n[[experiment]]\nrungs = "dc-link"\n{more}\n').rungs[0].experiments


@pytest.mark.parametrize(
    ("text", "cores"), [("2,3", (2, 3)), ("3, 2", (2, 3)), ("0-2,5", (0, 1, 2, 5)), ("7", (7,)), ("0-1", (0, 1))]
)
def test_cores_by_number_read_as_they_are_written(text: str, cores: tuple[int, ...]) -> None:
    assert units.parse_cores(text) == cores == units.parse_cores(units.core_list(cores))


@pytest.mark.parametrize("text", ["", "a", "2,", "3-1", "1,1", "0-2,1", "1024", "-1", "1.5", "0-99999", ",", "2;id"])
def test_what_names_no_cores_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(plans.PlanError, match=r"line 4: experiment.cores: expected cores below 1024"):
        read(f'cores = "{text}"')


def test_a_plan_says_how_many_or_which_ones() -> None:
    made = read('cores = [2, "2", "2,3", "auto"]')
    assert [(e.cores, e.on_cores) for e in made] == [(2, ()), (None, (2,)), (None, (2, 3)), (1, ())]
    assert [phrases.cores(e) for e in made] == ["2 cores", "core 2", "cores 2,3", "1 core"]
    assert [e.id for e in made[:3]] == [f"tcp-1s-default-{name}-forward" for name in ("2c", "cores2", "cores2+3")]
    assert "on cores 2,3" in phrases.arm(made[2])


@pytest.mark.parametrize(
    ("keys", "said", "shared"),
    [
        ('cores = "2,3"\nbaseline = {cores = "0,1"}', "cores 2,3 instead of cores 0,1", "1 stream"),
        ('cores = "2,3"\nbaseline = {cores = 2}', "cores 2,3 instead of 2 cores", "1 stream"),
        ('cores = 1\nbaseline = {cores = "0"}', "1 core instead of core 0", "1 stream"),
        ("cores = 1\nbaseline = {cores = 2}", "1 core instead of 2", "1 stream"),
        ('cores = "3"\nwindow = "8M"\nbaseline = {window = "default"}', "8M window instead of default", "core 3"),
    ],
)
def test_two_choices_of_cores_are_compared_in_words(keys: str, said: str, shared: str) -> None:
    plain, changed = read(keys)
    assert changed.baseline == plain.id and not (changed.cores and changed.on_cores)
    assert phrases.difference(changed, plain) == said
    assert shared in phrases.beside(changed, plain)


def test_a_step_of_a_staircase_tries_cores_by_number() -> None:
    base, one, two = read('steps = [{cores = ["1", "0,1"]}]')
    assert (base.on_cores, one.on_cores, two.on_cores) == ((), (1,), (0, 1))
    assert phrases.difference(one, base) == "core 1 instead of all cores"


def test_before_it_begins_the_page_says_which_cores_the_tools_get() -> None:
    made = plans.read_plan('name = "p"\n[[experiment]]\nrungs = "dc-link"\ncores = ["2,3", "0"]\n')
    assert "Confines the tools to cores 2,3, then to core 0." in about(made)
    told = " ".join(about(plans.builtin("affinity")))
    assert "Confines the tools to one thread of each core, so that its hyperthreads stay idle." in told


def test_documents_without_cores_by_number_are_read_as_before() -> None:
    written: dict[str, Any] = codec.to_json(Experiment("e", cores=2))
    del written["on_cores"]
    assert codec.from_json(Experiment, written) == Experiment("e", cores=2)


# --- who has them


def ends(near: HostFacts, far: HostFacts) -> dict[End, HostFacts]:
    return {End.NEAR: near, End.FAR: far}


def test_cores_that_one_end_does_not_have_are_told_of_that_end() -> None:
    made = read('cores = ["1", "1,3"]')
    assert left_out(made, PATH, ends(FOUR, TWO)) == {made[1].id: "beta has cores 0,1, not 3"}
    assert left_out(made, PATH, ends(FOUR, FOUR)) == {}
    assert left_out(made, PATH, ends(FOUR, replace(TWO, threads=()))) == {}, "of an end that does not tell"


def test_plan_check_refuses_cores_that_this_machine_does_not_have(
    tmp_path: FilePath, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\nrung = "same-vlan"\n[[experiment]]\ncores = ["0", "0,1000"]\n')
    for command in (["plan", "check", str(file)], ["run", "--plan", str(file), "--dry-run"]):
        assert cli.main(command) == 2
        said = capsys.readouterr()
        title, why, hint = said.err.strip().splitlines()
        assert "right" not in said.out
        assert "tcp-1s-default-cores0+1000-forward cannot be measured on same-vlan" in title
        assert "why: " in why and why.endswith("not 1000")
        assert hint.strip() == "do:  name cores that each end has, or say how many, such as cores = 2"
    file.write_text(file.read_text().replace(', "0,1000"', ""))
    assert cli.main(["plan", "check", str(file)]) == 0


def test_plan_check_refuses_more_cores_than_any_machine_of_the_run_has(
    tmp_path: FilePath, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plan was called right, and its command had the refusal in front; a run leaves such trials out, as before."""
    file, has = tmp_path / "mine.toml", units.plural(host.facts().cores, "core")
    file.write_text('name = "mine"\nrung = "localhost"\n[[experiment]]\ncores = [1, 999]\n')
    assert cli.main(["plan", "check", str(file)]) == 2
    said = capsys.readouterr()
    title, why, hint = said.err.strip().splitlines()
    assert "tcp-1s-default-999c-forward cannot be measured on localhost" in title and "right" not in said.out
    assert why.endswith(f" has {has}, not 999") and hint.strip().startswith("do:  name cores that each end has")
    assert cli.main(["run", "--plan", str(file), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert f"left out: tcp-1s-default-999c-forward: {host.facts().name} has {has}\n" in shown
    assert "999 cores were asked for" not in shown and ", 1 trial\n" in shown


def test_a_run_of_which_nothing_is_left_for_want_of_cores_says_so(
    tmp_path: FilePath, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was said to have been measured already, and then that it was not run."""
    file, here = tmp_path / "mine.toml", host.facts()
    file.write_text('name = "mine"\nrung = "localhost"\n[[experiment]]\ncores = 999\nduration = 1\n')
    cli.main(["run", "--plan", str(file)])
    said = capsys.readouterr()
    assert f"Nothing was measured: it is to run on 999 cores, and {here.name} has {here.cores}." in said.out + said.err
    assert "localhost: 0 trials, as all that was asked for is left out" in said.err


def test_where_the_peer_is_not_known_it_is_said_what_will_be_left_out_for_cores_that_are_not_here(
    tmp_path: FilePath, capsys: pytest.CaptureFixture[str]
) -> None:
    file, has = tmp_path / "mine.toml", units.plural(host.facts().cores, "core")
    file.write_text('name = "mine"\nrung = "same-host"\n[[experiment]]\ncores = [1, 999]\n')
    for command in (["plan", "check", str(file)], ["run", "--plan", str(file), "--dry-run"]):
        assert cli.main(command) == 0
        said = capsys.readouterr().out
        assert f"left out: tcp-1s-default-999c-forward: {host.facts().name} has {has}\n" in said
        assert "999 cores were asked for" not in said and ", 1 trial\n" in said


def test_a_number_that_one_machine_of_a_run_has_is_left_out_for_the_other_alone() -> None:
    asked = (Experiment("four", cores=4), Experiment("five", cores=5))
    plan = Plan("p", rungs=(Rung(RungName.SAME_HOST, (PATH,), asked[:1]),))
    refuse_too_many_cores(plan, {"": FOUR, "beta": TWO})
    assert left_out(asked[:1], PATH, ends(FOUR, TWO)) == {"four": "beta has 2 cores"}
    both = replace(plan, rungs=(replace(plan.rungs[0], experiments=asked),))
    refuse_too_many_cores(both, {"": FOUR})
    with pytest.raises(UsageError, match="five cannot be measured on same-host") as error:
        refuse_too_many_cores(both, {"": FOUR, "beta": TWO})
    assert error.value.cause == "alpha has 4 cores and beta has 2 cores, not 5"


class Near:
    """This appliance, with which nobody measures."""

    name, hello = "alpha", None

    async def ask(self, request: Any) -> Any:
        return FOUR if isinstance(request, Facts) else None


async def test_a_run_that_names_cores_which_are_not_there_is_not_begun(own_state: FilePath) -> None:
    store = Store(own_state)
    plan = Plan("p", rungs=(Rung(RungName.LOCALHOST, experiments=(Experiment("e", on_cores=(3, 4)),)),))
    with pytest.raises(UsageError, match="e cannot be measured on localhost") as error:
        async for _ in Engine(plan, store, Near(), None).run():
            pass
    assert error.value.cause == "alpha has cores 0-3, not 4" and error.value.hint
    assert store.runs() == []


@pytest.mark.parametrize(
    ("near", "far", "said"),
    [
        (FOUR, TWO, "alpha has no hyperthreads; beta has no hyperthreads"),
        (THREADED, replace(TWO, threads=()), "beta does not tell which of its cores are hyperthreads"),
        (THREADED, THREADED, ""),
        (THREADED, TWO, ""),
        (FOUR, FOUR, "alpha has no hyperthreads"),
    ],
)
def test_an_arm_that_leaves_hyperthreads_idle_says_where_there_are_none(
    near: HostFacts, far: HostFacts, said: str
) -> None:
    made = read('affinity = "siblings-idle"\nbaseline = {affinity = "free"}')
    assert left_out(made, PATH, ends(near, far)).get(made[1].id, "") == said
    assert "on one thread of each core" in phrases.difference(made[1], made[0])


# --- where the tool runs


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core has nothing beside it")
def test_a_tool_is_started_on_the_cores_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real process, which is asked where it may run."""
    first, second = sorted(os.sched_getaffinity(0))[:2]
    tell = [sys.executable, "-c", "import os; print(*sorted(os.sched_getaffinity(0)))"]

    def ran_on(exp: Experiment) -> str:
        argv = asyncio.run(Service(lambda _: None)._placed(tell, exp, "127.0.0.1"))
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()

    assert ran_on(Experiment("e", on_cores=(second,))) == str(second)
    assert ran_on(Experiment("e", on_cores=(first, second))) == f"{first} {second}"
    with pytest.raises(Refused, match="core 1000 was asked for, and this end has"):
        ran_on(Experiment("e", on_cores=(first, 1000)))
    monkeypatch.setattr(host, "facts", lambda: HostFacts("alpha", threads=((first, second),)))
    assert ran_on(Experiment("e", affinity=Affinity.SIBLINGS_IDLE)) == str(first)
    monkeypatch.setattr(host, "facts", lambda: HostFacts("alpha"))
    with pytest.raises(Refused, match="does not tell which of its cores are hyperthreads"):
        ran_on(Experiment("e", affinity=Affinity.SIBLINGS_IDLE))


def test_this_machine_tells_each_of_its_cores_once() -> None:
    there = [core for threads in host.facts().threads for core in threads]
    assert sorted(there) == list(own.own_cores(os.cpu_count() or 1))


def test_linux_tells_the_threads_of_each_core_that_are_ours(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    for core, siblings in enumerate(("0,4", "1,5", "2,6", "3,7") * 2):
        (tmp_path / f"cpu{core}/topology").mkdir(parents=True)
        (tmp_path / f"cpu{core}/topology/thread_siblings_list").write_text(f"{siblings}\n")
    monkeypatch.setattr(linux, "CPUS", str(tmp_path))
    monkeypatch.setattr(own.os, "cpu_count", lambda: 8)

    def told() -> tuple[tuple[int, ...], ...]:
        return own.by_core(map(linux._siblings, own.own_cores(8)))

    assert told() == ((0, 4), (1, 5), (2, 6), (3, 7))
    monkeypatch.setenv(own.CORES, "0,1,4")
    assert told() == ((0, 4), (1,))
    monkeypatch.setattr(linux, "CPUS", str(tmp_path / "nothing"))
    assert told() == ()


# As sys/kern/sched_shim.c of FreeBSD 15.1 prints it: two cores of two threads, and four cores without any.
HYPERTHREADS = """<groups>
 <group level="1" cache-level="3">
  <cpu count="4" mask="f,0,0,0">0, 1, 2, 3</cpu>
  <children>
   <group level="2" cache-level="2">
    <cpu count="2" mask="3,0,0,0">0, 1</cpu>
    <flags><flag name="THREAD">THREAD group</flag><flag name="SMT">SMT group</flag></flags>
   </group>
   <group level="2" cache-level="2">
    <cpu count="2" mask="c,0,0,0">2, 3</cpu>
    <flags><flag name="THREAD">THREAD group</flag><flag name="SMT">SMT group</flag></flags>
   </group>
  </children>
 </group>
</groups>"""
NONE = """<groups>
 <group level="1" cache-level="0">
  <cpu count="4" mask="f,0,0,0">0, 1, 2, 3</cpu>
  <children>
   <group level="2" cache-level="3">
    <cpu count="2" mask="3,0,0,0">0, 1</cpu>
    <flags><flag name="NODE">NUMA node</flag></flags>
   </group>
  </children>
 </group>
</groups>"""


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        (HYPERTHREADS, ((0, 1), (2, 3))),
        (NONE, ((0,), (1,), (2,), (3,))),
        ('<groups>\n <group level="1" cache-level="1">\n </group>\n</groups>', ()),
        ("", ()),
    ],
)
def test_freebsd_tells_it_by_its_scheduler(topology: str, expected: tuple[tuple[int, ...], ...]) -> None:
    assert freebsd_text.threads(topology) == expected
