"""What a process remembers between answers: as good as reading it, and only while nobody writes."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import AllowanceExceeded, BudgetExceeded, LedgerCorrupt
from tacit.ledger import Analyst, SqliteLedger
from tacit.ledger import known as known_module
from tacit.ledger.analysts import Account, ShownCodec
from tacit.ledger.answers import AnswerCodec, Usage
from tacit.privacy.answer import Answer, Output
from tacit.privacy.budget import Budget
from tacit.privacy.events import SparseInstance
from tacit.privacy.plan import Plan
from tacit.testing import failpoints
from tacit.testing.ledger_contract import BUDGET, EVENT, CountingRelease, plan_of


def opened(path: Path) -> SqliteLedger:
    return SqliteLedger(path, budget=BUDGET, allow_insecure=True)


def statements(ledger: SqliteLedger, plan: int, question: bytes) -> list[str]:
    """Return the statements with which one question is answered."""
    said: list[str] = []
    with ledger._file.borrow() as connection:
        connection.set_trace_callback(said.append)
        ledger.answer(plan, [question], CountingRelease())  # type: ignore[arg-type]
        connection.set_trace_callback(None)
    # A statement is heard once more for each that its trigger adds, which nobody said.
    return [text.split()[0] for text, _ in itertools.groupby(said)]


def test_an_answer_takes_four_statements_and_more_after_somebody_else_wrote(tmp_path: Path) -> None:
    mine, theirs = opened(tmp_path / "l"), opened(tmp_path / "l")
    plan = mine.open_plan(plan_of(0.5), "a")
    mine.answer(plan, [b"first"], CountingRelease())
    few = ["BEGIN", "SELECT", "INSERT", "COMMIT"]
    assert statements(mine, plan, b"second") == few
    theirs.answer(plan, [b"third"], CountingRelease())
    assert len(statements(mine, plan, b"fourth")) > len(few)
    assert statements(mine, plan, b"fifth") == few
    assert mine.usage(plan) == theirs.usage(plan) == {EVENT: 5}
    mine.verify()


def test_what_others_spent_counts_at_once(tmp_path: Path) -> None:
    mine, theirs = opened(tmp_path / "l"), opened(tmp_path / "l")
    plan = mine.open_plan(plan_of(0.5, answers=4), "a")
    alice = Analyst("alice", allowance=3)
    mine.answer(plan, [b"1"], CountingRelease(), on_behalf=alice)
    theirs.answer(plan, [b"2", b"3"], CountingRelease(), on_behalf=alice)
    release = CountingRelease()
    with pytest.raises(AllowanceExceeded):
        mine.answer(plan, [b"4"], release, on_behalf=alice)
    mine.answer(plan, [b"4"], release)
    with pytest.raises(BudgetExceeded):
        mine.answer(plan, [b"5"], release)
    assert release.draws == [[0]]
    mine.verify()


@pytest.mark.parametrize("point", ["after-draw", "after-write", "before-commit"])
def test_what_was_not_committed_is_not_remembered(tmp_path: Path, point: str) -> None:
    ledger = opened(tmp_path / "l")
    plan, alice = ledger.open_plan(plan_of(0.5), "a"), Analyst("alice")
    ledger.answer(plan, [b"1"], CountingRelease(), on_behalf=alice)

    def fail() -> None:
        raise RuntimeError

    with failpoints.at(point, fail), pytest.raises(RuntimeError):
        ledger.answer(plan, [b"2"], CountingRelease(), on_behalf=alice)
    ledger.answer(plan, [b"3"], CountingRelease(), on_behalf=alice)
    assert ledger.usage(plan) == {EVENT: 2}
    assert ledger.recorded_for(plan, "alice").total.answered == 2
    ledger.verify()


def test_the_accounts_of_many_analysts_are_right_however_few_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_module, "_MOST", 2)
    ledger = opened(tmp_path / "l")
    plans = [ledger.open_plan(plan_of(0.1, answers=100), name) for name in "abc"]
    for turn in range(3):
        for plan in plans:
            for name in ("alice", "bob", "carol"):
                question = f"{turn} {plan} {name}".encode()
                ledger.answer(plan, [question], CountingRelease(), on_behalf=Analyst(name))
    assert ledger._known is not None
    assert len(ledger._known.accounts) == len(ledger._known.usage) == 2
    assert {a.name: a.total.answered for a in ledger.accounts(plans[1])} == {
        "alice": 3, "bob": 3, "carol": 3,
    }  # fmt: skip
    ledger.verify()


def test_a_newest_row_that_was_edited_is_not_taken_for_the_one_that_is_known(
    tmp_path: Path,
) -> None:
    ledger = opened(tmp_path / "l")
    plan = ledger.open_plan(plan_of(0.5), "a")
    ledger.answer(plan, [b"1"], CountingRelease())
    with ledger._file.borrow() as connection:
        connection.execute("UPDATE ledger_row SET hash = zeroblob(32) WHERE seq = 2")
    with pytest.raises(LedgerCorrupt):
        ledger.answer(plan, [b"2"], CountingRelease())


# ---- many at once ----------------------------------------------------------------------------

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
        found = codec.decode(body)
        assert (found.key, found.answer.values, found.answer.secure) == (
            key, answer.values, answer.secure,
        )  # fmt: skip
        assert sorted(map(repr, found.answer.cost)) == sorted(map(repr, answer.cost))
        assert found.usage == state
    assert after == state


@given(first=answers, then=answers, period=st.integers(0, 2))
def test_many_answers_are_shown_as_one_after_the_other(
    first: list[Answer], then: list[Answer], period: int
) -> None:
    codec, account = ShownCodec(PLAN), Account.none("alice", PLAN)
    for answer in first:
        account = account.plus(answer)
    account = account.in_(period)
    shown = {bytes([place]) * 32: answer for place, answer in enumerate(then)}
    bodies, after = codec.encode_all(shown, account)
    for answer, body in zip(then, bodies, strict=True):
        account = account.plus(answer)
        assert codec.decode("alice", body) == account
    assert after == account
