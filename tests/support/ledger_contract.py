"""What every ledger must do, whatever keeps its rows.

``check_ledger(make)`` runs all checks; ``LEDGER_CHECKS`` lists them, so that a test can run and
name each. ``make(budget, composition)`` returns a new ledger that accepts test noise.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tacit.accounting.answer import Answer, Output
from tacit.accounting.budget import Budget
from tacit.accounting.events import Event, GaussianCounts
from tacit.accounting.plan import Plan
from tacit.errors import AllowanceExceeded, BudgetExceeded, InvalidArgument, LedgerError
from tacit.ledger import Amount, Analyst, AnalystAccount, Composition, Ledger, Tally

MakeLedger = Callable[[Budget, Composition], Ledger]

EVENT: Event = GaussianCounts(50.0)
BUDGET = Budget(1.0, 1e-5)


def plan_of(epsilon: float, *, answers: int = 10, delta: float = 1e-6, width: int = 1) -> Plan:
    """Return a plan of so many answers with the guarantee given."""
    output = Output.LABEL if width == 1 else Output.SHARE
    return Plan("TestVote", ((EVENT, answers),), Budget(epsilon, delta), "test", output, width)


class CountingRelease:
    """Answers with 0, 1, 2, ... in the order drawn, and counts what happens to it."""

    def __init__(
        self,
        *,
        cost: Sequence[Event] = (EVENT,),
        stop_after: int | None = None,
        refuse: bool = False,
        first: int = 0,
    ) -> None:
        self.cost, self.stop_after, self.refuse = tuple(cost), stop_after, refuse
        self.next = first
        self.draws: list[list[int]] = []
        self.abandoned = 0

    def most(self, questions: int, room: Mapping[Event, int]) -> Mapping[Event, int]:
        """Every question may cost the full price."""
        return {event: questions * self.cost.count(event) for event in set(self.cost)}

    def draw(self, new: Sequence[int], room: Mapping[Event, int]) -> list[Answer]:
        """Count on."""
        self.draws.append(list(new))
        return [self._one() for _ in new][: self.stop_after]

    def abandon(self) -> None:
        """Count that too."""
        self.abandoned += 1

    def _one(self) -> Answer:
        value, self.next = self.next, self.next + 1
        values = None if self.refuse else (value,)
        return Answer(Output.LABEL, values, 1.0, 0.0, self.cost, secure=False)


def _ensure(holds: bool, claim: str) -> None:
    # Not an assert statement: the contract must also hold under python -O.
    if not holds:
        raise AssertionError(claim)


def _raises(kind: type[Exception], call: Callable[[], object], claim: str) -> Exception:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(claim)


def is_a_ledger(make: MakeLedger) -> None:
    """The object has every method of the protocol and the promises it was made with."""
    ledger = make(BUDGET, Composition.BASIC)
    _ensure(isinstance(ledger, Ledger), "it has the methods of Ledger")
    _ensure(ledger.budget == BUDGET, "it keeps its budget")
    _ensure(ledger.composition is Composition.BASIC, "it keeps its composition")
    _ensure(ledger.reserved() == Amount(0.0, 0.0), "nothing is reserved at first")
    _ensure(ledger.remaining() == Amount(1.0, 1e-5), "all is left at first")


def a_plan_reserves_its_whole_guarantee(make: MakeLedger) -> None:
    """Opening a plan takes its guarantee out of what is left, used or not."""
    ledger = make(BUDGET, Composition.BASIC)
    plan = ledger.open_plan(plan_of(0.75), "a")
    _ensure(ledger.reserved() == Amount(0.75, 1e-6), "the plan is reserved")
    _ensure(ledger.remaining().epsilon == 0.25, "the rest is left")
    _ensure(ledger.spent() == Amount(0.0, 0.0), "nothing was released yet")
    ledger.answer(plan, [b"q"], CountingRelease())
    _ensure(ledger.spent() == Amount(0.75, 1e-6), "a plan with one answer is spent")
    _ensure(ledger.plan(plan) == plan_of(0.75), "the plan can be read back")


def a_plan_that_does_not_fit_changes_nothing(make: MakeLedger) -> None:
    """Refused in epsilon or in delta, with what is left in the message."""
    ledger = make(BUDGET, Composition.BASIC)
    ledger.open_plan(plan_of(0.75), "a")
    before = ledger.head()
    for plan in (plan_of(0.26), plan_of(0.1, delta=9.5e-6)):
        error = _raises(BudgetExceeded, partial(ledger.open_plan, plan, "b"), "it must be refused")
        _ensure("0.25" in str(error), "the message says what is left")
        _raises(BudgetExceeded, partial(ledger.check_plan, plan), "checking it refuses it too")
    ledger.check_plan(plan_of(0.25))
    _ensure(ledger.head() == before, "a refusal or a check writes nothing")


def ten_tenths_are_one(make: MakeLedger) -> None:
    """Rounding of floats neither blocks the tenth plan nor lets an eleventh through."""
    ledger = make(BUDGET, Composition.BASIC)
    for number in range(10):
        ledger.open_plan(plan_of(0.1), f"plan {number}")
    _ensure(ledger.remaining().epsilon == 0.0, "nothing is left")
    for epsilon in (0.1, 1e-9):
        _raises(
            BudgetExceeded,
            partial(ledger.open_plan, plan_of(epsilon, delta=0.0), "one more"),
            "no further plan fits",
        )


def a_key_opens_one_plan(make: MakeLedger) -> None:
    """The same key and plan resume; another plan under the same key is refused."""
    ledger = make(BUDGET, Composition.BASIC)
    first = ledger.open_plan(plan_of(0.75), "a")
    head = ledger.head()
    _ensure(ledger.open_plan(plan_of(0.75), "a") == first, "the same plan comes back")
    _ensure(ledger.head() == head, "resuming costs nothing")
    _ensure(ledger.find_plan("a") == first, "it is found by its key")
    _ensure(ledger.find_plan("nobody") is None, "and no other is")
    _raises(InvalidArgument, lambda: ledger.open_plan(plan_of(0.1), "a"), "the key is taken")
    _raises(InvalidArgument, lambda: ledger.open_plan(plan_of(0.1), ""), "a key is not empty")


def a_question_is_drawn_once(make: MakeLedger) -> None:
    """Asked again, or twice in one batch, it gets the stored answer, free."""
    ledger = make(BUDGET, Composition.BASIC)
    plan = ledger.open_plan(plan_of(0.5), "a")
    release = CountingRelease()
    first = ledger.answer(plan, [b"x", b"y", b"x"], release)
    again = ledger.answer(plan, [b"y", b"z", b"x"], release)
    _ensure([a.label for a in first] == [0, 1, 0], "a double question has one answer")
    _ensure([a.label for a in again] == [1, 2, 0], "stored answers come back")
    _ensure([len(a.cost) for a in first + again] == [1, 1, 0, 0, 1, 0], "paid once each")
    _ensure(release.draws == [[0, 1], [1]], "only new questions are drawn")
    _ensure(ledger.usage(plan) == {EVENT: 3}, "three draws are counted")
    stored = ledger.recorded(plan, [b"x", b"unasked"])
    _ensure(list(stored) == [b"x"] and stored[b"x"] == first[0], "records keep what was paid")


def plans_have_answers_of_their_own(make: MakeLedger) -> None:
    """The same question under another plan is another draw, from that plan's room."""
    ledger = make(BUDGET, Composition.BASIC)
    one, two = (ledger.open_plan(plan_of(0.5), key) for key in ("a", "b"))
    ledger.answer(one, [b"x"], CountingRelease())
    (other,) = ledger.answer(two, [b"x"], CountingRelease(first=7))
    _ensure(other.label == 7, "drawn anew")
    _ensure(ledger.usage(one) == ledger.usage(two) == {EVENT: 1}, "charged to its own plan")


