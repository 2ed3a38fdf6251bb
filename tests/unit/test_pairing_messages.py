"""Messages, codes, secrets and beacons of pairing, whole and mangled."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkladder.errors import UsageError
from linkladder.pairing import discovery, messages, protocol, secret, wordlist
from linkladder.pairing.messages import (
    ProtocolError,
    Role,
    decode,
)
from linkladder.pairing.protocol import Step
from linkladder.trust import keys
from pairing_ends import a_key, end, lines, mirrored, talk

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=5),
    max_leaves=20,
)
FIELDS = st.dictionaries(
    st.sampled_from(["t", "protocol", "version", "role", "method", "tie", "commitment", "name", "addresses", "port",
                     "user", "host_key", "user_key", "nonce", "tag", "stored", "host_proof", "id",
                     "fingerprint", "linkladder", "reason"]),
    JSON | st.sampled_from(["hello", "commit", "reveal", "confirm", "done", "refuse", 1, "initiator", "person"]),
)  # fmt: skip


@settings(max_examples=200)
@given(
    st.binary(max_size=5000) | FIELDS.map(lambda v: json.dumps(v).encode()) | JSON.map(lambda v: json.dumps(v).encode())
)
def test_no_message_does_more_than_end_the_pairing(data: bytes) -> None:
    one = end(Role.RESPONDER)
    with pytest.raises(ProtocolError):
        one.take(data)
    assert one.step is Step.FAILED and one.codes is None
    assert discovery.decode(data) is None


@given(st.integers(0, 3000), st.integers(0, 255))
def test_one_flipped_byte_never_gives_equal_codes(where: int, value: int) -> None:
    one, other = end(Role.INITIATOR), end(Role.RESPONDER)
    count = 0

    def pass_on(line: bytes) -> bytes:
        nonlocal count
        start, count = count, count + len(line)
        if start <= where < count - 1:
            changed = bytearray(line)
            changed[where - start] = value
            return bytes(changed)
        return line

    plain = talk(end(Role.INITIATOR, me=one.me), end(Role.RESPONDER, me=other.me))
    assert plain
    changed = False
    try:
        first = pass_on(one.start())
        changed = first != one.start()
        queue = [(other, one, first)]
        while queue:
            to, origin, line = queue.pop(0)
            for reply in lines(to.take(line)):
                sent = pass_on(reply)
                changed |= sent != reply
                queue.append((origin, to, sent))
    except ProtocolError:
        assert changed and (one.codes is None or not mirrored(one, other))
        return
    assert mirrored(one, other) is (not changed)


def test_deep_and_huge_messages_are_refused_without_memory() -> None:
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for data in (b"[" * 4000, b'{"t":' * 700, b'"' * 4095, b"9" * 4095, b'{"t":"hello","protocol":1e999}'):
        for _ in range(200):
            with pytest.raises(ProtocolError):
                decode(data)
            assert discovery.decode(data) is None
    assert tracemalloc.get_traced_memory()[0] - before < 200_000
    tracemalloc.stop()
    with pytest.raises(ProtocolError):
        decode(b" " * (messages.LIMIT + 1))


def test_code_and_words_carry_what_they_should() -> None:
    assert len(wordlist.WORDS) == len(set(wordlist.WORDS)) == 256
    assert all(w.isalpha() and w.islower() and 3 <= len(w) <= 8 for w in wordlist.WORDS)
    codes = [protocol.codes_of(n.to_bytes(4, "big"), Role.RESPONDER).shown for n in range(20000)]
    firsts = [int(c.digits[0]) for c in codes]
    assert all(1800 < firsts.count(d) < 2200 for d in range(10))
    assert len({c.words for c in codes}) > 19950


def test_secret_format() -> None:
    text = secret.new()
    assert len(secret.parse(text)) >= 16 and secret.parse(text.upper() + "\n") == secret.parse(text)
    for position in range(4, len(text)):
        if text[position] != "-":
            slipped = text[:position] + ("a" if text[position] != "a" else "b") + text[position + 1 :]
            with pytest.raises(UsageError):
                secret.parse(slipped)
    for bad in (
        "",
        "password",
        "ll1",
        text[:-1],
        text + "-abcd",
        text.replace("-", ""),
        "ll1-" + "-".join(["aaaa"] * 9),
    ):
        with pytest.raises(UsageError):
            secret.parse(bad)


@given(st.text(max_size=200))
def test_nothing_random_is_a_secret(text: str) -> None:
    with pytest.raises(UsageError):
        secret.parse(text)


def test_a_beacon_comes_back_as_it_was_and_fits_its_limit() -> None:
    many = tuple(f"2001:db8:aaaa:bbbb:cccc:dddd:eeee:{n:04x}" for n in range(16))
    beacon = discovery.Beacon(1, "ab" * 16, "a" * 63, "1.0", many, 8623, keys.fingerprint(a_key()), "12" * 8, "")
    data = discovery.encode(beacon)
    assert len(data) <= discovery.LIMIT and discovery.decode(data) == beacon
    wrong = [{"name": "a b"}, {"name": "<b>"}, {"port": 0}, {"port": 65536}, {"addresses": ("x",)}, {"id": ""},
             {"addresses": ("fe80::1%eth0",)}, {"fingerprint": "SHA256:x"}, {"linkladder": 2}]  # fmt: skip
    for change in wrong:
        assert discovery.decode(discovery.encode(replace(beacon, **change))) is None
