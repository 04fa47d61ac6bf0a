"""Mistakes to plant in the reader, to see whether pairs find them.

Each bug is a context manager. Where they are planted is listed first: re-point that when code
moves.
"""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
from tests.neighbours.hostile import Cell
from tests.neighbours.pairs import Pair

READ = "tacit.estimators.classifier.read_inputs"
"""Reads what a fit was given: (estimator, X, y, X_public, groups, rng) to ``Inputs``."""

PROTECTED = "tacit.estimators.resolve.resolve_protection"
"""Resolves what is protected: (settings, n_records, people, ...) to (protection, assignment)."""


@dataclass(frozen=True)
class Bug:
    """A mistake, how it is planted, and the pairs that it touches."""

    name: str
    plant: Callable[[], contextlib.AbstractContextManager[None]]
    path: str = "votes"
    touches: Callable[[Pair], bool] = lambda pair: True


BUGS: dict[str, Bug] = {}
"""Every planted bug by name."""


def bug(path: str = "votes", touches: Callable[[Pair], bool] = lambda pair: True) -> Any:
    """Register a function that plants a bug."""

    def register(plant: Callable[[], Iterator[None]]) -> Bug:
        made = Bug(plant.__name__, contextlib.contextmanager(plant), path, touches)
        BUGS[made.name] = made
        return made

    return register


# ---- where they are planted ---------------------------------------------------------------------


def _after_reading(change: Callable[[Any], Any]) -> Any:
    """Return a patch that changes the records between reader and teachers."""
    original = resolve_name(READ)

    def read(*given: Any) -> Any:
        inputs = original(*given)
        return replace(inputs, records=change(inputs.records))

    return mock.patch(READ, read)


def _before_reading(look: Callable[[Any], None]) -> Any:
    """Return a patch that looks at the private table before it is read."""
    original = resolve_name(READ)

    def read(estimator: Any, X: Any, *given: Any) -> Any:
        look(X)
        return original(estimator, X, *given)

    return mock.patch(READ, read)


def _columns(X: Any) -> list[list[Cell]]:
    """Return the cells of a table by column; nothing of a sparse matrix or of texts."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return [X.iloc[:, at].tolist() for at in range(len(X.columns))]
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return [X[:, at].tolist() for at in range(X.shape[1])]
    return []


def _with_columns(inputs: Any, convert: Callable[[list[Cell]], list[Cell]]) -> Any:
    """Return the inputs with every column of the private table converted as a whole."""
    X = inputs.X
    if sp.issparse(X) or not _columns(X):
        return inputs
    made = [convert(cells) for cells in _columns(X)]
    if hasattr(X, "iloc"):
        X = X.copy()
        for at, cells in enumerate(made):
            X.isetitem(at, cells)
    else:
        table = np.empty(X.shape, dtype=object)
        for at, cells in enumerate(made):
            table[:, at] = cells
        X = table
    return replace(inputs, X=X)


def _float(cell: Cell) -> float:
    try:
        return float(cell)
    except Exception:
        return math.nan


def _dense(pair: Pair) -> bool:
    return pair.form in ("frame", "numbers") and not pair.container.startswith("polars")


def _another_size(pair: Pair) -> bool:
    """Whether the rounded number of people to a teacher is another one on the two sides."""
    if pair.relation != "add-remove":
        return False
    sizes = [len({repr(one) for one in table.people or ()}) for table in pair.tables]
    return round(sizes[0] / pair.n_teachers) != round(sizes[1] / pair.n_teachers)


# ---- the bugs -----------------------------------------------------------------------------------


@bug(touches=_dense)
def categories_from_private_data() -> Iterator[None]:
    """Cells become positions in the sorted list of the values that occur in the records."""

    def codes(cells: list[Cell]) -> list[Cell]:
        listed = sorted({repr(cell) for cell in cells})
        return [listed.index(repr(cell)) for cell in cells]

    with _after_reading(lambda inputs: _with_columns(inputs, codes)):
        yield


@bug(touches=_dense)
def dtype_inferred_over_private_column() -> Iterator[None]:
    """A column is of whole numbers, of numbers or of texts, depending on all of its cells."""

    def inferred(cells: list[Cell]) -> list[Cell]:
        numbers = [_float(cell) for cell in cells]
        if all(one.is_integer() for one in numbers):
            return [int(one) for one in numbers]
        if not any(math.isnan(one) for one in numbers):
            return list(numbers)
        return [str(cell) for cell in cells]

    with _after_reading(lambda inputs: _with_columns(inputs, inferred)):
        yield


@bug(touches=_dense)
def mean_over_all_records() -> Iterator[None]:
    """Numbers are centred at the mean of all private records."""

    def centred(cells: list[Cell]) -> list[Cell]:
        numbers = [one for one in map(_float, cells) if math.isfinite(one)]
        mean = sum(numbers) / max(1, len(numbers))
        return [one - mean if math.isfinite(one := _float(cell)) else cell for cell in cells]

    with _after_reading(lambda inputs: _with_columns(inputs, centred)):
        yield


@bug("corrections", touches=_another_size)
def shard_size_from_the_number_of_people() -> Iterator[None]:
    """The nominal size of a shard is the number of people over that of teachers."""
    original = resolve_name(PROTECTED)

    def protected(settings: Any, n_records: int, people: Any, *more: Any) -> Any:
        protection, assignment = original(settings, n_records, people, *more)
        if protection.n_units is None:
            protection = replace(protection, n_units=len(set(people)))
        return protection, assignment

    with mock.patch(PROTECTED, protected):
        yield


@bug(touches=_dense)
def error_that_quotes_a_cell() -> Iterator[None]:
    """A cell that is no number among numbers is refused, in so many words."""

    def look(X: Any) -> None:
        for cells in _columns(X):
            odd = [cell for cell in cells if math.isnan(_float(cell))]
            if 0 < len(odd) <= len(cells) // 10:
                raise ValueError(f"Cannot read {ascii(odd[0])} as a number.")

    with _before_reading(look):
        yield


@bug(touches=_dense)
def rows_sorted_by_a_private_value() -> Iterator[None]:
    """Records are sorted by their first cell before they are dealt out to shards."""

    def ordered(inputs: Any) -> Any:
        columns = _columns(inputs.X)
        if not columns:
            return inputs
        order = sorted(range(len(columns[0])), key=lambda at: repr(columns[0][at]))
        X = inputs.X.iloc[order] if hasattr(inputs.X, "iloc") else inputs.X[order]
        people = None if inputs.people is None else [inputs.people[at] for at in order]
        return replace(inputs, X=X, y=inputs.y[order], people=people)

    with _after_reading(ordered):
        yield


@bug(touches=_dense)
def log_line_that_counts_missing_cells() -> Iterator[None]:
    """How many cells are no numbers goes to the log."""

    def look(X: Any) -> None:
        odd = sum(math.isnan(_float(cell)) for cells in _columns(X) for cell in cells)
        logging.getLogger("tacit").debug("%d cells are missing", odd)

    with _before_reading(look):
        yield


@bug(touches=_dense)
def cells_padded_to_the_longest() -> Iterator[None]:
    """All cells are padded to the length of the longest."""

    def padded(cells: list[Cell]) -> list[Cell]:
        texts = [repr(cell) for cell in cells]
        longest = max(map(len, texts), default=0)
        return [text.ljust(longest) for text in texts]

    with _after_reading(lambda inputs: _with_columns(inputs, padded)):
        yield
