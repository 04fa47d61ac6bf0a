"""The mechanisms that are compared, how each is set for a budget, and the public rule for it.

Every mechanism has one number that is planned beforehand: how many answers, or (sparse vector) how
many refusals. More of them means more noise. ``Way.make`` returns the mechanism of a plan that
spends the whole budget. The *public rule* takes the largest plan under which a question on which
three quarters of the teachers agree still gets the right label with probability 0.95. It sees the
number of teachers, the classes and the budget, no votes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

from scipy import special

from tacit.accounting.budget import Budget
from tacit.accounting.sparse import unstable_probability
from tacit.mechanisms import (
    ConfidentVote,
    ExponentialVote,
    GaussianVote,
    LaplaceVote,
    SparseVote,
    StableVote,
)
from tacit.mechanisms.base import VoteMechanism
from tacit.planning.noise_tails import (
    gaussian_at_least,
    laplace_at_least,
    laplace_difference_at_least,
)

RULE_AGREEMENT = 0.75
RULE_CHANCE = 0.95


@dataclass(frozen=True)
class Terms:
    """What is public about a set of votes."""

    budget: Budget
    n_teachers: int
    n_classes: int
    n_questions: int


Make = Callable[[Terms, int], VoteMechanism]


@dataclass(frozen=True)
class Way:
    """One way to spend a budget on labels."""

    family: str
    setting: str
    make: Make
    refusals_planned: bool = False
    """Whether the plan counts refusals rather than answers."""

    @property
    def name(self) -> str:
        return f"{self.family}, {self.setting}" if self.setting else self.family

    def plans(self, terms: Terms) -> Iterator[int]:
        """Return the plans worth a look, from small to large, ten per factor of ten, then all.

        They end where the noise drowns the votes: when three quarters of the teachers agree and the
        label is right with a chance below 0.7; for tests of the distance, when a unanimous vote
        passes with a chance below 0.001.
        """
        for plan in sorted({*_STEPS, terms.n_questions}):
            mechanism = self.make(terms, plan)
            tests = isinstance(mechanism, StableVote | SparseVote)
            agreement, least = (1.0, 0.001) if tests else (RULE_AGREEMENT, 0.7)
            asked = self.questions(mechanism, plan)
            if asked is not None and asked > terms.n_questions:
                return
            if plan > 1 and chance_right(mechanism, terms.n_teachers, agreement) < least:
                return
            yield plan

    def questions(self, mechanism: VoteMechanism, planned: int) -> int | None:
        """Return how many questions a run takes; None when it goes on until it stops."""
        if self.refusals_planned:
            return None
        return mechanism.questions if isinstance(mechanism, ConfidentVote) else planned


_STEPS = sorted({round(10 ** (step / 10)) for step in range(46)})  # 1 to 31,623


@cache
def _gaussian(budget: Budget, planned: int, n_classes: int, calibration: str) -> GaussianVote:
    return GaussianVote.for_budget(
        budget, answers=planned, n_classes=n_classes, calibration=calibration
    )


@cache
def _laplace(budget: Budget, planned: int, n_classes: int) -> LaplaceVote:
    return LaplaceVote.for_budget(budget, answers=planned, n_classes=n_classes)


@cache
def _exponential(budget: Budget, planned: int, n_classes: int) -> ExponentialVote:
    return ExponentialVote.for_budget(budget, answers=planned, n_classes=n_classes)


@cache
def _stable(budget: Budget, planned: int, n_classes: int) -> StableVote:
    return StableVote.for_budget(budget, answers=planned, n_classes=n_classes)


@cache
def _confident(
    budget: Budget, planned: int, n_classes: int, threshold: float, tests: int
) -> ConfidentVote:
    return ConfidentVote.for_budget(
        budget,
        threshold=threshold,
        questions=tests * planned,
        answers=planned,
        n_classes=n_classes,
    )


def _confident_way(share: float, tests: int) -> Way:
    def make(terms: Terms, planned: int) -> VoteMechanism:
        threshold = share * terms.n_teachers
        return _confident(terms.budget, planned, terms.n_classes, threshold, tests)

    return Way("confident", f"threshold {share:g} K, {tests} tests per answer", make)


@cache
def _sparse(
    budget: Budget, planned: int, n_classes: int, questions: int | None, constants: str
) -> SparseVote:
    return SparseVote.for_budget(
        budget, cutoff=planned, n_classes=n_classes, questions=questions, constants=constants
    )


GAUSSIAN = Way(
    "gaussian, priced as counts", "", lambda t, p: _gaussian(t.budget, p, t.n_classes, "exact")
)
GAUSSIAN_LABEL = Way(
    "gaussian, priced as labels", "", lambda t, p: _gaussian(t.budget, p, 2, "label")
)
STABLE = Way(
    "distance test, every question paid", "", lambda t, p: _stable(t.budget, p, t.n_classes)
)
SPARSE_TIGHT = Way(
    "sparse vector, tight threshold",
    "",
    lambda t, p: _sparse(t.budget, p, t.n_classes, None, "tight"),
    refusals_planned=True,
)
SPARSE_PAPER = Way(
    "sparse vector, paper's threshold",
    "",
    lambda t, p: _sparse(t.budget, p, t.n_classes, t.n_questions, "paper"),
    refusals_planned=True,
)
CONFIDENT = [_confident_way(*given) for given in ((0.8, 2), (1.0, 4))]
"""The first is what the public rule takes: threshold and noise ratio of the published MNIST run."""


def ways(n_classes: int) -> list[Way]:
    """Return every way that exists for so many classes."""
    return [
        GAUSSIAN,
        *([GAUSSIAN_LABEL] if n_classes == 2 else []),
        Way("laplace", "", lambda t, p: _laplace(t.budget, p, t.n_classes)),
        Way("exponential", "", lambda t, p: _exponential(t.budget, p, t.n_classes)),
        *CONFIDENT,
        STABLE,
        SPARSE_PAPER,
        SPARSE_TIGHT,
    ]


def chance_right(mechanism: VoteMechanism, n_teachers: int, agreement: float) -> float:
    """Return the chance of the right label when a share of the teachers agrees against one class.

    A refusal is not right. A confident vote is judged by its answer alone: what its test refuses
    depends on how many teachers agree, which is what it is for.
    """
    lead = round(n_teachers * agreement)
    margin = 2 * lead - n_teachers
    distance = max(0, -(-margin // 2) - 1)
    match mechanism:
        case GaussianVote(sigma=sigma) | ConfidentVote(sigma2=sigma):
            if mechanism.n_classes == 2:
                return 1 - float(gaussian_at_least(sigma, -(-margin // 2)))
            return float(special.ndtr(margin / (2**0.5 * sigma)))
        case LaplaceVote(scale=scale):
            return 1 - float(laplace_difference_at_least(scale, margin))
        case ExponentialVote(epsilon_per_answer=epsilon):
            return float(special.expit(epsilon * margin / 2))
        case StableVote(scale=scale, threshold=threshold):
            return float(laplace_at_least(scale, threshold - distance + 1))
        case SparseVote(scale=scale, threshold=threshold):
            return unstable_probability(scale, threshold - distance)
    raise TypeError(f"no rule for {type(mechanism).__name__}")


def planned_by_rule(way: Way, terms: Terms) -> int | None:
    """Return the plan of the public rule; None when even the smallest plan misses it."""

    def good(plan: int) -> bool:
        return chance_right(way.make(terms, plan), terms.n_teachers, RULE_AGREEMENT) >= RULE_CHANCE

    return max(takewhile(good, way.plans(terms)), default=None)