def what_may_not_fit_is_not_drawn(make: MakeLedger) -> None:
    """The most a batch can cost must fit in the plan before anything is drawn."""
    ledger = make(BUDGET, Composition.BASIC)
    plan = ledger.open_plan(plan_of(0.5, answers=3), "a")
    release = CountingRelease()
    ledger.answer(plan, [b"1", b"2"], release)
    before = ledger.head()
    _raises(
        BudgetExceeded, lambda: ledger.answer(plan, [b"3", b"4"], release), "one fits, two do not"
    )
    _ensure(len(release.draws) == 1 and not release.abandoned, "nothing was drawn")
    _ensure(ledger.head() == before, "nothing was written")
    answers = ledger.answer(plan, [b"1", b"2", b"3"], release)
    _ensure([a.label for a in answers] == [0, 1, 2], "old ones are free, so three fit")
    unplanned = CountingRelease(cost=(GaussianCounts(51.0),))
    _raises(
        BudgetExceeded,
        lambda: ledger.answer(plan, [b"5"], unplanned),
        "unplanned events are refused",
    )


def a_run_may_stop_on_the_way(make: MakeLedger) -> None:
    """Answers given are recorded; the list ends at the first question that has none."""
    ledger = make(BUDGET, Composition.BASIC)
    plan = ledger.open_plan(plan_of(0.5), "a")
    ledger.answer(plan, [b"old"], CountingRelease(first=9))
    answers = ledger.answer(plan, [b"1", b"old", b"2", b"3", b"old"], CountingRelease(stop_after=2))
    _ensure([a.label for a in answers] == [0, 9, 1], "up to the first without an answer")
    _ensure(set(ledger.recorded(plan, [b"1", b"2", b"3"])) == {b"1", b"2"}, "two were recorded")
    _ensure(ledger.usage(plan) == {EVENT: 3}, "and paid")


