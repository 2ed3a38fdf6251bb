"""The pairing exchange: equal codes between two, different ones with a third in between, and nothing else accepted."""

from __future__ import annotations

import copy
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkladder.pairing import messages, secret
from linkladder.pairing.messages import (
    Commit,
    Confirm,
    Done,
    Hello,
    ProtocolError,
    Reason,
    Reveal,
    Role,
    decode,
    encode,
)
from linkladder.pairing.protocol import Handshake, Step
from pairing_ends import Toy, a_key, end, hear, identity, lines, mirrored, real, talk, yes


def test_each_end_shows_what_is_due_at_the_other() -> None:
    one, other = end(Role.INITIATOR, "alpha"), end(Role.RESPONDER, "beta")
    talk(one, other)
    assert one.codes and other.codes and mirrored(one, other)
    assert one.codes.shown != one.codes.due, "what stands on one's own screen answers nothing"
    assert len(one.codes.shown.digits) == 7 and len(one.codes.shown.words) == 3
    assert one.peer and one.peer.host_key == other.me.host_key and one.peer.name == "beta"
    assert other.peer and other.peer.user_key == one.me.user_key


def test_nothing_is_agreed_before_both_confirmed() -> None:
    one, other = end(Role.INITIATOR), end(Role.RESPONDER)
    talk(one, other)
    said = yes(one)
    assert not one.agreed
    with pytest.raises(ProtocolError):
        one.done()
    hear(other, said)
    assert not other.agreed
    hear(one, yes(other))
    assert one.agreed and other.agreed
    one.take(other.done())
    assert one.step is Step.DONE


def test_nothing_is_revealed_before_the_other_commitment_came() -> None:
    one, other = end(Role.INITIATOR), end(Role.RESPONDER)
    said = other.take(one.start())
    assert b'"reveal"' not in said and not other.revealed
    first = lines(said)[0]
    assert b'"reveal"' not in one.take(first) and not one.revealed


def test_roles_are_in_the_hash() -> None:
    """The same words said in the other role give another commitment."""
    me = identity()
    one, other = end(Role.INITIATOR, me=me), end(Role.RESPONDER, me=me)
    reveal = encode(replace(me, nonce="ab" * 32))
    assert one._commitment(Role.INITIATOR, reveal) != other._commitment(Role.RESPONDER, reveal)


def test_a_thousand_men_in_the_middle_never_show_equal_codes() -> None:
    """Keys substituted on both sides, the two talks interleaved at random; beyond chance is 1000 in a million runs.

    A further thousand, over real sockets and through a router, are among the lab's tests.
    """
    equal = words_equal = 0
    dice = random.Random(8623)
    for _ in range(1000):
        alpha, beta = end(Role.INITIATOR, "alpha"), end(Role.RESPONDER, "beta")
        to_alpha = end(Role.RESPONDER, me=replace(alpha.me, name="beta", host_key=a_key(), user_key=a_key()))
        to_beta = end(Role.INITIATOR, me=replace(beta.me, name="alpha", host_key=a_key(), user_key=a_key()))
        talks = [[(to_alpha, alpha, alpha.start())], [(beta, to_beta, to_beta.start())]]
        while queues := [q for q in talks if q]:
            queue = dice.choice(queues)  # what he holds back and what he lets pass first is his to choose
            to, origin, line = queue.pop(0)
            queue += [(origin, to, reply) for reply in lines(to.take(line))]
        assert alpha.codes and beta.codes
        for one, other in ((alpha.codes, beta.codes), (beta.codes, alpha.codes)):
            equal += one.due.digits == other.shown.digits
            words_equal += one.due.words == other.shown.words
    assert equal <= 1 and words_equal == 0


def agreed_code() -> tuple[Handshake, Handshake]:
    one, other = end(Role.INITIATOR, "alpha"), end(Role.RESPONDER, "beta")
    talk(one, other)
    return one, other


