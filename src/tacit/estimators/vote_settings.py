"""Turn a classifier's settings into what is in force, from public facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from tacit import validation
from tacit.accounting.answer import Output
from tacit.accounting.budget import Budget
from tacit.data.pool import PublicPool
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.errors import InvalidArgument
from tacit.estimators.assumptions import fit_assumptions
from tacit.estimators.checks import auto_or_number, number_of_teachers, refuse_silent
from tacit.estimators.combinations import is_auto, student_chooses
from tacit.estimators.learner_kinds import is_linear
from tacit.estimators.methods import Votes
from tacit.estimators.protection import Protection
from tacit.labeling import question_keys
from tacit.mechanisms.base import VoteMechanism, VoteRun
from tacit.mechanisms.registry import make_mechanism, mechanism_type
from tacit.planning.cutoff import AUTO_SHARE
from tacit.planning.rules import questions_for, teachers_for
from tacit.students.active.base import Strategy, check_classes
from tacit.students.active.diverse_margin import DiverseMargin
from tacit.students.active.named import strategy_named
from tacit.teachers.partition import IndexArray
from tacit.teachers.represented import represented


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
    chosen: dict[str, Any]

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
    *,
    own_features: bool = False,
) -> VoteSettings:
    """Return the settings in force. Uses sizes, the pool and the budget; no private value.

    ``own_features`` is true when the pool is made of the records' own features.
    """
    validation.one_of(("unlabelled", "random"), refusals=votes.refusals)
    existing = protection.existing
    n_teachers = number_of_teachers(
        settings.n_teachers if existing is None else existing.n_teachers,
        protection.n_units,
        lambda n: teachers_for(n, budget.epsilon),
    )
    output = _output(votes, default_student=is_auto(settings.student))
    representation, representation_name = _representation(settings, pool)
    points = pool if representation is None else _in(representation, pool)
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
        assumptions=fit_assumptions(settings, protection, representation, own_features),
        chosen={
            "method": "Votes",
            "n_teachers": n_teachers,
            "n_questions": n_questions,
            "query": "none: all at once" if strategy is None else repr(strategy),
            "n_batches": n_batches,
            "mechanism": _mechanism_name(mechanism, votes.noise_rule),
            "release": output.value,
            "representation": representation_name,
            "student": "auto" if is_auto(settings.student) else repr(settings.student),
            "neighbouring": protection.neighbouring.value,
            "protect": settings.protect,
            "refusals": votes.refusals,
        },
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
        auto_or_number(n_questions=votes.n_questions)
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


def _in(representation: Any, pool: PublicPool) -> PublicPool:
    return PublicPool(represented(representation, pool.points))


def _representation(settings: Any, pool: PublicPool) -> tuple[Any, str]:
    """Return a transformer fitted on the pool alone, and its name."""
    representation = settings.representation
    check_representation(representation)
    if representation is None:
        return None, "none"
    if is_chosen(representation):
        return clone(representation).fit(pool.points), repr(representation)
    if not is_linear(settings.learner) or not are_numbers(pool.points):
        return None, "none"
    return pool_coordinates(pool, PoolRepresentation())


def is_chosen(representation: Any) -> bool:
    """Whether the caller chose a representation: the automatic one is for teachers alone."""
    return representation is not None and not isinstance(representation, str)


def check_representation(representation: Any) -> None:
    """Refuse what is neither "auto", None nor an object."""
    if isinstance(representation, str) and representation != "auto":
        raise InvalidArgument(
            f"`representation` must be 'auto', None or a transformer, got {representation!r}. "
            "Give an object, such as PCA(10) of scikit-learn."
        )
    if isinstance(representation, type):
        raise InvalidArgument(
            f"`representation` must be an object, got the class {representation.__name__}; "
            f"call it: {representation.__name__}()."
        )


def pool_coordinates(pool: PublicPool, representation: PoolRepresentation) -> tuple[Any, str]:
    """Return principal coordinates fitted on the pool, and their name."""
    representation.fit(pool.points)
    return representation, f"PoolRepresentation, {representation.directions_.shape[1]} coordinates"


def are_numbers(points: Any) -> bool:
    if sp.issparse(points):
        return True
    return isinstance(points, np.ndarray) and points.dtype.kind in "biuf" and len(points) > 1
