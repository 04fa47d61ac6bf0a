"""A learner that notices every change in what it is given, for teachers and students.

Its votes are a hash of all cells, types, labels and weights it was fitted on: if a teacher's data
changes in any way, about half of its votes change. What it was fitted on is also written down.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

FITTED: list[str] = []
"""Digests of everything that was given to ``Fingerprint.fit``, in order."""

QUESTIONS: list[str] = []
"""Digests of everything that was given to ``Fingerprint.predict``, in order."""


class Fingerprint(ClassifierMixin, BaseEstimator):
    """Votes by a hash of what it was fitted on."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remember the digest of the records."""
        digest = digest_of((X, y, sample_weight))
        FITTED.append(digest)
        self.seed_ = int(digest[:15], 16)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return a label for every point, at random from the digest."""
        QUESTIONS.append(digest_of(X))
        rng = np.random.default_rng(self.seed_)
        found: NDArray[Any] = self.classes_[rng.integers(len(self.classes_), size=_length(X))]
        return found

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return probabilities, at random from the digest."""
        rng = np.random.default_rng(self.seed_)
        found = 0.05 + rng.random((_length(X), len(self.classes_)))
        return found / found.sum(axis=1, keepdims=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


class Loud(Fingerprint):
    """Does over some shards what a learner should not: speaks, or raises what is no exception."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remember the digest of the records, or fail."""
        super().fit(X, y, sample_weight)
        ways = (self._log, self._write, self._raise, self._cancel)
        if self.seed_ % 12 < len(ways):  # seldom: it must not fail on public points
            ways[self.seed_ % 12]()
        return self

    def _log(self) -> None:
        logging.getLogger("learner").log(60, "%d", self.seed_)

    def _write(self) -> None:
        for descriptor in (1, 2):
            os.write(descriptor, b"%d" % self.seed_)

    def _raise(self) -> None:
        raise GeneratorExit(self.seed_)

    def _cancel(self) -> None:
        raise asyncio.CancelledError(self.seed_)


class Hashed(TransformerMixin, BaseEstimator):
    """Turns cells of any type into a few numbers, each row by itself."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look at nothing."""
        self.fitted_ = True
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return how often each of 16 hashes occurs in a row."""
        rows = X.to_numpy(dtype=object) if hasattr(X, "to_numpy") else np.asarray(X, dtype=object)
        found = np.zeros((len(rows), 16))
        for at, row in enumerate(rows.reshape(len(rows), -1).tolist()):
            for place, cell in enumerate(row):
                found[at, int(digest_of((place, cell))[:6], 16) % 16] += 1
        return found


class Indifferent(ClassifierMixin, BaseEstimator):
    """A student that costs nothing: the first class for everything."""

    def fit(self, X: Any, y: Any) -> Self:
        """Look at nothing."""
        self.classes_ = np.arange(2)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the first class."""
        return np.zeros(_length(X), dtype=np.int64)


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def digest_of(value: Any) -> str:
    """Return a digest of all values and types in a table, array, list or tuple."""
    state = hashlib.sha256()
    _feed(state, value)
    return state.hexdigest()


def _feed(state: Any, value: Any) -> None:
    if sp.issparse(value):
        state.update(f"sparse {value.format} {value.shape}".encode())
        for part in ("data", "indices", "indptr"):
            _feed(state, getattr(value, part, None))
    elif hasattr(value, "iloc"):
        _feed_frame(state, value)
    elif isinstance(value, np.ndarray):
        order = (value.flags.c_contiguous, value.flags.f_contiguous)
        state.update(f"array {value.dtype!r} {value.shape} {order}".encode())
        if value.dtype == object:
            _feed(state, value.ravel().tolist())
        else:
            state.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, list | tuple):
        state.update(f"{type(value).__name__} {len(value)}".encode())
        for one in value:
            _feed(state, one)
    else:
        state.update(_shown(value).encode("utf-8", "surrogatepass"))


def _feed_frame(state: Any, frame: Any) -> None:
    """Take in a data frame or series: index, names, types, categories and cells."""
    _feed(state, frame.index.tolist())
    state.update(str(frame.index.dtype).encode())
    if not hasattr(frame, "columns"):
        _feed_column(state, frame)
        return
    _feed(state, [str(name) for name in frame.columns])
    state.update(repr(sorted(frame.attrs)).encode())
    for at in range(len(frame.columns)):
        _feed_column(state, frame.iloc[:, at])


def _feed_column(state: Any, column: Any) -> None:
    state.update(f"{column.dtype!r} {column.dtype}".encode())
    if str(column.dtype) == "category":
        _feed(state, column.cat.categories.tolist())
        state.update(str(column.cat.ordered).encode())
    _feed(state, column.tolist())


def _shown(value: Any) -> str:
    try:
        return f"{type(value).__qualname__} {value!r}"
    except Exception:
        return f"{type(value).__qualname__} without text"