def test_a_relay_cannot_say_yes_for_the_other_end() -> None:
    """He passed everything on unchanged, so the codes agree; but he owns neither key that signs a yes."""
    one, other = agreed_code()
    assert mirrored(one, other)
    theirs = decode(yes(other))
    assert isinstance(theirs, Confirm)
    for forged in (
        replace(theirs, host_proof=Toy(identity()).sign(b"x" * 32).host),  # a signature of his own
        replace(theirs, user_proof=theirs.host_proof),  # one key's proof in the other's place
        replace(theirs, stored="ab" * 32),  # another promise than was signed
    ):
        fresh = copy.copy(one)
        with pytest.raises(ProtocolError) as seen:
            hear(fresh, encode(forged))
        assert seen.value.reason is Reason.PROOF and not fresh.peer_confirmed and fresh.step is Step.FAILED
    hear(one, encode(theirs))
    assert one.peer_confirmed


def test_a_yes_said_in_one_role_or_talk_is_none_in_another() -> None:
    one, other = agreed_code()
    mine = yes(one)
    with pytest.raises(ProtocolError) as seen:
        hear(one, mine)  # reflected: its own signature, under the keys that the other end revealed
    assert seen.value.reason is Reason.PROOF
    again, fresh = end(Role.INITIATOR, me=one.me), end(Role.RESPONDER, me=other.me)
    talk(again, fresh)
    with pytest.raises(ProtocolError):
        hear(fresh, mine)


def test_whoever_shows_somebody_elses_keys_is_not_pinned(tmp_path: Path) -> None:
    """Keys of ssh-keygen's making and its signatures: eve shows beta's public keys, one or both, as her own."""
    (a_card, a_keys), (b_card, _), (e_card, e_keys) = (real(n, tmp_path / n) for n in ("alpha", "beta", "eve"))
    for shown in (
        replace(e_card, host_key=b_card.host_key),
        replace(e_card, user_key=b_card.user_key),
        replace(b_card, name="eve"),
    ):
        alpha = end(Role.RESPONDER, me=a_card, prover=a_keys)
        eve = end(Role.INITIATOR, me=shown, prover=e_keys)
        talk(eve, alpha)
        with pytest.raises(ProtocolError) as seen:
            hear(alpha, yes(eve))
        assert seen.value.reason is Reason.PROOF
    alpha, eve = end(Role.RESPONDER, me=a_card, prover=a_keys), end(Role.INITIATOR, me=e_card, prover=e_keys)
    talk(eve, alpha)
    hear(alpha, yes(eve))
    assert alpha.peer_confirmed and len(yes(alpha)) < messages.LIMIT


def test_only_the_end_that_confirmed_can_say_that_it_has_stored() -> None:
    one, other = agreed_code()
    hear(one, yes(other))
    hear(other, yes(one))
    with pytest.raises(ProtocolError):
        one.take(encode(Done("00" * 32)))
    one, other = agreed_code()
    hear(one, yes(other))
    hear(other, yes(one))
    one.take(other.done())
    assert one.step is Step.DONE


def test_relaying_with_one_field_changed_is_seen() -> None:
    """The other's commitment is passed on and its opening altered."""
    for change in ("host_key", "user_key", "name", "port", "addresses", "user", "nonce"):
        one, other = end(Role.INITIATOR), end(Role.RESPONDER)
        hello, commit = lines(other.take(one.start()))
        mine = one.take(hello)
        reveal = decode(other.take(mine))
        assert isinstance(reveal, Reveal)
        one.take(commit)
        altered = {"host_key": a_key(), "user_key": a_key(), "name": "gamma", "port": 1, "addresses": ("10.9.9.9",),
                   "user": "root", "nonce": "00" * 32}[change]  # fmt: skip
        with pytest.raises(ProtocolError) as seen:
            one.take(encode(replace(reveal, **{change: altered})))
        assert seen.value.reason is Reason.OPENING
        assert one.step is Step.FAILED and one.codes is None


def test_altered_hello_gives_other_codes_or_an_end() -> None:
    one, other = end(Role.INITIATOR), end(Role.RESPONDER)
    hello = decode(one.start())
    assert isinstance(hello, Hello)
    first, commit = lines(other.take(encode(replace(hello, version="9.9"))))
    reveal = other.take(one.take(first))
    other.take(one.take(commit))
    one.take(reveal)
    assert one.codes and other.codes and not mirrored(one, other)