def refusals_and_free_answers_are_recorded(make: MakeLedger) -> None:
    """A refusal is an answer; an answer may cost nothing."""
    ledger = make(BUDGET, Composition.BASIC)
    plan = ledger.open_plan(plan_of(0.5), "a")
    (refused,) = ledger.answer(plan, [b"r"], CountingRelease(refuse=True))
    (free,) = ledger.answer(plan, [b"f"], CountingRelease(cost=()))
    _ensure(refused.refused and not free.refused, "both come back as they are")
    _ensure(ledger.usage(plan) == {EVENT: 1}, "only one was paid")
    tally = ledger.tally(plan)
    _ensure((tally.answered, tally.refused) == (1, 1), "answers and refusals are counted")
    (again,) = ledger.answer(plan, [b"r"], CountingRelease())
    _ensure(again.refused, "a refusal is not drawn again")


def a_draw_that_fails_leaves_nothing(make: MakeLedger) -> None:
    """Errors, answers that cost too much and answers of another kind are taken back."""
    ledger = make(BUDGET, Composition.BASIC)
    plan = ledger.open_plan(plan_of(0.5), "a")
    before = ledger.head()
    for release, error in (
        (_Broken(KeyboardInterrupt()), KeyboardInterrupt),
        (_Broken(ArithmeticError()), ArithmeticError),
        (_Broken(cost=(EVENT, EVENT)), LedgerError),
        (_Broken(values=(1, 2)), LedgerError),
        (_Broken(values=(2**63,)), LedgerError),
    ):
        try:
            ledger.answer(plan, [b"q"], release)
        except error:
            pass
        else:
            raise AssertionError("a broken draw must not be answered")
        _ensure(release.abandoned == 1, "live noise is abandoned")
        _ensure(ledger.head() == before and not ledger.recorded(plan, [b"q"]), "nothing stays")
    _ensure(len(ledger.answer(plan, [b"q"], CountingRelease())) == 1, "and it still works")


