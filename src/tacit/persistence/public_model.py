"""A student on its own: what is handed out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if

from tacit.data import Schema
from tacit.data.pool import n_rows
from tacit.errors import InvalidArgument
from tacit.estimators.schema_checks import checked_points
from tacit.report import PrivacyStatement, RunReport
from tacit.report.public_check import check_predictions
from tacit.students.fitting import FittedStudent
from tacit.teachers.represented import represented


def _student_has(name: str) -> Any:
    return available_if(lambda model: hasattr(model.student_, name))


class PublicModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted student with its privacy statement and report, and nothing else. Public.

    Made by ``load_student``. It predicts as the classifier did from which it was saved. It cannot
    be fitted; cloning it gives it back.

    Parameters
    ----------
    student : FittedStudent
    classes : ndarray
    privacy : PrivacyStatement
    report : RunReport
    schema : Schema
        How every cell is read.
    representation : fitted transformer, optional
        Applied to points before the student sees them.
    n_features : int, optional
        Width of a point, when points are rows of a table.
    feature_names : tuple of str, optional
    trusts : tuple of str
        Types that were made on loading besides those which skops trusts.

    Attributes
    ----------
    classes_ : ndarray
    privacy_ : PrivacyStatement
    student_ : FittedStudent
    trusts_ : tuple of str
    """

    # Nothing is routed through a model that cannot be fitted.
    __metadata_request__score = {"sample_weight": UNUSED}

    def __init__(
        self,
        student: FittedStudent,
        *,
        classes: NDArray[Any],
        privacy: PrivacyStatement,
        report: RunReport,
        schema: Schema,
        representation: Any = None,
        n_features: int | None = None,
        feature_names: tuple[str, ...] | None = None,
        trusts: tuple[str, ...] = (),
    ) -> None:
        self.student_ = student
        self.classes_ = classes
        self.privacy_ = privacy
        self.schema_ = schema
        self.representation_ = representation
        self.trusts_ = trusts
        self._report = report
        # scikit-learn's own checks go by the presence of these two.
        if n_features is not None:
            self.n_features_in_ = n_features
        if feature_names is not None:
            self.feature_names_in_ = np.array(feature_names, dtype=object)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of every point."""
        labels: NDArray[Any] = self.classes_[self.student_.predict(self._points(X))]
        return labels

    @_student_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class, where the student has it."""
        probabilities: NDArray[np.float64] = self.student_.predict_proba(self._points(X))
        return probabilities

    def report(self, X: Any = None, y: Any = None) -> RunReport:
        """Return what was asked, released, refused, spent and assumed.

        Parameters
        ----------
        X, y : points and labels, optional
            Public and labelled: adds predictions against labels.
        """
        if X is None:
            return self._report
        if y is None or n_rows(y) != n_rows(X):
            raise InvalidArgument("`y` must hold one label for each point of `X`.")
        predicted, actual = self.predict(X).tolist(), np.asarray(y).tolist()
        return replace(
            self._report, check=check_predictions(self.classes_.tolist(), predicted, actual)
        )

    def _points(self, X: Any) -> Any:
        X = checked_points(self, X, reset=False)
        return X if self.representation_ is None else represented(self.representation_, X)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return no settings: nothing can be chosen any more."""
        return {}

    def __sklearn_clone__(self) -> Self:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return (
            f"PublicModel({type(self.student_.model).__name__}, "
            f"classes={self.classes_.tolist()!r}, "
            f"epsilon={self.privacy_.epsilon:.6g}, delta={self.privacy_.delta:.3g})"
        )

    def _repr_html_(self) -> str:
        return self.privacy_._repr_html_()