def test_ones_own_words_sent_back_are_refused() -> None:
    one = end(Role.INITIATOR)
    with pytest.raises(ProtocolError) as seen:
        one.take(one.start())
    assert seen.value.reason is Reason.SELF
    me = identity()
    one, twin = end(Role.INITIATOR, me=me), end(Role.RESPONDER, me=replace(me, name="twin"))
    with pytest.raises(ProtocolError) as seen:
        talk(one, twin)
    assert seen.value.reason is Reason.SELF
    one, other = end(Role.INITIATOR), end(Role.RESPONDER)
    mine = one.take(lines(other.take(one.start()))[0])
    with pytest.raises(ProtocolError) as seen:
        one.take(mine)
    assert seen.value.reason is Reason.SELF


def test_a_replayed_transcript_is_refused() -> None:
    """All that a responder once said, said again to the same person's next call, and the confirmation too."""
    one, other = end(Role.INITIATOR), end(Role.RESPONDER)
    talk(one, other)
    old_yes = yes(other)
    again, fresh = end(Role.INITIATOR, me=one.me), end(Role.RESPONDER, me=other.me)
    talk(again, fresh)
    assert again.codes != one.codes
    with pytest.raises(ProtocolError):
        hear(again, old_yes)
    third = end(Role.INITIATOR, me=one.me)
    commit = Commit(other._commitment(Role.RESPONDER, other._reveal))
    third.take(other._hello)
    third.take(encode(commit))
    third.take(other._reveal)  # it opens, for it was bound by it; but the code and the confirmation are new
    assert third.codes != one.codes
    with pytest.raises(ProtocolError):
        hear(third, old_yes)


def test_a_site_secret_confirms_only_between_its_holders() -> None:
    key, wrong = secret.parse(secret.new()), secret.parse(secret.new())
    one, other = end(Role.INITIATOR, secret=key), end(Role.RESPONDER, secret=key)
    talk(one, other)
    hear(other, yes(one))
    hear(one, yes(other))
    assert one.agreed and other.agreed
    one, other = end(Role.INITIATOR, secret=key), end(Role.RESPONDER, secret=wrong)
    talk(one, other)
    with pytest.raises(ProtocolError) as seen:
        other.take(yes(one))
    assert seen.value.reason is Reason.SECRET
    one, other = end(Role.INITIATOR, secret=key), end(Role.RESPONDER)
    with pytest.raises(ProtocolError) as seen:
        talk(one, other)
    assert seen.value.reason is Reason.METHOD


def test_a_secret_holder_in_one_role_does_not_speak_for_the_other() -> None:
    """The HMAC one end sends cannot be sent back to it."""
    key = secret.parse(secret.new())
    one, other = end(Role.INITIATOR, secret=key), end(Role.RESPONDER, secret=key)
    talk(one, other)
    with pytest.raises(ProtocolError):
        one.take(yes(one))


def test_relayed_secret_does_not_confirm_other_keys() -> None:
    """A man in the middle without the secret, who passes the HMACs on."""
    key = secret.parse(secret.new())
    alpha, beta = end(Role.INITIATOR, secret=key), end(Role.RESPONDER, secret=key)
    talk(alpha, end(Role.RESPONDER, secret=b"x" * 32))
    talk(end(Role.INITIATOR, secret=b"x" * 32), beta)
    with pytest.raises(ProtocolError):
        beta.take(yes(alpha))
    with pytest.raises(ProtocolError):
        alpha.take(yes(beta))


@given(st.sampled_from(["hello", "commit", "reveal", "confirm", "done"]), st.integers(0, 4))
def test_messages_out_of_order_end_it(kind: str, after: int) -> None:
    one, other = end(Role.INITIATOR), end(Role.RESPONDER)
    proofs = Toy(one.me).sign(b"x" * 32)
    said = {"hello": other._hello, "commit": encode(Commit("ab" * 32)), "reveal": other._reveal,
            "confirm": encode(Confirm("cd" * 32, proofs.host, proofs.user)),
            "done": encode(Done("ef" * 32))}  # fmt: skip
    order = ["hello", "commit", "reveal", "confirm", "done"]
    due = order[0]
    if after >= 1:
        hello, commit = lines(other.take(one.start()))
        mine = one.take(hello)
        due = "commit"
        if after >= 2:
            reveal = other.take(mine)
            one.take(commit)
            due = "reveal"
            if after >= 3:
                one.take(reveal)
                due = "confirm"
    if kind != due:
        with pytest.raises(ProtocolError):
            one.take(said[kind])
        assert one.step is Step.FAILED
