"""The pairing protocol without sockets: equal codes exactly when nobody sits in between, nothing odd let in."""

from __future__ import annotations

import base64
import json
import os
import random
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkladder.pairing import discovery, protocol
from linkladder.pairing.protocol import Code, Handshake, ProtocolError, Reason, Reveal, Role, Step
from linkladder.pairing.words import WORDS


def key() -> str:
    return "ssh-ed25519 " + base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + os.urandom(32)).decode()


def identity(name: str) -> Reveal:
    return Reveal(name, ("192.0.2.7", "2001:db8::7"), 8622, "linkladder", key(), key())


def end(role: Role, who: Reveal | None = None, secret: bytes | None = None) -> Handshake:
    return Handshake(role, who or identity(role), os.urandom(16).hex(), "1.0", secret)


def ends(a: bytes | None = None, b: bytes | None = None) -> tuple[Handshake, Handshake]:
    return end(Role.INITIATOR, secret=a), end(Role.RESPONDER, secret=b)


def lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def exchange(one: Handshake, two: Handshake) -> list[bytes]:
    """Everything up to the code; the lines that went over the wire."""
    said: list[bytes] = []
    to_two, to_one = lines(one.start()), []
    while to_two or to_one:
        said += to_two
        to_one = [answer for line in to_two for answer in lines(two.take(line))]
        said += to_one
        to_two = [answer for line in to_one for answer in lines(one.take(line))]
    assert one.step is two.step is Step.CONFIRM
    return said


def fails(reason: Reason, do: Callable[[], object]) -> None:
    with pytest.raises(ProtocolError) as caught:
        do()
    assert caught.value.reason is reason, caught.value


def test_both_ends_show_the_same_code_and_learn_each_other() -> None:
    one, two = ends()
    said = exchange(one, two)
    assert one.code == two.code and one.transcript == two.transcript
    assert one.code and re.fullmatch(r"\d{3} \d{3}", one.code.digits) and len(one.code.words) == 3
    assert one.peer and one.peer.host_key == two.me.host_key and one.peer.name == "responder"
    assert two.peer and two.peer.user_key == one.me.user_key
    assert max(map(len, said)) <= protocol.LIMIT


def test_codes_differ_from_pairing_to_pairing_between_the_same_two() -> None:
    a, b = identity("a"), identity("b")
    seen = set()
    for _ in range(300):
        one, two = end(Role.INITIATOR, a), end(Role.RESPONDER, b)
        exchange(one, two)
        seen.add(one.code)
    assert len(seen) >= 299


def test_nothing_is_agreed_before_both_have_confirmed() -> None:
    one, two = ends()
    exchange(one, two)
    yes = one.confirm()
    two.take(yes)
    assert not one.agreed and not two.agreed
    fails(Reason.FORMAT, two.done)
    one.take(two.confirm())
    assert one.agreed and two.agreed
    two.take(one.done())
    one.take(two.done())
    assert one.step is two.step is Step.DONE


def test_no_end_reveals_before_the_other_has_committed() -> None:
    one, two = ends()
    greeted = lines(two.take(one.start()))
    assert [json.loads(x)["t"] for x in greeted] == ["hello", "commit"] and not two.revealed
    committed = lines(one.take(greeted[0]))
    assert [json.loads(x)["t"] for x in committed] == ["commit"] and not one.revealed
    other = end(Role.INITIATOR)
    other.take(greeted[0])
    fails(Reason.FORMAT, lambda: other.take(protocol.encode(replace(identity("x"), nonce="0" * 64))))


def test_a_man_in_the_middle_with_keys_of_his_own_gets_unequal_codes() -> None:
    """1,000 runs of the strongest relay: full pairings with each end in the other's name."""
    equal = 0
    for _ in range(1000):
        alpha, beta = identity("alpha"), identity("beta")
        one, two = end(Role.INITIATOR, alpha), end(Role.RESPONDER, beta)
        as_beta = end(Role.RESPONDER, replace(beta, host_key=key(), user_key=key()))
        as_alpha = end(Role.INITIATOR, replace(alpha, host_key=key(), user_key=key()))
        exchange(one, as_beta)
        exchange(as_alpha, two)
        assert one.code and two.code
        equal += one.code.digits == two.code.digits or one.code.words == two.code.words
        fails(Reason.FORMAT, lambda one=one, two=two: two.take(one.confirm()))  # a yes is tied to its transcript
    assert equal == 0  # by chance 1 in 1,000 of these test runs fails


