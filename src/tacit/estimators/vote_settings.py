"""Turn a classifier's settings into what is in force, from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.pipeline import Pipeline

from tacit import validation
from tacit.accounting.answer import Output
from tacit.accounting.budget import Budget, Neighbouring
from tacit.data.pool import PublicPool
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.errors import InvalidArgument
from tacit.estimators.combinations import is_auto, student_chooses
from tacit.estimators.inputs import Voters, numbered
from tacit.estimators.methods import Votes
from tacit.estimators.pipeline import distinct_points
from tacit.estimators.rules import (
    assumed,
    auto_or_number,
    number_of_teachers,
    refuse_silent,
    relation_of,
)
from tacit.labeling import question_keys
from tacit.mechanisms.base import VoteMechanism, VoteRun
from tacit.mechanisms.registry import make_mechanism, mechanism_type
from tacit.noise import NoiseSource
from tacit.planning.cutoff import AUTO_SHARE
from tacit.planning.rules import questions_for, teachers_for
from tacit.students.active.base import Strategy, check_classes
from tacit.students.active.diverse_margin import DiverseMargin
from tacit.students.active.named import strategy_named
from tacit.teachers.represented import represented


@dataclass(frozen=True)
class Sharding:
    """What decides who goes to which shard. Private: see ``PrivateRecords``."""

    people: Any
    hash_key: bytes | None

    def __repr__(self) -> str:
        return "Sharding(<private>)"


@dataclass(frozen=True)
class Resolved:
    """Settings in force. Public.

    ``n_units`` is the number of records, or people; None where that is private. ``points`` is the
    pool in the coordinates of the representation, ``names`` the public names of its points.
    ``strategy`` chooses the questions; None asks about points at random, all at once.
    """

    learner: Any
    n_teachers: int
    n_questions: int
    n_batches: int
    strategy: Strategy | None
    mechanism: VoteMechanism
    noise_rule: Any
    refusals: str
    neighbouring: Neighbouring
    representation: Any
    points: PublicPool
    names: list[bytes]
    unit: str
    assumptions: tuple[str, ...]
    chosen: dict[str, Any]
    n_units: int | None

    def __repr__(self) -> str:
        return f"Resolved({self.chosen})"


def resolve(
    settings: Any,
    votes: Votes,
    pool: PublicPool,
    n_records: int | None,
    names: list[bytes] | None,
    budget: Budget,
    n_classes: int,
    noise: NoiseSource,
    *,
    own_features: bool = False,
    voters: Voters | None = None,
) -> tuple[Resolved, Sharding]:
    """Return what is in force. Sees sizes, the pool and the budget; no label, no private value.

    ``own_features`` says that the pool is made of the records' own features, ``voters`` which
    teachers there are already; the number of records and ``names`` are not known then.
    """
    validation.one_of(("unlabelled", "random"), refusals=votes.refusals)
    neighbouring, n_units, sharding = protected(settings, n_records, names, noise, voters)
    wanted = settings.n_teachers if voters is None else voters.n_teachers
    n_teachers = _teachers(wanted, n_units, budget)
    output = _output(votes, default_student=is_auto(settings.student))
    representation, representation_name = _representation(settings, pool)
    points = pool if representation is None else _in(representation, pool)
    keys = question_keys(points.points)
    strategy = _strategy(settings, votes, n_classes)
    chosen = strategy is not None
    n_questions = _questions(votes, len(distinct_points(keys)), output, chosen, n_classes)
    n_batches = validation.positive_integer(n_batches=votes.n_batches)
    n_batches = n_batches if chosen else 1
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
    unit = "record" if names is None else "person"
    assumptions = assumptions_of(settings, neighbouring, unit, representation, own_features)
    if voters is not None:
        unit, assumptions = voters.unit, (*assumptions, voters.assumption)
    default_student = is_auto(settings.student)
    resolved = Resolved(
        learner=settings.learner,
        n_teachers=n_teachers,
        n_questions=n_questions,
        n_batches=n_batches,
        strategy=strategy,
        mechanism=mechanism,
        noise_rule=votes.noise_rule,
        refusals=votes.refusals,
        neighbouring=neighbouring,
        representation=representation,
        points=points,
        names=keys,
        unit=unit,
        assumptions=assumptions,
        chosen={
            "method": "Votes",
            "n_teachers": n_teachers,
            "n_questions": n_questions,
            "query": "none: all at once" if strategy is None else repr(strategy),
            "n_batches": n_batches,
            "mechanism": _mechanism_name(mechanism, votes.noise_rule),
            "release": output.value,
            "representation": representation_name,
            "student": "NoiseAwareStudent" if default_student else repr(settings.student),
            "neighbouring": neighbouring.value,
            "protect": settings.protect,
            "refusals": votes.refusals,
        },
        n_units=n_units,
    )
    return resolved, sharding


def protected(
    settings: Any,
    n_records: int | None,
    names: list[bytes] | None,
    noise: NoiseSource,
    voters: Voters | None = None,
) -> tuple[Neighbouring, int | None, Sharding]:
    """Return the relation, the number of records or people where it is public, and who is where."""
    neighbouring = relation_of(
        settings.protect,
        settings.neighbouring,
        grouped=names is not None or voters is not None,
        n_teachers=settings.n_teachers if voters is None else voters.n_teachers,
    )
    if voters is not None:
        return neighbouring, None, Sharding(None, None)
    hashed = neighbouring is Neighbouring.ADD_REMOVE
    people = names if names is None or hashed else numbered(names)
    # Which numbers are public: of people when they are grouped, of records when they are not.
    n_units = None if hashed else n_records if people is None else len(np.unique(people))
    if names is not None and n_units is not None and n_units < 2:
        raise InvalidArgument(
            f"`groups` must name at least 2 people, got {n_units}: all records belong to one. "
            "Give one identifier per person."
        )
    # The key is secret and of this fit alone: nobody can aim an identifier at a shard.
    return neighbouring, n_units, Sharding(people, noise.bits(256).to_bytes(32) if hashed else None)


def _teachers(given: Any, n_units: int | None, budget: Budget) -> int:
    return number_of_teachers(given, n_units, lambda n: teachers_for(n, budget.epsilon))


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
    most = _capacity(votes.mechanism)
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


def _capacity(mechanism: Any) -> int | None:
    """Return how many questions a mechanism object was planned for; None when it is not said."""
    if not isinstance(mechanism, VoteMechanism):
        return None
    planned = getattr(mechanism, "questions", getattr(mechanism, "answers", None))
    return planned if isinstance(planned, int) else None


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
    given = settings.representation
    check_representation(given)
    if given is None:
        return None, "none"
    if not isinstance(given, str):
        return clone(given).fit(pool.points), repr(given)
    if not is_linear(settings.learner) or not are_numbers(pool.points):
        return None, "none"
    return pool_coordinates(pool, PoolRepresentation())


def check_representation(given: Any) -> None:
    """Refuse what is neither "auto", None nor an object."""
    if isinstance(given, str) and given != "auto":
        raise InvalidArgument(
            f"`representation` must be 'auto', None or a transformer, got {given!r}. Give an "
            "object, such as PCA(10) of scikit-learn."
        )
    if isinstance(given, type):
        raise InvalidArgument(
            f"`representation` must be an object, got the class {given.__name__}; "
            f"call it: {given.__name__}()."
        )


def pool_coordinates(pool: PublicPool, wanted: PoolRepresentation) -> tuple[Any, str]:
    """Return principal coordinates of the pool, and their name."""
    found = wanted.fit(pool.points)
    return found, f"PoolRepresentation, {found.directions_.shape[1]} coordinates"


def is_linear(learner: Any) -> bool:
    # A pipeline brings its own, per-shard preparation.
    return isinstance(learner, LinearClassifierMixin) and not isinstance(learner, Pipeline)


def are_numbers(points: Any) -> bool:
    if sp.issparse(points):
        return True
    return isinstance(points, np.ndarray) and points.dtype.kind in "biuf" and len(points) > 1


def assumptions_of(
    settings: Any,
    neighbouring: Neighbouring,
    unit: str,
    representation: Any,
    own_features: bool,
) -> tuple[str, ...]:
    """Return what the guarantee of a fit rests on besides the proofs, in sentences."""
    points = [
        "The pool is public and was put together without looking at private records; which of "
        "its points were asked about depends on public points and released answers alone."
    ]
    if own_features:
        points.append(
            "The points asked about are features of the records themselves: those records' own "
            "labels were not used."
        )
    if representation is not None:
        points.append("The representation was fitted on the public points alone.")
    sentences = assumed(neighbouring, unit, points=points, account=[_account(settings.ledger)])
    return (*sentences, *getattr(settings, "input_assumptions", ()))


def _account(ledger: Any) -> str:
    if ledger is None:
        return "This is the cost of this fit alone: every other release from the data adds to it."
    return "This is the cost of this fit alone: the ledger given has what all its fits add up to."
