"""Labels for points of a public pool: positions in, recorded answers out.

A batch, or a student that chooses its questions, is given this object and nothing else: it returns
answers and charges the ledger. The votes stay inside.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit import validation
from tacit.accounting.answer import Answer, Output
from tacit.accounting.budget import Budget
from tacit.accounting.events import Event
from tacit.accounting.filter import PrivacyFilter
from tacit.accounting.plan import Plan
from tacit.errors import InvalidArgument, MechanismStopped
from tacit.labeling.labeler import Labeler
from tacit.ledger import Composition, Ledger
from tacit.ledger.composition import FAILURE_SHARE
from tacit.mechanisms.base import PaidPerAnswer
from tacit.mechanisms.counts import VoteCounts
from tacit.mechanisms.noisy_argmax import GaussianVote, gaussian_moves
from tacit.noise import LARGEST_SCALE, SMALLEST_SCALE, NoiseSource, Uncopyable

IndexArray = NDArray[np.intp]
NoiseRule = Callable[[NDArray[np.int64], int, float], float]
"""From (labels released so far, size of the next batch, even sigma) to the next batch's sigma.

The even sigma is the one at which what is left of the budget pays for every question that is still
planned. The rule sees released labels only, never a vote.
"""


class PoolLabeler(Protocol):
    """Answers questions about the points of one public pool."""

    @property
    def guarantee(self) -> Budget:
        """What holds for all answers together, fixed before the first."""

    @property
    def accountant(self) -> str:
        """Which proof gives that guarantee."""

    @property
    def output(self) -> Output:
        """What an answer holds."""

    @property
    def left(self) -> int:
        """How many more questions may be reached; a run may stop before. Public."""

    def ask(self, positions: IndexArray) -> list[Answer]:
        """Answer the questions here. Shorter than asked when the run stopped early."""

    def usage(self) -> dict[Event, int]:
        """Return what the answers so far have cost."""


class PlannedPoolLabeler(Uncopyable):
    """Answers with one mechanism whose noise was fixed for the whole run.

    Parameters
    ----------
    votes : VoteCounts
        One row per point of the pool that may be asked about. Private.
    names : sequence of bytes
        Public name of each of them.
    labeler : Labeler

    Privacy
    -------
    The plan of the labeler, whatever is asked and in whatever order: which question comes next may
    depend on every answer before it. Proof: ``docs/proofs/active.md``.
    """

    def __init__(self, votes: VoteCounts, names: Sequence[bytes], labeler: Labeler) -> None:
        self._votes, self._names, self._labeler = _checked(votes, names), list(names), labeler
        self._stopped = False

    @property
    def guarantee(self) -> Budget:
        """The plan's."""
        return self._labeler.plan.guarantee

    @property
    def accountant(self) -> str:
        """The plan's."""
        return self._labeler.plan.accountant

    @property
    def output(self) -> Output:
        """The mechanism's."""
        return self._labeler.plan.output

    @property
    def left(self) -> int:
        """What the plan has room for; the whole pool where only refusals or answers are paid."""
        if self._stopped:
            return 0
        if not isinstance(self._labeler.run, PaidPerAnswer):
            return len(self._names)
        used = self.usage()
        return min(most - used.get(event, 0) for event, most in self._labeler.plan.events)

    def ask(self, positions: IndexArray) -> list[Answer]:
        """Answer the questions here. Shorter than asked when the run stopped early."""
        names = [self._names[position] for position in positions]
        try:
            answers = self._labeler.ask(self._votes[positions], names)
        except MechanismStopped:
            answers = []  # the last answer of the batch before used up what the run had
        self._stopped |= len(answers) < len(names)
        return answers

    def usage(self) -> dict[Event, int]:
        """As the ledger has it."""
        return self._labeler.ledger.usage(self._labeler.plan_id)

    def __repr__(self) -> str:
        return f"PlannedPoolLabeler({self._labeler!r}, votes=<private>)"