class _Broken(CountingRelease):
    """Raises, or answers something it should not."""

    def __init__(
        self,
        error: BaseException | None = None,
        *,
        cost: Sequence[Event] = (EVENT,),
        values: tuple[int, ...] = (0,),
    ) -> None:
        super().__init__()
        self._error, self._answer = (
            error,
            Answer(Output.LABEL, values, 1.0, 0.0, tuple(cost), False),
        )

    def draw(self, new: Sequence[int], room: Mapping[Event, int]) -> list[Answer]:
        if self._error is not None:
            raise self._error
        return [self._answer] * len(new)


def a_release_cannot_use_its_own_ledger(make: MakeLedger) -> None:
    """A draw that asks the same ledger is an error, not a deadlock or a double spend."""
    ledger = make(BUDGET, Composition.BASIC)
    plan = ledger.open_plan(plan_of(0.5), "a")

    class Nested(CountingRelease):
        def draw(self, new: Sequence[int], room: Mapping[Event, int]) -> list[Answer]:
            return ledger.answer(plan, [b"inner"], CountingRelease())

    _raises(LedgerError, lambda: ledger.answer(plan, [b"outer"], Nested()), "refused")
    _ensure(ledger.usage(plan) == {EVENT: 0}, "nothing was spent")


def threads_never_overspend(make: MakeLedger) -> None:
    """Eight threads at one plan of twenty answers get twenty together."""
    ledger = make(BUDGET, Composition.BASIC)
    plan = ledger.open_plan(plan_of(0.5, answers=20), "a")
    given: list[Answer] = []

    def work(name: int) -> None:
        for number in range(10):
            try:
                given.extend(ledger.answer(plan, [b"%d %d" % (name, number)], CountingRelease()))
            except BudgetExceeded:
                return

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _ensure(len(given) == 20, "as many answers as planned")
    _ensure(ledger.usage(plan) == {EVENT: 20}, "and as many counted")
    ledger.verify()


def the_chain_grows_and_holds(make: MakeLedger) -> None:
    """One row per plan and answer; an earlier head stays in it."""
    ledger = make(BUDGET, Composition.BASIC)
    start = ledger.verify()
    plan = ledger.open_plan(plan_of(0.5), "a")
    ledger.answer(plan, [b"1", b"2", b"3"], CountingRelease())
    _ensure(ledger.head().seq == start.seq + 4, "a row each")
    _ensure(ledger.verify(known=start) == ledger.head(), "it verifies")
    other = make(BUDGET, Composition.BASIC)
    _raises(
        LedgerError, lambda: other.verify(known=ledger.head()), "another ledger has other heads"
    )


def copies_are_the_ledger_itself(make: MakeLedger) -> None:
    """Cloned estimators spend from one account."""
    from sklearn.base import clone

    ledger = make(BUDGET, Composition.BASIC)
    _ensure(clone(ledger, safe=False) is ledger, "scikit-learn's clone")
    _ensure(copy.copy(ledger) is ledger and copy.deepcopy(ledger) is ledger, "copy, deepcopy")


def marks_test_noise(make: MakeLedger) -> None:
    """The statement says INSECURE as soon as one answer came from test noise."""
    ledger = make(BUDGET, Composition.BASIC)
    plan = ledger.open_plan(plan_of(0.5), "a")
    _ensure("INSECURE" not in ledger.statement(), "not before")
    (answer,) = ledger.answer(plan, [b"q"], CountingRelease())
    _ensure(not answer.secure, "the answer says so")
    _ensure("INSECURE" in ledger.statement(), "the statement says so")
    (again,) = ledger.answer(plan, [b"q"], CountingRelease())
    _ensure(not again.secure, "also when it is read back")


def concentrated_plans_compose_tighter(make: MakeLedger) -> None:
    """Under zCDP more plans fit than their epsilons alone would allow, and not too many."""
    ledger = make(BUDGET, Composition.ZCDP)
    opened = 0
    try:
        while True:
            # rho = 10 / (2 * 50**2) = 0.002; alone, at delta 1e-5, epsilon is about 0.27.
            ledger.open_plan(plan_of(0.27, answers=10, delta=1e-5), f"plan {opened}")
            opened += 1
    except BudgetExceeded:
        pass
    total = ledger.reserved()
    _ensure(opened > 4, "more than 1 / 0.27 plans fit")
    _ensure(total.epsilon <= 1.0 and total.delta == 1e-5, "within the budget")
    _ensure((ledger.remaining().rho or 0.0) < 0.002, "not one more would fit")


