"""Strategies of scikit-activeml behind our interface. Needs the extra ``active``."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from tacit.data.pool import n_rows
from tacit.errors import InvalidArgument
from tacit.students.active.base import (
    IndexArray,
    answered,
    as_numbers,
    random_unasked,
    unasked,
)
from tacit.students.active.selector import SELECTOR_PENALTY


@dataclass(frozen=True)
class ScikitActiveML:
    """A pool strategy of scikit-activeml.

    Parameters
    ----------
    strategy : query strategy of ``skactiveml.pool``
        Copied for each call, with a random state drawn from the call's generator.
    classifier : classifier of ``skactiveml.classifier``, optional
        Passed to strategies that take one; by default the logistic regression of ``Margin``.
    arguments : dict, optional
        More arguments of the strategy's ``query``.

    Notes
    -----
    A strategy that looks through a classifier starts at random, until two classes were released.
    Points that were refused count as unlabelled and are not asked again.

    Examples
    --------
    >>> from skactiveml.pool import UncertaintySampling  # doctest: +SKIP
    >>> ScikitActiveML(UncertaintySampling())  # doctest: +SKIP
    """

    strategy: Any
    classifier: Any = None
    arguments: dict[str, Any] | None = None

    def select(
        self,
        X_pool: Any,
        queried: IndexArray,
        labels: NDArray[np.int64],
        k: int,
        rng: np.random.Generator,
    ) -> IndexArray:
        """Return what the strategy chooses. See ``Strategy``."""
        query = self._copy(int(rng.integers(2**31)))
        points = as_numbers(X_pool)
        known, released = answered(queried, labels)
        left = unasked(n_rows(points), queried)
        takes_classifier = "clf" in inspect.signature(query.query).parameters
        if len(left) == 0 or (takes_classifier and len(np.unique(released)) < 2):
            return random_unasked(n_rows(points), queried, k, rng)
        y = np.full(n_rows(points), np.nan)
        y[known] = released
        arguments = dict(self.arguments or {})
        if takes_classifier:
            arguments.setdefault("clf", self._classifier(np.unique(released)))
        chosen = query.query(
            X=points, y=y, candidates=left, batch_size=min(k, len(left)), **arguments
        )
        return np.asarray(chosen, dtype=np.intp)

    def _copy(self, seed: int) -> Any:
        if not hasattr(self.strategy, "query"):
            raise InvalidArgument(
                "`strategy` must be a query strategy of scikit-activeml (pip install "
                f"'.[active]'), got {type(self.strategy).__name__}."
            )
        copy = clone(self.strategy)
        return copy.set_params(random_state=seed) if "random_state" in copy.get_params() else copy

    def _classifier(self, classes: NDArray[np.int64]) -> Any:
        if self.classifier is not None:
            return clone(self.classifier)
        try:
            from skactiveml.classifier import SklearnClassifier
        except ImportError as error:
            raise InvalidArgument(
                "`strategy` needs scikit-activeml: pip install '.[active]' in the checkout."
            ) from error
        model = LogisticRegression(C=1 / SELECTOR_PENALTY, max_iter=1000)
        return SklearnClassifier(model, classes=classes.tolist())
