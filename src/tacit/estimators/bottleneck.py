"""Whether a learner is what limits a run, from public facts: its kind, sizes, the pool's form."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier

from tacit.estimators.learner_kinds import makes_linear_models
from tacit.estimators.vote_settings import VoteSettings
from tacit.teachers.learner import final_step, learner_name

_LARGE = 500
"""Shards of at least this size showed no limit."""

_FEW_COLUMNS = 3

_LEAVES = 10
"""Records per leaf size that a tree needs to split."""


def bottleneck(settings: VoteSettings, n_classes: int) -> str | None:
    """Return what to say about a learner whose votes other teachers beat, or None.

    Uses the kind of the learner, the nominal size of a shard, the number of classes and the width
    of the pool. The data are those of ``experiments/curved_boundaries``, one seed.
    """
    n_units = settings.protection.n_units
    if settings.learner is None or n_units is None or makes_linear_models(settings.learner):
        return None
    size = n_units // settings.n_teachers
    leaf = _smallest_leaf(settings.learner)
    name = learner_name(final_step(settings.learner))
    size_of_shard = f"Each {name} is trained on about {size} records."
    if size < _LEAVES * leaf:
        return (
            f"{size_of_shard} With leaves of at least {leaf} its trees hardly split: votes were "
            "right on .70 of points where trees of smaller leaves reached .94. Set "
            "`min_samples_leaf=3`, or leave the learner out (`learner=None`): built-in teachers "
            "reached .95."
        )
    if size < _LARGE and not _is_easy(settings, n_classes):
        return (
            f"{size_of_shard} On 20,000 generated records, at epsilon 1, students of such votes "
            "were right on .68 to .73 of points of five classes, and on .93 to .95 inside or "
            "outside a circle; students of built-in teachers, on kernel features of the pool, on "
            ".83 and .95. Compare with `learner=None` on public data."
        )
    return None


def _is_easy(settings: VoteSettings, n_classes: int) -> bool:
    """Whether votes were as good as anything: of neighbours, in few columns, on two classes."""
    is_local = isinstance(final_step(settings.learner), KNeighborsClassifier)
    return is_local and n_classes == 2 and _width(settings.points.points) <= _FEW_COLUMNS


def _smallest_leaf(learner: Any) -> int:
    final = final_step(learner)
    return final.min_samples_leaf if isinstance(final, HistGradientBoostingClassifier) else 0


def _width(points: Any) -> int:
    """Return the number of columns; texts count as many."""
    return int(points.shape[1]) if getattr(points, "ndim", 0) == 2 else _FEW_COLUMNS + 1