def closing_is_not_losing(make: MakeLedger) -> None:
    """A closed ledger opens again by itself, with all it had."""
    ledger = make(BUDGET, Composition.BASIC)
    plan = ledger.open_plan(plan_of(0.5), "a")
    ledger.answer(plan, [b"q"], CountingRelease(first=5))
    ledger.close()
    ledger.close()
    (answer,) = ledger.answer(plan, [b"q"], CountingRelease())
    _ensure(answer.label == 5, "the answer is still there")


def what_an_analyst_was_shown_is_recorded(make: MakeLedger) -> None:
    """With the answers, in one transaction; a repeated question counts once."""
    ledger = make(BUDGET, Composition.BASIC)
    plan = ledger.open_plan(plan_of(0.5), "a")
    alice = Analyst("alice")
    _ensure(ledger.accounts(plan) == [], "nobody was shown anything at first")
    ledger.answer(plan, [b"x", b"y", b"x"], CountingRelease(), on_behalf=alice)
    ledger.answer(plan, [b"z"], CountingRelease(refuse=True), on_behalf=alice)
    head = ledger.head()
    ledger.answer(plan, [b"x"], CountingRelease(), on_behalf=alice)
    _ensure(ledger.head() == head, "shown before: nothing to record")
    shown = Tally(answered=2, refused=1, insecure=3, events={EVENT: 3})
    account = AnalystAccount("alice", total=shown, period=0, in_period=shown)
    _ensure(ledger.recorded_for(plan, "alice") == account, "all that she was shown, once")
    _ensure(ledger.recorded_for(plan, "bob").total.events == {EVENT: 0}, "he was shown nothing")
    _ensure(ledger.accounts(plan) == [account], "and it is listed")
    ledger.verify()


def a_stored_answer_counts_for_whoever_is_shown_it(make: MakeLedger) -> None:
    """The data set pays once; each analyst's account counts what it cost to draw."""
    ledger = make(BUDGET, Composition.BASIC)
    one, two = (ledger.open_plan(plan_of(0.5), key) for key in ("a", "b"))
    ledger.answer(one, [b"x"], CountingRelease(first=5))
    for name in ("alice", "bob"):
        (answer,) = ledger.answer(one, [b"x"], CountingRelease(), on_behalf=Analyst(name))
        _ensure(answer.label == 5 and answer.cost == (), "the stored answer, free")
        _ensure(ledger.recorded_for(one, name).total.events == {EVENT: 1}, "counted for each")
    ledger.answer(two, [b"x"], CountingRelease(), on_behalf=Analyst("bob"))
    _ensure(ledger.recorded_for(one, "bob").total.answered == 1, "plans have accounts of their own")
    _ensure(ledger.usage(one) == {EVENT: 1}, "the data set paid once")
    _ensure([a.name for a in ledger.accounts(one)] == ["alice", "bob"], "in order of asking")
    ledger.verify()


