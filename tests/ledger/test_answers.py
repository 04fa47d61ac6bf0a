"""Rows of answers and accounts carry the totals that adding one answer at a time would give."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.ledger_contract import EVENT

from tacit.accounting.answer import Answer, Output
from tacit.accounting.budget import Budget
from tacit.accounting.events import SparseInstance
from tacit.accounting.plan import Plan
from tacit.ledger.analysts import Account, ShownCodec
from tacit.ledger.answers import AnswerCodec, Usage

OTHER = SparseInstance(20.0, 1e-8)
PLAN = Plan("TestVote", ((EVENT, 50), (OTHER, 50)), Budget(1.0, 1e-6), "test")

answers = st.lists(
    st.builds(
        lambda value, cost, secure: Answer(
            Output.LABEL, None if value < 0 else (value,), 1.0, 0.0, tuple(cost), secure
        ),
        st.integers(-1, 9),
        st.lists(st.sampled_from([EVENT, OTHER]), max_size=3),
        st.booleans(),
    ),
    max_size=6,
)


@given(first=answers, then=answers)
def test_many_answers_are_written_as_one_after_the_other(
    first: list[Answer], then: list[Answer]
) -> None:
    codec, state = AnswerCodec(PLAN), Usage.none(PLAN)
    for answer in first:
        state = state.plus(answer)
    keys = [bytes([place]) * 32 for place in range(len(then))]
    bodies, after = codec.encode_all(keys, then, state)
    for key, answer, body in zip(keys, then, bodies, strict=True):
        state = state.plus(answer)
        entry = codec.decode(body)
        assert (entry.key, entry.answer.values, entry.answer.secure) == (
            key, answer.values, answer.secure,
        )  # fmt: skip
        assert sorted(map(repr, entry.answer.cost)) == sorted(map(repr, answer.cost))
        assert entry.usage == state
    assert after == state


@given(first=answers, then=answers, period=st.integers(0, 2))
def test_many_answers_are_shown_as_one_after_the_other(
    first: list[Answer], then: list[Answer], period: int
) -> None:
    codec, account = ShownCodec(PLAN), Account.none("alice", PLAN)
    for answer in first:
        account = account.plus(answer)
    account = account.at_period(period)
    shown = {bytes([place]) * 32: answer for place, answer in enumerate(then)}
    bodies = codec.encode_all(shown, account)
    for answer, body in zip(then, bodies, strict=True):
        account = account.plus(answer)
        assert codec.decode("alice", body) == account
