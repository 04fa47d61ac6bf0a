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
from tacit.accounting.calibrate import Calibration
from tacit.data.pool import PublicPool
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.errors import InvalidArgument
from tacit.estimators.inputs import Voters, numbered
from tacit.estimators.pipeline import distinct_points
from tacit.estimators.rules import (
    CONFIDENT_SHARE,
    assumed,
    auto_or_number,
    number_of_teachers,
    own_mechanism,
    refuse_class,
    refuse_silent,
    relation_of,
)
from tacit.labeling import question_keys
from tacit.mechanisms import (
    ConfidentVote,
    ExponentialVote,
    GaussianVote,
    LaplaceVote,
    SparseVote,
)
from tacit.mechanisms.base import VoteMechanism
from tacit.noise import NoiseSource
from tacit.planning.rules import questions_for, teachers_for
from tacit.students.active.base import Strategy, check_classes
from tacit.students.active.diverse_margin import DiverseMargin
from tacit.students.active.named import strategy_named
from tacit.teachers.represented import represented

NAMES = ("gaussian", "laplace", "confident", "exponential", "sparse")


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
    n_rounds: int
    strategy: Strategy | None
    mechanism: VoteMechanism
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
    validation.one_of(("unlabelled", "random"), refusals=settings.refusals)
    neighbouring, n_units, sharding = protected(settings, n_records, names, noise, voters)
    wanted = settings.n_teachers if voters is None else voters.n_teachers
    n_teachers = _teachers(wanted, n_units, budget)
    _check_rule(settings)
    output = _output(settings)
    representation, spoken = _representation(settings, pool)
    points = pool if representation is None else _in(representation, pool)
    asked = question_keys(points.points)
    strategy = _strategy(settings, n_classes)
    chosen = strategy is not None
    n_questions = _questions(settings, len(distinct_points(asked)), output, chosen, n_classes)
    n_rounds = validation.positive_integer(n_rounds=settings.n_rounds)
    mechanism = _mechanism(settings, budget, output, n_questions, n_classes, n_teachers)
    refuse_silent(mechanism, n_teachers)
    unit = "record" if names is None else "person"
    told = assumptions_of(settings, neighbouring, unit, representation, own_features)
    if voters is not None:
        unit, told = voters.unit, (*told, voters.assumption)
    resolved = Resolved(
        learner=settings.learner,
        n_teachers=n_teachers,
        n_questions=n_questions,
        n_rounds=n_rounds if chosen else 1,
        strategy=strategy,
        mechanism=mechanism,
        neighbouring=neighbouring,
        representation=representation,
        points=points,
        names=asked,
        unit=unit,
        assumptions=told,
        chosen={
            "n_teachers": n_teachers,
            "n_queries": n_questions,
            "query": "none: all at once" if strategy is None else repr(strategy),
            "n_rounds": n_rounds if chosen else 1,
            "mechanism": _spoken(mechanism, settings.noise_rule),
            "release": output.value,
            "representation": spoken,
            "student": "NoiseAwareStudent" if settings.student is None else repr(settings.student),
            "neighbouring": neighbouring.value,
            "protect": settings.protect,
            "refusals": settings.refusals,
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


def _output(settings: Any) -> Output:
    release = validation.one_of(("auto", "label", "share"), release=settings.release)
    if isinstance(settings.mechanism, VoteMechanism):
        if release not in ("auto", settings.mechanism.output.value):
            raise InvalidArgument(
                f"`release` is {release!r}, but the mechanism given releases "
                f"{settings.mechanism.output.value!r}."
            )
        return settings.mechanism.output
    refuse_class(settings.mechanism)
    name = validation.one_of(NAMES, mechanism=settings.mechanism)
    can_share = name in ("gaussian", "laplace")
    if release == "share" and not can_share:
        raise InvalidArgument(f'`release` "share" needs Gaussian or Laplace noise, not {name!r}.')
    if release == "auto":
        return Output.SHARE if can_share and settings.student is None else Output.LABEL
    return Output(release)


def _gains_by_choosing(settings: Any) -> bool:
    """Whether "auto" lets the student choose its questions.

    Only the default student: what another makes of points that all lie near the boundary is not
    known. And only where an answer costs the same whether it is hard or easy: mechanisms that
    refuse hard questions would refuse nearly all that are chosen.
    """
    mechanism = settings.mechanism
    if isinstance(mechanism, VoteMechanism):
        alike = isinstance(mechanism, GaussianVote | LaplaceVote | ExponentialVote)
    else:
        alike = mechanism in ("gaussian", "laplace", "exponential")
    return settings.student is None and alike


def _strategy(settings: Any, n_classes: int) -> Strategy | None:
    """Return who chooses the questions, refused before anything is spent if it cannot."""
    query = settings.query
    if isinstance(query, str) and query == "auto":
        query = DiverseMargin() if _gains_by_choosing(settings) else None
    if query is None:
        if settings.noise_rule is not None:
            raise InvalidArgument(
                "`noise_rule` must come with a `query` strategy: it chooses the noise of every "
                "round, and without a strategy there is only one."
            )
        return None
    strategy = strategy_named(query)
    check_classes(strategy, n_classes)
    return strategy


def _questions(settings: Any, n_points: int, output: Output, chosen: bool, n_classes: int) -> int:
    most = _capacity(settings.mechanism)
    if isinstance(settings.n_queries, str):
        auto_or_number(n_queries=settings.n_queries)
        shares = output is Output.SHARE
        number = questions_for(n_points, shares=shares, chosen=chosen, n_classes=n_classes)
        return number if most is None else min(number, most)
    number = min(validation.positive_integer(n_queries=settings.n_queries), n_points)
    if most is not None and number > most:
        raise InvalidArgument(
            f"`n_queries` must be at most {most}, what the mechanism given may answer, "
            f"got {number}."
        )
    return number


def _capacity(mechanism: Any) -> int | None:
    """Return how many questions a mechanism object was planned for; None when it is not said."""
    if not isinstance(mechanism, VoteMechanism):
        return None
    planned = getattr(mechanism, "questions", getattr(mechanism, "answers", None))
    return planned if isinstance(planned, int) else None


def _check_rule(settings: Any) -> None:
    if settings.noise_rule is None:
        return
    if not callable(settings.noise_rule):
        raise InvalidArgument(
            "`noise_rule` must be a function of (labels, size, even_sigma), got a "
            f"{type(settings.noise_rule).__name__}."
        )
    if settings.mechanism != "gaussian":
        raise InvalidArgument(
            '`noise_rule` chooses Gaussian noise: it needs mechanism="gaussian", got '
            f"{settings.mechanism!r}."
        )


def _mechanism(
    settings: Any,
    budget: Budget,
    output: Output,
    questions: int,
    n_classes: int,
    n_teachers: int,
) -> VoteMechanism:
    if isinstance(settings.mechanism, VoteMechanism):
        return own_mechanism(settings.mechanism, budget, n_classes)
    match settings.mechanism:
        case "gaussian":
            vote = GaussianVote.for_budget(
                budget, answers=questions, n_classes=n_classes, output=output
            )
            if output is Output.SHARE or n_classes > 2 or settings.noise_rule is not None:
                return vote
            # A released bit costs about 2/pi of the count behind it; at a large delta the exact
            # price of the count is the better proof.
            bit = GaussianVote.for_budget(budget, answers=questions, calibration=Calibration.LABEL)
            return min(vote, bit, key=lambda one: one.sigma)
        case "laplace":
            return LaplaceVote.for_budget(
                budget, answers=questions, n_classes=n_classes, output=output
            )
        case "confident":
            return ConfidentVote.for_budget(
                budget,
                questions=questions,
                answers=questions,
                threshold=CONFIDENT_SHARE * n_teachers
                + (1 - CONFIDENT_SHARE) * n_teachers / n_classes,
                n_classes=n_classes,
            )
        case "exponential":
            return ExponentialVote.for_budget(budget, answers=questions, n_classes=n_classes)
        case _:
            cutoff = max(1, round(0.1 * questions))
            return SparseVote.for_budget(budget, cutoff=cutoff, n_classes=n_classes)


def _spoken(mechanism: VoteMechanism, rule: Any) -> str:
    if rule is None:
        return repr(mechanism)
    # A plain repr of a function shows its address.
    name = getattr(rule, "__qualname__", type(rule).__qualname__)
    return f"{mechanism.name}, noise of every round chosen by {name}"


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
