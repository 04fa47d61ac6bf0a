"""How teachers vote as their shards grow: guessed, or measured on labelled public points."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.base import clone

from tacit import validation
from tacit.data.pool import n_rows, take
from tacit.errors import InvalidArgument
from tacit.planning.vote_model import VoteModel, mixture_from_counts
from tacit.teachers.labels import ClassList
from tacit.teachers.train import train_teachers

DEFAULT_CORRELATION = 0.3
"""Correlation of two teachers' being right, where none was measured."""

_KINDS, _KINDS_MANY = 41, 15
"""How many levels of difficulty there are; each costs more work with more than two classes."""

_HELD_OUT = 1 / 3
_MOST_TEACHERS = 20
_FEWEST_POINTS = 30
_SMALLEST_SHARD = 5


@dataclass(frozen=True)
class VoteCurve:
    """A vote model for each of several shard sizes. Public.

    Between two sizes the models are mixed, evenly in the logarithm of the size. Outside the range
    nothing is known: ``at`` refuses, and the planner stays within it.

    Parameters
    ----------
    sizes : tuple of int
        Shard sizes, growing.
    models : tuple of VoteModel
    source : str
        Where it comes from, in words.

    Examples
    --------
    >>> curve = VoteCurve.guessed({50: 0.8, 200: 0.88})
    >>> round(curve.at(100).accuracy, 2)
    0.84
    """

    sizes: tuple[int, ...]
    models: tuple[VoteModel, ...]
    source: str

    def __post_init__(self) -> None:
        if not self.sizes or len(self.sizes) != len(self.models):
            raise InvalidArgument("`sizes` and `models` must be of the same length, at least 1.")
        for size in self.sizes:
            validation.positive_integer(sizes=size)
        if list(self.sizes) != sorted(set(self.sizes)):
            raise InvalidArgument(f"`sizes` must grow, got {self.sizes}.")
        if len({model.n_classes for model in self.models}) != 1:
            raise InvalidArgument("`models` must all have the same number of classes.")

    @classmethod
    def guessed(
        cls,
        accuracy: Mapping[int, float],
        *,
        correlation: float = DEFAULT_CORRELATION,
        n_classes: int = 2,
    ) -> VoteCurve:
        """Return the curve of a guess: the accuracy of one teacher at a few shard sizes.

        Parameters
        ----------
        accuracy : mapping of int to float
            Shard size to accuracy, for example ``{50: 0.8, 200: 0.88}``.
        correlation : float, default 0.3
            Of two teachers' being right on the same point.
        n_classes : int, default 2
        """
        if not accuracy:
            raise InvalidArgument("`accuracy` must name at least one shard size, got none.")
        given = sorted(validation.positive_integer(accuracy=size) for size in accuracy)
        known = [validation.probability(accuracy=accuracy[size]) for size in given]
        sizes = sorted({*given, *np.geomspace(given[0], given[-1], 12).round().astype(int)})
        # Straight lines between the guesses: odds against the logarithm of the size.
        between = special.expit(np.interp(np.log(sizes), np.log(given), special.logit(known)))
        models = tuple(
            VoteModel.correlated(float(right), correlation, n_classes) for right in between
        )
        guesses = ", ".join(f"{accuracy[size]:.3g} at {size} records" for size in given)
        source = f"a guess: teachers right {guesses}, correlation {correlation:g}"
        if n_classes > 2:
            source += ", wrong votes spread evenly over the other classes, which is kind"
        return cls(tuple(int(size) for size in sizes), models, source)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.models[0].n_classes

    def at(self, size: int) -> VoteModel:
        """Return the model for shards of this size."""
        size = validation.positive_integer(size=size)
        if not self.sizes[0] <= size <= self.sizes[-1]:
            raise InvalidArgument(
                f"`size` must lie between {self.sizes[0]} and {self.sizes[-1]}, the shard sizes "
                f"that are known, got {size}."
            )
        after = bisect_right(self.sizes, size)
        if after == len(self.sizes):
            return self.models[-1]
        low, high = self.sizes[after - 1], self.sizes[after]
        share = math.log(size / low) / math.log(high / low)
        return self.models[after - 1].mixed_with(self.models[after], share)


def measure_votes(
    learner: Any,
    X: Any,
    y: ArrayLike,
    *,
    classes: Sequence[Any],
    rng: np.random.Generator,
    pool: Any = None,
    representation: Any = None,
    shard_sizes: Sequence[int] | None = None,
    repeats: int = 6,
) -> VoteCurve:
    """Measure how teachers vote, on labelled public points alone.

    The points stand in for private records: a part of them is cut into disjoint shards, a teacher
    is trained on each, and all vote on the rest. How often j of the teachers are right on a point
    gives the mixture over difficulties. Repeated with other cuts.

    Parameters
    ----------
    learner : object with fit and predict
    X : table
        Labelled public points: a few hundred, of the same kind as the private records. Public.
    y : array of labels
        Public.
    classes : sequence of labels
    rng : numpy Generator
        Cuts the points; not privacy noise.
    pool : table, optional
        Unlabelled public points, for ``representation``.
    representation : transformer, optional
        What the run will fit on its pool. Here it is fitted on the pool and the points voted on,
        as in the run, never on the points teachers learn from.
    shard_sizes : sequence of int, optional
        By default from 5 to a third of the points.
    repeats : int, default 6

    Returns
    -------
    VoteCurve

    Privacy
    -------
    Sees public points only. Labelled points that are private records would void the guarantee of
    whatever is planned with the result.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> curve = measure_votes(
    ...     LogisticRegression(), X, y, classes=[0, 1], rng=rng, shard_sizes=[10, 60], repeats=2
    ... )
    >>> curve.at(10).accuracy < curve.at(60).accuracy
    True
    """
    labels = ClassList(classes)
    truth = labels.positions(np.asarray(y))
    number = n_rows(X)
    if len(truth) != number or number < _FEWEST_POINTS:
        raise InvalidArgument(
            f"`X` must hold at least {_FEWEST_POINTS} labelled points with one label each, got "
            f"{number} points and {len(truth)} labels. Guess accuracies instead with fewer."
        )
    if (truth < 0).any():
        raise InvalidArgument("`y` must hold labels of `classes` only; these are public points.")
    n_questions = round(_HELD_OUT * number)
    sizes = _sizes(shard_sizes, number - n_questions)
    votes_by_size: dict[int, list[_HoldoutVotes]] = {size: [] for size in sizes}
    for _ in range(validation.positive_integer(repeats=repeats)):
        order = rng.permutation(number)
        held_out, training = order[:n_questions], order[n_questions:]
        questions, table = _represent(representation, pool, X, held_out, training)
        for size in sizes:
            votes = _vote(learner, table, np.asarray(y)[training], questions, size, labels, rng)
            votes_by_size[size].append(_HoldoutVotes(votes, truth[held_out]))
    models = tuple(_model(votes_by_size[size], len(labels)) for size in sizes)
    return VoteCurve(sizes, models, f"{number} labelled public points, {repeats} cuts of them")


