"""From released answers to a fitted student that speaks in class indices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tacit import validation
from tacit.accounting.answer import Output
from tacit.data.pool import n_rows, take
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.errors import InvalidArgument
from tacit.students.columns import kernel_coordinates
from tacit.students.kernel_student import KernelStudent
from tacit.students.noise_aware import NoiseAwareStudent
from tacit.students.passive import UNLABELLED, fit_on_labels, known_variance, released_labels
from tacit.students.share_fit import AS_GOOD
from tacit.teachers.learner import CHECKED_AT_LEAST, CHECKED_PER_CLASS, check_interface
from tacit.teachers.workers.suppress_output import SuppressOutput
from tacit.validation import is_auto


class FittedStudent:
    """A fitted public model whose labels are class indices 0 .. n_classes - 1."""

    def __init__(self, model: Any, n_classes: int) -> None:
        self.model = model
        self.n_classes = n_classes

    @property
    def name(self) -> str:
        """The model in words: of a pipeline, its last step."""
        model = self.model[-1] if isinstance(self.model, Pipeline) else self.model
        kernel = getattr(model, "kernel_", None)
        return type(model).__name__ + ("" if kernel is None else f", {kernel}")

    def predict(self, points: Any) -> NDArray[np.int64]:
        """Return class indices."""
        return np.asarray(self.model.predict(points)).astype(np.int64)

    def __getattr__(self, name: str) -> Any:
        # Only offered when the model offers it, as scikit-learn's contract asks.
        if name == "predict_proba" and hasattr(self.__dict__.get("model"), "predict_proba"):
            return self._predict_proba
        raise AttributeError(name)

    def _predict_proba(self, points: Any) -> NDArray[np.float64]:
        # A class that was never released has no column of its own: its probability is zero.
        released = np.asarray(self.model.classes_).astype(np.int64)
        columns = np.asarray(self.model.predict_proba(points))
        proba = np.zeros((len(columns), self.n_classes))
        proba[:, released] = columns
        return proba


def check_student(student: Any, points: Any, n_classes: int) -> None:
    """Try a student on public points with made-up labels, before anything is spent.

    Parameters
    ----------
    student : estimator or "auto"
        Not changed. "auto", the default student, needs no check.
    points : table
        Public points in the form the student will see.
    n_classes : int

    Raises
    ------
    InvalidArgument
        When it is a class, lacks ``fit`` or ``predict``, is a regressor, or fails.
    """
    if is_auto(student):
        return
    if student is None or isinstance(student, str):
        raise InvalidArgument(f"`student` must be 'auto' or an estimator, got {student!r}.")
    check_interface(student=student)
    name = type(student).__name__
    some = take(points, _few(n_rows(points), n_classes))
    labels = np.arange(n_rows(some)) % n_classes
    if _takes_unlabelled(student):
        labels[len(labels) // 2 :] = UNLABELLED
    try:
        with SuppressOutput():
            predicted = np.asarray(fit_on_labels(student, some, labels).predict(some))
    except Exception as error:
        raise InvalidArgument(
            f"`student` must be able to fit and predict; {name} failed on public points with "
            f"made-up labels: {type(error).__name__}: {error}"
        ) from error
    if predicted.shape != labels.shape or not np.isin(predicted, labels).all():
        raise InvalidArgument(
            f"`student` must predict one of the labels it was fitted on per point; {name} "
            "returned something else (scores or probabilities, perhaps)."
        )


def _few(available: int, n_classes: int) -> NDArray[np.intp]:
    wanted = max(CHECKED_AT_LEAST, CHECKED_PER_CLASS * n_classes)
    return np.arange(min(wanted, available))


def fit_student(
    student: Any,
    pool: Any,
    released: Any,
    n_classes: int,
    refusals: str,
    rng: np.random.Generator,
    *,
    represented: bool,
) -> FittedStudent:
    """Fit a student on what was released. Everything here is public.

    Parameters
    ----------
    student : estimator or "auto"
        "auto": from shares, the linear student or the one with a kernel, whichever explains
        them better; from labels, the linear one.
    pool : table
        All public points.
    released : Released
    refusals : {"unlabelled", "random"}
    rng : numpy Generator
        Draws random labels for refusals; not privacy noise.
    represented : bool
        Whether the points are coordinates of the caller's choice; else the default student makes
        its own.
    """
    answers = released.answers
    points = take(pool, released.positions)
    if released.output is Output.SHARE and is_auto(student) and len(answers):
        return FittedStudent(_on_shares(pool, points, answers, n_classes, represented), n_classes)
    labels = released_labels(answers)
    if validation.one_of(("unlabelled", "random"), refusals=refusals) == "random":
        refused = labels == UNLABELLED
        labels[refused] = rng.integers(n_classes, size=int(refused.sum()))
    if is_auto(student):
        student = make_pipeline(_coordinates(represented), NoiseAwareStudent())
    if _takes_unlabelled(student):
        everywhere = np.full(n_rows(pool), UNLABELLED)
        everywhere[released.positions] = labels
        return FittedStudent(fit_on_labels(student, pool, everywhere), n_classes)
    answered = np.flatnonzero(labels != UNLABELLED)
    return FittedStudent(
        fit_on_labels(student, take(points, answered), labels[answered]), n_classes
    )


def _on_shares(pool: Any, points: Any, answers: Any, n_classes: int, represented: bool) -> Any:
    """Return the linear student, or the one with a kernel where that explains the shares better."""
    columns = kernel_coordinates(pool, represented=represented)
    each_column = not isinstance(columns, PoolRepresentation)
    linear = _coordinates(represented).fit(pool), NoiseAwareStudent()
    curved = columns, KernelStudent(each_column=each_column)
    shares = np.array([answer.share for answer in answers])
    for coordinates, model in (linear, curved):
        model.fit_shares(
            coordinates.transform(points),
            shares,
            variance=known_variance(answers),
            classes=np.arange(n_classes),
        )
    is_better = curved[1].evidence_ > linear[1].evidence_ + AS_GOOD
    return make_pipeline(*(curved if is_better else linear))


def _coordinates(represented: bool) -> Any:
    # Coordinates must not be encoded twice: standardising them would undo their order.
    return FunctionTransformer() if represented else PoolRepresentation(scale=1.0, flatten=0.0)


def _takes_unlabelled(student: Any) -> bool:
    return type(student).__module__.startswith("sklearn.semi_supervised")
