"""From questions to counted votes, in a stream: memory does not grow with the teachers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from tacit.data.pool import n_rows
from tacit.errors import PrivateValueError
from tacit.mechanisms.counts import VoteCounts
from tacit.teachers.diagnostics import Diagnostics
from tacit.teachers.fused import Fused, as_numbers, fuse
from tacit.teachers.global_random import preserve_global_random
from tacit.teachers.labels import DEFAULT, ClassList, IntArray
from tacit.teachers.learner import learner_name
from tacit.teachers.rows import RowForm, row_access
from tacit.teachers.teacher import Teacher
from tacit.teachers.workers.suppress_output import SuppressOutput


class TeacherEnsemble:
    """Teachers kept for questions to come. Private.

    Made by ``train_teachers``.

    Parameters
    ----------
    teachers : sequence of Teacher
        One per shard, in the order of the shards. Private.
    learner : object
        What they were trained from. Public.
    form : RowForm
        What a question looks like. Public.

    Privacy
    -------
    Holds what was learnt from private records. Its repr shows the number of teachers and the
    class of the learner; pickling it raises. Every teacher votes on every question, and one
    record reaches one teacher, so it moves at most one vote per question.
    """

    __slots__ = (
        "_form",
        "_fused",
        "_fused_ready",
        "_learner",
        "_teachers",
        "classes",
    )

    def __init__(self, teachers: Sequence[Teacher], *, learner: Any, form: RowForm) -> None:
        self._teachers = tuple(teachers)
        self._learner, self._form = learner, form
        self.classes: ClassList = self._teachers[0].classes
        self._fused: Fused | None = None
        self._fused_ready = False

    @property
    def n_teachers(self) -> int:
        """Number of teachers. Public."""
        return len(self._teachers)

    def private_teachers(self) -> tuple[Teacher, ...]:
        """Return the teachers themselves: for saving and for tests. Private."""
        return self._teachers

    def diagnostics(self) -> Diagnostics:
        """Return how often teachers failed, so far. Private."""
        diagnostics = Diagnostics()
        for teacher in self._teachers:
            diagnostics.add(teacher.events)
        return diagnostics

    def count(self, X: Any) -> VoteCounts:
        """Let every teacher vote on every point, and count.

        Teachers that can be asked together are (one matrix product for linear models, one walk
        through all trees); the others one by one. Both ways give the same votes, but for
        scores within 1e-9 of a tie.

        Parameters
        ----------
        X : table
            Questions, of the same form as the records. Public.

        Returns
        -------
        VoteCounts
            One row per question, one column per class. Private.

        Raises
        ------
        InvalidArgument
            When the questions do not have the form of the records; the message quotes none.

        Privacy
        -------
        Which way is taken depends on the learner and on the questions, both public; a teacher
        that needs a way of its own gets it alone, so that no teacher's vote depends on another's
        records.
        """
        table = X if self._form.is_plain(X) else self._conformed(X)
        counts = self._together(table)
        if counts is None:
            counts = count_one_by_one(self._teachers, table, len(self.classes))
        return VoteCounts(counts, self.n_teachers)

    def _conformed(self, X: Any) -> Any:
        self._form.check(X=X)
        return self._form.conform(row_access(X))

    def _together(self, table: Any) -> IntArray | None:
        """Return counts of teachers asked together, or None when that is not the way."""
        # Whether arithmetic on coefficients overflows depends on records: no warning is allowed.
        # The learner's own code does not run here, so no other output is lost.
        with np.errstate(all="ignore"):
            fused = self._fusion()
            numbers = None if fused is None else as_numbers(table)
            counts = None if fused is None or numbers is None else fused.count(numbers)
        if fused is not None and counts is not None and fused.alone:
            alone = [self._teachers[place] for place in fused.alone]
            counts[:, DEFAULT] -= len(alone)  # where they stood in
            counts += count_one_by_one(alone, table, len(self.classes))
        return counts

    def _fusion(self) -> Fused | None:
        if not self._fused_ready:
            with SuppressOutput():
                self._fused = fuse(self._teachers, self._learner, self._form.width)
            self._fused_ready = True
        return self._fused

    def __len__(self) -> int:
        return self.n_teachers

    def __repr__(self) -> str:
        return (
            f"TeacherEnsemble(n_teachers={self.n_teachers}, learner={learner_name(self._learner)})"
        )

    def __reduce__(self) -> NoReturn:
        raise PrivateValueError("Teachers are private: an ensemble cannot be pickled or copied.")


def count_one_by_one(teachers: Sequence[Teacher], X: Any, n_classes: int) -> IntArray:
    """Return counts of shape (n_questions, n_classes), asking each teacher in turn. Private."""
    counts = np.zeros((n_rows(X), n_classes), dtype=np.int64)
    with SuppressOutput(), preserve_global_random():
        for teacher in teachers:
            add_votes(counts, teacher.votes(X))
    return counts


def add_votes(counts: IntArray, votes: IntArray) -> None:
    """Add one teacher's votes to the counts, in place."""
    counts[np.arange(len(votes)), votes] += 1
