"""Keys are a machine's: a copy of it makes its own, forgets the peers, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkladder import damage
from linkladder.priv import verbs
from linkladder.trust import files, identity, keys, peers, sshd
from pairing_ends import a_key

FIRST, SECOND = "1b4e28ba-2fa1-11d2-883f-0016d3cca427", "7d444840-9dc0-11d1-b245-5ffdce74fad2"


def shown(base: Path) -> tuple[str, str]:
    return keys.public(keys.host_key(base)), keys.public(keys.user_key(base))


def test_the_machine_that_made_them_keeps_its_keys_and_peers(own_state: Path) -> None:
    assert not identity.bind(own_state, FIRST)
    before = shown(own_state)
    peers.pin(peers.Peer("beta", ("192.0.2.1",), a_key(), a_key()))
    assert not identity.bind(own_state, FIRST)
    assert shown(own_state) == before and [p.name for p in peers.load()] == ["beta"]
    assert not damage.found(own_state)


def test_a_copy_has_keys_of_its_own_no_peers_and_says_so(own_state: Path) -> None:
    identity.bind(own_state, FIRST)
    before = shown(own_state)
    peer = peers.pin(peers.Peer("beta", ("192.0.2.1",), a_key(), a_key()))
    peers.ssh_command(peer)
    assert identity.bind(own_state, SECOND)
    after = shown(own_state)
    assert not set(before) & set(after) and not peers.load()
    authorized = Path(own_state / "sshd" / "authorized_keys")
    assert peer.user_key not in authorized.read_text()
    (told,) = damage.found(own_state)
    assert told.name == "identity" and "not the one that its keys were made for" in told.why
    kept = {file.name for file in told.folder.iterdir()}
    assert kept == {"why.txt", "peers.json"}, "whom it knew, and no key"
    assert not identity.bind(own_state, SECOND) and shown(own_state) == after
    files.check_state(own_state)


def test_keys_of_before_this_was_noted_stay(own_state: Path) -> None:
    before = shown(own_state)
    assert not identity.bind(own_state, FIRST) and shown(own_state) == before


@pytest.mark.parametrize("step", ["set_aside", "write_authorized", "host_key"])
def test_cut_off_in_between_it_begins_once_more(own_state: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    identity.bind(own_state, FIRST)
    before = shown(own_state)
    peers.pin(peers.Peer("beta", ("192.0.2.1",), a_key(), a_key()))

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    module = {"set_aside": damage, "write_authorized": sshd, "host_key": keys}[step]
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(module, step, cut)
        identity.bind(own_state, SECOND)
    assert identity.bind(own_state, SECOND)
    assert not set(before) & set(shown(own_state)) and not peers.load()


@pytest.mark.parametrize(
    "content",
    [b'[{"name": "beta", "us', b"[{\x00\xff", b"[{}]", b"{}", b"7", b"[" * 100_000],
    ids=["cut", "bytes", "empty", "object", "number", "deep"],
)
def test_a_damaged_list_of_peers_lets_the_control_channel_start(own_state: Path, content: bytes) -> None:
    """The boot makes keys and sshd's list before any console looks at the peers; it must not fail there."""
    identity.bind(own_state, FIRST)
    before = shown(own_state)
    peer = peers.pin(peers.Peer("beta", ("192.0.2.1",), a_key(), a_key()))
    (own_state / "peers.json").write_bytes(content)
    assert not identity.bind(own_state, FIRST)
    assert shown(own_state) == before and peer.user_key not in (own_state / "sshd" / "authorized_keys").read_text()


@pytest.mark.parametrize("name", ["keys/machine", "sshd/authorized_keys"])
def test_what_a_boot_writes_may_be_damaged_before(own_state: Path, name: str) -> None:
    identity.bind(own_state, FIRST)
    peer = peers.pin(peers.Peer("beta", ("192.0.2.1",), a_key(), a_key()))
    (own_state / name).write_bytes(b"\xff\xfe\x00")
    others = identity.bind(own_state, FIRST)
    assert others == (name == "keys/machine"), "keys of nobody knows which machine are not taken for its own"
    assert (peer.user_key in (own_state / "sshd" / "authorized_keys").read_text()) != others


def test_by_hand_it_is_the_operators_and_ends_in_a_new_boot() -> None:
    forget, reboot = verbs.build("operator", "reset-identity", [], "FreeBSD")
    assert forget == ["/usr/local/libexec/linkladder-machine", "--forget", "/state/system"]
    assert reboot == ["/sbin/shutdown", "-r", "now"]