@pytest.mark.parametrize("field", ["host_key", "user_key", "name", "user", "port", "nonce"])
def test_a_substituted_opening_is_refused(field: str) -> None:
    one, two = ends()
    to_one = lines(two.take(one.start()))
    (commit,) = (answer for answer in lines(one.take(to_one[0])))
    opening = json.loads(one.take(to_one[1]))
    two.take(commit)
    other = {"host_key": key(), "user_key": key(), "name": "mallory", "user": "root", "port": 22, "nonce": "0" * 64}
    fails(Reason.OPENING, lambda: two.take(json.dumps({**opening, field: other[field]}).encode() + b"\n"))
    assert two.step is Step.FAILED and two.revealed  # it counts as somebody's guess
    fails(Reason.FORMAT, lambda: two.take(json.dumps(opening).encode()))


def test_reflections_are_refused() -> None:
    one = end(Role.INITIATOR)
    fails(Reason.SELF, lambda: one.take(one.start()))  # its own hello
    one, two = ends()
    to_one = lines(two.take(one.start()))
    mine = one.take(to_one[0])
    fails(Reason.SELF, lambda: one.take(mine))  # its own commitment
    me = identity("alpha")  # its own keys under an honest commitment
    one, mirror = end(Role.INITIATOR, me), end(Role.RESPONDER, replace(identity("beta"), user_key=me.user_key))
    to_one = lines(mirror.take(one.start()))
    mirror.take(one.take(to_one[0]))
    opening = mirror._reveal
    one.take(to_one[1])
    fails(Reason.SELF, lambda: one.take(opening))


def test_a_commitment_holds_for_one_role_only() -> None:
    one = end(Role.INITIATOR)
    assert one._commitment(Role.INITIATOR, b"x") != one._commitment(Role.RESPONDER, b"x")
    fails(Reason.FORMAT, lambda: one.take(end(Role.INITIATOR).start()))


@pytest.mark.parametrize("secret", [None, b"s" * 20])
def test_replayed_transcripts_are_refused(secret: bytes | None) -> None:
    """All that an initiator once said, said again to the same responder: it opens, but confirms nothing."""
    first, beta = end(Role.INITIATOR, secret=secret), identity("beta")
    old = end(Role.RESPONDER, beta, secret)
    hello = first.start()
    to_first = lines(old.take(hello))
    commit = first.take(to_first[0])
    opening = first.take(to_first[1])
    first.take(old.take(commit))
    old.take(opening)
    yes = first.confirm()
    old.take(yes)
    again = end(Role.RESPONDER, beta, secret)
    for line in (hello, commit, opening):
        again.take(line)
    assert again.code != old.code
    fails(Reason.SECRET if secret else Reason.FORMAT, lambda: again.take(yes))
    assert not again.peer_confirmed


def test_a_site_secret_confirms_only_between_its_holders() -> None:
    one, two = ends(b"right" * 4, b"right" * 4)
    exchange(one, two)
    first, second = one.confirm(), two.confirm()
    fails(Reason.SECRET, lambda: one.take(first))  # its own, reflected
    two.take(first)
    assert two.agreed and first != second
    one, two = ends(b"right" * 4, b"wrong" * 4)
    exchange(one, two)
    fails(Reason.SECRET, lambda: two.take(one.confirm()))
    one, two = ends(b"right" * 4, None)
    fails(Reason.METHOD, lambda: two.take(one.start()))


def test_another_version_is_told_apart_from_nonsense() -> None:
    fails(Reason.VERSION, lambda: end(Role.RESPONDER).take(b'{"t":"hello","protocol":2,"news":true}\n'))
    fails(Reason.FORMAT, lambda: end(Role.RESPONDER).take(b'{"t":"hello","protocol":1,"news":true}\n'))


@pytest.mark.parametrize("reason", list(Reason))
def test_a_refusal_ends_it_at_any_step(reason: Reason) -> None:
    one, two = ends()
    exchange(one, two)
    with pytest.raises(ProtocolError) as caught:
        one.take(two.refuse(reason))
    assert caught.value.reason is reason and not caught.value.ours and one.step is Step.FAILED
    fails(Reason.FORMAT, one.confirm)


HOSTILE = [
    ("name", "a\nb"), ("name", ""), ("name", "-oProxyCommand=x"), ("name", "x" * 64), ("name", "../x"),
    ("user", "root x"), ("user", "-l"), ("port", 0), ("port", 65536), ("port", True), ("port", "22"),
    ("addresses", ["-oX"]), ("addresses", ["10.0.0.1 x"]), ("addresses", ["fe80::1%eth0"]), ("addresses", ["ff02::1"]),
    ("addresses", ["192.0.2.1"] * 17), ("addresses", "192.0.2.1"), ("host_key", "ssh-rsa AAAA"),
    ("host_key", "ssh-ed25519 AAAA"), ("user_key", key() + "\n"), ("user_key", key() + " x"), ("nonce", ""),
    ("nonce", "F" * 64), ("nonce", None), ("extra", 1),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), HOSTILE, ids=lambda v: str(v)[:20].encode("unicode_escape").decode())
