"""Which method a fit uses, and which settings cannot be combined."""

from __future__ import annotations

from typing import Any

from tacit import validation
from tacit.accounting.budget import Neighbouring
from tacit.errors import InvalidArgument
from tacit.estimators.learner_kinds import is_linear, makes_linear_models
from tacit.estimators.methods import Corrections, Votes
from tacit.estimators.protection import InputKind
from tacit.mechanisms.base import VoteMechanism
from tacit.mechanisms.registry import mechanism_type
from tacit.teachers.corrections.learners import can_correct, check_correcting
from tacit.teachers.partition import Partition, votes_moved
from tacit.validation import is_auto


def resolve_method(settings: Any, source: InputKind) -> Votes | Corrections:
    """Return the method in force: the one given, or what "auto" stands for.

    "auto" is ``Corrections`` for the built-in teachers, and for a linear learner that can correct
    unless a ``student`` is given. It is ``Votes`` for other learners, whose students need not be
    linear, and for votes counted elsewhere. Public facts alone.
    """
    if isinstance(settings.learner, str):
        raise InvalidArgument(
            "`learner` must be an object with fit and predict, or None for the built-in "
            f"(logistic) teachers, got {settings.learner!r}."
        )
    method = settings.method
    if is_auto(method):
        return Corrections() if _corrects(settings, source) else Votes()
    if not isinstance(method, Votes | Corrections):
        raise InvalidArgument(
            f"`method` must be 'auto', Votes(...) or Corrections(...), got {method!r}."
        )
    return method


def _corrects(settings: Any, source: InputKind) -> bool:
    """Whether "auto" stands for ``Corrections``."""
    if source == "votes":
        return False
    if settings.learner is None:
        return True
    # Fits of others, also of pipelines, cost too much: each round fits every shard again.
    linear = is_auto(settings.student) and is_linear(settings.learner)
    return linear and can_correct(settings.learner)


def check_combination(
    settings: Any,
    method: Votes | Corrections,
    source: InputKind,
    *,
    has_pool: bool,
    has_groups: bool,
) -> Neighbouring:
    """Return which data sets are neighbours, or refuse settings that cannot be used together.

    The table "What does not go together" of ``docs/guide/classifier.md`` has a row for each. Only
    settings and the form of the input are looked at: no private value.
    """
    neighbouring = _check_data(settings, source, has_pool=has_pool, has_groups=has_groups)
    if isinstance(method, Corrections):
        _check_corrections(settings, source)
    else:
        _check_votes(settings, method, source)
    return neighbouring


def check_oracle_combination(settings: Any, source: InputKind, *, has_groups: bool) -> Neighbouring:
    """Return which data sets are neighbours, or refuse settings that cannot be used together.

    The table "What does not go together" of ``docs/guide/oracle.md`` has a row for each.
    """
    if settings.learner is None:
        raise InvalidArgument("`learner` must be an object with fit and predict, got None.")
    if settings.key is not None and not validation.instance(str, key=settings.key):
        raise InvalidArgument("`key` must be a text that is not empty.")
    _check_cutoff(settings, source)
    return _check_data(settings, source, has_pool=True, has_groups=has_groups)


def _check_cutoff(settings: Any, source: InputKind) -> None:
    cutoff = settings.cutoff
    if isinstance(cutoff, str):
        validation.one_of(("auto", "estimate"), cutoff=cutoff)
    else:
        validation.positive_integer(cutoff=cutoff)
    sparse = isinstance(settings.mechanism, str) and settings.mechanism == "sparse"
    if not is_auto(cutoff) and not sparse:
        raise InvalidArgument(
            f'`cutoff` {cutoff!r} goes with mechanism="sparse": mechanism objects bring their own, '
            "and the other mechanisms pay for every answer and have no cut-off."
        )
    if cutoff == "estimate" and source != "records":
        raise InvalidArgument(
            '`cutoff` "estimate" needs records in memory: give a number, or "auto".'
        )


