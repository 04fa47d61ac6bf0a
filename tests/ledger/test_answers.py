"""Rows of answers and accounts carry what was answered, and running totals."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from tests.support.ledger_contract import EVENT

from tacit.accounting.answer import Answer, Output
from tacit.accounting.budget import Budget
from tacit.accounting.events import SparseInstance
from tacit.accounting.plan import Plan
from tacit.ledger import AnalystAccount, Tally
from tacit.ledger.codec import PlanCodec

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


@given(given=answers)
def test_an_answer_is_read_back_with_the_tally_after_it(given: list[Answer]) -> None:
    codec, tally = PlanCodec(PLAN), Tally.none(PLAN)
    for place, answer in enumerate(given):
        tally = tally.plus(answer)
        body = codec.encode_answer(bytes([place]) * 32, answer, tally)
        read, read_tally = codec.decode_answer(body)
        assert (read.values, read.secure) == (answer.values, answer.secure)
        assert Counter(read.cost) == Counter(answer.cost)
        assert read_tally == tally
        assert body[:32] == bytes([place]) * 32
        assert len(body) == 32 + 2 + 2 * 4 + 5 * 8 + 8
    assert tally.answered + tally.refused == len(given)
    assert sum(tally.events.values()) == sum(len(answer.cost) for answer in given)


@given(first=answers, then=answers, period=st.integers(0, 2))
def test_an_account_is_read_back_after_every_answer(
    first: list[Answer], then: list[Answer], period: int
) -> None:
    codec, account = PlanCodec(PLAN), AnalystAccount.none("alice", PLAN)
    for answer in first:
        account = account.plus(answer)
    account = account.at_period(period)
    assert account.in_period == (Tally.none(PLAN) if period else account.total)
    for place, answer in enumerate(then):
        account = account.plus(answer)
        body = codec.encode_shown(bytes([place]) * 32, account)
        assert codec.decode_shown("alice", body) == account
