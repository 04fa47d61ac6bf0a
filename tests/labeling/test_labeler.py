"""The labeler joins votes, noise and the ledger; nothing leaves by another way."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.support import failpoints

from tacit.accounting.budget import Budget
from tacit.audit import SeededNoise
from tacit.errors import (
    AllowanceExceeded,
    BudgetExceeded,
    InvalidArgument,
    LedgerError,
    LedgerUnavailable,
    NoiseError,
)
from tacit.labeling import Labeler, question_key, question_keys
from tacit.ledger import Analyst, Ledger, MemoryLedger, SqliteLedger
from tacit.mechanisms import ConfidentVote, GaussianVote, SparseVote
from tacit.mechanisms.base import VoteMechanism
from tacit.mechanisms.counts import VoteCounts
from tacit.noise import SecureNoise

TEACHERS = 1000
BUDGET = Budget(100.0, 1e-3)
SPARSE = SparseVote(scale=4.0, threshold=200.0, cutoff=4)
CLEAR, TIE = [10, 990], [500, 500]

# Python warns of forks beside other threads; the test runner has some, and these children are safe.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


def make(mechanism: VoteMechanism, ledger: Ledger | None = None, key: str = "run") -> Labeler:
    return Labeler(
        mechanism,
        MemoryLedger(BUDGET) if ledger is None else ledger,
        delta=1e-4,
        noise=SecureNoise(),
        n_teachers=TEACHERS,
        key=key,
    )


def votes(*rows: list[int]) -> VoteCounts:
    return VoteCounts(rows, TEACHERS)


def names(count: int, prefix: str = "q") -> list[bytes]:
    return [f"{prefix}{number}".encode() for number in range(count)]


def used(labeler: Labeler) -> int:
    return sum(labeler.ledger.usage(labeler.plan_id).values())


def test_clear_votes_are_answered_and_recorded() -> None:
    labeler = make(GaussianVote(sigma=20.0, answers=5))
    answers = labeler.ask(votes(CLEAR, CLEAR[::-1]), names(2))
    assert [a.label for a in answers] == [1, 0]
    assert used(labeler) == 2
    assert all(a.secure for a in answers)


def test_a_question_asked_again_is_not_drawn_again() -> None:
    labeler = make(GaussianVote(sigma=2000.0, answers=5, output="share"))
    first = labeler.ask(votes(CLEAR, CLEAR), names(2))
    again = labeler.ask(votes(TIE, TIE, TIE), [*names(2), b"q0"])
    assert [a.values for a in again] == [first[0].values, first[1].values, first[0].values]
    assert all(a.cost == () for a in again)
    assert used(labeler) == 2


def test_votes_are_counted_only_for_new_questions() -> None:
    labeler = make(GaussianVote(sigma=20.0, answers=5))
    asked: list[list[int]] = []

    def count(positions: Sequence[int]) -> VoteCounts:
        asked.append(list(positions))
        return votes(*[CLEAR if p % 2 else CLEAR[::-1] for p in positions])

    labeler.ask(count, [b"a", b"b"])
    answers = labeler.ask(count, [b"b", b"c", b"c", b"d"])
    labeler.ask(count, [b"d", b"a"])
    assert asked == [[0, 1], [1, 3]]
    assert [a.label for a in answers] == [1, 1, 1, 1]


def test_more_than_planned_is_refused_before_the_draw() -> None:
    labeler = make(GaussianVote(sigma=20.0, answers=3))
    labeler.ask(votes(CLEAR, CLEAR), names(2))
    with pytest.raises(BudgetExceeded, match="2 new questions"):
        labeler.ask(votes(CLEAR, CLEAR), names(2, "r"))
    assert used(labeler) == 2
    assert len(labeler.ask(votes(CLEAR), [b"last"])) == 1


def test_a_second_run_with_the_same_key_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    first = make(GaussianVote(sigma=20.0, answers=3), SqliteLedger(path, budget=BUDGET))
    first.ask(votes(CLEAR, CLEAR), names(2))
    second = make(GaussianVote(sigma=20.0, answers=3), SqliteLedger(path))
    assert second.plan_id == first.plan_id
    with pytest.raises(BudgetExceeded):
        second.ask(votes(CLEAR, CLEAR), names(2, "r"))
    assert len(second.ask(votes(CLEAR), [b"last"])) == 1


def test_sparse_answers_are_free_until_a_refusal() -> None:
    labeler = make(SPARSE)
    answers = labeler.ask(votes(CLEAR, CLEAR, TIE, CLEAR), names(4))
    assert [a.label for a in answers] == [1, 1, None, 1]
    assert [len(a.cost) for a in answers] == [1, 0, 0, 1]
    assert used(labeler) == 2


def test_a_sparse_run_stops_when_its_instances_are_used_up() -> None:
    labeler = make(SPARSE)
    answers = labeler.ask(votes(*[TIE] * 10), names(10))
    assert [a.refused for a in answers] == [True] * 4
    assert used(labeler) == 4
    with pytest.raises(BudgetExceeded):
        labeler.ask(votes(CLEAR), [b"more"])
    assert labeler.ask(votes(CLEAR), [b"q0"])[0].refused


def test_a_resumed_sparse_run_pays_anew_and_stays_within_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    first = make(SPARSE, SqliteLedger(path, budget=BUDGET))
    first.ask(votes(CLEAR, TIE, CLEAR), names(3))  # two instances, the second still live
    assert used(first) == 2
    second = make(SPARSE, SqliteLedger(path))
    (answer,) = second.ask(votes(CLEAR), [b"new"])
    assert len(answer.cost) == 1  # a threshold of its own
    answers = second.ask(votes(*[TIE] * 10), names(10, "t"))
    assert len(answers) == 2  # the live instance, and the last one of the plan
    assert used(second) == 4
    # The first process still has its live threshold, which is paid for, and nothing more.
    assert [a.refused for a in first.ask(votes(TIE, TIE), names(2, "u"))] == [True]
    with pytest.raises(BudgetExceeded):
        first.ask(votes(TIE), [b"v"])
    assert used(first) == 4


def test_a_confident_run_stops_within_its_answers() -> None:
    labeler = make(ConfidentVote(600.0, 20.0, 20.0, questions=8, answers=3))
    assert len(labeler.ask(votes(*[CLEAR] * 6), names(6))) == 3
    with pytest.raises(BudgetExceeded):
        labeler.ask(votes(CLEAR), [b"more"])


@pytest.mark.parametrize("point", ["after-draw", "after-write", "after-commit"])
def test_live_noise_is_abandoned_when_recording_fails(point: str) -> None:
    labeler = make(SPARSE)
    labeler.ask(votes(CLEAR), [b"a"])
    run = labeler.run

    def fail() -> None:
        raise LedgerUnavailable("unplugged")

    with failpoints.at(point, fail), pytest.raises(LedgerUnavailable):
        labeler.ask(votes(CLEAR), [b"b"])
    committed = point == "after-commit"
    assert (labeler.run is run) == committed
    (answer,) = labeler.ask(votes(CLEAR), [b"c"])
    assert len(answer.cost) == (0 if committed else 1)


def test_a_refusal_for_lack_of_room_keeps_the_live_threshold() -> None:
    labeler = make(GaussianVote(sigma=20.0, answers=1))
    run = labeler.run
    with pytest.raises(BudgetExceeded):
        labeler.ask(votes(CLEAR, CLEAR), names(2))
    assert labeler.run is run


def test_a_forked_child_starts_an_instance_of_its_own(tmp_path: Path) -> None:
    labeler = make(SPARSE, SqliteLedger(tmp_path / "ledger.sqlite", budget=BUDGET))
    labeler.ask(votes(CLEAR), [b"a"])
    child = os.fork()
    if child == 0:
        try:
            (answer,) = labeler.ask(votes(CLEAR), [b"child"])
            os._exit(0 if len(answer.cost) == 1 else 2)
        except BaseException:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert labeler.ask(votes(CLEAR), [b"parent"])[0].cost == ()
    assert used(labeler) == 2


def test_test_noise_needs_a_ledger_that_allows_it(tmp_path: Path) -> None:
    options = {"delta": 1e-4, "n_teachers": TEACHERS, "key": "run"}
    vote = GaussianVote(sigma=20.0, answers=3)
    strict = SqliteLedger(tmp_path / "strict.sqlite", budget=BUDGET)
    with pytest.raises(LedgerError, match="test noise"):
        Labeler(vote, strict, noise=SeededNoise(0), **options)  # type: ignore[arg-type]
    assert strict.head().seq == 0
    lax = SqliteLedger(tmp_path / "lax.sqlite", budget=BUDGET, allow_insecure=True)
    labeler = Labeler(vote, lax, noise=SeededNoise(0), **options)  # type: ignore[arg-type]
    (answer,) = labeler.ask(votes(CLEAR), [b"a"])
    assert not answer.secure
    assert "INSECURE" in lax.statement()


def test_votes_of_another_shape_are_refused() -> None:
    labeler = make(GaussianVote(sigma=20.0, answers=3))
    with pytest.raises(InvalidArgument, match="one row per question"):
        labeler.ask(votes(CLEAR), names(2))
    with pytest.raises(InvalidArgument, match="of 1000 teachers"):
        labeler.ask(VoteCounts([[1, 2]], 3), names(1))
    with pytest.raises(InvalidArgument, match="3 columns|2 columns"):
        labeler.ask(VoteCounts([[0, 0, 1000]], TEACHERS), names(1))
    assert used(labeler) == 0


def test_a_plan_that_does_not_fit_is_refused_when_the_labeler_is_made() -> None:
    with pytest.raises(BudgetExceeded, match="GaussianVote"):
        make(GaussianVote(sigma=1.0, answers=1000))


def test_a_labeler_cannot_be_copied() -> None:
    labeler = make(GaussianVote(sigma=20.0, answers=3))
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(NoiseError):
            duplicate(labeler)


def test_the_repr_shows_settings_only() -> None:
    labeler = make(GaussianVote(sigma=20.0, answers=3))
    labeler.ask(votes([123, 877]), [b"a"])
    assert "123" not in repr(labeler)


def test_question_keys_depend_on_the_numbers_alone() -> None:
    assert question_key(np.float32([0.5, -0.0])) == question_key([0.5, 0])
    assert question_key([0.0, 1.0]) != question_key([[0.0, 1.0]])
    assert question_key("text") != question_key("Text")
    assert len({*question_keys(np.eye(4))}) == 4
    assert question_key([np.nan]) == question_key([-np.nan])
    with pytest.raises(InvalidArgument):
        question_key(["a", "b"])


def test_answers_are_recorded_for_the_analyst_also_those_given_before() -> None:
    labeler = make(GaussianVote(sigma=20.0, answers=5))
    labeler.ask(votes(CLEAR, CLEAR), names(2))
    labeler.ask(votes(CLEAR, CLEAR), names(2), on_behalf=Analyst("alice"))
    (account,) = labeler.ledger.accounts(labeler.plan_id)
    assert (account.name, account.total.answered) == ("alice", 2)
    assert used(labeler) == 2


def test_a_sparse_run_stops_at_the_allowance_of_the_analyst() -> None:
    labeler = make(SparseVote(scale=4.0, threshold=200.0, cutoff=20))
    alice = Analyst("alice", allowance=3)
    answers = labeler.ask(votes(*[TIE] * 10), names(10), on_behalf=alice)
    assert len(answers) == 3
    with pytest.raises(AllowanceExceeded, match="alice"):
        labeler.ask(votes(TIE), [b"one more"], on_behalf=alice)
    assert len(labeler.ask(votes(*[TIE] * 10), names(10), on_behalf=Analyst("bob"))) == 10


def test_a_single_question_answered_elsewhere_gets_its_recorded_answer() -> None:
    ledger = MemoryLedger(BUDGET)
    first = make(GaussianVote(sigma=2000.0, answers=5, output="share"), ledger)
    given = first.ask(votes(CLEAR), [b"q"])
    again = make(GaussianVote(sigma=2000.0, answers=5, output="share"), ledger)
    for _ in range(2):
        repeated = again.ask(votes(CLEAR), [b"q"])
        assert repeated[0].values == given[0].values and repeated[0].cost == ()
    assert used(again) == 1


def test_what_a_labeler_remembers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.labeling.labeler.MOST_REMEMBERED", 4)
    labeler = make(GaussianVote(sigma=20.0, answers=50))
    for name in names(10):
        labeler.ask(votes(CLEAR), [name])
        assert len(labeler._answered) <= 4
    assert [a.cost for a in labeler.ask(votes(CLEAR), [b"q0"])] == [()]