def _check_data(
    settings: Any, source: InputKind, *, has_pool: bool, has_groups: bool
) -> Neighbouring:
    protect = validation.one_of(("records", "labels"), protect=settings.protect)
    if source == "votes" and protect != "records":
        raise InvalidArgument('`protect` must be "records" with votes counted elsewhere.')
    if source == "records" and protect == "records" and not has_pool:
        raise InvalidArgument(
            "`X_public` must be given to protect records: public points to ask the "
            'teachers about. protect="labels" needs none, but protects labels alone.'
        )
    relation = _relation(protect, settings.neighbouring)
    # Of shards and votes, people and the number of teachers are known already.
    if relation is Neighbouring.ADD_REMOVE and source == "records":
        _check_add_remove(settings.n_teachers, has_groups=has_groups)
    if source == "shards":
        votes_moved(Partition.HASH, relation)
    return relation


def _relation(protect: str, neighbouring: str) -> Neighbouring:
    """Return which data sets the guarantee is about, or refuse a pair that has no proof."""
    relation = validation.choice(Neighbouring, neighbouring=neighbouring)
    if protect == "labels":
        if relation is Neighbouring.ADD_REMOVE:
            raise InvalidArgument(
                '`neighbouring` "add-remove" does not go with protect="labels", which protects '
                "labels of records that are known to be there."
            )
        return Neighbouring.LABELS
    if relation is Neighbouring.LABELS:
        raise InvalidArgument('`neighbouring` "labels" is chosen by protect="labels".')
    return relation


def _check_add_remove(n_teachers: Any, *, has_groups: bool) -> None:
    if not has_groups:
        raise InvalidArgument(
            '`groups` must be given with neighbouring="add-remove": each record\'s or '
            "person's own identifier decides its shard."
        )
    if isinstance(n_teachers, str):
        raise InvalidArgument(
            '`n_teachers` must be a number with neighbouring="add-remove", got '
            f"{n_teachers!r}: the number of records is private."
        )


def _check_corrections(settings: Any, source: InputKind) -> None:
    if source == "votes":
        raise InvalidArgument(
            "`method` Corrections needs records, in memory or in shards: votes that were counted "
            "elsewhere need Votes."
        )
    if not is_auto(settings.student):
        raise InvalidArgument(
            "`student` must be left at 'auto' with the method Corrections, which corrects a "
            f"linear student, got {settings.student!r}. Votes trains any student."
        )
    if settings.learner is not None:
        check_correcting(settings.learner)


def _check_votes(settings: Any, votes: Votes, source: InputKind) -> None:
    if settings.learner is None and source != "votes":
        raise InvalidArgument(
            "`learner` must be an object with fit and predict for the method Votes, got None: "
            "the built-in teachers do not vote. Use Corrections for those."
        )
    kind = mechanism_type(votes.mechanism)
    release = validation.one_of(("auto", "label", "share"), release=votes.release)
    if isinstance(votes.mechanism, VoteMechanism):
        if release not in ("auto", votes.mechanism.output.value):
            raise InvalidArgument(
                f"`release` is {release!r}, but the mechanism given releases "
                f"{votes.mechanism.output.value!r}."
            )
    elif release == "share" and not kind.can_share:
        raise InvalidArgument(
            f'`release` "share" needs Gaussian or Laplace noise, not {votes.mechanism!r}.'
        )
    if votes.noise_rule is not None:
        _check_noise_rule(votes, chooses=student_chooses(settings, votes))


def _check_noise_rule(votes: Votes, *, chooses: bool) -> None:
    if not callable(votes.noise_rule):
        raise InvalidArgument(
            "`noise_rule` must be a function of (labels, size, even_sigma), got a "
            f"{type(votes.noise_rule).__name__}."
        )
    if votes.mechanism != "gaussian":
        raise InvalidArgument(
            '`noise_rule` chooses Gaussian noise: it needs mechanism="gaussian", got '
            f"{votes.mechanism!r}."
        )
    if not chooses:
        raise InvalidArgument(
            "`noise_rule` must come with a `query` strategy: it chooses the noise of every "
            "batch, and without a strategy there is only one."
        )


def student_chooses(settings: Any, votes: Votes) -> bool:
    """Whether the student chooses its questions.

    "auto" lets only the default student of linear learners: strategies look for the boundary of a
    linear model, and what another student makes of points that all lie near one is not known. And
    only where an answer costs the same whether it is hard or easy: mechanisms that refuse hard
    questions would refuse nearly all that are chosen.
    """
    if not is_auto(votes.query):
        return votes.query is not None
    is_default = is_auto(settings.student) and makes_linear_models(settings.learner)
    return is_default and mechanism_type(votes.mechanism).prices_alike
