"""Turn a classifier's settings into what is in force, from public facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit import validation
from tacit.accounting.answer import Output
from tacit.accounting.budget import Budget
from tacit.accounting.plan import Plan
from tacit.data.pool import PublicPool
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.errors import InvalidArgument
from tacit.estimators.assumptions import fit_assumptions
from tacit.estimators.checks import number_of_teachers, refuse_silent
from tacit.estimators.combinations import student_chooses
from tacit.estimators.learner_kinds import is_linear
from tacit.estimators.methods import Votes
from tacit.estimators.protection import Protection
from tacit.estimators.representation import (
    are_numbers,
    fit_representation,
    is_chosen,
    representation_name,
)
from tacit.labeling import question_keys
from tacit.labeling.pool import even_plan
from tacit.mechanisms.base import VoteMechanism, VoteRun
from tacit.mechanisms.registry import make_mechanism, mechanism_type
from tacit.planning.cutoff import AUTO_SHARE
from tacit.planning.rules import questions_for, teachers_for
from tacit.students.active.base import Strategy, check_classes
from tacit.students.active.diverse_margin import DiverseMargin
from tacit.students.active.named import strategy_named
from tacit.teachers.partition import IndexArray
from tacit.teachers.represented import represented
from tacit.validation import is_auto


@dataclass(frozen=True)
class VoteSettings:
    """Settings in force for a fit in which teachers vote. Public.

    ``represented`` is True when the caller chose the representation: it then serves teachers and
    student. ``points`` is the pool in its coordinates, ``names`` the public names of its points.
    ``strategy`` chooses the questions; None asks about points at random, all at once.
    """

    learner: Any
    student: Any
    n_teachers: int
    n_questions: int
    n_batches: int
    strategy: Strategy | None
    mechanism: VoteMechanism
    noise_rule: Any
    refusals: str
    protection: Protection
    representation: Any
    represented: bool
    points: PublicPool
    names: list[bytes]
    assumptions: tuple[str, ...]

    @property
    def chosen(self) -> dict[str, Any]:
        """What every "auto" chose, in the form that is shown."""
        strategy = self.strategy
        return {
            "method": "Votes",
            "n_teachers": self.n_teachers,
            "n_questions": self.n_questions,
            "query": "none: all at once" if strategy is None else repr(strategy),
            "n_batches": self.n_batches,
            "mechanism": _mechanism_name(self.mechanism, self.noise_rule),
            "release": self.mechanism.output.value,
            "representation": representation_name(self.representation, chosen=self.represented),
            "student": "auto" if is_auto(self.student) else repr(self.student),
            "neighbouring": self.protection.neighbouring.value,
            "protect": self.protection.protect,
            "refusals": self.refusals,
        }

    def plan(self, budget: Budget) -> Plan:
        """Return the plan that the ledger must have room for; of a rule, that of even noise."""
        if self.noise_rule is None:
            return self.mechanism.plan(budget.delta, n_teachers=self.n_teachers)
        return even_plan(
            budget,
            self.n_questions,
            self.mechanism.n_classes,
            self.mechanism.output,
            self.n_teachers,
        )

    def candidates(self, rng: np.random.Generator) -> IndexArray:
        """Return the points that may be asked about, each once: all, or as many as planned."""
        # Drawn in any case, so that the same seed trains the same teachers with any strategy.
        drawn = random_points(self.names, self.n_questions, rng)
        return drawn if self.strategy is None else distinct_points(self.names)

    def student_points(self, pool: PublicPool) -> Any:
        """Return the public points as the student sees them."""
        return self.points.points if self.represented else pool.points

    def __repr__(self) -> str:
        return f"VoteSettings({self.chosen})"


def resolve_votes(
    settings: Any,
    votes: Votes,
    pool: PublicPool,
    protection: Protection,
    budget: Budget,
    n_classes: int,
    own_features: bool,
    input_assumptions: tuple[str, ...],
) -> VoteSettings:
    """Return the settings in force. Uses sizes, the pool and the budget; no private value."""
    validation.one_of(("unlabelled", "random"), refusals=votes.refusals)
    existing = protection.existing
    n_teachers = number_of_teachers(
        settings.n_teachers if existing is None else existing.n_teachers,
        protection.n_units,
        lambda n: teachers_for(n, budget.epsilon),
    )
    output = _output(votes, default_student=is_auto(settings.student))
    representation = fit_representation(settings.representation, pool, _automatic(settings, pool))
    points = pool
    if representation is not None:
        points = PublicPool(represented(representation, pool.points))
    names = question_keys(points.points)
    strategy = _strategy(settings, votes, n_classes)
    chooses = strategy is not None
    n_questions = _questions(votes, len(distinct_points(names)), output, chooses, n_classes)
    n_batches = validation.positive_integer(n_batches=votes.n_batches)
    n_batches = n_batches if chooses else 1
    mechanism = make_mechanism(
        votes.mechanism,
        VoteRun(
            budget,
            n_classes,
            n_teachers,
            n_questions,
            output,
            refusals=max(1, round(AUTO_SHARE * n_questions)),
            price_labels=votes.noise_rule is None,
        ),
    )
    refuse_silent(mechanism, n_teachers)
    return VoteSettings(
        learner=settings.learner,
        student=settings.student,
        n_teachers=n_teachers,
        n_questions=n_questions,
        n_batches=n_batches,
        strategy=strategy,
        mechanism=mechanism,
        noise_rule=votes.noise_rule,
        refusals=votes.refusals,
        protection=protection,
        representation=representation,
        represented=is_chosen(settings.representation),
        points=points,
        names=names,
        assumptions=fit_assumptions(
            settings.ledger, protection, representation, own_features, input_assumptions
        ),
    )


def distinct_points(names: Sequence[bytes]) -> IndexArray:
    """Return where each name occurs first: equal points are one question."""
    first = {name: position for position, name in reversed(list(enumerate(names)))}
    return np.array(sorted(first.values()), dtype=np.intp)


def random_points(names: Sequence[bytes], n_questions: int, rng: np.random.Generator) -> IndexArray:
    """Return positions of distinct points, chosen at random where there are more."""
    distinct = distinct_points(names)
    if n_questions < len(distinct):
        distinct = np.sort(rng.choice(distinct, n_questions, replace=False))
    return distinct


def _output(votes: Votes, *, default_student: bool) -> Output:
    if isinstance(votes.mechanism, VoteMechanism):
        return votes.mechanism.output
    if votes.release == "auto":
        shares = default_student and mechanism_type(votes.mechanism).can_share
        return Output.SHARE if shares else Output.LABEL
    return Output(votes.release)


def _strategy(settings: Any, votes: Votes, n_classes: int) -> Strategy | None:
    """Return who chooses the questions, refused before anything is spent if it cannot."""
    if not student_chooses(settings, votes):
        return None
    strategy = DiverseMargin() if is_auto(votes.query) else strategy_named(votes.query)
    check_classes(strategy, n_classes)
    return strategy


def _questions(votes: Votes, n_points: int, output: Output, chosen: bool, n_classes: int) -> int:
    given = votes.mechanism
    most = given.capacity if isinstance(given, VoteMechanism) else None
    if isinstance(votes.n_questions, str):
        validation.auto_or_number(n_questions=votes.n_questions)
        shares = output is Output.SHARE
        number = questions_for(n_points, shares=shares, chosen=chosen, n_classes=n_classes)
        return number if most is None else min(number, most)
    number = min(validation.positive_integer(n_questions=votes.n_questions), n_points)
    if most is not None and number > most:
        raise InvalidArgument(
            f"`n_questions` must be at most {most}, what the mechanism given may answer, "
            f"got {number}."
        )
    return number


def _mechanism_name(mechanism: VoteMechanism, rule: Any) -> str:
    if rule is None:
        return repr(mechanism)
    # A plain repr of a function shows its address.
    name = getattr(rule, "__qualname__", type(rule).__qualname__)
    return f"{mechanism.name}, noise of every batch chosen by {name}"


def _automatic(settings: Any, pool: PublicPool) -> PoolRepresentation | None:
    """Return what "auto" stands for: coordinates for teachers that are linear models."""
    if not is_auto(settings.representation):
        return None
    if not is_linear(settings.learner) or not are_numbers(pool.points):
        return None
    return PoolRepresentation()