def test_hostile_fields_are_refused(field: str, value: object) -> None:
    good = json.loads(protocol.encode(replace(identity("beta"), nonce="0" * 64)))
    assert protocol.decode(json.dumps(good).encode())
    fails(Reason.FORMAT, lambda: protocol.decode(json.dumps({**good, field: value}).encode()))


ODD = [
    b"", b"\n", b"null", b"[]", b"{}", b'{"t":1}', b'{"t":"hello","t":"hello"}', b'{"t":"done","x":NaN}', b"\xff\xfe",
    b"[" * 4000, b'{"t":' * 800, b'{"t":"done","n":' + b"9" * 4000 + b"}", b" " * 5000, b'{"t":["hello"]}',
    b'{"t":"confirm","tag":"' + b"a" * 63 + b'\\n"}',
]  # fmt: skip


@pytest.mark.parametrize("line", ODD, ids=range(len(ODD)))
def test_odd_lines_are_refused(line: bytes) -> None:
    fails(Reason.FORMAT, lambda: protocol.decode(line))


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40)
values = st.recursive(leaves, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=8), v, max_size=4))
fields = st.sampled_from(
    ["protocol", "version", "role", "method", "tie", "commitment", "name", "tag", "reason", "port"]
)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=5000) | st.dictionaries(fields | st.just("t"), values).map(lambda v: json.dumps(v).encode()))
def test_no_bytes_make_anything_but_a_protocol_error(line: bytes) -> None:
    for role in Role:
        for prepare in (lambda h: None, lambda h: h.take(end(h.role.other).start())):
            one = end(role)
            prepare(one)
            try:
                one.take(line)
            except ProtocolError:
                assert one.step is Step.FAILED
    found = discovery.decode(line)
    assert found is None or found.linkladder == 1


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 5), st.integers(0, 600), st.binary(min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_a_changed_byte_never_leads_to_equal_codes(which: int, at: int, new: bytes, chance: random.Random) -> None:
    """Whatever is altered on the way, the two ends do not come to confirm one transcript."""
    one, two = ends()
    number = 0
    altered = False

    def carry(line: bytes) -> bytes:
        nonlocal number, altered
        number += 1
        if number - 1 != which:
            return line
        at_byte = at % (len(line) - 1)
        changed = line[:at_byte] + new + line[at_byte + len(new) :]
        changed = changed.rstrip(b"\n").replace(b"\n", b"") + b"\n"
        altered = changed != line
        return changed

    to_two, to_one = [carry(x) for x in lines(one.start())], []
    try:
        while to_two or to_one:
            to_one = [carry(answer) for line in to_two for answer in lines(two.take(line))]
            to_two = [carry(answer) for line in to_one for answer in lines(one.take(line))]
    except ProtocolError:
        assert altered
        return
    assert (one.transcript == two.transcript) is not altered


@given(st.binary(max_size=1300))
def test_beacons_are_read_strictly(data: bytes) -> None:
    assert discovery.decode(data) is None or data.startswith(b"{")


def test_a_beacon_comes_back_as_it_went_and_odd_ones_do_not() -> None:
    good = discovery.Beacon(1, "0" * 32, "beta", "1.0", ("192.0.2.1",), 8623, protocol.fingerprint(key()))
    assert discovery.decode(discovery.encode(good)) == good
    assert len(discovery.encode(replace(good, addresses=("2001:db8:1111:2222:3333:4444:5555:6666",) * 16))) < 1200
    for odd in (
        replace(good, name="a\x1b[2J"), replace(good, linkladder=2), replace(good, port=0), replace(good, id="x"),
        replace(good, addresses=("fe80::1%lo",)), replace(good, fingerprint="MD5:x"), replace(good, version="\n"),
    ):  # fmt: skip
        assert discovery.decode(discovery.encode(odd)) is None


def test_words_are_256_and_none_stands_twice() -> None:
    assert len(WORDS) == len(set(WORDS)) == 256
    assert all(re.fullmatch(r"[a-z]{3,8}", word) for word in WORDS)


def test_codes_are_read_as_people_type_them() -> None:
    code = Code("012 345", ("a", "b", "c"))
    assert code.fits("012345") and code.fits("012 345") and code.fits("012-345")
    assert not code.fits("12345") and not code.fits("012346") and not code.fits("")


def test_digits_and_words_spread_evenly() -> None:
    codes = [protocol.code_of(os.urandom(32)) for _ in range(4000)]
    first = [sum(c.digits[0] == str(d) for c in codes) for d in range(10)]
    assert min(first) > 280 and max(first) < 520
    assert len({w for c in codes for w in c.words}) == 256
