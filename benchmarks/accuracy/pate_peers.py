"""PATE as published, expressed with the product: [LZCW21]'s PSQ and ASQ, and Confident-GNMax.

All three release hard labels of teachers that see the features as they are, and train a logistic
regression on the labels. The price is tacit's: exact for PSQ and ASQ, as in [LZCW21], whose
calibration was exact too.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from benchmarks.accuracy.data import Split
from sklearn.linear_model import LogisticRegression

from tacit import PATEClassifier, Votes
from tacit.accounting.budget import Budget
from tacit.estimators.vote_settings import distinct_points
from tacit.labeling import ExternalVotes, question_keys
from tacit.mechanisms import ConfidentVote, GaussianVote
from tacit.students.active import YanDBAL
from tacit.teachers import equal_split, train_and_count


def psq(split: Split, epsilon: float, settings: Mapping[str, Any]) -> float:
    """Passive student queries, [LZCW21] Algorithm 3: every point of the pool, all at once."""
    answers = _distinct(split)
    vote = GaussianVote.for_budget(Budget(epsilon, split.delta), answers=answers)
    return _score(split, epsilon, settings, vote, n_questions=answers, query=None)


def asq(split: Split, epsilon: float, settings: Mapping[str, Any]) -> float:
    """Active student queries, [LZCW21] Algorithm 5: 30% of the pool, chosen as the paper did."""
    answers = math.ceil(settings["share"] * _distinct(split))
    vote = GaussianVote.for_budget(Budget(epsilon, split.delta), answers=answers)
    strategy = YanDBAL(c0=settings["c0"], seed=split.seed)
    return _score(split, epsilon, settings, vote, n_questions=answers, query=strategy)


def confident(split: Split, epsilon: float, settings: Mapping[str, Any]) -> float:
    """Confident-GNMax, [PSMRTE18] Algorithm 1: a noisy test of the largest count, then the label.

    The guarantee is the one that holds beforehand. The vote-dependent epsilon of the paper is
    itself private, and would need a release of its own.
    """
    questions = _distinct(split)
    n_teachers = split.n // settings["shard"]
    vote = ConfidentVote.for_budget(
        Budget(epsilon, split.delta),
        threshold=settings["threshold"] * n_teachers,
        questions=questions,
        answers=math.ceil(settings["answered"] * questions),
        ratio=settings["ratio"],
    )
    return _score(split, epsilon, settings, vote, n_questions=questions, query=None)


def _distinct(split: Split) -> int:
    """Equal points of the pool are one question."""
    return len(distinct_points(question_keys(split.numbers.pool)))


@lru_cache(maxsize=8)
def _votes(split: Split, shard: int, C: float) -> ExternalVotes:
    """Let teachers vote on the whole pool: once, since neither noise nor student changes that."""
    counts = train_and_count(
        LogisticRegression(C=C),
        split.numbers.private,
        split.labels,
        equal_split(split.n, split.n // shard, np.random.default_rng(split.seed)),
        split.numbers.pool,
        classes=[0, 1],
        seed=split.seed,
    )
    return ExternalVotes(counts, classes=[0, 1], rows=np.arange(counts.n_questions))


def _score(
    split: Split, epsilon: float, settings: Mapping[str, Any], vote: Any, **asking: Any
) -> float:
    model = PATEClassifier(
        epsilon=epsilon,
        delta=split.delta,
        classes=[0, 1],
        method=Votes(vote, release="label", **asking),
        student=LogisticRegression(C=settings["C"]),
        representation=None,
        random_state=split.seed,
        verbose=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # at little budget every answer may be one class
        votes = _votes(split, settings["shard"], settings["C"])
        model.fit(votes, X_public=split.numbers.pool)
        return split.accuracy(model.predict(split.numbers.test))
