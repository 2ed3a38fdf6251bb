"""What an experiment that changes a setting costs: its declaration; who carries settings never asks which one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import linkladder
from linkladder.model import Nic, Setting, SettingKind
from linkladder.plan import read_plan
from linkladder.settings import Change, on_adapter

SOURCE = Path(linkladder.__file__).parent


@pytest.mark.parametrize("part", ["engine", "wire", "agent", "peer", "run", "store"])
def test_a_part_that_carries_settings_names_none(part: str) -> None:
    named = {
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in (SOURCE / part).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "SettingKind")
        or (isinstance(node, ast.Compare) and any(_named(one) for one in (node.left, *node.comparators)))
    }
    assert not named


def _named(node: ast.AST) -> bool:
    """Whether one side of a comparison is a setting's name in quotes, or several of them."""
    several = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    return any(isinstance(n, ast.Constant) and n.value in tuple(SettingKind) for n in several)


def test_two_paths_and_a_setting_are_a_plan_and_nothing_else() -> None:
    text = 'name = "p"\n' + "".join(
        f'[[path.dc-link]]\nlocal = "10.0.{n}.1"\nremote = "10.0.{n}.2"\npeer = "beta"\n' for n in (0, 1)
    )
    text += '[[experiment]]\nrungs = "dc-link"\nrepeats = 4\nbaseline = true\n'
    text += 'settings = {kind = "gso", value = "off", ends = "far"}\n'
    (rung,) = read_plan(text).rungs
    assert len(rung.paths) == 2
    plain, changed = rung.experiments
    assert not plain.settings and changed.baseline == plain.id
    assert changed.settings == (Setting(SettingKind.GSO, "off", changed.settings[0].ends),)


OF_ADAPTERS = [k for k in SettingKind if not Setting(k, "").of_machine and not Setting(k, "").of_bundle]


@pytest.mark.parametrize("kind", OF_ADAPTERS)
def test_each_of_an_adapter_s_says_where_it_is_and_what_is_there(kind: SettingKind) -> None:
    numbers = {SettingKind.MTU: ("9000", "1500"), SettingKind.MODERATION: ("50", "3")}
    numbers |= {SettingKind.QUEUES: ("2", "4"), SettingKind.RING: ("256", "512"), SettingKind.QUEUE_CORE: ("1", "0")}
    wanted, there = numbers.get(kind, ("on", "off"))
    setting = Setting(kind, wanted)
    where = (str(kind), "ix0") if kind in numbers else ("flag", f"ix0:{kind}")
    assert on_adapter(setting, "ix0") == Change(*where, setting.value)
    assert (
        setting.on(
            Nic(
                "ix0",
                mtu=1500,
                rx_usecs=3,
                rx_queues=4,
                tx_queues=4,
                ring="512",
                queue_core="0",
                offloads={kind: False},
            )
        )
        == there
    )
    assert setting.on(Nic("ix0", mtu=1500)) == ("1500" if setting.mtu else None)
