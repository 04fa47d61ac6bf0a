"""Real data sets as two-class problems in one piece, as the papers' experiments split them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.data.sets.loaders import (
    Labelled,
    TrainTest,
    load_a9a,
    load_mushrooms,
    load_newsgroups,
)
from tacit.validation import one_of

TWO_CLASSES = ("mushrooms", "a9a", "newsgroups")
"""The names that ``load_two_classes`` accepts."""


def load_two_classes(name: str) -> Labelled:
    """Return a data set with labels 0 and 1, its published training and test rows together.

    Parameters
    ----------
    name : {"mushrooms", "a9a", "newsgroups"}
        "mushrooms": edible is 1. "a9a": income above 50K is 1. "newsgroups": ``rec.*`` and
        ``misc.forsale`` are 1, the other groups 0; counts are weighted by ``sublinear_rows``.

    Raises
    ------
    DataUnavailable
        When a file is missing or damaged.
    """
    one_of(TWO_CLASSES, name=name)
    if name == "mushrooms":
        data = load_mushrooms()
        return Labelled(data.X, (data.y == 2).astype(np.int64))
    if name == "a9a":
        whole = together(load_a9a())
        return Labelled(whole.X, (whole.y > 0).astype(np.int64))
    whole = together(load_newsgroups())
    bought_or_played = (whole.y >= 6) & (whole.y <= 10)
    return Labelled(sublinear_rows(whole.X), bought_or_played.astype(np.int64))


def together(parts: TrainTest[Labelled]) -> Labelled:
    """Return training rows, then test rows, as one set."""
    X = sp.vstack([parts.train.X, parts.test.X]).tocsr()
    return Labelled(X, np.concatenate([parts.train.y, parts.test.y]))


def sublinear_rows(counts: Any) -> Any:
    """Return rows of word counts as ``1 + ln(count)``, scaled to unit length; empty rows stay so.

    A fixed function of each row alone: nothing is fitted, so it costs no privacy.

    Examples
    --------
    >>> sublinear_rows(sp.csr_matrix([[1.0, 1.0], [0.0, 5.0], [0.0, 0.0]])).toarray().round(3)
    array([[0.707, 0.707], [0. , 1. ], [0. , 0. ]])
    """
    rows = sp.csr_matrix(counts, dtype=np.float64, copy=True)
    rows.data = 1 + np.log(rows.data)
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return (sp.diags(1 / np.where(lengths > 0, lengths, 1.0)) @ rows).tocsr()