class FilteredPoolLabeler(Uncopyable):
    """Answers with Gaussian noise that a rule chooses anew for every batch.

    Every batch is a plan of its own on the ledger, admitted by a privacy filter before it is drawn.
    A filter adds up zero-concentrated prices, which costs about a tenth more noise than a plan that
    was fixed beforehand: a rule has to earn that back.

    Parameters
    ----------
    votes, names
        As for ``PlannedPoolLabeler``.
    rule : NoiseRule
    budget : Budget
        What holds for all batches together.
    planned : int
        How many questions are planned; the even sigma divides what is left by those that are left.
    ledger : Ledger
        With ``zcdp`` composition: other ledgers would add up the epsilons of batches.
    noise : NoiseSource
    output : Output
    key : str
        Public name of the run.

    Privacy
    -------
    Fully adaptive composition of zCDP [WRRW23]: the next sigma may depend on every answer so far,
    and the total stays within a limit fixed at the start. Proof: ``docs/proofs/active.md``.
    """

    accountant = "a privacy filter on zero-concentrated prices"

    def __init__(
        self,
        votes: VoteCounts,
        names: Sequence[bytes],
        rule: NoiseRule,
        *,
        budget: Budget,
        planned: int,
        ledger: Ledger,
        noise: NoiseSource,
        output: Output,
        key: str,
    ) -> None:
        self._votes, self._names, self._rule = _checked(votes, names), list(names), rule
        self._filter, self._ledger, self._noise = filter_for(budget), ledger, noise
        self._planned = validation.positive_integer(planned=planned)
        self._output, self._key, self._batch = output, key, 0
        self._answers: dict[int, Answer] = {}
        # What the filter has left is read and spent by one thread at a time.
        self._lock = threading.RLock()

    @property
    def guarantee(self) -> Budget:
        """The filter's budget."""
        return self._filter.budget

    @property
    def output(self) -> Output:
        """What an answer holds."""
        return self._output

    @property
    def left(self) -> int:
        """How many of the planned questions were not asked yet; none once all is spent."""
        if math.isinf(self._even()):
            return 0
        return self._planned - len(self._answers)

    def ask(self, positions: IndexArray) -> list[Answer]:
        """Answer one batch; empty when the noise the rule wants does not fit any more."""
        with self._lock:
            new = list(dict.fromkeys(int(p) for p in positions if int(p) not in self._answers))
            if new and not self._draw(new):
                return []
            return [self._answers[int(position)] for position in positions]

    def _even(self) -> float:
        questions = self._planned - len(self._answers)
        return even_sigma(self._filter, questions, self._votes.n_classes)

    def _draw(self, new: list[int]) -> bool:
        if len(new) > self.left:
            return False
        plan = self._next(len(new))
        ((event, times),) = plan.planned_events()
        if not self._filter.admits(event, times):
            return False
        self._filter.spend(event, times)
        self._batch += 1
        labeler = Labeler(
            plan,
            self._ledger,
            delta=self._filter.budget.delta,
            noise=self._noise,
            n_teachers=self._votes.n_teachers,
            key=f"{self._key}-batch-{self._batch}",
        )
        answers = labeler.ask(self._votes[new], [self._names[position] for position in new])
        self._answers.update(zip(new, answers, strict=True))
        return True

    def _next(self, size: int) -> GaussianVote:
        labels = np.array([answer.label for answer in self._answers.values()], dtype=np.int64)
        sigma: Any = self._rule(labels, size, self._even())
        number = isinstance(sigma, int | float | np.integer | np.floating)
        if not number or not SMALLEST_SCALE <= sigma <= LARGEST_SCALE:
            raise InvalidArgument(
                f"`noise_rule` must return a sigma between 2**-20 and 2**50, got {sigma!r}."
            )
        return GaussianVote(
            float(sigma), n_classes=self._votes.n_classes, answers=size, output=self._output
        )

    def usage(self) -> dict[Event, int]:
        """What the filter admitted."""
        return dict(Counter(self._filter.admitted))

    def __repr__(self) -> str:
        return f"FilteredPoolLabeler({self._ledger!r}, votes=<private>)"


def filter_for(budget: Budget) -> PrivacyFilter:
    """Return the filter of an adaptive run: its limit is that of a ``zcdp`` ledger."""
    return PrivacyFilter(budget, failure_share=FAILURE_SHARE)


def even_sigma(limit: PrivacyFilter, questions: int, n_classes: int) -> float:
    """Return the sigma at which what a filter has left pays for ``questions``.

    Infinite when no more than rounding is left.

    Examples
    --------
    >>> round(even_sigma(filter_for(Budget(1.0, 1e-5)), 300, 2), 1)
    70.5
    """
    # A reserve stays unspent, so that rounding never refuses the last batch.
    reserve = 1e-9 * limit.rho_limit
    left = limit.rho_limit - limit.rho - reserve
    if left <= reserve:
        return math.inf
    return math.sqrt(gaussian_moves(n_classes) * max(questions, 1) / (2 * left))


def check_rule(ledger: Ledger) -> None:
    """Refuse, before anything is trained, a ledger on which batches would add up badly."""
    if ledger.composition is not Composition.ZCDP:
        raise InvalidArgument(
            "`noise_rule` needs a ledger with composition 'zcdp', got "
            f"{ledger.composition.value!r}: every batch is a plan of its own, and adding up their "
            "epsilons would waste most of the budget."
        )


def even_plan(
    budget: Budget, planned: int, n_classes: int, output: Output, n_teachers: int
) -> Plan:
    """Return the plan an adaptive run has when its rule changes nothing: what a ledger checks."""
    sigma = even_sigma(filter_for(budget), planned, n_classes)
    vote = GaussianVote(sigma, n_classes=n_classes, answers=planned, output=output)
    return vote.plan(budget.delta, n_teachers=n_teachers)


def _checked(votes: VoteCounts, names: Sequence[bytes]) -> VoteCounts:
    validation.instance(VoteCounts, votes=votes)
    if votes.n_questions != len(names):
        raise InvalidArgument(
            f"`votes` must have one row per name, {len(names)}, got {votes.n_questions}."
        )
    return votes