def an_allowance_is_kept_and_renews(make: MakeLedger) -> None:
    """Within a period no more than allowed; afresh in a later one, never in an earlier one."""
    ledger = make(BUDGET, Composition.BASIC)
    plan = ledger.open_plan(plan_of(0.5), "a")

    def ask(question: bytes, period: int) -> list[Answer]:
        alice = Analyst("alice", period=period, allowance=2)
        return ledger.answer(plan, [question], CountingRelease(), on_behalf=alice)

    ledger.answer(plan, [b"stored"], CountingRelease())
    ask(b"1", 7), ask(b"2", 7)
    head = ledger.head()
    for question in (b"3", b"stored"):
        _raises(AllowanceExceeded, partial(ask, question, 7), "new or stored, it is too much")
        _raises(AllowanceExceeded, partial(ask, question, 6), "going back renews nothing")
    _ensure(ledger.head() == head, "a refusal writes nothing")
    _ensure(len(ask(b"1", 7)) == 1, "what she was shown she may see again")
    _ensure(len(ask(b"stored", 8) + ask(b"3", 8)) == 2, "a later period starts afresh")
    account = ledger.recorded_for(plan, "alice")
    _ensure(account.total.events == {EVENT: 4} and account.period == 8, "the total goes on")
    _ensure(account.in_period.events == {EVENT: 2}, "the period has its own")
    most = Analyst("bob", allowance=100)
    _raises(
        BudgetExceeded,
        lambda: ledger.answer(
            plan, [b"%d" % n for n in range(90)], CountingRelease(), on_behalf=most
        ),
        "an allowance does not raise the plan",
    )
    ledger.verify()


def a_run_that_may_stop_stays_within_the_allowance(make: MakeLedger) -> None:
    """Such a release sees as its room the smaller of what the plan and the analyst have left."""
    ledger = make(BUDGET, Composition.BASIC)
    plan = ledger.open_plan(plan_of(0.5), "a")

    class Stopping(CountingRelease):
        def most(self, questions: int, room: Mapping[Event, int]) -> Mapping[Event, int]:
            return {EVENT: min(questions, room[EVENT])}

        def draw(self, new: Sequence[int], room: Mapping[Event, int]) -> list[Answer]:
            return super().draw(new[: room[EVENT]], room)

    questions = [b"%d" % n for n in range(6)]
    alice = Analyst("alice", allowance=4)
    answers = ledger.answer(plan, questions, Stopping(), on_behalf=alice)
    _ensure(len(answers) == 4, "it stopped at the allowance")
    _ensure(ledger.usage(plan) == {EVENT: 4}, "and drew no more")
    _ensure(ledger.recorded_for(plan, "alice").total.answered == 4, "all drawn was shown")


def nobody_is_shown_what_failed(make: MakeLedger) -> None:
    """A draw that fails leaves no trace of who asked."""
    ledger = make(BUDGET, Composition.BASIC)
    plan = ledger.open_plan(plan_of(0.5), "a")
    before = ledger.head()
    alice = Analyst("alice")
    _raises(
        ArithmeticError,
        lambda: ledger.answer(plan, [b"q"], _Broken(ArithmeticError()), on_behalf=alice),
        "the error comes through",
    )
    _ensure(ledger.head() == before and not ledger.accounts(plan), "nothing stays")


LEDGER_CHECKS: tuple[Callable[[MakeLedger], None], ...] = (
    is_a_ledger,
    a_plan_reserves_its_whole_guarantee,
    a_plan_that_does_not_fit_changes_nothing,
    ten_tenths_are_one,
    a_key_opens_one_plan,
    a_question_is_drawn_once,
    plans_have_answers_of_their_own,
    what_may_not_fit_is_not_drawn,
    a_run_may_stop_on_the_way,
    refusals_and_free_answers_are_recorded,
    a_draw_that_fails_leaves_nothing,
    a_release_cannot_use_its_own_ledger,
    threads_never_overspend,
    the_chain_grows_and_holds,
    copies_are_the_ledger_itself,
    marks_test_noise,
    concentrated_plans_compose_tighter,
    closing_is_not_losing,
    what_an_analyst_was_shown_is_recorded,
    a_stored_answer_counts_for_whoever_is_shown_it,
    an_allowance_is_kept_and_renews,
    a_run_that_may_stop_stays_within_the_allowance,
    nobody_is_shown_what_failed,
)


def check_ledger(make: MakeLedger) -> None:
    """Raise ``AssertionError`` with the claim that fails, if one does.

    Examples
    --------
    >>> from tacit.ledger import MemoryLedger
    >>> check_ledger(lambda budget, composition: MemoryLedger(budget, composition=composition))
    """
    for check in LEDGER_CHECKS:
        check(make)
