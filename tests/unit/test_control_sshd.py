"""The control sshd's settings against what particular versions of OpenSSH do with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkladder.trust import sshd

SHIPPED = Path(__file__).parents[2] / "overlay/usr/local/etc/linkladder/sshd_control.conf"


@pytest.mark.parametrize(
    ("version", "leaks"),
    [
        ("OpenSSH_10.0p2, OpenSSL 3.5.6", True),
        ("OpenSSH_10.0p2 FreeBSD-20250801, OpenSSL 3.5.6", True),
        ("OpenSSH_9.2p1 Debian-2+deb12u7", False),
        ("OpenSSH_10.2p1", False),
        ("", False),
    ],
)
def test_a_version_that_shuts_peers_out_is_known(version: str, leaks: bool) -> None:
    assert sshd.leaks_startups(version) is leaks


@pytest.mark.parametrize(("version", "there"), [("OpenSSH_10.0p2", False), ("OpenSSH_9.9p1", True)])
def test_it_is_not_given_the_setting_that_does_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, there: bool
) -> None:
    monkeypatch.setattr(sshd, "_version", lambda: version)
    monkeypatch.setattr(sshd, "_complaints", lambda config: "")
    text = sshd.ensure_config(tmp_path, "linkladder", ("127.0.0.1",), 8622).read_text()
    assert ("PerSourceMaxStartups" in text) is there
    assert "PerSourcePenalties" in text


def test_the_image_does_without() -> None:
    """FreeBSD 15.1 has that version: eight runs after a boot, nobody got in any more."""
    lines = SHIPPED.read_text().splitlines()
    assert not [line for line in lines if line.startswith("PerSourceMaxStartups")]


def test_the_keys_that_start_an_agent_lie_with_the_state_that_they_belong_to(own_state: Path, tmp_path: Path) -> None:
    """Whoever makes the configuration may have a state of its own."""
    text = sshd.ensure_config(tmp_path / "beta", "linkladder", ("127.0.0.1",), 8622).read_text()
    assert f'AuthorizedKeysFile "{tmp_path}/beta/sshd/authorized_keys"' in text
    assert (tmp_path / "beta/sshd/authorized_keys").exists()
    assert not (own_state / "sshd").exists()


OPERATORS = SHIPPED.parents[4] / "etc/ssh/sshd_config"


@pytest.mark.parametrize("config", [SHIPPED, OPERATORS, None], ids=["control", "operator", "lab"])
def test_places_run_out_by_chance_and_not_all_at_once(config: Path | None) -> None:
    """With one number for all, as many silent connections as that shut everybody out."""
    text = config.read_text() if config else sshd.SETTINGS
    said = dict(line.split(" ", 1) for line in text.splitlines() if " " in line and line[0] != "#")
    start, chance, full = map(int, said["MaxStartups"].split(":"))
    assert 1.5 * start <= full and chance <= 30 and int(said["LoginGraceTime"]) <= 30


def test_a_stranger_of_the_segment_is_not_taken_for_the_peer_beside_him() -> None:
    """Link-local addresses of one segment share their first 64 bits: a wider block would punish all for one."""
    for text in (SHIPPED.read_text(), "\n".join(sshd.OPTIONAL)):
        assert "PerSourceNetBlockSize 32:128" in text.splitlines()
