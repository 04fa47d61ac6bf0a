"""What is done with shards where a worker is: train, vote, and forget or keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from tacit.data.pool import n_rows
from tacit.teachers.labels import DEFAULT, ClassList, IntArray
from tacit.teachers.learner import Recipe, recipe, shard_seed
from tacit.teachers.teacher import Teacher, fit_recipe
from tacit.teachers.vote import add_votes
from tacit.teachers.workers.batches import Batch
from tacit.teachers.workers.versions import versions_behind

_T = TypeVar("_T")

LOST = "lost"
"""The event of a teacher whose shard no worker could finish."""

FIRST_CLASS = "vote for the first class"


class TrainTask:
    """Trains a few shards and returns their teachers."""

    when_lost = FIRST_CLASS

    def __init__(self, learner: Any, classes: ClassList, seed: int) -> None:
        self.recipe: Recipe = recipe(learner)
        self.classes, self.seed = classes, seed
        self.versions = versions_behind(self.recipe.learner)

    def __call__(self, shards: Batch) -> list[tuple[int, Teacher]]:
        return [(number, self.fit(number, X, y)) for number, X, y in shards]

    def fit(self, number: int, X: Any, y: Any) -> Teacher:
        """Train one teacher: the same one wherever and however often it is trained."""
        return fit_recipe(self.recipe, X, y, self.classes, shard_seed(self.seed, number))

    def lost(self, numbers: Sequence[int]) -> list[tuple[int, Teacher]]:
        """Return teachers that vote for the first class."""
        teachers = [(number, Teacher(self.classes)) for number in numbers]
        for _, teacher in teachers:
            teacher.events[LOST] += 1
        return teachers


class CountTask:
    """Trains a few shards, one at a time, and returns what they voted together."""

    when_lost = FIRST_CLASS

    def __init__(self, learner: Any, classes: ClassList, seed: int, questions: Any) -> None:
        self._training, self._questions = TrainTask(learner, classes, seed), questions
        self.versions = self._training.versions

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of questions and classes."""
        return n_rows(self._questions), len(self._training.classes)

    def __call__(self, shards: Batch) -> tuple[IntArray, Counter[str]]:
        counts = np.zeros(self.shape, dtype=np.int64)
        events: Counter[str] = Counter()
        for number, X, y in shards:
            teacher = self._training.fit(number, X, y)
            add_votes(counts, teacher.votes(self._questions))
            events.update(teacher.events)
        return counts, events

    def lost(self, numbers: Sequence[int]) -> tuple[IntArray, Counter[str]]:
        """Return votes for the first class."""
        counts = np.zeros(self.shape, dtype=np.int64)
        counts[:, DEFAULT] = len(numbers)
        return counts, Counter({LOST: len(numbers)})


class VoteTask:
    """Trains a few shards, one at a time, and returns what each of them voted."""

    when_lost = FIRST_CLASS

    def __init__(self, learner: Any, classes: ClassList, seed: int, questions: Any) -> None:
        self._training, self.questions = TrainTask(learner, classes, seed), questions
        self.versions = self._training.versions
        self.shape = n_rows(questions), len(classes)

    def __call__(self, shards: Batch) -> dict[int, IntArray]:
        return {n: self._training.fit(n, X, y).votes(self.questions) for n, X, y in shards}

    def lost(self, numbers: Sequence[int]) -> dict[int, IntArray]:
        """Return votes for the first class."""
        return {n: np.full(self.shape[0], DEFAULT, dtype=np.int64) for n in numbers}
