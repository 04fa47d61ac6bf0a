"""One teacher by itself, as a worker trains it."""

from __future__ import annotations

from typing import Any

from tacit.teachers import Teacher
from tacit.teachers.global_random import preserve_global_random
from tacit.teachers.labels import ClassList
from tacit.teachers.learner import recipe
from tacit.teachers.teacher import fit_recipe
from tacit.teachers.workers.suppress_output import SuppressOutput


def fit_teacher(learner: Any, X: Any, y: Any, *, classes: list[Any], seed: int) -> Teacher:
    """Train one teacher on one shard."""
    with SuppressOutput(), preserve_global_random():
        return fit_recipe(recipe(learner), X, y, ClassList(classes), seed)
