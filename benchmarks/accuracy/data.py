"""The data sets, and how every method's split of them is drawn.

For each split, drawn by ``numpy.random.default_rng(seed).permutation``, the first 80% are private,
the next 2% the public pool (labels unused), the rest the test set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tacit.data.pool import take
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.data.sets import load_adult, load_two_classes

Data = tuple[Any, NDArray[np.int64]]


def _two_classes(name: str) -> Callable[[], Data]:
    def read() -> Data:
        data = load_two_classes(name)
        return data.X, data.y

    return read


def _adult() -> Data:
    """Adult as it comes: a data frame of numbers and categories."""
    import pandas as pd

    data = load_adult()
    X = pd.concat([data.train, data.test], ignore_index=True)
    y = X.pop("income").to_numpy(dtype=str)
    for name in X.select_dtypes(exclude="number").columns:
        X[name] = X[name].astype("category")
    return X, np.char.startswith(y, ">").astype(int)


DATA: dict[str, Callable[[], Data]] = {
    "mushrooms": _two_classes("mushrooms"),
    "a9a": _two_classes("a9a"),
    "newsgroups": _two_classes("newsgroups"),
    "adult": _adult,
}


def row_norms(X: Any) -> NDArray[np.float64]:
    """Return the length of every row."""
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else (np.asarray(X) ** 2).sum(axis=1)
    norms: NDArray[np.float64] = np.sqrt(np.asarray(squares, dtype=float).ravel())
    return norms


def scaled_rows(X: Any, factors: NDArray[np.float64]) -> Any:
    """Return the rows, each multiplied by its factor."""
    if sp.issparse(X):
        return (sp.diags(factors) @ X).tocsr()
    return np.asarray(X) * factors[:, None]


def unit_rows(X: Any) -> Any:
    """Return rows of length one: a fixed function of each record alone, so it costs nothing."""
    return scaled_rows(X, 1 / np.maximum(row_norms(X), 1e-12))


def with_constant(X: Any, value: float) -> Any:
    """Return the rows with one more column, which is constant."""
    column = np.full((X.shape[0], 1), value)
    if sp.issparse(X):
        return sp.hstack([X, sp.csr_matrix(column)]).tocsr()
    return np.hstack([X, column])


@dataclass(frozen=True)
class Parts:
    """The same function of private records, pool and test points."""

    private: Any
    pool: Any
    test: Any

    def map(self, change: Callable[[Any], Any]) -> Parts:
        """Return the same function of all three."""
        return Parts(change(self.private), change(self.pool), change(self.test))


class Split:
    """One split of one data set, and the features methods take from it.

    Parameters
    ----------
    X : matrix or data frame
    y : array of 0 and 1
    seed : int
    """

    def __init__(self, X: Any, y: NDArray[np.int64], seed: int) -> None:
        n = len(y)
        order = np.random.default_rng(seed).permutation(n)
        private, pool, test = np.split(order, [int(0.8 * n), int(0.8 * n) + int(0.02 * n)])
        self.seed = seed
        self.given = Parts(take(X, private), take(X, pool), take(X, test))
        self.labels, self.truth = y[private], y[test]
        self.delta = 1 / len(private)
        self._public: dict[float, Parts] = {}

    @property
    def n(self) -> int:
        """Number of private records. Public: neighbours replace one record."""
        return len(self.labels)

    @cached_property
    def numbers(self) -> Parts:
        """The features as numbers; a data frame is encoded by what the pool shows."""
        if not hasattr(self.given.pool, "iloc"):
            return self.given
        encoder = _encoder(self.given.pool).fit(self.given.pool)
        return self.given.map(encoder.transform)

    def public(self, flatten: float) -> Parts:
        """Coordinates learnt from the pool alone, rows of mean length one, at most two."""
        if flatten not in self._public:
            represent = PoolRepresentation(scale=1.0, flatten=flatten).fit(self.given.pool)
            self._public[flatten] = self.given.map(represent.transform)
        return self._public[flatten]

    def accuracy(self, predicted: Any) -> float:
        """Return the share of test points that were predicted right."""
        return float(np.mean(np.asarray(predicted) == self.truth))


@lru_cache(maxsize=1)
def load(name: str) -> Data:
    """Return a data set, kept for the next split of it."""
    return DATA[name]()


def _encoder(frame: Any) -> Any:
    numbers = list(frame.select_dtypes(include="number").columns)
    others = [name for name in frame.columns if name not in numbers]
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            ("categories", OneHotEncoder(handle_unknown="ignore", sparse_output=False), others),
        ]
    )