def _sizes(given: Sequence[int] | None, available: int) -> tuple[int, ...]:
    most = available // 2  # two teachers at least, or nothing is known about their agreement
    if given is not None:
        sizes = sorted({validation.positive_integer(shard_sizes=size) for size in given})
        if not sizes or sizes[-1] > most:
            raise InvalidArgument(
                f"`shard_sizes` must be at most {most} with so few labelled points, got "
                f"{list(given)}."
            )
        return tuple(sizes)
    steps = max(2, math.ceil(math.log(most / _SMALLEST_SHARD) / math.log(1.4)) + 1)
    return tuple(sorted({round(size) for size in np.geomspace(_SMALLEST_SHARD, most, steps)}))


def _represent(
    representation: Any, pool: Any, X: Any, held_out: NDArray[Any], training: NDArray[Any]
) -> tuple[Any, Any]:
    questions, table = take(X, held_out), take(X, training)
    if representation is None:
        return questions, table
    # The pool keeps its size: points voted on take the place of as many others.
    n_pool = 0 if pool is None else max(0, n_rows(pool) - len(held_out))
    public = _joined(take(pool, np.arange(n_pool)), questions) if n_pool else questions
    fitted = clone(representation).fit(public)
    return fitted.transform(questions), fitted.transform(table)


def _joined(first: Any, second: Any) -> Any:
    """Return the rows of two tables of one kind."""
    if hasattr(first, "iloc"):
        import pandas as pd

        return pd.concat([first, second], ignore_index=True)
    if sp.issparse(first):
        return sp.vstack([first, second]).tocsr()
    if isinstance(first, list):
        return [*first, *second]
    return np.concatenate([np.asarray(first), np.asarray(second)])


def _vote(
    learner: Any,
    X: Any,
    y: NDArray[Any],
    questions: Any,
    size: int,
    classes: ClassList,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return one row of votes per teacher, each trained on its own ``size`` points."""
    teachers = min(_MOST_TEACHERS, len(y) // size)
    order = rng.permutation(len(y))
    shards = [order[k * size : (k + 1) * size] for k in range(teachers)]
    seed = int(rng.integers(2**31))
    ensemble = train_teachers(learner, X, y, shards, classes=classes, seed=seed, progress=False)
    return np.array([teacher.votes(questions) for teacher in ensemble.private_teachers()])


@dataclass(frozen=True)
class _HoldoutVotes:
    """Votes of shape (teachers, points), and the true classes."""

    votes: NDArray[np.int64]
    truth: NDArray[np.int64]


def _model(holdout_votes: list[_HoldoutVotes], n_classes: int) -> VoteModel:
    right = np.concatenate([(one.votes == one.truth).sum(axis=0) for one in holdout_votes])
    n_kinds = _KINDS if n_classes == 2 else _KINDS_MANY
    kinds, weights = mixture_from_counts(right, len(holdout_votes[0].votes), n_kinds=n_kinds)
    present = weights > 1e-6
    weights = weights[present] / weights[present].sum()
    rival = _rival(holdout_votes, n_classes) if n_classes > 2 else None
    return VoteModel(tuple(kinds[present]), tuple(weights), n_classes, rival)


def _rival(holdout_votes: list[_HoldoutVotes], n_classes: int) -> float:
    """Return the share of wrong votes that one wrong class takes, from how often two agree.

    Two wrong votes agree with probability r^2 + (1 - r)^2/(C - 2) when one class takes a share r
    and C - 2 classes share the rest.
    """
    both, same = 0, 0
    for one in holdout_votes:
        counts = np.stack([(one.votes == c).sum(axis=0) for c in range(n_classes)])
        counts[one.truth, np.arange(len(one.truth))] = 0
        wrong = counts.sum(axis=0)
        both += int((wrong * (wrong - 1)).sum())
        same += int((counts * (counts - 1)).sum())
    others, even = n_classes - 2, 1 / (n_classes - 1)
    if both == 0:
        return even
    agree = same / both
    # Solve r^2 (1 + 1/others) - 2 r/others + 1/others - agree = 0 for the larger root.
    a, b, c = 1 + 1 / others, -2 / others, 1 / others - agree
    root = (-b + math.sqrt(max(0.0, b * b - 4 * a * c))) / (2 * a)
    return float(np.clip(root, even, 1.0))
