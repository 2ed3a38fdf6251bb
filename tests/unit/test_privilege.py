"""How the helper is reached, as root and not, and that a use of it always ends with an answer."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from linkladder import host, privilege
from linkladder.agent import stdio
from linkladder.agent.processes import Children
from linkladder.errors import EnvironmentFault

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or a helper that is installed")


@pytest.fixture(autouse=True)
def audit(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("LINKLADDER_AUDIT", f"{tmp_path}/audit")
    monkeypatch.setattr(privilege, "_class", "operator")
    monkeypatch.setitem(privilege.ENVIRONMENT, "LINKLADDER_AUDIT", f"{tmp_path}/audit")


@pytest.mark.parametrize(("system", "door"), [("FreeBSD", "doas"), ("Linux", "sudo")])
def test_the_door_of_each_system(monkeypatch: pytest.MonkeyPatch, system: str, door: str) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    monkeypatch.setattr(host, "system", lambda: system)
    monkeypatch.setattr(privilege.shutil, "which", lambda name, path: f"/usr/local/bin/{name}")
    monkeypatch.setattr(os, "access", lambda path, mode: True)
    start = [f"/usr/local/bin/{door}", "-n"]
    assert privilege.command("mtu", "vmx1", "9000") == [*start, privilege.HELPER, "mtu", "vmx1", "9000"]
    privilege.restrict()
    assert privilege.command("mtu", "vmx1", "9000") == [*start, privilege.NARROW, "mtu", "vmx1", "9000"]
    monkeypatch.setattr(os, "access", lambda path, mode: path != privilege.NARROW)
    assert "linkladder-measure is not installed" in privilege.available()  # the other door is not tried instead


@pytest.mark.parametrize("peer", ["eve", None], ids=["a peer's", "this end's own"])
def test_an_agent_asks_for_the_measuring_verbs_alone(
    own_state: Path, monkeypatch: pytest.MonkeyPatch, peer: str | None
) -> None:
    """Also where it runs as root, whom no doas.conf holds back."""
    asked: list[list[str]] = []

    async def serve(*_: object) -> None:
        asked.append(privilege.command("reboot"))

    monkeypatch.setattr(stdio.Agent, "serve", serve)
    monkeypatch.setattr(stdio, "register_session", lambda peer: contextlib.nullcontext())
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert stdio.main(peer) == 0
    assert [words[-2:] for words in asked] == [["measure", "reboot"]]


def test_without_a_door_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    monkeypatch.setattr(privilege.shutil, "which", lambda name, path: None)
    with pytest.raises(EnvironmentFault, match="needs root"):
        privilege.command("mtu", "vmx1", "9000")
    assert "is not installed" in privilege.available()


def test_the_reason_is_the_failing_programs_own() -> None:
    said = "sysctl: net.inet.tcp.functions_default=rack: No such file or directory\n"
    ended = "linkladder-priv: /sbin/sysctl ended with 1\n"
    assert privilege.Completed(1, "", said + ended).reason == said.strip()
    assert privilege.Completed(1, "", ended).reason == "/sbin/sysctl ended with 1"
    assert privilege.Completed(-9, "", "").reason == "it ended with -9"


def test_only_ping_is_wrapped() -> None:
    with pytest.raises(ValueError, match="iperf"):
        privilege.wrap(["iperf", "-s"])


@root
@pytest.mark.parametrize("bad", ["a\0b", "x" * 10_000_000, "1\n2", "-1", "x;reboot", "\u0661"], ids=list("abcdef"))
async def test_hostile_arguments_come_back_as_refusals(bad: str) -> None:
    done = await privilege.run("mtu", "lo", bad)
    assert (done.code, done.output) == (2, "")
    assert not done.ok
    assert done.reason and len(done.reason) < 300


@root
async def test_a_use_that_does_not_end_is_ended() -> None:
    async with asyncio.timeout(60):
        done = await privilege.run("ping", "-c", "1000", "127.0.0.1", timeout=0.5)
    assert done.code == 1
    assert "did not end within 0.5 s" in done.reason


async def test_one_that_is_cancelled_while_it_starts_ends_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """asyncio would kill it, which nobody else may do with a process of root's."""
    started: list[int] = []

    class Roots(subprocess.Popen[bytes]):
        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            started.append(self.pid)

        def kill(self) -> None:
            raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(subprocess, "Popen", Roots)
    monkeypatch.setattr(privilege, "command", lambda verb: ["sh", "-c", f"cat; touch {tmp_path}/ended"])
    use = asyncio.create_task(privilege.run("trial-close"))
    while not started:
        await asyncio.sleep(0)
    use.cancel()
    with pytest.raises(asyncio.CancelledError):
        await use
    assert (tmp_path / "ended").exists()


@root
async def test_an_agents_privileged_ping_is_stopped_with_its_summary() -> None:
    children = Children(lambda event: None)
    child = await children.start(privilege.wrap(["ping", "-n", "-c", "9999", "-i", "0.05", "127.0.0.1"]), True)
    async with asyncio.timeout(60):
        while b"bytes from" not in b"".join(child.output):
            await asyncio.sleep(0.02)
        finished = await children.stop(child.number)
    await children.close()
    assert not finished.hung
