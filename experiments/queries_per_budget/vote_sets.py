"""The votes that are compared: the published files, those of our own teachers, and generated ones.

Everything here is public data, so that votes may be looked at; on private data they may not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from tacit.accounting.budget import Budget
from tacit.data.pool import take
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.data.sets import load_a9a, load_mnist, load_mushrooms, load_newsgroups, load_votes
from tacit.estimators.vote_settings import distinct_points
from tacit.labeling import question_keys
from tacit.mechanisms.counts import VoteCounts
from tacit.mechanisms.instability import plurality, vote_distance
from tacit.planning.rules import teachers_for
from tacit.teachers import equal_split
from tacit.teachers.represented import RepresentedRows
from tacit.teachers.train import train_and_count

EPSILON = 1.0
SHARD_SIZES: dict[str, Callable[[int], int]] = {
    "default": lambda n: teachers_for(n, EPSILON),
    "paper": lambda n: n // 100,
    "small shards": lambda n: n // 10,
}
"""How many teachers: the classifier's rule, about 100 records each ([LZCW21]), ten records each."""

MOST_QUESTIONS = 2000
"""Of the points of a split that are not private, so many are asked about at most."""

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class VoteSet:
    """Votes on a list of questions, with the true classes where they are known."""

    name: str
    counts: VoteCounts
    truth: IntArray | None
    delta: float

    @property
    def budget(self) -> Budget:
        """Epsilon 1 at the delta of this set."""
        return Budget(EPSILON, self.delta)

    @property
    def plurality(self) -> IntArray:
        """What the teachers say without noise."""
        return plurality(self.counts)

    @property
    def distances(self) -> IntArray:
        """How many votes must move before the plurality could change, less one."""
        return vote_distance(self.counts)


# ---- the published votes of 250 teachers --------------------------------------------------------

DELTAS = {"mnist": 1e-5, "svhn": 1e-6, "adult": 1e-5}
"""Those of the published runs."""


def published(name: str) -> VoteSet:
    """Return a published vote file; the truth of SVHN is not among the data."""
    truth: dict[str, Callable[[], Any]] = {
        "mnist": lambda: load_mnist().test.y[:9000],
        "adult": lambda: (load_a9a().test.y > 0).astype(int),
    }
    votes = load_votes(name)
    known = np.asarray(truth[name](), dtype=np.int64) if name in truth else None
    return VoteSet(name, VoteCounts(votes, 250), known, DELTAS[name])


# ---- our own teachers ---------------------------------------------------------------------------


def _mushrooms() -> tuple[Any, Any]:
    data = load_mushrooms()
    return data.X, (data.y == 2).astype(int)


def _a9a() -> tuple[Any, Any]:
    data = load_a9a()
    X = sparse.vstack([data.train.X, data.test.X]).tocsr()
    return X, (np.concatenate([data.train.y, data.test.y]) > 0).astype(int)


def _newsgroups() -> tuple[Any, Any]:
    data = load_newsgroups()
    X = sparse.vstack([data.train.X, data.test.X]).tocsr()
    X.data = 1 + np.log(X.data)  # a fixed function of each record alone
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    y = np.concatenate([data.train.y, data.test.y])
    X = (sparse.diags(1 / np.maximum(norms, 1e-12)) @ X).tocsr()
    return X, ((y >= 6) & (y <= 10)).astype(int)


OURS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "mushrooms": cache(_mushrooms),
    "a9a": cache(_a9a),
    "newsgroups-2": cache(_newsgroups),
}


class Split:
    """80% private, 2% pool, 18% test, by ``default_rng(seed).permutation``."""

    def __init__(self, name: str, seed: int) -> None:
        X, y = OURS[name]()
        n = len(y)
        order = np.random.default_rng(seed).permutation(n)
        private, rest = np.split(order, [int(0.8 * n)])
        self.name, self.seed, self.n = name, seed, len(private)
        self.X, self.y = take(X, private), y[private]
        self.pool = take(X, rest[: int(0.02 * n)])
        self.rest, self.truth = take(X, rest), y[rest]

    def votes(self, teachers: str, *, pool_only: bool = False) -> VoteSet:
        """Return logistic teachers' votes on the distinct points that are not private.

        The representation is that of the classifier, fitted on the pool; "paper" teachers see the
        features as they are.
        """
        points = self.pool if pool_only else self.rest
        asked = self.distinct(points)[:MOST_QUESTIONS]  # the split has shuffled them
        records: Any = self.X
        questions = take(points, asked)
        if teachers != "paper":
            represent = PoolRepresentation().fit(self.pool)
            seen = represent.transform(self.pool)
            records, questions = (
                RepresentedRows(self.X, represent, seen),
                represent.transform(questions),
            )
        number = SHARD_SIZES[teachers](self.n)
        counts = train_and_count(
            LogisticRegression(),
            records,
            self.y,
            equal_split(self.n, number, np.random.default_rng([self.seed, 1])),
            questions,
            classes=[0, 1],
            seed=self.seed,
            progress=False,
        )
        truth = np.asarray(self.truth[asked], dtype=np.int64)
        return VoteSet(f"{self.name}, {teachers}", counts, truth, 1 / self.n)

    @staticmethod
    def distinct(points: Any) -> NDArray[np.intp]:
        """Return one position per point: the second answer to a question would be free."""
        return distinct_points(question_keys(points))


# ---- generated votes ----------------------------------------------------------------------------


def two_kinds(
    n_questions: int, n_teachers: int, *, hard: float, easy_distance: int, rng: np.random.Generator
) -> VoteSet:
    """Return two-class votes: a share ``hard`` of ties, the rest at one distance.

    A tie has distance 0, and an even margin of ``2 (easy_distance + 1)`` has the one asked for.
    """
    margin = np.where(rng.random(n_questions) < hard, 0, 2 * (easy_distance + 1))
    side = rng.integers(2, size=n_questions)
    lead = (n_teachers + margin) // 2
    ones = np.where(side == 1, lead, n_teachers - lead)
    counts = VoteCounts(np.column_stack([n_teachers - ones, ones]), n_teachers)
    return VoteSet("generated", counts, side.astype(np.int64), 1e-5)
