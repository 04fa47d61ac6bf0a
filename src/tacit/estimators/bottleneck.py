"""Whether a learner is what limits a run, from public facts: its kind, sizes, the pool's form."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier

from tacit.estimators.learner_kinds import makes_linear_models
from tacit.estimators.vote_settings import VoteSettings
from tacit.teachers.learner import final_step, learner_name

_LARGE = 500
"""Shards of so many records limit nothing that was measured."""

_FEW_COLUMNS = 3

_LEAVES = 10
"""A tree that may not make leaves below some size needs so many of them."""


def bottleneck(settings: VoteSettings, n_classes: int) -> str | None:
    """Return what to say about a learner whose votes other teachers beat, or None.

    Uses the kind of the learner, the nominal size of a shard, the number of classes and the width
    of the pool. The figures are those of ``docs/guide/classifier.md``.
    """
    n_units = settings.protection.n_units
    if settings.learner is None or n_units is None or makes_linear_models(settings.learner):
        return None
    size = n_units // settings.n_teachers
    leaf = _smallest_leaf(settings.learner)
    told = f"Each {learner_name(settings.learner)} is trained on about {size} records."
    if size < _LEAVES * leaf:
        return (
            f"{told} With leaves of at least {leaf} its trees hardly split: votes were right on "
            ".70 of points where trees of smaller leaves reached .94. Set `min_samples_leaf=3`, or "
            "leave the learner out (`learner=None`): built-in teachers reached .95."
        )
    if size < _LARGE and (n_classes > 2 or _width(settings.points.points) > _FEW_COLUMNS):
        return (
            f"{told} With more than {_FEW_COLUMNS} columns or two classes, votes of such teachers "
            "were behind the built-in ones on the same records: .70 against .81 with five classes. "
            "Compare with `learner=None`, on public data or with a part of the budget."
        )
    return None


def _smallest_leaf(learner: Any) -> int:
    final = final_step(learner)
    return final.min_samples_leaf if isinstance(final, HistGradientBoostingClassifier) else 0


def _width(points: Any) -> int:
    """Return the number of columns; texts count as many."""
    shape = getattr(points, "shape", ())
    return int(shape[1]) if len(shape) == 2 else _FEW_COLUMNS + 1
