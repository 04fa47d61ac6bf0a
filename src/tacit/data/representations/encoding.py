"""Points as numbers, by encoders that are fitted on the public pool alone."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from tacit.data.column import MOST_CATEGORIES

FloatArray = NDArray[np.float64]

NARROW = 4096
"""A sparse pool with at most so many columns is treated as a table, a wider one as word counts."""

_MOST_WORDS = 300
"""Words of a column of texts that become coordinates."""


def encoder_for(X: Any) -> Any:
    """Return a transformer to numbers for this kind of input, or None where it is numeric."""
    if sp.issparse(X):
        return RareWords() if X.shape[1] > NARROW else None
    if hasattr(X, "iloc"):
        return FrameEncoder()
    first = X[0] if len(X) else None
    if isinstance(first, str):
        from sklearn.feature_extraction.text import TfidfVectorizer

        return TfidfVectorizer(sublinear_tf=True)
    if getattr(X, "dtype", None) is not None and X.dtype.kind == "O":
        from sklearn.preprocessing import OneHotEncoder

        return OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return NumberEncoder()


def dense(points: Any) -> FloatArray:
    """Return a table, sparse or not, as an array of numbers."""
    table = points.toarray() if hasattr(points, "toarray") else points
    return np.asarray(table, dtype=np.float64)


def is_table(X: Any) -> bool:
    """Return whether public points are a table of columns, not texts or counts of many words."""
    if sp.issparse(X):
        return bool(X.shape[1] <= NARROW)
    return getattr(X, "ndim", 1) == 2


class FrameEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Columns of a data frame as numbers, each by its kind in the pool.

    Numbers are standardised and dates are numbers of days, with the pool's mean where they are
    missing; categories become indicators, columns of texts tf-idf of their most frequent words.

    Every cell is encoded by itself, and one that does not fit counts as missing.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        self.categories_: dict[Any, list[str]] = {}
        self.words_: dict[Any, Any] = {}
        self.numbers_: list[Any] = []
        for name in X.columns:
            column = X[name]
            if column.dtype.kind in "biufM":
                self.numbers_.append(name)
                continue
            cells = _texts(column)
            distinct = sorted({cell for cell in cells if cell is not None})
            if len(distinct) > max(MOST_CATEGORIES, len(cells) // 2):
                self.words_[name] = _word_encoder().fit([cell or "" for cell in cells])
            else:
                self.categories_[name] = distinct
        numbers = self._numbers(X)
        known = np.isfinite(numbers)
        self.means_ = np.where(known, numbers, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        self.scaler_ = NumberEncoder().fit(self._filled(numbers))
        return self

    def transform(self, X: Any) -> FloatArray:
        parts = [self.scaler_.transform(self._filled(self._numbers(X)))]
        for name, listed in self.categories_.items():
            codes_of: dict[str | None, int] = {cell: code for code, cell in enumerate(listed)}
            codes = np.array([codes_of.get(cell, -1) for cell in _texts(X[name])], dtype=np.intp)
            parts.append((codes[:, None] == np.arange(len(listed))).astype(np.float64))
        for name, encoder in self.words_.items():
            parts.append(encoder.transform([cell or "" for cell in _texts(X[name])]).toarray())
        return np.hstack(parts)

    def _numbers(self, X: Any) -> FloatArray:
        columns = [_as_numbers(X[name]) for name in self.numbers_]
        return np.column_stack(columns) if columns else np.empty((len(X), 0))

    def _filled(self, numbers: FloatArray) -> FloatArray:
        return np.where(np.isfinite(numbers), numbers, self.means_)


def _as_numbers(column: Any) -> FloatArray:
    """Return a column as floats: times as days since 1970, missing ones as NaN."""
    values = column.to_numpy()
    if values.dtype.kind == "M":
        days = (values - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
        return np.asarray(days, dtype=np.float64)
    return np.asarray(values, dtype=np.float64)


def _texts(column: Any) -> list[str | None]:
    """Return cells of the schema's categories or texts; None for missing ones."""
    cells = column.astype(object).to_numpy()
    return [cell if isinstance(cell, str) else None for cell in cells]


def _word_encoder() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    # Any text has words for this pattern, so that no column of texts is refused.
    return TfidfVectorizer(sublinear_tf=True, max_features=_MOST_WORDS, token_pattern=r"\S+")


class RareWords(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Weighs columns by how few of the pool's points have them; rows get length one.

    Common words tell little about a text, and the longest texts should not lead the directions.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        table = sp.csr_matrix(X)
        points_with = np.bincount(table.indices[table.data != 0], minlength=table.shape[1])
        self.weights_ = np.log((1 + table.shape[0]) / (1 + points_with)) + 1
        return self

    def transform(self, X: Any) -> Any:
        weighed = sp.csr_matrix(X, dtype=np.float64) @ sp.diags(self.weights_)
        # A private value that is not a number must not spoil more than its own row.
        with np.errstate(all="ignore"):
            lengths = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
            return sp.diags(1 / np.maximum(lengths, 1e-12)) @ weighed


class NumberEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Standardises columns that leave [-1, 1]; indicators and scaled columns stay as they are.

    Standardising an indicator would blow up its rare value; a column of incomes must be scaled.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        table = np.nan_to_num(np.asarray(X, dtype=np.float64))
        wide = np.abs(table).max(axis=0) > 1
        deviation = table.std(axis=0)
        self.shift_ = np.where(wide, table.mean(axis=0), 0.0)
        self.divisor_ = np.where(wide & (deviation > 0), deviation, 1.0)
        return self

    def transform(self, X: Any) -> FloatArray:
        table = np.asarray(X, dtype=np.float64)
        scaled = (table - self.shift_) / self.divisor_
        encoded: FloatArray = np.clip(np.nan_to_num(scaled), -10.0, 10.0)
        return encoded
