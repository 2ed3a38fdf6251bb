"""Which beacons are read where more come than can be."""

from __future__ import annotations

import pytest

from linkladder.pairing import sieve
from linkladder.pairing.sieve import Sieve, Tokens

TICK = 0.1
MOST = int(sieve.PER_SECOND * TICK)


def source(number: int) -> tuple[str, int]:
    return f"198.18.{number // 250}.{number % 250}", 8623


def echo(token: str) -> bytes:
    return f'{{"echo":"{token}"}}'.encode()


def flooded(tokens: Tokens) -> Sieve:
    """One that has read the first of a moment already."""
    one = Sieve(tokens)
    while one.add(b"{}", source(0)):
        pass
    one._waiting.clear()
    return one


def test_of_a_flood_from_many_sources_a_fixed_number_is_read() -> None:
    one = Sieve(Tokens())
    assert sum(one.add(b"{}", source(number)) for number in range(5 * MOST)) == sieve.FIRST
    assert len(one.chosen((), (), TICK)) == MOST - sieve.FIRST and one.chosen((), (), TICK) == []


def test_where_there_is_no_flood_nobody_waits_and_of_one_source_all_are_read() -> None:
    one = Sieve(Tokens())
    for _ in range(3):
        assert all(one.add(b"{}", source(number % 4)) for number in range(sieve.FIRST))
        assert one.chosen((), (), TICK) == []


def test_who_has_answered_is_read_whatever_the_others_send() -> None:
    one = Sieve(Tokens())
    for number in range(5 * MOST):
        one.add(b"{}", source(number))
    proven = {f"{source(3 * MOST)[0]}%0"}
    assert source(3 * MOST) in [where for _, where in one.chosen(proven, (), TICK)]


def test_a_token_is_good_for_one_reading_at_once_and_not_for_a_flood() -> None:
    """Whoever answered once could have any number of beacons read while the token was good."""
    tokens = Tokens()
    one = flooded(tokens)
    answer = echo(tokens.make(source(1)))
    assert one.add(answer, source(1))
    assert sum(one.add(answer, source(1)) for _ in range(100)) <= 1
    assert len(one.chosen((), (), TICK)) == 1, "the rest waits with all others"


def test_a_later_answer_is_read_at_once_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("linkladder.pairing.sieve.time.monotonic", lambda: now)
    tokens = Tokens()
    one = flooded(tokens)
    assert one.add(echo(tokens.make(source(1))), source(1))
    now += 2.0
    assert one.add(echo(tokens.make(source(1))), source(1))


def test_a_token_of_another_address_or_of_long_ago_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("linkladder.pairing.sieve.time.monotonic", lambda: now)
    tokens = Tokens()
    one, token = flooded(tokens), tokens.make(source(1))
    assert not one.add(echo(token), source(2)) and not flooded(Tokens()).add(echo(token), source(1))
    now += sieve.ANSWERED_IN + 1
    assert not one.add(echo(token), source(1))
